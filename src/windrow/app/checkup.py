"""Check a workspace: archive, ledger, and what every collection keeps agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windrow import registry
from windrow.adapter import harvested_collections
from windrow.app.status import holder
from windrow.config import Workspace
from windrow.engine.check import Fault, check_archive, check_index, check_standing
from windrow.engine.ledger import Ledger
from windrow.errors import Locked, UsageError


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
    behind = [fault for one in mine for fault in one.check(workspace, ledger)]
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
    able = registry.capable("check_tree")
    name, folder = (what[0], what[-1]) if len(what) > 1 else ("", what[0])
    if not name and folder in able:
        raise UsageError(f"name the folder that is to be judged: windrow check {folder} FOLDER")
    if (name and name not in able) or (not name and len(able) != 1) or len(what) > 2:
        raise UsageError(f"name one of {', '.join(sorted(able))}, and a folder", hint="windrow check --help")
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{folder} is no folder")
    yield from able[name or next(iter(able))].check_tree(path)
