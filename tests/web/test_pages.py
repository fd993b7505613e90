"""What the pages say, for people and for programs, and what they refuse."""

from __future__ import annotations

import gzip
import io
import shutil
import sqlite3
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import cast
from urllib.parse import quote

import pytest
from lxml import html
from starlette.applications import Starlette
from starlette.routing import Mount

import windrow
from tests.web.farm import HOSTILE, SITE, changed, get
from windrow.adapters.adapter import SourceChange
from windrow.app import Windrow
from windrow.app import changes as app_changes
from windrow.app.captures import KeptCapture
from windrow.app.listening import Address, ProxyHeader
from windrow.app.summary import describe_end
from windrow.caps import WEB_CHANGES
from windrow.formats.http import CUT_BODY
from windrow.ledger import Ledger
from windrow.stores.sqlite import reads_only
from windrow.web import app, pages, steady, worker
from windrow.web.guard import Guard

FERRY = quote(f"{SITE}/ferry.html", safe="")
LONG_AGO = "since=2026-01-01"
PATHS = (
    "/", f"/?{LONG_AGO}", f"/changes?{LONG_AGO}", f"/diff?name={FERRY}", f"/diff?name={FERRY}&form=sides", f"/why?name={FERRY}", "/why?name=harwell",
    "/why?name=H.2026-01-12.1.impc.zip", "/why?name=town", "/sessions", "/sessions/1", "/search", "/search?q=ferry&explain=1",
    "/sessions/1?path=1&name=a&root=b&self=c",
    "/search?q=hostile", "/help", "/help?q=sandbox", "/help/reference/search", "/openapi", "/collections", "/why?name=nothing", "/nothing", "/changes?since=never", f"/changes?{LONG_AGO}&q=nothing",
)  # fmt: skip


def capture_of(view, name: str) -> int:
    messages = get(view, f"/why.json?name={name}").json["explained"][0]
    return next(message["number"] for message in messages if message["type"] == "page_attempt")


def test_today_says_what_needs_a_person_what_changed_and_how_the_sources_are(view, farm) -> None:
    page = html.fromstring(get(view, f"/?{LONG_AGO}").text)
    needs = page.xpath("//section[@aria-labelledby='needs']//li")
    assert "harwell" in needs[0].text_content()
    assert "windrow why harwell" in needs[0].text_content()
    assert "6 new" in page.text_content()
    assert "1 changed" in page.text_content()
    assert [link.text for link in page.xpath("//table//th/a")] == ["harwell", "town"]
    value = get(view, f"/index.json?{LONG_AGO}").json
    assert value["counts"] == {"new": 6, "changed": 1, "gone": 0}
    assert value["sources"] == get(view, "/", accept="application/json").json["sources"]


def test_every_page_is_a_whole_page_with_its_json_beside_it(view) -> None:
    for path in PATHS:
        reply = get(view, path)
        page = html.fromstring(reply.text)
        assert page.xpath("string(//title)"), path
        assert len(page.xpath("//h1")) == 1, path
        twin = page.xpath("//footer//a[text()='This page as JSON']/@href")
        assert bool(twin) == (reply.status == 200), path
        assert not twin or (get(view, twin[0]).status == 200 and get(view, twin[0]).json is not None), path
        answer = get(view, path, accept="application/json")
        assert (answer.status, answer.fields["content-type"]) == (reply.status, "application/json"), path


def test_texts_of_strangers_are_escaped_and_no_page_allows_a_script(view) -> None:
    for path in PATHS:
        reply = get(view, path)
        assert "script-src" not in reply.fields["content-security-policy"]
        assert "unsafe-inline" not in reply.fields["content-security-policy"]
        page = html.fromstring(reply.text)
        assert page.xpath("//script | //img | //@style | //@onload | //@onerror | //style") == [], path
    assert HOSTILE in html.fromstring(get(view, f"/changes?{LONG_AGO}").text).text_content()


def test_no_text_turns_the_direction_of_what_stands_after_it(view) -> None:
    reply = get(view, f"/search?q=photo{quote(chr(0x202E))}gpj.exe")
    assert "photo\N{REPLACEMENT CHARACTER}gpj.exe" in reply.text
    assert chr(0x202E) not in reply.text


def test_links_of_pages_lead_to_pages(view) -> None:
    targets = {
        link for path in PATHS for link in html.fromstring(get(view, path).text).xpath("//a/@href | //link/@href")
    }
    local = sorted({target.partition("#")[0] for target in targets if target.startswith("/")})
    assert len(local) > 40
    assert [(target, get(view, target).status) for target in local if get(view, target).status != 200] == []
    assert [target for target in targets if not target.startswith(("/", "#"))] == []
    anchors = {*html.fromstring(get(view, "/help/reference/reasons").text).xpath("//@id")}
    reasons = {target.partition("#")[2] for target in targets if target.startswith("/help/reference/reasons#")}
    assert {"bad_date", "not_found"} & anchors & reasons
    assert reasons <= anchors


def test_changes_are_paged_without_shifting_when_new_ones_come(view, farm, monkeypatch) -> None:
    def numbered(number: int) -> SourceChange:
        return SourceChange(farm.sessions()[0].began, "town", "pages", "new", f"key {number:03}", "", "", fact=number)

    def list_newest(workspace, ledger, since, *, upto=99, **options) -> Iterator[SourceChange]:
        return reversed([change for change in listed if change.fact <= upto])

    monkeypatch.setattr(pages, "_PAGE_LINES", 3)
    listed = [numbered(number) for number in range(5)]
    monkeypatch.setattr(pages, "newest_changes", list_newest)
    first = get(view, "/changes.json?since=2026-01-05").json
    listed.append(numbered(9))
    second = get(view, f"/changes.json?cursor={first['next']}").json
    keys = [change["key"] for page in (first, second) for change in page["changes"]]
    assert keys == ["key 004", "key 003", "key 002", "key 001", "key 000"]
    assert (first["total"], second["total"], second["next"]) == (5, 2, "")
    feeds = [get(view, "/changes.feed?kind=new").json]
    feeds.append(get(view, feeds[0]["next_url"].removeprefix("http://localhost")).json)
    assert [item["title"][-3:] for feed in feeds for item in feed["items"]] == [
        "009",
        "004",
        "003",
        "002",
        "001",
        "000",
    ]
    assert "next_url" not in feeds[1]
    feeds = [ET.fromstring(get(view, f"/changes.atom?{query}").body) for query in ("", "kind=new", "kind=new&q=k")]
    assert len({feed.findtext("{http://www.w3.org/2005/Atom}id") for feed in feeds}) == 3
    links = {each.get("rel"): each.get("href") for each in feeds[1].findall("{http://www.w3.org/2005/Atom}link")}
    assert links["self"] == "http://localhost/changes.atom?kind=new"
    assert links["next"].startswith("http://localhost/changes.atom?kind=new&since=")


def test_a_page_counts_and_looks_through_a_bounded_number_of_changes_and_leads_on(view, farm, monkeypatch) -> None:
    monkeypatch.setattr(pages, "WEB_CHANGES", WEB_CHANGES._replace(number=4))
    monkeypatch.setattr(app_changes, "_READ_AT_ONCE", 2)
    target, seen = "/changes.json?since=2026-01-02&q=ferry", []
    assert "of the newest 4 changes have these words" in get(view, target.replace(".json", "")).text
    page = {"next": ""}
    for _ in range(20):
        page = get(view, f"{target}&cursor={page['next']}").json
        seen += [change["key"] for change in page["changes"]]
        if not page["next"]:
            break
        assert page["total"] is None
    ferry = [each for each in farm.changes(date(2000, 1, 1)) if "ferry" in f"{each.key} {each.title} {each.difference}"]
    assert sorted(seen) == sorted(each.key for each in ferry) != []
    today = get(view, "/index.json?since=2026-01-02").json
    assert (sum(today["counts"].values()), today["more"]) == (4, True)
    assert "of the newest" in get(view, "/?since=2026-01-02").text


def test_filters_choose_and_feeds_have_exactly_what_is_shown(view) -> None:
    shown = get(view, f"/changes.json?{LONG_AGO}&collection=pages&kind=new&q=ferry").json["changes"]
    assert [change["key"] for change in shown] == [f"{SITE}/ferry.html"]
    atom = ET.fromstring(get(view, f"/changes.atom?{LONG_AGO}&collection=pages&kind=new&q=ferry").body)
    assert len(atom.findall("{http://www.w3.org/2005/Atom}entry")) == 1
    feed = get(view, f"/changes.feed?{LONG_AGO}&source=harwell").json
    assert [item["tags"][2] for item in feed["items"]] == ["harwell"] * 4
    assert get(view, f"/changes.json?{LONG_AGO}&until=2026-01-02").json["total"] == 0


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("/changes?kind=odd", 400, "kind"),
        ("/diff?name=a&new=someday", 400, "new: 'someday' is not a day"),
        ("/changes?cursor=!!", 400, "cursor"),
        ("/changes?since=someday", 400, "since"),
        ("/changes?since=0001-01-01T00:00%2B23:59", 400, "since"),
        (f"/search?q={'a' * 2501}", 400, "2,500"),
        ("/search?q=a&offset=99999", 400, "offset"),
        ("/why?name=", 400, "empty"),
        ("/why?name=unheard-of", 404, "unheard-of"),
        ("/changes?source=unheard-of", 400, "not declared"),
        ("/sessions/99", 404, "99"),
        ("/captures/999999", 404, "999999"),
        (f"/captures/{'9' * 30}", 404, "nothing has the number"),
        ("/../windrow.toml", 404, "no page"),
    ],
)
def test_what_cannot_be_asked_or_is_not_there_is_said(view, target, status, text) -> None:
    reply = get(view, target)
    assert reply.status == status
    assert text in html.fromstring(reply.text).text_content()
    assert text in get(view, target, accept="application/json").json["message"]


def test_a_source_shows_its_last_runs_and_a_session_its_course_with_an_example_for_each_reason(view, farm) -> None:
    page = html.fromstring(get(view, "/").text)
    (kept,) = page.xpath("//a[text()='this address']/@href")
    assert get(view, kept.replace("/?", "/index.json?")).json["since"] == get(view, "/index.json").json["at"]
    failing = next(card for card in page.xpath("//ul[@class='cards']/li") if card.xpath("a[text()='harwell']"))
    assert failing.xpath("p/text()")[0].startswith("2 items failed: the date is not a day of the calendar")
    assert [len(row.xpath(".//*[local-name()='title']")) for row in page.xpath("//td[@class='runs']")] == [1, 2]
    assert [run.session for run in farm.runs()["town"]] == [2, 3]
    details = get(view, "/sessions/1.json").json
    assert {task["phase"] for task in details["tasks"]} >= {"zip_name", "unzip"}
    page = html.fromstring(get(view, "/sessions/1").text)
    assert describe_end(farm.session(1).summary) in page.xpath("//dd")[1].text_content()
    assert describe_end(farm.session(1).summary).startswith("done, ")
    assert "all well" not in get(view, "/sessions").text  # a list knows only what failed
    assert len(page.xpath("//ol[@class='timeline']/li")) == len(
        {tuple(task[name] for name in ("collection", "source", "phase")) for task in details["tasks"]}
    )
    assert {*page.xpath("//table[caption='Sources']//td/@data-name")} > {"source", "offered", "refused"}
    assert {reason["reason"] for reason in details["summary"]["reasons"]} == {*details["examples"]}
    for example in details["examples"].values():
        assert page.xpath("//td/a[text()=$name]", name=example)
        assert get(view, f"/why?name={quote(example, safe='')}").status == 200


def test_narrowing_a_search_keeps_what_was_chosen(view) -> None:
    page = html.fromstring(get(view, "/search?q=crosses+hrabour&explain=1&as_of=2026-11-27&collection=pages").text)
    links = [*page.xpath("//aside//a/@href"), *page.xpath("//a[contains(@href, 'crosses+harbour')]/@href")]
    assert len(links) > 2
    assert [link for link in links if "explain=1" not in link or "as_of=2026-11-27" not in link] == []


def test_the_lines_of_two_versions_stand_side_by_side(view) -> None:
    page = html.fromstring(get(view, f"/diff?name={FERRY}&form=sides").text)
    (lines,) = page.find_class("sides")
    old, new = (lines.xpath(f"./p[@class='{side}']")[0].text_content() for side in ("old", "new"))
    assert "every hour" in old
    assert "every day" in new
    assert lines.xpath(".//del/text()")[0] == "hour"
    assert page.xpath("//a[@aria-current='true']")[0].text == "Side by side"
    assert get(view, f"/diff?name={FERRY}&form=round").status == 400


def test_a_capture_can_be_looked_at_and_downloaded_and_is_never_a_page(view) -> None:
    number = capture_of(view, FERRY)
    facts = get(view, f"/captures/{number}.json").json
    assert facts["url"] == f"{SITE}/ferry.html"
    for kind, media_type in (("text", "text/plain; charset=utf-8"), ("download", "application/octet-stream")):
        reply = get(view, f"/captures/{number}/{kind}")
        assert HOSTILE in reply.text
        assert reply.fields["content-type"] == media_type
        assert reply.fields["x-content-type-options"] == "nosniff"
        assert reply.fields["content-security-policy"].startswith("sandbox;")
    assert reply.fields["content-disposition"] == f'attachment; filename="capture-{number}.txt"'


def test_a_long_capture_is_shown_in_part_and_says_so(farm, view, monkeypatch) -> None:
    number = capture_of(view, FERRY)
    monkeypatch.setattr(pages, "SHOWN_CAPTURE_BYTES", pages.SHOWN_CAPTURE_BYTES._replace(number=10))
    assert "the first 10 of" in get(view, f"/captures/{number}/text").text
    assert len(get(view, f"/captures/{number}/download").body) > 10


def test_a_capture_whose_body_was_cut_says_so() -> None:
    coded = gzip.compress(bytes(range(256)) * 400)[:-20]
    kept = KeptCapture(
        1, datetime(2026, 1, 1, tzinfo=UTC), "s", f"{SITE}/a", 200, len(coded), "", "a.warc", 0, 1,
        {"content-encoding": "gzip"}, io.BytesIO(coded),
    )  # fmt: skip
    workspace = cast(Windrow, SimpleNamespace(capture=lambda _: kept._replace(body=io.BytesIO(coded))))
    assert pages.capture(workspace, 1).cut
    assert CUT_BODY in pages.shown_text(workspace, 1)


def test_a_file_of_a_partner_can_be_downloaded_from_its_story(view, farm) -> None:
    page = html.fromstring(get(view, "/why?name=H.2026-01-12.1.impc.zip").text)
    (link,) = page.xpath("//a[starts-with(@href, '/captures/')]/@href")
    assert (
        get(view, f"{link}/download").body
        == (farm.config.root.parent / "partner/add/H.2026-01-12.1.impc.zip").read_bytes()
    )


def test_what_is_unchanged_is_not_sent_again_and_long_pages_are_packed(view) -> None:
    plain = get(view, f"/changes?{LONG_AGO}")
    assert get(view, f"/changes?{LONG_AGO}", if_none_match=plain.fields["etag"]).status == 304
    packed = get(view, f"/changes?{LONG_AGO}", accept_encoding="gzip")
    assert gzip.decompress(packed.body) == plain.body
    assert "immutable" in get(view, "/style.css").fields["cache-control"]
    assert plain.fields["cache-control"] == "no-cache, private"


def test_no_page_is_made_again_before_the_next_fact(view, farm, monkeypatch) -> None:
    def fail(*_, **_options):
        raise AssertionError("the page was made again")

    tags = {path: get(view, path).fields["etag"] for path in ("/sessions", "/sessions.json", "/sessions?before=2")}
    assert len({*tags.values()}) == 3
    other_view = app(farm)
    monkeypatch.setattr(windrow.Windrow, "sessions", fail)
    for path, tag in tags.items():
        reply = get(view, path, if_none_match=f'"other", {tag}')
        assert (reply.status, reply.body, reply.fields["etag"]) == (304, b"", tag)
    assert get(other_view, "/sessions", if_none_match=tags["/sessions"], faulty=AssertionError).status == 500
    number = get(view, "/sessions/1").fields["etag"]
    monkeypatch.setattr(windrow.Windrow, "session", fail)
    assert get(view, "/sessions/1", if_none_match=number).status == 304


def test_the_state_of_the_sources_is_counted_once_a_minute_unless_there_are_facts(farm, monkeypatch) -> None:
    at, fact, values = datetime(2026, 1, 1, tzinfo=UTC), 7, iter(range(9))
    monkeypatch.setattr(steady, "now", lambda: at)
    is_running = False
    monkeypatch.setattr(steady, "read_facts", lambda _: (is_running, fact))
    kept = [steady.keep_steady(farm, "a test", lambda: next(values)) for _ in range(2)]
    at += timedelta(minutes=1)
    kept.append(steady.keep_steady(farm, "a test", lambda: next(values)))
    fact = 8
    kept.append(steady.keep_steady(farm, "a test", lambda: next(values)))
    is_running = True
    for _ in range(2):
        fact += 1
        kept.append(steady.keep_steady(farm, "a test", lambda: next(values)))
    at += timedelta(seconds=steady.RUN_SECONDS)
    kept.append(steady.keep_steady(farm, "a test", lambda: next(values)))
    assert kept == [0, 0, 1, 2, 3, 3, 4]
    is_running = False
    for _ in range(2):
        assert steady.keep_steady(farm, "another", lambda: next(values), lasts=lambda _: True) == 5
        at += timedelta(minutes=1)
    for number in range(steady._CACHED_VALUES):
        steady.keep_steady(farm, f"{number}", lambda: None)
    assert steady.keep_steady(farm, "another", lambda: next(values), lasts=lambda _: True) == 6, (
        "the oldest was dropped"
    )


def test_only_reading_is_allowed_and_only_by_names_of_this_machine(view, farm) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert get(view, "/", method).status == 405
    for host in ("evil.example", "localhost.evil.example", "localhost:80:80", ""):
        assert get(view, "/", host=host).status == 421
    assert get(view, "/", host="127.0.0.1:8470").status == 200
    assert get(app(farm, hosts=["Harvest.example"]), "/healthz", host="harvest.example").status == 200


def test_a_token_is_asked_for_and_an_open_address_is_refused(farm) -> None:
    guarded = app(farm, token="0123456789abcdef")
    assert get(guarded, "/healthz").status == 401
    assert get(guarded, "/healthz", authorization="Bearer 0123456789abcdex").status == 401
    assert get(guarded, "/healthz", authorization="Bearer 0123456789abcdef").status == 200
    assert isinstance(guarded, Guard)
    for token in ("0123456789abcdef\n0123456789abcdef", "0123456789abcdeé", "0123456789"):
        with pytest.raises(windrow.UsageError, match="visible characters"):
            app(farm, token=token)
    Address("127.0.0.1", 0).require_safe()
    Address("0.0.0.0", 0, "token", proxy="harvest.example").require_safe()
    for address in (Address("0.0.0.0", 0), Address("0.0.0.0", 0, "token"), Address("127.0.0.1", 0, proxy="a.example")):
        with pytest.raises(windrow.UsageError):
            address.require_safe()


def test_a_header_of_the_proxy_lets_a_user_in_and_that_of_anyone_else_does_not(farm) -> None:
    def ask(header: str, address: str, peer: str, **fields: str) -> int:
        view = app(farm, token="0123456789abcdef", header=ProxyHeader.read(header, address))
        return get(view, "/healthz", peer=peer, **fields).status

    assert ask("Remote-User", "", "127.0.0.1", remote_user="ann") == 200
    assert ask("Remote-User", "192.0.2.7", "192.0.2.7", remote_user="ann") == 200
    assert ask("Remote-User", "192.0.2.7", "::ffff:192.0.2.7", remote_user="ann") == 200
    assert ask("Remote-User: ann", "", "::1", remote_user="ann") == 200
    assert ask("Remote-User: ann", "", "127.0.0.1", remote_user="bo") == 401
    assert ask("Remote-User", "", "127.0.0.1", remote_user="") == 401
    assert ask("Remote-User", "", "192.0.2.7", remote_user="ann") == 401
    assert ask("Remote-User", "192.0.2.7", "127.0.0.1", remote_user="ann") == 401
    assert ask("Remote-User", "", "127.0.0.1") == 401
    assert ask("Remote-User", "", "192.0.2.7", authorization="Bearer 0123456789abcdef") == 200
    Address("127.0.0.1", 0, proxy="a.example", header=ProxyHeader("remote-user")).require_safe()
    for text, address in (("Remote User", ""), ("Remote-User:", ""), ("Remote-User", "a.example")):
        with pytest.raises(windrow.UsageError):
            ProxyHeader.read(text, address)
    with pytest.raises(windrow.UsageError, match="from a proxy"):
        Address("127.0.0.1", 0, "token", header=ProxyHeader("remote-user")).require_safe()


def test_pages_change_nothing_and_their_connections_cannot_write(view, farm) -> None:
    get(view, "/search?q=ferry")
    with changed(farm.config.root):
        for path in PATHS:
            get(view, path)
    with reads_only(), pytest.raises(windrow.LedgerError):
        ledger = Ledger(farm.config.ledger)
        try:
            with ledger.writing() as writer:
                writer.sessions.open("nobody", "run")
        finally:
            ledger.close()


def test_a_query_that_takes_too_long_is_given_up(view, monkeypatch) -> None:
    monkeypatch.setattr(worker, "WEB_SECONDS", worker.WEB_SECONDS._replace(number=0))
    monkeypatch.setattr(windrow.Windrow, "sessions", lambda *_, **_options: time.sleep(0.05))
    reply = get(view, "/sessions")
    assert reply.status == 503
    assert "not ready" in reply.text


def test_a_fault_is_a_page_without_its_cause(view, monkeypatch) -> None:
    def fail(*_, **_options):
        raise sqlite3.OperationalError("secret cause")

    monkeypatch.setattr(windrow.Windrow, "sessions", fail)
    reply = get(view, "/sessions", faulty=sqlite3.OperationalError)  # it is raised, too, for the log of the server
    assert reply.status == 500
    assert "secret" not in reply.text


def test_machines_are_told_how_the_workspace_is(view) -> None:
    health = get(view, "/healthz").json
    assert (health["ready"], health["running"], health["overdue"]) == (True, False, [])
    metrics = get(view, "/metrics").text
    assert "windrow_sessions_total 3\n" in metrics
    assert 'windrow_source_failed{source="harwell"} 2\n' in metrics
    assert b"searchTerms" in get(view, "/opensearch.xml").body


def test_every_page_of_the_manual_can_be_read_searched_and_left_by_its_links(view) -> None:
    names = [entry["name"] for entry in get(view, "/help.json").json["pages"]]
    assert {"glossary", "reference/search", "howto/look-in-a-browser"} <= {*names}
    missing = []
    for name in names:
        page = html.fromstring(get(view, f"/help/{name}").text)
        assert page.xpath("//h1"), name
        targets = {target.partition("#")[0] for target in page.xpath("//article//a/@href")}
        missing += [
            (name, to) for to in targets if to.startswith("/") and to.removeprefix("/help/") not in {*names, "/help"}
        ]
    assert missing == []
    found = [entry["name"] for entry in get(view, "/help.json?q=links-to+soft-404").json["pages"]]
    assert "reference/search" in found
    assert "glossary" not in found
    assert get(view, "/help/reference/search.json").json["title"].startswith("Queries")
    assert get(view, "/help/../../pyproject").status == 404


def test_the_web_view_can_be_mounted_in_another_application(view, farm) -> None:
    town = Starlette(routes=[Mount("/harvest", view)])
    page = html.fromstring(get(town, f"/harvest/changes?{LONG_AGO}").text)
    targets = {to.partition("#")[0] for to in page.xpath("//a/@href | //link/@href | //form/@action") if to[:1] != "#"}
    assert {get(town, target).status for target in targets if "/harvest/why" not in target} == {200}
    assert get(view, "/opensearch.xml").text.count("http://localhost/search?q=") == 1
    assert get(town, "/harvest/opensearch.xml").text.count("http://localhost/harvest/search?q=") == 1
    assert get(app(farm, behind_tls=True), "/opensearch.xml").text.count("https://localhost/search?q=") == 1


def test_sessions_and_captures_are_in_the_python_api(farm, view) -> None:
    assert [(entry.session, entry.failed) for entry in farm.sessions()] == [(3, 0), (2, 0), (1, 3)]
    assert [entry.session for entry in farm.sessions(before=3, limit=1)] == [2]
    page = html.fromstring(get(view, "/sessions").text)
    ends = [text.rpartition(" · ")[2].strip() for text in page.xpath("//ol[@class='rows']/li/span/text()")]
    assert ends == ["done", "done", "done, 3 refused or failed"]
    assert page.xpath("//span[starts-with(@class, 'dot')]/@class") == ["dot good", "dot good", "dot part"]
    kept = farm.capture(capture_of(view, FERRY))
    with kept.body:
        assert len(kept.body.read()) == kept.size
    with pytest.raises(windrow.WindrowError, match="no attempt"):
        farm.capture(10**9)


def test_a_page_that_was_taken_down_is_gone_at_once(tmp_path, farm) -> None:
    shutil.copytree(farm.config.root, tmp_path / "farm")
    copied = windrow.open(tmp_path / "farm")
    view, name = app(copied), f"{SITE}/a%22onload=%22alert(1)%22"
    number = capture_of(view, quote(name, safe=""))
    assert len(get(view, "/search.json?q=museum").json["answer"]["results"]) == 1
    copied.forget(name, "a test")
    assert get(view, f"/captures/{number}/download").status == 404
    assert get(view, "/search.json?q=museum").json["answer"]["results"] == []
    assert get(view, f"/changes.json?{LONG_AGO}&source=town&q=onload").json["total"] == 0


def test_an_empty_workspace_says_how_to_begin(tmp_path) -> None:
    empty = app(windrow.init(tmp_path / "empty"))
    for path in ("/", "/changes", "/sessions", "/search"):
        assert get(empty, path).status == 200, path
    assert "windrow new source" in get(empty, "/").text
    for path in ("/", "/sessions", "/search?q=tea"):
        text = html.fromstring(get(empty, path).text).xpath("string(//main)")
        assert "windrow new source" in text, path
        assert "windrow run" not in text, "it cannot do anything yet"
    assert get(empty, "/search?q=tea").status == 200
