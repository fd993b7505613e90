"""What programs that watch the workspace ask for: whether all is well, and numbers in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from windrow.app import Windrow
from windrow.web.pages import read_status
from windrow.web.query import PageQuery


class Health(NamedTuple):
    """Whether the workspace can be read with all stores, the latest good run of any source, and sources in trouble.

    `overdue` sources were due more than a day ago, and the last runs of `failing` ones failed.
    """

    ready: bool
    running: bool
    last_good: datetime | None
    overdue: tuple[str, ...]
    failing: tuple[str, ...]


def health(workspace: Windrow, query: PageQuery) -> Health:
    """Return whether all is well."""
    state = read_status(workspace)
    latest = max((source.last_good for source in state.sources if source.last_good), default=None)
    late = query.now - timedelta(days=1)
    overdue = tuple(source.source for source in state.sources if source.next_due and source.next_due < late)
    failing = tuple(source.source for source in state.sources if source.error)
    return Health(not state.not_counted, bool(state.holder), latest, overdue, failing)


def metrics(workspace: Windrow, query: PageQuery) -> str:
    """Return the state of the workspace in the text format of Prometheus."""
    state = read_status(workspace)
    number = state.last.session if state.last else 0
    lines = _metric("windrow_sessions_total", "Sessions so far.", [({}, number)], "counter")
    lines += _metric("windrow_running", "1 while a run is under way.", [({}, int(bool(state.holder)))])
    counts: list[tuple[dict[str, str], float]] = [
        (
            {"collection": count.collection, "item": count.kind, "phase": count.phase, "status": count.status},
            count.items,
        )
        for count in state.states
    ]
    lines += _metric("windrow_items", "Items by state.", counts)
    lines += _metric("windrow_failures", "Items by reason.", [({"reason": r.reason}, r.items) for r in state.reasons])
    lost = {entry.partition(":")[0] for entry in state.not_counted}  # a collection that was not counted has no numbers
    for name, text in (("items", "Items"), ("failed", "Failed items"), ("waiting", "Addresses due")):
        values = [
            ({"source": source.source}, getattr(source, name))
            for source in state.sources
            if source.collection not in lost
        ]
        lines += _metric(f"windrow_source_{name}", f"{text} of a source.", values)
    errors = [({"source": source.source}, int(bool(source.error))) for source in state.sources]
    lines += _metric("windrow_source_error", "1 if a source's last run failed.", errors)
    left_out = Counter[tuple[str, str]]()
    for count in state.left_out:
        left_out[count.source, count.reason] += count.addresses
    labelled = [({"source": source, "reason": reason}, number) for (source, reason), number in left_out.items()]
    lines += _metric("windrow_left_out", "What rules and caps left out of a source.", labelled)
    lines += _metric("windrow_unread", "Documents not read.", [({}, sum(count.documents for count in state.unread))])
    lines += _metric("windrow_problems", "Losses and unfinished work.", [({}, len(state.problems))])
    lines += _metric("windrow_not_counted", "Stores that cannot be read.", [({}, len(state.not_counted))])
    ages = [
        ({"source": source.source}, round((query.now - source.last_good).total_seconds()))
        for source in state.sources
        if source.last_good
    ]
    lines += _metric("windrow_source_age_seconds", "Seconds since a source's last good run.", ages)
    received = sum(source.received for source in state.last.sources) if state.last else 0
    lines += _metric("windrow_last_session_bytes", "Bytes received in the last session.", [({}, received)])
    return "\n".join(lines) + "\n"


def _metric(name: str, text: str, values: Sequence[tuple[Mapping[str, str], Any]], kind: str = "gauge") -> list[str]:
    r"""Return the lines of one metric.

    >>> _metric("a", "A.", [({"b": 'c"'}, 1)])
    ['# HELP a A.', '# TYPE a gauge', 'a{b="c\\""} 1']
    """
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in values:
        escaped = (
            label + '="' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            for label, text in labels.items()
        )
        joined = ",".join(escaped)
        lines.append(f"{name}{{{joined}}} {value}" if joined else f"{name} {value}")
    return lines
