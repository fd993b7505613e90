from datetime import UTC, datetime

import pytest

from windrow.collections.pages.code import DAY
from windrow.collections.pages.policy import make_policy
from windrow.collections.pages.references import PageReferences, References
from windrow.collections.pages.scope import make_scope
from windrow.collections.pages.site_rules import CrawlOptions, SiteRules, schedule_attempt
from windrow.digest import hash64
from windrow.model import ArchivePlace, Attempt, FetchJob, KeptResponse
from windrow.reasons import Reason

HOME = "https://example.org/"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = NOON.timestamp()
START = 28 * DAY
AGENT = "x-crawler (for https://example.org/)"


def make(robots=b"", status=200, read=None, **options):
    site = make_policy(
        make_scope([HOME, "http://127.0.0.1:8080/"]), do_not_crawl=["/no/"], url_query_parameters=["page"]
    )
    guide = SiteRules(
        CrawlOptions(site, AGENT, **options),
        "https://example.org",
        read or (lambda url, fields, body: PageReferences(url, body.decode().split())),
    )
    assert guide.robots(AT) == HOME + "robots.txt"
    guide.take_robots(AT, status, robots)
    return guide


def test_robots_come_first_and_again():
    guide = make()
    assert guide.robots(AT + 1799) == ""
    assert guide.robots(AT + 1800) == HOME + "robots.txt"


def test_refusals_name_their_rule():
    guide = make(b"User-agent: *\nDisallow: /x")
    assert guide.refusal(HOME) is None
    assert guide.refusal(HOME + "no/") is Reason.POLICY_DENIED
    assert guide.refusal(HOME + "x") is Reason.ROBOTS_DENIED
    assert guide.verdict(HOME + "x")[1:] == ("Disallow: /x", 2)
    assert make(status=503).refusal(HOME) is Reason.ROBOTS_UNREACHABLE
    assert make(status=404).refusal(HOME + "x") is None


def test_what_is_followed():
    guide = make(b"User-agent: *\nDisallow: /x")
    page = guide.follow(HOME + "a/", "../b/c?page=2&utm_source=z#d")
    assert page[:4] == (hash64(HOME + "b/c?page=2"), "https://example.org", HOME + "b/c?page=2", 2)
    assert guide.follow(HOME, "http://127.0.0.1:8080/x").origin == "http://127.0.0.1:8080"
    for nowhere in ("https://example.com/", "mailto:a@b", "/no/1", "/x/1", "/?q=1", "/i.png", "/2030/01/"):
        assert guide.follow(HOME, nowhere) is None


def test_links_that_are_not_valid_addresses_are_counted():
    guide = make()
    long_link = f"/{'x' * 3_000}"
    for link in ("http://[", "http://a:99999/", long_link, "mailto:a@b", "javascript:x()", "#top", "/a b"):
        guide.follow(HOME, link)
    assert [(entry.reason, entry.url, entry.number) for entry in guide.left_out()] == [
        (Reason.BAD_ADDRESS, HOME, 1), (Reason.BAD_ADDRESS, HOME, 1), (Reason.ADDRESS_TOO_LONG, HOME, 1)
    ]  # fmt: skip


def test_what_was_judged_is_judged_anew_by_new_rules():
    guide = make()
    assert guide.follow(HOME, "x") is guide.follow(HOME, "x") is not None
    assert guide.follow(HOME, "/2027/01/") is not None
    guide.take_robots(AT, 200, b"User-agent: *\nDisallow: /x")
    assert guide.follow(HOME, "x") is None
    guide.take_robots(AT, 404, b"")
    assert guide.follow(HOME, "x") is not None
    guide.robots(AT - 400 * DAY)
    assert guide.follow(HOME, "/2027/01/") is None


def test_an_address_that_was_allowed_when_it_was_found_is_asked_by_the_rules_in_force_then():
    guide = make()
    assert [guide.follow(HOME, page) is not None for page in ("x", "/2027/01/")] == [True, True]
    assert guide.refusal(HOME + "x") is None
    guide.take_robots(AT, 200, b"User-agent: *\nDisallow: /x")
    assert guide.refusal(HOME + "x") is Reason.ROBOTS_DENIED
    assert make(b"User-agent: *\nDisallow: /x").refusal(HOME + "x") is Reason.ROBOTS_DENIED
    guide.robots(AT - 400 * DAY)
    assert guide.refusal(HOME + "2027/01/") is Reason.CRAWLER_TRAP
    guide.robots(AT)
    assert guide.follow(HOME, "y") is not None
    for _ in range(3):
        guide.pause(0.1, 503, None)
    assert guide.refusal(HOME + "y") is Reason.SITE_GIVEN_UP


def test_an_address_that_was_found_while_robots_txt_could_not_be_had_is_not_allowed():
    guide = make(status=503)
    assert guide.follow(HOME, "x") is not None
    assert guide.refusal(HOME + "x") is Reason.ROBOTS_UNREACHABLE


def test_the_memory_of_judgements_is_bounded():
    guide = make()
    for place in range(40_000):
        guide.follow(HOME, f"p{place}")
    assert len(guide._followed) <= 16_384


def test_what_a_page_offers():
    guide = make()
    assert guide.links(HOME, {}, b"/a /b") == (HOME, ["/a", "/b"])


def test_pauses():
    guide = make(b"User-agent: *\nCrawl-delay: 7")
    assert guide.pause(0.1, 200, None) == 7.0
    assert make(delay=0.5).pause(0.01, 200, None) == 0.5
    assert make(delay=0.0).pause(1.0, 200, None) == 2**1.9
    assert make(delay=0.0, polite=False).pause(1.0, 200, None) == 0.0
    assert make().pause(0.1, 503, 60.0) == 60.0


def test_a_site_is_given_up_after_three_503():
    guide = make()
    assert [guide.pause(0.1, 503, None) is None for _ in range(3)] == [False, False, True]
    assert guide.refusal(HOME) is Reason.SITE_GIVEN_UP


def attempt(status=None, reason=None, *, same=False):
    kept = KeptResponse("sha256:0", 1, ArchivePlace("w", 0, 1), same) if status == 200 else None
    return Attempt(1, HOME, 0, True, NOON, 0.1, status, kept, reason)


@pytest.mark.parametrize(
    ("seen", "failures", "wait", "interval"),
    [
        (attempt(200), 0, START, START),  # a first attempt is no change; what its text did is known when it is read
        (attempt(200, same=True), 0, START, START),  # nor how long the content has been the same
        (attempt(304), 0, START, START),
        (attempt(404), 1, START, START),
        (attempt(410), 9, START, START),
        (attempt(500), 1, 3600, START),
        (attempt(503), 4, 8 * 3600, START),
        (attempt(429), 1, 3600, START),
        (attempt(200, Reason.BOMB_RATIO), 1, 3600, START),
        (attempt(200, Reason.UNSUPPORTED), 2, 7200, START),
        (attempt(None, Reason.CONNECT_FAILED), 2, 7200, START),
        (attempt(None, Reason.DNS_FAILED), 1000, START, START),
        (attempt(None, Reason.ROBOTS_UNREACHABLE), 0, 3600, START),
        (attempt(None, Reason.ROBOTS_DENIED), 1, START, START),
    ],
)
def test_when_an_address_is_due_again(seen, failures, wait, interval):
    assert schedule_attempt(seen, 0, failures, START) == (AT + wait, interval)
    assert schedule_attempt(seen, START, failures, START) == (AT + wait, interval)


def test_a_host_without_rules_is_shut_until_they_are_due():
    assert make().robots_wait(AT) == 0
    assert make(status=404).robots_wait(AT) == 0
    guide = make(status=503)
    assert guide.robots_wait(AT) == 60
    assert guide.robots_wait(AT + 59) == 1
    assert guide.robots_wait(AT + 61) > 0, "they are due, but not in force"
    guide.take_robots(AT + 61, 200, b"")
    assert guide.robots_wait(AT + 61) == 0


def test_sitemaps_of_the_site_are_offered_and_judged_by_robots_alone():
    lines = [f"Sitemap: {HOME}{name}" for name in ("a.xml.gz", "no/b.xml", "x/c.xml")]
    others = ["Sitemap: https://elsewhere.example/d.xml", "Sitemap: /e.xml", "Sitemap: f.xml"]
    rules = "\n".join(["User-agent: *", "Disallow: /x", *lines, *others])
    site = make_policy(make_scope([HOME], paths=["/*"]), do_not_crawl=["/no/"])
    guide = SiteRules(CrawlOptions(site, AGENT), "https://example.org", lambda url, fields, body: (url, []))
    sitemaps = guide.take_robots(AT, 200, rules.encode())
    assert [(found_url.url, found_url.kind, found_url.order) for found_url in sitemaps] == [
        (HOME + "a.xml.gz", 2, 0), (HOME + "no/b.xml", 2, 0), (HOME + "x/c.xml", 2, 0)
    ]  # fmt: skip
    assert [(entry.reason, entry.number, entry.url) for entry in guide.left_out()] == [
        (Reason.BAD_ADDRESS, 2, "https://example.org/robots.txt"),
        (Reason.OUT_OF_SCOPE, 1, "https://elsewhere.example/d.xml"),
    ]
    assert guide.refusal(HOME + "a.xml.gz", 2) is None
    assert guide.refusal(HOME + "x/c.xml", 2) is Reason.ROBOTS_DENIED
    assert guide.refusal("https://elsewhere.example/d.xml", 2) is Reason.OUT_OF_SCOPE
    without = SiteRules(
        CrawlOptions(site, AGENT, sitemaps=False), "https://example.org", lambda url, fields, body: (url, [])
    )
    assert without.take_robots(AT, 200, rules.encode()) == []


def sitemap(*urls, kind="urlset", entry="url"):
    return f"<{kind}>{''.join(f'<{entry}><loc>{url}</loc><lastmod>2026-11-20</lastmod></{entry}>' for url in urls)}</{kind}>".encode()


def test_what_sitemaps_and_feeds_name():
    guide = make(b"User-agent: *\nDisallow: /x")
    call = FetchJob(1, HOME + "map.xml", kind=2)
    hints = guide.hints(call, {}, sitemap(HOME + "a?utm_source=x", HOME + "x/1", HOME + "no/1", "https://h.example/"))
    assert [(found_url.url, found_url.kind, found_url.hinted) for found_url in hints] == [
        (HOME + "a", 0, datetime(2026, 11, 20, tzinfo=UTC))
    ]
    index = sitemap(HOME + "b.xml", kind="sitemapindex", entry="sitemap")
    assert [(hint.url, hint.kind, hint.order) for hint in guide.hints(call, {}, index)] == [(HOME + "b.xml", 2, 1)]
    assert guide.hints(call._replace(order=2), {}, index) == [], "three lie within each other, and no more"
    page, feed = (
        FetchJob(1, HOME + "feed"),
        b"<rss><channel><item><link>https://example.org/f</link></item></channel></rss>",
    )
    assert [hint.url for hint in guide.hints(page, {"content-type": "application/rss+xml"}, feed)] == [HOME + "f"]
    assert guide.hints(page, {"content-type": "text/html"}, feed) is None
    assert guide.hints(page, {"content-type": "text/xml"}, b"<html/>") is None


def test_sitemaps_in_sitemaps_have_an_end():
    guide = make()
    count = 0
    for number_ in range(30):
        urls = [f"{HOME}{number_}-{page}.xml" for page in range(1000)]
        index = sitemap(*urls, kind="sitemapindex", entry="sitemap")
        count += len(guide.hints(FetchJob(1, HOME + "map.xml", kind=2), {}, index))
    assert count == 10_000


def test_the_entries_of_an_index_beyond_the_sitemaps_of_a_walk_are_not_even_judged(monkeypatch):
    """A host with thousands of sitemaps that each name thousands must not delay the other hosts of its process."""
    guide, judged, call = make(max_sitemaps=3), [], FetchJob(1, HOME + "map.xml", kind=2)
    judge = guide._make_sitemap
    monkeypatch.setattr(SiteRules, "_make_sitemap", lambda _, *arguments: judged.append(arguments) or judge(*arguments))
    index = sitemap(*(f"{HOME}{at}.xml" for at in range(9)), kind="sitemapindex", entry="sitemap")
    assert [len(guide.hints(call, {}, index)) for _ in range(2)] == [3, 0]
    assert len(judged) == 3


def test_a_sitemap_that_moved_stays_a_sitemap():
    guide = make(max_sitemaps=2)
    targets = ("/no/new.xml.gz", "https://h.example/b", "http://[/", "/c.xml", "/d.xml")
    moved = [guide.follow(f"{HOME}map.xml", target, 2) for target in targets]
    assert moved[0] == (hash64(HOME + "no/new.xml.gz"), "https://example.org", HOME + "no/new.xml.gz", 0, 2, None, None)
    assert [bool(sitemap) for sitemap in moved] == [True, False, False, True, False]
    assert [entry.reason for entry in guide.left_out()] == [Reason.OUT_OF_SCOPE, Reason.BAD_ADDRESS, Reason.CAPPED]


@pytest.mark.parametrize(
    ("fields", "page"),
    [
        ({}, "<a rel=nofollow href=/b>"),
        ({}, "<meta name=robots content=nofollow><a href=/b>"),
        ({"x-robots-tag": "other: noindex\nnofollow"}, "<a href=/b>"),
        ({"x-robots-tag": "nofollow", "refresh": "0; /b"}, ""),
    ],
)
def test_links_that_ask_not_to_be_followed_are_counted(fields, page):
    guide = make(read=References(AGENT))
    body = f"{page}<a rel=nofollow href=/no/x><a rel=nofollow href=//else.example>".encode()
    assert guide.links(HOME, {"content-type": "text/html", **fields}, body)[1] == []
    assert [entry[1:3] for entry in guide.left_out()] == [(HOME + "b", Reason.NOFOLLOW)]


def test_a_header_that_forbids_others_to_follow_is_ignored():
    guide = make(read=References(AGENT))
    fields = {"content-type": "text/html", "x-robots-tag": "noindex\nother: none", "refresh": "0; /c"}
    assert guide.links(HOME, fields, b"<a href=/b>")[1] == ["/b", HOME + "c"]
    assert guide.left_out() == []


def test_of_links_that_differ_in_a_session_id_all_but_the_first_are_counted():
    guide = make()
    ids = "0123456789abcdef" * 2, "fedcba9876543210" * 2
    followed = [guide.follow(HOME, f"doc?token={id_}&utm_source={at}") for at in range(2) for id_ in ids]
    assert {page.url for page in followed} == {HOME + "doc"}
    assert [entry[1:3] for entry in guide.left_out()] == [
        (f"{HOME}doc?token={ids[1]}&utm_source={at}", Reason.QUERY_DENIED) for at in range(2)
    ]


def test_flukes_are_tried_once_more():
    guide = make()
    assert guide.should_retry(Reason.CONNECT_FAILED, 1)
    assert not guide.should_retry(Reason.CONNECT_FAILED, 2)
    assert not guide.should_retry(Reason.TIMEOUT, 1)
    assert not guide.should_retry(None, 1)


def test_a_sitemap_is_looked_at_every_day():
    attempt = Attempt(1, HOME + "map.xml", 2, True, NOON, 0.1, 404)
    assert schedule_attempt(attempt, 0, 3, START) == (AT + DAY, DAY)
