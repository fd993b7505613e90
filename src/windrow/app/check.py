"""Check whether archive, ledger and stores agree, and take down addresses with all that was derived from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from windrow.adapters.adapter import ChecksTree, Forgets, TakedownEstimate, harvested_collections
from windrow.app.status import holder
from windrow.config import Workspace
from windrow.contract import registry
from windrow.contract.registry import capable
from windrow.engine.check import Fault, check_archive, check_index, check_states, check_steps
from windrow.engine.session import Session, SessionSettings
from windrow.engine.takedown import CollectionStores, TakedownResult, TakedownTarget, lift, take_down_targets
from windrow.errors import Locked, UsageError
from windrow.ledger import Ledger


@dataclass
class Checkup:
    """How many captures and bytes were checked, and the faults found."""

    captures: int = 0
    bytes: int = 0
    faults: list[Fault] = field(default_factory=list)


def check(workspace: Workspace, ledger: Ledger) -> Checkup:
    """Read every capture back, and compare the present state, stores and projections with the facts.

    Raises Locked if projections differ while a run is under way: they are always a little behind then.
    """
    checkup = Checkup()
    for checked in check_archive(ledger, workspace.archive.folder):
        if isinstance(checked, Fault):
            checkup.faults.append(checked)
        else:
            checkup.captures += 1
            checkup.bytes += checked
    checkup.faults += check_index(ledger, workspace.archive.folder)
    checkup.faults += check_states(ledger)
    used = harvested_collections(workspace, ledger)
    adapters = [registry.adapter(name) for name in registry.installed() if name in used]
    interrupted = "is being taken down, and that was interrupted"
    projection_faults = [
        Fault(takedown.target, interrupted, "windrow forget finishes it") for takedown in ledger.takedowns.open()
    ]
    projection_faults += [
        *check_steps(ledger),
        *(fault for adapter in adapters for fault in adapter.check(workspace, ledger)),
    ]
    if projection_faults and (holder_name := holder(ledger)):
        raise Locked(
            f"{holder_name} runs here now and is writing the projections", hint="windrow status, then: windrow check"
        )
    checkup.faults += projection_faults
    return checkup


def check_tree(arguments: Sequence[str]) -> Iterator[Fault | int]:
    """Check the files of a folder by the standard of a collection: yield faults, and the size of each file in bytes.

    `arguments` are the folder, or a collection and the folder; the only collection with such a standard may be omitted.
    """
    adapters = registry.capable(ChecksTree)
    name, folder = (arguments[0], arguments[-1]) if len(arguments) > 1 else ("", arguments[0])
    if not name and folder in adapters:
        raise UsageError(f"name the folder to check: windrow check {folder} FOLDER")
    if (name and name not in adapters) or (not name and len(adapters) != 1) or len(arguments) > 2:
        raise UsageError(f"name one of {', '.join(sorted(adapters))}, and a folder", hint="windrow check --help")
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{folder} is not a folder")
    yield from adapters[name or next(iter(adapters))].check_tree(path)


def estimate(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[TakedownEstimate]:
    """Count what `take_down` would remove, by target."""
    targets = _find_targets(workspace, ledger, names, _takedown_adapters(workspace, ledger))
    return [TakedownEstimate(target.name, *ledger.takedowns.count(target.address, target.host)) for target in targets]


def take_down(
    workspace: Workspace,
    setup: SessionSettings,
    names: Sequence[str],
    reason: str = "",
    adapters: Mapping[str, Forgets] | None = None,
) -> list[TakedownResult]:
    """Take down the targets named and those of an interrupted takedown; return what was removed, by target.

    Raises Locked if a run is under way. A tombstone with the reason stays, and the target is never requested again. If
    another process that reads a database prevents the erasure, the result says so and the tombstone stays open for the
    next call. `adapters` are those of the collections, by name; default: of all that have or had sources.
    """
    with Session(setup, "forget") as session:
        adapters_by_name = adapters or _takedown_adapters(workspace, session.ledger)
        stores = {
            name: CollectionStores(
                partial(adapter.remove_taken_down, workspace), partial(adapter.clean_stores, workspace)
            )
            for name, adapter in adapters_by_name.items()
        }
        return take_down_targets(
            session, _find_targets(workspace, session.ledger, names, adapters_by_name), reason, stores
        )


def let_again(
    workspace: Workspace, setup: SessionSettings, names: Sequence[str], adapters: Mapping[str, Forgets] | None = None
) -> int:
    """Let the next run request again what was taken down; return how many tombstones were lifted."""
    with Session(setup, "forget --lift") as session:
        adapters_by_name = adapters or _takedown_adapters(workspace, session.ledger)
        return lift(session, _find_targets(workspace, session.ledger, names, adapters_by_name))


def _takedown_adapters(workspace: Workspace, ledger: Ledger) -> Mapping[str, Forgets]:
    """Return the adapters of the workspace's collections that support takedowns."""
    return capable(Forgets, harvested_collections(workspace, ledger))


def _find_targets(
    workspace: Workspace, ledger: Ledger, names: Sequence[str], adapters: Mapping[str, Forgets]
) -> list[TakedownTarget]:
    """Return the targets that the collections know by these names, each address once.

    Raises ConfigError if a store is in a folder that is not windrow's own, and UsageError for an unknown name.
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
        if not found_targets:
            raise UsageError(f"no collection has {name!r}, so it cannot be taken down", hint=f"windrow why {name}")
        targets += found_targets
    return [*{target[1:3]: target for target in reversed(targets)}.values()][::-1]
