"""`windrow changes` and `windrow diff`: what changed since a time, and between two versions of a page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from windrow.cli.options import Day, sources
from windrow.cli.verb import Voice, clean, option, verb
from windrow.formats.text import show

if TYPE_CHECKING:
    from windrow.adapters.adapter import Comparison, SourceChange


@verb(
    "changes",
    examples=["windrow changes --since 2026-11-01", "windrow changes --source blog --kind changed --as atom"],
)
@option("--since", type=Day(), metavar="WHEN", help="What was seen since then (UTC); else what the last session tells.")
@option("--source", default="", metavar="NAME", shell_complete=sources, help="At this source only.")
@option("--kind", type=click.Choice(["new", "changed", "gone"]), help="Of this kind only.")
@option("--as", "form", type=click.Choice(["text", "atom", "html"]), default="text", help="text, atom or html.")
def changes_command(voice: Voice, since: datetime | None, source: str, kind: str | None, form: str) -> None:
    """List what came, changed or went at the sources, with a line that says what is other than before.

    A page has changed when its text did, or what it says of itself (title, description, language); its bytes alone do
    not count. It is gone after a 410, or the second 404 in a row. A session tells what it wrote, whichever session
    asked for it: what a run that was stopped or killed had not written is told by the next one.
    """
    opened = voice.open()
    found = opened.changes(since, source=source, kind=kind or "")
    if voice.json:
        for one in found:
            voice.message("source_change", one)
    elif form == "text":
        voice.data(change_lines(found) or ["nothing changed"])
        if since is None and (session := opened.cut_off()):
            voice.talk(f"session {session} was killed before its end: the next run tells what it saw")
    else:
        from windrow.app.changes import atom, html  # noqa: PLC0415 `--help` needs no feeds

        name = opened.config.name
        # a file of its own kind, whose lines and escapes are its own
        voice.drawn(atom(found, name, datetime.now(UTC)) if form == "atom" else html(found, name))


def change_lines(found: list[SourceChange] | tuple[SourceChange, ...]) -> list[str]:
    """Spell changes, a line each, and a second one for what is other than before."""
    told = []
    for one in found:
        title = f"  {one.title}" if one.title and one.title not in one.key else ""
        told.append(clean(f"{show(one.at)}  {one.kind:<7}  {one.source}  {one.key}{title}"))
        told += [clean(f"    {one.difference}")] if one.difference else []
    return told


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
def diff_command(voice: Voice, url: str, since: str, until: str, context: int) -> None:
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


def _text(found: Comparison, lively: bool) -> list[str]:
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
