"""`windrow forget`: take pages and sites down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from windrow.cli.kind import sources
from windrow.cli.verb import option, verb
from windrow.cli.voice import Voice
from windrow.display import counted, size, table
from windrow.errors import UsageError

if TYPE_CHECKING:
    from windrow.adapter import TakedownEstimate


@verb(
    "forget",
    examples=[
        "windrow forget https://example.org/a/page --reason 'asked by its author'",
        "windrow forget example.org --dry-run",
        "windrow forget https://example.org/a/page --lift",
    ],
)
@click.argument("names", nargs=-1, metavar="[X]...", shell_complete=sources)
@option("--reason", default="", metavar="TEXT", help="Why; it stays on record, and `windrow why` tells it.")
@option("--yes", is_flag=True, help="Do not ask whether that is meant.")
@option("--dry-run", "dry", is_flag=True, help="Only say what would go.")
@option("--lift", is_flag=True, help="Let it be asked for again; what is gone stays gone.")
def command(voice: Voice, names: tuple[str, ...], **told: object) -> int:
    """Take pages and sites down: their bytes, texts, versions and entries of the index.

    X is the address of a page, a host, or a site of windrow.toml. Records are overwritten in the archive,
    others stay as they are; what other pages have of the same text stays theirs. What other collections made of
    the same captures goes too. A tombstone remains, with the time, the reason and who did it, and nothing of X is
    asked for again. Without X, what a killed
    `windrow forget` left undone is finished, and what another process that read a database kept from going.
    """
    workspace = voice.open()
    if told["lift"]:
        count = workspace.lift(names)
        if voice.json:
            voice.message("lifted", {"tombstones": count})
        voice.talk(f"{count} may be asked for again; next: windrow run" if count else "no tombstone stands there")
        return 0
    found = workspace.would_forget(names)
    if names and (told["dry"] or not told["yes"]):
        _tell(voice, found)
    if told["dry"]:
        return 0
    if names and not told["yes"]:  # what was left undone was meant when it was begun
        _ask(len(found))
    done = workspace.forget(names, str(told["reason"]))
    for one in done:
        if voice.json:
            voice.message("forgotten", one)
        else:
            told_of = f"{counted(one.captures, 'capture')} of {size(one.bytes)}, {counted(one.records, 'version')}"
            voice.data(f"{one.target}: {'gone' if one.done else 'taken out'} are {told_of}")
        for trouble in one.trouble:
            voice.talk(f"{one.target}: {trouble}")
    if not done:
        voice.talk("there was nothing left to do")
    return 1 if any(one.trouble for one in done) else 0


def _tell(voice: Voice, found: Sequence[TakedownEstimate]) -> None:
    if voice.json:
        for one in found:
            voice.message("would_forget", one)
        return
    head = ["what", "addresses", "visits", "captures", "size"]
    voice.data(table(head, [(*one[:4], size(one.bytes)) for one in found]))


def _ask(count: int) -> None:
    """Ask the person at the terminal; a script says so beforehand."""
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to be asked whether that is meant", hint="windrow forget --yes, or --dry-run")
    what = "this" if count == 1 else f"these {count}"
    click.confirm(f"Take {what} down for good?", abort=True, err=True)
