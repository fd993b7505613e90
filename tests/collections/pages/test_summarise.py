"""The summary of an attempt's bytes and head that the Summary Database gets."""

# ruff: noqa: RUF001 Cyrillic letters look like others

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime

import pytest

from windrow.caps import JSON_LD_OBJECTS, PAGE_LINKS
from windrow.collections.pages.code import Locality
from windrow.collections.pages.database.entries import Sight
from windrow.collections.pages.reading.link import Link
from windrow.collections.pages.steps import find_expiry, make_entry, name_payload, summarise
from windrow.contract import Task
from windrow.formats.http import CUT_BODY
from windrow.model import ArchivePlace, Attempt, Item, KeptResponse, Limits, Reading, RecordedAttempt, Site, Source
from windrow.reasons import Reason

URL = "https://example.org/a"
DATED = {"content-type": "text/html", "date": "Sat, 21 Nov 2026 19:00:00 GMT"}


def read(
    body: str | bytes, *, source: Source | None = None, visited: datetime | None = None, dated=True, **fields: str
):
    item = Item(1, "pages", "page", URL, digest="sha256:0")
    headers = (DATED if dated else {"content-type": "text/html"}) | {
        name.replace("_", "-"): value for name, value in fields.items()
    }
    options = {"agent": "tester-crawler (for https://example.org/bot)"}
    raw = body.encode() if isinstance(body, str) else body
    task = Task(item, io.BytesIO(raw), Limits(), {}, options, fields=headers, source=source, visited=visited)
    return summarise(task)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("robots", "noindex", "noindex"),
        ("ROBOTS", "follow, NONE", "noindex"),
        ("tester-crawler", "noindex", "noindex"),
        ("other-crawler", "noindex", ""),
        ("robots", "unavailable_after: 25 Jun 2010 15:00:00 GMT", "expired"),
        ("robots", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT", "expired"),
        ("robots", "unavailable_after: 25 Jun 2110 15:00:00 GMT", ""),
        ("description", "noindex and none of it", ""),
    ],
)
def test_a_page_that_asks_not_to_be_found_has_no_text(name, content, reason):
    summary = read(f'<title>T</title><meta name="{name}" content="{content}"><main><p>Some words of it.</main>')
    assert summary.reason == reason
    assert (summary.pile is None, summary.described is None) == (bool(reason), bool(reason))


APP = "<title>App</title><div id=root></div><script src=/app.js></script>"


@pytest.mark.parametrize(
    ("body", "fields", "reason"),
    [
        (APP, {}, "no_text"),
        ("", {}, "no_text"),
        ("", {"content_type": "text/plain"}, "no_text"),
        ("PK\x03\x04" + "\x14\0" * 300, {}, "unsupported"),
        ("PK\x03\x04" + "\x14\0" * 300, {"content_type": "application/msword"}, "unsupported"),
        ("<meta http-equiv=refresh content='0; url=/new'>", {}, ""),
        (APP, {"x_amzn_waf_action": "challenge"}, "bot_wall"),
        ("<p>Show that you are no robot</p>", {"x_amzn_waf_action": "captcha"}, "bot_wall"),
        (APP + "<h1>JavaScript is disabled</h1>", {}, "bot_wall"),
        (APP + "<p>Some words of it.", {"cf_mitigated": ""}, ""),
    ],
)
def test_a_document_without_text_has_a_reason(body, fields, reason):
    assert read(body, **fields).reason == reason


@pytest.mark.parametrize(
    ("status", "body", "fields", "sight"),
    [
        (200, APP, {}, Sight.CONTENT),
        (200, "", {}, Sight.UNKNOWN),
        (202, APP, {}, Sight.UNKNOWN),
        (202, "<p>Some words of it.", {}, Sight.CONTENT),
        (200, APP, {"x_amzn_waf_action": "challenge"}, Sight.UNKNOWN),
        (200, "<p>Show that you are no robot", {"cf_mitigated": "challenge"}, Sight.UNKNOWN),
    ],
)
def test_an_answer_in_place_of_a_page_says_nothing_about_it(status, body, fields, sight):
    at = datetime(2026, 11, 21, tzinfo=UTC)
    kept = KeptResponse("sha256:0", len(body), ArchivePlace("a", 0, 9), mime="text/html")
    recorded = RecordedAttempt(1, 1, at, "blog", Attempt(1, URL, 0, True, at, 0.1, status, kept))
    summary = read(body, visited=at, **fields)
    assert make_entry(recorded, summary).crawl.sight is sight
    if fields or not body:
        assert find_expiry(summary) == at.timestamp() + 86_400, "it is requested again a day later"


PACKED = gzip.compress(b"<p>Some words of it." * 9, mtime=0)


@pytest.mark.parametrize(
    ("body", "fields", "sight"),
    [
        (gzip.compress(b"<p>" * (4 << 20), mtime=0), {"content_encoding": "gzip"}, Sight.UNKNOWN),  # bomb_ratio
        (gzip.compress(b"<p>words", mtime=0) * 1_001, {"content_encoding": "gzip"}, Sight.UNKNOWN),  # too_large
        (PACKED[:10], {"content_encoding": "gzip"}, Sight.UNKNOWN),  # truncated
        (PACKED[:10] + b"\xff" * 99, {"content_encoding": "gzip"}, Sight.UNKNOWN),  # corrupt
        (PACKED, {"content_encoding": "gzip, gzip, gzip, gzip"}, Sight.UNKNOWN),  # unsupported
        (PACKED, {"content_encoding": "exotic"}, Sight.UNKNOWN),  # unsupported
        ("<b>" * 1_000_001, {}, Sight.UNKNOWN),  # too_many_elements
        ("%PDF-1.4 broken", {"content_type": "application/pdf"}, Sight.UNKNOWN),  # corrupt
        (PACKED, {"content_encoding": "gzip"}, Sight.CONTENT),
        ("PK\x03\x04" + "\x14\0" * 300, {"content_type": "application/zip"}, Sight.CONTENT),  # a file of another kind
        ("<title>T</title>", {}, Sight.CONTENT),
    ],
)
def test_an_answer_that_cannot_be_read_says_nothing_about_its_page(body, fields, sight):
    at = datetime(2026, 11, 21, tzinfo=UTC)
    kept = KeptResponse("sha256:0", len(body), ArchivePlace("a", 0, 9), mime="text/html")
    recorded = RecordedAttempt(1, 1, at, "blog", Attempt(1, URL, 0, True, at, 0.1, 200, kept))
    assert make_entry(recorded, read(body, visited=at, **fields)).crawl.sight is sight
    assert make_entry(recorded, Reading(Reason.WORKER_DIED)).crawl.sight is Sight.UNKNOWN
    too_large = recorded._replace(attempt=recorded.attempt._replace(kept=None, reason=Reason.TOO_LARGE))
    assert make_entry(too_large, None).crawl.sight is Sight.UNKNOWN


def test_a_body_that_ends_too_early_is_a_part():
    at = datetime(2026, 11, 21, tzinfo=UTC)
    kept = KeptResponse("sha256:0", 9, ArchivePlace("a", 0, 9), mime="text/html")
    attempt = Attempt(1, URL, 0, True, at, 0.1, 200, kept, message=CUT_BODY)
    assert make_entry(RecordedAttempt(1, 1, at, "blog", attempt), read("<p>Some words.")).crawl.sight is Sight.PART


@pytest.mark.parametrize(
    ("text", "encoding", "reason"),
    [
        ("Привет, это страница о городе и его жителях.", "cp1251", "wrong_encoding"),
        ("これは町についてのページです。", "cp932", "wrong_encoding"),
        ("안녕하세요 우리 도시의 새로운 소식입니다 모두 읽어 주세요", "cp949", "wrong_encoding"),
        ("Příští zasedání zastupitelstva města se bude konat v úterý.", "cp1250", "wrong_encoding"),
        ("Él está aquí, ¿también tú? Añádelo mañana, así será más fácil.", "cp1252", ""),
        ("Où est l'élève âgé ? Là-bas, près de la forêt, à côté du château.", "cp1252", ""),
    ],
)
def test_a_text_in_another_encoding_than_it_declares_is_told(text, encoding, reason):
    assert read(text.encode(encoding), content_type="text/html; charset=iso-8859-1").reason == reason
    assert read(text.encode(encoding)).pile[0] == text, "without a declaration, its letters tell"


MAX_LINKS = PAGE_LINKS.number


def test_of_many_links_the_first_are_kept():
    summary = read("".join(f"<a href=/{at}>a</a> " for at in range(MAX_LINKS + 5)))
    assert [len(summary.links), summary.links[-1][0]] == [MAX_LINKS, f"https://example.org/{MAX_LINKS - 1}"]
    assert summary.reason == "capped"
    assert [(skip.message, skip.number) for skip in summary.left_out] == [("more than 20,000 links of a page", 5)]


def test_json_ld_beyond_its_cap_is_counted():
    summary = read(
        f"<script type=application/ld+json>{'[' + '{},' * JSON_LD_OBJECTS.number}{{}}]</script><p>Some words."
    )
    assert [(skip.message, skip.number) for skip in summary.left_out] == [
        ("more than 5,000 objects in a page's JSON-LD", 1)
    ]
    assert summary.reason == "capped"


@pytest.mark.parametrize("begin", ["", "<meta name=robots content=noindex>"])
def test_links_beyond_the_cap_are_counted_whether_a_page_has_text_or_not(begin):
    summary = read(begin + "".join(f"<a href=/{at}></a>" for at in range(MAX_LINKS + 5)))
    assert [skip.number for skip in summary.left_out] == [5]


def test_links_to_any_host_are_not_internal_if_a_source_takes_pages_of_any_host():
    for hosts in (["*"], ["*:8080"]):
        options = {"seeds": [URL], "hosts": hosts, "paths": []}
        source = Source("s", "pages", Site("https"), options=options)
        summary = read("<a href=http://elsewhere.example:8080/>b</a> <a href=/c>c</a> words", source=source)
        localities = [link[Link._fields.index("locality")] for link in summary.links]
        assert localities == [Locality.OUT, Locality.IN]


def ignoring(**options):
    return Source("site", "pages", Site("https", "example.org"), options=options)


CLOCK = (
    "<title>Notices ({seen} read)</title><header>It is <b class=clock>{at} <a href=/time>o'clock</a></b></header>"
    "<main><h1>Notices</h1><p>The council meets on Monday.</p><p>Page made at {at} for visitor {seen}.</p></main>"
)


@pytest.mark.parametrize(
    ("content_type", "page"),
    [
        ("text/html", CLOCK),
        ("text/plain", "Notices ({seen} read)\n\nIt is {at}\n\nPage made at {at} for visitor {seen}."),
    ],
)
def test_what_a_source_ignores_is_no_change(content_type, page):
    noisy = ignoring()
    source = ignoring(ignore=[".clock"], ignore_text=[r"\(\d+ read\)", r"(?:at|It is) [\d:]+", r"visitor \d+"])
    bodies = [page.format(at=at, seen=seen) for at, seen in (("08:15", 811), ("09:30", 812))]
    fields = {"dated": False, "content_type": content_type}
    first, second = (read(body, source=source, **fields) for body in bodies)
    assert first == second._replace(size=first.size)
    assert any(first.pile)
    noisy_first, noisy_second = (read(body, source=noisy, **fields) for body in bodies)
    assert noisy_first.identity != noisy_second.identity
    assert [link[0] for link in first.links] == [link[0] for link in noisy_first.links]  # links are never ignored
    assert "for ." in first.pile[0]


def test_two_different_canonical_addresses_are_none():
    element, header = "<link rel=canonical href=/b>", '<link rel="nofollow canonical" href=/c>'
    assert read(element + "x").canonical == "https://example.org/b"
    assert read(element + element + "x").canonical == "https://example.org/b"
    assert read(element + header + "x").canonical == ""
    assert read(element + "x", link="</c>; rel=canonical").canonical == ""
    assert read(element + "x", link="</b>; rel=canonical").canonical == "https://example.org/b"


@pytest.mark.parametrize(
    ("body", "header", "move"),
    [
        ("<meta http-equiv=refresh content='0; url=/new#part'>", "", ("https://example.org/new", "part", 2)),
        ("<meta http-equiv=Refresh content='3;URL=\"/new\"'>", "", ("https://example.org/new", None, 2)),
        ("", "0; url=/caf\u00c3\u00a9", ("https://example.org/caf%C3%A9", None, 1)),
        ("<meta http-equiv=refresh content=30>", "", None),
        ("<meta http-equiv=refresh content='30; url='>", "", None),
        ("<meta http-equiv=refresh content='30; url=javascript:x'>", "mailto:x@y.example", None),
    ],
)
def test_a_page_that_sends_its_readers_on_is_a_redirect_with_text(body, header, move):
    summary = read(f"<head>{body}</head><main><p>Some words of it.</main>", refresh=header)
    assert (tuple(summary.move) if summary.move else None) == move
    assert summary.pile is not None
    tags = [link[9] for link in summary.links]
    assert tags == (["meta"] if move and move[2] == 2 else [])


def test_pages_before_and_behind_are_links():
    summary = read("<link rel=next href=/2><link rel='prev start' href=/0><main><p>One")
    assert [(link[0], link[9]) for link in summary.links] == [
        ("https://example.org/2", "link"),
        ("https://example.org/0", "link"),
    ]


def site(hosts=(), paths=()):
    options = {"seeds": ("https://example.org/a",), "hosts": hosts, "paths": paths}
    return Source("blog", "pages", Site("https", "example.org", None), options=options)


BODY = (
    "<main><ul><li><a href=https://wiki.example.net/1>One</a><li><a href=https://wiki.example.net/2>Two</a>"
    "<li><a href=/shop>Shop</a><li><a href=https://elsewhere.example/>Away</a><li><a href=#x>Here</a></ul></main>"
)


@pytest.mark.parametrize(
    ("source", "reach", "index"),
    [
        (None, [2, 2, 1, 2, 0], -3),
        (site(), [2, 2, 1, 2, 0], -3),
        (site(hosts=(".example.net",)), [1, 1, 1, 2, 0], 1),
        (site(hosts=("*",)), [2, 2, 1, 2, 0], -3),  # any host may be crawled, but does not belong to the site thereby
        (site(hosts=("wiki.example.net",), paths=("/a", "/1")), [1, 2, 2, 2, 0], -3),
    ],
)
def test_locality_and_indexiness_know_the_hosts_and_paths_that_the_source_names_as_its_own(source, reach, index):
    summary = read(BODY, source=source)
    assert [link[8] for link in summary.links] == reach
    assert summary.described[-1] == index


def test_unavailable_after_holds_without_a_date_by_the_time_of_the_attempt():
    body = '<meta name=robots content="unavailable_after: 25 Jun 2026 15:00:00 GMT"><main><p>Some words of it.</main>'
    before, after = datetime(2026, 6, 25, 14, 59, tzinfo=UTC), datetime(2026, 6, 25, 15, tzinfo=UTC)
    open_ = read(body, dated=False, visited=before)
    assert (open_.reason, open_.until, open_.depends_on_header) == ("", int(after.timestamp()), True)
    closed = read(body, dated=False, visited=after)
    assert (closed.reason, closed.pile, closed.until) == ("expired", None, None)
    assert read(body, visited=before).reason == "expired", "where the server says when it is, that counts"


def test_bytes_are_known_by_what_their_head_says_of_them_too():
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def name(mime, modified):
        kept = KeptResponse("sha256:0", 9, ArchivePlace("a", 0, 9), mime=mime)
        return name_payload(
            RecordedAttempt(1, 1, at, "blog", Attempt(1, URL, 0, True, at, 0.1, 200, kept, validators=("", modified)))
        )

    assert name("", "") == "sha256:0"
    names = {name(mime, when) for mime in ("text/html", "text/plain") for when in ("", "Sat, 21 Nov 2026 19:00:00 GMT")}
    assert len(names) == 4
