"""Check whether archive, ledger and stores agree."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windrow.adapters.adapter import Adapter, Adopts, ChecksTree, harvested_collections
from windrow.app.store_marks import read_marks
from windrow.app.warc_files import has_warc_files
from windrow.config import Workspace
from windrow.config.workspace import LEFT_REPLAY, LEFT_REPLAY_HINT, left_replays
from windrow.contract import registry
from windrow.engine.check import Fault, check_archive, check_index, check_states, check_steps, check_values
from windrow.engine.older_ledger import find_ledger_problems
from windrow.engine.returned_records import find_returned
from windrow.errors import Locked, StoreError, UsageError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.lease import running_process


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
    problems = find_ledger_problems(ledger, workspace.archive.folder, read_marks(workspace, ledger))
    checkup.faults += [Fault("the ledger", problem.message, problem.hint) for problem in problems]
    for warc, spans in find_returned(ledger, workspace.archive.folder).items():
        problem = f"has {counted(len(spans), 'record')} again that were taken down"
        checkup.faults.append(Fault(warc, problem, "windrow run erases them"))
    checkup.faults += check_index(ledger, workspace.archive.folder)
    checkup.faults += check_states(ledger)
    harvested = harvested_collections(workspace, ledger)
    adapters = [registry.adapter(name) for name in registry.installed() if name in harvested]
    projection_faults = [
        Fault(takedown.target, "its takedown was interrupted", "windrow forget finishes it")
        for takedown in ledger.takedowns.open()
    ]
    projection_faults += [Fault(folder.name, LEFT_REPLAY, LEFT_REPLAY_HINT) for folder in left_replays(workspace)]
    projection_faults += [
        *check_steps(ledger),
        *(fault for adapter in adapters for fault in _check_stores(workspace, ledger, adapter)),
    ]
    if projection_faults and (process := running_process(ledger)):
        raise Locked(
            f"{process} is running in this workspace and changes the files to be checked",
            hint="wait until windrow status shows that it has ended, then: windrow check",
        )
    checkup.faults += projection_faults
    return checkup


def _check_stores(workspace: Workspace, ledger: Ledger, adapter: Adapter) -> Iterator[Fault]:
    """Yield the faults of a collection's stores; one that cannot be read is a fault."""
    try:
        yield from adapter.check(workspace, ledger)
    except StoreError as error:
        yield Fault("store", str(error), error.hint)


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
