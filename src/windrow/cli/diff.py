"""`windrow diff`: what changed between two versions of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from windrow.cli.verb import option, verb
from windrow.cli.voice import Voice, clean
from windrow.display import show

if TYPE_CHECKING:
    from windrow.adapter import Compared

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[2m"}


@verb(
    "diff",
    examples=[
        "windrow diff https://example.org/a/page",
        "windrow diff https://example.org/a/page --from 2026-01 --to 2026-06-15",
    ],
)
@click.argument("url", metavar="URL")
@option("--from", "since", default="", metavar="DATE", help="The version of then (the one before the other).")
@option("--to", "until", default="", metavar="DATE", help="The version of then (the latest).")
@option("--context", type=click.IntRange(0, 1000), default=2, metavar="N", help="Lines shown around changes (2).")
def command(voice: Voice, url: str, since: str, until: str, context: int) -> None:
    """Show what changed in a page: its title and the like, then the lines of its text.

    DATE is a day, a month, a year or a time (2026-11-21, 2026-11, 2026, 2026-11-21T10:00); the version
    that was there at its end is meant, or that the page was gone then. What stands in menus, footers and the
    like is only counted.
    """
    found = voice.open().diff(url, since, until, context=context)
    if voice.json:
        voice.message("diff", found)
    else:
        voice.drawn("\n".join(_text(found, voice.lively)))
        voice.talk(found.summary)


def _text(found: Compared, lively: bool) -> list[str]:
    sides = (("---", found.old_seen, found.old_gone), ("+++", found.new_seen, found.new_gone))
    lines = [
        f"{sign} {clean(found.url)}  {f'gone since {show(gone)}' if gone else show(seen)}" for sign, seen, gone in sides
    ]
    for one in found.changes:
        lines += _drawn("-", f"{one.what}: {one.before}", lively) if one.before else []
        lines += _drawn("+", f"{one.what}: {one.after}", lively) if one.after else []
    for sign, text in found.lines:
        lines += _drawn(sign, text, lively)
    return lines


def _drawn(sign: str, text: str, lively: bool) -> list[str]:
    line = f"@@ {text} @@" if sign == "@" else f"{sign}{clean(' '.join(text.split()))}"
    return [f"{_COLOURS[sign]}{line}\x1b[0m" if lively and sign in _COLOURS else line]
