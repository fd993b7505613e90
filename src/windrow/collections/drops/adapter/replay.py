"""Rebuild the store of drops from the captures of a workspace, and adopt zips that are in a folder on disk."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from windrow.adapters.adapter import ReplayResult
from windrow.collections.drops.adapter.current_states import all_states
from windrow.collections.drops.adapter.harvest import (
    DropsStore,
    open_harvest,
    open_store,
    read_declarations,
)
from windrow.collections.drops.collection import COLLECTION, FOLDERS
from windrow.collections.drops.database.table_store import REPLAY_MARK
from windrow.collections.drops.name import ZipName, read_zip_name
from windrow.collections.drops.settings import Drops
from windrow.config import Workspace
from windrow.config.workspace import REPLAY_FOLDER, SCRATCH
from windrow.digest import digest, shorten_digest
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.older_ledger import claim_store
from windrow.engine.progress import Progress
from windrow.engine.replay import (
    RenumberingStore,
    ReplayChange,
    Replayed,
    rebuild,
    refuse_lost,
    write_differences,
)
from windrow.engine.replay import replay as read_again
from windrow.engine.run import HarvestRun, SessionSettings, closing_all
from windrow.engine.session import Session
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.sandbox import linked_files
from windrow.engine.steps.worker import WorkerConfig
from windrow.errors import UsageError
from windrow.model import Site, Source
from windrow.settings.configuration import DatabaseAddress
from windrow.settings.kinds import file_of, sqlite_url


def replay(workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
    """Rebuild the store of drops from the captures; the new store replaces the old one when all captures are read.

    A store on a server is built in the database that the configuration names; UsageError is raised if this database
    already has documents. Returns None if the workspace has neither a source of drops nor a store in a file.
    """
    store_url = workspace.section(Drops).store.url
    store_file = file_of(store_url) or Path(store_url)  # on a server there is no file of this name
    if not workspace.of(COLLECTION.name) and not store_file.is_file():
        return None
    _refuse_filled_server(workspace)
    scratch_ledger_file, new_store_file = (workspace.root / REPLAY_FOLDER / name for name in SCRATCH)
    rebuild_workspace = workspace
    if _has_file_store(workspace):
        rebuild_workspace = workspace.with_section(
            "drops", replace(workspace.section(Drops), store=DatabaseAddress(sqlite_url(new_store_file)))
        )
    changes: list[ReplayChange] = []
    with ExitStack() as stack:
        session = stack.enter_context(Session(setup, "replay", progress))

        def rebuild_store() -> Replayed:
            rebuilt = open_harvest(rebuild_workspace, is_replay=True)
            assert isinstance(rebuilt.store, DropsStore)
            assert rebuilt.projection is not None
            claim_store(rebuilt.store, session.ledger)
            session.add_projection(rebuilt.projection)
            rebuilt.store.tables.set_mark(REPLAY_MARK, session.number)
            ledger = stack.enter_context(closing(session.ledger.copy_unread(scratch_ledger_file)))
            links = tuple(linked_files([setup.archive]))
            config = WorkerConfig(
                rebuilt.collection, setup.archive, setup.limits, rebuilt.resources, links, setup.sandbox,
                setup.secret_variables,
            )  # fmt: skip
            pool = Pool(config, setup.workers)
            first_step = rebuilt.collection.step_after(rebuilt.collection.members.kind)
            renumbering_store = RenumberingStore(rebuilt.store, session.ledger, ledger, session.number, first_step)
            run = HarvestRun(
                replace(rebuilt, store=renumbering_store, projection=None), setup, ledger, session.lease,
                FetcherPool(setup.for_fetchers(session.number), 0), pool, session.number, progress,
                lambda: session.stops,
            )  # fmt: skip
            with closing_all(pool.close, rebuilt.store.tables.close):
                read_again(run)
            return Replayed(session.number, rebuilt.collection, ledger, session.ledger, all_states)

        def record_differences(replayed: Replayed) -> None:
            changes.extend(write_differences(replayed))
            with closing(open_store(workspace)) as tables:
                tables.set_mark(REPLAY_MARK, None)

        rebuild(
            session, store_file, new_store_file, rebuild_store, lambda replayed: refuse_lost(replayed, store_file),
            scratch=SCRATCH[:1], record=record_differences,
        )  # fmt: skip
    return ReplayResult(session.ordinal, tuple(changes))


def _has_file_store(workspace: Workspace) -> bool:
    return file_of(workspace.section(Drops).store.url) is not None


def _refuse_filled_server(workspace: Workspace) -> None:
    """Raise UsageError if the store is on a server and has documents."""
    if _has_file_store(workspace):
        return
    with closing(open_store(workspace)) as store:
        if store.census():
            raise UsageError(
                "the store is on a server and has records: replay does not replace it",
                hint="create an empty database, name it in drops.store, then: windrow replay",
            )


ADOPTED_SOURCE_PREFIX = "adopted-"
"""The beginning of the name of the source for a folder; a digest of its path follows, since two may be adopted."""

ADOPTED_AT = "unzip"
ADOPTS = f"a folder of zips that you already have, with {', '.join(FOLDERS[:-1])} or {FOLDERS[-1]} in it"


def adopt(workspace: Workspace, folder: Path) -> Source:
    """Return a source for zips on disk; `folder` is named `add`, `edit` or `delete`, or contains such folders.

    If `folder` has one of these names, the folders beside it with the other two names also belong to the source. A run
    copies the zips into the archive and treats them like fetched ones; the folders are only read. The source belongs to
    the centre that made most of the zips. Raises UsageError if none of the three folders exists, or no zip in them has
    a valid name with a declared centre.
    """
    base_folder = folder.resolve()
    if base_folder.name in FOLDERS:
        base_folder = base_folder.parent
    action_folders = [base_folder / name for name in FOLDERS if (base_folder / name).is_dir()]
    if not action_folders:
        raise UsageError(
            f"{folder} has none of the folders {', '.join(FOLDERS)}, so the action for its zips is unknown",
            hint=f"mkdir {folder}/add && mv {folder}/*.zip {folder}/add/",
        )
    declarations = read_declarations(workspace, workspace.sources)
    centre_counts: Counter[str] = Counter()
    for path in (path for action_folder in action_folders for path in action_folder.glob("*.zip")):
        name_parts = read_zip_name(path.name, declarations.names, declarations.zip_name)
        if isinstance(name_parts, ZipName):
            centre_counts[name_parts.centre] += 1
    if not centre_counts:
        raise UsageError(
            f"{folder} has no zip with a valid name and a declared centre", hint="windrow try ZIP --collection drops"
        )
    main_centre = centre_counts.most_common(1)[0][0]
    name = ADOPTED_SOURCE_PREFIX + shorten_digest(digest(bytes(base_folder)))
    return Source(name, "drops", Site("file", base=str(base_folder)), owner=main_centre, connections=4)
