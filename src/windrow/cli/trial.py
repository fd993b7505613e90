"""`windrow try` reads an address and writes nothing; `windrow demo` harvests a small internet on loopback."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.command import Console, command, option
from windrow.cli.options import complete_collections, list_collections
from windrow.errors import NotAWorkspace
from windrow.formats.text import counted, show

if TYPE_CHECKING:
    from windrow.adapters.trial import TrialPart
    from windrow.config import Workspace


@command(
    "try",
    examples=[
        "windrow try https://example.org/a/page --collection COLLECTION",
        "windrow try ./a/file --collection COLLECTION --json",
    ],
    declared=True,
)
@click.argument("address", metavar="ADDRESS")
@option("--collection", metavar="COLLECTION", required=True, shell_complete=complete_collections,
        choices=list_collections, help="Read it as this collection would.")  # fmt: skip
@option("--limit", type=click.IntRange(0), metavar="N", default=20, show_default=True,
        help="Print at most N records and N findings of a document; --json prints all.")  # fmt: skip
def try_command(console: Console, address: str, collection: str, limit: int) -> int:
    """Read one file or address, and print what is in it.

    ADDRESS is the path of a zip, a page or a document, or an address on a server; an address below a
    source of this workspace is fetched with that source's credentials. Members, findings with their
    line and column, and records are printed; nothing is written. Without a workspace, the standard's
    own schemas and centres are used. The document is read in the sandbox of a run, with its limits of
    time and memory. The exit code is 1 if something was refused.
    """
    from windrow.adapters.trial import TRIAL_TYPES, DocumentReport, FetchedBytes  # noqa: PLC0415
    from windrow.contract.registry import adapter  # noqa: PLC0415

    has_refusal = False
    printer = _PartPrinter(console, limit)
    for part in adapter(collection).try_address(_open_workspace(console), address):
        has_refusal |= isinstance(part, DocumentReport | FetchedBytes) and part.reason is not None
        if console.json:
            console.message(TRIAL_TYPES[type(part)], part, omit_empty=True)
        else:
            printer.print(TRIAL_TYPES[type(part)], part)
    return int(has_refusal)


def _open_workspace(console: Console) -> Workspace | None:
    try:
        return console.open().config
    except NotAWorkspace:
        if console.workspace:
            raise
        return None


class _PartPrinter:
    """Prints the parts of a trial: for each document, at most `limit` findings and `limit` records."""

    def __init__(self, console: Console, limit: int) -> None:
        self._console = console
        self._limit = limit
        self._counts: dict[tuple[str, str], int] = {}  # by "findings" or "records", and the document's name

    def print(self, kind: str, part: TrialPart) -> None:
        """Print a part; `kind` is its `type` in JSON."""
        getattr(self, f"_{kind}")(part)

    def _fetched(self, part: Any) -> None:
        self._console.inform(f"{part.address}: {part.size:,} bytes, {part.digest}, in {part.seconds:.2f} s")
        if part.reason:
            self._console.print(f"its name would be refused: {part.reason.meaning}")

    def _finding(self, part: Any) -> None:
        position = f"{part.line}" if part.line is not None else ""
        position += f":{part.column}" if position and part.column is not None else ""
        self._print_limited("findings", part.document, f"  {part.level} {position} {part.kind}: {part.message}")

    def _record(self, part: Any) -> None:
        fields = ", ".join(f"{name}={show(content)}" for name, content in part.fields.items())
        self._print_limited("records", part.document, f"  {part.kind} {part.identifier}  {fields}")

    def _document(self, part: Any) -> None:
        for kind in ("findings", "records"):
            count = self._counts.get((kind, part.name), 0)
            if count > self._limit:
                self._console.print(f"  ... {count - self._limit:,} more {kind}")
        result = f"refused at {part.phase}: {part.reason.meaning}" if part.reason else f"good up to {part.phase}"
        self._console.print(f"{part.name}: {show(part.size)} bytes, {counted(part.records, 'record')}, {result}")

    def _print_limited(self, kind: str, document: str, line: str) -> None:
        count = self._counts[kind, document] = self._counts.get((kind, document), 0) + 1
        if count <= self._limit:
            self._console.print(" ".join(line.split(" ")))


@command("demo", examples=["windrow demo", "windrow demo /tmp/demo && windrow status --workspace /tmp/demo"])
@click.argument("folder", metavar="[DIR]", default="windrow-demo", type=click.Path(path_type=Path, file_okay=False))
def demo_command(console: Console, folder: Path) -> int:
    """Start a small internet on this machine, harvest it twice, and show the outcome.

    Four partners serve files over FTP, SFTP, HTTPS and from a folder on loopback; some are broken on
    purpose. Four sites have traps, rules, and pages that move and change. A newspaper has a feed, a council
    a calendar, a library a WARC file of papers. The workspace is kept in DIR for you to explore; DIR must be new or an
    earlier demo.
    """
    from windrow.app import Windrow  # noqa: PLC0415 `--help` needs no engine
    from windrow.cli.status import summary_lines  # noqa: PLC0415
    from windrow.demo.play import play_demo  # noqa: PLC0415
    from windrow.engine.progress import Progress  # noqa: PLC0415

    began = time.monotonic()

    def harvest(collection: str, again: bool) -> int:
        summary = Windrow(folder).run([collection], progress=Progress(quiet=console.json), again=again)
        console.inform(f"  {summary_lines(summary)[0]}")
        return summary.exit_code or 0

    program = _program_name()
    why_hint = f"  {program} why H.2026-01-12.7.impc.zip --workspace {folder}\n"
    demo = play_demo(folder, console.inform, harvest)
    console.workspace = folder
    from windrow.cli.status import status_command as status  # noqa: PLC0415

    console.inform("")
    click.get_current_context().invoke(status)
    _show_pages(console, demo.sites["harbour"])
    if "council" in demo.sites:
        _show_changes(console)
    for part in demo.missing:
        console.inform(f"not shown: {part}")
    closing_text = (
        "\nThe failures are part of the demo: broken files, and a site that refuses crawlers. Everything else is\n"
        "loaded and can be searched, and every byte is kept.\n"
        f"done in {time.monotonic() - began:.0f} s; try:\n"
        f"  {program} status --workspace {folder}\n"
        f"{'' if demo.missing else why_hint}"
        f"  {program} why {demo.sites['harbour']}/ferry.html --workspace {folder}\n"
        f"  {program} why Wtsi.2026-01-12.8.impc.zip --workspace {folder}\n"
        f"  {program} run --dry-run --workspace {folder}\n"
        f"  {program} check --workspace {folder}\n"
        f"  {program} serve --open --workspace {folder}"
    )
    console.inform(closing_text.split("\n"))
    return 0


def _program_name() -> str:
    """Return the command that runs windrow here: `windrow`, or its path if the shell would not find it."""
    program = Path(sys.argv[0])
    return "windrow" if program.name != "windrow" or which("windrow") else str(program)


def _show_pages(console: Console, harbour: str) -> None:
    """Search the crawled pages, and show the history of a changed page; `harbour` is the address of its site."""
    from windrow.cli.search import search_command as search  # noqa: PLC0415
    from windrow.cli.why import why_command as why  # noqa: PLC0415

    context = click.get_current_context()
    console.inform(["", "$ windrow search lighthouse keepers"])
    context.invoke(search, words=("lighthouse", "keepers"), limit=3, page=1, explain=False)
    console.inform(["", f"$ windrow why {harbour}/ferry.html"])
    context.invoke(why, name=f"{harbour}/ferry.html")


def _show_changes(console: Console) -> None:
    from windrow.cli.changes import changes_command as changes  # noqa: PLC0415

    console.inform(["", "$ windrow changes"])
    click.get_current_context().invoke(changes)
