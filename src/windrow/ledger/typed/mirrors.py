"""Written by `make queries` from mirrors.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.reasons import Reason


class Mirror(NamedTuple):
    """A listed file at a source, as it was last listed. `present` is true if the source still lists the file."""

    file: int
    key: str
    owner: str
    source: str
    path: str
    present: bool
    size: int | None
    modified: datetime | None
    sidecar: str


class SourcePlace(NamedTuple):
    """Where a source was, by the address of its latest transfer and the path of this file below the source's base.

    Both are empty if there was none. `owner` is the one of most of its files, or empty if all names were refused.
    """

    source: str
    owner: str
    url: str
    path: str


class ListingCount(NamedTuple):
    """The number of listing events of one kind at a source: listed, refused, changed or gone."""

    source: str
    event: str
    number: int


class RefusalCount(NamedTuple):
    """The number of entries of a source that were refused for a reason."""

    source: str
    reason: Reason
    number: int


class FailingCount(NamedTuple):
    """The number of failing files of a source with one reason."""

    source: str
    reason: Reason
    number: int


class WaitingFiles(NamedTuple):
    """The number of files that wait for a step, and the key of one of them.

    `source` lists them or, if `is_listed` is false, may have listed them.
    """

    source: str
    is_listed: bool
    number: int
    key: str


class RefusalRow(NamedTuple):
    """An entry of a listing, or a listed file, that was refused, for example because of its name."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    reason: Reason


class ListingRow(NamedTuple):
    """An event of a file at a source: listed, refused, changed, gone or compared.

    The source began to list the file (listed or, if its name was refused, refused), listed it with changes, or stopped
    listing it (gone), or the file or its checksum file was compared with the archived file.
    """

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    event: str
    size: int | None
    modified: datetime | None


class InconsistentMirror(NamedTuple):
    """A mirror whose `present` does not agree with the last event of its listings."""

    source: str
    file: int
    present: int
    event: str


class ListedChange(NamedTuple):
    """An event of a file at a source, with the file's key. `before` is the size in the file's previous event there."""

    seq: int
    at: datetime
    source: str
    event: str
    key: str
    path: str
    size: int | None
    before: int | None


class UncomparedMirror(NamedTuple):
    """A source that lists a file which was fetched from `held_from`, with the digest and the size of the fetched bytes.

    `was_fetched` is true if the file was ever fetched from `source`, too.
    """

    file: int
    key: str
    source: str
    path: str
    size: int | None
    modified: datetime | None
    sidecar: str
    digest: str
    held_size: int | None
    held_from: str
    owner: str
    was_fetched: bool


class HeldMirror(NamedTuple):
    """A file that was fetched from a source, which still lists it, with the digest, size and validators of its bytes.

    `fetched` is when that ended, and `compared` is when it was last compared since then, or None. `is_changed` is true
    if the source listed it with changes after both, for example with a checksum file. `is_stated` is true if its size
    or time is listed.
    """

    file: int
    key: str
    source: str
    path: str
    size: int | None
    modified: datetime | None
    sidecar: str
    digest: str
    held_size: int | None
    etag: str
    last_modified: str
    fetched: datetime
    compared: datetime | None
    is_changed: bool
    is_stated: bool


class LastLook(NamedTuple):
    """A file, and when it was last fetched or had its last event at a source."""

    file: int
    at: datetime


def _make_mirror(row: tuple[Any, ...]) -> Mirror:
    file, key, owner, source, path, present, size, modified, sidecar = row
    return Mirror(
        file, key, owner, source, path, bool(present), size, None if modified is None else parse(modified), sidecar
    )


def _make_refusal_count(row: tuple[Any, ...]) -> RefusalCount:
    source, reason, number = row
    return RefusalCount(source, Reason(reason), number)


def _make_failing_count(row: tuple[Any, ...]) -> FailingCount:
    source, reason, number = row
    return FailingCount(source, Reason(reason), number)


def _make_waiting_files(row: tuple[Any, ...]) -> WaitingFiles:
    source, is_listed, number, key = row
    return WaitingFiles(source, bool(is_listed), number, key)


def _make_refusal_row(row: tuple[Any, ...]) -> RefusalRow:
    seq, at, session, source, path, reason = row
    return RefusalRow(seq, parse(at), session, source, path, Reason(reason))


def _make_listing_row(row: tuple[Any, ...]) -> ListingRow:
    seq, at, session, source, path, event, size, modified = row
    return ListingRow(seq, parse(at), session, source, path, event, size, None if modified is None else parse(modified))


def _make_listed_change(row: tuple[Any, ...]) -> ListedChange:
    seq, at, source, event, key, path, size, before = row
    return ListedChange(seq, parse(at), source, event, key, path, size, before)


def _make_uncompared_mirror(row: tuple[Any, ...]) -> UncomparedMirror:
    file, key, source, path, size, modified, sidecar, digest, held_size, held_from, owner, was_fetched = row
    return UncomparedMirror(
        file,
        key,
        source,
        path,
        size,
        None if modified is None else parse(modified),
        sidecar,
        digest,
        held_size,
        held_from,
        owner,
        bool(was_fetched),
    )


def _make_held_mirror(row: tuple[Any, ...]) -> HeldMirror:
    (
        file,
        key,
        source,
        path,
        size,
        modified,
        sidecar,
        digest,
        held_size,
        etag,
        last_modified,
        fetched,
        compared,
        is_changed,
        is_stated,
    ) = row
    return HeldMirror(
        file,
        key,
        source,
        path,
        size,
        None if modified is None else parse(modified),
        sidecar,
        digest,
        held_size,
        etag,
        last_modified,
        parse(fetched),
        None if compared is None else parse(compared),
        bool(is_changed),
        bool(is_stated),
    )


def _make_last_look(row: tuple[Any, ...]) -> LastLook:
    file, at = row
    return LastLook(file, parse(at))


class TypedMirrors(LedgerQueries):
    """The queries of mirrors.sql."""

    def of_source(self, source: str) -> list[Mirror]:
        """Return the files that a source lists or has listed."""
        return self._database.rows(_make_mirror, "mirrors.of_source", source)

    def of_files(self, files: Sequence[int]) -> list[Mirror]:
        """Return the mirrors at which these files are listed now."""
        return self._database.rows(_make_mirror, "mirrors.of_files", json.dumps([*files]))

    def places(self, collection: str) -> list[SourcePlace]:
        """Return the places of the sources that ever listed a file of a collection, by their first files."""
        return self._database.rows(SourcePlace._make, "mirrors.places", collection)

    def owners(self, collection: str) -> set[str]:
        """Return the owners of all files of a collection whose names were not refused when they were first listed."""
        return {*self._database.column("mirrors.owners", collection)}

    def listed_between(self, facts: tuple[int, int]) -> list[ListingCount]:
        """Count by source and kind the events of files at sources between two facts, except comparisons."""
        return self._database.rows(ListingCount._make, "mirrors.listed_between", facts[0], facts[1])

    def refused_between(self, facts: tuple[int, int]) -> list[RefusalCount]:
        """Count by source and reason the entries that were refused between two facts. Refused files do not count."""
        return self._database.rows(_make_refusal_count, "mirrors.refused_between", facts[0], facts[1])

    def count(self) -> dict[str, int]:
        """Return a dict from source to the number of files that it lists now."""
        return dict(self._database.rows(tuple, "mirrors.count"))

    def count_failing(self) -> dict[str, int]:
        """Return a dict from source to the number of failed files among those that it lists now.

        A file that is done counts too, if a member that its latest attempt fetched has failed.
        """
        return dict(self._database.rows(tuple, "mirrors.count_failing"))

    def failing_reasons(self) -> list[FailingCount]:
        """Count the files that `count_failing` counts by source and reason.

        A file with members that failed for several reasons is counted for each.
        """
        return self._database.rows(_make_failing_count, "mirrors.failing_reasons")

    def waiting(self, collection: str, step: str, sources: Sequence[str]) -> list[WaitingFiles]:
        """Count the files that wait for a step by source, and by whether one of these sources lists them now."""
        return self._database.rows(_make_waiting_files, "mirrors.waiting", json.dumps([*sources]), collection, step)

    def refused(self, name: str) -> list[RefusalRow]:
        """Return refused entries whose path, last part of the path, or source and path are `name`.

        Entries that could not be parsed are returned if their line ends with a blank and `name`.
        """
        return self._database.rows(_make_refusal_row, "mirrors.refused", name)

    def refused_at(self, source: str, limit: int) -> list[RefusalRow]:
        """Return the refused entries and files of a source's listings, the last ones first."""
        return self._database.rows(_make_refusal_row, "mirrors.refused_at", source, limit)

    def listings(self, file: int) -> list[ListingRow]:
        """Return the events of a file at its sources, in order."""
        return self._database.rows(_make_listing_row, "mirrors.listings", file)

    def inconsistent(self) -> Iterator[InconsistentMirror]:
        """Yield the mirrors whose `present` does not agree with the last event of their listings."""
        return self._database.stream(InconsistentMirror._make, "mirrors.inconsistent")

    def changes(self, collection: str, facts: tuple[int, int]) -> Iterator[ListedChange]:
        """Yield, in order, the events of a collection's files at sources between two facts, except comparisons."""
        return self._database.stream(_make_listed_change, "mirrors.changes", facts[0], facts[1], collection)

    def first_of_newest(self, collection: str, facts: tuple[int, int], most: int) -> int:
        """Return the number of the first of the last `most` events that `changes` yields, or 0 if there are fewer."""
        value: int = self._database.value("mirrors.first_of_newest", facts[0], facts[1], collection, most)
        return value

    def uncompared(self, collection: str, sources: Sequence[str], limit: int) -> list[UncomparedMirror]:
        """Return mirrors of fetched files at others of these sources that must still be compared, ordered by source.

        They were not compared since the file was fetched and since the last other event of the mirror.
        """
        return self._database.rows(
            _make_uncompared_mirror, "mirrors.uncompared", collection, json.dumps([*sources]), limit
        )

    def held(self, collection: str, sources: Sequence[str]) -> Iterator[HeldMirror]:
        """Yield the files that were last fetched from one of these sources, where they may have changed unseen.

        They have a checksum file, or their source lists neither size nor time. Files that are known to have changed are
        left out.
        """
        return self._database.stream(_make_held_mirror, "mirrors.held", json.dumps([*sources]), collection)

    def last_looks(self, source: str, files: Sequence[int]) -> list[LastLook]:
        """Return when each of these files was last fetched, or had its last event at a source."""
        return self._database.rows(_make_last_look, "mirrors.last_looks", source, json.dumps([*files]))
