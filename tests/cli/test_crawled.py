"""Crawled sites: search, why, export, check, replay, and crawling again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.cli.conftest import OPERATOR, WHOLE, page, paths

AHEAD = "UPDATE unobtanium_database_info SET value = '999999' WHERE key = 'windrow.attempt'"


def test_what_was_crawled_is_searched_and_told_of(crawled, small, windrow) -> None:
    hits = windrow("search", "all about", "--json").of("page_result")
    assert {hit["url"].removeprefix(small.origin(0)) for hit in hits} == {
        "/", "/a.html", "/b.html", "/new.html", "/nofollow.html",
    }  # fmt: skip
    output = windrow("why", f"{small.origin(0)}/shut/x.html")
    assert "robots.txt, line 2: Disallow: /shut/" in output.out
    for name in (small.origin(0).removeprefix("http://"), f"{small.origin(0)}/robots.txt"):
        output = windrow("why", name)
        assert "robots.txt: 1 of 1 rule for * forbids addresses" in output.out
        assert "7 versions of 7 pages; 7 are present" in output.out
    (site,) = windrow("why", "two", "--json").of("site")
    assert site["versions"]["versions"] == 0
    (shut_page,) = windrow("why", f"{small.origin(1)}/", "--json").of("page")
    assert shut_page["rule"] == "robots.txt, line 2: Disallow: /", "of the group of rules for our own crawler"


def test_the_summary_is_exported_whole(crawled, tmp_path) -> None:
    copy = tmp_path / "copy.sqlite"
    with copy.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "windrow", "export", "summary", "--as", "sqlite"],
            cwd=crawled, stdout=out, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"{copy.stat().st_size:,} bytes written\n"
    tables = "SELECT count(*) FROM entity_generation UNION ALL SELECT count(*) FROM text_pile"
    both = []
    for path in (copy, crawled / "summary.sqlite"):
        database = sqlite3.connect(path)
        both.append(database.execute(tables).fetchall())
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
    assert both[0] == both[1]
    assert both[0][0][0] > 5


def test_pages_are_exported_as_lines(crawled, small, windrow) -> None:
    output = windrow("export", "pages", "--as", "jsonl")
    assert output.code == 0
    lines = {page["url"].removeprefix(small.origin(0)): page for page in map(json.loads, output.out.splitlines())}
    assert set(lines) == {"/", "/a.html", "/b.html", "/hidden.html", "/new.html", "/nofollow.html", "/old.html"}
    assert lines["/a.html"]["title"] == "a"
    assert lines["/a.html"]["ended"] is None
    assert lines["/old.html"]["redirect"] == f"{small.origin(0)}/new.html"
    assert lines["/hidden.html"]["text"] is None


def test_an_export_without_pages_says_what_makes_them(root, windrow) -> None:
    output = windrow("export", "summary", "--as", "sqlite")
    assert output.code == 1
    assert "try: windrow run pages" in output.err


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE text_pile SET text = text || 'x'", "does not match its digest"),
        ("UPDATE entity_generation SET marked_duplicate = 1 WHERE entity_generation_id = 1", "but not marked"),
        ("UPDATE entity_generation SET confirmed_end_unix_utc = 5", "ended before it was last seen"),
        (
            "UPDATE token_statistics SET occurances = occurances + 1",
            "has words or counts that differ from token_statistics; the same is true of",
        ),
        ("DELETE FROM full_text_entity_index", "is not in the full-text table"),
        ("DELETE FROM url WHERE str_url LIKE '%a.html'", "refers to a row of url"),
        (AHEAD, "the last attempt in the ledger is"),
    ],
)
def test_check_finds_what_does_not_agree(crawled, windrow, sql, words) -> None:
    assert (windrow("check").code, windrow("check").out) == (0, "")
    database = sqlite3.connect(crawled / "summary.sqlite")
    database.execute(sql)
    database.commit()
    database.close()
    output = windrow("check")
    assert output.code == 1
    assert words in output.out
    assert "windrow run" in output.out


def test_check_says_what_it_cannot_check_and_checks_the_rest(crawled, windrow) -> None:
    with closing(sqlite3.connect(crawled / "summary.sqlite")) as database:
        database.execute("UPDATE link_summary SET link_locality = 'near'")
        database.commit()
    (crawled / "crawler.sqlite").unlink()
    output = windrow("check")
    assert output.code == 1
    for words in ("of the wrong type", "the rest of the database and its index", "crawler.sqlite does not exist"):
        assert words in output.out


def test_a_summary_that_is_ahead_of_its_ledger_is_not_gone_on_with(crawled, windrow) -> None:
    with closing(sqlite3.connect(crawled / "summary.sqlite")) as database:
        database.execute(AHEAD)
        database.commit()
    output = windrow("run", "one", "--again")
    assert output.code == 4
    assert "these stores have later facts: summary.sqlite (up to 999999); nothing was touched" in output.err


def test_an_operator_has_pages_asked_again_or_never(crawled, small, windrow) -> None:
    a, gone = f"{small.origin(0)}/a.html", f"{small.origin(0)}/gone.html"
    assert windrow("retry", a, "--dry-run").out.splitlines() == [a]
    mark = small.mark()
    assert windrow("run", "pages").code == 0
    assert small.asked(mark) == []
    assert windrow("retry", f"{a.replace('http', 'HTTP')}#part").out.splitlines() == [a]
    assert windrow("retry", "--source", "one").out.splitlines() == sorted([gone, f"{small.origin(0)}/missing.html"])
    assert windrow("retry", "--reason", "robots_denied").out.splitlines() == [f"{small.origin(1)}/"]
    assert windrow("cancel", gone).code == 0
    assert windrow("run", "pages").code == 0
    assert paths(small.asked(mark), small.ports[0]) == ["/a.html", "/missing.html", "/robots.txt"]
    assert windrow("run", "pages", "--again").code == 0
    assert "/gone.html" not in paths(small.asked(mark), small.ports[0])
    assert windrow("check").code == 0
    assert windrow("retry", f"{small.origin(0)}/unknown.html").code == 1 + 1
    assert "state: cancelled; not requested until windrow retry" in windrow("why", gone).out
    text = (crawled / "windrow.toml").read_text()
    (crawled / "windrow.toml").write_text(text.replace("[source.two]", "[source.renamed]"))
    assert windrow("retry", "--reason", "robots_denied").out == "", "no run requests what an undeclared source had"
    output = windrow("retry", "--source", "two")
    assert (output.code, "source two is not declared" in output.err) == (2, True)
    output = windrow("retry", f"{small.origin(1)}/")
    assert (output.code, "source two is not declared" in output.err) == (2, True)


def test_a_site_that_does_not_answer_fails_alone(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace(f"{small.origin(1)}/", "http://127.0.0.1:9/"))
    output = windrow("run", "pages", "--json")
    assert output.code == 3
    (summary,) = output.of("summary")
    first, second = summary["sources"]
    assert (first["new"], first["error"]) == (6, "")
    assert second["error"].startswith("http://127.0.0.1:9: its robots.txt could not be fetched: ")
    (standing,) = windrow("status", "--json").messages
    assert [bool(each["error"]) for each in standing["sources"]] == [False, True]


def test_replay_makes_the_same_summary_again_and_asks_nobody(crawled, small, windrow) -> None:
    mark = small.mark()
    before = windrow("export", "pages", "--as", "jsonl").out
    output = windrow("replay", "--json")
    assert output.code == 0, output.err
    (reread,) = output.of("replay")
    assert reread["before"] == reread["after"] == len(before.splitlines())
    assert reread["changed"] == 0
    assert sorted(windrow("export", "pages", "--as", "jsonl").out.splitlines()) == sorted(before.splitlines())
    assert small.asked(mark) == []
    assert (windrow("check").code, windrow("check").out) == (0, "")
    assert len(windrow("search", "all about", "--json").of("page_result")) == 5
    database = sqlite3.connect(crawled / "summary.sqlite")
    database.execute("UPDATE document_description SET title = 'somebody changed it' WHERE title = 'a'")
    database.commit()
    database.close()
    assert windrow("replay", "--json").of("replay")[0]["changed"] == 1
    assert windrow("export", "pages", "--as", "jsonl").out.count("somebody changed it") == 0


def test_a_run_asks_each_site_for_no_more_than_its_bound(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('delay = "1 ms"', 'delay = "1 ms"\nmax_commands_per_run = 4'))
    mark = small.mark()
    for done in (4, 8, 9):
        assert windrow("run", "pages").code == 0
        assert len([request for request in small.asked(mark) if request.path != "/robots.txt"]) == done
    assert paths(small.asked(mark), small.ports[0])[:9] == WHOLE[:9]


def test_links_beyond_the_limit_are_told_until_it_is_raised_and_the_page_is_read_again(root, small, windrow) -> None:
    settings = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(f"{settings}\n[pages.limits]\nlinks = 2\n")
    small.put(0, "index.html", page("home", *(f"page-{number}.html" for number in range(5))))
    output = windrow("run", "one")
    assert output.code == 0
    assert "more than 2 links of a page" in output.err + output.out
    assert "3 left out by caps" in output.err + output.out
    status = windrow("status")
    assert "windrow retry --reason capped" in status.out
    (count,) = windrow("status", "--json").of("status")[0]["unread"]
    assert (count["reason"], count["documents"]) == ("capped", 1)
    assert windrow("run", "one").code == 0
    assert "windrow retry --reason capped" in windrow("status").out, "until it is read whole"
    (root / "windrow.toml").write_text(settings)
    assert windrow("retry", "--reason", "capped").code == 0
    assert windrow("run", "one").code == 0
    assert windrow("status", "--json").of("status")[0]["unread"] == []
    with closing(sqlite3.connect(root / "summary.sqlite")) as link:
        (links,) = link.execute("SELECT count(*) FROM link_summary").fetchone()
    assert links >= 5


def test_a_page_is_hidden_and_shown_again_by_its_header_alone(root, small, windrow) -> None:
    small.put(0, "shy.html", page("wallflower"))
    small.put(0, "shy", "")
    small.put(0, "index.html", page("home", "shy.html"))
    assert windrow("run", "one").code == 0
    assert "shy.html" not in windrow("search", "wallflower").out
    (small.roots[0] / "shy").unlink()
    mark = small.mark()
    assert windrow("run", "one", "--again").code == 0
    asked = [request.status for request in small.asked(mark) if request.path == "/shy.html"]
    assert asked == [200], "a 304 would not say that the header is gone"
    assert "shy.html" in windrow("search", "wallflower").out
    small.put(0, "shy", "")
    mark = small.mark()
    assert windrow("run", "one", "--again").code == 0
    assert [request.status for request in small.asked(mark) if request.path == "/shy.html"] == [304]
    assert "shy.html" not in windrow("search", "wallflower").out
    query = "SELECT count(*), count(text_pile_id), count(confirmed_end_unix_utc) FROM entity_generation"
    with closing(sqlite3.connect(root / "summary.sqlite")) as link:
        row = link.execute(f"{query} JOIN url USING (url_id) WHERE path = '/shy.html'").fetchone()
    assert row == (3, 1, 2)


def test_why_tells_why_there_is_no_text(crawled, small, windrow) -> None:
    output = windrow("why", f"{small.origin(0)}/hidden.html")
    assert "its text cannot be searched for: the page asks not to be indexed" in output.out
    output = windrow("why", f"{small.origin(0)}/a.html")
    assert "no text" not in output.out


def test_check_misses_a_summary_database_and_a_search_index_that_were_removed(crawled, windrow) -> None:
    assert windrow("check").code == 0
    (crawled / "summary.sqlite").rename(crawled / "away")
    assert "summary.sqlite: does not exist or has no tables" in windrow("check").out
    (crawled / "away").rename(crawled / "summary.sqlite")
    shutil.rmtree(crawled / "index")
    output = windrow("check")
    assert output.code == 1
    assert "the search index does not exist, or is of another version" in output.out
    assert output.err.endswith(": 1 fault\n")
    assert windrow("run", "pages", "--from", "index").code == 0
    assert windrow("check").err.endswith("all agree\n")


def test_a_dry_run_of_pages_says_that_sizes_are_unknown(crawled, windrow) -> None:
    output = windrow("run", "--again", "--dry-run").out
    assert " unknown" in output


def test_a_sitemap_of_another_host_is_known_to_why(small, windrow, tmp_path, monkeypatch) -> None:
    """`windrow status` named it as an example of what was left out, and `windrow why` did not know it."""
    monkeypatch.chdir(tmp_path)
    small.put(2, "robots.txt", "User-agent: *\nDisallow:\nSitemap: https://cdn.example/sitemap.xml\n")
    (tmp_path / "windrow.toml").write_text(
        OPERATOR + f'[source.third]\ncollection = "pages"\nseeds = ["{small.origin(2)}/"]\ndelay = "0s"\n'
    )
    windrow("run", "third")
    output = windrow("why", "https://cdn.example/sitemap.xml")
    assert output.code == 0, output.err
    assert "third: crawl left it out: a sitemap is on a host that does not belong to this source" in output.out
    (story,) = windrow("why", "https://cdn.example/sitemap.xml", "--json").of("story")
    assert (story["kind"], story["reason"]) == ("left out", "out_of_scope")
    assert windrow("why", "https://cdn.example/sitemap").code == 1
