"""A run: its phases and the order of its collections, its preview, its session, and its repetition on a schedule."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

from windrow.adapters.adapter import Adopts, ImportsWarc
from windrow.app.changes import MOST, of_session, was_read
from windrow.app.summary import SessionSummary, summarise
from windrow.archive.warc_reader import ENDINGS, detect_form
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.contract.registry import adapter, capable, collection, installed, phases
from windrow.contract.registry import names as collection_names
from windrow.contract.registry import names as known_names
from windrow.engine.frontier import FetchBounds, Preview, Waiting, frontier_of
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest, WarcFile, close_all
from windrow.engine.runtime import signals_to
from windrow.engine.session import Session, SessionSettings
from windrow.errors import ArchiveError, ConfigError, Stopped, UsageError, WindrowError
from windrow.formats.text import message
from windrow.ledger import Ledger
from windrow.model import Source


class PhaseSpan(NamedTuple):
    """The part of a run between two phases: whether it fetches, and the phases of its steps; None means all."""

    fetch: bool
    phases: frozenset[str] | None


def span(collection: Collection, first: str = "", last: str = "") -> PhaseSpan:
    """Return the part of a run from phase `first` to phase `last`, both included; an empty name sets no bound.

    All phases before the collection's first step are fetching; without steps, the first phase is. Raises UsageError for
    an unknown phase, and if `first` comes after `last`.

    >>> from windrow.collections.drops.collection import COLLECTION
    >>> span(COLLECTION, "xsd", "upload") == PhaseSpan(False, frozenset({"xsd", "upload"}))
    True
    >>> span(COLLECTION, last="download")
    PhaseSpan(fetch=True, phases=frozenset())
    """
    for option, name in (("--from", first), ("--to", last)):
        if name and name not in collection.phases:
            raise UsageError(
                f"{option}: {collection.name} has no phase {name!r}; there are {', '.join(collection.phases)}"
            )
    first_number = collection.phase(first) if first else 1
    last_number = collection.phase(last) if last else len(collection.phases)
    if first_number > last_number:
        raise UsageError(f"--from {first} comes after --to {last}")
    steps = [step.phase for step in collection.steps]
    first_step = min((collection.phase(name) for name in steps), default=2)
    chosen = frozenset(name for name in steps if first_number <= collection.phase(name) <= last_number)
    return PhaseSpan(first_number < first_step, None if len(chosen) == len(steps) else chosen)


def in_order(collections: Mapping[str, Collection], sources: Iterable[Source]) -> list[str]:
    """Return collection names in the order of a run: each after those whose captures its sources read."""
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
        order += ready or remaining[:1]  # of a circle, any one goes first
    return order


def preview(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], part: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a run would request of these sources, and how much."""
    if bounds.again:
        refuse_without_fetching([part])
    return frontier_of(ledger, collection).preview(sources if part.fetch else (), bounds, part.phases)


def preview_import(files: Sequence[WarcFile]) -> Preview:
    """Return what an import of these files would read."""
    return Preview(
        (), tuple(Waiting(file.name, file.source, str(file.path), file.path.stat().st_size) for file in files), ()
    )


def repeat(every: float, run: Callable[[], int], tell: Callable[[str], None]) -> Iterator[int]:
    """Run once, or repeatedly with `every` seconds from start to start; yield each exit code.

    If a run cannot start (a lock, a database that is down), `tell` is given the error, and the next run is started when
    it is due; a usage or configuration error is raised.
    """
    while True:
        began = time.monotonic()
        try:
            code = run()
        except WindrowError as error:
            if not every or error.exit_code in {2, 4}:
                raise
            tell(f"{error}; the next run is due in {every:g} s")
            code = error.exit_code
        yield code
        if not every or code == 130:
            return
        with signals_to(_wake):
            time.sleep(max(0.0, every - (time.monotonic() - began)))


def _wake(_number: int, _frame: object) -> None:
    """End the wait at SIGINT and SIGTERM, also if our parent had SIGINT ignored."""
    raise KeyboardInterrupt


def refuse_without_fetching(parts: Iterable[PhaseSpan]) -> None:
    """Raise UsageError for `--again` if a part of the run fetches nothing."""
    if not all(part.fetch for part in parts):
        raise UsageError("--again fetches once more, but --from skips fetching", hint="windrow replay")


PATIENCE = 60.0
"""The longest that the command of `run.notify` may take, in seconds."""


def notify(command: Sequence[str], report: Mapping[str, Any], folder: Path) -> str:
    """Start `command` in `folder` with `report` as JSON on its input; return what went wrong, empty if nothing did.

    Its output goes to our standard error. Its failure does not change the session.

    >>> notify(["false"], {"session": 1}, Path("."))
    'the command of run.notify, false, ended with 1'
    """
    text = json.dumps(report) + "\n"
    name = Path(command[0]).name
    try:
        completed = subprocess.run(  # noqa: S603 it is the operator's own setting, and no shell reads it
            list(command), input=text.encode(), stdout=_standard_error(), cwd=folder, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the command of run.notify, {name}, took more than {PATIENCE:g} seconds and was ended"
    except OSError as error:
        return f"the command of run.notify, {name}, cannot be started: {error.strerror}"
    return f"the command of run.notify, {name}, ended with {completed.returncode}" if completed.returncode else ""


def _standard_error() -> int:
    """Return the descriptor of our standard error, or the null device if it is not a real file."""
    try:
        return sys.stderr.fileno()
    except (OSError, AttributeError):
        return subprocess.DEVNULL


_LIST = 1 << 26  # bytes
_NOT_NAME = re.compile(r"[^\w-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def importer() -> str:
    """Return the name of the collection that imports WARC files; empty if none is installed."""
    return next(iter(capable(ImportsWarc)), "")


def named_warc_files(workspace: Workspace, names: Sequence[str], source: str = "") -> tuple[WarcFile, ...]:
    """Return the WARC files that these names mean; empty if all names are of sources and collections.

    A folder means all WARC files below it, by their suffixes; any other file is a list of paths relative to its own
    folder, one a line. Each is imported as `source`, or as a source named like the file.
    """
    harvestable = {*collection_names(), *(configured.name for configured in workspace.sources)}
    paths = [Path(name) for name in names if name not in harvestable]
    if not paths or not any(_is_input(path) for path in paths):
        if source:
            fault = f"{paths[0]} is not there" if paths else "no file is named"
            raise UsageError(f"--source names the source of WARC files: {fault}", hint="windrow run --help")
        return ()
    collection = importer()
    harvested_names = [name for name in names if name in harvestable and name != collection]
    if harvested_names:
        raise UsageError(
            f"{harvested_names[0]} is harvested, and the files are imported: run them one at a time",
            hint="windrow run --help",
        )
    others = {configured.name for configured in workspace.sources if configured.collection != collection}
    if source and (not _NAME.fullmatch(source) or source in others):
        raise UsageError(f"--source {source[:100]}: not a valid name, or that of a source of another collection")
    files = {path.resolve(): path for named_path in paths for path in _expand_path(named_path)}
    return tuple(
        WarcFile(path, _escape_path(name), source or _source_name(path, others)) for name, path in files.items()
    )


def _is_input(path: Path) -> bool:
    return path.name.endswith(ENDINGS) or path.is_file() or any(_warc_files_below(path))


def _expand_path(path: Path) -> Iterator[Path]:
    if path.is_dir():
        warc_files = sorted(_warc_files_below(path))
        if not warc_files:
            raise UsageError(f"{path} has no WARC file: no name below it ends in {' or '.join(ENDINGS)}")
        yield from warc_files
    elif not path.is_file():
        raise UsageError(f"there is no file {path}")
    elif path.name.endswith(ENDINGS) or _is_warc(path):
        yield path
    elif is_zipfile(path):
        raise UsageError(
            f"{path} is a zip, as WACZ files are: unpack it and name the WARC files",
            hint=f"python3 -m zipfile -e {shlex.quote(str(path))} unpacked; windrow run unpacked",
        )
    else:
        yield from _read_list(path)


def _warc_files_below(path: Path) -> Iterator[Path]:
    return (file for ending in ENDINGS for file in path.rglob(f"*{ending}") if file.is_file())


def _is_warc(path: Path) -> bool:
    try:
        detect_form(path)
    except ArchiveError:
        return False
    return True


def _read_list(path: Path) -> Iterator[Path]:
    """Yield the files named in a list, one path a line; lines that begin with `#` are comments."""
    with path.open("rb") as file:
        raw = file.read(_LIST + 1)
    try:
        lines = raw.decode().splitlines()
    except UnicodeDecodeError:
        lines = []
    listed_paths = [path.parent / line.strip() for line in lines if line.strip() and not line.startswith("#")]
    missing_path = next((listed_path for listed_path in listed_paths if not listed_path.is_file()), None)
    if not listed_paths or len(raw) > _LIST or missing_path:
        explanation = f": it names {str(missing_path)[:200]}, which is not there" if missing_path else ""
        raise UsageError(f"{path} is neither a WARC file nor a list of them{explanation}")
    yield from listed_paths


def _escape_path(path: Path) -> str:
    """Return a path as the ledger spells it: bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _source_name(path: Path, others: set[str]) -> str:
    """Return a name for the source of a file, unlike those of other collections' sources."""
    stem = path.name
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    name = _NOT_NAME.sub("-", stem).strip("-_")[:64] or "warc"
    return f"warc-{name}"[:64] if name in others or not _NAME.fullmatch(name) else name


class RunArguments(NamedTuple):
    """The arguments of a run, as `windrow.Windrow.run` describes them."""

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
    """Harvest what was chosen in one session; hand its summary to `run.notify`, and return it."""
    imports = _import_harvest(config, arguments)
    chosen = imports or chosen_sources(config, arguments.names)
    unusable = _find_unusable(config, arguments.names)
    if unusable and not chosen:
        raise ConfigError(unusable[0], hint="install the package that has it, or remove the source")
    parts = {kind: span(collection(kind), arguments.first, arguments.last) for kind in chosen}
    if arguments.again:
        refuse_without_fetching(parts.values())
    with Session(settings, command, progress) as session:
        code = None
        try:
            with session.polite_stop():
                for harvest in imports.values() if imports else _harvests(config, arguments.names, parts):
                    part = parts[harvest.collection.name]
                    if arguments.again:
                        frontier_of(session.ledger, harvest.collection).fetch_again(session.number, harvest.sources)
                    fetch = part.fetch and not imports
                    session.harvest(
                        harvest, phases=part.phases, limit=arguments.limit, fetch=fetch, since=arguments.since
                    )
        except (KeyboardInterrupt, Stopped):
            code = 130
        except BaseException as error:
            close_all(
                [partial(session.close, 1, error), partial(_summarise_and_notify, config, session, unusable)], error
            )
            raise
        session.close(code)
        return _summarise_and_notify(config, session, unusable)


def chosen_sources(config: Workspace, names: Sequence[str] = ()) -> dict[str, frozenset[str]]:
    """Return the names of the sources chosen, by collection: all, or the collections and sources named.

    Raises UsageError for a name that is neither, and for a source whose state rules requests out.
    """
    sources = {source.name: source.collection for source in config.sources}
    unknown = [name for name in names if name not in sources and name not in known_names()]
    if unknown and Path(unknown[0]).is_dir():
        for adopter in capable(Adopts).values():
            raise UsageError(
                f"{unknown[0]!r} is a folder and not a source; its documents can be adopted",
                hint=f"windrow run --from {adopter.ADOPTED_AT} {unknown[0]}",
            )
    if unknown:
        choices = sorted({*sources, *known_names()})
        matches = get_close_matches(unknown[0], choices, 1)
        suggestion = f"did you mean {matches[0]}? " if matches else ""
        raise UsageError(
            f"there is no source or collection {unknown[0]!r}; {suggestion}there are: {', '.join(choices) or 'none'}",
            hint="windrow config",
        )
    for source in config.sources:
        state = source.options.get("state", "available")
        if source.name in names and state in {"maintenance", "removed"}:
            raise UsageError(
                f"source {source.name} is not fetched: its state is {state}",
                hint=f"set state in sources/{source.name}.toml to available",
            )
    chosen: dict[str, set[str]] = {}
    for name, kind in sources.items():
        if not names or name in names or kind in names:
            chosen.setdefault(kind, set()).add(name)
    order = in_order(installed(), config.sources)
    return {kind: frozenset(chosen[kind]) for kind in order if kind in chosen}


def adopted(config: Workspace, names: Sequence[str], first: str) -> tuple[Workspace, Sequence[str], str]:
    """Add a folder of documents named in place of a source as a source of this run.

    Return the configuration, names and first phase of the run: those given, if no folder is named.
    """
    declared_names = {*known_names(), *(source.name for source in config.sources)}
    folders = [name for name in names if name not in declared_names and Path(name).is_dir()]
    adopters = (
        [adapter for adapter in capable(Adopts).values() if first == adapter.ADOPTED_AT] if folders and first else []
    )
    if not adopters:
        return config, names, first
    if len(names) > 1:
        raise UsageError("one folder at a time can be adopted", hint=f"windrow run --from {first} {folders[0]}")
    source = adopters[0].adopt(config, Path(folders[0]))
    return replace(config, sources=(*config.sources, source)), (source.name,), ""


def _find_unusable(config: Workspace, names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each chosen source whose collection cannot be used, with the reason."""
    chosen = (source for source in config.sources if not names or source.name in names or source.collection in names)
    return tuple(f"source {source.name}: {source.unusable}" for source in chosen if source.unusable)


def _harvests(config: Workspace, names: Sequence[str], parts: Mapping[str, PhaseSpan]) -> Iterator[Harvest]:
    """Yield the harvest of each collection chosen, in the order of the run.

    Each adapter checks first that requests can be made; a collection opens its stores when its turn comes.
    """
    chosen = chosen_sources(config, names)
    for kind in chosen:
        if parts[kind].fetch:  # reading kept captures makes no requests
            adapter(kind).require_ready(config)
    for kind, sources in chosen.items():
        harvest = adapter(kind).harvest(config)
        yield replace(harvest, sources=tuple(source for source in harvest.sources if source.name in sources))


def _import_harvest(config: Workspace, arguments: RunArguments) -> dict[str, Harvest]:
    """Return the harvest that imports the WARC files named, by collection; empty if no file is named."""
    files = named_warc_files(config, arguments.names, arguments.source)
    if not files:
        return {}
    if arguments.again or arguments.limit or arguments.since:
        raise UsageError("--again, --limit and --since are for fetching; files are imported whole, and once")
    kind = importer()
    others = tuple(source for source in config.sources if source.collection != kind)
    harvest = adapter(kind).harvest(replace(config, sources=others))
    return {kind: replace(harvest, warc_files=files)}


def _summarise_and_notify(config: Workspace, session: Session, unusable: tuple[str, ...]) -> SessionSummary:
    """Return a session's summary, after handing it to the command of `run.notify`."""
    ledger, number = session.ledger, session.number
    content_counts = was_read(config, ledger)
    summary = summarise(ledger, number, phases(), tuple(session.repaired), was_read=content_counts)
    changes = of_session(config, ledger, number)
    summary = replace(summary, changes=changes[:MOST], changes_left_out=len(changes) > MOST)
    if unusable:  # the others were harvested
        code = summary.exit_code or ConfigError.exit_code
        summary = replace(summary, exit_code=code, errors=(*summary.errors, *unusable))
    if config.run.notify:
        report = message("summary", summary) | {"workspace": config.name, "folder": str(config.root)}
        if error := notify(config.run.notify, report, config.root):
            summary = replace(summary, errors=(*summary.errors, error))
    return summary
