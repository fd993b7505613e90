"""Pictures as inline SVG. Colours come from classes of the style sheet, since pages allow no inline style."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from windrow.app.captures import SessionEntry
from windrow.formats.text import spell_duration

_HEIGHT, _BAR, _GAP = 48, 10, 4  # of the picture of sessions, in units of its own


def outcome_class(entry: SessionEntry) -> str:
    """Return the class of a session's outcome: good, part (some sources failed), bad, or open (not ended)."""
    return {None: "open", 0: "good", 3: "part", 130: "part"}.get(entry.exit_code, "bad")


def session_bars(entries: Sequence[SessionEntry]) -> Markup:
    """Return a bar for each session, the oldest left: its height is how long it took, its class how it ended."""
    if not entries:
        return Markup()
    durations = [(entry.ended - entry.began).total_seconds() if entry.ended else 0.0 for entry in entries]
    longest, width = max([*durations, 0.001]), len(entries) * (_BAR + _GAP)
    bars = []
    for place, (entry, seconds) in enumerate(zip(reversed(entries), reversed(durations), strict=True)):
        height = max(3.0, round(_HEIGHT * (seconds / longest) ** 0.5, 1))
        text = f"session {entry.session}, {spell_duration(seconds) if entry.ended else 'not ended'}"
        bars.append(
            f'<rect class="{outcome_class(entry)}" x="{place * (_BAR + _GAP)}" y="{_HEIGHT - height:g}" '
            f'width="{_BAR}" height="{height:g}" rx="2"><title>{escape(text)}</title></rect>'
        )
    label = f"How long the last {len(entries)} sessions took; the newest is on the right"
    return Markup(  # noqa: S704 numbers, our own words, and escaped text
        f'<svg class="bars" role="img" aria-label="{label}" viewBox="0 0 {width} {_HEIGHT}" width="{width}" '
        f'height="{_HEIGHT}">{"".join(bars)}</svg>'
    )
