"""`windrow run` harvests; `windrow replay` reads the kept captures again."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.command import Console, command, option
from windrow.cli.options import (
    Day,
    DeclaredOptions,
    Duration,
    complete_collections,
    complete_names,
    complete_phases,
    complete_sources,
)
from windrow.errors import StoreError, UsageError
from windrow.formats.text import (
    counted,
    join_with_blank_lines,
    replace_lone_surrogates,
    spell_duration,
    spell_size,
    table,
)

if TYPE_CHECKING:
    from windrow.adapters.adapter import ReplayResult
    from windrow.app.summary import SessionSummary
    from windrow.config import Workspace
    from windrow.engine.frontier import PlannedSource, Preview
    from windrow.model import State
    from windrow.settings.setting import Setting

SELECTION, HOW, PACE = "What to harvest", "How", "Pace"
"""The sections of the help for the options of `run`."""

_ARGUMENTS_BY_OPTION = {"source": "source", "from": "first", "to": "last", "limit": "limit", "since": "since"}
"""A dict from options of `run` to the arguments that they set, in the order in which the ledger records them."""


def _command_line(arguments: Mapping[str, Any]) -> str:
    words = ["run", *arguments["names"]]
    words += [f"--{option} {arguments[name]}" for option, name in _ARGUMENTS_BY_OPTION.items() if arguments[name]]
    words += ["--again"] if arguments["again"] else []
    return replace_lone_surrogates(" ".join(words), "backslashreplace")  # a file name need not be valid UTF-8


class RunCommand(DeclaredOptions):
    """The command `run`, with an option for each collection setting that has a flag."""

    section = PACE

    def declared(self) -> Iterable[Setting]:
        """Return the settings of all collections."""
        from windrow.contract.registry import installed  # noqa: PLC0415

        return (setting for collection in installed().values() for setting in collection.configuration.settings)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, then a paragraph for each collection that can adopt folders."""
        super().format_help_text(ctx, formatter)
        from windrow.adapters.adapter import Adopts  # noqa: PLC0415
        from windrow.contract.registry import capable  # noqa: PLC0415

        for adapter in capable(Adopts).values():
            text = f"NAME may be {adapter.ADOPTS}: they are adopted, as if just fetched."
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"With --from {adapter.ADOPTED_AT}, {text}")


@command(
    "run",
    shape=RunCommand,
    examples=["windrow run", "windrow run blog --limit 10 --dry-run", "windrow run --every 6h"],
    declared=True,
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@option("--source", metavar="NAME", default="", shell_complete=complete_sources, section=SELECTION,
        help="The source under which WARC files are recorded.")  # fmt: skip
@option("--limit", type=click.IntRange(1), metavar="N", section=SELECTION, help="Fetch at most N items.")
@option(
    "--since",
    type=Day(),
    metavar="DATE",
    section=SELECTION,
    help="Leave out items that are older than DATE (UTC) at their source.",
)
@option("--from", "first", metavar="PHASE", default="", shell_complete=complete_phases, section=SELECTION,
        help="Begin at this phase; nothing is fetched if it comes after the phases that fetch.")  # fmt: skip
@option(
    "--to", "last", metavar="PHASE", default="", shell_complete=complete_phases, section=SELECTION,
    help="End with this phase."
)  # fmt: skip
@option(
    "--again",
    is_flag=True,
    section=SELECTION,
    help="Fetch and read finished items again, but not what is fetched only once, such as an article.",
)
@option("--dry-run", is_flag=True, section=HOW, help="Only list the items that would be fetched, without a connection.")
@option("--every", type=Duration(), metavar="TIME", section=HOW, help="Run again after this time (6h), until stopped.")
@option("--quiet", is_flag=True, section=HOW, help="Print only errors, no progress and no summary.")
def run_command(console: Console, *, dry_run: bool, quiet: bool, every: str | None, **arguments: Any) -> int:
    """Harvest all sources, or the named collections and sources.

    NAME may also be WARC files of other programs, folders of them, indexes (CDX, CDXJ) that name them, or lists
    with one file on each line. They are imported into the archive and summarised like crawled pages, and nothing
    is fetched; --source names their source, which is otherwise named after the file.

    NAME may also be addresses of pages (https://...): each is requested now, and pages that it links to are not
    requested. With - as a NAME, names are read from standard input, one on each line.

    Running again resumes: finished items are not processed again. The first Ctrl-C finishes the items in progress, the
    second stops at once; the next run continues from there. The summary is printed to standard error.
    """
    console.quiet = quiet
    arguments["names"] = tuple(name for word in arguments["names"] for name in _expand_name(word))
    flags = {name.replace("__", "."): arguments.pop(name) for name in list(arguments) if "__" in name}
    flags["run.every"] = every
    if dry_run:
        return _print_previews(console, console.open(flags, arguments["names"]).preview(**arguments))
    from windrow.app.run import repeat  # noqa: PLC0415

    seconds = console.open(flags, arguments["names"]).config.run.every
    code = 0
    for code in repeat(seconds, lambda: _run_session(console, flags, arguments), console.inform):
        if seconds and code != 130:
            console.inform(
                f"the next run starts {spell_duration(seconds)} after the start of this one; to stop: Ctrl-C"
            )
    return code


def _expand_name(name: str) -> Iterable[str]:
    """Return the name itself or, for `-`, the names read from standard input, one per line.

    Lines that begin with # are comments. Raise UsageError if there are no names, or if only some are addresses.
    """
    if name != "-":
        return [name]
    from windrow.app.run import refuse_other_lines  # noqa: PLC0415

    lines = {number: line.strip() for number, line in enumerate(sys.stdin, 1)}
    names = {number: line for number, line in lines.items() if line and not line.startswith("#")}
    if not names:
        raise UsageError("there are no names on standard input", hint="windrow run - < names.txt")
    refuse_other_lines(names)
    return [*names.values()]


def _run_session(console: Console, flags: Mapping[str, Any], arguments: Mapping[str, Any]) -> int:
    from windrow.engine.progress import Progress, ProgressLines  # noqa: PLC0415

    progress = ProgressLines(console.message) if console.json else Progress(quiet=console.quiet)
    workspace = console.open(flags, arguments["names"])
    _report_missing_sources(console, workspace.config, arguments["names"])
    summary = workspace.run(progress=progress, command=_command_line(arguments), **arguments)
    print_summary(console, summary)
    return summary.exit_code or 0


def _report_missing_sources(console: Console, config: Workspace, names: Sequence[str]) -> None:
    from windrow.app.warc_files import import_collection  # noqa: PLC0415
    from windrow.contract.registry import names as collection_names  # noqa: PLC0415

    if not {*names} <= {*collection_names(), *(source.name for source in config.sources)}:
        return  # WARC files, addresses or a folder are named
    if not config.sources:
        remedy = "windrow new source NAME URL --collection COLLECTION"
        console.inform(f"nothing to fetch: there are no sources; try: {remedy}")
    for collection in sorted({*names} & {*collection_names()}):
        if not config.of(collection):
            remedy = f"windrow new source NAME URL --collection {collection}"
            remedy += "; for imported WARC files: windrow run FILE" if collection == import_collection() else ""
            console.inform(f"nothing is done for {collection}: no source is declared for it; try: {remedy}")


def print_summary(console: Console, summary: SessionSummary) -> None:
    """Print a session's summary: with `--json` as JSON to standard output, otherwise as text to standard error."""
    from windrow.cli.status import summary_lines  # noqa: PLC0415

    if console.json:
        console.message("summary", summary)
    else:
        console.inform(summary_lines(summary))


def _print_previews(console: Console, previews: Sequence[Preview]) -> int:
    has_requests = any(source.asked for preview in previews for source in preview.sources)
    for number, preview in enumerate(previews):
        if console.json:
            for source in preview.sources:
                console.message("would_ask", source)
            for fetch in preview.waiting:
                console.message("would_fetch", fetch)
            for count in preview.documents:
                console.message("would_read", count)
        else:
            console.print(([""] if number else []) + _preview_lines(preview))
    if has_requests:
        console.inform("only items already known are counted; a run may find new items at these sources")
    console.inform("nothing was fetched and nothing was written")
    return 0


def _preview_lines(preview: Preview) -> list[str]:
    tables: list[str] = []
    if preview.sources:
        rows = [
            (source.source, source.address,
             " ".join((*source.folders, source.why_not)) if source.asked else f"not asked: {source.why_not}",
             source.waiting, _planned_size(preview, source),
             "unknown" if source.seconds is None else spell_duration(source.seconds))
            for source in preview.sources
        ]  # fmt: skip
        tables.append(table(["source", "address", "would list", "then fetch", "size", "time"], rows))
    if preview.waiting:
        sizes = ["unknown" if fetch.bytes is None else spell_size(fetch.bytes) for fetch in preview.waiting]
        fetches = [(fetch.key, fetch.source, size) for fetch, size in zip(preview.waiting, sizes, strict=True)]
        tables.append(table(["would fetch", "from", "size"], fetches))
    if preview.documents:
        tables.append(table(["would run", "items"], preview.documents))
    return join_with_blank_lines(tables) or ["nothing to do"]


def _planned_size(preview: Preview, source: PlannedSource) -> str:
    if source.waiting and not source.bytes:
        return "unknown"
    has_unknown = any(fetch.bytes is None for fetch in preview.waiting if fetch.source == source.source)
    return spell_size(source.bytes) + (" and more" if has_unknown else "")


@command("replay", examples=["windrow replay", "windrow replay --json"])
@click.argument("names", metavar="[COLLECTION]...", nargs=-1, shell_complete=complete_collections)
def replay_command(console: Console, names: tuple[str, ...]) -> int:
    """Read every kept capture again with the current readers, schemas and lists; fetch nothing.

    If collections are named, only their captures are read again.

    The loaded records and the Summary Database are rebuilt beside the old ones, in the order in which the captures were
    received, and then replace them. Documents that end in a different phase or status than before are listed; versions
    that differ from before are counted.
    """
    from windrow.engine.progress import Progress  # noqa: PLC0415 `--help` needs no engine

    unreadable: dict[str, str] = {}
    results = console.open().replay(names, Progress(quiet=console.quiet or console.json), unreadable=unreadable)
    for collection, result in results.items():
        _print_replay(console, result, collection)
    if unreadable:
        not_read = "; ".join(f"{name}: {why}" for name, why in unreadable.items())
        raise StoreError(f"these were not read again: {not_read}", hint="windrow check")
    if not results:
        console.inform("there is nothing to read again: nothing has been harvested yet; next: windrow run")
    return 0


def _print_replay(console: Console, result: ReplayResult, collection: str) -> None:
    from windrow.contract.registry import phases  # noqa: PLC0415
    from windrow.reasons import Reason  # noqa: PLC0415

    if (versions := result.versions) is not None:
        if console.json:
            console.message("replay", versions)
        console.inform(
            f"session {result.session}: {counted(versions.after, 'version')} of {collection} after the replay, "
            f"{versions.before:,} before it; {versions.changed:,} differ"
        )
        if versions.damaged:
            damaged = counted(versions.damaged, "capture")
            console.inform(
                f"{damaged} could not be read again ({Reason.DISK_FAILED}); windrow check lists them; to fetch them "
                f"anew: windrow retry --reason {Reason.DISK_FAILED}, then: windrow run {collection}"
            )
        return
    phase_names = dict(enumerate(phases()[collection], 1))

    def describe(state: State) -> str:
        phase, status = state
        return f"{phase_names[phase]} {status.name.lower()}"

    for change in result.changes:
        old_state = describe(change.before) if change.before else "not there"
        new_state = describe(change.after)
        if console.json:
            console.message("replay_change", {"key": change.key, "before": old_state, "after": new_state})
        else:
            console.print(f"{change.key}: {old_state} -> {new_state}")
    count = counted(len(result.changes), "document")
    console.inform(f"session {result.session}: {count} in a different phase or status than before")
