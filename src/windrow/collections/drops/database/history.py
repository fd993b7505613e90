"""The history of records: publish, withhold and judge staged documents, and look up versions.

An entity is valid from the moment its submission was published until another one of the same kind and
identifier took its place; a tombstone in force says that the record was deleted. The functions work
within the caller's transaction, and doing any of them again changes nothing.

Most documents are new as a whole: neither their records nor their bytes were there before. Those are published
together, the others one by one after the documents before them. The result is that of publishing each alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from windrow.collections.drops.database import store_statements as statement
from windrow.collections.drops.database.projection_rows import among, chunks
from windrow.collections.drops.database.store_tables import TableSchema
from windrow.contract import Undecided
from windrow.errors import StoreError
from windrow.model import Finding, Level
from windrow.reasons import Reason

MENTIONED = 100
"""Identifiers that the findings of one submission name, for each effect."""


class Published(NamedTuple):
    """The effect of publishing a submission; with the `reason` `ALREADY_LOADED`, nothing was changed."""

    submission: int
    current: int  # entities made current; tombstones put in force for a delete
    ended: int  # entities of earlier submissions that this one ended
    findings: tuple[Finding, ...] = ()
    reason: Reason | None = None


class EntityVersion(NamedTuple):
    """One version of an entity; `tombstone` is true for one that records a delete."""

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


_REMARKS = {
    "unknown_edit": ("UnknownRecord", Level.WARN, "is edited but not there; taken as new"),
    "unknown_delete": ("UnknownRecord", Level.WARN, "is deleted but not there"),
    "replaced": ("AlreadyKnown", Level.NOTE, "was current already; this newer one replaced it"),
    "edited": ("Overrides", Level.NOTE, "overrides the earlier version"),
    "deleted": ("Overrides", Level.NOTE, "deletes the earlier version"),
    "overridden": ("Overridden", Level.NOTE, "is overridden by one of a later date or increment"),
    "repeated": ("RecordRepeated", Level.WARN, "occurs more than once in the document; the last one counts"),
}
"""Which effects are worth a finding: its kind, level and words."""


def publish(connection: sa.Connection, schema: TableSchema, item: int, at: datetime) -> Published:
    """Make the entities of a staged submission current, ending those they replace.

    Times never run backwards in the store: an `at` before the last publication is replaced by its time.
    """
    row = find(connection, schema, item)
    same_as = row.same_as
    if row.published_at is None:
        last_time = connection.scalar(statement.last_published(schema))
        at = max(at, last_time) if last_time is not None else at
        same_as = _find_same_bytes(connection, schema, row)
        if same_as is None:
            _put_in_force(connection, schema, row, at)
        else:
            _set_values(connection, schema, _entity_ids(connection, schema, row.id), effect="same")
            _raise_sort_key(connection, schema, same_as, row.sort_key)
        connection.execute(statement.mark_published(schema), {"its_id": row.id, "at": at, "same": same_as})
    return _describe(connection, schema, row.id, same_as)


def withhold(connection: sa.Connection, schema: TableSchema, item: int, at: datetime, reason: str) -> None:
    """Mark a submission as not to be current; if it was published, undo the publication."""
    row = find(connection, schema, item)
    if row.withheld_at is not None and row.published_at is None:
        return
    if row.published_at is not None:
        _undo_publication(connection, schema, row.id)
    submission = schema.submission
    connection.execute(
        submission.update()
        .where(submission.c.id == row.id)
        .values(published_at=None, withheld_at=at, reason=reason, same_as=None, dirty=True)
    )


def find(connection: sa.Connection, schema: TableSchema, item: int) -> Any:
    """Return the submission of a ledger item; raise StoreError if it was never staged."""
    row = connection.execute(statement.submission_of(schema), {"its_item": item}).first()
    if row is None:
        # The ledger says that its rows were written: the database lost a transaction, and a run does not repeat it.
        message = f"item {item} is missing from the store, although it was written there"
        raise StoreError(message, reason=Reason.UNKNOWN_RECORD, hint="windrow replay")
    return row


def versions(
    connection: sa.Connection, schema: TableSchema, *conditions: sa.ColumnElement[bool]
) -> Iterator[EntityVersion]:
    """Return the versions that meet the conditions, in the order of identifier and age."""
    entity, submission = schema.entity, schema.submission
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
    for row in connection.execute(query):
        yield EntityVersion._make(row)


def valid_at(schema: TableSchema, at: datetime) -> sa.ColumnElement[bool]:
    """Return the condition for what was current at a moment."""
    entity = schema.entity
    ended = sa.or_(entity.c.valid_to.is_(None), entity.c.valid_to > at)
    return sa.and_(entity.c.valid_from <= at, ended, sa.not_(entity.c.tombstone))


def known(connection: sa.Connection, schema: TableSchema, question: str, keys: Collection[str]) -> set[str]:
    """Return those identifiers that are known: ever published for the question `KIND`, current for `KIND:current`."""
    kind, _, state = question.partition(":")
    if state not in {"", "current"}:
        raise StoreError(f"the store cannot answer the question {question}")
    entity = schema.entity
    conditions = [entity.c.kind == kind, entity.c.valid_from.is_not(None), sa.not_(entity.c.tombstone)]
    if state:
        conditions.append(entity.c.valid_to.is_(None))
    answer: set[str] = set()
    for chunk in chunks(keys):
        query = sa.select(entity.c.identifier).where(*conditions, entity.c.identifier.in_(chunk))
        answer.update(connection.scalars(query.distinct()))
    return answer


def _put_in_force(connection: sa.Connection, schema: TableSchema, row: Any, at: datetime) -> None:
    """Put the submission's entities in force and end their predecessors.

    A predecessor with a later sort key stays in force and ends the submission's entity at once, which then was never
    current, as if both had been loaded in order.
    """
    last: dict[tuple[str, str], int] = {}
    repeated = []
    for number, kind, identifier in connection.execute(statement.entities_of(schema), {"its_id": row.id}):
        if (earlier_id := last.get((kind, identifier))) is not None:
            repeated.append(earlier_id)
        last[kind, identifier] = number
    predecessors = connection.execute(statement.predecessors(schema), {"its_id": row.id}).all()
    newer = [predecessor for predecessor in predecessors if predecessor.sort_key > row.sort_key]
    predecessors = [predecessor for predecessor in predecessors if predecessor.sort_key <= row.sort_key]
    known_ids = {new for new, _, _, tombstone, _ in predecessors if not tombstone}
    effects = _EFFECTS[row.action]
    # Most documents are new as a whole: that takes one statement, and the others correct what is not.
    connection.execute(statement.put_in_force(schema), {"its_id": row.id, "at": at, "its_effect": effects[False]})
    _set_values(connection, schema, known_ids.intersection(last.values()), effect=effects[True])
    _set_values(connection, schema, repeated, effect="repeated", valid_from=None)
    for owner in {owner for _, _, owner, _, _ in newer}:
        overridden = {new for new, _, newer_owner, _, _ in newer if newer_owner == owner}.difference(repeated)
        _set_values(connection, schema, overridden, effect="overridden", valid_to=at, ended_by=owner)
    _set_values(connection, schema, {old for _, old, _, _, _ in predecessors}, valid_to=at, ended_by=row.id)
    _mark_dirty(connection, schema, {owner for _, _, owner, _, _ in predecessors})


_EFFECTS = {
    "add": {True: "replaced", False: "new"},
    "edit": {True: "edited", False: "unknown_edit"},
    "delete": {True: "deleted", False: "unknown_delete"},
}
"""The effect of each action on a record that is known (True) or not."""


def _find_same_bytes(connection: sa.Connection, schema: TableSchema, row: Any) -> int | None:
    """Return the submission that published the same bytes in the same way and is wholly in force."""
    parameters = {"its_digest": row.digest, "its_action": row.action, "its_kind": row.kind, "its_id": row.id}
    submission: int | None = connection.scalar(statement.same_bytes(schema), parameters)
    return submission


def _raise_sort_key(connection: sa.Connection, schema: TableSchema, number: int, sort_key: str) -> None:
    """Raise the sort key of a submission to that of a later one with the same bytes."""
    submission = schema.submission
    present_key = connection.scalar(sa.select(submission.c.sort_key).where(submission.c.id == number))
    if present_key is not None and sort_key > present_key:
        connection.execute(submission.update().where(submission.c.id == number).values(sort_key=sort_key))


def _undo_publication(connection: sa.Connection, schema: TableSchema, submission: int) -> None:
    """Undo a publication: the entities that it ended are valid again, until the end of the submission's own ones.

    Of several entities that one ended or overrode, only that with the latest sort key is valid again.
    """
    own_entity, old_entity, old_submission = schema.newer, schema.older, schema.submission
    query = (
        sa.select(
            old_entity.c.id,
            old_entity.c.submission_id,
            own_entity.c.valid_to,
            own_entity.c.ended_by,
            own_entity.c.id.label("own_id"),
            old_submission.c.sort_key,
        )
        .join(
            own_entity,
            sa.and_(own_entity.c.identifier == old_entity.c.identifier, own_entity.c.kind == old_entity.c.kind),
        )
        .join(old_submission, old_submission.c.id == old_entity.c.submission_id)
        .where(
            old_entity.c.ended_by == submission,
            own_entity.c.submission_id == submission,
            own_entity.c.valid_from.is_not(None),
        )
    )
    rows_by_entity = {
        row.own_id: row for row in sorted(connection.execute(query), key=lambda row: (row.sort_key, row.id))
    }
    freed = [tuple(row)[:4] for row in rows_by_entity.values()]
    for number, _, valid_to, successor in freed:
        _set_values(connection, schema, [number], valid_to=valid_to, ended_by=successor)
    _mark_dirty(connection, schema, {owner for _, owner, _, _ in freed})
    own_ids = _entity_ids(connection, schema, submission)
    _set_values(connection, schema, own_ids, valid_from=None, valid_to=None, ended_by=None, effect=None)


def _describe(
    connection: sa.Connection, schema: TableSchema, submission: int, same_submission: int | None
) -> Published:
    """Return the effect of a submission's publication, from its rows in the store."""
    entity = schema.entity
    if same_submission is not None:
        words = "the same bytes with the same action are published already and still current"
        finding = Finding("AlreadyLoaded", words, Level.NOTE)
        return Published(submission, 0, 0, (finding,), Reason.ALREADY_LOADED)
    rows = connection.execute(statement.count_effects(schema), {"its_id": submission})
    counts = {effect: int(count) for effect, count in rows}
    findings: list[Finding] = []
    for effect in (effect for effect in _REMARKS if counts.get(effect)):
        kind, level, words = _REMARKS[effect]
        conditions = (entity.c.submission_id == submission, entity.c.effect == effect)
        query = sa.select(entity.c.kind, entity.c.identifier, _select_cause(schema, submission, effect)).where(
            *conditions
        )
        for record, identifier, cause in connection.execute(query.order_by(entity.c.id).limit(MENTIONED)):
            findings.append(Finding(kind, f"{record} {identifier} {words}" + (f": {cause}" if cause else ""), level))
        if (left_out := counts[effect] - MENTIONED) > 0:
            findings.append(Finding(kind, f"{left_out} more of the same", level))
    ended = connection.scalar(statement.count_ended(schema), {"its_id": submission})
    current = sum(counts.values()) - counts.get("repeated", 0) - counts.get("overridden", 0)
    return Published(submission, current, ended or 0, tuple(findings))


def _select_cause(schema: TableSchema, submission: int, effect: str) -> sa.ColumnElement[Any]:
    """Return the zip that an entity of the submission overrides, or by which it is overridden, as `action/name`."""
    entity, older, owner = schema.entity, schema.older, schema.submission
    name = sa.select(owner.c.action + "/" + owner.c.zip_name)
    if effect == "overridden":
        return name.where(owner.c.id == entity.c.ended_by).scalar_subquery()
    ended = (
        older.c.ended_by == submission,
        *(older.c[column] == entity.c[column] for column in ("kind", "identifier")),
        older.c.effect.is_distinct_from("overridden"),
    )
    return name.where(owner.c.id == older.c.submission_id, *ended).limit(1).scalar_subquery()


def _entity_ids(connection: sa.Connection, schema: TableSchema, submission: int) -> list[int]:
    entity = schema.entity
    return list(connection.scalars(sa.select(entity.c.id).where(entity.c.submission_id == submission)))


def _set_values(connection: sa.Connection, schema: TableSchema, ids: Iterable[int], **values: Any) -> None:
    for chunk in chunks(ids):
        connection.execute(schema.entity.update().where(among(schema.entity.c.id, chunk)).values(**values))


def _mark_dirty(connection: sa.Connection, schema: TableSchema, submissions: Iterable[int]) -> None:
    """Mark submissions whose summary is out of date."""
    submission = schema.submission
    for chunk in chunks(submissions):
        connection.execute(submission.update().where(among(submission.c.id, chunk)).values(dirty=True))


_Name = tuple[str, str]


def judge(
    connection: sa.Connection, schema: TableSchema, documents: Sequence[Undecided], at: datetime
) -> list[Published | None]:
    """Publish or withhold documents in their order; return the effect of each publication, None for a withheld one."""
    batch = _Batch(connection, schema, documents, at)
    publications = [batch.judge(document) for document in documents]
    batch.flush()
    return publications


class _Batch:
    """Documents to judge, and the state of the store before the first of them."""

    def __init__(
        self, connection: sa.Connection, schema: TableSchema, documents: Sequence[Undecided], at: datetime
    ) -> None:
        """Read the state of all documents in few queries."""
        self._connection = connection
        self._schema = schema
        last_time = connection.scalar(statement.last_published(schema))
        self._at = max(at, last_time) if last_time is not None else at
        self._rows: dict[int, Any] = {}
        self._held: dict[int, list[_Name]] = {}
        self._preceded: set[int] = set()
        self._digests: set[str] = set()
        for chunk in chunks(document.item for document in documents):
            self._rows.update((row.item, row) for row in connection.execute(statement.submissions_of(schema, chunk)))
        for chunk in chunks(row.id for row in self._rows.values()):
            for submission, *name in connection.execute(statement.names_of(schema, chunk)).all():
                self._held.setdefault(submission, []).append(tuple(name))
            self._preceded.update(connection.scalars(statement.preceded_of(schema, chunk)))
        for digests in chunks({row.digest for row in self._rows.values()}):
            self._digests.update(connection.scalars(statement.published_digests(schema, digests)))
        self._known = self._look_up(documents)
        self._touched: set[_Name] = set()  # records of the documents judged so far
        self._new: list[int] = []  # submissions to publish that are new as a whole

    def _look_up(self, documents: Sequence[Undecided]) -> dict[str, set[str]]:
        asked: dict[str, set[str]] = {}
        for document in documents:
            for question, keys in document.asks.items():
                asked.setdefault(question, set()).update(keys)
        return {question: self._ask(question, keys) for question, keys in asked.items()}

    def _ask(self, question: str, keys: AbstractSet[str]) -> set[str]:
        return known(self._connection, self._schema, question, keys)

    def judge(self, document: Undecided) -> Published | None:
        """Publish or withhold the next document."""
        row = self._rows.get(document.item) or find(self._connection, self._schema, document.item)
        names = self._held.get(row.id, [])
        reason = document.decide({question: self._answer(question, keys) for question, keys in document.asks.items()})
        published: Published | None = None
        if reason is None and self._is_new(row, names):
            self._new.append(row.id)
            published = Published(row.id, len(names), 0)
        else:
            self.flush()
            if reason is None:
                published = publish(self._connection, self._schema, document.item, self._at)
            else:
                withhold(self._connection, self._schema, document.item, self._at, str(reason))
        self._touched.update(names)
        self._digests.add(row.digest)
        return published

    def _answer(self, question: str, keys: AbstractSet[str]) -> AbstractSet[str]:
        """Return those of the keys that are known after the previous documents were published."""
        kind = question.partition(":")[0]
        if self._touched.isdisjoint((kind, key) for key in keys):
            return keys & self._known[question]
        self.flush()
        return self._ask(question, keys)

    def _is_new(self, row: Any, names: Sequence[_Name]) -> bool:
        """Tell whether publishing the document changes only its own rows and makes no findings."""
        return (
            row.action == "add"
            and row.published_at is None
            and row.id not in self._preceded
            and row.digest not in self._digests
            and len(set(names)) == len(names)
            and self._touched.isdisjoint(names)
        )

    def flush(self) -> None:
        """Publish the new submissions gathered so far."""
        for chunk in chunks(self._new):
            for change in statement.publish_new(self._schema, chunk, self._at):
                self._connection.execute(change)
        self._new.clear()
