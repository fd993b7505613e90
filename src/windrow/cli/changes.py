"""`windrow changes`: what came, changed or went at the sources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from windrow.cli.kind import Day, sources
from windrow.cli.verb import option, verb
from windrow.cli.voice import Voice, clean
from windrow.display import show

if TYPE_CHECKING:
    from windrow.adapter import SourceChange


@verb(
    "changes",
    examples=["windrow changes --since 2026-11-01", "windrow changes --source blog --kind changed --as atom"],
)
@option("--since", type=Day(), metavar="WHEN", help="What was seen since then (UTC); else what the last session tells.")
@option("--source", default="", metavar="NAME", shell_complete=sources, help="At this source only.")
@option("--kind", type=click.Choice(["new", "changed", "gone"]), help="Of this kind only.")
@option("--as", "form", type=click.Choice(["text", "atom", "html"]), default="text", help="text, atom or html.")
def command(voice: Voice, since: datetime | None, source: str, kind: str | None, form: str) -> None:
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
        voice.data(lines(found) or ["nothing changed"])
        if since is None and (session := opened.cut_off()):
            voice.talk(f"session {session} was killed before its end: the next run tells what it saw")
    else:
        from windrow.app.changes_page import atom, html  # noqa: PLC0415 `--help` needs no feeds

        name = opened.config.name
        # a file of its own kind, whose lines and escapes are its own
        voice.drawn(atom(found, name, datetime.now(UTC)) if form == "atom" else html(found, name))


def lines(found: list[SourceChange] | tuple[SourceChange, ...]) -> list[str]:
    """Spell changes, a line each, and a second one for what is other than before."""
    told = []
    for one in found:
        title = f"  {one.title}" if one.title and one.title not in one.key else ""
        told.append(clean(f"{show(one.at)}  {one.kind:<7}  {one.source}  {one.key}{title}"))
        told += [clean(f"    {one.difference}")] if one.difference else []
    return told
