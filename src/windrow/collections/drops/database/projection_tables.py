"""The tables of a projection, and how a batch of puts is written into them.

A projection returns `RowPut`s and `SameValues`; `ProjectionTables` finds or inserts the rows,
gives them ids, and writes a batch and its checkpoint in one transaction. Projecting the same
facts into empty tables gives the same rows with the same ids, however the facts were cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.collections.drops.database.projection_rows import (
    LEFT_OUT,
    IdLookup,
    RowMaking,
    RowPut,
    RowValues,
    SameValues,
    Seed,
    advance_sequence,
    among,
    chunks,
    fold,
    insert_seeds,
)
from windrow.errors import StoreError
from windrow.stores.databases import describe_database, map_errors, open_or_create, with_database
from windrow.stores.sqlite import close_on_failure

FEW = 4
"""Fewer rows than this with the same values are written one by one."""

_Values = dict[str, Any]
_Natural = tuple[object, ...]


class _New(NamedTuple):
    """A row whose key does not have an id yet."""

    key: str
    values: _Values


class RowBatch:
    """Finds or inserts the rows of a batch, table by table in the order of references."""

    def __init__(
        self,
        connection: sa.Connection,
        metadata: sa.MetaData,
        links: IdLookup,
        adopt: Mapping[str, tuple[str, ...]],
        *,
        careful: bool,
    ) -> None:
        """Write through `connection`; a careful batch first checks which known rows still exist."""
        self._connection = connection
        self._metadata = metadata
        self._links = links
        self._adopt = adopt
        self._careful = careful

    def write(self, tables: Mapping[str, Mapping[str, RowValues]]) -> None:
        """Write every row."""
        for table in self._metadata.sorted_tables:
            rows = tables.get(table.name)
            if rows:
                self._write(table, rows)
        for table in self._metadata.sorted_tables:
            rows_with_late = {key: row for key, row in tables.get(table.name, {}).items() if row.late}
            if rows_with_late:
                self._write_late_references(table, rows_with_late)

    def write_same(self, groups: Iterable[SameValues]) -> None:
        """Write the values that many rows share into those that exist."""
        for group in groups:
            table = self._metadata.tables[group.table]
            ids = self._links.ids(self._connection, table.name, group.keys)
            self._update_same(
                table, [ids[key] for key in group.keys if ids.get(key, LEFT_OUT)], group.values, group.unless
            )

    def _update_same(
        self, table: sa.Table, numbers: Iterable[int], values: Mapping[str, Any], unless: tuple[str, object] | None
    ) -> None:
        for part in chunks(sorted(numbers)):
            change = table.update().where(among(table.c.id, part)).values(dict(values))
            self._connection.execute(_guard(change, table, unless))

    def _write(self, table: sa.Table, rows: Mapping[str, RowValues]) -> None:
        reinserted = self._find_deleted(table, rows)
        ids = self._links.ids(self._connection, table.name, rows)
        rows = {key: row for key, row in rows.items() if row.make is not RowMaking.NEVER or key in ids}
        for key, row in rows.items():
            if row.early and key in ids:
                row.values = {**row.early, **row.values}
        values = self._resolve(rows)
        new = [_New(key, {**rows[key].once, **row_values}) for key, row_values in values.items() if key not in ids]
        complete = [candidate for candidate in new if _is_complete(table, candidate.values)]
        complete_keys = {new_row.key for new_row in complete}
        incomplete = [key for key in rows if key not in ids and key not in complete_keys]
        self._links.add(self._connection, table.name, [(key, LEFT_OUT) for key in incomplete])
        self._insert(table, [{"id": ids[key], **rows[key].once, **values[key]} for key in reinserted])
        inserted = self._add_rows(table, complete) | set(reinserted)
        self._update(table, rows, {key: row_values for key, row_values in values.items() if key not in inserted})

    def _write_late_references(self, table: sa.Table, rows: Mapping[str, RowValues]) -> None:
        ids = self._links.ids(self._connection, table.name, rows)
        for key, row in rows.items():
            for column, (target, target_key, max_id, substitute) in row.late.items():
                number = self._links.ids(self._connection, target, [target_key]).get(target_key, 0)
                reference = number if 0 < number <= max_id else substitute
                change = table.update().where(table.c.id == ids.get(key, LEFT_OUT)).values({column: reference})
                self._connection.execute(_guard(change, table, row.unless))

    # references and deleted rows

    def _resolve(self, rows: Mapping[str, RowValues]) -> dict[str, _Values]:
        """Return the rows' values, with ids (or None) for references."""
        target_keys: dict[str, dict[str, None]] = {}
        for row in rows.values():
            for target, key in row.refs.values():
                target_keys.setdefault(target, {})[key] = None
        target_ids = {target: self._find_ids(target, keys) for target, keys in target_keys.items()}
        for row in rows.values():
            for column, (target, target_key) in row.refs.items():
                row.values[column] = target_ids[target].get(target_key) or None
        return {key: row.values for key, row in rows.items()}

    def _find_ids(self, target: str, keys: Mapping[str, None]) -> Mapping[str, int]:
        ids = self._links.ids(self._connection, target, keys)
        if self._careful:
            deleted_ids = self._find_lost(self._metadata.tables[target], [ids[key] for key in keys if ids.get(key)])
            self._links.leave_out(self._connection, target, deleted_ids)
            ids = self._links.ids(self._connection, target, keys)
        return ids

    def _find_deleted(self, table: sa.Table, rows: Mapping[str, RowValues]) -> list[str]:
        """Record rows that another program deleted; return the keys of those to insert again with their ids."""
        keys = [key for key, row in rows.items() if row.make is RowMaking.AGAIN or self._careful]
        if not keys:
            return []
        ids = self._links.ids(self._connection, table.name, keys)
        deleted_ids = self._find_lost(table, [ids[key] for key in keys if ids.get(key)])
        reinserted = [key for key in keys if rows[key].make is RowMaking.AGAIN and ids.get(key) in deleted_ids]
        self._links.leave_out(self._connection, table.name, deleted_ids - {ids[key] for key in reinserted})
        # A row that was left out in an earlier batch, and is asked for again, is a new one.
        left_out = [key for key in keys if rows[key].make is RowMaking.AGAIN and ids.get(key) == LEFT_OUT]
        self._links.drop(self._connection, table.name, left_out)
        return reinserted

    def _find_lost(self, table: sa.Table, numbers: Iterable[int]) -> set[int]:
        """Return the ids of deleted rows."""
        deleted_ids: set[int] = set()
        for part in chunks(numbers):
            present = self._connection.scalars(sa.select(table.c.id).where(among(table.c.id, part)))
            deleted_ids |= set(part).difference(present)
        return deleted_ids

    # new rows

    def _add_rows(self, table: sa.Table, new: Sequence[_New]) -> set[str]:
        """Adopt or insert the rows of new keys; return the keys of those inserted."""
        natural = self._adopt.get(table.name, ())
        inserted: set[str] = set()
        for rows in _split_runs(new, natural):
            existing = self._find_existing(table, natural, rows) if natural else {}
            fresh: list[_New] = []
            adopted: list[tuple[str, _Natural]] = []
            for row in rows:
                name = _natural_key(natural, row.values)
                if natural and name in existing:
                    adopted.append((row.key, name))
                    continue
                existing[name] = LEFT_OUT
                fresh.append(row)
            numbers = self._links.allot(self._connection, table, len(fresh)) if fresh else range(0)
            for row, number in zip(fresh, numbers, strict=True):
                existing[_natural_key(natural, row.values)] = number
            self._insert(table, [{"id": number, **row.values} for row, number in zip(fresh, numbers, strict=True)])
            new_ids = [(row.key, number) for row, number in zip(fresh, numbers, strict=True)]
            new_ids += [(key, existing[name]) for key, name in adopted]
            self._links.add(self._connection, table.name, new_ids)
            inserted.update(row.key for row in fresh)
        return inserted

    def _find_existing(self, table: sa.Table, natural: Sequence[str], rows: Sequence[_New]) -> dict[_Natural, int]:
        """Return the ids of existing rows, by their natural keys."""
        columns = [table.c[name] for name in natural]
        ids: dict[_Natural, int] = {}
        one_by_one = any(_is_odd(row.values.get(name)) for row in rows for name in natural)
        for part in chunks([] if one_by_one else {row.values.get(natural[0]) for row in rows}):
            query = sa.select(table.c.id, *columns).where(columns[0].in_(part)).order_by(table.c.id)
            for number, *cells in self._connection.execute(query):
                ids.setdefault(tuple(map(_fold_case, cells)), number)
                one_by_one = one_by_one or any(map(_is_odd, cells))
        if one_by_one:
            # Only the database knows which letters it treats as equal.
            for row in rows:
                conditions = [table.c[name] == row.values.get(name) for name in natural]
                number = self._connection.scalar(sa.select(table.c.id).where(*conditions).order_by(table.c.id).limit(1))
                if number is not None:
                    ids[_natural_key(natural, row.values)] = number
        return ids

    def _insert(self, table: sa.Table, rows: Sequence[_Values]) -> None:
        shapes: dict[tuple[str, ...], list[_Values]] = {}
        for row in rows:
            shapes.setdefault(tuple(row), []).append(row)
        for shape in shapes.values():
            self._connection.execute(table.insert(), shape)
        if rows:
            advance_sequence(self._connection, table)

    # known rows

    def _update(self, table: sa.Table, rows: Mapping[str, RowValues], new_values: Mapping[str, _Values]) -> None:
        ids = self._links.ids(self._connection, table.name, new_values)
        fixed = self._adopt.get(table.name, ())
        changes: dict[int, tuple[_Values, tuple[str, object] | None]] = {}
        for key, values in new_values.items():
            number = ids[key]
            changed = {name: value for name, value in values.items() if name not in fixed} if fixed else values
            if number != LEFT_OUT and changed and _is_sound(table, changed):
                earlier = changes.get(number)
                changes[number] = ({**earlier[0], **changed} if earlier else changed, rows[key].unless)
        groups: dict[Any, list[int]] = {}
        for number, (values, unless) in changes.items():
            groups.setdefault((tuple(values.items()), unless), []).append(number)
        single: dict[Any, list[_Values]] = {}
        for (values, unless), numbers in groups.items():
            if len(numbers) < FEW:
                shape = (tuple(name for name, _ in values), unless)
                single.setdefault(shape, []).extend({**dict(values), "its_id": number} for number in numbers)
                continue
            self._update_same(table, numbers, dict(values), unless)
        for (names, unless), update_rows in single.items():
            change = table.update().where(table.c.id == sa.bindparam("its_id"))
            change = _guard(change.values({name: sa.bindparam(name) for name in names}), table, unless)
            self._connection.execute(change, update_rows)


def _guard(change: sa.Update, table: sa.Table, unless: tuple[str, object] | None) -> sa.Update:
    return change.where(table.c[unless[0]].is_distinct_from(unless[1])) if unless else change


def _is_sound(table: sa.Table, values: _Values) -> bool:
    """Tell whether every column that must not be NULL has a value: references to deleted rows are NULL."""
    return None not in values.values() or all(
        value is not None or table.c[name].nullable for name, value in values.items()
    )


def _is_complete(table: sa.Table, values: _Values) -> bool:
    """Tell whether a new row has a value for every required column."""
    return _is_sound(table, values) and all(name in values for name in _required_columns(table))


@cache
def _required_columns(table: sa.Table) -> tuple[str, ...]:
    """Return the columns that a new row needs a value for."""
    return tuple(
        column.name for column in table.columns if not (column.nullable or column.primary_key or column.server_default)
    )


def _fold_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _natural_key(names: Sequence[str], values: _Values) -> _Natural:
    """Return a row's natural key as databases compare it: without regard to case."""
    return tuple(_fold_case(values.get(name)) for name in names)


def _is_odd(value: object) -> bool:
    return isinstance(value, str) and not value.isascii()


def _split_runs(rows: Sequence[_New], natural: Sequence[str]) -> Iterator[Sequence[_New]]:
    """Split rows into runs; a row that only the database can compare is a run of its own."""
    numbered = enumerate(rows)

    def place(pair: tuple[int, _New]) -> int:
        return pair[0] if any(_is_odd(pair[1].values.get(name)) for name in natural) else -1

    for _, run in groupby(numbered, key=place):
        yield [row for _, row in run]


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
        """Open the database at `url` and create missing tables.

        `name` distinguishes this projection from others in the same place. `adopt` has for each table the columns by
        which an existing row is recognised and adopted. `database` is the name used if the URL of a server does not
        contain one.
        """
        self.metadata = metadata
        self.adopt = adopt
        self.engine = open_or_create(with_database(url, database), password)
        self.links = IdLookup(self.engine, name)
        with close_on_failure(self.close), map_errors(self.engine):
            present = set(sa.inspect(self.engine).get_table_names())
            if not present.isdisjoint(metadata.tables):
                self._refuse_lost(metadata.tables.keys() - present)
            metadata.create_all(self.engine)
            with self.engine.begin() as connection:
                # On a server the checkpoint is kept elsewhere, and may count tables that were dropped since.
                if present.isdisjoint(metadata.tables) or self._is_emptied(connection):
                    self.links.clear(connection)

    def _refuse_lost(self, missing: Iterable[str]) -> None:
        """Raise StoreError if some tables that had rows are gone and others are not.

        Created again they would stay empty: facts before the checkpoint are not projected again.
        """
        with self.engine.begin() as connection:
            lost_tables = sorted(name for name in missing if self.links.has(connection, name))
        if lost_tables:
            message = f"{', '.join(lost_tables)}: dropped, but the tables that belong to it exist"
            raise StoreError(
                f"{describe_database(self.engine)}: {message}",
                hint="drop the other tables too, or restore the dropped ones; then: windrow run",
            )

    def _is_emptied(self, connection: sa.Connection) -> bool:
        """Tell whether rows were written and all tables are empty now: then all facts must be projected again."""
        written_tables = [table for name, table in self.metadata.tables.items() if self.links.has(connection, name)]
        first_rows = (
            connection.scalar(sa.select(sa.literal(1)).select_from(table).limit(1)) for table in written_tables
        )
        return bool(written_tables) and not any(first_rows)

    def seed(self, seeds: Iterable[Seed]) -> int:
        """Insert the missing seed rows of the standard; return their number."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return insert_seeds(connection, self.metadata, seeds)

    def checkpoint(self) -> int:
        """Return the seq of the last projected fact, 0 at first."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return self.links.seq(connection)

    def keys(self, table: str) -> list[str]:
        """Return the keys of all rows of a table that this projection ever inserted or adopted."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return self.links.keys(connection, table)

    def apply(self, puts: Iterable[RowPut | SameValues], checkpoint: int) -> None:
        """Write a batch and the seq of its last fact in one transaction."""
        self._write(list(puts), checkpoint)

    def note(self, puts: Iterable[RowPut]) -> None:
        """Write rows that do not come from a fact, such as a transfer's progress; the checkpoint is not changed."""
        self._write(list(puts), None)

    def _write(self, puts: Sequence[RowPut | SameValues], checkpoint: int | None) -> None:
        with map_errors(self.engine):
            try:
                self._write_once(puts, checkpoint, careful=False)
            except exc.IntegrityError:
                # Somebody else deleted or added rows: check which exist, and try once more.
                self._write_once(puts, checkpoint, careful=True)

    def _write_once(self, puts: Sequence[RowPut | SameValues], checkpoint: int | None, *, careful: bool) -> None:
        try:
            with self.engine.begin() as connection:
                batch = RowBatch(connection, self.metadata, self.links, self.adopt, careful=careful)
                batch.write(fold(put for put in puts if type(put) is RowPut))
                batch.write_same(put for put in puts if type(put) is SameValues)
                if checkpoint is not None:
                    self.links.reach(connection, checkpoint)
        except BaseException:
            self.links.forget()
            raise

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def __repr__(self) -> str:
        """Return the database's address without its password."""
        return f"ProjectionTables({describe_database(self.engine)!r})"
