"""`windrow demo`: a small internet on loopback, harvested end to end."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from shutil import which

import click

from windrow.cli.verb import verb
from windrow.cli.voice import Voice


@verb("demo", examples=["windrow demo", "windrow demo /tmp/demo && windrow status --workspace /tmp/demo"])
@click.argument("folder", metavar="[DIR]", default="windrow-demo", type=click.Path(path_type=Path, file_okay=False))
def command(voice: Voice, folder: Path) -> int:
    """Harvest a small internet that is made on this machine, twice, and show what came of it.

    Four partners serve FTP, SFTP, HTTPS and a folder on loopback; some of what they drop is broken on
    purpose. Four sites have traps, rules, and pages that move and change. A newspaper has a feed, a council
    a calendar, a library a WARC file of papers. The workspace is left in DIR to look around in; DIR must be
    new or an earlier demo.
    """
    from windrow.app import Windrow  # noqa: PLC0415 `--help` needs no engine
    from windrow.cli.summary import lines  # noqa: PLC0415
    from windrow.demo.play import play  # noqa: PLC0415
    from windrow.engine.progress import Progress  # noqa: PLC0415

    began = time.monotonic()

    def harvest(kind: str, again: bool) -> int:
        summary = Windrow(folder).run([kind], progress=Progress(quiet=voice.json), again=again)
        voice.talk(f"  {lines(summary)[0]}")
        return summary.exit_code or 0

    program = _program()
    told = f"  {program} why H.2026-01-12.7.impc.zip --workspace {folder}\n"
    played = play(folder, voice.talk, harvest)
    voice.workspace = folder
    from windrow.cli.status import command as status  # noqa: PLC0415

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
    from windrow.cli.search import command as search  # noqa: PLC0415
    from windrow.cli.why import command as why  # noqa: PLC0415

    told = click.get_current_context()
    voice.talk(["", "$ windrow search lighthouse keepers"])
    told.invoke(search, words=("lighthouse", "keepers"), limit=3, page=1, explain=False)
    voice.talk(["", f"$ windrow why {harbour}/ferry.html"])
    told.invoke(why, what=f"{harbour}/ferry.html")


def _show_changes(voice: Voice) -> None:
    """Show what the last run found to be other than before."""
    from windrow.cli.changes import command as changes  # noqa: PLC0415

    voice.talk(["", "$ windrow changes"])
    click.get_current_context().invoke(changes)
