"""Query a table store directly, such as for the versions of a record, and add documents."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from tests.collections.drops.sample import at, load, submission
from windrow.collections.drops.database import history
from windrow.collections.drops.database.history import Published
from windrow.collections.drops.database.table_store import Submission, TableStore
from windrow.collections.drops.elements import ELEMENTS
from windrow.contract import Rows
from windrow.reasons import Reason
from windrow.stores.databases import connect

Cells = list[tuple[Any, ...]]


class EntityVersion(NamedTuple):
    """One version of a record; `tombstone` tells whether it records that the record was deleted."""

    id: int
    kind: str
    identifier: str
    submission: int
    item: int
    action: str
    valid_from: datetime | None
    valid_to: datetime | None
    ended_by: int | None
    tombstone: bool


def history_of(store: TableStore, kind: str, identifier: str) -> list[EntityVersion]:
    """Return all versions of one record, published or not, oldest first."""
    entity = store._schema.entity
    return read_versions(store, entity.c.kind == kind, entity.c.identifier == identifier)


def versions_as_of(store: TableStore, kind: str, valid_at: datetime) -> list[EntityVersion]:
    """Return the versions of records of a kind that were current at a time."""
    entity = store._schema.entity
    lasted = sa.or_(entity.c.valid_to.is_(None), entity.c.valid_to > valid_at)
    return read_versions(
        store, entity.c.kind == kind, entity.c.valid_from <= valid_at, lasted, sa.not_(entity.c.tombstone)
    )


def read_versions(store: TableStore, *conditions: sa.ColumnElement[bool]) -> list[EntityVersion]:
    entity, submission = store._schema.entity, store._schema.submission
    query = (
        sa.select(
            *(entity.c[name] for name in ("id", "kind", "identifier", "submission_id")),
            *(submission.c.item, submission.c.action),
            *(entity.c[name] for name in ("valid_from", "valid_to", "ended_by", "tombstone")),
        )
        .join(submission, submission.c.id == entity.c.submission_id)
        .where(*conditions)
        .order_by(entity.c.identifier, entity.c.valid_from, entity.c.id)
    )
    with store._read() as connection:
        return [EntityVersion._make(row) for row in connection.execute(query)]


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


def stage(store: TableStore, document: Submission, rows: Rows) -> int:
    """Stage one document; return the id of its submission."""
    return store.stage_all([(document, rows)])[0]


def publish(store: TableStore, item: int, now: datetime) -> Published:
    """Publish one staged document in a transaction of its own."""
    with store._write() as connection:
        return history.publish(connection, store._schema, item, now)


def withhold(store: TableStore, item: int, now: datetime) -> None:
    """Withhold one staged or published document in a transaction of its own."""
    with store._write() as connection:
        history.withhold(connection, store._schema, item, now, str(Reason.INTEGRITY_FATAL))


def find_known(store: TableStore, question: str, keys: Collection[str]) -> set[str]:
    """Return the keys for which the answer to the question is yes."""
    with store._read() as connection:
        return history.find_known(connection, store._schema, question, keys)


def count_all(store: TableStore, now: datetime) -> None:
    """Count everything again, as if no summary had been made."""
    with store._write() as connection:
        connection.execute(store._schema.overview.delete())
        connection.execute(store._schema.submission.update().values(dirty=True))
    store.summarise(now)


def put(store: TableStore, item: int, content: bytes, action: str = "add", hours: float | None = None) -> Published:
    stage(store, submission(item, content, action), load(content))
    return publish(store, item, at(item if hours is None else hours))
