"""What a cap leaves out is counted in the session's summary, and the document is unread in part until it is whole."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.engine.recorded_attempts import Attempts, summarise
from tests.engine.summary_crawl import PAGES
from tests.engine.test_recorded_attempts import A
from windrow.app.summary import SessionSummary, describe_end
from windrow.app.summary import summarise as summarise_session
from windrow.caps import ASSETS_OF_ORIGIN, PAGE_LINKS, STYLE_CHARACTERS, TEXT_CHARACTERS
from windrow.collections.pages.code import ASSET
from windrow.collections.pages.policy import Policy
from windrow.collections.pages.references import References
from windrow.collections.pages.scope import make_scope
from windrow.collections.pages.site_rules import SITEMAP, CrawlOptions, SiteRules
from windrow.engine.frontier import RETRY, frontier_of
from windrow.engine.requests.following import MAX_FINDINGS, _findings_text
from windrow.engine.steps.unread import UnreadCount, count_unread
from windrow.ledger import Ledger
from windrow.model import FetchJob, Finding
from windrow.reasons import Reason

ORIGIN = "https://a.example"
WHOLE = b"<title>a</title><a href=/x>x</a>"
TOO_MANY_LINKS = b"<title>a</title>" + b"".join(
    b"<a href=/%d>x</a>" % number for number in range(PAGE_LINKS.number + 7)
)


def last_summary(root: Path) -> SessionSummary:
    """Return the summary of the last session."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return summarise_session(ledger, ledger.sessions.latest(), {"pages": PAGES.phases})


def unread(root: Path) -> list[UnreadCount]:
    """Return the documents that `windrow status` counts as unread."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return count_unread(ledger, PAGES)


def test_a_page_of_which_a_part_cannot_be_read_is_not_all_well(tmp_path: Path) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, WHOLE, at=10)
        attempts.answer(A + "b", WHOLE + b'<script type="application/ld+json">{"a": </script>', at=11)
    assert summarise(tmp_path) == 0
    summary = last_summary(tmp_path)
    assert [(rule.reason, rule.addresses, rule.example) for rule in summary.left_out] == [
        ("not_well_formed", 1, A + "b")
    ]
    assert describe_end(summary) == "done, 1 left out as damaged"
    assert not summary.kept_all


def test_a_page_with_more_links_than_the_cap_is_never_all_well(tmp_path: Path) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, TOO_MANY_LINKS, at=10)
        attempts.answer(A + "b", WHOLE, at=11)
    assert summarise(tmp_path) == 0
    summary = last_summary(tmp_path)
    assert [(rule.source, rule.reason, rule.addresses, rule.rule, rule.example) for rule in summary.left_out] == [
        ("site", "capped", 7, "more than 20,000 links of a page", A)
    ]
    assert describe_end(summary) == "done, 7 left out by caps"
    assert not summary.kept_all
    (count,) = unread(tmp_path)
    assert (count.phase, count.reason, count.documents, count.due) == ("summarise", Reason.CAPPED, 1, None)


def test_it_stands_in_status_until_the_address_has_whole_content(tmp_path: Path) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, TOO_MANY_LINKS, at=10)
    assert summarise(tmp_path) == 0
    with Attempts(tmp_path) as attempts:
        attempts.answer(A + "b", WHOLE, at=20)
        attempts.failure(A, Reason.TIMEOUT, at=21)
    assert summarise(tmp_path) == 0
    assert [count.documents for count in unread(tmp_path)] == [1], "other pages and failures change nothing"
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        frontier = frontier_of(ledger, PAGES)
        (page,) = frontier.find_undone(RETRY, "", "capped")
        assert page.state[0] == frontier.task_phase, "it is requested again, so that all its links are read"
    assert last_summary(tmp_path).capped == 0, "that session left out nothing"
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, WHOLE, at=30)
    assert summarise(tmp_path) == 0
    assert unread(tmp_path) == []


def left_out(root: Path) -> list[tuple[str, int]]:
    """Return what `windrow status` says that rules and caps left out."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return [(count.reason, count.addresses) for count in frontier_of(ledger, PAGES).left_out("site", ())]


def test_what_a_cap_left_out_counts_until_the_page_is_whole_whatever_other_sessions_leave_out(tmp_path: Path) -> None:
    hidden = b"<title>b</title><meta name=robots content=noindex>"
    for at, url, body, counts in (
        (10, A, TOO_MANY_LINKS, [("capped", 7)]),
        (20, A + "b", hidden, [("capped", 7), ("noindex", 1)]),
        (30, A + "c", TOO_MANY_LINKS, [("capped", 14), ("noindex", 1)]),
        (40, A, WHOLE, [("capped", 7), ("noindex", 1)]),
        (50, A + "c", WHOLE, [("noindex", 1)]),
    ):
        with Attempts(tmp_path) as attempts:
            attempts.answer(url, body, at=at)
        assert summarise(tmp_path) == 0
        assert left_out(tmp_path) == counts, at


def test_a_text_that_is_cut_is_counted(tmp_path: Path) -> None:
    with Attempts(tmp_path) as attempts:
        text = b"word " * (TEXT_CHARACTERS.number // 5 + 10)
        attempts.answer(A, text, at=10, fields={"Content-Type": "text/plain"})
    assert summarise(tmp_path) == 0
    (rule,) = last_summary(tmp_path).left_out
    assert rule.rule == "more than 4,194,304 characters of a plain text"
    assert rule.addresses == len(text) - TEXT_CHARACTERS.number


def site_rules(robots: bytes = b"", **options: Any) -> SiteRules:
    """Return the rules of a.example after its robots.txt."""
    options = CrawlOptions(Policy(make_scope([A])), "windrow-test", **options)
    rules = SiteRules(options, ORIGIN, References("windrow-test"))
    rules.robots(1.0)
    rules.take_robots(1.0, 200, robots)
    return rules


def job(url: str, kind: int, order: int = 0) -> FetchJob:
    """Return the job of an address."""
    return FetchJob(1, url, kind, order=order)


@pytest.mark.parametrize(("order", "reason", "number"), [(0, None, 0), (2, Reason.CAPPED, 2)])
def test_an_index_below_the_last_level_of_sitemaps_is_reported(order: int, reason: Reason | None, number: int) -> None:
    rules = site_rules()
    index = b"<sitemapindex>%b</sitemapindex>" % b"".join(
        b"<sitemap><loc>%b%d.xml</loc></sitemap>" % (A.encode(), each) for each in range(2)
    )
    found = rules.hints(job(A + "index.xml", SITEMAP, order), {"content-type": "application/xml"}, index)
    assert len(found or ()) == 2 - number
    assert [(left_out.reason, left_out.number) for left_out in rules.left_out()] == [(reason, number)][: bool(reason)]


def test_the_links_of_a_page_are_no_limit_for_a_sitemap_that_is_requested_as_a_page() -> None:
    """Its further entries were left out without a count."""
    sitemap = b"<urlset>%b</urlset>" % b"".join(b"<url><loc>%b%d</loc></url>" % (A.encode(), each) for each in range(3))
    urls = References("x", max_links=2)(A + "map.xml", {"content-type": "application/xml"}, sitemap).urls
    assert urls == [f"{A}{each}" for each in range(3)]


def test_a_sitemap_that_cannot_be_read_is_not_an_empty_one() -> None:
    rules = site_rules()
    assert not rules.hints(job(A + "map.xml", SITEMAP), {"content-type": "application/xml"}, b"<other/>")
    rules.hints(job(A + "map2.xml", SITEMAP), {"content-type": "application/xml"}, b"\x00\x01")
    assert [left_out.url for left_out in rules.left_out()] == [A + "map.xml", A + "map2.xml"]


@pytest.mark.parametrize("kind", [0, SITEMAP])
def test_a_feed_that_breaks_off_is_reported(kind: int) -> None:
    rules = site_rules()
    feed = b"<rss><channel><item><link>%ba</link></item><item><link>%bb" % (A.encode(), A.encode())
    urls = rules.hints(job(A + "feed", kind), {"content-type": "application/rss+xml"}, feed) or ()
    assert [found.url for found in urls] == [A + "a"]
    assert rules.left_out()[0].reason is Reason.TRUNCATED


def test_assets_beyond_those_of_a_page_are_reported() -> None:
    rules = site_rules(assets=True)
    page = b"".join(b"<img src=/%d.png>" % number for number in range(503))
    assert len(rules.needs(job(A, 0), {"content-type": "text/html"}, page)) == 500
    (left_out,) = rules.left_out()
    assert (left_out.reason, left_out.number, left_out.url) == (Reason.CAPPED, 3, A)
    rules._assets_left = 1
    assert len(rules.needs(job(A + "b", 0), {"content-type": "text/html"}, page[:100])) == 1
    assert [left_out.rule for left_out in rules.left_out()] == [
        f"more than {ASSETS_OF_ORIGIN.number:,} assets of an origin in one run"
    ]
    assert rules.follow(A + "c", "/moved.png", ASSET) is None
    assert [left_out.reason for left_out in rules.left_out()] == [Reason.CAPPED]
    style = b"@import url(deeper.css);"
    assert rules.hints(job(A + "s.css", ASSET, 3), {"content-type": "text/css"}, style) == []
    assert [left_out.rule for left_out in rules.left_out()] == ["more than 3 levels of style sheets"]


def test_assets_that_a_rule_forbids_are_reported() -> None:
    rules = site_rules(b"User-agent: *\nDisallow: /shut/", assets=True)
    page = b"<img src=/a.png><img src=/shut/b.png>"
    assert [asset.url for asset in rules.needs(job(A, 0), {"content-type": "text/html"}, page)] == [f"{ORIGIN}/a.png"]
    assert [(left_out.reason, left_out.url) for left_out in rules.left_out()] == [
        (Reason.ROBOTS_DENIED, f"{ORIGIN}/shut/b.png")
    ]


def test_what_is_not_read_of_a_robots_txt_is_reported() -> None:
    lines = b"".join(b"Sitemap: %b%d.xml\n" % (A.encode(), number) for number in range(510))
    rules = site_rules(lines, max_sitemaps=400)
    assert [(left_out.rule, left_out.number, left_out.url) for left_out in rules.left_out()] == [
        ("more than 500 sitemaps in a robots.txt", 10, f"{ORIGIN}/robots.txt"),
        ("more than 400 sitemaps of an origin in one run", 100, f"{ORIGIN}/robots.txt"),
    ]
    rules = site_rules(b"# comment\n" * 51_201)
    assert [(left_out.rule, left_out.number) for left_out in rules.left_out()] == [
        ("more than 512,000 bytes of robots.txt", 10)
    ]


def test_addresses_left_out_beyond_those_of_a_page_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.collections.pages.site_rules.MAX_LEFT_OUT", 3)
    rules = site_rules(b"User-agent: *\nDisallow: /")
    for number in range(5):
        assert rules.follow(A, f"/{number}") is None
    assert [(left_out.reason, left_out.number) for left_out in rules.left_out()] == [
        *[(Reason.ROBOTS_DENIED, 1)] * 3, (Reason.CAPPED, 2)
    ]  # fmt: skip


def test_a_style_sheet_that_is_read_in_part_is_reported() -> None:
    rules = site_rules(assets=True)
    style = b"a { background: url(a.png) }" + b" " * STYLE_CHARACTERS.number
    assert len(rules.hints(job(A + "s.css", ASSET, 0), {"content-type": "text/css"}, style) or ()) == 1
    assert [(left_out.rule, left_out.number) for left_out in rules.left_out()] == [
        ("more than 1,048,576 characters of a style sheet", 28)
    ]


def test_findings_of_an_answer_that_are_not_stored_are_counted() -> None:
    text = _findings_text([Finding("Strange", str(number)) for number in range(MAX_FINDINGS + 3)])
    assert text.count("Strange") == MAX_FINDINGS
    assert "and 3 more findings" in text
