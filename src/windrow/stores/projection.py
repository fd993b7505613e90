"""A standard's own bookkeeping, projected from the ledger.

A projection says what it knows as `RowPut`s and `SameValues`; `ProjectionTables` finds or makes the
rows, gives them ids, and writes a batch and its checkpoint in one transaction. Projecting the same
facts into empty tables gives the same rows with the same ids, however the facts were cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.errors import StoreError
from windrow.stores.batch import RowBatch
from windrow.stores.connect import guarded, named, reach, where
from windrow.stores.id_lookup import IdLookup
from windrow.stores.projected_rows import RowPut, SameValues, Seed, fold, plant
from windrow.stores.sqlite_file import close_on_failure

_NONE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class ProjectionTables:
    """One standard's tables in one database, written by one process at a time."""

    def __init__(
        self,
        url: str,
        metadata: sa.MetaData,
        name: str,
        *,
        adopt: Mapping[str, tuple[str, ...]] = _NONE,
        database: str = "",
        password: str | None = None,
    ) -> None:
        """Open the database at `url`, making what is missing of it.

        `name` tells these books from others in the same place. `adopt` names for a table the
        columns by which a row that is already there is recognised and taken over. `database` is
        meant where the URL of a server names none.
        """
        self.metadata = metadata
        self.adopt = adopt
        self.engine = reach(named(url, database), password)
        self.links = IdLookup(self.engine, name)
        with close_on_failure(self.close), guarded(self.engine):
            there = set(sa.inspect(self.engine).get_table_names())
            if not there.isdisjoint(metadata.tables):
                self._refuse_lost(metadata.tables.keys() - there)
            metadata.create_all(self.engine)
            with self.engine.begin() as connection:
                # On a server the checkpoint is kept elsewhere, and may tell of tables that were dropped since.
                if there.isdisjoint(metadata.tables) or self._is_emptied(connection):
                    self.links.clear(connection)

    def _refuse_lost(self, missing: Iterable[str]) -> None:
        """Raise StoreError where some tables that had rows are gone and others stand.

        Made anew they would stay empty: what is before the checkpoint is not projected again.
        """
        with self.engine.begin() as connection:
            lost = sorted(name for name in missing if self.links.has(connection, name))
        if lost:
            told = f"{where(self.engine)}: {', '.join(lost)}: dropped, and the tables that belong to it are there"
            raise StoreError(told, hint="drop the other tables too, or put the lost ones back; then: windrow run")

    def _is_emptied(self, connection: sa.Connection) -> bool:
        """Tell whether rows were written once, and no table has any of them now: all of it is to be projected again."""
        written = [table for name, table in self.metadata.tables.items() if self.links.has(connection, name)]
        first = (connection.scalar(sa.select(sa.literal(1)).select_from(table).limit(1)) for table in written)
        return bool(written) and not any(first)

    def seed(self, seeds: Iterable[Seed]) -> int:
        """Add the rows that a standard begins with where they are missing; return how many were."""
        with guarded(self.engine), self.engine.begin() as connection:
            return plant(connection, self.metadata, seeds)

    def checkpoint(self) -> int:
        """Return the seq of the last fact that is in the books, 0 at first."""
        with guarded(self.engine), self.engine.begin() as connection:
            return self.links.seq(connection)

    def keys(self, table: str) -> list[str]:
        """Return the keys of all rows of a table that these books ever made or took over."""
        with guarded(self.engine), self.engine.begin() as connection:
            return self.links.keys(connection, table)

    def apply(self, puts: Iterable[RowPut | SameValues], checkpoint: int) -> None:
        """Write a batch and the seq up to which it tells the facts: all of it or nothing."""
        self._write(list(puts), checkpoint)

    def note(self, puts: Iterable[RowPut]) -> None:
        """Write what is no fact of the ledger, such as a transfer's progress; the checkpoint stays."""
        self._write(list(puts), None)

    def _write(self, puts: Sequence[RowPut | SameValues], checkpoint: int | None) -> None:
        with guarded(self.engine):
            try:
                self._once(puts, checkpoint, careful=False)
            except exc.IntegrityError:
                # Somebody else deleted or added rows: look which are there, and try once more.
                self._once(puts, checkpoint, careful=True)

    def _once(self, puts: Sequence[RowPut | SameValues], checkpoint: int | None, *, careful: bool) -> None:
        try:
            with self.engine.begin() as connection:
                batch = RowBatch(connection, self.metadata, self.links, self.adopt, careful=careful)
                batch.write(fold(one for one in puts if type(one) is RowPut))
                batch.write_same(one for one in puts if type(one) is SameValues)
                if checkpoint is not None:
                    self.links.reach(connection, checkpoint)
        except BaseException:
            self.links.forget()
            raise

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"Books({where(self.engine)!r})"
