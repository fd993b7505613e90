from datetime import UTC, datetime

import pytest

from windrow.collections.pages.guide import Guide, Manner, again
from windrow.collections.pages.policy import policy
from windrow.collections.pages.recrawl import DAY
from windrow.collections.pages.scope import scope
from windrow.digest import number
from windrow.model import Kept, Place, Visit
from windrow.reasons import Reason

HOME = "https://example.org/"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = NOON.timestamp()
START = 28 * DAY
AGENT = "x-crawler (for https://example.org/)"


def make(robots=b"", status=200, **options):
    site = policy(scope([HOME, "http://127.0.0.1:8080/"]), do_not_crawl=["/no/"], url_query_parameters=["page"])
    guide = Guide(
        Manner(site, AGENT, **options), "https://example.org", lambda url, fields, body: (url, body.decode().split())
    )
    assert guide.robots(AT) == HOME + "robots.txt"
    guide.ruled(AT, status, robots)
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
    found = guide.follow(HOME + "a/", "../b/c?page=2&utm_source=z#d")
    assert found[:4] == (number(HOME + "b/c?page=2"), "https://example.org", HOME + "b/c?page=2", 2)
    assert guide.follow(HOME, "http://127.0.0.1:8080/x").origin == "http://127.0.0.1:8080"
    for nowhere in ("https://example.com/", "mailto:a@b", "/no/1", "/x/1", "/?q=1", "/i.png", "/2030/01/"):
        assert guide.follow(HOME, nowhere) is None


def test_what_was_judged_is_judged_anew_by_new_rules():
    guide = make()
    assert guide.follow(HOME, "x") is guide.follow(HOME, "x") is not None
    assert guide.follow(HOME, "/2027/01/") is not None
    guide.ruled(AT, 200, b"User-agent: *\nDisallow: /x")
    assert guide.follow(HOME, "x") is None
    guide.ruled(AT, 404, b"")
    assert guide.follow(HOME, "x") is not None
    guide.robots(AT - 400 * DAY)
    assert guide.follow(HOME, "/2027/01/") is None


def test_the_memory_of_judgements_is_bounded():
    guide = make()
    for place in range(40_000):
        guide.follow(HOME, f"p{place}")
    assert len(guide._judged) <= 16_384


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


def visit(status=None, reason=None, *, same=False):
    kept = Kept("sha256:0", 1, Place("w", 0, 1), same) if status == 200 else None
    return Visit(1, HOME, 0, True, NOON, 0.1, status, kept, reason)


@pytest.mark.parametrize(
    ("seen", "failures", "wait", "interval"),
    [
        (visit(200), 0, START / 2, START / 2),
        (visit(200, same=True), 0, START * 1.5, START * 1.5),
        (visit(304), 0, START * 1.5, START * 1.5),
        (visit(404), 1, START, START),
        (visit(410), 9, START, START),
        (visit(500), 1, 3600, START),
        (visit(503), 4, 8 * 3600, START),
        (visit(429), 1, 3600, START),
        (visit(None, Reason.CONNECT_FAILED), 2, 7200, START),
        (visit(None, Reason.DNS_FAILED), 1000, START, START),
        (visit(None, Reason.ROBOTS_UNREACHABLE), 0, 3600, START),
        (visit(None, Reason.ROBOTS_DENIED), 1, START, START),
    ],
)
def test_when_an_address_is_due_again(seen, failures, wait, interval):
    assert again(seen, 0, failures, START) == (AT + wait, interval)
    assert again(seen, START, failures, START) == (AT + wait, interval)
