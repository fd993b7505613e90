"""Check a workspace: archive, ledger, books and store agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from windrow.app.secret import password
from windrow.collections.drops.tracker import DATABASE, TRACKER
from windrow.config import Workspace
from windrow.engine.check import Fault, check_archive, check_standing
from windrow.engine.ledger import Ledger
from windrow.stores.connect import READS, connect, guarded
from windrow.stores.database import named


@dataclass
class Checkup:
    """What was looked at, and what does not agree."""

    captures: int = 0
    bytes: int = 0
    faults: list[Fault] = field(default_factory=list)


def check(workspace: Workspace, ledger: Ledger) -> Checkup:
    """Read every capture back, and compare present state and the tracker with the facts."""
    done = Checkup()
    for found in check_archive(ledger, workspace.archive.folder):
        if isinstance(found, Fault):
            done.faults.append(found)
        else:
            done.captures += 1
            done.bytes += found
    done.faults += check_standing(ledger)
    done.faults += _check_tracker(workspace, ledger)
    return done


def _check_tracker(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Compare the tracker's documents and zips, counted by state, with where the ledger has them."""
    drops = workspace.drops
    if not ledger.ask("states"):
        return
    engine = connect(named(drops.tracker.url, DATABASE), password(drops.tracker))
    with guarded(engine), engine.connect().execution_options(**READS) as connection:
        if not sa.inspect(connection).has_table("zip_action"):
            yield Fault("tracker", "has no tables yet: windrow run")
            return
        for kind, name in (("zip", "zip_action"), ("xml", "xml_file")):
            table = TRACKER.tables[name]
            text = sa.select(table.c.phase_id, table.c.status_id, sa.func.count()).group_by(
                table.c.phase_id, table.c.status_id
            )
            books = {(phase, status): count for phase, status, count in connection.execute(text)}
            facts = {
                (phase, status): count
                for collection, found, phase, status, count in ledger.ask("states")
                if (collection, found) == ("drops", kind)
            }
            for state in sorted(books.keys() | facts.keys()):
                if books.get(state, 0) != facts.get(state, 0) and state[0] != len(_PHASES):
                    told = f"{books.get(state, 0)} at phase {state[0]}, status {state[1]}"
                    yield Fault(f"tracker, {name}", f"has {told}, the ledger {facts.get(state, 0)}")
    engine.dispose()


_PHASES = range(11)
