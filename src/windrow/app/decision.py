"""What an operator decides: which items are meant, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windrow import registry
from windrow.config import Workspace
from windrow.engine.ledger import Ledger
from windrow.engine.operator import ACTS, CANCEL, Chosen, choose, choose_for
from windrow.engine.requests.origin_rules import walked
from windrow.errors import UsageError
from windrow.model import Status
from windrow.reasons import Reason


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
    """Retry or cancel the items or addresses named, or those of a source or with a reason; return which.

    Without names, only what failed is meant (for `retry`) or what still waits (for `cancel`), and
    at least a source or a reason must narrow it. With `dry` nothing is written.
    """
    if not names and not reason and not source:
        raise UsageError("nothing is named", hint=f"windrow {act} NAME, or --source NAME, or --reason WORD")
    if reason and reason not in set(Reason):
        raise UsageError(f"there is no reason {reason!r}", hint="see docs/reference/reasons.md")
    chosen = {
        kind: choose(ledger, made, names) if names else choose_for(ledger, made, act, source, reason)
        for kind, made in registry.installed().items()
    }
    told = {spelled for some in chosen.values() for one in some for spelled in (one.key, one.key.partition("/")[2])}
    missing = [name for name in names if not told & {name, *_spellings(name)}]
    if missing:
        raise UsageError(f"nothing is known as {missing[0]!r}", hint=f"windrow why {missing[0]}")
    if act == CANCEL:  # what was ended before is not ended again
        chosen = {kind: [one for one in some if one.state[1] is not Status.CANCELLED] for kind, some in chosen.items()}
        _refuse_finished(chosen)
    found = [one for some in chosen.values() for one in some]
    if found and not dry:
        for kind, some in chosen.items():
            if some:
                made = registry.collection(kind)
                ACTS[act](ledger, made, some)
                registry.adapter(kind).project(workspace, ledger)
    return found


def _refuse_finished(chosen: Mapping[str, Sequence[Chosen]]) -> None:
    """Refuse to end an item that went all the way: what it brought is loaded, and would stay."""
    for kind, some in chosen.items():
        made = registry.collection(kind)
        through = walked(made) is None and (made.phase(made.steps[-1].phase), Status.DONE)
        for one in some:
            if one.state == through:
                raise UsageError(
                    f"{one.key} is through already: what it brought is loaded, and cancelling would not take it out",
                    hint="only its source can take records out again, by what it offers next",
                )


def _spellings(name: str) -> set[str]:
    """Return how each collection that crawls spells an address."""
    return {crawl.normal(name) for made in registry.installed().values() if (crawl := walked(made))}
