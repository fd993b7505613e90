"""`windrow status`: how every source stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.summary import left_out, meaning
from windrow.cli.verb import verb
from windrow.cli.voice import Voice
from windrow.display import of, show, table

if TYPE_CHECKING:
    from windrow.app.status import WorkspaceState

RESTING = 20
"""Items that rest, shown one by one."""


@verb("status", examples=["windrow status", "windrow status --json"])
def command(voice: Voice) -> int:
    """Show one row per source, and how many items stand where and why.

    `items` are the files that a source offers, or its pages. The other counts are those of the last session
    that asked it; `failed` are the items that stand failed now. May be asked while a run is under way.
    """
    standing = voice.open().status()
    if voice.json:
        voice.message("status", standing)
        return 0
    voice.talk(_head(standing))
    voice.data(_parts(standing))
    if failing := [one.source for one in standing.sources if one.failed]:
        voice.talk(f"try: windrow why NAME ({', '.join(failing)}), for what failed there")
    return 0


def _head(standing: WorkspaceState) -> str:
    text = f"workspace {standing.workspace} in {standing.folder}"
    last = standing.last
    if standing.holder:
        text += f"; running now: {standing.holder}"
    elif last is None:
        text += "; nothing was run so far"
    elif last.ended is None:
        text += f"; session {last.session} was cut short; the next run goes on from there"
    else:
        text += f"; session {last.session} ended {show(last.ended)} UTC: {meaning(last)}"
    return text


def _unread(standing: WorkspaceState) -> list[tuple[object, ...]]:
    """Return a row for what was not read, and not by its own fault, with when a run reads it again."""
    told = ((*one[:4], one.due or f"a mended version; windrow retry --reason {one.reason}") for one in standing.unread)
    return [*told]


def _parts(standing: WorkspaceState) -> list[str]:
    head = ["source", "owner", "state", "last good", "items", "new", "changed", "same", "gone", "failed", "next due"]
    rows = [
        (
            one.source,
            one.owner,
            one.state,
            one.last_good,
            one.items,
            one.new,
            one.changed,
            one.same,
            one.gone,
            one.failed,
            one.next_due,
        )
        for one in standing.sources
    ]
    parts: list[str] = [table(head, rows) if rows else "no sources; try: windrow new source NAME URL --collection KIND"]
    if troubles := [of(one.source, one.trouble) for one in standing.sources if one.trouble]:
        parts += ["", *troubles]
    if standing.waits:
        parts += ["", *(f"{one.collection}: {one.told()}" for one in standing.waits)]
    if standing.left_out:
        parts += ["", *left_out(standing.left_out)]
    if standing.states:
        parts += ["", table(["collection", "item", "phase", "status", "items"], standing.states)]
    if standing.reasons:
        parts += ["", table(["reason", "items", "meaning"], standing.reasons)]
    if standing.unread:
        parts += ["", table(["collection", "phase", "not read", "documents", "read again after"], _unread(standing))]
    if standing.resting:
        rests = [(one.key, one.sessions, one.until, f"windrow retry {one.key}") for one in standing.resting[:RESTING]]
        parts += ["", table(["rests", "failed in sessions", "asked for again after", "at once with"], rests)]
        if len(standing.resting) > RESTING:
            parts.append(f"and {len(standing.resting) - RESTING:,} more")
    return parts
