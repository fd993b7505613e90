"""The short form of a collection of JSON records: a list behind an API, in each of the ways that pages are linked."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.clock import pass_time
from tests.collections.events.place import Site as WebSite
from tests.collections.events.place import serving
from tests.sessions import session_settings
from windrow.adapters.records import RecordAdapter
from windrow.app.summary import count_left_out
from windrow.config import Workspace, load
from windrow.contract import Answer, Collection, FollowResult, MissingOffer, Observation, Request, Skip, WholeListing
from windrow.contract.json_list import EVERY, JsonList
from windrow.engine.frontier import frontier_of
from windrow.engine.session import Session
from windrow.ledger import Ledger
from windrow.model import Site as SourceSite
from windrow.model import Source
from windrow.reasons import Reason
from windrow.settings.configuration import Configuration
from windrow.settings.kinds import DURATION
from windrow.settings.setting import ASKED, Setting, store_of
from windrow.stores.records import RecordStore


def read(key: str, item: Mapping[str, Any]) -> Observation | Skip:
    return Observation(key, dict(item), str(item)) if item.get("n") else Skip(Reason.NOT_VALID, key, "it has no n")


def collection(**more: Any) -> Collection:
    things = JsonList("things?page=1", read, **more)
    return Collection(
        "things", ("ask", "read"), things.requests(), (things.settle("read", "1"),),
        configuration=Configuration(
            settings=(store_of("things"),), source=(*ASKED, Setting(EVERY, DURATION, 0.0, "how often"))
        ),
    )  # fmt: skip


BY_LINK = collection(following="links.next")
BY_TOKEN = collection(following="cursor", parameter="after")
BY_NUMBER = collection(parameter="page", items="", key="code.id")
ALONE = collection()


def harvest(root, site: WebSite, declared: Collection, run: int, settings: str = 'every = "0s"') -> Session:
    """Run one session over the source `here`."""
    (root / "windrow.toml").write_text(
        f'[source.here]\ncollection = "things"\nurl = "{site.url}/"\ndelay = "0s"\n{settings}\n'
    )
    pass_time(2)  # the first page is due each second
    workspace: Workspace = load(root, environ={}, collections={"things": declared})
    with Session(session_settings(workspace), f"run {run}") as session:
        session.run_harvest(RecordAdapter(declared).harvest(workspace))
    return session


def put(site: WebSite, path: str, document: Any) -> None:
    site.put(path, json.dumps(document), "application/json")


def state(root) -> dict[str, Any]:
    """Return the current value of each record, None for a gone one."""
    with closing(RecordStore(root / "things.db", read_only=True)) as store:
        return {version.key: version.value and version.value["n"] for version in store.versions()}


PAGED = {
    "link": (BY_LINK, [
        ("/things?page=1", {"items": [{"id": "a", "n": 1}, {"id": 2, "n": 2}], "links": {"next": "/more"}}),
        ("/more", {"items": [{"id": "c", "n": 3}], "links": {"next": None}}),
    ]),
    "token": (BY_TOKEN, [
        ("/things?page=1", {"items": [{"id": "a", "n": 1}, {"id": 2, "n": 2}], "cursor": "x y"}),
        ("/things?page=1&after=x+y", {"items": [{"id": "c", "n": 3}], "cursor": ""}),
    ]),
    "number": (BY_NUMBER, [
        ("/things?page=1", [{"code": {"id": "a"}, "n": 1}, {"code": {"id": 2}, "n": 2}]),
        ("/things?page=2", [{"code": {"id": "c"}, "n": 3}]),
        ("/things?page=3", []),
    ]),
    "alone": (ALONE, [("/things?page=1", {"items": [{"id": "a", "n": 1}, {"id": 2, "n": 2}, {"id": "c", "n": 3}]})]),
}  # fmt: skip


@pytest.mark.parametrize("form", PAGED)
def test_all_pages_of_a_list_are_read_each_time_and_what_it_lacks_twice_is_gone(tmp_path, form):
    declared, pages = PAGED[form]
    with serving() as site:
        for path, document in pages:
            put(site, path, document)
        assert harvest(tmp_path, site, declared, 1).failed == 0
        assert state(tmp_path) == {"here/a": 1, "here/2": 2, "here/c": 3}
        assert [path for path in site.asked if path != "/robots.txt"] == [path for path, _ in pages]
        # a change and a new record on the last page with items, behind pages without anything new
        path, last = next((path, page) for path, page in reversed(pages) if page)
        items = last["items"] if isinstance(last, dict) else last
        new_items = [*items[:-1], items[-1] | {"n": 30}, items[-1] | {"id": "d", "code": {"id": "d"}, "n": 4}]
        put(site, path, last | {"items": new_items} if isinstance(last, dict) else new_items)
        assert harvest(tmp_path, site, declared, 2).failed == 0
        assert state(tmp_path) == {"here/a": 1, "here/2": 2, "here/c": 30, "here/d": 4}
        shorter = new_items[:-1]
        put(site, path, last | {"items": shorter} if isinstance(last, dict) else shorter)
        harvest(tmp_path, site, declared, 3)
        assert state(tmp_path)["here/d"] == 4, "a list that changes while it is read may lack a record once"
        harvest(tmp_path, site, declared, 4)
        assert state(tmp_path) == {"here/a": 1, "here/2": 2, "here/c": 30, "here/d": None}


def test_a_page_that_is_not_a_list_and_an_empty_list_do_not_make_records_gone(tmp_path):
    declared, pages = PAGED["link"]
    with serving() as site:
        for path, document in pages:
            put(site, path, document)
        harvest(tmp_path, site, declared, 1)
        for run in (2, 3, 4):
            put(site, "/more", {"error": "busy"})
            harvest(tmp_path, site, declared, run)
        assert state(tmp_path) == {"here/a": 1, "here/2": 2, "here/c": 3}
        put(site, "/things?page=1", {"items": []})
        for run in (5, 6, 7):
            harvest(tmp_path, site, declared, run)
        assert state(tmp_path) == {"here/a": 1, "here/2": 2, "here/c": 3}, "an empty list is doubtful"


@pytest.mark.parametrize(
    ("content", "keys", "faults"),
    [
        (b"", None, ()),
        (b"\xff", None, ()),
        (b"[" * 100_000, None, ()),
        (b'{"items": {"a": 1}}', None, ()),
        (b'{"items": [{"id": 0}, {"id": "x"}]}', ["0", "x"], ()),
        (
            b'{"items": [1, {"id": null}, {"id": ""}, {"id": true}, {"id": [1]}, {"id": "x"}, {"id": "x", "n": 2}]}',
            ["x"],
            (*(f"item {number} has no id" for number in range(1, 6)), "item 7 has the id of an earlier item, 'x'"),
        ),
    ],
)
def test_any_bytes_are_a_page_or_none_and_no_item_is_lost_in_silence(content, keys, faults):
    things = JsonList("things", read)
    page = things.parse_page(io.BytesIO(content))
    assert (None if page is None else list(page.items)) == keys
    assert (page.faults if page else ()) == faults


def follow(declared: JsonList, learned: dict[str, Any], name: str, document: Any) -> FollowResult:
    view = io.BytesIO(json.dumps(document).encode())
    answer = Answer(Request("http://a.example/things", name), 200, {}, view, datetime(2026, 1, 1, tzinfo=UTC))
    return declared.follow(Source("here", "things", SourceSite("")), learned, answer)


def test_a_page_with_an_error_or_fewer_items_than_the_total_ends_no_listing() -> None:
    things = JsonList("things", read, following="next")
    items = [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
    for error in ({"error": "busy"}, {"errors": ["busy"]}, {"success": False}):
        assert follow(things, {}, "next", {"items": [], **error}).skip is Reason.PROTOCOL_ERROR
        first = follow(things, {}, "first", {"items": items, **error, "next": "/more"})
        last = follow(things, dict(first.learned), "next", {"items": items[:1]})
        assert (len(first.offers), len(first.findings), last.ends_listing) == (2, 1, False)
        again = follow(things, dict(last.learned), "first", {"items": items})
        assert (again.ends_listing, again.findings) == (True, ())
    first = follow(things, {}, "first", {"items": [items[0], {"id": "", "n": 2}], "next": "/more"})
    last = follow(things, dict(first.learned), "next", {"items": [{"id": "c", "n": 3}]})
    assert (len(first.findings), last.ends_listing) == (1, False), "the item without a key may be any of the records"
    assert follow(things, dict(last.learned), "first", {"items": [items[0], items[0]]}).ends_listing
    for total, is_whole in ((3, True), (4, False), (0, True), (2, True)):
        first = follow(things, {"listed": 99}, "first", {"items": items, "total": total, "next": "/more"})
        last = follow(things, dict(first.learned), "next", {"items": [{"id": "c", "n": 3}], "total": total})
        assert (last.ends_listing, len(last.findings)) == (is_whole, not is_whole)
    assert not follow(things, {}, "first", {"items": [], "total": 4}).ends_listing
    first = follow(things, {}, "first", {"items": items, "total": 4, "next": "/more"})
    last = follow(things, dict(first.learned), "next", {"items": [{"id": "d", "n": 4}], "total": 3})
    assert (last.ends_listing, len(last.findings)) == (False, 1), "an item moved to the first page meanwhile"
    again = follow(things, dict(last.learned), "first", {"items": items, "total": 2})
    assert (again.ends_listing, again.findings) == (True, ())


def test_numbers_that_json_lacks_are_null() -> None:
    page = JsonList("things", read).parse_page(
        io.BytesIO(b'{"items": [{"id": "a", "n": NaN, "m": [-Infinity, 1e999, 1.5]}]}')
    )
    assert page is not None
    assert page.items["a"] == {"id": "a", "n": None, "m": [None, None, 1.5]}


def test_what_is_gone_had_a_record_and_a_list_may_keep_what_it_lacks():
    missing = tuple(
        MissingOffer(f"here/{name}", value, listings)
        for name, value, listings in (("a", {"n": 1}, 2), ("b", {"n": 1}, 1), ("skipped", None, 5))
    )
    things, listing = JsonList("things", read), WholeListing(None, datetime(2026, 1, 1, tzinfo=UTC), 9, missing)
    assert [*things.find_gone(listing)] == [Observation("here/a", None)]
    assert [*things.find_gone(listing._replace(offers=0))] == []
    assert [*replace(things, gone_after=0).find_gone(listing)] == []


@pytest.mark.parametrize("following", [{"href": "/more"}, ["/more"], 1.5, True])
def test_a_next_page_of_another_kind_ends_no_listing_and_fails_its_source(tmp_path, following) -> None:
    with serving() as site:
        put(site, "/things?page=1", {"items": [{"id": "a", "n": 1}], "links": {"next": "/more"}})
        put(site, "/more", {"items": [{"id": "b", "n": 2}]})
        harvest(tmp_path, site, BY_LINK, 1)
        put(site, "/things?page=1", {"items": [{"id": "a", "n": 1}], "links": {"next": following}})
        for run in (2, 3, 4):
            assert harvest(tmp_path, site, BY_LINK, run).failed == 1
        assert state(tmp_path) == {"here/a": 1, "here/b": 2}


def test_a_next_page_whose_address_is_not_valid_is_counted(tmp_path) -> None:
    with serving() as site:
        put(site, "/things?page=1", {"items": [{"id": "a", "n": 1}], "links": {"next": "http://[x"}})
        harvest(tmp_path, site, BY_LINK, 1)
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        assert [(count.reason, count.addresses) for count in count_left_out(ledger.sessions.tasks((0, 1 << 60)))] == [
            ("bad_address", 1)
        ]


def test_a_key_that_no_database_can_store_costs_no_run(tmp_path) -> None:
    with serving() as site:
        site.put("/things?page=1", '{"items": [{"id": "\\ud800x", "n": 1}, {"id": "b", "n": 2}]}', "application/json")
        for run in (1, 2):
            harvest(tmp_path, site, ALONE, run)
        assert state(tmp_path) == {"here/?x": 1, "here/b": 2}


@pytest.mark.parametrize(
    ("declared", "url", "name", "answer", "outcome"),
    [
        (BY_LINK, "https://a.example/1", "first", (200, {"items": [{"id": "a"}], "links": {"next": "1"}}),
         ([], 1, Reason.CRAWLER_TRAP, False)),
        (BY_LINK, "https://a.example/1", "first", (200, {"items": [{"id": "a"}], "links": {"next": "2"}}),
         (["2"], 1, None, False)),
        (BY_TOKEN, "https://a.example/1?after=x", "next", (200, {"items": [], "cursor": "x"}),
         ([], 0, Reason.CRAWLER_TRAP, False)),
        (BY_NUMBER, "https://a.example/1?page=2", "next", (404, "no such page"), ([], 0, None, True)),
        (BY_NUMBER, "https://a.example/1?page=1", "first", (404, "no such page"), ([], 0, Reason.PROTOCOL_ERROR, False)),
        (BY_TOKEN, "https://a.example/1?after=x", "next", (404, "gone"), ([], 0, Reason.PROTOCOL_ERROR, False)),
    ],
)  # fmt: skip
def test_a_page_that_names_itself_is_no_end_and_a_number_that_is_not_found_is_one(declared, url, name, answer, outcome):
    (discovery,) = declared.discoveries
    source = Source("here", "things", SourceSite("https", "a.example"))
    status, document = answer
    view = io.BytesIO(json.dumps(document).encode())
    result = discovery.follow(
        source, {}, Answer(Request(url, name), status, {}, view, datetime(2026, 1, 1, tzinfo=UTC))
    )
    urls = [request.url for request in result.requests]
    assert (urls, len(result.offers), result.skip, result.ends_listing) == outcome


@pytest.mark.parametrize(("total", "is_whole"), [(2, True), (3, False)])
def test_a_number_that_is_not_found_ends_no_list_that_stated_more_items(total, is_whole):
    (discovery,) = collection(parameter="page").discoveries
    source, learned = Source("here", "things", SourceSite("https", "a.example")), {}
    pages = [(1, "first", 200, {"items": [{"id": "a"}, {"id": "b"}], "total": total}), (2, "next", 404, "no such page")]
    for number, name, status, document in pages:
        request = Request(f"https://a.example/1?page={number}", name)
        view = io.BytesIO(json.dumps(document).encode())
        result = discovery.follow(source, learned, Answer(request, status, {}, view, datetime(2026, 1, 1, tzinfo=UTC)))
        learned |= result.learned
    messages = [] if is_whole else ["the list states 3 items, but its pages have 2"]
    assert (result.ends_listing, [finding.message for finding in result.findings]) == (is_whole, messages)


@pytest.mark.parametrize("requests_of_a_run", [0, 1])
def test_a_key_on_two_pages_is_one_record_and_a_list_that_is_a_circle_fails(tmp_path, requests_of_a_run) -> None:
    runs = 2 * (1 + requests_of_a_run)
    with serving() as site:
        put(site, "/things?page=1", {"items": [{"id": "a", "n": 1}, {"id": "b", "n": 2}], "links": {"next": "/more"}})
        put(site, "/more", {"items": [{"id": "a", "n": 9}, {"id": "c", "n": 3}], "links": {"next": "/things?page=1"}})
        for run in range(runs):
            pass_time(3600 * (run == runs // 2))
            harvest(tmp_path, site, BY_LINK, run, f'every = "1h"\nmax_requests_per_run = {requests_of_a_run}')
        assert [path for path in site.asked if path != "/robots.txt"] == ["/things?page=1", "/more"] * 2
    with closing(RecordStore(tmp_path / "things.db", read_only=True)) as store:
        assert [(version.key, version.value["n"]) for version in store.versions()] == [
            ("here/a", 1), ("here/b", 2), ("here/c", 3),
        ]  # fmt: skip
        assert [(skipped.key, skipped.reason) for skipped in store.skipped(key="here/a")] == [
            ("here/a", "listed_twice")
        ] * 2
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        tasks = ledger.sessions.tasks((0, 1 << 60))
        left_out_in_status = frontier_of(ledger, BY_LINK).left_out("here", ())
    assert [(count.reason, count.addresses) for count in count_left_out(tasks)] == [("listed_twice", 2)], "in two"
    assert [(count.reason, count.addresses) for count in left_out_in_status] == [("listed_twice", 1)]
    assert [task.reason for task in tasks if task.failed] == ["crawler_trap"] * 2


def test_a_nul_in_a_key_or_a_value_is_replaced_and_reported(tmp_path):
    """SQLite ends a text at it in `json_each` and `json_extract`, so that two records were one."""
    with serving() as site:
        put(site, "/things?page=1", {"items": [{"id": f"a\0{name}", "n": f"{name}\0end"} for name in "bc"]})
        session = harvest(tmp_path, site, ALONE, 1)
        assert state(tmp_path) == {f"here/a\ufffd{name}": f"{name}\ufffdend" for name in "bc"}
        with closing(RecordStore(tmp_path / "things.db", read_only=True)) as store:
            latest = store.latest([f"here/a\ufffd{name}" for name in "bc"])
            skipped = store._connection.execute("SELECT key, reason FROM skipped ORDER BY key").fetchall()
        assert {key: value["n"] for key, value in latest.items()} == state(tmp_path)
        assert skipped == [(key, "wrong_encoding") for key in latest]
        assert session.failed == 0
        for run in (2, 3):
            assert harvest(tmp_path, site, ALONE, run).failed == 0
        assert None not in state(tmp_path).values(), "what the list offers is what the step reads"
