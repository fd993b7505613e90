"""Written by `make queries` from mirrors.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.reasons import Reason


class Mirror(NamedTuple):
    """What a source said of a file when it was last listed; `present` is whether it still lists it."""

    file: int
    key: str
    owner: str
    source: str
    path: str
    present: bool
    size: int | None
    modified: datetime | None
    sidecar: str


class ListingCount(NamedTuple):
    """How often listings of a source said something: listed, refused, changed or gone."""

    source: str
    event: str
    number: int


class RefusalCount(NamedTuple):
    """A row of `refused_between`."""

    source: str
    reason: Reason
    number: int


class RefusalRow(NamedTuple):
    """An entry of a listing whose name fits no table."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    reason: Reason


class ListingRow(NamedTuple):
    """A source began to list a file, changed what it says of it, or stopped: listed or refused, changed, gone."""

    seq: int
    at: datetime
    session: int
    source: str
    path: str
    event: str
    size: int | None
    modified: datetime | None


class InconsistentMirror(NamedTuple):
    """A row of `inconsistent`."""

    source: str
    file: int
    present: int
    event: str


class ListedChange(NamedTuple):
    """What a source said of a file, with the file's name and the size that it had there before."""

    at: datetime
    source: str
    event: str
    key: str
    path: str
    size: int | None
    before: int | None


class UncomparedMirror(NamedTuple):
    """A source that lists a file of which bytes are held from another one, `held_from`, by their digest."""

    file: int
    key: str
    source: str
    path: str
    size: int | None
    modified: datetime | None
    sidecar: str
    digest: str
    held_from: str


def _make_mirror(row: tuple[Any, ...]) -> Mirror:
    file, key, owner, source, path, present, size, modified, sidecar = row
    return Mirror(
        file, key, owner, source, path, bool(present), size, None if modified is None else parse(modified), sidecar
    )


def _make_refusal_count(row: tuple[Any, ...]) -> RefusalCount:
    source, reason, number = row
    return RefusalCount(source, Reason(reason), number)


def _make_refusal_row(row: tuple[Any, ...]) -> RefusalRow:
    seq, at, session, source, path, reason = row
    return RefusalRow(seq, parse(at), session, source, path, Reason(reason))


def _make_listing_row(row: tuple[Any, ...]) -> ListingRow:
    seq, at, session, source, path, event, size, modified = row
    return ListingRow(seq, parse(at), session, source, path, event, size, None if modified is None else parse(modified))


def _make_listed_change(row: tuple[Any, ...]) -> ListedChange:
    at, source, event, key, path, size, before = row
    return ListedChange(parse(at), source, event, key, path, size, before)


def _make_uncompared_mirror(row: tuple[Any, ...]) -> UncomparedMirror:
    file, key, source, path, size, modified, sidecar, digest, held_from = row
    return UncomparedMirror(
        file, key, source, path, size, None if modified is None else parse(modified), sidecar, digest, held_from
    )


class TypedMirrors(LedgerQueries):
    """The queries of mirrors.sql."""

    def of_source(self, source: str) -> list[Mirror]:
        """Return what a source lists, and what it listed before."""
        return self._database.rows(_make_mirror, "mirrors.of_source", source)

    def of_files(self, files: Sequence[int]) -> list[Mirror]:
        """Return who lists these files now."""
        return self._database.rows(_make_mirror, "mirrors.of_files", json.dumps([*files]))

    def sources(self) -> set[str]:
        """Return every source that ever listed something."""
        return {*self._database.column("mirrors.sources")}

    def listed_between(self, facts: tuple[int, int]) -> list[ListingCount]:
        """Count what listings said between two facts."""
        return self._database.rows(ListingCount._make, "mirrors.listed_between", facts[0], facts[1])

    def refused_between(self, facts: tuple[int, int]) -> list[RefusalCount]:
        """Count what was refused between two facts."""
        return self._database.rows(_make_refusal_count, "mirrors.refused_between", facts[0], facts[1])

    def count(self) -> dict[str, int]:
        """Count what each source lists now."""
        return dict(self._database.rows(tuple, "mirrors.count"))

    def count_failing(self) -> dict[str, int]:
        """Count what each source lists that failed, or of which a member did."""
        return dict(self._database.rows(tuple, "mirrors.count_failing"))

    def refused(self, name: str) -> list[RefusalRow]:
        """Return refused entries by path, by the last part of it, or by source and path; and lines that end with it.

        A line that could not be read is a path as it came: what it ends with may be the name.
        """
        return self._database.rows(_make_refusal_row, "mirrors.refused", name)

    def listings(self, file: int) -> list[ListingRow]:
        """Return what listings said of a file, in order."""
        return self._database.rows(_make_listing_row, "mirrors.listings", file)

    def inconsistent(self) -> Iterator[InconsistentMirror]:
        """Yield mirrors that are there or not, other than the last listing says."""
        return self._database.stream(InconsistentMirror._make, "mirrors.inconsistent")

    def changes(self, collection: str, facts: tuple[int, int]) -> Iterator[ListedChange]:
        """Yield what the sources of a collection said between two facts, in order."""
        return self._database.stream(_make_listed_change, "mirrors.changes", facts[0], facts[1], collection)

    def uncompared(self, collection: str, limit: int) -> list[UncomparedMirror]:
        """Return who lists what is held from another source in the same size, and was not compared with it yet.

        That is, not since it was listed and the bytes were fetched.
        """
        return self._database.rows(_make_uncompared_mirror, "mirrors.uncompared", collection, limit)
