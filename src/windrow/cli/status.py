"""`windrow status`: what stands where; and a session's summary as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.changes import change_lines as changes
from windrow.cli.verb import EXITS, Voice, verb
from windrow.formats.text import counted, of, show, size, span, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.app.status import WorkspaceState
    from windrow.app.summary import SessionSummary
    from windrow.ledger.sessions import RuleCount

SOURCES_FAILED = 3

_SHOWN = 20
"""Changes that are shown at the end of a run."""


def summary_lines(summary: SessionSummary) -> list[str]:
    """Spell a summary, a part each."""
    text = [_summary_head(summary), *(f"mended: {line}" for line in summary.mended)]
    if summary.sources:
        head = ["source", "offered", "new", "changed", "gone", "refused", "fetched", "same", "failed", "received"]
        walked = ["moved", "left", "same text"] if summary.outcomes else []
        rows = [(*source[:9], size(source.received), *source[11:][: len(walked)]) for source in summary.sources]
        text.append(table([*head, *walked], rows, "  "))
    text += [f"  {of(source.source, source.trouble)}" for source in summary.sources if source.trouble]
    told = tuple(f"{source.source}: " for source in summary.sources if source.trouble)
    text += [f"  {line}" for line in summary.troubles if not line.startswith(told)]
    text += [f"  {line}" for line in summary.notes]
    if summary.outcomes:
        text.append(table(["answer", "times"], [outcome[1:] for outcome in summary.outcomes], "  "))
    text += left_out(summary.left_out)
    if summary.phases:
        head = ["item", "phase", "done", "cancelled", "failed"]
        text.append(table(head, [phase[1:] for phase in summary.phases], "  "))
    if summary.reasons:
        text.append(table(["reason", "items", "meaning"], summary.reasons, "  "))
    if summary.changes:
        shown = changes(summary.changes[:_SHOWN])
        more = len(summary.changes) > _SHOWN or summary.changes_left_out
        text += ["changes:", *(f"  {line}" for line in shown), *(["  and more: windrow changes"] if more else [])]
    if summary.findings:
        text.append(table(["finding", "level", "times"], summary.findings, "  "))
    if not summary.kept_all:
        text.append("try: windrow why NAME, for the story of one of them; windrow status, for all")
    return text


def _summary_head(summary: SessionSummary) -> str:
    if summary.ended is None or summary.exit_code is None:
        return f"session {summary.session} began {summary.began:%Y-%m-%d %H:%M:%S} and has not ended"
    took = span((summary.ended - summary.began).total_seconds())
    return f"session {summary.session} took {took}: {meaning(summary)}"


def left_out(rules: Sequence[RuleCount]) -> list[str]:
    """Spell what rules left out, a line for each; the first part of a table."""
    if not rules:
        return []
    return [
        table(
            ["source", "left out", "rule", "such as"], [(o.source, o.addresses, o.rule, o.example) for o in rules], "  "
        )
    ]


def meaning(summary: SessionSummary) -> str:
    """Say how a session ended: all well only where nothing failed or rests; what a rule left out is no failure."""
    code = summary.exit_code or 0
    if code == SOURCES_FAILED:
        broken = sum(bool(source.trouble) for source in summary.sources)
        return f"{broken:,} of {counted(len(summary.sources), 'source')} failed" if broken else EXITS[code]
    if code:
        return EXITS.get(code, "failed")
    refused = sum(source.refused for source in summary.sources)
    failed = max(
        sum(reason.items for reason in summary.reasons) - refused, sum(source.failed for source in summary.sources)
    )
    told = [f"{refused:,} refused"] if refused else []
    told += [f"{failed:,} failed"] if failed else []
    told += [counted(summary.warnings, "warning")] if summary.warnings else []
    troubled = sum(bool(source.trouble) for source in summary.sources)
    told += [f"trouble at {counted(troubled, 'source')}"] if troubled else []
    return f"done, {', '.join(told)}" if told else EXITS[0]


RESTING = 20
"""Items that rest, shown one by one."""


@verb("status", examples=["windrow status", "windrow status --json"])
def status_command(voice: Voice) -> int:
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
    if failing := [source.source for source in standing.sources if source.failed]:
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
            source.source,
            source.owner,
            source.state,
            source.last_good,
            source.items,
            source.new,
            source.changed,
            source.same,
            source.gone,
            source.failed,
            source.next_due,
        )
        for source in standing.sources
    ]
    parts: list[str] = [table(head, rows) if rows else "no sources; try: windrow new source NAME URL --collection KIND"]
    if troubles := [of(source.source, source.trouble) for source in standing.sources if source.trouble]:
        parts += ["", *troubles]
    if standing.waits:
        parts += ["", *(f"{wait.collection}: {wait.told()}" for wait in standing.waits)]
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
