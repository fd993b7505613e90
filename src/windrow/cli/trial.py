"""`windrow try` an address and write nothing; `windrow demo` a small internet on loopback, harvested end to end."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.options import kind_names, kinds
from windrow.cli.verb import Voice, option, verb
from windrow.errors import NotAWorkspace
from windrow.formats.text import counted, show

if TYPE_CHECKING:
    from windrow.adapters.adapter import TrialPart
    from windrow.config import Workspace


@verb(
    "try",
    examples=[
        "windrow try https://example.org/a/page --as KIND",
        "windrow try ./a/file --as KIND --json",
    ],
    declared=True,
)
@click.argument("address", metavar="ADDRESS")
@option("--as", "kind", metavar="KIND", required=True, shell_complete=kinds, values=kind_names,
        help="Read it as this collection does.")  # fmt: skip
@option("--limit", type=click.IntRange(0), metavar="N", default=20, show_default=True,
        help="Print at most N records and N findings of a document; --json prints all.")  # fmt: skip
def try_command(voice: Voice, address: str, kind: str, limit: int) -> int:
    """Read one file or address, and print what is in it.

    ADDRESS is a file, an archive, a page or a document by itself, or an address of a server; one below a
    source of this workspace is reached with that source's own access. Members, findings with their
    line and column, and records are printed; nothing is written. Without a workspace, the standard's
    own schemas and centres are used. The exit code is 1 where something was refused.
    """
    from windrow.adapters.adapter import TRIAL_TYPES, DocumentReport, FetchedBytes  # noqa: PLC0415
    from windrow.contract.registry import adapter  # noqa: PLC0415

    refused = False
    printer = _Printer(voice, limit)
    for part in adapter(kind).try_address(_workspace(voice), address):
        refused |= isinstance(part, DocumentReport | FetchedBytes) and part.reason is not None
        if voice.json:
            voice.message(TRIAL_TYPES[type(part)], part, omit_empty=True)
        else:
            printer.tell(TRIAL_TYPES[type(part)], part)
    return int(refused)


def _workspace(voice: Voice) -> Workspace | None:
    try:
        return voice.open().config
    except NotAWorkspace:
        if voice.workspace:
            raise
        return None


class _Printer:
    """Prints parts as they come, the many of a kind cut short."""

    def __init__(self, voice: Voice, limit: int) -> None:
        self._voice = voice
        self._limit = limit
        self._shown: dict[tuple[str, str], int] = {}

    def tell(self, kind: str, part: TrialPart) -> None:
        """Print one part; `kind` is its `type` in JSON."""
        getattr(self, f"_{kind}")(part)

    def _got(self, part: Any) -> None:
        self._voice.talk(f"{part.address}: {part.size:,} bytes, {part.digest}, in {part.seconds:.2f} s")
        if part.reason:
            self._voice.data(f"its name would be refused: {part.reason.meaning}")

    def _note(self, part: Any) -> None:
        place = f"{part.line}" if part.line is not None else ""
        place += f":{part.column}" if place and part.column is not None else ""
        self._few("findings", part.document, f"  {part.level} {place} {part.kind}: {part.message}")

    def _record(self, part: Any) -> None:
        fields = ", ".join(f"{name}={show(value)}" for name, value in part.fields.items())
        self._few("records", part.document, f"  {part.kind} {part.identifier}  {fields}")

    def _document(self, part: Any) -> None:
        for what in ("findings", "records"):
            count = self._shown.get((what, part.name), 0)
            if count > self._limit:
                self._voice.data(f"  ... {count - self._limit:,} more {what}")
        end = f"refused at {part.phase}: {part.reason.meaning}" if part.reason else f"good up to {part.phase}"
        self._voice.data(f"{part.name}: {show(part.size)} bytes, {counted(part.records, 'record')}, {end}")

    def _few(self, what: str, document: str, line: str) -> None:
        count = self._shown[what, document] = self._shown.get((what, document), 0) + 1
        if count <= self._limit:
            self._voice.data(" ".join(line.split(" ")))


@verb("demo", examples=["windrow demo", "windrow demo /tmp/demo && windrow status --workspace /tmp/demo"])
@click.argument("folder", metavar="[DIR]", default="windrow-demo", type=click.Path(path_type=Path, file_okay=False))
def demo_command(voice: Voice, folder: Path) -> int:
    """Harvest a small internet that is made on this machine, twice, and show what came of it.

    Four partners serve FTP, SFTP, HTTPS and a folder on loopback; some of what they drop is broken on
    purpose. Four sites have traps, rules, and pages that move and change. A newspaper has a feed, a council
    a calendar, a library a WARC file of papers. The workspace is left in DIR to look around in; DIR must be
    new or an earlier demo.
    """
    from windrow.app import Windrow  # noqa: PLC0415 `--help` needs no engine
    from windrow.cli.status import summary_lines  # noqa: PLC0415
    from windrow.demo.play import play  # noqa: PLC0415
    from windrow.engine.progress import Progress  # noqa: PLC0415

    began = time.monotonic()

    def harvest(kind: str, again: bool) -> int:
        summary = Windrow(folder).run([kind], progress=Progress(quiet=voice.json), again=again)
        voice.talk(f"  {summary_lines(summary)[0]}")
        return summary.exit_code or 0

    program = _program()
    told = f"  {program} why H.2026-01-12.7.impc.zip --workspace {folder}\n"
    played = play(folder, voice.talk, harvest)
    voice.workspace = folder
    from windrow.cli.status import status_command as status  # noqa: PLC0415

    voice.talk("")
    click.get_current_context().invoke(status)
    _show_pages(voice, played.sites["harbour"])
    if "council" in played.sites:
        _show_changes(voice)
    for one in played.missing:
        voice.talk(f"not shown: {one}")
    last = (
        "\nThe partners broke those files on purpose, and the manor wants no crawlers. All else is loaded and can be\n"
        "searched, and every byte is kept.\n"
        f"done in {time.monotonic() - began:.0f} s; look around:\n"
        f"  {program} status --workspace {folder}\n"
        f"{'' if played.missing else told}"
        f"  {program} why {played.sites['harbour']}/ferry.html --workspace {folder}\n"
        f"  {program} why Wtsi.2026-01-12.8.impc.zip --workspace {folder}\n"
        f"  {program} run --dry-run --workspace {folder}\n"
        f"  {program} check --workspace {folder}"
    )
    voice.talk(last.split("\n"))
    return 0


def _program() -> str:
    """Say how windrow is called from here: by its path, where the shell would not find it by its name."""
    called = Path(sys.argv[0])
    return "windrow" if called.name != "windrow" or which("windrow") else str(called)


def _show_pages(voice: Voice, harbour: str) -> None:
    """Search the pages that were crawled, and tell the story of the one that changed."""
    from windrow.cli.search import search_command as search  # noqa: PLC0415
    from windrow.cli.why import why_command as why  # noqa: PLC0415

    told = click.get_current_context()
    voice.talk(["", "$ windrow search lighthouse keepers"])
    told.invoke(search, words=("lighthouse", "keepers"), limit=3, page=1, explain=False)
    voice.talk(["", f"$ windrow why {harbour}/ferry.html"])
    told.invoke(why, what=f"{harbour}/ferry.html")


def _show_changes(voice: Voice) -> None:
    """Show what the last run found to be other than before."""
    from windrow.cli.changes import changes_command as changes  # noqa: PLC0415

    voice.talk(["", "$ windrow changes"])
    click.get_current_context().invoke(changes)
