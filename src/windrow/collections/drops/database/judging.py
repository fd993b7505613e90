"""Judge many staged documents in one transaction: publish or withhold each, in their order, with few statements.

Most documents are new as a whole: no record in them was there before, and their bytes were not either. Those are
published together; the others one by one, after what stands before them. The result is that of publishing each alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from windrow.collections.drops.database import history
from windrow.collections.drops.database import store_statements as statement
from windrow.collections.drops.database.history import Published
from windrow.collections.drops.database.store_tables import TableSchema
from windrow.contract import Undecided
from windrow.stores.id_lookup import chunks

_Name = tuple[str, str]


def judge(
    connection: sa.Connection, schema: TableSchema, documents: Sequence[Undecided], at: datetime
) -> list[Published | None]:
    """Publish or withhold documents in their order; return what publishing each did, None for one withheld."""
    batch = _Batch(connection, schema, documents, at)
    judged = [batch.judge(one) for one in documents]
    batch.flush()
    return judged


class _Batch:
    """Documents to judge, and what the store says of them before the first one is."""

    def __init__(
        self, connection: sa.Connection, schema: TableSchema, documents: Sequence[Undecided], at: datetime
    ) -> None:
        """Ask the store all at once."""
        self._connection = connection
        self._schema = schema
        latest = connection.scalar(statement.last_published(schema))
        self._at = max(at, latest) if latest is not None else at
        self._rows: dict[int, Any] = {}
        self._held: dict[int, list[_Name]] = {}
        self._preceded: set[int] = set()
        self._digests: set[str] = set()
        for chunk in chunks(one.item for one in documents):
            self._rows.update((row.item, row) for row in connection.execute(statement.submissions_of(schema, chunk)))
        for chunk in chunks(row.id for row in self._rows.values()):
            for submission, *name in connection.execute(statement.names_of(schema, chunk)).all():
                self._held.setdefault(submission, []).append(tuple(name))
            self._preceded.update(connection.scalars(statement.preceded(schema, chunk)))
        for digests in chunks({row.digest for row in self._rows.values()}):
            self._digests.update(connection.scalars(statement.published_digests(schema, digests)))
        self._known = self._look_up(documents)
        self._touched: set[_Name] = set()  # records of the documents judged so far
        self._new: list[int] = []  # submissions to publish that are new as a whole

    def _look_up(self, documents: Sequence[Undecided]) -> dict[str, set[str]]:
        asked: dict[str, set[str]] = {}
        for one in documents:
            for question, keys in one.asks.items():
                asked.setdefault(question, set()).update(keys)
        return {question: self._ask(question, keys) for question, keys in asked.items()}

    def _ask(self, question: str, keys: AbstractSet[str]) -> set[str]:
        return history.known(self._connection, self._schema, question, keys)

    def judge(self, one: Undecided) -> Published | None:
        """Publish or withhold the next document."""
        row = self._rows.get(one.item) or history.find(self._connection, self._schema, one.item)
        names = self._held.get(row.id, [])
        reason = one.decide({question: self._answer(question, keys) for question, keys in one.asks.items()})
        published: Published | None = None
        if reason is None and self._is_new(row, names):
            self._new.append(row.id)
            published = Published(row.id, len(names), 0)
        else:
            self.flush()
            if reason is None:
                published = history.publish(self._connection, self._schema, one.item, self._at)
            else:
                history.withhold(self._connection, self._schema, one.item, self._at, str(reason))
        self._touched.update(names)
        self._digests.add(row.digest)
        return published

    def _answer(self, question: str, keys: AbstractSet[str]) -> AbstractSet[str]:
        """Return those of the keys that are known now, after the documents before this one."""
        kind = question.partition(":")[0]
        if self._touched.isdisjoint((kind, key) for key in keys):
            return keys & self._known[question]
        self.flush()
        return self._ask(question, keys)

    def _is_new(self, row: Any, names: Sequence[_Name]) -> bool:
        """Tell whether nothing but the document itself changes by its publication, and nothing is to be told of it."""
        return (
            row.action == "add"
            and row.published_at is None
            and row.id not in self._preceded
            and row.digest not in self._digests
            and len(set(names)) == len(names)
            and self._touched.isdisjoint(names)
        )

    def flush(self) -> None:
        """Publish the new ones gathered so far."""
        for chunk in chunks(self._new):
            for change in statement.publish_new(self._schema, chunk, self._at):
                self._connection.execute(change)
        self._new.clear()
