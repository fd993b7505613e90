"""Pages of lists: which page is the next, and a page that states an error or more events than it has."""

import json

import pytest

from tests.collections.events.reader import VISITED, parser, read
from windrow.collections.events.readers.by_fields import check_total, next_json_page, read_json
from windrow.collections.events.readers.by_path import next_html_page
from windrow.collections.events.reading import source_document
from windrow.errors import StepError
from windrow.reasons import Reason

JSON_PAGES = {"items": "rows", "fields": {"title": "t", "start": "s"}, "next_page": "next", "root": "rows"}
ROW = {"t": "Board", "s": "2026-10-05T18:00"}


def page(document, reader="json", **rules):
    by = parser(reader, **rules)
    return source_document(by, json.dumps(document).encode(), "http://a.example/x", VISITED, "")


@pytest.mark.parametrize("error", [{"error": "busy"}, {"errors": [{"message": "busy"}]}, {"success": False}])
def test_a_document_that_states_an_error_is_no_empty_list_and_no_whole_one(error):
    with pytest.raises(StepError) as refused:
        list(read_json(page({"rows": []} | error, **JSON_PAGES)))
    assert refused.value.reason is Reason.PROTOCOL_ERROR
    _, (skipped,) = read(json.dumps({"rows": [ROW]} | error), "json", **JSON_PAGES)
    assert (skipped.reason, skipped.key) == (Reason.PROTOCOL_ERROR, "")


def test_an_empty_list_with_a_total_is_refused_on_the_first_page():
    with pytest.raises(StepError, match="a total of 40"):
        check_total(page({"rows": [], "total": 40}, **JSON_PAGES))
    for document in ({"rows": [], "total": 0}, {"rows": [ROW], "total": 40}, {"rows": []}):
        check_total(page(document, **JSON_PAGES))


@pytest.mark.parametrize(
    ("following", "expected"),
    [(None, ""), (False, ""), ("", ""), ("?p=2", "http://a.example/x?p=2"), ({"href": "?p=2"}, None), (["?p=2"], None), (2, None),
     (True, None), ("http://[x", None), ("javascript:next()", None), ("x", None)],
)  # fmt: skip
def test_the_next_page_of_json_is_an_address_or_unknown(following, expected):
    document = page({"rows": [ROW], "next": following}, **JSON_PAGES)
    if expected is None:
        with pytest.raises(StepError):
            next_json_page(document)
    else:
        assert next_json_page(document) == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [('<a class=n href="?p=2">', "http://a.example/x?p=2"), ('<li class=n><a href="?p=2">2</a></li>', "http://a.example/x?p=2"),
     ("<a class=n>", ""), ('<a class=n href="#">', ""), ('<a class=n href="javascript:void(0)">', ""), ("", ""),
     ('<a class=n href="/x">', ""), ('<a class=n href="http://[x">', None)],
)  # fmt: skip
def test_the_next_page_of_html_is_a_link_or_the_first_one_in_what_is_selected(link, expected):
    by = parser("html", next_page=".n")
    document = source_document(by, link.encode(), "http://a.example/x", VISITED, "")
    if expected is None:
        with pytest.raises(StepError):
            next_html_page(document)
    else:
        assert next_html_page(document) == expected


def test_events_of_schema_org_without_a_start_are_told_and_each_of_several_starts_is_an_event():
    scripts = (
        ("application/ld+json; charset=utf-8", {"@type": "Event", "name": "A", "startDate": ["2026-10-05", "2026-10-07"],
                                                "endDate": ["2026-10-06", "2026-10-08"]}),
        ("Application/LD+JSON", {"@type": "Event", "name": "B", "eventSchedule": {"@type": "Schedule"}}),
        ("application/ld+json", {"@type": "Event", "name": "C", "@id": "#c"}),
        ("application/ld+json", {"@type": "EventSeries", "name": "D", "subEvent": [
            {"@type": "Event", "name": "E", "startDate": "2026-10-09"}]}),
        ("application/ld+json", {"@type": "Place", "event": {"@type": "Event", "@id": "#c"}}),
        ("text/javascript", {"@type": "Event", "name": "F"}),
    )  # fmt: skip
    text = "".join(f'<script type="{type_}">{json.dumps(event)}</script>' for type_, event in scripts)
    read_events, unread = read(text, "schema.org")
    assert [tuple(event.value[key][:10] for key in ("title", "datetime", "end_datetime")) for event in read_events] == [
        ("A", "2026-10-05", "2026-10-06"), ("A", "2026-10-07", "2026-10-08"), ("E", "2026-10-09", "")
    ]  # fmt: skip
    assert [part.reason for part in unread] == [Reason.INCOMPLETE_RECORD] * 2
    assert ["eventSchedule" in part.message for part in unread] == [True, False]
