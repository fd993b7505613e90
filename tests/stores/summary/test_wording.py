"""A page that changes its title, description or canonical address, and not its text: one generation, told as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.stores.summary.test_near import prose
from windrow.app.indexing import index_pages
from windrow.app.search import Search
from windrow.stores.database import reach
from windrow.stores.index.version import WORDINGS, Versions
from windrow.stores.summary import Crawl, Entry, Sight, Summary, SummaryStore
from windrow.stores.summary.entry import Mime
from windrow.stores.summary.forget import forget

NOW = 1_750_000_000
DAY = 86_400
URL, OTHER = "https://a.example/page", "https://a.example/other"


def crawl(
    at: int, title: str, *, url: str = URL, description: str | None = None, canonical: str = "", text: str = ""
) -> Entry:
    pile = (text or f"The harbour. {prose(1)}", "", "", "", "", "")
    digest = blake2b("\n\n\n".join(pile).encode()).digest()
    named = blake2b(repr((at, title, description, canonical, url)).encode()).hexdigest()
    told = Crawl(
        at, url, at, bytes.fromhex(named[:32]), Sight.CONTENT, b"agent-of-16-byte", 0, True, 20, 7, 200, None,
        f"sha256:{named}",
    )  # fmt: skip
    described = (None, None, "en", title, None, description, -1)
    return Entry(told, Summary(digest, "", pile, described, (), True, 5, Mime("text", "html"), canonical))


def open_store(folder: Path) -> SummaryStore:
    return SummaryStore(f"sqlite:///{folder}/summary.sqlite")


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
    told = [CRAWLS[one] for one in order]
    for start in range(0, 5, size):
        store.settle(told[start : start + size], start)
    by_visit = {one.crawl.visit: one for one in CRAWLS}
    while owed := store.owed(10):
        store.pay({visit: by_visit[visit] for visit in owed})
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
    index_pages(store.engine, tmp_path / "index")
    with closing(Search(store.engine, tmp_path / "index")) as search:

        def title(text: str) -> str:
            return "".join(piece.text for piece in search(text, now=NOW + 9 * DAY).results[0].title)

        days = {0: "First", 1: "First", 2: "Second", 3: "First", 4: "Last", 5: "Other text"}
        begin = NOW - NOW % DAY  # `as-of` means the end of a day
        for day, expected in days.items():
            date = datetime.fromtimestamp(begin + day * DAY, UTC).date()
            assert title(f"harbour as-of:{date}") == expected
        assert title("harbour") == "Other text"
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
    found = "SELECT DISTINCT str_url FROM windrow_representative r JOIN entity_generation g ON g.entity_generation_id = r.{}"
    assert ask(tmp_path, found.format("representative_id") + " JOIN url USING (url_id)") == [(OTHER,)]
    assert ask(tmp_path, found.format("generation_id") + " JOIN url USING (url_id) ORDER BY 1") == [(OTHER,), (URL,)]


def test_what_is_forgotten_leaves_no_title(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle([*CRAWLS, crawl(NOW, "Kept", url=OTHER)], 9)
    store.close()
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link, link:
        forget(link, urls=[URL])
    assert ask(tmp_path, "SELECT title FROM windrow_wording") == [("Kept",)]


def test_a_database_from_before_gets_the_column(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link, link:
        link.execute("DROP VIEW windrow_version")
        link.execute("ALTER TABLE windrow_observation DROP COLUMN said")
    store = open_store(tmp_path)
    store.settle(CRAWLS, 5)
    store.close()
    assert len(ask(tmp_path, VERSIONS)) == 4


def test_the_wordings_of_an_address_are_found_without_those_of_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.settle([crawl(NOW, "One"), crawl(NOW + DAY, "Two"), crawl(NOW, "Three", url=OTHER)], 1)
    store.close()
    engine = reach(f"sqlite:///{tmp_path}/summary.sqlite")
    assert [one.title for one in Versions(engine).wordings(URL)] == ["One", "Two"]
    assert Versions(engine).wordings("https://a.example/none") == []
    engine.dispose()
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as link:
        plan = link.execute(f"EXPLAIN QUERY PLAN {WORDINGS}", (1,)).fetchall()
    assert not [row for row in plan if row[3] == "SCAN windrow_observation"]
