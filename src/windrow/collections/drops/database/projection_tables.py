"""The tables of a projection, and how a batch of changes is written into them.

A projection returns `RowChange`s and `SharedChange`s, which name rows by keys. `ProjectionTables` finds or inserts the
rows, gives them ids, and writes a batch and its checkpoint in one transaction. Projecting the same facts into empty
tables gives the same rows with the same ids, however the facts are divided into batches.

Other programs may delete rows. If another program inserted a row with the natural key (such as the name) of a row to
insert, the other program's row is used: its id is recorded for the key. If the database takes the name for that of
another row, although they differ by more than case, the row is inserted with a letter of its name percent-encoded.
`unless` is (column, value): a row with this value is not changed. `LEFT_OUT` is the id of a key without a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.collections.drops.database.projection_rows import (
    LEFT_OUT,
    IdLookup,
    Insert,
    MergedRow,
    RowChange,
    Seed,
    SharedChange,
    advance_sequence,
    chunks,
    find_owner,
    insert_seeds,
    is_one_of,
    merge_changes,
)
from windrow.collections.drops.database.tracker_tables import COLLATION
from windrow.errors import StoreError
from windrow.stores.databases import describe_database, map_errors, open_or_create, refuse_other_texts, with_database
from windrow.stores.sqlite import close_on_failure

MIN_JOINT_UPDATE = 4
"""The minimum number of rows with the same new values that are updated in a single statement."""

_Values = dict[str, Any]
_NaturalKey = tuple[object, ...]


class _NewRow(NamedTuple):
    """A row to insert, unless the table has a row with the same natural key. Its `key` has no recorded id yet."""

    key: str
    values: _Values


class RowBatch:
    """Finds, inserts and updates the rows of a batch, one table after another, referenced tables first.

    If `checks_rows` is true, `write` first finds out which rows still exist.
    """

    def __init__(
        self,
        connection: sa.Connection,
        metadata: sa.MetaData,
        id_lookup: IdLookup,
        natural_keys: Mapping[str, tuple[str, ...]],
        *,
        checks_rows: bool,
    ) -> None:
        self._connection = connection
        self._metadata = metadata
        self._id_lookup = id_lookup
        self._natural_keys = natural_keys
        self._checks_rows = checks_rows

    def write(self, tables: Mapping[str, Mapping[str, MergedRow]]) -> None:
        """Write the rows of all tables, and then their references to tables that are written later."""
        for table in self._metadata.sorted_tables:
            rows = tables.get(table.name)
            if rows:
                self._write(table, rows)
        for table in self._metadata.sorted_tables:
            late_rows = {key: row for key, row in tables.get(table.name, {}).items() if row.late_references}
            if late_rows:
                self._write_late_references(table, late_rows)

    def write_shared(self, changes: Iterable[SharedChange]) -> None:
        """Write the values of each change into its rows. Rows that do not exist are skipped."""
        for change in changes:
            table = self._metadata.tables[change.table]
            ids = self._id_lookup.find_ids(self._connection, table.name, change.keys)
            row_ids = [ids[key] for key in change.keys if ids.get(key, LEFT_OUT)]
            self._update_shared(table, row_ids, change.values, change.unless)

    def _update_shared(
        self, table: sa.Table, row_ids: Iterable[int], values: Mapping[str, Any], unless: tuple[str, object] | None
    ) -> None:
        for some_ids in chunks(sorted(row_ids)):
            update = table.update().where(is_one_of(table.c.id, some_ids)).values(dict(values))
            self._connection.execute(_skip_taken_over(update, table, unless))

    def _write(self, table: sa.Table, rows: Mapping[str, MergedRow]) -> None:
        """Insert the rows of a table that are new or to be inserted again, and update the others."""
        lost_keys = self._find_deleted(table, rows)
        ids = self._id_lookup.find_ids(self._connection, table.name, rows)
        rows = {key: row for key, row in rows.items() if row.insert is not Insert.NEVER or key in ids}
        for key, row in rows.items():
            if row.values_if_present and key in ids:
                row.values = {**row.values_if_present, **row.values}
        values_by_key = self._resolve(rows)
        new_keys = [key for key in values_by_key if key not in ids]
        new_rows = [_NewRow(key, {**rows[key].initial_values, **values_by_key[key]}) for key in new_keys]
        complete_rows = [new_row for new_row in new_rows if _is_complete(table, new_row.values)]
        complete_keys = {new_row.key for new_row in complete_rows}
        incomplete_keys = [key for key in rows if key not in ids and key not in complete_keys]
        self._id_lookup.record_ids(self._connection, table.name, [(key, LEFT_OUT) for key in incomplete_keys])
        lost_rows = [{"id": ids[key], **rows[key].initial_values, **values_by_key[key]} for key in lost_keys]
        natural_columns = [table.c[name] for name in self._natural_keys.get(table.name, ())]
        for lost_row in lost_rows if natural_columns else ():
            self._find_same(natural_columns, lost_row)
        self._insert(table, lost_rows)
        inserted_keys = self._add_rows(table, complete_rows) | set(lost_keys)
        known_keys = [key for key in values_by_key if key not in inserted_keys]
        self._update(table, rows, {key: values_by_key[key] for key in known_keys})

    def _write_late_references(self, table: sa.Table, rows: Mapping[str, MergedRow]) -> None:
        ids = self._id_lookup.find_ids(self._connection, table.name, rows)
        for key, row in rows.items():
            for column, (target, target_key, max_id, substitute) in row.late_references.items():
                target_id = self._id_lookup.find_ids(self._connection, target, [target_key]).get(target_key, 0)
                reference = target_id if 0 < target_id <= max_id else substitute
                update = table.update().where(table.c.id == ids.get(key, LEFT_OUT)).values({column: reference})
                self._connection.execute(_skip_taken_over(update, table, row.unless))

    # references and deleted rows

    def _resolve(self, rows: Mapping[str, MergedRow]) -> dict[str, _Values]:
        """Replace each reference by the row's id, or None if there is no row; return a dict from row key to values."""
        target_keys: dict[str, dict[str, None]] = {}
        for row in rows.values():
            for target, key in row.references.values():
                target_keys.setdefault(target, {})[key] = None
        target_ids = {target: self._find_ids(target, keys) for target, keys in target_keys.items()}
        for row in rows.values():
            for column, (target, target_key) in row.references.items():
                row.values[column] = target_ids[target].get(target_key) or None
        return {key: row.values for key, row in rows.items()}

    def _find_ids(self, target: str, keys: Mapping[str, None]) -> Mapping[str, int]:
        ids = self._id_lookup.find_ids(self._connection, target, keys)
        if self._checks_rows:
            deleted_ids = self._find_lost(self._metadata.tables[target], [ids[key] for key in keys if ids.get(key)])
            self._id_lookup.record_deleted(self._connection, target, deleted_ids)
            ids = self._id_lookup.find_ids(self._connection, target, keys)
        return ids

    def _find_deleted(self, table: sa.Table, rows: Mapping[str, MergedRow]) -> list[str]:
        """Record which rows another program deleted; return the keys of rows to insert again with their old ids."""
        keys = [key for key, row in rows.items() if row.insert is Insert.AGAIN or self._checks_rows]
        if not keys:
            return []
        ids = self._id_lookup.find_ids(self._connection, table.name, keys)
        deleted_ids = self._find_lost(table, [ids[key] for key in keys if ids.get(key)])
        lost_keys = [key for key in keys if rows[key].insert is Insert.AGAIN and ids.get(key) in deleted_ids]
        self._id_lookup.record_deleted(self._connection, table.name, deleted_ids - {ids[key] for key in lost_keys})
        # If a row was left out of an earlier batch and may be inserted again, its key gets a new id.
        left_out_keys = [key for key in keys if rows[key].insert is Insert.AGAIN and ids.get(key) == LEFT_OUT]
        self._id_lookup.drop_keys(self._connection, table.name, left_out_keys)
        return lost_keys

    def _find_lost(self, table: sa.Table, row_ids: Iterable[int]) -> set[int]:
        deleted_ids: set[int] = set()
        for some_ids in chunks(row_ids):
            present_ids = self._connection.scalars(sa.select(table.c.id).where(is_one_of(table.c.id, some_ids)))
            deleted_ids |= set(some_ids).difference(present_ids)
        return deleted_ids

    # new rows

    def _add_rows(self, table: sa.Table, new_rows: Sequence[_NewRow]) -> set[str]:
        """Insert new rows, but reuse existing rows with the same natural keys; return the keys of inserted rows."""
        natural_columns = self._natural_keys.get(table.name, ())
        inserted_keys: set[str] = set()
        for rows in _split_runs(new_rows, natural_columns):
            existing_ids = self._find_existing(table, natural_columns, rows) if natural_columns else {}
            to_insert: list[_NewRow] = []
            reused_keys: list[tuple[str, _NaturalKey]] = []
            for row in rows:
                natural_key = _natural_key(natural_columns, row.values)
                if natural_columns and natural_key in existing_ids:
                    reused_keys.append((row.key, natural_key))
                    continue
                existing_ids[natural_key] = LEFT_OUT
                to_insert.append(row)
            numbers = self._id_lookup.allot_ids(self._connection, table, len(to_insert)) if to_insert else range(0)
            numbered_rows = list(zip(to_insert, numbers, strict=True))
            for row, number in numbered_rows:
                existing_ids[_natural_key(natural_columns, row.values)] = number
            self._insert(table, [{"id": number, **row.values} for row, number in numbered_rows])
            new_ids = [(row.key, number) for row, number in numbered_rows]
            new_ids += [(key, existing_ids[natural_key]) for key, natural_key in reused_keys]
            self._id_lookup.record_ids(self._connection, table.name, new_ids)
            inserted_keys.update(row.key for row in to_insert)
        return inserted_keys

    def _find_existing(
        self, table: sa.Table, natural_columns: Sequence[str], rows: Sequence[_NewRow]
    ) -> dict[_NaturalKey, int]:
        columns = [table.c[name] for name in natural_columns]
        ids: dict[_NaturalKey, int] = {}
        compares_in_database = any(_needs_collation(row.values.get(name)) for row in rows for name in natural_columns)
        for part in chunks([] if compares_in_database else {row.values.get(natural_columns[0]) for row in rows}):
            query = sa.select(table.c.id, *columns).where(columns[0].in_(part)).order_by(table.c.id)
            for number, *cells in self._connection.execute(query):
                ids.setdefault(tuple(map(_fold_case, cells)), number)
                compares_in_database = compares_in_database or any(map(_needs_collation, cells))
        if compares_in_database:
            # Only the database knows which letters it treats as equal.
            for row in rows:
                number = self._find_same(columns, row.values)
                if number is not None:
                    ids[_natural_key(natural_columns, row.values)] = number
        return ids

    def _find_same(self, columns: Sequence[sa.Column[Any]], values: _Values) -> int | None:
        """Return the id of the existing row with the natural key in `values`, or None.

        If the database takes another name for equal, as MariaDB does with u and ü, the name in `values` is changed
        until it does not, so that two things are never one row. Return LEFT_OUT if it becomes too long.
        """
        table = columns[0].table
        while True:
            conditions = [column == values.get(column.name) for column in columns]
            query = sa.select(table.c.id, *columns).where(*conditions).order_by(table.c.id).limit(1)
            row = self._connection.execute(query).first()
            if row is None:
                return None
            for column, cell in zip(columns, row[1:], strict=True):
                if _fold_case(cell) != _fold_case(values.get(column.name)):
                    values[column.name] = _respell(values[column.name], cell)
                    if len(values[column.name]) > (getattr(column.type, "length", None) or len(values[column.name])):
                        return LEFT_OUT
                    break
            else:
                return int(row[0])

    def _insert(self, table: sa.Table, rows: Sequence[_Values]) -> None:
        rows_by_columns: dict[tuple[str, ...], list[_Values]] = {}
        for row in rows:
            rows_by_columns.setdefault(tuple(row), []).append(row)
        for shared_rows in rows_by_columns.values():
            self._connection.execute(table.insert(), shared_rows)
        if rows:
            advance_sequence(self._connection, table)

    # known rows

    def _update(self, table: sa.Table, rows: Mapping[str, MergedRow], new_values: Mapping[str, _Values]) -> None:
        """Write `new_values` into existing rows, except natural keys; many rows with equal values share a statement."""
        ids = self._id_lookup.find_ids(self._connection, table.name, new_values)
        natural_columns = self._natural_keys.get(table.name, ())
        changes_by_id: dict[int, tuple[_Values, tuple[str, object] | None]] = {}
        for key, values in new_values.items():
            row_id = ids[key]
            changed = values
            if natural_columns:
                changed = {name: value for name, value in values.items() if name not in natural_columns}
            if row_id != LEFT_OUT and changed and _has_required_values(table, changed):
                earlier = changes_by_id.get(row_id)
                changes_by_id[row_id] = {**earlier[0], **changed} if earlier else changed, rows[key].unless
        groups: dict[Any, list[int]] = {}
        for row_id, (values, unless) in changes_by_id.items():
            groups.setdefault((tuple(values.items()), unless), []).append(row_id)
        single_updates: dict[Any, list[_Values]] = {}
        for (values, unless), row_ids in groups.items():
            if len(row_ids) < MIN_JOINT_UPDATE:
                same_statement = single_updates.setdefault((tuple(name for name, _ in values), unless), [])
                same_statement.extend({**dict(values), "its_id": row_id} for row_id in row_ids)
                continue
            self._update_shared(table, row_ids, dict(values), unless)
        for (names, unless), update_rows in single_updates.items():
            update = table.update().where(table.c.id == sa.bindparam("its_id"))
            update = _skip_taken_over(update.values({name: sa.bindparam(name) for name in names}), table, unless)
            self._connection.execute(update, update_rows)


def _skip_taken_over(update: sa.Update, table: sa.Table, unless: tuple[str, object] | None) -> sa.Update:
    return update.where(table.c[unless[0]].is_distinct_from(unless[1])) if unless else update


def _has_required_values(table: sa.Table, values: _Values) -> bool:
    """Return False if a column that must not be NULL gets None, else True. A reference to a deleted row is None."""
    return None not in values.values() or all(
        value is not None or table.c[name].nullable for name, value in values.items()
    )


def _is_complete(table: sa.Table, values: _Values) -> bool:
    return _has_required_values(table, values) and all(name in values for name in _required_columns(table))


@cache
def _required_columns(table: sa.Table) -> tuple[str, ...]:
    return tuple(
        column.name for column in table.columns if not (column.nullable or column.primary_key or column.server_default)
    )


def _fold_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _natural_key(names: Sequence[str], values: _Values) -> _NaturalKey:
    """Return the values of a row's natural key in lower case, since databases compare them without regard to case."""
    return tuple(_fold_case(values.get(name)) for name in names)


def _needs_collation(value: object) -> bool:
    """Return whether a text may be equal to another one for the database, although it differs by more than case."""
    return isinstance(value, str) and not (value.isascii() and value.isprintable() and not value.endswith(" "))


def _respell(name: str, other: str) -> str:
    """Return a name with its first letter in which it differs from another name percent-encoded.

    >>> _respell("gr\u00fcn", "Grun"), _respell("grun", "gr\u00fcn"), _respell("ss", "\u00df"), _respell("a ", "a")
    ('gr%C3%BCn', 'gr%75n', '%73s', 'a%20')
    """
    differences = (index for index, own in enumerate(name) if _fold_case(own) != _fold_case(other[index : index + 1]))
    place = next(differences, len(name) - 1)
    return name[:place] + "".join(f"%{byte:02X}" for byte in name[place].encode()) + name[place + 1 :]


def _split_runs(rows: Sequence[_NewRow], natural_columns: Sequence[str]) -> Iterator[Sequence[_NewRow]]:
    """Split rows into runs of neighbours; a row whose natural key only the database can compare is a run of its own."""
    run: list[_NewRow] = []
    for row in rows:
        if any(_needs_collation(row.values.get(name)) for name in natural_columns):
            if run:
                yield run
            yield [row]
            run = []
        else:
            run.append(row)
    if run:
        yield run


_NO_NATURAL_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class ProjectionTables:
    """The tables of a projection in one database; only one process at a time may write to them."""

    def __init__(
        self,
        url: str,
        metadata: sa.MetaData,
        name: str,
        *,
        natural_keys: Mapping[str, tuple[str, ...]] = _NO_NATURAL_KEYS,
        database: str = "",
        password: str | None = None,
    ) -> None:
        """Open the database at `url` and create missing tables.

        If all tables are missing, or all that had rows were emptied, the bookkeeping is cleared, so that all facts are
        projected again. Raises StoreError if only some tables are missing and one of them had rows, or if a table on
        MariaDB has texts in another encoding than utf8mb4.

        `name` distinguishes this projection from others in the same database. `natural_keys` is a dict from table to
        the columns of its natural key. `database` is used if the URL of a server does not contain the name of a
        database.
        """
        self.metadata = metadata
        self.natural_keys = natural_keys
        self.engine = open_or_create(with_database(url, database), password)
        self.id_lookup = IdLookup(self.engine, name)
        self._name = name
        with close_on_failure(self.close), map_errors(self.engine):
            existing_tables = set(sa.inspect(self.engine).get_table_names())
            if not existing_tables.isdisjoint(metadata.tables):
                self._refuse_lost(metadata.tables.keys() - existing_tables)
            metadata.create_all(self.engine)
            with self.engine.begin() as connection:
                refuse_other_texts(connection, metadata.tables, COLLATION, only_encoding=True)
                # On a server the checkpoint is in another schema, so it may still exist after the tables were dropped.
                if existing_tables.isdisjoint(metadata.tables) or self._is_emptied(connection):
                    self.id_lookup.clear(connection)

    def _refuse_lost(self, missing: Iterable[str]) -> None:
        """Raise StoreError if a missing table had rows, because facts before the checkpoint are not projected again."""
        with self.engine.begin() as connection:
            lost_tables = sorted(name for name in missing if self.id_lookup.has_rows(connection, name))
        if lost_tables:
            message = f"the tables {', '.join(lost_tables)} were dropped, but other tables of the tracker exist"
            raise StoreError(
                f"{describe_database(self.engine)}: {message}",
                hint="drop the other tables too, or restore the dropped ones; then: windrow run",
            )

    def _is_emptied(self, connection: sa.Connection) -> bool:
        """Return whether all tables that had rows are now empty (False if none had rows)."""
        tables = self.metadata.tables.items()
        written_tables = [table for name, table in tables if self.id_lookup.has_rows(connection, name)]
        queries = (sa.select(sa.literal(1)).select_from(table).limit(1) for table in written_tables)
        return bool(written_tables) and not any(connection.scalar(query) for query in queries)

    def seed(self, seeds: Iterable[Seed]) -> int:
        """Insert the seed rows that are missing; return their number."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return insert_seeds(connection, self.metadata, seeds)

    def checkpoint(self) -> int:
        """Return the number of the last projected fact, or 0 if there is none."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return self.id_lookup.read_checkpoint(connection)

    def owner(self) -> int:
        """Return the identity of the ledger whose facts are projected, or 0 if it is not recorded."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return find_owner(connection, self._name)

    def set_owner(self, identity: int) -> None:
        """Record the identity of the ledger whose facts are projected."""
        with map_errors(self.engine), self.engine.begin() as connection:
            self.id_lookup.write_owner(connection, identity)

    def lacks_last_row(self, table: str) -> bool:
        """Return whether the row of a table that was inserted last is missing, as in an older copy of the table."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return self.id_lookup.lacks_last_row(connection, self.metadata.tables[table])

    def has_value(self, table: str, column: str, value: object) -> bool:
        """Return whether a row of a table has this value, whoever inserted it."""
        columns = self.metadata.tables[table].c
        query = sa.select(columns.id).where(columns[column] == value).limit(1)
        with map_errors(self.engine), self.engine.begin() as connection:
            return connection.scalar(query) is not None

    def keys(self, table: str) -> list[str]:
        """Return all keys of a table, sorted, including keys of rows that were left out or deleted."""
        with map_errors(self.engine), self.engine.begin() as connection:
            return self.id_lookup.find_keys(connection, table)

    def apply(self, changes: Iterable[RowChange | SharedChange], checkpoint: int) -> None:
        """Write a batch of changes in one transaction. `checkpoint` is the number of the last projected fact."""
        self._write(list(changes), checkpoint)

    def note(self, changes: Iterable[RowChange]) -> None:
        """Write changes that do not come from a fact, such as a transfer's progress; the checkpoint stays the same."""
        self._write(list(changes), None)

    def _write(self, changes: Sequence[RowChange | SharedChange], checkpoint: int | None) -> None:
        with map_errors(self.engine):
            try:
                self._write_once(changes, checkpoint, checks_rows=False)
            except exc.IntegrityError:
                # Another program deleted or added rows: find out which rows exist, and try once more.
                self._write_once(changes, checkpoint, checks_rows=True)

    def _write_once(
        self, changes: Sequence[RowChange | SharedChange], checkpoint: int | None, *, checks_rows: bool
    ) -> None:
        try:
            with self.engine.begin() as connection:
                batch = RowBatch(connection, self.metadata, self.id_lookup, self.natural_keys, checks_rows=checks_rows)
                batch.write(merge_changes(change for change in changes if type(change) is RowChange))
                batch.write_shared(change for change in changes if type(change) is SharedChange)
                if checkpoint is not None:
                    self.id_lookup.write_checkpoint(connection, checkpoint)
        except BaseException:
            self.id_lookup.clear_cache()
            raise

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def __repr__(self) -> str:
        """Show the database's address without its password."""
        return f"ProjectionTables({describe_database(self.engine)!r})"
