"""Where kept bytes lie, and the WARC files of other makers that were taken in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.ledger.items import ItemKey
from windrow.ledger.rows import recorded
from windrow.model import ArchivePlace, CdxLine, KeptResponse, Recorded
from windrow.reasons import Reason


class CaptureRow(NamedTuple):
    """A capture for an index: the address, the record's date as the ledger spells it, and where it lies."""

    address: str
    at: str
    digest: str
    status: int | None
    warc: str
    offset: int
    length: int
    revisit: bool
    mime: str


class HeldCapture(NamedTuple):
    """A record that holds bytes of its own; `key` is what it is a capture of."""

    warc: str
    offset: int
    length: int
    digest: str
    size: int
    key: str


class IndexRow(NamedTuple):
    """How far a source looked for captures in one place: lines up to `place` were seen, and some of them taken."""

    id: int
    collection: str
    source: str
    name: str
    rules: str
    place: int
    seen: int
    taken: int


class RuleRow(NamedTuple):
    """How many lines of an index were left out by a rule, and the address of the first one."""

    reason: Reason
    rule: str
    lines: int
    url: str


class CapturedRow(NamedTuple):
    """Whose capture a visit took: that of the visit `original`, which a collection's source made; 0: another maker's.

    `found_in` names the index that it was found by; it is empty where the capture was there when the address was to be
    asked. `line` is what the index said of another maker's capture, but for its length, which is the record's own; of a
    file without an index, what stands for a line. It is None where the capture was taken down, and in older rows.
    """

    visit: int
    original: int
    collection: str
    source: str
    found_in: str
    warc: str
    offset: int
    line: CdxLine | None = None


class FailedRow(NamedTuple):
    """A wanted line of an index whose record could not be had; `line` is JSON, `address` that of what it captured."""

    found_in: int
    warc: str
    offset: int
    line: str
    reason: Reason
    address: int


class FailedClaim(NamedTuple):
    """A line, as JSON, whose record could not be had, why, and what was said of the record then."""

    line: str
    reason: Reason
    message: str


def _captured(row: tuple[Any, ...]) -> CapturedRow:
    *said, line = row
    return CapturedRow(*said)._replace(line=CdxLine(*json.loads(line)) if line else None)


class _Promise(NamedTuple):
    warc: str
    end: int


class CaptureQueries:
    """What is asked of captures."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def of_digest(self, digest: str) -> ArchivePlace | None:
        """Return where the bytes of a fetched file lie."""
        return self._database.first(ArchivePlace, "capture_of_digest", digest)

    def original(self, address: int, digest: str) -> ArchivePlace | None:
        """Return where the bytes lie that a later visit to the same address brought again."""
        return self._database.first(ArchivePlace, "capture_original", address, digest)

    def payload(self, digest: str) -> ArchivePlace | None:
        """Return where bytes lie that only another address has."""
        return self._database.first(ArchivePlace, "payload_place", digest)

    def promised(self) -> dict[str, int]:
        """Return how far the ledger promises each file of the archive: the end of its last record."""
        return {one.warc: one.end for one in self._database.rows(_Promise, "archive_promised")}

    def sessions(self) -> list[int]:
        """Return the sessions in which captures were put on record."""
        return self._database.column("sessions_with_captures")

    def of_session(self, session: int) -> Iterator[CaptureRow]:
        """Yield the captures put on record from one session's begin to the next one's."""
        return self._database.stream(CaptureRow, "session_captures", session)

    def after(
        self, visit: int, limit: int, origins: Sequence[tuple[str, str]], statuses: Iterable[int] = ()
    ) -> list[Recorded]:
        """Return answers that were kept after a given visit, in the order of the ledger.

        `origins` are the collections and sources whose answers are wanted, a source empty for all of a collection;
        `statuses` those without a document that are wanted too. The last one's `seq` is where to go on.
        """
        asked = (visit, json.dumps([*origins]), limit, json.dumps([*statuses]))
        return self._database.mapped(recorded, "captures_after", *asked)

    def of_address(self, collection: str, address: int) -> list[Recorded]:
        """Return the answers that a collection kept of an address."""
        return self._database.mapped(recorded, "captures_of_address", address, collection)

    def newest(self, address: int, since: int, collection: str) -> Recorded | None:
        """Return the latest answer that another collection kept of an address since a fact.

        `address` is the digest of what is asked. With a session's number, two collections on one site ask for each page
        once.
        """
        return next(iter(self._database.mapped(recorded, "capture_newest", address, since, collection)), None)

    def newest_rules(self, origin: str, since: int, collection: str) -> Recorded | None:
        """Return the latest robots.txt that another collection got of an origin since a fact."""
        return next(iter(self._database.mapped(recorded, "rules_newest", origin, since, collection)), None)

    def index(self, collection: str, source: str, name: str) -> IndexRow | None:
        """Return how far a source looked through an index."""
        return self._database.first(IndexRow, "capture_index", collection, source, name)

    def indexes(self, collection: str, source: str) -> list[IndexRow]:
        """Return the indexes that a source looked through."""
        return self._database.rows(IndexRow, "capture_indexes", collection, source)

    def left_out(self, index: int) -> list[RuleRow]:
        """Return what rules left out of an index, the most frequent first."""
        return self._database.rows(RuleRow, "captures_left_out", index)

    def taken(self, collection: str, place: ArchivePlace) -> int:
        """Return the visit in which a collection took the record at a place, 0 where it did not."""
        return int(self._database.value("capture_taken", collection, place.warc, place.offset) or 0)

    def failed(
        self, collection: str, source: str, after: tuple[str, int], reasons: Iterable[str], limit: int
    ) -> list[FailedRow]:
        """Return wanted lines whose record could not be had: for these reasons, or asked for again by an operator."""
        values = (collection, source, *after, json.dumps([*reasons]), limit)
        return self._database.rows(FailedRow, "captures_failed", *values)

    def failed_by_source(self) -> dict[str, int]:
        """Count the wanted lines of each source whose record could not be had."""
        return dict(self._database.mapped(tuple, "captures_failed_by_source"))

    def failure(self, collection: str, place: tuple[str, int]) -> str:
        """Return why the record at a place could not be had, empty where it could or was not wanted."""
        return str(self._database.value("capture_failed_at", collection, *place) or "")

    def failed_line(self, collection: str, place: tuple[str, int]) -> str:
        """Return the line, as JSON, whose record at a place could not be had."""
        return str(self._database.value("capture_failed_line", collection, *place) or "")

    def failed_of_digest(self, collection: str, digest: str, limit: int) -> list[FailedClaim]:
        """Return wanted lines whose record could not be had and that name a digest, or whose record has that one."""
        return self._database.rows(FailedClaim, "captures_failed_of_digest", collection, digest, limit)

    def captured(self, visit: int) -> CapturedRow | None:
        """Return whose capture a visit took; None where it asked for itself."""
        return next(iter(self._database.mapped(_captured, "captured", visit)), None)

    def held(self) -> Iterator[HeldCapture]:
        """Yield every record of the archive that holds bytes of its own, file by file."""
        return self._database.stream(HeldCapture, "captures_all")


class CaptureWriter:
    """What is written of captures that others made."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def begin(self, collection: str, source: str, name: str, rules: str) -> None:
        """Begin to look through an index; from its beginning, with no counts."""
        self._batch.database.execute("capture_index_begin", collection, source, name, rules)
        found = self._batch.database.first(IndexRow, "capture_index", collection, source, name)
        assert found is not None
        self._batch.database.execute("capture_index_forget_counts", found.id)

    def reach(self, index: int, place: int, seen: int) -> None:
        """Note that an index was looked through up to a place: so many lines more."""
        self._batch.database.execute("capture_index_reach", index, place, seen)

    def count(self, index: int, taken: int) -> None:
        """Add to the count of what was taken of an index."""
        self._batch.database.execute("capture_index_count", index, taken)

    def leave_out(self, index: int, rule: RuleRow) -> None:
        """Add to the count of what a rule left out."""
        self._batch.database.execute("capture_leave_out", index, *rule)

    def fail(self, visit: int, collection: str, source: str, row: FailedRow) -> None:
        """Say that a wanted record could not be had."""
        where = (row.found_in, row.warc, row.offset, row.line, row.reason, row.address)
        self._batch.row("capture_failed", collection, source, *where, visit)

    def mend(self, collection: str, place: tuple[str, int]) -> None:
        """Say that a record could be had after all."""
        self._batch.database.execute("capture_mended", collection, *place)

    def take(self, visit: int, collection: str, source: str, row: CapturedRow, index: int) -> None:
        """Say of a visit whose capture it took."""
        line = json.dumps([*row.line]) if row.line else ""
        self._batch.row("captured", visit, collection, source, row.original, index, row.warc, row.offset, line)


class ImportRow(NamedTuple):
    """A WARC file of another maker: all its records before `offset` are on record."""

    item: int
    source: str
    offset: int


class ResolvedRevisit(NamedTuple):
    """A revisit whose bytes have come since it was read."""

    item: int
    offset: int
    warc: str
    source: str


class _Payload(NamedTuple):
    digest: str
    size: int
    warc: str
    offset: int
    length: int


class ImportSource(NamedTuple):
    """A source that files came in by, and the collection that has them."""

    name: str
    collection: str


class ImportQueries:
    """What is asked of WARC files of other makers."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def get(self, warc: str) -> ImportRow | None:
        """Return how far a file is on record, None where it is not."""
        return self._database.first(ImportRow, "warc_import", warc)

    def payload(self, spelled: str) -> KeptResponse | None:
        """Return where bytes lie, by the digest that their own file gives them."""
        found = self._database.first(_Payload, "payload", spelled)
        return KeptResponse(found.digest, found.size, ArchivePlace(*found[2:])) if found else None

    def resolved(self, after: tuple[int, int], limit: int) -> list[ResolvedRevisit]:
        """Return revisits, after a given item and offset, whose bytes have come since."""
        return self._database.rows(ResolvedRevisit, "warc_imports_resolved", *after, limit)

    def count_waiting(self, source: str) -> int:
        """Count the revisits of a source's files that wait for their bytes."""
        return int(self._database.value("warc_imports_waiting", source))

    def count_waiting_in(self, item: int) -> int:
        """Count the revisits of one file that wait for their bytes."""
        return int(self._database.value("warc_import_waiting", item))

    def sources(self) -> list[ImportSource]:
        """Return the sources that files came in by."""
        return self._database.rows(ImportSource, "warc_imports_sources")

    def names(self, item: int) -> list[str]:
        """Return what people call a file."""
        return self._database.column("warc_import_names", item)

    def named(self, name: str) -> list[ItemKey]:
        """Return files that are called so."""
        return self._database.rows(ItemKey, "warc_imports_named", name)

    def by_tail(self, tail: str, limit: int) -> list[ItemKey]:
        """Return files of which a name ends so."""
        return self._database.rows(ItemKey, "warc_imports_by_tail", tail, limit)


class ImportWriter:
    """What is written of WARC files of other makers."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def add(self, item: int, source: str, warc: str, size: int) -> None:
        """Put a file on record, none of its records yet."""
        self._batch.row("intake", item, source, warc, size)

    def read_to(self, item: int, offset: int) -> None:
        """Note that all its records before a place are on record."""
        self._batch.row("intake_at", offset, item)

    def name(self, item: int, name: str) -> None:
        """Note what it is called elsewhere."""
        self._batch.row("intake_named", item, name[:1024])

    def payload(self, spelled: str, kept: KeptResponse) -> None:
        """Note where bytes lie that revisits may refer to; the first place counts."""
        self._batch.row("payload", spelled, kept.digest, kept.size, *kept.place)

    def wait(self, item: int, offset: int, spelled: str) -> None:
        """Let a revisit wait for its bytes."""
        self._batch.row("intake_waits", item, offset, spelled)

    def resolve(self, item: int, offset: int) -> None:
        """End that."""
        self._batch.row("intake_waited", item, offset)
