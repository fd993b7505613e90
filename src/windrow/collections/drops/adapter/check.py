"""Compare the store and the tracker of drops with the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing

import sqlalchemy as sa

from windrow.collections.drops.adapter.current_states import count_shown_states
from windrow.collections.drops.adapter.harvest import REBUILD_HINT, open_store, refuse_unfinished_store
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.database.projection_rows import find_owner, find_written_tables
from windrow.collections.drops.database.tracker_tables import DATABASE, PROJECTION, TRACKER
from windrow.collections.drops.phase import PHASES
from windrow.collections.drops.settings import Drops
from windrow.config import Workspace
from windrow.config.workspace import read_password
from windrow.contract import Load
from windrow.engine.check import Fault
from windrow.engine.older_ledger import is_foreign
from windrow.engine.run import closing_all
from windrow.errors import StoreUnreachable
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.model import Status
from windrow.stores.databases import READ_ONLY, connect, is_missing_file, map_errors, with_database

StateKey = tuple[str, int, int]
"""The kind of an item (`zip` or `xml`), and the phase id and status of its state."""


def check_store(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Yield a fault for each loaded document whose number of rows in the store differs from that on the ledger.

    A store that an unfinished replay made is a single fault. That of another workspace is not compared.
    """
    load_phases = [step.phase for step in COLLECTION.steps if isinstance(step, Load)]
    loaded_documents = [row for phase in load_phases for row in ledger.members.loaded(phase, COLLECTION.name)]
    if is_missing_file(workspace.section(Drops).store.url):
        yield from [Fault("store", "does not exist", "windrow replay")] if loaded_documents else []
        return
    with closing(open_store(workspace)) as store:
        row_counts = store.census()
        try:
            if store.has_tables():
                if is_foreign(store.owner(), ledger):
                    return
                refuse_unfinished_store(store)
        except StoreUnreachable as error:
            yield Fault("store", str(error), error.hint)
            return
    for item, key, count in loaded_documents:
        if row_counts.get(item) != count:
            message = f"has {counted(row_counts.get(item, 0), 'row')}, but the ledger has {count}"
            yield Fault(f"store, {key}", message, "windrow replay")


def check_tracker(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Yield the faults of the tracker: missing or emptied tables, and states with the wrong number of rows."""
    drops = workspace.section(Drops)
    shown_counts = count_shown_states(ledger)
    expected = {(kind, phase, int(status)): count for (kind, (phase, status)), count in shown_counts.items()}
    if not expected:
        return
    if is_missing_file(drops.tracker.url):
        yield Fault("tracker", "has no tables yet; windrow run creates them")
        return
    engine = connect(with_database(drops.tracker.url, DATABASE), read_password(drops.tracker))
    with closing_all(engine.dispose), map_errors(engine), engine.connect().execution_options(**READ_ONLY) as connection:
        tables = set(sa.inspect(connection).get_table_names())
        if tables.isdisjoint(TRACKER.tables):
            yield Fault("tracker", "has no tables yet; windrow run creates them")
            return
        if missing := sorted(TRACKER.tables.keys() - tables):
            yield from (Fault(f"tracker, {name}", "does not exist", REBUILD_HINT) for name in missing)
            return
        if is_foreign(find_owner(connection, PROJECTION), ledger):
            return
        emptied_tables = list(_find_emptied(connection))
        counts = {}
        for kind, name in (("zip", "zip_action"), ("xml", "xml_file")):
            table = TRACKER.tables[name]
            state = (table.c.phase_id, table.c.status_id)
            for phase, status, count in connection.execute(sa.select(*state, sa.func.count()).group_by(*state)):
                counts[kind, phase, status] = count
    yield from (
        Fault(f"tracker, {name}", "has no rows, although some were written", REBUILD_HINT) for name in emptied_tables
    )
    yield from _compare(counts, expected)


def _find_emptied(connection: sa.Connection) -> Iterator[str]:
    """Yield the names of tables that had rows and have none now; a table that lost only some rows is not a fault."""
    for name in sorted(find_written_tables(connection, PROJECTION) & TRACKER.tables.keys()):
        if connection.scalar(sa.select(sa.literal(1)).select_from(TRACKER.tables[name]).limit(1)) is None:
            yield name


def _compare(counts: Mapping[StateKey, int], expected: Mapping[StateKey, int]) -> Iterator[Fault]:
    """Yield a fault for each state with the wrong number of rows; rows moved to the phase `qc` are not missing."""
    last_phase = len(PHASES)
    moved_counts = Counter[str]()
    for (kind, phase, _), count in counts.items():
        moved_counts[kind] += count if phase == last_phase else 0
    for state_key in sorted(counts.keys() | expected.keys()):
        kind, phase, status = state_key
        actual_count, expected_count = counts.get(state_key, 0), expected.get(state_key, 0)
        if phase == last_phase or actual_count == expected_count:
            continue
        if 0 < expected_count - actual_count <= moved_counts[kind]:
            moved_counts[kind] -= expected_count - actual_count
            continue
        state = f"{PHASES[phase - 1]} {Status(status).name.lower()}"
        message = f"has {counted(actual_count, 'row')} with the state {state}, but the ledger has {expected_count}"
        yield Fault(f"tracker, {kind}", message, REBUILD_HINT)


def check(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Compare the store and the tracker with the ledger, and yield the faults found."""
    yield from check_store(workspace, ledger)
    yield from check_tracker(workspace, ledger)
