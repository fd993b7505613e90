"""`windrow run` and `windrow replay`: harvest, and read again what was kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.options import Day, DeclaredOptions, Duration, names, phases, sources
from windrow.cli.verb import Voice, option, verb
from windrow.formats.text import apart, size, span, table

if TYPE_CHECKING:
    from windrow.adapters.adapter import ReplayResult
    from windrow.app.summary import SessionSummary
    from windrow.engine.preview import PlannedSource, Preview
    from windrow.settings.setting import Setting

WHAT = "What to harvest"
HOW = "How"
PACE = "Pace"


_OPTIONS = {"as": "source", "from": "first", "to": "last", "limit": "limit", "since": "since"}


def _spell(arguments: Mapping[str, Any]) -> str:
    """Spell what a run was asked for, as the ledger keeps it."""
    words = ["run", *arguments["names"]]
    words += [f"--{option} {arguments[name]}" for option, name in _OPTIONS.items() if arguments[name]]
    words += ["--again"] if arguments["again"] else []
    return " ".join(words).encode("utf-8", "backslashreplace").decode()  # names of files may be of any bytes


class RunCommand(DeclaredOptions):
    """`run`, with the flags of the collections' settings."""

    section = PACE

    def declared(self) -> Iterable[Setting]:
        """Return the settings of all collections."""
        from windrow.contract.registry import installed  # noqa: PLC0415

        return (setting for made in installed().values() for setting in made.configuration.settings)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, then what may be adopted."""
        super().format_help_text(ctx, formatter)
        from windrow.adapters.adapter import Adopts  # noqa: PLC0415
        from windrow.contract.registry import capable  # noqa: PLC0415

        for one in capable(Adopts).values():
            told = f"With --from {one.ADOPTED_AT}, NAME may be {one.ADOPTS}: they are adopted, as if just fetched."
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(told)


@verb(
    "run",
    shape=RunCommand,
    examples=[
        "windrow run",
        "windrow run blog --limit 10 --dry-run",
        "windrow run --every 6h",
    ],
    declared=True,
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names)
@option("--as", "source", metavar="NAME", default="", shell_complete=sources, section=WHAT,
        help="The source that WARC files come in by.")  # fmt: skip
@option("--limit", type=click.IntRange(1), metavar="N", section=WHAT, help="Fetch at most N items.")
@option("--since", type=Day(), metavar="DATE", section=WHAT, help="Leave out what its source dates before DATE (UTC).")
@option("--from", "first", metavar="PHASE", default="", shell_complete=phases, section=WHAT,
        help="Begin at this phase; after `download`, nothing is listed or fetched.")  # fmt: skip
@option("--to", "last", metavar="PHASE", default="", shell_complete=phases, section=WHAT, help="End with this phase.")
@option("--again", is_flag=True, section=WHAT, help="Fetch and read once more what is done already.")
@option("--dry-run", is_flag=True, section=HOW, help="Only tell what would be asked, from whom; connects to nobody.")
@option("--every", type=Duration(), metavar="TIME", section=HOW, help="Run again after this time (6h), until stopped.")
@option("--quiet", is_flag=True, section=HOW, help="No progress and no summary; errors are still told.")
def run_command(voice: Voice, *, dry_run: bool, quiet: bool, every: str | None, **arguments: Any) -> int:
    """Harvest: all sources, or the collections and sources named.

    NAME may also be WARC files of other makers, folders of them, or lists that name one on each line. They
    are taken into the archive and summarised like what was crawled here, and nobody is asked; --as names
    their source, which else is called like the file.

    Running again resumes: what is done is not done again. The first Ctrl-C finishes what is in hand,
    the second stops at once; the next run goes on from there. The summary goes to standard error.
    """
    voice.quiet = quiet
    flags = {name.replace("__", "."): arguments.pop(name) for name in list(arguments) if "__" in name}
    flags["run.every"] = every
    if dry_run:
        return _preview(voice, voice.open(flags).preview(**arguments))
    from windrow.app.schedule import turns  # noqa: PLC0415

    seconds = voice.open(flags).config.run.every
    code = 0
    for code in turns(seconds, lambda: _once(voice, flags, arguments), voice.talk):
        if seconds and code != 130:
            voice.talk(f"the next run is due in {span(seconds)} from the begin of this one; Ctrl-C ends")
    return code


def _once(voice: Voice, flags: Mapping[str, Any], arguments: Mapping[str, Any]) -> int:
    """Run one session and tell its summary."""
    from windrow.cli.live import ProgressLines  # noqa: PLC0415
    from windrow.contract.registry import names  # noqa: PLC0415
    from windrow.engine.progress import Progress  # noqa: PLC0415

    progress = ProgressLines(voice.message) if voice.json else Progress(quiet=voice.quiet)
    opened = voice.open(flags)
    if not opened.config.sources and all(name in names() for name in arguments["names"]):
        voice.talk("there are no sources, so nobody is asked; try: windrow new source NAME URL --collection KIND")
    summary = opened.run(progress=progress, command=_spell(arguments), **arguments)
    tell(voice, summary)
    return summary.exit_code or 0


def tell(voice: Voice, summary: SessionSummary) -> None:
    """Tell a session's summary: as data in JSON, else as talk."""
    from windrow.cli.status import summary_lines  # noqa: PLC0415

    if voice.json:
        voice.message("summary", summary)
    else:
        voice.talk(summary_lines(summary))


def _preview(voice: Voice, plans: Sequence[Preview]) -> int:
    asked = any(source.asked for plan in plans for source in plan.sources)
    for number, plan in enumerate(plans):
        if voice.json:
            for source in plan.sources:
                voice.message("would_ask", source)
            for one in plan.waiting:
                voice.message("would_fetch", one)
            for reads in plan.documents:
                voice.message("would_read", reads)
        else:
            voice.data(([""] if number else []) + _plan(plan))
    if asked:
        voice.talk("what these sources have that is new shows when they are asked; the counts are of what is known")
    voice.talk("nothing was asked and nothing was written")
    return 0


def _plan(plan: Preview) -> list[str]:
    parts: list[str] = []
    if plan.sources:
        rows = [
            (one.source, one.address, " ".join(one.folders) if one.asked else f"not asked: {one.why_not}",
             one.waiting, _size(plan, one), "unknown" if one.seconds is None else span(one.seconds))
            for one in plan.sources
        ]  # fmt: skip
        parts.append(table(["source", "address", "would list", "then fetch", "size", "time"], rows))
    if plan.waiting:
        parts.append(
            table(
                ["would fetch", "from", "size"],
                [(one.key, one.source, "unknown" if one.bytes is None else size(one.bytes)) for one in plan.waiting],
            )
        )
    if plan.documents:
        parts.append(table(["would take through", "items"], plan.documents))
    return apart(parts) or ["nothing to do"]


def _size(plan: Preview, source: PlannedSource) -> str:
    """Say how much would be fetched from a source, and where its server did not tell all sizes."""
    if source.waiting and not source.bytes:
        return "unknown"
    untold = any(one.bytes is None for one in plan.waiting if one.source == source.source)
    return size(source.bytes) + (" and more" if untold else "")


@verb("replay", examples=["windrow replay", "windrow replay --json"])
def replay_command(voice: Voice) -> int:
    """Read every kept capture again with today's readers, schemas and lists; fetch nothing.

    The loaded records and the Summary Database are rebuilt beside the old ones, in the order in which the
    captures came, and then take their place. Documents that end elsewhere than before are listed, versions of
    pages that say something else are counted.
    """
    from windrow.engine.progress import Progress  # noqa: PLC0415 `--help` needs no engine

    replayed = voice.open().replay(Progress(quiet=voice.quiet or voice.json))
    for kind, done in replayed.items():
        _tell(voice, done, kind)
    if not replayed:
        voice.talk("nothing is summarised so far, so there is nothing to read again; next: windrow run")
    return 0


def _tell(voice: Voice, done: ReplayResult, kind: str) -> None:
    """Tell what came out differently."""
    from windrow.contract.registry import phases  # noqa: PLC0415

    if (made := done.versions) is not None:
        if voice.json:
            voice.message("reread", made)
        voice.talk(
            f"session {done.session}: {made.after:,} versions of {kind}, {made.before:,} before; "
            f"{made.changed:,} say something else than before"
        )
        return
    names = dict(enumerate(phases()[kind], 1))
    for change in done.changes:
        before = f"{names[change.before[0]]} {change.before[1].name.lower()}" if change.before else "not there"
        after = f"{names[change.after[0]]} {change.after[1].name.lower()}"
        if voice.json:
            voice.message("change", {"key": change.key, "before": before, "after": after})
        else:
            voice.data(f"{change.key}: {before} -> {after}")
    voice.talk(f"session {done.session}: {len(done.changes)} documents end elsewhere than before")
