"""Written by `make queries` from imports.sql: change that, and run it again."""

from __future__ import annotations

from typing import NamedTuple

from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import ItemKey, kept_response
from windrow.model import KeptResponse


class ImportRow(NamedTuple):
    """A WARC file of another maker: all its records before `offset` are on record."""

    seq: int
    source: str
    offset: int


class ResolvedRevisit(NamedTuple):
    """A revisit whose bytes have come since it was read."""

    intake: int
    offset: int
    warc: str
    source: str


class ImportSource(NamedTuple):
    """A source that files came in by, and the collection that has them."""

    name: str
    collection: str


class TypedImports(LedgerQueries):
    """The queries of imports.sql."""

    def get(self, warc: str) -> ImportRow | None:
        """Return how far a file is on record, None where it is not."""
        return self._database.first(ImportRow._make, "imports.get", warc)

    def payload(self, spelled: str) -> KeptResponse | None:
        """Return where bytes lie, by the digest that their own file gives them."""
        return self._database.first(kept_response, "imports.payload", spelled)

    def resolved(self, after: tuple[int, int], limit: int) -> list[ResolvedRevisit]:
        """Return revisits, after a given file and offset, whose bytes have come since."""
        return self._database.rows(ResolvedRevisit._make, "imports.resolved", after[0], after[1], limit)

    def count_waiting(self, source: str) -> int:
        """Count the revisits of a source's files that wait for their bytes."""
        value: int = self._database.value("imports.count_waiting", source)
        return value

    def sources(self) -> list[ImportSource]:
        """Return the sources that files came in by."""
        return self._database.rows(ImportSource._make, "imports.sources")

    def count_waiting_in(self, intake: int) -> int:
        """Count the revisits of one file that wait for their bytes."""
        value: int = self._database.value("imports.count_waiting_in", intake)
        return value

    def names(self, intake: int) -> list[str]:
        """Return what people call a file."""
        return self._database.column("imports.names", intake)

    def named(self, name: str) -> list[ItemKey]:
        """Return files that are called so."""
        return self._database.rows(ItemKey._make, "imports.named", name)

    def by_tail(self, tail: str, limit: int) -> list[ItemKey]:
        """Return files of which a name ends so."""
        return self._database.rows(ItemKey._make, "imports.by_tail", tail, limit)
