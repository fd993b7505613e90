"""A page that changes its title, description or canonical address but not its text: one generation, with all versions."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.collections.pages.database.test_near import prose
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.entries import CrawlEntry, Sight, SummaryEntry, TextSummary
from windrow.collections.pages.database.forget import forget_versions
from windrow.collections.pages.database.page_versions import _VERSIONS, VersionReader
from windrow.collections.pages.database.store import SummaryStore
from windrow.stores.sqlite import SqliteReader

NOW = 1_750_000_000
DAY = 86_400
URL, OTHER = "https://a.example/page", "https://a.example/other"


def crawl(
    at: int, title: str, *, url: str = URL, description: str | None = None, canonical: str = "", text: str = ""
) -> SummaryEntry:
    pile = (text or f"The harbour. {prose(1)}", "", "", "", "", "")
    digest = blake2b("\n\n\n".join(pile).encode()).digest()
    named = blake2b(repr((at, title, description, canonical, url)).encode()).hexdigest()
    crawl_entry = CrawlEntry(
        at, url, at, bytes.fromhex(named[:32]), Sight.CONTENT, b"agent-of-16-byte", 0, True, 20, 7, 200, None,
        f"sha256:{named}",
    )  # fmt: skip
    described = (None, None, "en", title, None, description, -1)
    return SummaryEntry(
        crawl_entry, TextSummary(digest, "", pile, described, (), True, 5, Mime("text", "html"), canonical)
    )


def open_store(folder: Path) -> SummaryStore:
    return SummaryStore(folder / "summary.sqlite")


def ask(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "summary.sqlite")) as link:
        return link.execute(sql).fetchall()


VERSIONS = "SELECT first_seen_unix_utc, title, description FROM windrow_version ORDER BY 1"
DESCRIBED = "SELECT title, description FROM document_description"
CRAWLS = [
    crawl(NOW, "First"),
    crawl(NOW + DAY, "First"),
    crawl(NOW + 2 * DAY, "Second", description="new"),
    crawl(NOW + 3 * DAY, "First"),
    crawl(NOW + 4 * DAY, "Last"),
]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]])
@pytest.mark.parametrize("size", [1, 5])
def test_each_wording_has_its_time_whatever_came_first(tmp_path: Path, order: list[int], size: int) -> None:
    store = open_store(tmp_path)
    entries = [CRAWLS[entry] for entry in order]
    for start in range(0, 5, size):
        store.settle(entries[start : start + size], start)
    by_attempt = {entry.crawl.attempt: entry for entry in CRAWLS}
    while owed := store.to_read_again(10):
        store.read_again({attempt: by_attempt[attempt] for attempt in owed})
    store.close()
    assert ask(tmp_path, "SELECT count(*) FROM entity_generation") == [(1,)]
    assert ask(tmp_path, DESCRIBED) == [("Last", None)]
    assert ask(tmp_path, VERSIONS) == [
        (NOW, "First", None), (NOW + 2 * DAY, "Second", "new"), (NOW + 3 * DAY, "First", None),
        (NOW + 4 * DAY, "Last", None),
    ]  # fmt: skip


def test_a_search_shows_titles_as_they_were(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle([*CRAWLS, crawl(NOW + 5 * DAY, "Other text", text="The harbour is closed.")], 9)
    store.finish(NOW)
    index_pages(store.path, tmp_path / "index")
    with closing(Search(store.path, tmp_path / "index")) as search:

        def title(text: str) -> str:
            return "".join(piece for piece, _ in search(text, now=NOW + 9 * DAY).results[0].title)

        days = {0: "First", 1: "First", 2: "Second", 3: "First", 4: "Last", 5: "Other text"}
        begin = NOW - NOW % DAY  # `as-of` means the end of a day
        for day, expected in days.items():
            date = datetime.fromtimestamp(begin + day * DAY, UTC).date()
            assert title(f"harbour as-of:{date}") == expected
        assert title("harbour") == "Other text"
    store.close()


def test_as_of_matches_the_title_language_and_date_of_then(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle(CRAWLS, 9)
    store.finish(NOW)
    index_pages(store.path, tmp_path / "index")
    begin = NOW - NOW % DAY
    wordings = {}
    with closing(Search(store.path, tmp_path / "index")) as search:
        for day in (0, 2, 3, 4):
            date = datetime.fromtimestamp(begin + day * DAY, UTC).date()
            for word in ("first", "second", "last"):
                wordings[day, word] = len(search(f"title:{word} as-of:{date}", now=NOW + 9 * DAY).results)
        assert len(search("title:last", now=NOW + 9 * DAY).results) == 1
        assert search("title:second", now=NOW + 9 * DAY).results == ()
    store.close()
    assert [key for key, count in wordings.items() if count] == [(0, "first"), (2, "second"), (3, "first"), (4, "last")]


def test_is_duplicate_in_the_past_asks_who_was_one_then(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle([crawl(NOW, "A", url=OTHER), crawl(NOW, "A")], 2)
    store.finish(NOW)  # URL is a copy of OTHER, which comes first
    store.settle([crawl(NOW + 2 * DAY, "A", url=OTHER, text="Something else.")], 3)
    store.finish(NOW + 2 * DAY)  # and is no longer a copy
    index_pages(store.path, tmp_path / "index")
    begin = NOW - NOW % DAY
    with closing(Search(store.path, tmp_path / "index")) as search:

        def urls(query: str) -> list[str]:
            return [page.url for page in search(query, now=NOW + 9 * DAY).results]

        dates = [datetime.fromtimestamp(begin + day * DAY, UTC).date() for day in (0, 1, 2)]
        assert [urls(f"is:duplicate as-of:{date}") for date in dates] == [[URL], [URL], []]
        assert urls("is:duplicate") == []
        assert urls(f"harbour -is:duplicate as-of:{dates[1]}") == [OTHER]
    store.close()


def test_as_of_after_an_absence_is_uncertain_and_within_a_gap_finds_nothing(tmp_path: Path) -> None:
    def absence(day: int, sight: Sight) -> SummaryEntry:
        there = crawl(NOW + day * DAY, "Page")
        return SummaryEntry(there.crawl._replace(sight=sight, payload="", status=404, attempt=100 + day))

    store = open_store(tmp_path)
    days = {1: Sight.MISSING, 4: Sight.MISSING, 5: Sight.MISSING, 6: Sight.MISSING}
    entries = [crawl(NOW + day * DAY, "Page") for day in (0, 2, 8)] + [absence(*entry) for entry in days.items()]
    store.settle(entries, 9)
    store.finish(NOW)
    index_pages(store.path, tmp_path / "index")
    begin = NOW - NOW % DAY
    with closing(Search(store.path, tmp_path / "index")) as search:

        def sure(day: int) -> list[str]:
            date = datetime.fromtimestamp(begin + day * DAY, UTC).date()
            hits = search(f"harbour as-of:{date}", now=NOW + 9 * DAY).results
            return ["uncertain" if hit.details.uncertain else "sure" for hit in hits]

        assert [sure(day) for day in range(10)] == [
            ["sure"], *[["uncertain"]] * 4, [], [], [], ["sure"], ["sure"],
        ]  # fmt: skip
    store.close()


def test_a_new_canonical_address_moves_a_page_to_its_group(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    whole = f"The harbour. {prose(1)} {prose(2, 50)}"
    store.settle([crawl(NOW, "Part"), crawl(NOW, "Whole", url=OTHER, text=whole)], 2)
    store.finish(NOW)
    assert ask(tmp_path, "SELECT count(*) FROM windrow_representative") == [(0,)]
    store.settle([crawl(NOW + DAY, "Part", canonical=OTHER)], 3)
    store.finish(NOW)
    store.close()
    sql = "SELECT DISTINCT str_url FROM windrow_representative r JOIN entity_generation g ON g.entity_generation_id = r.{}"
    assert ask(tmp_path, sql.format("representative_id") + " JOIN url USING (url_id)") == [(OTHER,)]
    assert ask(tmp_path, sql.format("generation_id") + " JOIN url USING (url_id) ORDER BY 1") == [(OTHER,), (URL,)]


def test_what_is_forgotten_leaves_no_title(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle([*CRAWLS, crawl(NOW, "Kept", url=OTHER)], 9)
    store.close()
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link, link:
        forget_versions(link, urls=[URL])
    assert ask(tmp_path, "SELECT title FROM windrow_wording") == [("Kept",)]


def test_the_wordings_of_an_address_are_found_without_those_of_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle([crawl(NOW, "One"), crawl(NOW + DAY, "Two"), crawl(NOW, "Three", url=OTHER)], 1)
    store.close()
    with closing(SqliteReader(tmp_path / "summary.sqlite")) as reader:
        assert [timeline.title for timeline in VersionReader(reader).read_versions(URL)] == ["One", "Two"]
        assert VersionReader(reader).read_versions("https://a.example/none") == []
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link:
        plan = link.execute(f"EXPLAIN QUERY PLAN {_VERSIONS.format(versions='windrow_version')}", (1,)).fetchall()
    assert not [row[3] for row in plan if row[3].startswith("SCAN") and row[3] not in {"SCAN g", "SCAN s"}]
