"""A run: its phases and the order of its collections, its preview, its session, and its repetition on a schedule."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

from windrow.adapters.adapter import Adopts, ImportsWarc
from windrow.app.changes import MAX_SESSION_CHANGES, content_counts, session_changes
from windrow.app.summary import SessionSummary, summarise
from windrow.archive.warc_reader import WARC_SUFFIXES, detect_form
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.contract.registry import adapter, capable, collection, installed, phases
from windrow.contract.registry import names as collection_names
from windrow.engine.frontier import FetchBounds, Preview, Waiting, frontier_of
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest, WarcFile, close_all
from windrow.engine.runtime import signals_to
from windrow.engine.session import Session, SessionSettings
from windrow.errors import ArchiveError, ConfigError, Stopped, StoreUnreachable, UsageError, WindrowError
from windrow.formats.text import json_message
from windrow.ledger import Ledger
from windrow.model import Source


class PhaseSpan(NamedTuple):
    """The part of a run between two phases: whether it fetches, and the phases of its steps, None for all steps."""

    fetch: bool
    phases: frozenset[str] | None


def phase_span(collection: Collection, first: str = "", last: str = "") -> PhaseSpan:
    """Return the part of a run from phase `first` to phase `last`, both included; an empty name sets no bound.

    All phases before the collection's first step are fetching; if it has no steps, only its first phase is. Raises
    UsageError for an unknown phase, and if `first` comes after `last`.

    >>> from windrow.collections.drops.collection import COLLECTION
    >>> phase_span(COLLECTION, "xsd", "upload") == PhaseSpan(False, frozenset({"xsd", "upload"}))
    True
    >>> phase_span(COLLECTION, last="download")
    PhaseSpan(fetch=True, phases=frozenset())
    """
    for option, name in (("--from", first), ("--to", last)):
        if name and name not in collection.phases:
            raise UsageError(
                f"{option}: {collection.name} has no phase {name!r}; its phases are {', '.join(collection.phases)}"
            )
    first_number = collection.phase(first) if first else 1
    last_number = collection.phase(last) if last else len(collection.phases)
    if first_number > last_number:
        raise UsageError(f"--from {first} comes after --to {last}")
    step_phases = [step.phase for step in collection.steps]
    first_step = min((collection.phase(name) for name in step_phases), default=2)
    included = frozenset(name for name in step_phases if first_number <= collection.phase(name) <= last_number)
    return PhaseSpan(first_number < first_step, None if len(included) == len(step_phases) else included)


def order_collections(collections: Mapping[str, Collection], sources: Iterable[Source]) -> list[str]:
    """Return collection names in the order of a run: each after the collections whose captures its sources read."""
    inputs_by_name: dict[str, set[str]] = {name: set() for name in collections}
    for source in sources:
        if source.collection in collections:
            inputs_by_name[source.collection].update(
                name.partition(":")[0] for name in collections[source.collection].inputs(source).kept
            )
    order: list[str] = []
    while len(order) < len(inputs_by_name):
        remaining = [name for name in inputs_by_name if name not in order]
        ready = [name for name in remaining if not inputs_by_name[name] & {*remaining} - {name}]
        order += ready or remaining[:1]  # in a circle, any one may be first
    return order


def preview(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], span: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a run of these phases would request from these sources, and the documents that it would read."""
    if bounds.again:
        refuse_without_fetching([span])
    return frontier_of(ledger, collection).preview(sources if span.fetch else (), bounds, span.phases)


def preview_import(files: Sequence[WarcFile]) -> Preview:
    """Return the preview of an import: the files that it would read, each with its size."""
    return Preview(
        (), tuple(Waiting(file.name, file.source, str(file.path), file.path.stat().st_size) for file in files), ()
    )


def repeat(interval: float, run: Callable[[], int], report: Callable[[str], None]) -> Iterator[int]:
    """Call `run` once, or again and again every `interval` seconds unless that is 0; yield each exit code.

    If a run cannot start, because of a lock or a database that is down, `report` is called with a message and the next
    run starts when it is due. Usage and configuration errors are raised.
    """
    while True:
        began = time.monotonic()
        try:
            code = run()
        except WindrowError as error:
            if not interval or error.exit_code in {2, 4}:
                raise
            report(f"{error}; the next run is due in {interval:g} s")
            code = error.exit_code
        yield code
        if not interval or code == 130:
            return
        with signals_to(_end_wait):
            time.sleep(max(0.0, interval - (time.monotonic() - began)))


def _end_wait(_number: int, _frame: object) -> None:
    """End the wait for the next run at SIGINT and SIGTERM, even if the parent process ignores SIGINT."""
    raise KeyboardInterrupt


def refuse_without_fetching(spans: Iterable[PhaseSpan]) -> None:
    """Raise UsageError for `--again` if one of the collections would fetch nothing."""
    if not all(span.fetch for span in spans):
        raise UsageError("--again fetches again, but --from skips fetching", hint="windrow replay")


MAX_NOTIFY_SECONDS = 60.0
"""The longest time that the command of `run.notify` may take, in seconds."""


def notify(command: Sequence[str], report: Mapping[str, Any], folder: Path) -> str:
    """Run a command in a folder with `report` as JSON on its input; return an error message, empty if it succeeded.

    Its output is written to our standard error. Its failure does not change the session's exit code.

    >>> notify(["false"], {"session": 1}, Path("."))
    'the command of run.notify, false, ended with 1'
    """
    text = json.dumps(report) + "\n"
    name = Path(command[0]).name
    try:
        completed = subprocess.run(  # noqa: S603 it is the operator's own setting, and no shell reads it
            list(command),
            input=text.encode(),
            stdout=_standard_error(),
            cwd=folder,
            timeout=MAX_NOTIFY_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the command of run.notify, {name}, took more than {MAX_NOTIFY_SECONDS:g} seconds and was ended"
    except OSError as error:
        return f"the command of run.notify, {name}, cannot be started: {error.strerror}"
    return f"the command of run.notify, {name}, ended with {completed.returncode}" if completed.returncode else ""


def _standard_error() -> int:
    """Return the descriptor of our standard error, or the null device if it is not a real file."""
    try:
        return sys.stderr.fileno()
    except (OSError, AttributeError):
        return subprocess.DEVNULL


_MAX_LIST_SIZE = 1 << 26  # bytes
_NOT_IN_SOURCE_NAME = re.compile(r"[^\w-]+", re.ASCII)
_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def import_collection() -> str:
    """Return the name of the collection that imports WARC files, or an empty text if none is installed."""
    return next(iter(capable(ImportsWarc)), "")


def named_warc_files(workspace: Workspace, names: Sequence[str], source: str = "") -> tuple[WarcFile, ...]:
    """Return the WARC files with these names; none if all names are those of sources and collections.

    A folder stands for all files below it whose suffix is that of a WARC file; a file with another suffix is a list of
    paths relative to its own folder, one on each line. Each file is imported under the source `source`, or if that is
    empty, under a source named after the file.
    """
    harvestable_names = {*collection_names(), *(configured.name for configured in workspace.sources)}
    paths = [Path(name) for name in names if name not in harvestable_names]
    if not paths or not any(_is_importable(path) for path in paths):
        if source:
            fault = f"{paths[0]} does not exist" if paths else "no file is named"
            raise UsageError(f"--source is for importing WARC files, but {fault}", hint="windrow run --help")
        return ()
    collection = import_collection()
    harvested_names = [name for name in names if name in harvestable_names and name != collection]
    if harvested_names:
        raise UsageError(
            f"{harvested_names[0]} is harvested, and the files are imported: run one after the other",
            hint="windrow run --help",
        )
    other_sources = {configured.name for configured in workspace.sources if configured.collection != collection}
    if source and (not _SOURCE_NAME.fullmatch(source) or source in other_sources):
        raise UsageError(f"--source {source[:100]}: not a valid name, or the name of a source of another collection")
    given_paths = {path.resolve(): path for named_path in paths for path in _expand_path(named_path)}
    return tuple(
        WarcFile(given_path, _escape_path(resolved), source or _source_name(given_path, other_sources))
        for resolved, given_path in given_paths.items()
    )


def _is_importable(path: Path) -> bool:
    return path.name.endswith(WARC_SUFFIXES) or path.is_file() or any(_warc_files_below(path))


def _expand_path(path: Path) -> Iterator[Path]:
    """Yield the WARC files of a path: those below a folder, the file itself, or those in a list of files."""
    if path.is_dir():
        warc_files = sorted(_warc_files_below(path))
        if not warc_files:
            raise UsageError(f"{path} has no WARC file: no file below it ends in {' or '.join(WARC_SUFFIXES)}")
        yield from warc_files
    elif not path.is_file():
        raise UsageError(f"there is no file {path}")
    elif path.name.endswith(WARC_SUFFIXES) or _is_warc(path):
        yield path
    elif is_zipfile(path):
        raise UsageError(
            f"{path} is a zip file, such as a WACZ file: unpack it and import the WARC files",
            hint=f"python3 -m zipfile -e {shlex.quote(str(path))} unpacked; windrow run unpacked",
        )
    else:
        yield from _read_list(path)


def _warc_files_below(path: Path) -> Iterator[Path]:
    return (file for ending in WARC_SUFFIXES for file in path.rglob(f"*{ending}") if file.is_file())


def _is_warc(path: Path) -> bool:
    try:
        detect_form(path)
    except ArchiveError:
        return False
    return True


def _read_list(path: Path) -> Iterator[Path]:
    """Yield the files in a list of paths, one on each line; lines that begin with `#` are comments."""
    with path.open("rb") as file:
        content = file.read(_MAX_LIST_SIZE + 1)
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        lines = []
    listed_paths = [path.parent / line.strip() for line in lines if line.strip() and not line.startswith("#")]
    missing_path = next((listed_path for listed_path in listed_paths if not listed_path.is_file()), None)
    if not listed_paths or len(content) > _MAX_LIST_SIZE or missing_path:
        explanation = f": it names {str(missing_path)[:200]}, which does not exist" if missing_path else ""
        raise UsageError(f"{path} is neither a WARC file nor a list of them{explanation}")
    yield from listed_paths


def _escape_path(path: Path) -> str:
    """Return a path as the ledger spells it: bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _source_name(path: Path, other_sources: set[str]) -> str:
    """Return a name for the source of a WARC file that differs from the sources of other collections."""
    stem = path.name
    for ending in WARC_SUFFIXES:
        stem = stem.removesuffix(ending)
    name = _NOT_IN_SOURCE_NAME.sub("-", stem).strip("-_")[:64] or "warc"
    return f"warc-{name}"[:64] if name in other_sources or not _SOURCE_NAME.fullmatch(name) else name


class RunArguments(NamedTuple):
    """The arguments of a run; `windrow.Windrow.run` describes each."""

    names: Sequence[str] = ()
    first: str = ""
    last: str = ""
    limit: int | None = None
    since: datetime | None = None
    again: bool = False
    source: str = ""


def run(
    config: Workspace, settings: SessionSettings, arguments: RunArguments, command: str, progress: Progress | None
) -> SessionSummary:
    """Harvest the chosen sources in one session; pass its summary to the command of `run.notify`, and return it.

    `command` is the command line that the ledger records. An interrupt ends the session with exit code 130.
    """
    imports = _import_harvest(config, arguments)
    chosen = imports or choose_sources(config, arguments.names)
    unusable = _find_unusable(config, arguments.names)
    if unusable and not chosen:
        raise ConfigError(unusable[0], hint="install the package of the collection, or remove the source")
    spans = {name: phase_span(collection(name), arguments.first, arguments.last) for name in chosen}
    if arguments.again:
        refuse_without_fetching(spans.values())
    with Session(settings, command, progress) as session:
        code = None
        try:
            with session.polite_stop():
                if imports:
                    for name, harvest in imports.items():
                        _harvest(session, harvest, spans[name], arguments, fetch=False)
                else:
                    _harvest_all(config, session, spans, arguments)
        except (KeyboardInterrupt, Stopped):
            code = 130
        except BaseException as error:
            close_all(
                [partial(session.close, 1, error), partial(_summarise_and_notify, config, session, unusable)], error
            )
            raise
        session.close(code)
        return _summarise_and_notify(config, session, unusable)


def _harvest(
    session: Session, harvest: Harvest, span: PhaseSpan, arguments: RunArguments, *, fetch: bool = True
) -> None:
    """Run a harvest's phases of `span`; nothing is fetched if `fetch` is false."""
    if arguments.again:
        frontier_of(session.ledger, harvest.collection).fetch_again(session.number, harvest.sources)
    session.harvest(
        harvest, phases=span.phases, limit=arguments.limit, fetch=span.fetch and fetch, since=arguments.since
    )


def _harvest_all(config: Workspace, session: Session, spans: Mapping[str, PhaseSpan], arguments: RunArguments) -> None:
    """Harvest each chosen collection; one whose database cannot be reached does not prevent the others.

    Raises StoreUnreachable at the end if the database of every chosen collection cannot be reached.
    """
    unreachable: list[StoreUnreachable] = []
    for name, open_harvest in _harvests(config, arguments.names, spans):
        failed_before = session.failed
        try:
            _harvest(session, open_harvest(), spans[name], arguments)
        except StoreUnreachable as error:
            unreachable.append(error)
            if session.failed == failed_before:  # no task reports it yet
                session.add_failed_task(name, error)
    if unreachable and len(unreachable) == len(spans):
        raise unreachable[0]


def choose_sources(config: Workspace, names: Sequence[str] = ()) -> dict[str, frozenset[str]]:
    """Return the names of the chosen sources by collection; `names` are collections and sources, empty means all.

    Raises UsageError for an unknown name, and for a named source whose configured state forbids requests.
    """
    collections_by_source = {source.name: source.collection for source in config.sources}
    unknown = [name for name in names if name not in collections_by_source and name not in collection_names()]
    if unknown and Path(unknown[0]).is_dir():
        for adopter in capable(Adopts).values():
            raise UsageError(
                f"{unknown[0]!r} is a folder and not a source, but its documents can be adopted",
                hint=f"windrow run --from {adopter.ADOPTED_AT} {unknown[0]}",
            )
    if unknown:
        choices = sorted({*collections_by_source, *collection_names()})
        matches = get_close_matches(unknown[0], choices, 1)
        suggestion = f"did you mean {matches[0]}? " if matches else ""
        message = f"there is no source or collection {unknown[0]!r}; {suggestion}the names are: {', '.join(choices)}"
        raise UsageError(message, hint="windrow config")
    for source in config.sources:
        state = source.options.get("state", "available")
        if source.name in names and state in {"maintenance", "removed"}:
            raise UsageError(
                f"source {source.name} is not fetched, because its state is {state}",
                hint=f"set state in sources/{source.name}.toml to available",
            )
    chosen: dict[str, set[str]] = {}
    for source_name, collection_name in collections_by_source.items():
        if not names or source_name in names or collection_name in names:
            chosen.setdefault(collection_name, set()).add(source_name)
    return {name: frozenset(chosen[name]) for name in order_collections(installed(), config.sources) if name in chosen}


def adopt_folder(config: Workspace, names: Sequence[str], first_phase: str) -> tuple[Workspace, Sequence[str], str]:
    """Make a folder that is named in place of a source a source of this run, if a collection adopts its documents.

    Return the configuration, the names and the first phase of the run; they are unchanged if no folder is adopted.
    """
    declared_names = {*collection_names(), *(source.name for source in config.sources)}
    folders = [name for name in names if name not in declared_names and Path(name).is_dir()]
    adapters = capable(Adopts).values() if folders and first_phase else ()
    adopters = [adapter for adapter in adapters if first_phase == adapter.ADOPTED_AT]
    if not adopters:
        return config, names, first_phase
    if len(names) > 1:
        hint = f"windrow run --from {first_phase} {folders[0]}"
        raise UsageError("only one folder can be adopted in a run", hint=hint)
    source = adopters[0].adopt(config, Path(folders[0]))
    return replace(config, sources=(*config.sources, source)), (source.name,), ""


def _find_unusable(config: Workspace, names: Sequence[str]) -> tuple[str, ...]:
    """Return a message with the reason for each chosen source whose collection cannot be used."""
    chosen = (source for source in config.sources if not names or source.name in names or source.collection in names)
    return tuple(f"source {source.name}: {source.unusable}" for source in chosen if source.unusable)


def _harvests(
    config: Workspace, names: Sequence[str], spans: Mapping[str, PhaseSpan]
) -> Iterator[tuple[str, Callable[[], Harvest]]]:
    """Yield each chosen collection with a function that opens its stores, once all adapters are ready for requests."""
    chosen = choose_sources(config, names)
    for collection_name in chosen:
        if spans[collection_name].fetch:  # reading kept captures makes no requests
            adapter(collection_name).require_ready(config)
    for collection_name in chosen:
        yield collection_name, partial(_open_harvest, config, collection_name, chosen[collection_name])


def _open_harvest(config: Workspace, collection_name: str, source_names: AbstractSet[str]) -> Harvest:
    """Return the harvest of a collection's chosen sources, with its stores opened."""
    harvest: Harvest = adapter(collection_name).harvest(config)
    return replace(harvest, sources=tuple(source for source in harvest.sources if source.name in source_names))


def _import_harvest(config: Workspace, arguments: RunArguments) -> dict[str, Harvest]:
    """Return the harvest that imports the named WARC files, by its collection; none if no WARC file is named."""
    files = named_warc_files(config, arguments.names, arguments.source)
    if not files:
        return {}
    if arguments.again or arguments.limit or arguments.since:
        raise UsageError("--again, --limit and --since are for fetching; WARC files are imported whole, and only once")
    collection_name = import_collection()
    other_sources = tuple(source for source in config.sources if source.collection != collection_name)
    harvest = adapter(collection_name).harvest(replace(config, sources=other_sources))
    return {collection_name: replace(harvest, warc_files=files)}


def _summarise_and_notify(config: Workspace, session: Session, unusable: tuple[str, ...]) -> SessionSummary:
    """Return a session's summary with `unusable` among its errors, after passing it to the command of `run.notify`."""
    ledger, number = session.ledger, session.number
    counts = content_counts(config, ledger)
    summary = summarise(ledger, number, phases(), tuple(session.repaired), content_counts=counts)
    changes = session_changes(config, ledger, number)
    summary = replace(
        summary, changes=changes[:MAX_SESSION_CHANGES], changes_left_out=len(changes) > MAX_SESSION_CHANGES
    )
    if unusable:  # the others were harvested
        code = summary.exit_code or ConfigError.exit_code
        summary = replace(summary, exit_code=code, errors=(*summary.errors, *unusable))
    if config.run.notify:
        report = json_message("summary", summary) | {"workspace": config.name, "folder": str(config.root)}
        if error := notify(config.run.notify, report, config.root):
            summary = replace(summary, errors=(*summary.errors, error))
    return summary
