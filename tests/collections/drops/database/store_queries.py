"""Query a table store directly, and add documents."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from tests.collections.drops.sample import at, load, submission
from windrow.collections.drops.database.history import Published
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import ELEMENTS
from windrow.stores.databases import connect

Cells = list[tuple[Any, ...]]


def query_all(url: str, queries: dict[str, str]) -> dict[str, Cells]:
    engine = connect(url)
    try:
        with engine.connect() as connection:
            rows_of = {name: connection.execute(sa.text(query)) for name, query in queries.items()}
            return {name: [tuple(row) for row in rows] for name, rows in rows_of.items()}
    finally:
        engine.dispose()


def query_store(url: str, query: str) -> Cells:
    return query_all(url, {"": query})[""]


def dump(url: str) -> dict[str, Cells]:
    """Return all rows of the store by table."""
    tables = ("counter", "submission", "entity", "context", "overview", *ELEMENTS)
    tables_rows = query_all(url, {name: f'SELECT * FROM "{name}"' for name in tables})
    return {name: sorted(rows, key=repr) for name, rows in tables_rows.items()}


def put(store: TableStore, item: int, content: bytes, action: str = "add", hours: float | None = None) -> Published:
    store.stage(submission(item, content, action), load(content))
    return store.publish(item, at(item if hours is None else hours))
