"""Written by `make queries` from imports.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

from typing import NamedTuple

from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import ItemKey, kept_response
from windrow.model import KeptResponse


class ImportRow(NamedTuple):
    """An imported WARC file. All its records before `offset` are on the ledger."""

    seq: int
    source: str
    offset: int


class ResolvedRevisit(NamedTuple):
    """A revisit whose bytes were imported after it was read."""

    intake: int
    offset: int
    warc: str
    source: str


class ImportSource(NamedTuple):
    """A source that imported files, and its collection."""

    name: str
    collection: str


class TypedImports(LedgerQueries):
    """The queries of imports.sql."""

    def get(self, warc: str) -> ImportRow | None:
        """Return how far the records of an imported file are on the ledger, or None if the file is not known."""
        return self._database.first(ImportRow._make, "imports.get", warc)

    def payload(self, spelled: str) -> KeptResponse | None:
        """Return the response whose digest another program wrote as `spelled`, or None."""
        return self._database.first(kept_response, "imports.payload", spelled)

    def resolved(self, after: tuple[int, int], limit: int) -> list[ResolvedRevisit]:
        """Return the first `limit` revisits after the place `after` (file, offset) whose bytes are imported now."""
        return self._database.rows(ResolvedRevisit._make, "imports.resolved", after[0], after[1], limit)

    def count_waiting(self, source: str) -> int:
        """Count the revisits in a source's files that wait for their bytes to be imported."""
        value: int = self._database.value("imports.count_waiting", source)
        return value

    def sources(self) -> list[ImportSource]:
        """Return the sources that imported files."""
        return self._database.rows(ImportSource._make, "imports.sources")

    def count_waiting_in(self, intake: int) -> int:
        """Count the revisits in one file that wait for their bytes to be imported."""
        value: int = self._database.value("imports.count_waiting_in", intake)
        return value

    def waiting_in(self, intake: int, limit: int) -> list[int]:
        """Return the offsets of the first `limit` revisits in one file that wait for their bytes to be imported."""
        return self._database.column("imports.waiting_in", intake, limit)

    def names(self, intake: int) -> list[str]:
        """Return the names under which a file was imported."""
        return self._database.column("imports.names", intake)

    def named(self, name: str) -> list[ItemKey]:
        """Return the files that were imported under a name."""
        return self._database.rows(ItemKey._make, "imports.named", name)

    def by_tail(self, tail: str) -> list[ItemKey]:
        """Return the files with a name that ends with `tail`, and those in a WACZ file with such a name."""
        return self._database.rows(ItemKey._make, "imports.by_tail", tail)
