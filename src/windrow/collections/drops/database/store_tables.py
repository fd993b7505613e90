"""The tables of a table store: fixed tables, a table for each type of element, and tables of counts.

A `submission` is a loaded document, and an `entity` is one version of a record in it, such as a specimen. The rows of
all elements have ids from one sequence, so `parent_id` suffices to find a row. An entity has the id of its first row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache, wraps
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeDecorator, TypeEngine

from windrow.collections.drops.elements import MAX_NAME_LENGTH, ColumnKind, ElementTable

CURRENT_CONDITION = "valid_from IS NOT NULL AND valid_to IS NULL AND NOT tombstone"
"""The condition, in SQL, that current entities meet."""

COLLATION = "utf8mb4_nopad_bin"
"""The collation of texts on MariaDB: identifiers differ by case and by trailing blanks."""

_MYSQL_DIALECTS = ("mysql", "mariadb")
_TABLE_OPTIONS: dict[str, Any] = {
    f"{engine}_{key}": value
    for engine in _MYSQL_DIALECTS
    for key, value in (
        ("engine", "InnoDB"),
        ("charset", "utf8mb4"),
        ("collate", COLLATION),
        ("row_format", "DYNAMIC"),
    )
}

BigInt = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Name = sa.String(MAX_NAME_LENGTH)
LongText = sa.Text().with_variant(mysql.LONGTEXT(), *_MYSQL_DIALECTS)
_COLUMN_TYPES: dict[ColumnKind, TypeEngine[Any]] = {
    ColumnKind.NAME: Name,
    ColumnKind.TEXT: LongText,
    ColumnKind.INTEGER: sa.BigInteger(),
    ColumnKind.DOUBLE: sa.Double(),
    ColumnKind.DECIMAL: LongText,
    ColumnKind.BOOLEAN: sa.Boolean(),
    ColumnKind.DATE: sa.Date(),
}


class UtcTime(TypeDecorator[datetime]):
    """The type of a time in UTC with microseconds. The time has a zone only in Python and PostgreSQL."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[Any]:
        """Return the database's own type that stores microseconds."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(sa.DateTime(timezone=True))
        if dialect.name in _MYSQL_DIALECTS:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Convert an aware time (or None) to UTC; remove the zone for databases other than PostgreSQL."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Return a stored time as an aware time in UTC; None for NULL."""
        if value is None or dialect.name == "postgresql":
            return value and value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


class TableSchema:
    """All tables of one store, and the statements that create them."""

    def __init__(self, tables: Iterable[ElementTable], keys: tuple[str, ...] = ()) -> None:
        """Describe the fixed tables, a table for each type of element, and two tables of counts.

        `keys` are the columns by which rows are counted.
        """
        self.element_tables = tuple(tables)
        self.keys = keys
        self.metadata = sa.MetaData()
        self.cached_statements: dict[object, object] = {}  # by the function that builds the statement
        self._creation_statements: dict[object, list[str]] = {}  # by the database's dialect and version
        self.counter = self._make_table(
            "counter", sa.Column("name", Name, primary_key=True), sa.Column("value", BigInt, nullable=False)
        )
        self.submission = self._make_submission_table()
        self.entity = self._make_entity_table()
        self.older_entity, self.newer_entity = self.entity.alias("older"), self.entity.alias("newer")
        self.elements = {table.name: self._make_element_table(table) for table in self.element_tables}
        submission_id = _make_reference("submission_id", "submission.id", index=True)
        self.context = self._make_summary_table("context", submission_id)
        self.overview = self._make_summary_table("overview")
        self.overview.append_column(sa.Column("counted_at", UtcTime()))

    def statements(self, dialect: sa.Dialect) -> list[str]:
        """Return statements that create the tables and indexes that are missing; each may be run again."""
        key = dialect.name, dialect.server_version_info
        if key not in self._creation_statements:
            ddl: list[sa.schema.ExecutableDDLElement] = []
            for table in self.metadata.sorted_tables:
                ddl.append(sa.schema.CreateTable(table, if_not_exists=True))
                ddl += [
                    sa.schema.CreateIndex(index, if_not_exists=True)
                    for index in sorted(table.indexes, key=lambda index: str(index.name))
                ]
            self._creation_statements[key] = [str(element.compile(dialect=dialect)) for element in ddl]
        return self._creation_statements[key]

    def views(self) -> list[tuple[str, str]]:
        """Return the views as (name, query): `current_TABLE` for each table of elements, and `KIND` and `current_KIND`.

        The last two are only for kinds of records with several tables.
        """
        condition = CURRENT_CONDITION.replace("valid", "e.valid").replace("tombstone", "e.tombstone")
        queries = []
        for table in self.element_tables:
            from_clause = f'FROM "{table.name}" t'
            if self._is_in_entity(table):
                query = f"SELECT t.* {from_clause} JOIN entity e ON e.id = t.entity_id WHERE {condition}"
            else:
                current_entities = f"SELECT 1 FROM entity e WHERE e.submission_id = t.submission_id AND {condition}"
                query = f"SELECT t.* {from_clause} WHERE EXISTS ({current_entities})"
            queries.append((f"current_{table.name}", query))
        for kind in dict.fromkeys(table.entity for table in self.element_tables):
            same_kind = [table for table in self.element_tables if table.entity == kind]
            if kind and len(same_kind) > 1:
                queries += [(f"{prefix}{kind}", _make_union_query(prefix, same_kind)) for prefix in ("", "current_")]
        return queries

    def _is_in_entity(self, table: ElementTable) -> bool:
        parents = [parent for parent in self.element_tables if parent.name in table.parents]
        return bool(table.entity) or (bool(parents) and all(map(self._is_in_entity, parents)))

    def _make_table(self, name: str, *columns: sa.Column[Any] | sa.Index) -> sa.Table:
        return sa.Table(name, self.metadata, *columns, **_TABLE_OPTIONS)

    def _make_submission_table(self) -> sa.Table:
        return self._make_table(
            "submission",
            sa.Column("id", BigInt, primary_key=True, autoincrement=False),
            sa.Column("item", BigInt, nullable=False, unique=True),
            sa.Column("name", Name, nullable=False, index=True),
            sa.Column("zip_name", Name, nullable=False, index=True),
            sa.Column("action", sa.String(16), nullable=False),
            sa.Column("centre", sa.String(64), nullable=False),
            sa.Column("digest", sa.String(128), nullable=False, index=True),
            sa.Column("kind", sa.String(64), nullable=False),
            sa.Column("sort_key", Name, nullable=False),  # the version with the greatest key is current
            sa.Column("first_id", BigInt, nullable=False),
            sa.Column("element_count", BigInt, nullable=False),
            sa.Column("staged_at", UtcTime(), nullable=False),
            sa.Column("published_at", UtcTime(), index=True),
            sa.Column("withheld_at", UtcTime()),
            sa.Column("reason", sa.String(64)),
            sa.Column("same_as", BigInt),  # an earlier submission with the same bytes that was in force
            sa.Column("dirty", sa.Boolean(), nullable=False, index=True),  # its summary is out of date
        )

    def _make_entity_table(self) -> sa.Table:
        return self._make_table(
            "entity",
            sa.Column("id", BigInt, primary_key=True, autoincrement=False),
            _make_reference("submission_id", "submission.id", index=True),
            sa.Column("kind", sa.String(64), nullable=False),
            sa.Column("identifier", Name, nullable=False),
            sa.Column("valid_from", UtcTime()),
            sa.Column("valid_to", UtcTime()),
            sa.Column("ended_by", BigInt, index=True),
            sa.Column("tombstone", sa.Boolean(), nullable=False),
            sa.Column("effect", sa.String(16)),
            sa.Index("ix_entity_identifier", "identifier", "kind"),
        )

    def _make_element_table(self, table: ElementTable) -> sa.Table:
        return self._make_table(
            table.name,
            sa.Column("id", BigInt, primary_key=True, autoincrement=False),
            sa.Column("parent_id", BigInt, index=bool(table.parents)),
            sa.Column("entity_id", BigInt, index=not table.entity),
            sa.Column("submission_id", BigInt, nullable=False, index=True),
            sa.Column("ordinal", BigInt, nullable=False),
            *(sa.Column(column.name, _COLUMN_TYPES[column.kind], index=column.indexed) for column in table.columns),
        )

    def _make_summary_table(self, name: str, *first_columns: sa.Column[Any]) -> sa.Table:
        key_columns = [sa.Column(key, Name, nullable=False) for key in self.keys]
        table = self._make_table(
            name,
            *first_columns,
            *key_columns,
            *(sa.Column(count, BigInt, nullable=False) for count in COUNT_COLUMNS),
            sa.Column("first_seen", UtcTime()),
            sa.Column("last_change", UtcTime()),
        )
        if self.keys:  # on MariaDB, the first 64 characters of each key are indexed
            lengths: dict[str, Any] = {f"{engine}_length": dict.fromkeys(self.keys, 64) for engine in _MYSQL_DIALECTS}
            sa.Index(f"ix_{name}_keys", *(table.c[key] for key in reversed(self.keys)), **lengths)
        return table


def is_same_record(entity: sa.FromClause, other_entity: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return the condition that two entities are versions of the same record."""
    return sa.and_(entity.c.identifier == other_entity.c.identifier, entity.c.kind == other_entity.c.kind)


@cache
def table_schema(tables: tuple[ElementTable, ...], keys: tuple[str, ...]) -> TableSchema:
    """Return the schema of a store; stores with the same tables and keys share it and its cached statements."""
    return TableSchema(tables, keys)


_Statement = TypeVar("_Statement")


def cache_per_schema(make_statement: Callable[[TableSchema], _Statement]) -> Callable[[TableSchema], _Statement]:
    """Decorate a function so that it builds its statement only once for each schema, since building it is slow."""

    @wraps(make_statement)
    def get_statement(schema: TableSchema) -> _Statement:
        if make_statement not in schema.cached_statements:
            schema.cached_statements[make_statement] = make_statement(schema)
        return cast("_Statement", schema.cached_statements[make_statement])

    return get_statement


COUNT_COLUMNS = ("total", "valid", "superseded", "withheld")
"""The names of the counts: all rows except those of tombstones and, of these, the current, ended and withheld ones."""


def _make_union_query(prefix: str, tables: list[ElementTable]) -> str:
    shared_columns = [column for column in tables[0].columns if all(column in table.columns for table in tables)]
    names = ["id", "parent_id", "entity_id", "submission_id", "ordinal", *(column.name for column in shared_columns)]
    quoted_names = ", ".join(f'"{name}"' for name in names)
    return " UNION ALL ".join(
        f"SELECT '{table.name}' AS kind, {quoted_names} FROM \"{prefix}{table.name}\"" for table in tables
    )


def _make_reference(name: str, target: str, *, index: bool = False) -> sa.Column[Any]:
    return sa.Column(name, BigInt, sa.ForeignKey(target), nullable=False, index=index)
