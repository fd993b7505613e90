"""What an operator decides: which items are meant, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.app.kind import KINDS, collection
from windrow.app.tracker import Tracker
from windrow.config import Workspace
from windrow.engine.ledger import Ledger
from windrow.engine.operator import Chosen, cancel, choose, retry
from windrow.errors import UsageError
from windrow.model import Status
from windrow.reasons import Reason
from windrow.spec import Collection

ACTS = {"retry": retry, "cancel": cancel}


def decide(
    workspace: Workspace,
    ledger: Ledger,
    act: str,
    names: Sequence[str],
    *,
    reason: str = "",
    source: str = "",
    dry: bool = False,
) -> list[Chosen]:
    """Retry or cancel the items named, or those of a source or with a reason; return which.

    Without names, only what failed is meant (for `retry`) or what still waits (for `cancel`), and
    at least a source or a reason must narrow it. With `dry` nothing is written.
    """
    if not names and not reason and not source:
        raise UsageError("nothing is named", hint=f"windrow {act} NAME, or --source NAME, or --reason WORD")
    if reason and reason not in set(Reason):
        raise UsageError(f"there is no reason {reason!r}", hint="see docs/reference/reasons.md")
    chosen: dict[str, list[Chosen]] = {}
    for kind in KINDS:
        made = collection(kind)
        chosen[kind] = choose(ledger, made, list(names) or _keys(ledger, made, act, reason, source))
    told = {spelled for some in chosen.values() for one in some for spelled in (one.key, one.key.partition("/")[2])}
    missing = [name for name in names if name not in told]
    if missing:
        raise UsageError(f"nothing is known as {missing[0]!r}", hint=f"windrow why {missing[0]}")
    if act == "cancel":  # what was ended before is not ended again
        chosen = {kind: [one for one in some if one.state[1] is not Status.CANCELLED] for kind, some in chosen.items()}
    found = [one for some in chosen.values() for one in some]
    if found and not dry:
        for kind, some in chosen.items():
            if some:
                ACTS[act](ledger, collection(kind), some)
        _tell_books(workspace, ledger)
    return found


def _tell_books(workspace: Workspace, ledger: Ledger) -> None:
    """Bring the tracker up to date at once: people look there."""
    sources = tuple(source for source in workspace.sources if source.collection == "drops")
    books = Tracker(workspace, sources)
    try:
        books.catch_up(ledger)
    finally:
        books.close()


def _keys(ledger: Ledger, made: Collection, act: str, reason: str, source: str) -> list[str]:
    """Find the keys of what failed or waits, by source and reason."""
    statuses = (Status.FAILED, Status.CANCELLED) if act == "retry" else (Status.PENDING, Status.RUNNING)
    text = (
        "SELECT DISTINCT i.item_key FROM standing s JOIN item i ON i.seq = s.item"
        " LEFT JOIN offering o ON o.item = s.item"
        " WHERE s.collection = ? AND s.kind = ? AND s.status IN (?, ?) AND (? = '' OR o.source = ?)"
        " AND (? = '' OR s.reason = ? OR EXISTS (SELECT 1 FROM standing c WHERE c.parent = s.item AND c.reason = ?))"
    )
    values = (made.name, made.kind, *map(int, statuses), source, source, reason, reason, reason)
    return [row[0] for row in ledger.cursor(text, values)]
