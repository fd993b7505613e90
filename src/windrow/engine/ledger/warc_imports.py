"""WARC files of other makers: how far their records are on record, and what their revisits refer to."""

from __future__ import annotations

from typing import NamedTuple

from windrow.engine.ledger.batch import LedgerBatch
from windrow.engine.ledger.database import LedgerDatabase
from windrow.engine.ledger.items import ItemKey
from windrow.model import ArchivePlace, KeptResponse


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
