"""JSON-LD whose values are elsewhere: in other objects of the page, or in other pages."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from tests.collections.events.place import configured, events, serving
from tests.collections.events.reader import read
from windrow import Windrow
from windrow.collections.events.discover import follow
from windrow.config import load
from windrow.contract import Answer, Request
from windrow.errors import ConfigError

HTML = "text/html; charset=utf-8"


def page(*blocks):
    scripts = "".join(f'<script type="application/ld+json">{json.dumps(block)}</script>' for block in blocks)
    return f"<html><body><main>Town</main>{scripts}</body></html>"


def event(**fields):
    return {"@type": "Event", "name": "Fair", "startDate": "2099-01-15T10:00", **fields}


GRAPH = {"@graph": [
    event(
        **{"@id": "#fair"}, location={"@id": "#hall"}, organizer=[{"@id": "#town"}, {"@type": "Person", "@id": "#ann"}],
        superEvent=[{"@id": "#season"}],
    ),
    {"@id": "#hall", "@type": "Place", "name": "Hall", "address": {"@id": "#address"}, "event": {"@id": "#fair"}},
    {"@id": "#season", "@type": "EventSeries", "name": "Season", "subEvent": [{"@id": "#fair"}] * 3},
    {"@id": "#ann", "@type": "Person", "name": "Ann"},
]}  # fmt: skip
OTHER_BLOCK = [
    {"@id": "#town", "name": "Town"},
    {"@id": "#address", "@type": "PostalAddress", "streetAddress": "1 Main St", "addressLocality": "Springfield"},
]


def test_references_are_followed_to_objects_elsewhere_in_the_page():
    read_events, _ = read(page(GRAPH, OTHER_BLOCK), "schema.org")
    fair = read_events[0]
    assert [fair.value[name] for name in ("location", "organizer", "super_event")] == [
        "Hall, 1 Main St, Springfield", "Town; Ann", "Season"
    ]  # fmt: skip
    assert json.loads(fair.aside["source_text"])["location"]["name"] == "Hall"
    assert fair.aside["source_text"].count("#fair") == 1  # not once for each part of the series


def test_a_reference_to_nothing_in_the_page_is_kept_as_its_address():
    fair = event(location={"@id": "https://a.example/hall"}, organizer={"@id": "https://a.example/town"})
    (found,), unread = read(page(fair), "schema.org")
    assert unread == []
    assert (found.value["location"], found.value["organizer"]) == ("https://a.example/hall", "https://a.example/town")


@pytest.mark.parametrize(
    ("reference", "object_id"),
    [
        ("#hall", "http://a.example/x#hall"), ("http://a.example/x#hall", "#hall"), ("/places/1", "../places/1"),
        ("_:b0", "_:b0"), ("http://[", "http://["),
    ],
)  # fmt: skip
def test_ids_are_compared_as_addresses_of_the_page(reference, object_id):
    hall = {"@id": object_id, "@type": "Place", "name": "Hall"}
    (fair,), unread = read(page([event(location={"@id": reference}), hall]), "schema.org")
    assert (fair.value["location"], unread) == ("Hall", [])


@pytest.mark.parametrize(
    ("reference", "location"),
    [("/places/1", "http://a.example/places/1"), ("#hall", "http://a.example/x#hall"), ("_:b0", "")],
)
def test_a_relative_reference_to_nothing_in_the_page_is_kept_as_an_absolute_address(reference, location):
    (fair,), _ = read(page(event(location={"@id": reference})), "schema.org")
    assert fair.value["location"] == location


NAME_PART = {"@id": "#f", "@type": "Event", "name": "Fair", "description": "Short."}
START_PART = {
    "@id": "http://a.example/x#f", "@type": "Event", "startDate": "2099-01-15T10:00", "location": "Hall",
    "description": "Long.",
}  # fmt: skip
UNTYPED_PART = {name: value for name, value in START_PART.items() if name != "@type"}


@pytest.mark.parametrize(
    "parts", [(NAME_PART, START_PART), (NAME_PART, UNTYPED_PART), (NAME_PART, START_PART, NAME_PART)]
)
def test_an_event_that_several_objects_describe_is_one_event(parts):
    (fair,), unread = read(page(*parts), "schema.org")
    assert unread == []
    assert [fair.value[name] for name in ("title", "datetime", "location", "description")] == [
        "Fair", "2099-01-15T15:00:00Z", "Hall", "Short.; Long."
    ]  # fmt: skip
    assert fair.uid == "p/http://a.example/x#f"


def test_events_with_one_id_and_other_names_or_starts_are_not_joined():
    one_id = {"@id": "http://a.example/x", "description": "About."}
    events_of_page = [event(**one_id), event(**one_id, name="Market"), event(**one_id, startDate="2099-01-16T10:00")]
    read_events, unread = read(page(events_of_page), "schema.org")
    assert [found.value["title"] for found in read_events] == ["Fair", "Market", "Fair"]
    assert unread == []


@pytest.mark.parametrize("second", [{"@type": "Event"}, {}], ids=["typed", "untyped"])
def test_a_second_start_of_an_event_has_its_name(second):
    second = {"@id": "http://a.example/x#f", **second, "startDate": "2099-02-15T10:00", "location": "Hall"}
    read_events, unread = read(page(event(**{"@id": "#f"}), second), "schema.org")
    assert [[found.value[name] for name in ("title", "datetime", "location")] for found in read_events] == [
        ["Fair", "2099-01-15T15:00:00Z", ""], ["Fair", "2099-02-15T15:00:00Z", "Hall"]
    ]  # fmt: skip
    assert unread == []


def test_a_start_with_the_id_of_two_events_has_no_name():
    parts = [event(**{"@id": "#f"}), event(**{"@id": "#f"}, name="Market")]
    parts.append({"@id": "#f", "@type": "Event", "startDate": "2099-02-15T10:00"})
    read_events, _ = read(page(parts), "schema.org")
    assert [found.value["title"] for found in read_events] == ["Fair", "Market", "(without a title)"]


def test_a_page_with_the_id_of_its_event_is_not_a_part_of_it():
    web_page = {"@id": "#f", "@type": "WebPage", "name": "Fair - Town", "description": "The page."}
    (fair,), _ = read(page(web_page, event(**{"@id": "#f"}, description="The fair.")), "schema.org")
    assert (fair.value["title"], fair.value["description"]) == ("Fair", "The fair.")


def renamed(tree, prefix):
    if isinstance(tree, list):
        return [renamed(part, prefix) for part in tree]
    if isinstance(tree, dict):
        return {
            name if name.startswith("@") else f"{prefix}{name}": f"{prefix}{part}"
            if name == "@type"
            else renamed(part, prefix)
            for name, part in tree.items()
        }
    return tree


@pytest.mark.parametrize("prefix", ["schema:", "https://schema.org/", "http://www.schema.org/", "s:"])
def test_names_may_have_a_prefix_or_the_address_of_schema_org(prefix):
    hall = {"@type": "Place", "name": "Hall", "address": {"@type": "PostalAddress", "streetAddress": "1 Main St"}}
    status = {"@id": f"{prefix}EventCancelled"}
    content = renamed(event(location=hall, eventStatus=status), prefix)
    (fair, other), unread = read(page(content, event(name="Other")), "schema.org")
    assert unread == []
    assert [fair.value[name] for name in ("title", "datetime", "location", "status")] == [
        "Fair", "2099-01-15T15:00:00Z", "Hall, 1 Main St", "cancelled"
    ]  # fmt: skip
    assert other.value["title"] == "Other"


@pytest.mark.parametrize(
    "content",
    [
        {"@context": {"@vocab": "http://schema.org/", "titel": "name", "ev": "http://schema.org/", "on": {"@id": "ev:startDate"}},
         "@type": "ev:Event", "titel": "Fair", "on": "2099-01-15T10:00"},
        {"@context": ["https://schema.org", {"Fest": "http://schema.org/Event", "t": "@type", "@language": "en"}],
         "t": "Fest", "name": "Fair", "startDate": "2099-01-15T10:00"},
        {"@context": {"foaf": "http://xmlns.com/foaf/0.1/"}, "foaf:name": "Town", **event(), "foaf:startDate": "2001"},
        {"@context": "https://schema.org", "type": ["Event"], "name": "Fair", "startDate": "2099-01-15T10:00"},
    ],
)  # fmt: skip
def test_names_are_those_that_the_context_defines(content):
    (fair,), unread = read(page(content), "schema.org")
    assert (fair.value["title"], fair.value["datetime"], unread) == ("Fair", "2099-01-15T15:00:00Z", [])


BASED = event(**{"@id": "fair"}, location={"@id": "hall"}, url="fair.html", organizer={"@id": "#town"})


def test_addresses_are_joined_with_the_base_of_the_page():
    hall, town = {"@id": "http://a.example/b/hall", "name": "Hall"}, {"@id": "http://a.example/b/#town", "name": "Town"}
    content = page(BASED, hall, town).replace("<html>", "<html><head><base target=_top><base href=' /b/'></head>")
    (fair,), unread = read(content, "schema.org")
    assert [fair.value[name] for name in ("location", "event_url", "organizer")] == [
        "Hall", "http://a.example/b/fair.html", "Town"
    ]  # fmt: skip
    assert unread == []
    # Not with the base, as each page of the site may have this id
    (fair,), _ = read(page(event(**{"@id": "#fair"})).replace("<body>", "<base href=/b/>"), "schema.org")
    assert fair.uid == "p/http://a.example/x#fair"


def test_addresses_are_joined_with_the_base_of_their_block():
    based = {"@context": ["https://schema.org", {"@base": "https://b.example/c/"}], **BASED}
    (fair,), _ = read(
        page(based, {"@id": "https://b.example/c/hall", "name": "Hall"}, {"@id": "#town", "name": "Town"}), "schema.org"
    )
    assert [fair.value[name] for name in ("location", "event_url", "organizer")] == [
        "Hall", "https://b.example/c/fair.html", "Town"
    ]  # fmt: skip
    assert fair.uid == "p/https://b.example/c/fair"


def test_json_ld_in_its_expanded_form_is_read():
    site = "http://schema.org/"
    content = [{
        "@type": [f"{site}Event"], f"{site}name": [{"@value": "Fair"}], f"{site}startDate": [{"@value": "2026-09-17T10:00"}],
        f"{site}eventSchedule": [{
            "@type": [f"{site}Schedule"], f"{site}repeatFrequency": [{"@value": "P1W"}],
            f"{site}startDate": [{"@value": "2026-09-17"}], f"{site}byDay": [{"@id": "schema:Thursday"}],
            f"{site}repeatCount": [{"@value": 2}], f"{site}startTime": [{"@value": "10:00"}],
        }],
    }]  # fmt: skip
    read_events, unread = read(page(content), "schema.org")
    assert unread == []
    assert [found.value["datetime"][:10] for found in read_events] == ["2026-09-17", "2026-09-24"]


def test_type_and_id_without_a_sign_are_those_of_json_ld():
    hall = {"id": "#hall", "type": "Place", "name": "Hall"}
    fair = {"@context": "https://schema.org", "type": "Event", "id": "#f", "name": "Fair", "startDate": "2099-01-15"}
    (found,), unread = read(page({**fair, "location": {"id": "#hall", "type": "Place"}}, hall), "schema.org")
    assert (found.uid, found.value["location"], unread) == ("p/http://a.example/x#f", "Hall", [])


LIST = {"@type": "ItemList", "itemListElement": [
    {"@type": "ListItem", "position": 1, "url": "/events/1"},
    {"@type": "ListItem", "position": 2, "item": {"@id": "/events/2"}},
    {"@type": "ListItem", "position": 3, "item": "ftp://a.example/3"},
    {"@type": "ListItem", "position": 4, "item": {"@id": "#fair"}},
    {"@type": "ListItem", "position": 5, "item": event(name="Concert")},
    {"@type": "ListItem", "position": 6, "url": "#top"},
]}  # fmt: skip
CRUMBS = {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "position": 1, "item": "/home"}]}


def answered(root, content, name="first", **settings):
    configured(root, "http://a.example/", reader="schema.org", **settings)
    (source,) = load(root, environ={}).of("events")
    answer = Answer(Request("http://a.example/", name), 200, {}, io.BytesIO(content.encode()), datetime.now(UTC))
    return follow(source, {}, answer)


def test_addresses_in_an_item_list_are_counted_and_followed_only_if_the_source_says_so(tmp_path):
    content = page(event(**{"@id": "#fair"}), LIST, CRUMBS)
    result = answered(tmp_path, content)
    assert (len(result.offers), result.requests) == (2, ())
    assert [(count.reason, count.addresses) for count in result.left_out] == [("not_wanted", 3)]
    followed = answered(tmp_path, content, details="itemListElement")
    assert [request.url for request in followed.requests] == ["http://a.example/events/1", "http://a.example/events/2"]
    assert [(count.reason, count.addresses) for count in followed.left_out] == [("bad_address", 1)]
    # The page of an event may list further events.
    assert answered(tmp_path, content, name="detail", details="itemListElement").requests == ()


def test_a_page_that_only_lists_addresses_says_which_setting_requests_them(tmp_path):
    result = answered(tmp_path, page(LIST | {"itemListElement": LIST["itemListElement"][:2]}))
    assert [finding.message for finding in result.findings] == [
        "the page has no event in JSON-LD; it lists the addresses of 2 pages: to request them, set details = 'itemListElement'"
    ]
    with pytest.raises(ConfigError, match="itemListElement"):
        configured(tmp_path, "http://a.example/", reader="schema.org", details="events:url")


def test_the_events_on_the_listed_pages_are_read(tmp_path):
    with serving() as site:
        site.put("/", page(LIST | {"itemListElement": LIST["itemListElement"][:2]}), HTML)
        site.put("/events/1", page(event(name="First")), HTML)
        site.put("/events/2", page(), HTML)
        configured(tmp_path, f"{site.url}/", reader="schema.org", details="itemListElement")
        Windrow(tmp_path).run()
        assert sorted(site.asked) == ["/", "/events/1", "/events/2", "/robots.txt"]
    assert [found["title"] for found in events(load(tmp_path, environ={}))] == ["First"]


@pytest.mark.parametrize(
    ("fields", "end", "note"),
    [
        ({"duration": "PT2H30M"}, "2099-01-15T17:30:00Z", None), ({"duration": "P1D"}, "2099-01-16T15:00:00Z", None),
        ({"duration": "two hours"}, "", "the source writes: two hours"),
        ({"duration": "PT2H", "startDate": "2099-01-15"}, "", "the source writes: PT2H"),
        ({"duration": "PT2H", "endDate": "2099-01-15T11:00"}, "2099-01-15T16:00:00Z", None),
    ],
)  # fmt: skip
def test_a_duration_gives_the_end(fields, end, note):
    (fair,), _ = read(page(event(**fields)), "schema.org")
    assert (fair.value["end_datetime"], fair.value.get("end_note")) == (end, note)


def test_a_status_may_end_with_a_slash_and_an_address_begin_with_www():
    (fair,), _ = read(page(event(eventStatus="http://schema.org/EventPostponed/", url="www.b.example/1")), "schema.org")
    assert (fair.value["status"], fair.value["event_url"]) == ("postponed", "http://www.b.example/1")
