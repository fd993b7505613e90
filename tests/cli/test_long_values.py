"""Values that are too long for a line of a terminal are shortened there; `--json` has all of them."""

from __future__ import annotations

from datetime import UTC, datetime

from windrow.adapters.adapter import SourceChange
from windrow.adapters.search_answer import SearchResult
from windrow.app.summary import SessionSummary
from windrow.cli.changes import change_lines
from windrow.cli.search import _format_result
from windrow.cli.status import summary_lines
from windrow.formats.text import table

LONG = "long " * 200_000
AT = datetime(2026, 1, 1, tzinfo=UTC)
CHANGE = SourceChange(AT, "one", "pages", "changed", "https://example.org/", LONG, LONG)


def test_long_values_are_shortened_on_a_line_and_marked() -> None:
    result = SearchResult([(LONG, False)], "https://example.org/", LONG, [(LONG, True)], (LONG,), "page_result", None)
    summary = SessionSummary(1, "run", "me", AT, AT, 0, notes=(LONG,), changes=(CHANGE,))
    for lines in (
        change_lines([CHANGE]),
        _format_result(1, result, styled=False).splitlines(),
        summary_lines(summary),
        table(["source", "such as"], [("one", LONG)]).splitlines(),
    ):
        assert any(line.endswith(("…", "…)")) for line in lines)
        assert max(map(len, lines)) < 2_500
