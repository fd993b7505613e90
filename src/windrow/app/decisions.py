"""Write an operator's decisions: retry or cancel items and addresses, or ask a service again about records."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from difflib import get_close_matches
from functools import partial
from itertools import chain

from windrow.adapters.adapter import AsksAgain, DerivesStates
from windrow.app.store_marks import read_marks
from windrow.config import Workspace
from windrow.contract import registry
from windrow.contract.registry import capable, installed
from windrow.engine.decision import MAX_NAMED, decision_session, write_decision
from windrow.engine.frontier import CANCEL, RETRY, Chosen, Frontier, frontier_of
from windrow.engine.older_ledger import refuse_wrong_ledger
from windrow.engine.run import close_all
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.model import Status
from windrow.reasons import Reason
from windrow.renamed import REASONS, all_names, current_name


def decide(
    workspace: Workspace,
    ledger: Ledger,
    decision: str,
    names: Sequence[str],
    *,
    reason: str = "",
    source: str = "",
    dry_run: bool = False,
) -> list[Chosen]:
    """Write a decision (`retry` or `cancel`) on items and addresses; return them with their former states.

    With `names`, the items with these names are chosen. Without `names`, items with this source and reason are chosen:
    for `retry`, failed or cancelled items, except those that only undeclared sources have, because no run requests
    them; for `cancel`, waiting items. An empty `source` or `reason` selects all. Items that are cancelled already are
    not cancelled again. With `dry_run` nothing is written. Raise UsageError for an unknown name, reason or source, for
    names together with a source or reason, if none of the three is given, for an undeclared source from which nothing
    can be retried, for a name of an item that only sources have which are undeclared or switched off, and if a finished
    item would be cancelled.
    """
    reason = current_name(REASONS, reason)
    known_sources = _known_sources(workspace, ledger)
    _refuse_wrong_selection(decision, names, source, reason, known_sources)
    undeclared = sorted(known_sources - _requested_names(workspace)) if decision == RETRY else []
    frontiers = {name: frontier_of(ledger, collection) for name, collection in installed().items()}
    chosen_by_collection = {
        collection: frontier.find_named(names) if names else _select(frontier, decision, source, reason, undeclared)
        for collection, frontier in frontiers.items()
    }
    if source in undeclared and not any(chosen_by_collection.values()):
        raise _undeclared_source(source, "what failed there")
    if names and decision == RETRY:
        _refuse_unrequested(workspace, ledger, chosen_by_collection, {*undeclared})
    keys = {item.key for items in chosen_by_collection.values() for item in items}
    for name in names:
        if keys.isdisjoint(chain([name], *(frontier.spellings(name) for frontier in frontiers.values()))):
            raise UsageError(f"there is no item or address {name!r}", hint=f"windrow why {shlex.quote(name)}")
    if decision == CANCEL:  # an item is cancelled only once
        chosen_by_collection = {
            collection: [item for item in items if item.state[1] is not Status.CANCELLED]
            for collection, items in chosen_by_collection.items()
        }
        _refuse_finished(chosen_by_collection)
    projected = [
        item for collection, items in chosen_by_collection.items() for item in _as_projected(ledger, collection, items)
    ]
    if projected and not dry_run:
        _refuse_wrong_ledger(workspace, ledger)
        decided = [collection for collection, items in chosen_by_collection.items() if items]
        for collection in decided:  # all are written before a projection, such as a damaged one, may fail
            write_decision(ledger, registry.collection(collection), decision, chosen_by_collection[collection])
        close_all(partial(registry.adapter(name).update_projection, workspace, ledger) for name in decided)
    return projected


def ask_again(
    workspace: Workspace,
    ledger: Ledger,
    service: str,
    names: Sequence[str],
    *,
    reason: str = "",
    source: str = "",
    dry_run: bool = False,
) -> list[Chosen]:
    """Let the next run ask a service again about the records in `names`, or about all records; return them as pending.

    If `reason` is not empty, only records whose last answer had this reason are chosen. The decision is a session of
    its own, which takes the lease; with `dry_run`, nothing is written. Raise UsageError if no installed collection can
    ask the service again, if `source` is not empty, or if a record in `names` has no answer from the service, or none
    with this reason.
    """
    if source:
        raise UsageError("--service and --source cannot be combined", hint="windrow retry --service NAME [RECORD]...")
    asking = {
        name: adapter
        for name, adapter in capable(AsksAgain, None).items()
        if service in {declared.name for declared in registry.collection(name).configuration.services}
    }
    if not asking:
        raise UsageError(f"there is no service {service!r} that can be asked again", hint="windrow config")
    answered = f"answered with {reason}" if reason else "answered"
    for name in names:  # each by itself, before anything is written, so that an unknown name is reported
        if not any(adapter.ask_again(workspace, service, [name], reason, dry_run=True) for adapter in asking.values()):
            problem = f"{service} has not {answered} about {name!r}, or is asked about it again anyway"
            raise UsageError(problem, hint=f"windrow why {shlex.quote(name)}")
    if not dry_run:
        _refuse_wrong_ledger(workspace, ledger)
    command = f"retry --service {service} {' '.join(names[:MAX_NAMED])}".rstrip()
    with nullcontext() if dry_run else decision_session(ledger, command):
        return [
            Chosen(0, key, (collection.phase(collection.steps[0].phase), Status.PENDING), ())
            for name, adapter in asking.items()
            for collection in [registry.collection(name)]
            for key in adapter.ask_again(workspace, service, names, reason, dry_run=dry_run)
        ]


def _refuse_wrong_ledger(workspace: Workspace, ledger: Ledger) -> None:
    """Raise ConfigError if the ledger is an older copy: a decision would use the number of a later fact again."""
    refuse_wrong_ledger(ledger, workspace.archive.folder, read_marks(workspace, ledger))


def _refuse_wrong_selection(
    decision: str, names: Sequence[str], source: str, reason: str, known_sources: AbstractSet[str]
) -> None:
    hint = f"windrow {decision} NAME, or --source NAME, or --reason WORD"
    if names and (source or reason):
        raise UsageError("items are chosen by name or by source and reason, not by both", hint=hint)
    if not names and not reason and not source:
        raise UsageError("name items or addresses, or give a source or a reason", hint=hint)
    if reason and reason not in set(Reason):
        raise UsageError(f"there is no reason {reason!r}", hint="see docs/reference/reasons.md")
    if source and source not in known_sources:
        matches = get_close_matches(source, known_sources, 1)
        suggestion = f"; did you mean {matches[0]}?" if matches else ""
        raise UsageError(f"there is no source {source!r}{suggestion}", hint="windrow status")


def _refuse_unrequested(
    workspace: Workspace, ledger: Ledger, chosen_by_collection: Mapping[str, Sequence[Chosen]],
    undeclared: AbstractSet[str],
) -> None:  # fmt: skip
    """Raise UsageError for an item that only sources have which no run requests.

    These are undeclared or switched off. Unread attempts of an address are read again without a request.
    """
    switched_off = {source.name for source in workspace.sources if not source.active}
    for name, items in chosen_by_collection.items():
        for item in items:
            addresses = ledger.addresses.of_sources(name, item.number)
            sources = {row.source for row in addresses or ledger.mirrors.of_files([item.number])}
            has_unread_attempts = bool(addresses and item.children)
            if not sources or has_unread_attempts:
                continue
            if sources <= undeclared:
                raise _undeclared_source(min(sources), item.key)
            if sources <= undeclared | switched_off:
                source = min(sources & switched_off)
                raise UsageError(
                    f"source {source} is switched off, so no run requests {item.key}",
                    hint="switch the source on first; windrow status shows its state",
                )


def _undeclared_source(source: str, requested: str) -> UsageError:
    return UsageError(
        f"source {source} is not declared, so no run requests {requested}",
        hint=f"declare the source again, in windrow.toml or in sources/{source}.toml",
    )


def _known_sources(workspace: Workspace, ledger: Ledger) -> set[str]:
    return {*(source.name for source in workspace.sources), *ledger.sessions.sources()}


def _requested_names(workspace: Workspace) -> set[str]:
    services = (service.name for collection in installed().values() for service in collection.configuration.services)
    return {*(source.name for source in workspace.sources), *services}


def _select(frontier: Frontier, decision: str, source: str, reason: str, excluded: Sequence[str]) -> list[Chosen]:
    """Return the items with this source and reason to which a decision can be applied.

    Files and addresses that only the sources in `excluded` have are left out, but not their unread attempts.
    The ledger may have the reason under an old name.
    """
    old_and_new = all_names(REASONS, reason)
    return [item for spelling in old_and_new for item in frontier.find_undone(decision, source, spelling, excluded)]


def _as_projected(ledger: Ledger, collection: str, items: Sequence[Chosen]) -> list[Chosen]:
    """Return the items, each with the state that their collection derives, or unchanged if it derives no states."""
    adapter = capable(DerivesStates, [collection]).get(collection) if items else None
    if adapter is None:
        return [*items]
    states_by_item = adapter.states(ledger, [item.number for item in items])
    return [item._replace(state=states_by_item.get(item.number, item.state)) for item in items]


def _refuse_finished(chosen_by_collection: Mapping[str, Sequence[Chosen]]) -> None:
    finished = [item.key for items in chosen_by_collection.values() for item in items if item.is_done]
    if finished:
        raise UsageError(
            f"{finished[0]} is finished: its records are loaded, and cancelling would not remove them",
            hint="only its source can remove the records, in a later delivery",
        )
