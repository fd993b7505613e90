"""Take down addresses, hosts and sources in all collections, and name the sources that would lose something."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from windrow.adapters.adapter import Forgets, TakedownEstimate, harvested_collections
from windrow.config import Workspace
from windrow.config.workspace import left_replays
from windrow.contract.registry import capable
from windrow.engine.run import SessionSettings
from windrow.engine.session import Session
from windrow.engine.takedown import (
    CollectionStores,
    TakedownResult,
    TakedownTarget,
    count_targets,
    find_standing,
    lift,
    take_down_targets,
)
from windrow.errors import UsageError
from windrow.formats.url import normalise
from windrow.ledger import Ledger
from windrow.stores.sqlite import remove_scratch


def estimate_takedowns(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[TakedownEstimate]:
    """Count for each named target what `take_down` would remove, and name the sources that have it."""
    adapters = _takedown_adapters(workspace, ledger)
    _refuse_shared_origins(workspace, ledger, names, adapters)
    targets = _find_targets(workspace, ledger, names, adapters)
    counts = count_targets(ledger, targets)
    sources = [ledger.takedowns.target_sources(target.address, target.host, target.name) for target in targets]
    return [
        TakedownEstimate(target.name, *count, tuple(names_of_sources))
        for target, count, names_of_sources in zip(targets, counts, sources, strict=True)
    ]


def take_down(
    workspace: Workspace,
    setup: SessionSettings,
    names: Sequence[str],
    reason: str = "",
    adapters: Mapping[str, Forgets] | None = None,
) -> list[TakedownResult]:
    """Take down the named targets and finish interrupted takedowns; return a result for each takedown.

    Raise Locked if a run is under way. A tombstone with the reason remains, and the target is not requested again until
    the takedown is lifted. If another process that reads a database prevents the erasure, all results contain this
    error, and the next call repeats the erasure. `adapters` (by collection) are by default those of all collections
    that have or had sources.
    """
    with Session(setup, "forget") as session:
        for folder, databases in left_replays(workspace).items():  # the session could not remove it
            remove_scratch(folder, databases)
        adapters_by_name = adapters or _takedown_adapters(workspace, session.ledger)
        stores = {
            name: CollectionStores(
                partial(adapter.remove_taken_down, workspace), partial(adapter.clean_stores, workspace)
            )
            for name, adapter in adapters_by_name.items()
        }
        _refuse_shared_origins(workspace, session.ledger, names, adapters_by_name)
        targets = _find_targets(workspace, session.ledger, names, adapters_by_name)
        return take_down_targets(session, targets, reason, stores)


def lift_takedowns(
    workspace: Workspace, setup: SessionSettings, names: Sequence[str], adapters: Mapping[str, Forgets] | None = None
) -> int:
    """Lift the takedowns of the named targets, so that runs request these again; return the number of takedowns."""
    with Session(setup, "forget --lift") as session:
        adapters_by_name = adapters or _takedown_adapters(workspace, session.ledger)
        targets_by_name = [_find_targets(workspace, session.ledger, [name], adapters_by_name) for name in names]
        return sum(lift(session, targets) for targets in targets_by_name)


def standing_takedowns(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[str]:
    """Return what is taken down of the named targets: addresses, origins, and what a source requests from an origin."""
    targets = _find_targets(workspace, ledger, names, _takedown_adapters(workspace, ledger))
    return list(dict.fromkeys(takedown.target for takedown in find_standing(ledger, targets)))


def _takedown_adapters(workspace: Workspace, ledger: Ledger) -> Mapping[str, Forgets]:
    return capable(Forgets, harvested_collections(workspace, ledger))


def sharing_sources(
    workspace: Workspace, ledger: Ledger, name: str, targets: AbstractSet[str]
) -> list[tuple[str, str]]:
    """Return (origin, source) for the declared sources that would lose what they have of an origin with `name`.

    They are of the same collection as the source `name`. `targets` are the names of the takedown targets that have this
    name. The result is empty if `name` is not the name of a source.
    """
    sharing = []
    for host in ledger.addresses.host_states(name, "", 0):
        loses_origin = host.origin in targets
        names = ledger.captures.borrowers(host.seq, name)
        names.update(ledger.takedowns.target_sources(0, host.seq, host.origin if loses_origin else ""))
        for source in workspace.sources:
            # A source that has not been harvested yet has no host.
            begins_there = loses_origin and normalise(f"{source.site.origin}/").url == f"{host.origin}/"
            if source.collection == host.collection and source.name != name and (source.name in names or begins_there):
                sharing.append((host.origin, source.name))
    return sharing


def _refuse_shared_origins(
    workspace: Workspace, ledger: Ledger, names: Sequence[str], adapters: Mapping[str, Forgets]
) -> None:
    """Raise UsageError if the name of a source would also take down an origin of another declared source."""
    for name in names:
        targets = {target.name for target in _find_targets(workspace, ledger, [name], adapters)}
        for origin, source in sharing_sources(workspace, ledger, name, targets):
            host = origin.partition("://")[2]
            raise UsageError(
                f"{name}: what it has of {origin} belongs to the source {source} too, which would lose it; if {name}"
                " was only renamed, nothing needs to be done: its row `held` in windrow status stays, and nothing is"
                " requested",
                hint=f"leave it; windrow forget {shlex.quote(host)} would remove it from all sources, for good",
            )


def _find_targets(
    workspace: Workspace, ledger: Ledger, names: Sequence[str], adapters: Mapping[str, Forgets]
) -> list[TakedownTarget]:
    """Return the targets that the collections have under the given names, each address or host once.

    Raise ConfigError if a store is in a folder that is not windrow's own, and UsageError for an unknown name.
    """
    for adapter in adapters.values():
        adapter.refuse_takedown(workspace)
    targets: list[TakedownTarget] = []
    for name in names:
        found_targets = [
            takedown_target
            for adapter in adapters.values()
            for takedown_target in adapter.takedown_targets(workspace, ledger, name)
        ]
        collection = ledger.sessions.collection_of(name)
        if not found_targets and collection and collection not in adapters:
            problem = f"{name} is a source of {collection}, of which windrow removes nothing"
            raise UsageError(problem, hint=f"windrow why {shlex.quote(name)}")
        if not found_targets:
            raise UsageError(f"no collection has {name!r}", hint=f"windrow why {shlex.quote(name)}")
        targets += found_targets
    targets_by_key = {(target.address, target.host): target for target in reversed(targets)}  # keeps the first of each
    return [*targets_by_key.values()][::-1]
