"""Addresses that a run leaves out are counted by rule, and together beyond a number of rules."""

from contextlib import closing

import pytest

from tests.engine.site_crawl import source
from windrow.clock import now
from windrow.collections.news.collection import COLLECTION as NEWS
from windrow.collections.pages.collection import COLLECTION as PAGES
from windrow.collections.pages.site_rules import SITEMAP
from windrow.digest import digest
from windrow.engine.crawl.left_out import MAX_RULES, LeftOutCounter
from windrow.engine.crawl.source_tally import NAMED_SITEMAP_RULE, SITEMAP_RULE, SourceTally
from windrow.engine.fetchers.message import AttemptEnded
from windrow.engine.frontier import frontier_of
from windrow.engine.requests.origin_rules import REQUEST_CRAWL
from windrow.ledger import Ledger
from windrow.ledger.requests import Followed
from windrow.ledger.sessions import OTHER_RULES
from windrow.model import ArchivePlace, Attempt, FoundUrl, KeptResponse, Site, Source
from windrow.reasons import Reason


def test_a_known_rule_is_counted_separately_when_there_are_many_rules():
    counter = LeftOutCounter()
    for rule in [f"rule {number}" for number in range(MAX_RULES)] + ["rule 7", "a new rule"]:
        counter.add(Reason.NOT_WANTED, rule, 2, "https://a.example/")
    assert counter._counts[Reason.NOT_WANTED, "rule 7"] == (4, "https://a.example/")
    assert counter._counts[Reason.NOT_WANTED, OTHER_RULES] == (2, "https://a.example/")
    assert len(counter._counts) == MAX_RULES + 1


def test_what_a_rule_left_out_of_a_list_counts_until_a_later_list_was_followed(tmp_path):
    """Status named articles before `since` after the setting was changed and nothing was left out any more."""
    counter = LeftOutCounter()
    counter.add(Reason.NOT_WANTED, "it is before `since` or after `until`", 3, "https://a.example/feed")
    counter.add(Reason.BAD_ADDRESS, "it is not an address", 1, "https://a.example/feed")
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        counts = []
        for follows in (False, True):
            with ledger.writing() as writer:
                session = writer.sessions.open("test", "run")
                if follows:
                    writer.requests.record_followed("news", "g", Followed(session, 0, 0, 0, None, "", "[]", 0.0))
                else:
                    counter.record(writer, session, "news", "g", 1)
            counts.append({count.reason for count in frontier_of(ledger, NEWS).left_out("g", ())})
    assert counts == [{"not_wanted", "bad_address"}, {"bad_address"}]


def test_a_sitemap_without_a_document_is_counted_once_in_a_run():
    kept = KeptResponse("d", 5, ArchivePlace("a.warc.gz", 0, 9))
    moved = FoundUrl(9, "https://a.example", "https://a.example/moved.xml", 0, SITEMAP)
    attempts = [
        (1, 404, kept, ""), (1, 404, kept, ""), (2, 203, kept, ""), (3, 200, kept._replace(size=0), ""), (4, 200, kept, ""),
        (5, 304, None, ""), (8, 304, kept._replace(digest=digest(b""), size=0), ""), (6, 301, kept, moved.url), (9, 500, kept, ""), (7, 404, kept, ""),
    ]  # fmt: skip
    tally = SourceTally(Source("a", "pages", Site("https", "a.example")), 1, sitemaps=set(range(1, 7)))
    for target, status, body, location in attempts:
        attempt = Attempt(
            target,
            f"https://a.example/{target}",
            SITEMAP,
            allowed=True,
            started=now(),
            seconds=0.1,
            status=status,
            kept=body,
        )
        tally.count_attempt(
            PAGES.crawl, AttemptEnded(1, attempt._replace(location=location), (moved,) * bool(location))
        )
    assert {(reason, rule, count) for (reason, rule), (count, _) in tally.left_out._counts.items()} == {
        (Reason.NOT_FOUND, SITEMAP_RULE, 1), (Reason.NOT_A_FEED, SITEMAP_RULE, 2), (Reason.SERVER_ERROR, SITEMAP_RULE, 1),
        (Reason.NOT_A_FEED, NAMED_SITEMAP_RULE, 1),  # which has not changed since it was empty
        (Reason.NOT_FOUND, NAMED_SITEMAP_RULE, 1),  # that of an index, for example
    }  # fmt: skip


@pytest.mark.parametrize("crawl", [PAGES.crawl, REQUEST_CRAWL])
def test_a_crawl_delay_that_is_too_long_to_be_kept_is_told_once(crawl):
    rules = crawl.rules(source(["https://a.example/"]), "https://a.example", {})
    for seconds, expected in ((180, []), (600, ["https://a.example/robots.txt"])):
        rules.take_robots(0.0, 200, f"User-agent: *\nCrawl-delay: {seconds}".encode())
        left_out = rules.left_out()
        assert [entry.url for entry in left_out] == expected
        assert {(entry.reason, "180 seconds" in entry.rule) for entry in left_out} <= {(Reason.RATE_LIMITED, True)}
        assert rules.left_out() == []
