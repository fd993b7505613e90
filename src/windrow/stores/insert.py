"""Insert many rows at once, as fast as each engine allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from windrow.contract import Rows

_BATCH = 20_000  # rows that are shifted to their final ids at a time


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert plain tuples in the order of the table's columns; values must need no conversion.

    PostgreSQL is sent one COPY; SQLite and MariaDB get the driver's own executemany.
    """
    if not rows:
        return
    dialect = connection.dialect
    name = dialect.identifier_preparer.format_table(table)
    columns = ", ".join(map(dialect.identifier_preparer.format_column, table.columns))
    if dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    else:
        mark = "?" if dialect.paramstyle == "qmark" else "%s"
        marks = ", ".join([mark] * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {name} ({columns}) VALUES ({marks})", list(rows))


def elements(
    connection: sa.Connection, tables: dict[str, sa.Table], documents: Iterable[tuple[int, int, Rows]]
) -> None:
    """Insert the element rows of documents, given as (submission id, first id, rows), table by table."""
    waiting = list(documents)
    for name, table in tables.items():
        ready: list[tuple[Any, ...]] = []
        for submission, base, document in waiting:
            for local, parent, entity, ordinal, *cells in document.tables.get(name, ()):
                ready.append(
                    (
                        base + local,
                        None if parent is None else base + parent,
                        None if entity is None else base + entity,
                        submission,
                        ordinal,
                        *cells,
                    )
                )
                if len(ready) >= _BATCH:
                    insert(connection, table, ready)
                    ready = []
        insert(connection, table, ready)
