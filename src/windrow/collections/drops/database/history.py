"""The history of records: publish or withhold staged documents, and look up records.

A submission is a loaded document, and an entity is one version of a record in it. An entity is in force (valid) from
the time when its submission is published until an entity with the same kind and identifier replaces it. An entity that
is a tombstone records that its record was deleted. The functions work within the caller's transaction; calling one
again with the same arguments changes nothing.

Most documents are new as a whole: neither their records nor their bytes were published before. New documents are
published together and the others one by one, with the same result as if each were published alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from windrow.collections.drops.database import store_statements as statement
from windrow.collections.drops.database.projection_rows import chunks, is_one_of
from windrow.collections.drops.database.store_tables import TableSchema, is_same_record
from windrow.contract import Undecided
from windrow.errors import StoreError
from windrow.formats.text import counted
from windrow.model import Finding, Level
from windrow.reasons import Reason

MAX_NAMED_RECORDS = 100
"""The maximum number of records that the findings about one submission name for each effect."""


class Published(NamedTuple):
    """The effect of publishing a submission; if `reason` is `ALREADY_LOADED`, no record was changed."""

    submission: int
    current: int  # the number of its entities that came into force, tombstones included
    ended: int  # the number of entities of other submissions that it replaced
    findings: tuple[Finding, ...] = ()
    reason: Reason | None = None


_FINDINGS_BY_EFFECT = {
    "unknown_edit": ("UnknownRecord", Level.WARN, "is edited but does not exist; it is added"),
    "unknown_delete": ("UnknownRecord", Level.WARN, "is deleted but does not exist"),
    "replaced": ("AlreadyKnown", Level.NOTE, "exists already; the new version replaces the earlier one"),
    "edited": ("Overrides", Level.NOTE, "overrides the earlier version"),
    "deleted": ("Overrides", Level.NOTE, "deletes the earlier version"),
    "overridden": ("Overridden", Level.NOTE, "is overridden by a version from a later zip or XML file"),
}
"""A dict from an effect on a record to the finding about it: its kind, its level, and the end of its message.

The step `upload` reports repeated records, since it knows their lines.
"""


def publish(connection: sa.Connection, schema: TableSchema, item: int, published_at: datetime) -> Published:
    """Put the entities of an item's staged submission in force, and end the entities that they replace.

    The publication has the time `published_at`, or the time of the last publication in the store if that is later. If
    another submission with the same bytes, action and kind is wholly in force already, this one is only marked as
    published, and the other one gets the greater of their sort keys. A submission that is published already is not
    changed. Raises StoreError if the submission is missing.
    """
    submission = find_submission(connection, schema, item)
    same_as = submission.same_as
    if submission.published_at is None:
        last_publication = connection.scalar(statement.select_last_publication(schema))
        published_at = max(published_at, last_publication) if last_publication is not None else published_at
        same_as = _find_same_bytes(connection, schema, submission)
        if same_as is None:
            _put_in_force(connection, schema, submission, published_at)
        else:
            _update_entities(connection, schema, _entity_ids(connection, schema, submission.id), effect="same")
            _increase_sort_key(connection, schema, same_as, submission.sort_key)
        parameters = {"its_id": submission.id, "at": published_at, "same": same_as}
        connection.execute(statement.mark_as_published(schema), parameters)
    published = _describe_publication(connection, schema, submission, same_as)
    if _is_in_future(submission, published_at):
        message = (
            f"the zip's date, {submission.sort_key[:10]}, is in the future: later zips with an earlier date than this"
        )
        finding = Finding("FutureDate", f"{message} do not change its records", Level.ERROR)
        published = published._replace(findings=(finding, *published.findings))
    return published


def _is_in_future(submission: Any, now: datetime) -> bool:
    """Return whether the date of a submission's zip is later than tomorrow, so that no time zone explains it."""
    zip_date = submission.sort_key[:10]
    return len(zip_date) == 10 and zip_date > (now + timedelta(days=1)).date().isoformat()


def withhold(connection: sa.Connection, schema: TableSchema, item: int, withheld_at: datetime, reason: str) -> None:
    """Withhold an item's submission and undo any publication of it; raise StoreError if the submission is missing."""
    submission_row = find_submission(connection, schema, item)
    if submission_row.withheld_at is not None and submission_row.published_at is None:
        return
    if submission_row.published_at is not None:
        _undo_publication(connection, schema, submission_row.id)
    submission = schema.submission
    update = submission.update().where(submission.c.id == submission_row.id)
    values = {"published_at": None, "withheld_at": withheld_at, "reason": reason, "same_as": None, "dirty": True}
    connection.execute(update.values(**values))


def find_submission(connection: sa.Connection, schema: TableSchema, item: int) -> Any:
    """Return the row of an item's submission; raise StoreError if it is missing."""
    submission = connection.execute(statement.select_submission(schema), {"its_item": item}).first()
    if submission is None:
        # The ledger says that the item's rows were written: the database lost a transaction, which no run repeats.
        message = f"item {item} is missing from the store, although the ledger says that it was written"
        raise StoreError(message, reason=Reason.UNKNOWN_RECORD, hint="windrow replay")
    return submission


def find_known(connection: sa.Connection, schema: TableSchema, question: str, keys: Collection[str]) -> set[str]:
    """Return those of `keys` that the store has; raise StoreError for a question that it cannot answer.

    The question `KIND` asks which keys have an entity of this kind that is or was in force; `KIND:current` asks which
    have an entity that is in force. Tombstones do not count.
    """
    kind, _, state = question.partition(":")
    if state not in {"", "current"}:
        raise StoreError(f"the store cannot answer the question {question}")
    entity = schema.entity
    conditions = [entity.c.kind == kind, entity.c.valid_from.is_not(None), sa.not_(entity.c.tombstone)]
    if state:
        conditions.append(entity.c.valid_to.is_(None))
    known_keys: set[str] = set()
    for chunk in chunks(keys):
        query = sa.select(entity.c.identifier).where(*conditions, entity.c.identifier.in_(chunk))
        known_keys.update(connection.scalars(query.distinct()))
    return known_keys


def _put_in_force(connection: sa.Connection, schema: TableSchema, submission: Any, published_at: datetime) -> None:
    """Put a submission's entities in force and end their predecessors: entities in force for the same records.

    A predecessor whose submission has a greater sort key remains in force, and the new entity is ended at once, so that
    the result does not depend on the order in which documents are loaded. Of several entities for the same record in
    the submission, only the last one is put in force.
    """
    last_ids: dict[tuple[str, str], int] = {}
    repeated = []
    for entity_id, kind, identifier in connection.execute(statement.select_entities(schema), {"its_id": submission.id}):
        if (earlier_id := last_ids.get((kind, identifier))) is not None:
            repeated.append(earlier_id)
        last_ids[kind, identifier] = entity_id
    predecessors = connection.execute(statement.select_predecessors(schema), {"its_id": submission.id}).all()
    newer_predecessors = [predecessor for predecessor in predecessors if predecessor.sort_key > submission.sort_key]
    predecessors = [predecessor for predecessor in predecessors if predecessor.sort_key <= submission.sort_key]
    known_ids = {predecessor.entity_id for predecessor in predecessors if not predecessor.tombstone}
    effect_names = _EFFECTS[submission.action]
    # Most documents are new as a whole, for which this statement is enough; the next ones correct the exceptions.
    parameters = {"its_id": submission.id, "at": published_at, "its_effect": effect_names[False]}
    connection.execute(statement.put_in_force(schema), parameters)
    _update_entities(connection, schema, known_ids.intersection(last_ids.values()), effect=effect_names[True])
    _update_entities(connection, schema, repeated, effect="repeated", valid_from=None)
    for newer_id in {newer.submission_id for newer in newer_predecessors}:
        overridden = {newer.entity_id for newer in newer_predecessors if newer.submission_id == newer_id}
        ending = {"effect": "overridden", "valid_to": published_at, "ended_by": newer_id}
        _update_entities(connection, schema, overridden.difference(repeated), **ending)
    replaced_ids = {predecessor.predecessor_id for predecessor in predecessors}
    _update_entities(connection, schema, replaced_ids, valid_to=published_at, ended_by=submission.id)
    _mark_dirty(connection, schema, {predecessor.submission_id for predecessor in predecessors})


_EFFECTS = {
    "add": {True: "replaced", False: "new"},
    "edit": {True: "edited", False: "unknown_edit"},
    "delete": {True: "deleted", False: "unknown_delete"},
}
"""A dict from action, and from whether the record exists, to the name of the action's effect on the record."""


def _find_same_bytes(connection: sa.Connection, schema: TableSchema, submission: Any) -> int | None:
    parameters = {f"its_{name}": getattr(submission, name) for name in ("digest", "action", "kind", "id")}
    same_id: int | None = connection.scalar(statement.select_same_bytes(schema), parameters)
    return same_id


def _increase_sort_key(connection: sa.Connection, schema: TableSchema, submission_id: int, sort_key: str) -> None:
    """Give a submission the greater of its sort key and that of a later submission with the same bytes."""
    submission = schema.submission
    present_key = connection.scalar(sa.select(submission.c.sort_key).where(submission.c.id == submission_id))
    if present_key is not None and sort_key > present_key:
        connection.execute(submission.update().where(submission.c.id == submission_id).values(sort_key=sort_key))


def _undo_publication(connection: sa.Connection, schema: TableSchema, submission_id: int) -> None:
    """Undo a publication: its entities become invalid, and the entities that they ended become valid again.

    If an entity of the submission has itself ended, the entity that it ended is valid until the same time. If an entity
    of the submission ended or overrode several entities, only the one with the greatest sort key becomes valid again.
    """
    own_entity, old_entity, old_submission = schema.newer_entity, schema.older_entity, schema.submission
    query = (
        sa.select(
            old_entity.c.id,
            old_entity.c.submission_id,
            own_entity.c.valid_to,
            own_entity.c.ended_by,
            own_entity.c.id.label("own_id"),
            old_submission.c.sort_key,
        )
        .join(own_entity, is_same_record(own_entity, old_entity))
        .join(old_submission, old_submission.c.id == old_entity.c.submission_id)
        .where(
            old_entity.c.ended_by == submission_id,
            own_entity.c.submission_id == submission_id,
            own_entity.c.valid_from.is_not(None),
        )
    )
    rows_by_entity = {
        row.own_id: row for row in sorted(connection.execute(query), key=lambda row: (row.sort_key, row.id))
    }
    for row in rows_by_entity.values():
        _update_entities(connection, schema, [row.id], valid_to=row.valid_to, ended_by=row.ended_by)
    _mark_dirty(connection, schema, {row.submission_id for row in rows_by_entity.values()})
    own_entity_ids = _entity_ids(connection, schema, submission_id)
    _update_entities(connection, schema, own_entity_ids, valid_from=None, valid_to=None, ended_by=None, effect=None)


def _describe_publication(
    connection: sa.Connection, schema: TableSchema, submission: Any, same_id: int | None
) -> Published:
    """Return the effect of a publication. `same_id` is the id of an earlier submission with the same bytes, or None."""
    entity, submission_id = schema.entity, submission.id
    if same_id is not None:
        message = "the same bytes with the same action are published already and are still current"
        finding = Finding("AlreadyLoaded", message, Level.NOTE)
        return Published(submission_id, 0, 0, (finding,), Reason.ALREADY_LOADED)
    rows = connection.execute(statement.count_effects(schema), {"its_id": submission_id})
    counts = {effect: int(count) for effect, count in rows}
    findings: list[Finding] = []
    for effect in (effect for effect in _FINDINGS_BY_EFFECT if counts.get(effect)):
        kind, level, message_end = _FINDINGS_BY_EFFECT[effect]
        if effect == "overridden" and submission.action != "add":
            level = Level.WARN  # what its partner wanted changed is not changed
        conditions = (entity.c.submission_id == submission_id, entity.c.effect == effect)
        other_name = schema.submission.c.action + "/" + schema.submission.c.zip_name
        other_columns = (other_name, schema.submission.c.centre)
        others = (_select_from_other(schema, submission_id, effect, column) for column in other_columns)
        query = sa.select(entity.c.kind, entity.c.identifier, *others).where(*conditions)
        records = connection.execute(query.order_by(entity.c.id).limit(MAX_NAMED_RECORDS))
        for record_kind, identifier, zip_, centre in records:
            message = f"{record_kind} {identifier} {message_end}" + (f": {zip_}" if zip_ else "")
            if zip_ and centre != submission.centre:
                # A centre may submit for another one, so the record changes; but both should know.
                findings.append(Finding("ForeignRecord", f"{message}, of another centre", Level.WARN))
            else:
                findings.append(Finding(kind, message, level))
        if (omitted := counts[effect] - MAX_NAMED_RECORDS) > 0:
            findings.append(Finding(kind, f"not listed: {counted(omitted, 'more finding')} of this kind", level))
    ended = connection.scalar(statement.count_ended(schema), {"its_id": submission_id})
    if ended or counts.get("repeated") or counts.get("overridden"):
        findings += _find_collisions(connection, schema, submission)
    current = sum(counts.values()) - counts.get("repeated", 0) - counts.get("overridden", 0)
    return Published(submission_id, current, ended or 0, tuple(findings))


_IDENTIFYING_COLUMNS = {
    "specimen": (("mouse", "embryo"), ("specimen_id",)),
    "experiment": (("experiment",), ("experiment_id", "sequence_id")),
    "line": (("line",), ("colony_id", "sequence_id")),
    "housing": (("housing",), ("from_lims", "last_updated")),
}
"""A dict from the kind of a record to its tables, and to columns whose values its identifier joins."""


def _find_collisions(connection: sa.Connection, schema: TableSchema, submission: Any) -> list[Finding]:
    """Return a finding for each record that shares its identifier with another one, of which only one is current.

    Identifiers join their parts with `_`, as the standard says: `E_1` without a sequence is the same as `E` with 1, and
    so are a mouse and an embryo with one id. The other record may be of the same document.
    """
    findings = []
    own, other = schema.newer_entity, schema.older_entity
    is_ended = other.c.ended_by == submission.id
    is_overridden = sa.and_(own.c.effect == "overridden", own.c.ended_by == other.c.submission_id)
    is_repeated = sa.and_(
        own.c.effect == "repeated", other.c.submission_id == submission.id, other.c.effect != "repeated"
    )
    for kind, (tables, columns) in _IDENTIFYING_COLUMNS.items():
        if (kind == "specimen") != (submission.kind == "specimen"):
            continue
        query = sa.select(own.c.identifier).join(other, is_same_record(own, other))
        values = []
        for entity, prefix in ((own, "own"), (other, "other")):
            rows = [schema.elements[table].alias(f"{prefix}_{table}") for table in tables]
            for row in rows:
                query = query.outerjoin(row, row.c.id == entity.c.id)
            values.append([row.c.id.is_(None) for row in rows[1:]] + [_first(rows, column) for column in columns])
        differs = sa.or_(*(value.is_distinct_from(other_value) for value, other_value in zip(*values, strict=True)))
        query = query.where(own.c.submission_id == submission.id, own.c.kind == kind, own.c.id != other.c.id)
        query = query.where(sa.or_(is_ended, is_overridden, is_repeated), differs)
        query = query.group_by(own.c.identifier).order_by(sa.func.min(own.c.id)).limit(MAX_NAMED_RECORDS)
        for identifier in connection.scalars(query):
            message = f"the identifier {kind} {identifier} stands for two records, which differ in"
            message += f" {' or '.join(columns)}" + (f", or as {' and '.join(tables)}" if len(tables) > 1 else "")
            findings.append(Finding("IdentifierCollision", f"{message}; only one of them is current"))
    return findings


def _first(rows: Sequence[sa.FromClause], column: str) -> sa.ColumnElement[Any]:
    """Return the value of a column in the first of these rows that exists."""
    return sa.func.coalesce(*(row.c[column] for row in rows)) if len(rows) > 1 else rows[0].c[column]


def _select_from_other(
    schema: TableSchema, submission_id: int, effect: str, column: sa.ColumnElement[str]
) -> sa.ColumnElement[Any]:
    """Return a subquery for `column` of the submission that an entity overrides, or that overrides it."""
    entity, older, other_submission = schema.entity, schema.older_entity, schema.submission
    if effect == "overridden":
        return sa.select(column).where(other_submission.c.id == entity.c.ended_by).scalar_subquery()
    was_ended = (older.c.ended_by == submission_id, older.c.effect.is_distinct_from("overridden"))
    was_ended_by_entity = (*was_ended, is_same_record(older, entity))
    query = sa.select(column).where(other_submission.c.id == older.c.submission_id, *was_ended_by_entity)
    return query.limit(1).scalar_subquery()


def _entity_ids(connection: sa.Connection, schema: TableSchema, submission_id: int) -> list[int]:
    entity = schema.entity
    return list(connection.scalars(sa.select(entity.c.id).where(entity.c.submission_id == submission_id)))


def _update_entities(connection: sa.Connection, schema: TableSchema, ids: Iterable[int], **values: Any) -> None:
    for chunk in chunks(ids):
        connection.execute(schema.entity.update().where(is_one_of(schema.entity.c.id, chunk)).values(**values))


def _mark_dirty(connection: sa.Connection, schema: TableSchema, submissions: Iterable[int]) -> None:
    submission = schema.submission
    for chunk in chunks(submissions):
        connection.execute(submission.update().where(is_one_of(submission.c.id, chunk)).values(dirty=True))


_RecordName = tuple[str, str]


def judge(
    connection: sa.Connection, schema: TableSchema, documents: Sequence[Undecided], now: datetime
) -> list[Published | None]:
    """Publish or withhold documents in their order; return the effect of each, or None if it is withheld.

    Publications have the time `now`, or the time of the last publication in the store if that is later.
    """
    judged_batch = _JudgedBatch(connection, schema, documents, now)
    publications = [judged_batch.judge(document) for document in documents]
    judged_batch.flush()
    return publications


class _JudgedBatch:
    """Documents to judge, and the state of the store before the first of them."""

    def __init__(
        self, connection: sa.Connection, schema: TableSchema, documents: Sequence[Undecided], now: datetime
    ) -> None:
        self._connection = connection
        self._schema = schema
        last_time = connection.scalar(statement.select_last_publication(schema))
        self._published_at = max(now, last_time) if last_time is not None else now
        self._submissions_by_item: dict[int, Any] = {}
        self._record_names: dict[int, list[_RecordName]] = {}
        self._preceded_submissions: set[int] = set()
        self._published_digests: set[str] = set()
        for chunk in chunks(document.item for document in documents):
            rows = connection.execute(statement.select_submissions(schema, chunk))
            self._submissions_by_item.update((row.item, row) for row in rows)
        for chunk in chunks(row.id for row in self._submissions_by_item.values()):
            for submission, *name in connection.execute(statement.select_entity_names(schema, chunk)).all():
                self._record_names.setdefault(submission, []).append(tuple(name))
            self._preceded_submissions.update(connection.scalars(statement.select_preceded(schema, chunk)))
        for digests in chunks({row.digest for row in self._submissions_by_item.values()}):
            self._published_digests.update(connection.scalars(statement.select_published_digests(schema, digests)))
        self._known_keys = self._look_up(documents)
        self._judged_names: set[_RecordName] = set()  # records of the documents judged so far
        self._new_submissions: list[int] = []  # submissions to publish that are new as a whole

    def _look_up(self, documents: Sequence[Undecided]) -> dict[str, set[str]]:
        keys_by_question: dict[str, set[str]] = {}
        for document in documents:
            for question, keys in document.asks.items():
                keys_by_question.setdefault(question, set()).update(keys)
        return {question: self._find_known(question, keys) for question, keys in keys_by_question.items()}

    def _find_known(self, question: str, keys: AbstractSet[str]) -> set[str]:
        return find_known(self._connection, self._schema, question, keys)

    def judge(self, document: Undecided) -> Published | None:
        submission = self._submissions_by_item.get(document.item)
        submission = submission or find_submission(self._connection, self._schema, document.item)
        record_names = self._record_names.get(submission.id, [])
        known = {question: self._find_known_now(question, keys) for question, keys in document.asks.items()}
        reason = document.decide(known)
        published: Published | None = None
        if reason is None and self._is_new(submission, record_names):
            self._new_submissions.append(submission.id)
            published = Published(submission.id, len(record_names), 0)
        else:
            self.flush()
            if reason is None:
                published = publish(self._connection, self._schema, document.item, self._published_at)
            else:
                withhold(self._connection, self._schema, document.item, self._published_at, str(reason))
        self._judged_names.update(record_names)
        self._published_digests.add(submission.digest)
        return published

    def _find_known_now(self, question: str, keys: AbstractSet[str]) -> AbstractSet[str]:
        """Return those of `keys` that the store has now; first publish new documents that may have one of them."""
        kind = question.partition(":")[0]
        if self._judged_names.isdisjoint((kind, key) for key in keys):
            return keys & self._known_keys[question]
        self.flush()
        return self._find_known(question, keys)

    def _is_new(self, submission: Any, record_names: Sequence[_RecordName]) -> bool:
        """Return whether publishing the document is certain to change no other rows and to give no findings."""
        return (
            submission.action == "add"
            and submission.published_at is None
            and submission.id not in self._preceded_submissions
            and submission.digest not in self._published_digests
            and len(set(record_names)) == len(record_names)
            and self._judged_names.isdisjoint(record_names)
            and not _is_in_future(submission, self._published_at)
        )

    def flush(self) -> None:
        for chunk in chunks(self._new_submissions):
            for update in statement.make_publication_updates(self._schema, chunk, self._published_at):
                self._connection.execute(update)
        self._new_submissions.clear()
