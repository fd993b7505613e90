"""Links of pages in the past: searched as of a day, independent of the order of crawls."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest

from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.entries import CrawlEntry, Sight, SummaryEntry, TextSummary
from windrow.collections.pages.database.forget import forget_versions
from windrow.collections.pages.database.store import SummaryStore

DAY = 86_400
NOW = 1_750_000_000 - 1_750_000_000 % DAY
URL = "https://a.example/page"


def crawl(day: int, text: str, *links: str) -> SummaryEntry:
    """Return a crawl of the page on a day: its text, and hosts that it links to."""
    at = NOW + day * DAY
    pile = (text, "", "", "", "", "")
    named = blake2b(repr((text, links)).encode()).hexdigest()
    crawl_entry = CrawlEntry(
        day + 1, URL, at, blake2b(repr(at).encode(), digest_size=16).digest(), Sight.CONTENT, b"agent-of-16-byte", 0,
        True, 20, 7, 200, None, f"sha256:{named}",
    )  # fmt: skip
    page_links = tuple((f"https://{to}/", None, False, False, False, 0, False, 0, 2, "a", f"to {to}") for to in links)
    described = (None, None, "en", "The title", None, None, -1)
    return SummaryEntry(
        crawl_entry,
        TextSummary(blake2b(text.encode()).digest(), "", pile, described, page_links, True, 5, Mime("text", "html")),
    )


CRAWLS = [
    crawl(0, "tea", "one.example"),
    crawl(1, "tea", "one.example", "two.example"),
    crawl(2, "tea"),
    crawl(3, "tea", "three.example"),
    crawl(4, "other tea", "four.example"),
    crawl(5, "tea", "one.example"),
]
LINKED = {0: {"one"}, 1: {"one", "two"}, 2: set(), 3: {"three"}, 4: {"four"}, 5: {"one"}}


def write_crawls(folder: Path, crawls: Sequence[SummaryEntry], size: int) -> SummaryStore:
    store = SummaryStore(folder / "summary.sqlite")
    for start in range(0, len(crawls), size):
        batch = [
            entry if not store.same(entry.crawl.url, entry.crawl.payload) else entry._replace(summary=None)
            for entry in crawls[start : start + size]
        ]
        store.settle(batch, start)
    by_attempt = {entry.crawl.attempt: entry for entry in crawls}
    while owed := store.to_read_again(10):
        store.read_again({attempt: by_attempt[attempt] for attempt in owed})
    return store


def linked(store: SummaryStore, folder: Path, query: str) -> dict[int, set[str]]:
    """Return for each day the links by which the page is found."""
    links_by_page: dict[int, set[str]] = {}
    with closing(Search(store.path, folder)) as search:
        for day, to in itertools.product(LINKED, ("one", "two", "three", "four")):
            date = datetime.fromtimestamp(NOW + day * DAY, UTC).date()
            results = search(f"{query.format(to=to)} as-of:{date}", now=NOW + 9 * DAY).results
            links_by_page.setdefault(day, set()).update({to} if results else ())
    return links_by_page


ROWS = "SELECT str_url, text, hex(linked) FROM windrow_past_link JOIN url ON url.url_id = link_to_url ORDER BY 1, 3"


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 4, 0, 5, 3, 1]], ids=str)
@pytest.mark.parametrize("size", [1, 2, 6])
def test_links_to_as_of_a_day_asks_for_the_links_of_then(tmp_path: Path, order: list[int], size: int) -> None:
    store = write_crawls(tmp_path, [CRAWLS[entry] for entry in order], size)
    store.finish(NOW)
    assert linked(store, tmp_path / "index", "links-to:{to}.example") == LINKED
    if size == len(order):
        index_pages(store.path, tmp_path / "index")
        assert linked(store, tmp_path / "index", "links-to:{to}.example") == LINKED
    assert linked(store, tmp_path / "index", 'link-text:"to {to}"') == LINKED
    with closing(Search(store.path, tmp_path / "index")) as search:
        assert len(search("links-to:one.example", now=NOW + 9 * DAY).results) == 1
        assert search("links-to:two.example", now=NOW + 9 * DAY).results == ()
        spans = [NOW, NOW + DAY, NOW + 2 * DAY, NOW + 4 * DAY]
        dates = [f"{datetime.fromtimestamp(span, UTC):%Y-%m-%d}" for span in spans]
        pages = [bool(search(f"links-to:two.example seen:{date}", now=NOW + 9 * DAY).results) for date in dates]
        assert pages == [True, True, True, False], "the version of these days had it, the other text had not"
    with closing(sqlite3.connect(store.path)) as link:
        rows = {row[:2] for row in link.execute(ROWS)}
    assert rows == {("https://one.example/", "to one.example"), ("https://two.example/", "to two.example")}
    store.close()


def test_a_link_of_a_time_between_two_crawls_with_other_links_is_uncertain(tmp_path: Path) -> None:
    unchanged = [crawl(day, "tea", "one.example") for day in (0, 2)]
    store = write_crawls(tmp_path, [*unchanged, crawl(4, "tea", "two.example"), crawl(6, "tea", "two.example")], 1)
    store.finish(NOW)
    with closing(Search(store.path, tmp_path / "index")) as search:

        def uncertain(query: str, day: float) -> list[bool]:
            date = datetime.fromtimestamp(NOW + day * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            return [result.details.uncertain for result in search(f"{query} as-of:{date}", now=NOW + 9 * DAY).results]

        assert uncertain("links-to:one.example", 1) == [False], "the crawl after it read the same links"
        assert uncertain("links-to:one.example", 2) == [False], "a crawl at this time read these links"
        assert uncertain("links-to:one.example", 3) == [True]
        assert uncertain('link-text:"to one.example"', 3) == [True]
        assert uncertain("tea", 3) == [False], "the text is the same before and after"
        assert uncertain("links-to:two.example", 5) == [False]
        assert uncertain("links-to:two.example", 7) == [False], "no later crawl has shown a change"
    store.close()


def test_forgetting_a_page_forgets_the_links_that_it_had(tmp_path: Path) -> None:
    store = write_crawls(tmp_path, CRAWLS, 1)
    store.close()
    with closing(sqlite3.connect(tmp_path / "summary.sqlite", isolation_level=None)) as link:
        forget_versions(link, urls=[URL])
        assert link.execute("SELECT count(*) FROM windrow_past_link").fetchone() == (0,)
        assert link.execute("SELECT count(*) FROM url").fetchone() == (0,)
