"""Check a workspace: archive, ledger, and what every collection keeps agree."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow import registry
from windrow.app.status import holder
from windrow.config import Workspace
from windrow.engine.check import Fault, check_archive, check_index, check_standing
from windrow.engine.ledger import Ledger
from windrow.errors import Locked


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
    behind = [fault for name in registry.installed() for fault in registry.adapter(name).check(workspace, ledger)]
    if behind and (who := holder(ledger)):
        raise Locked(
            f"{who} runs here now, and its books are being written", hint="windrow status, then: windrow check"
        )
    done.faults += behind
    return done
