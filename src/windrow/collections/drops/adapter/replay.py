"""Adopt zips that are on disk already; read a workspace's captures again into a new store."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from windrow.adapters.adapter import ReplayResult
from windrow.collections.drops.adapter.current_states import all_states
from windrow.collections.drops.adapter.harvest import DropsStore, harvest, read_declared
from windrow.collections.drops.collection import COLLECTION, FOLDERS
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import SUMMARY, TABLES
from windrow.collections.drops.name import ZipName, read_zip_name
from windrow.collections.drops.settings import Drops
from windrow.config import Workspace
from windrow.config.workspace import REPLAY, password
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.fetchers.message import ArchiveSettings
from windrow.engine.progress import Progress
from windrow.engine.replay import SCRATCH, RenumberingStore, ReplayChange, rebuild
from windrow.engine.replay import replay as read_again
from windrow.engine.run import HarvestRun, closing_all
from windrow.engine.session import Session, SessionSettings
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.worker import WorkerConfig
from windrow.errors import UsageError
from windrow.model import Site, Source
from windrow.settings.configuration import DatabaseAddress


def replay(workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
    """Rebuild the store of the drops from the captures; when all are read, it replaces the old one.

    A store on a server is built in an empty database that the configuration names. Return None if there is neither a
    source of drops nor a store.
    """
    file = workspace.section(Drops).store.url.removeprefix("sqlite:///")
    if not workspace.of(COLLECTION.name) and not Path(file).is_file():
        return None
    _refuse_used_server(workspace)
    scratch, new = (workspace.root / REPLAY / name for name in SCRATCH)
    rebuild_workspace = workspace
    if _on_file(workspace):
        rebuild_workspace = workspace.with_section(
            "drops", replace(workspace.section(Drops), store=DatabaseAddress(f"sqlite:///{new}"))
        )
    changes: list[ReplayChange] = []
    with Session(setup, "replay", progress) as session:

        def build() -> None:
            rebuilt = harvest(rebuild_workspace)
            assert isinstance(rebuilt.store, DropsStore)
            assert rebuilt.projection is not None
            session.follow(rebuilt.projection)
            ledger = session.ledger.copy_unread(scratch)
            keep = ArchiveSettings(setup.archive, session.number, setup.limits, setup.rollover_size, setup.agent)
            pool = Pool(WorkerConfig(rebuilt.collection, setup.archive, setup.limits, rebuilt.resources), setup.workers)
            first_step = rebuilt.collection.step_after(rebuilt.collection.members.kind)
            renamed = RenumberingStore(rebuilt.store, session.ledger, ledger, session.number, first_step)
            run = HarvestRun(
                replace(rebuilt, store=renamed, projection=None), ledger, session.lease, FetcherPool(keep, 0), pool,
                session.number, setup.archive, setup.limits, progress, lambda: session.stops,
            )  # fmt: skip
            with closing_all(pool.close, ledger.close, rebuilt.store.tables.close):
                changes.extend(read_again(run, session.ledger, all_states))

        rebuild(session, Path(file), new, build, lambda: None, scratch=SCRATCH[:1])
    return ReplayResult(session.ordinal, tuple(changes))


def _on_file(workspace: Workspace) -> bool:
    """Tell whether the store is a file, which another one can replace."""
    return workspace.section(Drops).store.url.startswith("sqlite:///")


def _refuse_used_server(workspace: Workspace) -> None:
    """Raise UsageError if the store is on a server and has records: replay does not replace it."""
    if _on_file(workspace):
        return
    place = workspace.section(Drops).store
    store = TableStore(place.url, TABLES, SUMMARY, password=password(place))
    try:
        if store.census():
            raise UsageError(
                "the store is on a server and has records: replay does not replace it",
                hint="create an empty database, name it in drops.store, then: windrow replay",
            )
    finally:
        store.close()


NAME = "adopted"
ADOPTED_AT = "unzip"
ADOPTS = f"a folder of zips that are held already, with {', '.join(FOLDERS[:-1])} or {FOLDERS[-1]} in it"


def adopt(workspace: Workspace, folder: Path) -> Source:
    """Return a source for a folder that contains `add`, `edit` or `delete`, or is one of them.

    The zips are copied into the archive and treated like fetched ones; the folder is only read. Raises UsageError if it
    has no such folder or no zip with a valid name. The source belongs to the centre that made most of the zips.
    """
    base = folder.resolve()
    if base.name in FOLDERS:
        base = base.parent
    folders = [base / name for name in FOLDERS if (base / name).is_dir()]
    if not folders:
        raise UsageError(
            f"{folder} has no folder {', '.join(FOLDERS)}, so the action for its zips is unknown",
            hint=f"mkdir {folder}/add && mv {folder}/*.zip {folder}/add/",
        )
    declarations = read_declared(workspace, workspace.sources)
    centre_counts: Counter[str] = Counter()
    for path in (path for action_folder in folders for path in action_folder.glob("*.zip")):
        parsed = read_zip_name(path.name, declarations.names, declarations.zip_name)
        if isinstance(parsed, ZipName):
            centre_counts[parsed.centre] += 1
    if not centre_counts:
        raise UsageError(
            f"{folder} has no zip whose name follows the convention", hint="windrow try ZIP --collection drops"
        )
    owner = centre_counts.most_common(1)[0][0]
    return Source(NAME, "drops", Site("file", base=str(base)), owner=owner, connections=4)
