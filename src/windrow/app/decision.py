"""What an operator decides: which items are meant, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from windrow import registry
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.digest import number
from windrow.engine.ledger import Ledger
from windrow.engine.operator import (
    Chosen,
    addresses,
    cancel,
    cancel_addresses,
    choose,
    choose_addresses,
    retry,
    retry_addresses,
)
from windrow.engine.requests.origin_rules import walked
from windrow.errors import UsageError
from windrow.model import Status
from windrow.reasons import Reason

ACTS = {"retry": retry, "cancel": cancel}
WALKED = {"retry": retry_addresses, "cancel": cancel_addresses}


class OperatorFilter(NamedTuple):
    """What an operator names; empty means any."""

    act: str
    names: tuple[str, ...]
    source: str
    reason: str


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
    wanted = OperatorFilter(act, tuple(names), source, reason)
    chosen = {kind: _chosen(ledger, made, wanted) for kind, made in registry.installed().items()}
    told = {spelled for some in chosen.values() for one in some for spelled in (one.key, one.key.partition("/")[2])}
    missing = [name for name in names if not told & {name, *_spellings(name)}]
    if missing:
        raise UsageError(f"nothing is known as {missing[0]!r}", hint=f"windrow why {missing[0]}")
    if act == "cancel":  # what was ended before is not ended again
        chosen = {kind: [one for one in some if one.state[1] is not Status.CANCELLED] for kind, some in chosen.items()}
        _refuse_finished(chosen)
    found = [one for some in chosen.values() for one in some]
    if found and not dry:
        for kind, some in chosen.items():
            if some:
                made = registry.collection(kind)
                (WALKED if walked(made) else ACTS)[act](ledger, made, some)
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
                    hint="a zip in delete/ takes records out, windrow forget takes down what was kept",
                )


def _spellings(name: str) -> set[str]:
    """Return how each collection that crawls spells an address."""
    return {crawl.normal(name) for made in registry.installed().values() if (crawl := walked(made))}


def _chosen(ledger: Ledger, made: Collection, wanted: OperatorFilter) -> list[Chosen]:
    """Find what is meant of one collection."""
    act, names, source, reason = wanted
    crawl = walked(made)
    if crawl is None:
        return choose(ledger, made, list(names) or _keys(ledger, made, act, reason, source))
    if not names:
        return addresses(ledger, made, act, source, reason)
    return choose_addresses(ledger, made, [number(url) for name in names if (url := crawl.normal(name))])


def _keys(ledger: Ledger, made: Collection, act: str, reason: str, source: str) -> list[str]:
    """Find the keys of what failed or waits, by source and reason."""
    statuses = (Status.FAILED, Status.CANCELLED) if act == "retry" else (Status.PENDING, Status.RUNNING)
    return ledger.items.keys_by_status(made.name, made.listing.kind, statuses, source, reason)
