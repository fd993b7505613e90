"""A session's summary as text: by source, by phase and by reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.changes import lines as changes
from windrow.cli.verb import EXITS
from windrow.display import counted, of, size, span, table

SOURCES_FAILED = 3

_SHOWN = 20
"""Changes that are shown at the end of a run."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.app.summary import SessionSummary
    from windrow.engine.crawl.left_out import RuleCount


def lines(summary: SessionSummary) -> list[str]:
    """Spell a summary, a part each."""
    text = [_head(summary), *(f"mended: {line}" for line in summary.mended)]
    if summary.sources:
        head = ["source", "offered", "new", "changed", "gone", "refused", "fetched", "same", "failed", "received"]
        walked = ["moved", "left", "same text"] if summary.outcomes else []
        rows = [(*one[:9], size(one.received), *one[11:][: len(walked)]) for one in summary.sources]
        text.append(table([*head, *walked], rows, "  "))
    text += [f"  {of(one.source, one.trouble)}" for one in summary.sources if one.trouble]
    told = tuple(f"{one.source}: " for one in summary.sources if one.trouble)
    text += [f"  {line}" for line in summary.troubles if not line.startswith(told)]
    text += [f"  {line}" for line in summary.notes]
    if summary.outcomes:
        text.append(table(["answer", "times"], [one[1:] for one in summary.outcomes], "  "))
    text += left_out(summary.left_out)
    if summary.phases:
        head = ["item", "phase", "done", "cancelled", "failed"]
        text.append(table(head, [one[1:] for one in summary.phases], "  "))
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


def _head(summary: SessionSummary) -> str:
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
        broken = sum(bool(one.trouble) for one in summary.sources)
        return f"{broken:,} of {counted(len(summary.sources), 'source')} failed" if broken else EXITS[code]
    if code:
        return EXITS.get(code, "failed")
    refused = sum(one.refused for one in summary.sources)
    failed = max(sum(one.items for one in summary.reasons) - refused, sum(one.failed for one in summary.sources))
    told = [f"{refused:,} refused"] if refused else []
    told += [f"{failed:,} failed"] if failed else []
    told += [counted(summary.warnings, "warning")] if summary.warnings else []
    troubled = sum(bool(one.trouble) for one in summary.sources)
    told += [f"trouble at {counted(troubled, 'source')}"] if troubled else []
    return f"done, {', '.join(told)}" if told else EXITS[0]
