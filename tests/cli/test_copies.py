"""Copies on two sites and a title that changes: crawled from a real server, then searched, crawled and checked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.clock import pass_time, present
from tests.collections.pages.database.test_near import prose
from windrow.app import Windrow
from windrow.app.begin import prepare

TEXT = f"The lighthouse stands where the river meets the sea. {prose(1, 80)}"


def page(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title><main><h1>Story</h1><p>{text}</p></main><nav>{anchors}</nav>"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, village, real_clock_after_module) -> tuple[Path, str]:
    """Crawl two sites twice; return the workspace and a moment between."""
    village.clear()
    root = tmp_path_factory.mktemp("copies")
    prepare(root)
    towns = "".join(f'[source.town{n}]\ncollection = "pages"\nurl = "{village.origin(n)}/"\n' for n in range(2))
    (root / "windrow.toml").write_text(
        '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
        + towns
    )
    between = ""
    for title in ("Old name", "New name"):
        village.put(0, "index.html", page("Home", "Welcome.", "long/way/to/story.html"))
        village.put(0, "long/way/to/story.html", page(title, f"{TEXT} Printed on Monday."))
        village.put(1, "index.html", page("Home", "Hello.", "copy.html"))
        village.put(1, "copy.html", page("Copy", f"{TEXT} Printed on Friday, 17 copies."))
        assert Windrow(root).run(["town0", "town1"], again=bool(between)).exit_code == 0
        pass_time(1.1)
        between = between or present().strftime("%Y-%m-%dT%H:%M:%S")
        pass_time(1.1)
        village.age()
    return root, between


@pytest.fixture
def here(crawled, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(crawled[0])
    return crawled[1]


def test_copies_on_two_sites_are_one_result(here, windrow, village) -> None:
    hits = windrow("search", "lighthouse", "--json").of("page_result")
    assert [(hit["url"], hit["more"], hit["near"]) for hit in hits] == [(f"{village.origin(1)}/copy.html", 1, 1)]
    assert "and 1 more address with nearly the same text" in windrow("search", "lighthouse").out
    hit = windrow("search", "lighthouse Monday", "--json").of("page_result")[0]
    assert hit["url"].endswith("/story.html")
    assert hit["standing"] == f"{village.origin(1)}/copy.html"


def test_a_title_is_told_as_it_was(here, windrow) -> None:
    then = windrow("search", f"lighthouse Monday as-of:{here}", "--json").of("page_result")
    assert [hit["title"] for hit in then] == ["Old name"]
    assert [hit["title"] for hit in windrow("search", "lighthouse Monday", "--json").of("page_result")] == ["New name"]
    assert len(windrow("search", '"New name" lighthouse', "--json").of("page_result")) == 1


def test_the_books_of_the_crawl_are_complete(here, windrow) -> None:
    with closing(sqlite3.connect("crawler.sqlite")) as books, closing(sqlite3.connect("summary.sqlite")) as summary:
        crawls = {row[0] for row in books.execute("SELECT crawl_uuid FROM crawl_log WHERE crawl_type = 0")}
        assert crawls == {row[0] for row in summary.execute("SELECT crawl_uuid FROM crawl_summary")}
        agents = books.execute("SELECT agent_uuid, http_user_agent, time_finished_unix_utc FROM agent").fetchall()
        assert {row[0] for row in agents} == {row[0] for row in summary.execute("SELECT agent_uuid FROM crawl_summary")}
        assert {row[1] for row in agents} == {"tester-crawler (for https://example.org/bot)"}
        assert all(row[2] for row in agents)
        codes = books.execute("SELECT exit_code, count(*) FROM crawl_log WHERE crawl_type = 0 GROUP BY 1").fetchall()
        assert codes == [(20, 8)]
    assert windrow("check").code == 0
