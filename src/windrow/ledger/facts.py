"""Read the facts that projections need (`windrow.ledger_facts`), in the order in which they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any

from windrow import clock, ledger_facts
from windrow.ledger.ledger import Ledger
from windrow.model import Level
from windrow.reasons import Reason

Row = tuple[Any, ...]

parse = lru_cache(maxsize=64)(clock.parse)
"""`clock.parse` with a cache, since most facts of a transaction have the same time."""


def _parse_time(text: str | None) -> datetime | None:
    return parse(text) if text else None


def _parse_reason(text: str | None) -> Reason | None:
    return Reason(text) if text else None


def _make_subject(row: Row) -> ledger_facts.Subject:
    return ledger_facts.Subject(*row[-4:])


# The last four columns of every fact that has a subject: its collection, kind, key and attempt.
_SUBJECT_COLUMNS = (
    ", coalesce(m.collection, f.collection, ''), coalesce(m.kind, f.kind, ''), coalesce(m.member_key, f.file_key, ''),"
    " coalesce(m.attempt, (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = f.seq AND v.seq < {seq}))"
)
_SUBJECT_JOINS = " LEFT JOIN listed_file f ON f.seq = {item} LEFT JOIN member m ON m.seq = {item}"
_FIRST_FAILED_TASK = (
    "(SELECT min(k.seq) FROM task k JOIN task_end e ON e.task = k.seq"
    " WHERE k.session = t.session AND e.failed = 1 AND k.seq < t.seq)"
)
_SOURCE_OF_ATTEMPT = "(SELECT h.source FROM host h WHERE h.seq = t.host)"
_INTERRUPTED_ATTEMPT = (
    "(SELECT max(f.seq) FROM attempt f WHERE f.listed_file = t.listed_file AND f.seq < t.seq AND f.end_seq IS NULL)"
)
_FAILED_ATTEMPTS = (
    "(SELECT count(*) FROM attempt f JOIN host g ON g.seq = f.host WHERE f.listed_file = t.listed_file"
    f" AND g.source = {_SOURCE_OF_ATTEMPT} AND f.seq < t.seq AND f.reason IS NOT NULL)"
)

# For each kind of fact: its columns in the table with its name, and the function that makes a fact from a row (number,
# time and these columns). The end of an attempt is in the same row as its beginning.
_FACT_KINDS: dict[str, tuple[str, Callable[[Row], ledger_facts.Fact]]] = {
    "session": ("t.holder, t.command", lambda r: ledger_facts.SessionOpened(r[0], parse(r[1]), *r[2:])),
    "session_end": (
        f"t.session, t.outcome, {_FIRST_FAILED_TASK}",
        lambda r: ledger_facts.SessionClosed(r[0], parse(r[1]), *r[2:]),
    ),
    "task": (
        "t.session, t.collection, t.source, t.phase",
        lambda r: ledger_facts.TaskOpened(r[0], parse(r[1]), *r[2:]),
    ),
    "task_end": (
        "t.task, t.failed, t.reason, t.comment",
        lambda r: ledger_facts.TaskClosed(r[0], parse(r[1]), r[2], bool(r[3]), _parse_reason(r[4]), r[5]),
    ),
    "listed_file": (
        "t.session, t.collection, t.kind, t.file_key, t.owner, t.size, t.reason",
        lambda r: ledger_facts.FileFound._make((r[0], parse(r[1]), *r[2:8], _parse_reason(r[8]))),
    ),
    "member": (
        "t.session, t.collection, t.kind, t.member_key, t.attempt, t.name, t.size, t.digest, t.md5, t.reason",
        lambda r: ledger_facts.MemberFound._make((r[0], parse(r[1]), *r[2:11], _parse_reason(r[11]))),
    ),
    "listing": (
        "t.session, t.source, t.listed_file, t.path, t.event, t.size, t.modified",
        lambda r: ledger_facts.Listed._make((r[0], parse(r[1]), *r[2:8], _parse_time(r[8]), _make_subject(r))),
    ),
    "attempt": (
        f"t.session, t.listed_file, {_SOURCE_OF_ATTEMPT}, t.url, {_INTERRUPTED_ATTEMPT}, {_FAILED_ATTEMPTS}",
        lambda r: ledger_facts.AttemptOpened._make((r[0], parse(r[1]), *r[2:6], _make_subject(r), *r[6:8])),
    ),
    "attempt_end": (
        f"t.seq, t.listed_file, {_SOURCE_OF_ATTEMPT}, t.received, t.size, t.digest, t.reason, t.message",
        lambda r: ledger_facts.AttemptClosed._make(
            (r[0], parse(r[1]), *r[2:8], _parse_reason(r[8]), r[9], _make_subject(r))
        ),
    ),
    "step_start": (
        "t.session, t.item, t.step",
        lambda r: ledger_facts.StepStarted(r[0], parse(r[1]), r[2], r[3], r[4], _make_subject(r)),
    ),
    "decision": (
        "t.session, t.item, t.act, t.message",
        lambda r: ledger_facts.Decided(r[0], parse(r[1]), r[2], r[3], Reason(r[4]), r[5], _make_subject(r)),
    ),
    "reading": (
        "t.session, t.item, t.step, t.version, t.reason, t.number, t.md5",
        lambda r: ledger_facts.DocumentRead._make(
            (r[0], parse(r[1]), *r[2:6], _parse_reason(r[6]), *r[7:9], _make_subject(r))
        ),
    ),
    "finding": (
        "t.session, t.item, t.phase, t.kind, t.level, t.message, t.line, t.col",
        lambda r: ledger_facts.FindingMade(
            r[0], parse(r[1]), r[2], r[3], r[4], r[5], Level(r[6]), r[7], r[8], r[9], _make_subject(r)
        ),
    ),
}


MAX_FACTS_IN_MEMORY = 4000
"""The maximum number of facts that are read into memory at a time."""


def facts(ledger: Ledger, after: int = 0, last: int | None = None) -> Iterator[ledger_facts.Fact]:
    """Return an iterator over the facts with numbers above `after` and up to `last` (None: the last one), in order."""
    last_fact = last if last is not None else last_number(ledger)
    return chain.from_iterable(_read_windows(ledger, after, last_fact, MAX_FACTS_IN_MEMORY))


def batches(ledger: Ledger, after: int, max_facts: int = MAX_FACTS_IN_MEMORY) -> Iterator[list[ledger_facts.Fact]]:
    """Yield the facts with numbers above `after`, in order, in lists of at most `max_facts`."""
    return _read_windows(ledger, after, last_number(ledger), max_facts)


def last_number(ledger: Ledger) -> int:
    """Return the number of the ledger's last fact, or 0."""
    return int(ledger.database.value("last_seq"))


def _read_windows(ledger: Ledger, after: int, last: int, max_facts: int) -> Iterator[list[ledger_facts.Fact]]:
    while after < last:
        window_end = min(last, after + max_facts)
        window = [fact for kind in _FACT_KINDS for fact in _read_kind(ledger, kind, after, window_end)]
        if window:
            yield sorted(window, key=_get_seq)
        after = window_end


_get_seq = attrgetter("seq")


def _read_kind(ledger: Ledger, kind: str, after: int, last: int) -> list[ledger_facts.Fact]:
    columns, make_fact = _FACT_KINDS[kind]
    table, seq, at = ("attempt", "t.end_seq", "t.ended") if kind == "attempt_end" else (kind, "t.seq", "t.at")
    item_column = next((name for name in ("t.item", "t.listed_file") if f" {name}," in columns), "")
    subject_columns, join = (_SUBJECT_COLUMNS, _SUBJECT_JOINS.format(item=item_column)) if item_column else ("", "")
    separate_end = "t.end_seq IS NOT t.seq AND " if table == "attempt" else ""
    condition = f"{separate_end}{seq} > ? AND {seq} <= ? ORDER BY {seq}"
    query = f"SELECT {seq}, {at}, {columns}{subject_columns.format(seq=seq)} FROM {table} t{join} WHERE {condition}"
    return [*map(make_fact, ledger.database.connection.execute(query, (after, last)))]
