"""A run: its phases, the order of its collections, its preview, its session, and its repetition at an interval."""

from __future__ import annotations

import json
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
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from windrow.adapters.adapter import Adopts
from windrow.app.changes import MAX_SESSION_CHANGES, content_counts, count_skipped, session_changes
from windrow.app.status import count_open, count_unlisted, damaged_captures
from windrow.app.summary import SessionSummary, summarise, unfinished_takedowns
from windrow.app.warc_files import import_collection, named_warc_files, unpack_files
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.contract.registry import adapter, capable, collection, installed, phases
from windrow.contract.registry import names as collection_names
from windrow.digest import hash64
from windrow.engine.frontier import FetchBounds, Preview, frontier_of
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest, SessionSettings, close_all
from windrow.engine.runtime import signals_to
from windrow.engine.session import Session
from windrow.engine.steps.unread import count_unread
from windrow.errors import ConfigError, Stopped, StoreError, UsageError, WindrowError
from windrow.formats.text import json_message
from windrow.formats.url import describe_bad_address, has_web_scheme, normalise, normalise_typed, parts
from windrow.ledger import Ledger
from windrow.model import Source
from windrow.private_files import published_files


class PhaseSpan(NamedTuple):
    """The part of a run between two phases: whether it fetches, and the phases of its steps (None means all)."""

    fetch: bool
    phases: frozenset[str] | None


def phase_span(collection: Collection, first: str = "", last: str = "") -> PhaseSpan:
    """Return the part of a run from phase `first` to phase `last`, both included; an empty name sets no bound.

    All phases before the collection's first step fetch; if it has no steps, only its first phase does. Raise UsageError
    for an unknown phase, and if `first` comes after `last`.

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
    """Return the names of collections in the order of a run: a collection runs after those whose captures it reads."""
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
        order += ready or remaining[:1]  # if they read each other's captures, any of them can be first
    return order


def preview(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], span: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a run of the phases `span` would request from these sources, and which documents it would read."""
    if bounds.again:
        refuse_without_fetching([span])
    return frontier_of(ledger, collection).preview(sources if span.fetch else (), bounds, span.phases)


def repeat(interval: float, run: Callable[[], int], report: Callable[[str], None]) -> Iterator[int]:
    """Call `run` every `interval` seconds, or once if `interval` is 0, and yield each exit code.

    Code 130, with which a stopped run ends, is the last. If `run` raises a WindrowError, such as Locked, `report` is
    called with a message, and the next run starts when it is due. Usage and configuration errors, other errors, and any
    error of a single run are raised.
    """
    while True:
        began = time.monotonic()
        try:
            code = run()
        except WindrowError as error:
            if not interval or error.exit_code in {UsageError.exit_code, ConfigError.exit_code}:
                raise
            report(f"{error}; the next run starts {interval:g} s after the start of this one")
            code = error.exit_code
        yield code
        if not interval or code == 130:
            return
        with signals_to(_end_wait):
            time.sleep(max(0.0, interval - (time.monotonic() - began)))


def _end_wait(_number: int, _frame: object) -> None:
    """End the wait for the next run at SIGINT or SIGTERM, even if the parent process ignores SIGINT."""
    raise KeyboardInterrupt


def refuse_without_fetching(spans: Iterable[PhaseSpan]) -> None:
    """Raise UsageError for `--again` if a span does not fetch."""
    if not all(span.fetch for span in spans):
        raise UsageError("--again fetches again, but --from skips fetching", hint="windrow replay")


MAX_NOTIFY_SECONDS = 60.0
"""The maximum time that the command of `run.notify` may take, in seconds."""


def notify(command: Sequence[str], report: Mapping[str, Any], folder: Path) -> str:
    """Run a command in a folder with `report` as JSON on its standard input; return an error message, or "".

    The command's output is written to windrow's standard error.

    >>> notify(["false"], {"session": 1}, Path("."))
    'the command of run.notify, false, ended with code 1'
    """
    text = json.dumps(report) + "\n"
    name = Path(command[0]).name
    try:
        with published_files():
            completed = subprocess.run(  # noqa: S603 it is the operator's own setting, and no shell reads it
                command, input=text.encode(), stdout=_standard_error(), cwd=folder, timeout=MAX_NOTIFY_SECONDS,
                check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"the command of run.notify, {name}, took more than {MAX_NOTIFY_SECONDS:g} seconds and was ended"
    except OSError as error:
        return f"the command of run.notify, {name}, cannot be started: {error.strerror}"
    if completed.returncode < 0:
        return f"the command of run.notify, {name}, was ended by signal {-completed.returncode}"
    return f"the command of run.notify, {name}, ended with code {completed.returncode}" if completed.returncode else ""


def _standard_error() -> int:
    try:
        return sys.stderr.fileno()
    except (OSError, AttributeError):
        return subprocess.DEVNULL


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
    """Harvest sources or import WARC files in one session; return its summary.

    The command of `run.notify` is given the summary, too. `command` is the command line that the ledger records. An
    interrupt ends the session with exit code 130.
    """
    with TemporaryDirectory(prefix="windrow-wacz-") as folder:
        imports = _import_harvest(config, arguments, Path(folder))
        return _run_session(config, arguments, imports, lambda: Session(settings, command, progress))


def _run_session(
    config: Workspace, arguments: RunArguments, imports: Mapping[str, Harvest], open_session: Callable[[], Session]
) -> SessionSummary:
    """Harvest the chosen sources in a session, or import WARC files if `imports` (by collection) is not empty."""
    chosen = imports or choose_sources(config, arguments.names)
    unusable = _find_unusable(config, arguments.names)
    if unusable and not chosen:
        raise ConfigError(unusable[0], hint="correct the source, or install the package of its collection")
    spans = {name: phase_span(collection(name), arguments.first, arguments.last) for name in chosen}
    if arguments.again:
        refuse_without_fetching(spans.values())
    with open_session() as session:
        session.failed += len(session.losses)
        code = None
        try:
            with session.polite_stop():
                if imports:
                    for name, harvest in imports.items():
                        _harvest(session, harvest, spans[name]._replace(fetch=False), arguments)
                else:
                    _harvest_all(config, session, spans, arguments)
        except (KeyboardInterrupt, Stopped):
            code = 130
        except BaseException as error:
            close_all(
                [partial(session.close, 1, error), partial(_summarise_and_notify, config, session, unusable)], error
            )
            raise
        if unusable and code is None and not session.failed and not session.stops:
            code = ConfigError.exit_code
        session.close(code)
        return _summarise_and_notify(config, session, unusable)


def _harvest(session: Session, harvest: Harvest, span: PhaseSpan, arguments: RunArguments) -> None:
    if arguments.again:
        harvest = replace(harvest, again=True)
    session.run_harvest(harvest, phases=span.phases, limit=arguments.limit, fetch=span.fetch, since=arguments.since)


def _harvest_all(config: Workspace, session: Session, spans: Mapping[str, PhaseSpan], arguments: RunArguments) -> None:
    """Harvest each chosen collection; if a store of a collection fails, for example damaged, go on with the next one.

    Raise the first StoreError at the end if the stores of all chosen collections failed.
    """
    errors: list[StoreError] = []
    for name, open_harvest in _harvests(config, session, arguments.names, spans):
        failed_before = session.failed
        try:
            _harvest(session, open_harvest(), spans[name], arguments)
        except Stopped:
            raise
        except WindrowError as error:
            if session.failed == failed_before:  # no task reports it yet
                session.add_failed_task(name, error)
            if not isinstance(error, StoreError):
                raise
            errors.append(error)
    if errors and len(errors) == len(spans):
        raise errors[0]


def choose_sources(config: Workspace, names: Sequence[str] = ()) -> dict[str, frozenset[str]]:
    """Return the names of the chosen sources by collection, in the order of a run; without `names`, all are chosen.

    `names` are those of sources and collections. Sources of collections that are not installed are left out. Raise
    UsageError for an unknown name, and for a named source whose configured state forbids requests.
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
        names_text = " or ".join(map(repr, unknown))
        message = f"there is no source or collection {names_text}; {suggestion}the names are: {', '.join(choices)}"
        raise UsageError(message, hint="windrow config")
    for source in config.sources:
        state = source.options.get("state", "available")
        if source.name in names and state in {"maintenance", "removed"}:
            raise UsageError(
                f"source {source.name} is not fetched, because its state is {state}",
                hint=f"set source.{source.name}.state to available in the configuration",
            )
    chosen: dict[str, set[str]] = {}
    for source_name, collection_name in collections_by_source.items():
        if not names or source_name in names or collection_name in names:
            chosen.setdefault(collection_name, set()).add(source_name)
    return {name: frozenset(chosen[name]) for name in order_collections(installed(), config.sources) if name in chosen}


def adopt_folder(config: Workspace, names: Sequence[str], first_phase: str) -> tuple[Workspace, Sequence[str], str]:
    """If a name is a folder that a collection adopts in a run from `first_phase` on, add the folder as a source.

    Return the configuration, names and first phase to use; they are unchanged if no folder is adopted. Raise UsageError
    if a folder is adopted and there are other names.
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


def refuse_other_lines(lines: Mapping[int, str]) -> None:
    """If a line begins like a web address, raise UsageError for lines that are not valid web addresses; list these.

    >>> refuse_other_lines({1: "https://example.org/", 3: "example.org/a"})
    Traceback (most recent call last):
    ...
    windrow.errors.UsageError: of the lines on standard input, these are not web addresses: line 3 ('example.org/a')
    """
    if any(map(has_web_scheme, lines.values())):
        bad_lines = {number: line for number, line in lines.items() if not normalise_typed(line)}
        if bad_lines:
            listed = ", ".join(f"line {number} ({line[:200]!r})" for number, line in bad_lines.items())
            problem = f"of the lines on standard input, these are not web addresses: {listed}"
            raise UsageError(problem, hint="correct or remove them; run sources and files in another command")


def source_of_addresses(addresses: Sequence[str], sources: Iterable[Source] = ()) -> dict[str, dict[str, Any]]:
    """Return a new source that requests only these addresses, as {name: TOML table}.

    It may request the private hosts of those of `sources` that have a seed at a host of an address. Raise UsageError
    for an address that is not valid.

    >>> source_of_addresses(["https://example.org/a?b=1"])
    {'once-86cd4a639f3ed4a7': {'collection': 'pages', 'seeds': ['https://example.org/a?b=1'], 'paths': ['/a?b=1$']}}
    """
    paths, hosts = [], set()
    for address in addresses:
        url = normalise(address).url
        if not url:
            raise UsageError(describe_bad_address(address), hint="windrow run --help")
        split = parts(url)
        path = f"{split.path or '/'}?{split.query}" if split.query is not None else split.path or "/"
        paths.append(path.replace("*", "%2A").replace("$", "%24") + "$")
        hosts.add(split.host)
    private_hosts: list[str] = []
    for source in sources:
        if any(parts(normalise(seed).url).host in hosts for seed in source.options.get("seeds") or ()):
            private_hosts += (*source.site.allowed.hosts, *map(str, source.site.allowed.networks))
    name = f"once-{hash64(' '.join(sorted(addresses))) % 2**64:016x}"
    table = {"collection": import_collection(), "seeds": [*addresses], "paths": paths}
    return {name: table | ({"private_hosts": [*dict.fromkeys(private_hosts)]} if private_hosts else {})}


def _find_unusable(config: Workspace, names: Sequence[str]) -> tuple[str, ...]:
    """Return a message, with the reason, for each chosen source that cannot be used.

    A source whose collection is not known, because its file is not TOML, is chosen if any collection is named.
    """
    chosen_names = {*names, ""} if any(name in collection_names() for name in names) else {*names}
    chosen = (source for source in config.sources if not names or {source.name, source.collection} & chosen_names)
    return tuple(f"source {source.name}: {source.unusable}" for source in chosen if source.unusable)


def _harvests(
    config: Workspace, session: Session, names: Sequence[str], spans: Mapping[str, PhaseSpan]
) -> Iterator[tuple[str, Callable[[], Harvest]]]:
    """Yield the name of each chosen collection, and a function that opens its stores and returns its harvest.

    Raise ConfigError before the first one is yielded if a collection that fetches is not ready; a failed task of the
    session reports it.
    """
    chosen = choose_sources(config, names)
    for collection_name in chosen:
        if spans[collection_name].fetch:  # reading kept captures makes no requests
            try:
                adapter(collection_name).require_ready(config)
            except WindrowError as error:
                session.add_failed_task(collection_name, error)
                raise
    sources = [source for source in config.sources if source.name in chosen.get(source.collection, ())]
    pipe_readers = _find_pipe_readers(source for source in sources if spans[source.collection].fetch)
    for collection_name in chosen:
        yield collection_name, partial(_open_harvest, config, collection_name, chosen[collection_name], pipe_readers)


def _find_pipe_readers(sources: Iterable[Source]) -> dict[Path, list[str]]:
    """Return the names of the active sources that read each pipe, by its real path: it may have several spellings."""
    readers: dict[Path, list[str]] = {}
    for source in sources:
        pipes = {path.resolve() for path in collection(source.collection).inputs(source).cdx if path.is_fifo()}
        for pipe in pipes if source.active else ():
            readers.setdefault(pipe, []).append(source.name)
    return readers


def _open_harvest(
    config: Workspace, collection_name: str, source_names: AbstractSet[str], pipe_readers: Mapping[Path, Sequence[str]]
) -> Harvest:
    harvest: Harvest = adapter(collection_name).harvest(config)
    sources = tuple(source for source in harvest.sources if source.name in source_names)
    return replace(harvest, sources=sources, pipe_readers=pipe_readers)


def _import_harvest(config: Workspace, arguments: RunArguments, folder: Path) -> dict[str, Harvest]:
    """Return {collection: harvest} for the import of the named WARC files, or {} if no WARC file is named.

    The WARC files in WACZ files are unpacked into `folder`. Raise UsageError for arguments that are only for fetching.
    """
    files = named_warc_files(config, arguments.names, arguments.source)
    if not files:
        return {}
    if arguments.again or arguments.limit or arguments.since:
        raise UsageError("--again, --limit and --since are for fetching; WARC files are imported whole, and only once")
    files = unpack_files(files, folder, config.limits)
    collection_name = import_collection()
    other_sources = tuple(source for source in config.sources if source.collection != collection_name)
    harvest = adapter(collection_name).harvest(replace(config, sources=other_sources))
    return {collection_name: replace(harvest, warc_files=files)}


def _summarise_and_notify(config: Workspace, session: Session, unusable: tuple[str, ...]) -> SessionSummary:
    """Return a session's summary, with `unusable` among its errors, and pass it to the command of `run.notify`."""
    ledger, number = session.ledger, session.number
    unreadable: dict[str, str] = {}
    counts = content_counts(config, ledger, unreadable)
    changes = session_changes(config, ledger, number, unreadable)
    skipped = count_skipped(config, ledger, None, unreadable)
    all_unlisted = count_unlisted(config, ledger, unreadable)
    summary = summarise(ledger, number, phases(), tuple(session.repaired), content_counts=counts)
    summary = replace(
        summary, changes=changes[:MAX_SESSION_CHANGES], changes_left_out=len(changes) > MAX_SESSION_CHANGES
    )
    differing = len(ledger.items.differing())
    unread = [count for collection in installed().values() for count in count_unread(ledger, collection)]
    still_open = count_open(config, ledger, unread, skipped, damaged_captures(config, ledger))
    harvested = {source.source for source in summary.sources}
    unlisted = (count for count in all_unlisted if count.source in harvested)
    left_out = (*summary.left_out, *unlisted)
    problems = (*session.losses, *unfinished_takedowns(ledger), *summary.problems)
    summary = replace(summary, problems=problems, still_open=still_open, differing=differing, left_out=left_out)
    if unusable:  # the other sources were harvested
        code = summary.exit_code or ConfigError.exit_code
        summary = replace(summary, exit_code=code, errors=(*summary.errors, *unusable))
    if config.run.notify:
        report = json_message("summary", summary) | {"workspace": config.name, "folder": str(config.root)}
        if error := notify(config.run.notify, report, config.root):
            summary = replace(summary, errors=(*summary.errors, error))
    return summary
