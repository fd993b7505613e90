"""Pages of lists: which page is the next, and a page that states an error or more events than it has."""

import io
import json

import pytest

from tests.collections.events.place import configured
from tests.collections.events.reader import VISITED, parser, read
from windrow.collections.events.discover import EMPTIED, UNPAGED, follow
from windrow.collections.events.readers.by_fields import read_json
from windrow.collections.events.readers.by_path import next_html_page
from windrow.collections.events.readers.paging import next_json_page
from windrow.collections.events.reading import source_document
from windrow.contract import Answer, Request
from windrow.errors import ConfigError, StepError
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


def follow_page(source, document, learned, name="first"):
    view = io.BytesIO(json.dumps(document).encode() if isinstance(document, dict) else document)
    return follow(source, learned, Answer(Request("http://a.example/x", name), 200, {}, view, VISITED))


def test_a_total_above_the_rows_of_all_pages_is_counted_and_ends_no_listing(tmp_path):
    rules = {name: rule for name, rule in JSON_PAGES.items() if name != "root"}
    (source,) = configured(tmp_path, "http://a.example/x", reader="json", **rules).sources
    refused = follow_page(source, {"rows": [], "total": 40}, {})
    assert (refused.skip, refused.findings[0].message) == (
        Reason.PROTOCOL_ERROR, "the document has no events, but states a total of 40"
    )  # fmt: skip
    rows = [{"t": "Board", "s": f"2026-10-{day:02}T18:00"} for day in range(1, 8)]
    for first, rest, total, missing in ((7, 0, 40, 33), (7, 0, 7, 0), (7, 0, 0, 0), (4, 3, 9, 2), (4, 3, 7, 0)):
        following = {"next": "?p=2"} if rest else {}
        result = follow_page(source, {"rows": rows[:first], "total": total} | following, {})
        if rest:
            assert (result.left_out, result.ends_listing) == ((), False)
            last = {"rows": rows[first : first + rest], "total": total}
            result = follow_page(source, last, result.learned, "page")
        assert [(count.reason, count.addresses) for count in result.left_out] == [("truncated", missing)] * bool(
            missing
        )
        assert result.ends_listing == (not missing)
    first_page = follow_page(source, {"rows": rows[:4], "total": 7, "next": "?p=2"}, {})
    result = follow_page(source, {"rows": rows[5:], "total": 6}, first_page.learned, "page")  # the 5th moved to page 1
    assert ([count.addresses for count in result.left_out], result.ends_listing) == ([1], False)


@pytest.mark.parametrize(
    ("query", "document", "headers", "missing"),
    [("", {"meta": {"total": 400}, "links": {"next": "/x?page=2"}}, {}, 398), ("", {"links": {"next": "/x?page=2"}}, {}, 1),
     ("", {}, {"link": '<http://a.example/x?page=2>; rel="next"'}, 1), ("", {}, {"x-wp-total": "9"}, 7),
     ("", {}, {"x-wp-totalpages": "4"}, 1), ("", {"pagination": {"page": 1, "pages": 3, "count": 240}}, {}, 238),
     ("", {"nextPageToken": "abc"}, {}, 1), ("", {"@odata.nextLink": "http://a.example/x?$skip=2"}, {}, 1),
     ("", {"_links": {"next": {"href": "/x?p=2"}}}, {}, 1), ("?limit=2", {}, {}, 1), ("?$top=2", {}, {}, 1),
     ("?per_page=2", {"total": 2}, {}, 0), ("?limit=3", {}, {}, 0), ("", {"next": None, "links": {"next": ""}}, {}, 0),
     ("", {"meta": {"total": 2, "last_page": 1}}, {"x-wp-totalpages": "1"}, 0), ("", {"next": "2026-12-01"}, {}, 0)],
)  # fmt: skip
def test_a_list_that_states_further_pages_or_is_as_long_as_asked_is_told_and_not_whole(
    tmp_path, query, document, headers, missing
):
    rules = {name: rule for name, rule in JSON_PAGES.items() if name not in {"root", "next_page"}}
    (source,) = configured(tmp_path, "http://a.example/x", reader="json", **rules).sources
    body = json.dumps({"rows": [ROW, ROW | {"s": "2026-10-06T18:00"}]} | document).encode()
    request = Request(f"http://a.example/x{query}", "first")
    result = follow(source, {}, Answer(request, 200, headers, io.BytesIO(body), VISITED))
    assert [count.addresses for count in result.left_out] == [missing] * bool(missing)
    assert result.ends_listing == (not missing)


@pytest.mark.parametrize(
    ("rule", "query", "more", "expected"),
    [("?page", "", {"meta": {"last_page": 3}}, "?page=2"), ("?page", "?page=3", {"meta": {"last_page": 3}}, ""),
     ("?page", "?page=2", {"total": 4}, ""), ("?page", "?page=2", {"total": 5}, "?page=3"), ("?page", "", {}, "?page=2"),
     ("?page", "?page=2", {"rows": []}, ""), ("?page", "?limit=3", {}, ""), ("?page", "?limit=2&page=4", {}, "?limit=2&page=5"),
     ("?$offset", "?$limit=2", {}, "?$limit=2&$offset=2"), ("?offset", "?offset=2", {"total": 4}, "")],
)  # fmt: skip
def test_a_parameter_of_the_address_may_count_the_pages(rule, query, more, expected):
    document = page({"rows": [ROW, ROW]} | more, **{**JSON_PAGES, "next_page": rule})
    document = document._replace(url=f"http://a.example/x{query}")
    assert next_json_page(document) == (f"http://a.example/x{expected}" if expected else "")


def test_a_next_page_that_is_never_selected_is_reported_until_it_is(tmp_path):
    fields = {"title": "b", "start": "i"}
    (source,) = configured(
        tmp_path, "http://a.example/x", reader="html", items="li", fields=fields, next_page="a.nxt"
    ).sources
    page_of_one = b"<li><b>Board</b><i>2026-10-05</i></li>"
    result = follow_page(source, page_of_one, {})
    assert (result.findings[0].kind, result.learned[UNPAGED]["events"]) == ("NoNextPage", 1)
    learned = {**follow_page(source, page_of_one + b"<a class=nxt href='?p=2'>", result.learned).learned}
    assert (learned[UNPAGED], learned.get(EMPTIED)) == ({}, None)
    last = follow_page(source, page_of_one, learned)
    assert (last.findings, UNPAGED in last.learned) == ((), False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"reader": "html", "next_page": "a[["}, "next_page: 'a\\[\\[' is not a CSS selector"),
     ({"reader": "html", "items": "li::"}, "items: 'li::' is not a CSS selector"),
     ({"reader": "xml", "next_page": "next"}, "next_page: the reader xml does not use it")],
)  # fmt: skip
def test_a_selector_that_is_not_valid_is_refused_when_the_settings_are_read(tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        configured(tmp_path, "http://a.example/x", **settings)


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
     ('<a class=n href="/x">', ""), ('<base href="/b/"><a class=n href="?p=2">', "http://a.example/b/?p=2"), ('<a class=n href="http://[x">', None)],
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
