"""Check a workspace: archive, ledger and collections agree; take things down, with what was made of them."""

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
from windrow.engine.check import Fault, check_archive, check_index, check_standing, check_steps
from windrow.engine.session import Session, SessionSettings
from windrow.engine.takedown import CollectionStores, TakedownResult, TakedownTarget, lift, take_down_targets
from windrow.errors import Locked, UsageError
from windrow.ledger import Ledger


@dataclass
class Checkup:
    """What was looked at, and what does not agree."""

    captures: int = 0
    bytes: int = 0
    faults: list[Fault] = field(default_factory=list)


def check(workspace: Workspace, ledger: Ledger) -> Checkup:
    """Read every capture back, and compare present state, stores and books with the facts.

    While a run is under way books are always a little behind, so that a difference is Locked then.
    """
    done = Checkup()
    for found in check_archive(ledger, workspace.archive.folder):
        if isinstance(found, Fault):
            done.faults.append(found)
        else:
            done.captures += 1
            done.bytes += found
    done.faults += check_index(ledger, workspace.archive.folder)
    done.faults += check_standing(ledger)
    used = harvested_collections(workspace, ledger)
    mine = [registry.adapter(name) for name in registry.installed() if name in used]
    cut_short = "is being taken down, and that was cut short"
    behind = [Fault(one.target, cut_short, "windrow forget finishes it") for one in ledger.takedowns.open()]
    behind += [*check_steps(ledger), *(fault for one in mine for fault in one.check(workspace, ledger))]
    if behind and (who := holder(ledger)):
        raise Locked(
            f"{who} runs here now, and its books are being written", hint="windrow status, then: windrow check"
        )
    done.faults += behind
    return done


def check_tree(what: Sequence[str]) -> Iterator[Fault | int]:
    """Judge the files of a folder by the standard of a collection: yield faults, and the bytes of each file.

    `what` is the folder, or a collection and the folder; a collection that has but one such tree need not be named.
    """
    able = registry.capable(ChecksTree)
    name, folder = (what[0], what[-1]) if len(what) > 1 else ("", what[0])
    if not name and folder in able:
        raise UsageError(f"name the folder that is to be judged: windrow check {folder} FOLDER")
    if (name and name not in able) or (not name and len(able) != 1) or len(what) > 2:
        raise UsageError(f"name one of {', '.join(sorted(able))}, and a folder", hint="windrow check --help")
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{folder} is no folder")
    yield from able[name or next(iter(able))].check_tree(path)


def estimate(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[TakedownEstimate]:
    """Count what would be taken down."""
    targets = _targets(workspace, ledger, names, _able(workspace, ledger))
    return [TakedownEstimate(target.name, *ledger.takedowns.count(target.address, target.host)) for target in targets]


def take_down(
    workspace: Workspace,
    setup: SessionSettings,
    names: Sequence[str],
    reason: str = "",
    adapters: Mapping[str, Forgets] | None = None,
) -> list[TakedownResult]:
    """Take down what is named, and what an earlier run left undone; return what was removed, target by target.

    Waits for nobody: Locked where a run is under way. A tombstone with the reason stays, and nothing of it is asked for
    again. What another process that reads a database keeps from going is told, and its tombstone stays open for the
    next call. `adapters` are those of the collections, by name: of all that have or had sources where none are given.
    """
    with Session(setup, "forget") as session:
        made = adapters or _able(workspace, session.ledger)
        stores = {
            name: CollectionStores(partial(one.remove_taken_down, workspace), partial(one.clean_stores, workspace))
            for name, one in made.items()
        }
        return take_down_targets(session, _targets(workspace, session.ledger, names, made), reason, stores)


def let_again(
    workspace: Workspace, setup: SessionSettings, names: Sequence[str], adapters: Mapping[str, Forgets] | None = None
) -> int:
    """Let what was taken down be asked for again by the next run; return how many tombstones that lifts."""
    with Session(setup, "forget --lift") as session:
        made = adapters or _able(workspace, session.ledger)
        return lift(session, _targets(workspace, session.ledger, names, made))


def _able(workspace: Workspace, ledger: Ledger) -> Mapping[str, Forgets]:
    """Return the adapters of the workspace's collections that can take something down."""
    return capable(Forgets, harvested_collections(workspace, ledger))


def _targets(
    workspace: Workspace, ledger: Ledger, names: Sequence[str], adapters: Mapping[str, Forgets]
) -> list[TakedownTarget]:
    """Return what names mean to the collections; an address that several know is one target.

    Raises UsageError for a name that none knows, and first ConfigError for a store in a place that is not ours.
    """
    for adapter in adapters.values():
        adapter.refuse_takedown(workspace)
    targets: list[TakedownTarget] = []
    for name in names:
        known = [
            takedown_target
            for adapter in adapters.values()
            for takedown_target in adapter.takedown_targets(workspace, ledger, name)
        ]
        if not known:
            raise UsageError(f"nothing is known of {name!r} that could be taken down", hint=f"windrow why {name}")
        targets += known
    return [*{target[1:3]: target for target in reversed(targets)}.values()][::-1]
