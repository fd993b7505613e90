"""Check whether archive, ledger and stores agree; take down addresses with all data derived from them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from windrow.adapters.adapter import Adopts, ChecksTree, Forgets, TakedownEstimate, harvested_collections
from windrow.app.status import running_process, sharing_sources
from windrow.app.warc_files import has_warc_files
from windrow.config import Workspace
from windrow.contract import registry
from windrow.contract.registry import capable
from windrow.engine.check import Fault, check_archive, check_index, check_states, check_steps, check_values
from windrow.engine.older_ledger import RESTORE_HINT, describe_older_ledger
from windrow.engine.session import Session, SessionSettings
from windrow.engine.takedown import (
    CollectionStores,
    TakedownResult,
    TakedownTarget,
    count_targets,
    find_standing,
    lift,
    take_down_targets,
)
from windrow.errors import Locked, UsageError
from windrow.ledger import Ledger


@dataclass
class Checkup:
    """The result of a check: the number of captures that were read, their size, and the faults."""

    captures: int = 0
    bytes: int = 0
    faults: list[Fault] = field(default_factory=list)


def check_workspace(workspace: Workspace, ledger: Ledger) -> Checkup:
    """Read every capture, and compare the archive's index, pending steps, stores and projections with the ledger.

    If the ledger has values of the wrong type, nothing else is checked, and a fault says so.

    Raises Locked if a process holds the lease while a pending step, store or projection differs from the ledger, or a
    takedown is unfinished. During a run, the projections may be a little behind the ledger.
    """
    checkup = Checkup(faults=check_values(ledger))
    if checkup.faults:  # the other checks would fail on these values
        checkup.faults.append(Fault("the ledger", "because of these values, nothing else was checked"))
        return checkup
    for fault_or_size in check_archive(ledger, workspace.archive.folder):
        if isinstance(fault_or_size, Fault):
            checkup.faults.append(fault_or_size)
        else:
            checkup.captures += 1
            checkup.bytes += fault_or_size
    if problem := describe_older_ledger(ledger, workspace.archive.folder):
        checkup.faults.append(Fault("the ledger", problem, RESTORE_HINT))
    checkup.faults += check_index(ledger, workspace.archive.folder)
    checkup.faults += check_states(ledger)
    harvested = harvested_collections(workspace, ledger)
    adapters = [registry.adapter(name) for name in registry.installed() if name in harvested]
    projection_faults = [
        Fault(takedown.target, "its takedown was interrupted", "windrow forget finishes it")
        for takedown in ledger.takedowns.open()
    ]
    projection_faults += [
        *check_steps(ledger),
        *(fault for adapter in adapters for fault in adapter.check(workspace, ledger)),
    ]
    if projection_faults and (process := running_process(ledger)):
        raise Locked(
            f"{process} is running in this workspace and changes the files to be checked",
            hint="wait until windrow status shows that it has ended, then: windrow check",
        )
    checkup.faults += projection_faults
    return checkup


def check_tree(arguments: Sequence[str]) -> tuple[str, Iterator[Fault | int]]:
    """Check the files of a folder by a collection's standard.

    Return the collection, and an iterator over the faults and the sizes of files in bytes. `arguments` are a collection
    and a folder. The collection may be omitted if only one installed collection can check a folder. Raise UsageError if
    the arguments are not valid, or if no file in the folder has a path that the collection's standard describes.
    """
    adapters = registry.capable(ChecksTree)
    collection, folder = (arguments[0], arguments[-1]) if len(arguments) > 1 else ("", arguments[0])
    if not collection and folder in adapters:
        raise UsageError("name the folder to check", hint=f"windrow check {folder} FOLDER")
    is_unclear = collection not in adapters if collection else len(adapters) != 1
    if is_unclear or len(arguments) > 2:
        raise UsageError(
            f"expected a collection ({' or '.join(sorted(adapters))}) and a folder", hint="windrow check --help"
        )
    path, collection = Path(folder), collection or next(iter(adapters))
    if not path.is_dir():
        raise UsageError(f"{folder} is not a folder")
    if not any(path.glob(adapters[collection].TREE)):
        problem = f"{folder} has no file {adapters[collection].TREE}, which the standard of {collection} describes"
        raise UsageError(problem, hint=_suggest_command(path))
    return collection, adapters[collection].check_tree(path)


def _suggest_command(folder: Path) -> str:
    name, adopters = shlex.quote(str(folder)), [*registry.capable(Adopts).values()]
    if has_warc_files(folder):
        return f"windrow run {name}, which reads its WARC files"
    if adopters and any(folder.rglob("*.zip")):
        return f"windrow run --from {adopters[0].ADOPTED_AT} {name}, which reads {adopters[0].ADOPTS}"
    return "windrow check, which checks the workspace"


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


def _refuse_shared_origins(
    workspace: Workspace, ledger: Ledger, names: Sequence[str], adapters: Mapping[str, Forgets]
) -> None:
    """Raise UsageError if the name of a source would also take down an origin of another declared source."""
    for name in names:
        targets = {target.name for target in _find_targets(workspace, ledger, [name], adapters)}
        for origin, source in sharing_sources(workspace, ledger, name, targets):
            host = origin.partition("://")[2]
            raise UsageError(
                f"{name}: what it has of {origin} belongs to the source {source} too, which would lose it",
                hint=f"windrow forget {shlex.quote(host)}, to remove it from all sources",
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
