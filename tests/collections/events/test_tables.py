"""Events in rows of HTML tables: each cell belongs to its heading, whatever other cells span."""

import json

import pytest

from tests.collections.events.reader import read
from windrow.reasons import Reason

FIELDS = {"start": "column:Date|column:When", "title": "column:Meeting", "location": "column:Room"}
HEAD = "<tr><th>Date<th>Room<th>Meeting<th>Notes</tr>"
FIRST = ("Board", "Hall", "2026-12-01T15:00:00Z")


def read_rows(rows, head=HEAD, items="tr"):
    read_events, unread = read(f"<table>{head}{rows}</table>", "html", items=items, fields=FIELDS)
    values = [read_event.value for read_event in read_events]
    return [(value["title"], value["location"], value["datetime"]) for value in values], unread


@pytest.mark.parametrize(("rows", "second"), [
    ("<td>Dec 1, 2026 10:00<td rowspan=2>Hall<td>Board<td>x</tr><tr><td>Dec 2, 2026 10:00<td>Council<td>y",
     ("Council", "Hall", "2026-12-02T15:00:00Z")),
    ("<td rowspan=0>Dec 1, 2026 10:00<td>Hall<td>Board<td>x</tr><tr><td>Room 2<td>Council<td>y",
     ("Council", "Room 2", "2026-12-01T15:00:00Z")),
    ("<td>Dec 1, 2026 10:00<td>Hall<td>Board<td rowspan=2>x</tr><tr><td>Dec 2, 2026 10:00<td>Room 2<td>Council",
     ("Council", "Room 2", "2026-12-02T15:00:00Z")),
])  # fmt: skip
def test_cells_that_span_rows_or_columns_move_no_other_cell(rows, second):
    assert read_rows(f"<tr>{rows}</tr>") == ([FIRST, second], [])


def test_a_heading_over_two_columns_has_the_texts_of_both():
    head = "<thead><tr><th colspan=2>When<th>Room<th>Meeting</tr></thead>"
    assert read_rows("<tr><td>Dec 1, 2026<td>10:00 AM<td>Hall<td>Board</tr>", head) == ([FIRST], [])


def test_a_day_with_a_time_that_is_not_known_yet_has_a_note():
    page = f"<table>{HEAD}<tr><td>Dec 1, 2026 TBD<td>Hall<td>Board</tr><tr><td>Dec 1, 2026<td>Hall<td>Fair</tr></table>"
    read_events, _ = read(page, "html", items="tr", fields=FIELDS)
    assert [(found.value["all_day"], found.value.get("time_note")) for found in read_events] == [
        (True, "the source writes: Dec 1, 2026 TBD"), (True, None),
    ]  # fmt: skip


def test_a_table_in_a_cell_is_no_part_of_the_rows():
    rows = "<tr><td>Dec 1, 2026 10:00<td>Hall<td>Board<td><table><tr><th>File<tr><th>a</table></tr>"
    assert read_rows(rows) == ([FIRST], [])


def test_a_row_without_a_cell_below_the_heading_of_the_title_is_rejected():
    read_events, unread = read_rows(
        "<tr><td colspan=4>Dec 1, 2026</tr><tr><td>Dec 1, 2026 10:00<td colspan=3>Board</tr>"
    )
    assert (read_events, [part.reason for part in unread]) == ([], [Reason.INCOMPLETE_RECORD] * 2)


def test_spans_beyond_the_bounds_of_html_are_read():
    rows = "<tr><td rowspan=99999 colspan=99999>Dec 1, 2026</tr>" + "<tr></tr>" * 500
    assert [part.reason for part in read_rows(rows, items="tr:has(td)")[1]] == [Reason.INCOMPLETE_RECORD]


@pytest.mark.parametrize(("item", "title"), [
    ("<li>Zon<b>ing</b> Bo<wbr>ard</li>", "Zoning Board"), ("<li><b>Board</b><span>Hall</span></li>", "Board Hall"),
    ("<li>Board<script>x()</script><i hidden>old</i></li>", "Board"), ("<li><b>When:</b>Noon</li>", "When: Noon"),
    ("<table><tr class=li><td><b>B</b>oard<td>Hall<td hidden>old</tr></table>", "Board Hall"),
])  # fmt: skip
def test_texts_have_no_hidden_words_and_no_spaces_in_words(item, title):
    fields = {"title": "", "start": "=2026-12-01"}
    (read_event,), _ = read(item, "html", items="li, .li", fields=fields)
    assert read_event.value["title"] == title
    (read_event,), _ = read(json.dumps([{"t": item}]), "json", fields={**fields, "title": "t"}, html_fields=("title",))
    assert read_event.value["title"] == title
