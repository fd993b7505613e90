"""The tables of a table store: the fixed ones, and those that a collection declares.

A `submission` is one document that was loaded; an `entity` one record in it that has an identity and
a history. Ids of entities and of element rows come from one sequence: an entity has the id of the row
that begins it, and `parent_id` is unique without a table name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache, wraps
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeDecorator, TypeEngine

from windrow.collections.drops.elements import NAME_LIMIT, ColumnKind, ElementTable

LIVE = "valid_from IS NOT NULL AND valid_to IS NULL AND NOT tombstone"
"""Which entities are current."""

_MYSQL = ("mysql", "mariadb")
_OPTIONS: dict[str, Any] = {
    f"{engine}_{key}": value
    for engine in _MYSQL
    for key, value in (
        ("engine", "InnoDB"),
        ("charset", "utf8mb4"),
        ("collate", "utf8mb4_nopad_bin"),  # identifiers differ by case and by trailing blanks
        ("row_format", "DYNAMIC"),
    )
}

BigInt = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Name = sa.String(NAME_LIMIT)
LongText = sa.Text().with_variant(mysql.LONGTEXT(), *_MYSQL)
_KINDS: dict[ColumnKind, TypeEngine[Any]] = {
    ColumnKind.NAME: Name,
    ColumnKind.TEXT: LongText,
    ColumnKind.INTEGER: sa.BigInteger(),
    ColumnKind.DOUBLE: sa.Double(),
    ColumnKind.DECIMAL: LongText,
    ColumnKind.BOOLEAN: sa.Boolean(),
    ColumnKind.DATE: sa.Date(),
}


class Moment(TypeDecorator[datetime]):
    """A time in UTC to the microsecond; aware in Python, and on PostgreSQL."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        """Choose the type that keeps microseconds."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(sa.DateTime(timezone=True))
        if dialect.name in _MYSQL:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Write UTC; engines without zones get it without one."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Read an aware time."""
        if value is None or dialect.name == "postgresql":
            return value and value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


class TableSchema:
    """All tables of one store, and the statements that create them."""

    def __init__(self, tables: Iterable[ElementTable], keys: tuple[str, ...] = ()) -> None:
        """Describe the fixed tables, one table per element type, and the summary by `keys`."""
        self.declared = tuple(tables)
        self.keys = keys
        self.metadata = sa.MetaData()
        self.cached_statements: dict[object, object] = {}  # by the function that builds each
        self.counter = self._table(
            "counter", sa.Column("name", Name, primary_key=True), sa.Column("value", BigInt, nullable=False)
        )
        self.submission = self._submission()
        self.entity = self._entity()
        self.older, self.newer = self.entity.alias("older"), self.entity.alias("newer")
        self.elements = {table.name: self._element(table) for table in self.declared}
        self.context = self._summary("context", _number("submission_id", "submission.id", index=True))
        self.overview = self._summary("overview")
        self.overview.append_column(sa.Column("counted_at", Moment()))

    def statements(self) -> list[sa.schema.ExecutableDDLElement]:
        """Return the statements that create every missing table and index; each may be repeated."""
        ddl: list[sa.schema.ExecutableDDLElement] = []
        for table in self.metadata.sorted_tables:
            ddl.append(sa.schema.CreateTable(table, if_not_exists=True))
            ddl += [
                sa.schema.CreateIndex(index, if_not_exists=True)
                for index in sorted(table.indexes, key=lambda index: str(index.name))
            ]
        return ddl

    def views(self) -> list[tuple[str, str]]:
        """Return name and query of each view: `current_X` per table, and one over all of a kind."""
        live = LIVE.replace("valid", "e.valid").replace("tombstone", "e.tombstone")
        queries = []
        for table in self.declared:
            source = f'FROM "{table.name}" t'
            if self._in_entity(table):
                query = f"SELECT t.* {source} JOIN entity e ON e.id = t.entity_id WHERE {live}"
            else:
                membership = f"SELECT 1 FROM entity e WHERE e.submission_id = t.submission_id AND {live}"
                query = f"SELECT t.* {source} WHERE EXISTS ({membership})"
            queries.append((f"current_{table.name}", query))
        for kind in dict.fromkeys(table.entity for table in self.declared):
            members = [table for table in self.declared if table.entity == kind]
            if kind and len(members) > 1:
                queries += [(f"{prefix}{kind}", _union(prefix, members)) for prefix in ("", "current_")]
        return queries

    def _in_entity(self, table: ElementTable) -> bool:
        """Tell whether every row of the table is, or lies in, an entity."""
        parents = [parent for parent in self.declared if parent.name in table.parents]
        return bool(table.entity) or (bool(parents) and all(map(self._in_entity, parents)))

    def _table(self, name: str, *columns: sa.Column[Any] | sa.Index) -> sa.Table:
        return sa.Table(name, self.metadata, *columns, **_OPTIONS)

    def _submission(self) -> sa.Table:
        return self._table(
            "submission",
            sa.Column("id", BigInt, primary_key=True, autoincrement=False),
            sa.Column("item", BigInt, nullable=False, unique=True),
            sa.Column("name", Name, nullable=False, index=True),
            sa.Column("zip_name", Name, nullable=False, index=True),
            sa.Column("action", sa.String(16), nullable=False),
            sa.Column("centre", sa.String(64), nullable=False),
            sa.Column("digest", sa.String(128), nullable=False, index=True),
            sa.Column("kind", sa.String(64), nullable=False),
            sa.Column("sort_key", Name, nullable=False),  # a later one is of a later date and increment
            sa.Column("first_id", BigInt, nullable=False),
            sa.Column("element_count", BigInt, nullable=False),
            sa.Column("staged_at", Moment(), nullable=False),
            sa.Column("published_at", Moment(), index=True),
            sa.Column("withheld_at", Moment()),
            sa.Column("reason", sa.String(64)),
            sa.Column("same_as", BigInt),  # an earlier submission with the same bytes, if it is still in force
            sa.Column("dirty", sa.Boolean(), nullable=False, index=True),  # its summary is out of date
        )

    def _entity(self) -> sa.Table:
        return self._table(
            "entity",
            sa.Column("id", BigInt, primary_key=True, autoincrement=False),
            _number("submission_id", "submission.id", index=True),
            sa.Column("kind", sa.String(64), nullable=False),
            sa.Column("identifier", Name, nullable=False),
            sa.Column("valid_from", Moment()),
            sa.Column("valid_to", Moment()),
            sa.Column("ended_by", BigInt, index=True),
            sa.Column("tombstone", sa.Boolean(), nullable=False),
            sa.Column("effect", sa.String(16)),
            sa.Index("ix_entity_identifier", "identifier", "kind"),
        )

    def _element(self, table: ElementTable) -> sa.Table:
        return self._table(
            table.name,
            sa.Column("id", BigInt, primary_key=True, autoincrement=False),
            sa.Column("parent_id", BigInt, index=bool(table.parents)),
            sa.Column("entity_id", BigInt, index=not table.entity),
            sa.Column("submission_id", BigInt, nullable=False, index=True),
            sa.Column("ordinal", BigInt, nullable=False),
            *(sa.Column(column.name, _KINDS[column.kind], index=column.indexed) for column in table.columns),
        )

    def _summary(self, name: str, *first: sa.Column[Any]) -> sa.Table:
        keys = [sa.Column(key, Name, nullable=False) for key in self.keys]
        table = self._table(
            name,
            *first,
            *keys,
            *(sa.Column(count, BigInt, nullable=False) for count in COUNTS),
            sa.Column("first_seen", Moment()),
            sa.Column("last_change", Moment()),
        )
        if self.keys:
            shorter: dict[str, Any] = {f"{engine}_length": dict.fromkeys(self.keys, 64) for engine in _MYSQL}
            sa.Index(f"ix_{name}_keys", *(table.c[key] for key in reversed(self.keys)), **shorter)
        return table


@cache
def table_schema(tables: tuple[ElementTable, ...], keys: tuple[str, ...]) -> TableSchema:
    """Return the tables of a store: stores of one kind share them and their cached statements."""
    return TableSchema(tables, keys)


_Statement = TypeVar("_Statement")


def once(make: Callable[[TableSchema], _Statement]) -> Callable[[TableSchema], _Statement]:
    """Cache a statement with named parameters per schema: building it takes longer than running it."""

    @wraps(make)
    def build(schema: TableSchema) -> _Statement:
        if make not in schema.cached_statements:
            schema.cached_statements[make] = make(schema)
        return cast("_Statement", schema.cached_statements[make])

    return build


COUNTS = ("total", "valid", "superseded", "withheld")
"""What a summary counts: rows there, in current entities, in ended ones, in withheld submissions."""


def _union(prefix: str, members: list[ElementTable]) -> str:
    """Return the query for all entities of one kind: the columns that their tables share."""
    shared = [column for column in members[0].columns if all(column in member.columns for member in members)]
    names = ["id", "parent_id", "entity_id", "submission_id", "ordinal", *(column.name for column in shared)]
    listed = ", ".join(f'"{name}"' for name in names)
    return " UNION ALL ".join(
        f"SELECT '{member.name}' AS kind, {listed} FROM \"{prefix}{member.name}\"" for member in members
    )


def _number(name: str, target: str, *, index: bool = False) -> sa.Column[Any]:
    return sa.Column(name, BigInt, sa.ForeignKey(target), nullable=False, index=index)
