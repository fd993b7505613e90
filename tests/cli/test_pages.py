"""Sites crawled from the command line: what is asked and what is not, of a real nginx, from its own log."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import start
from windrow.app.scaffold import prepare

AGENT = "tester-crawler (for https://example.org/bot)"
OPERATOR = '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate = ["127.0.0.1"]\n'


AHEAD = "UPDATE unobtanium_database_info SET value = '999999' WHERE key = 'windrow.visit'"


def page(title: str, *links: str, head: str = "") -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title>{head}<main><h1>{title}</h1><p>All about {title}.</p>{anchors}</main>"


@pytest.fixture
def small(village):
    """Lay out a site that links to all kinds of things, and a second one beside it."""
    village.clear()
    other = village.origin(1)
    village.put(0, "robots.txt", "User-agent: *\nDisallow: /shut/\n")
    village.put(
        0, "index.html",
        page("home", "a.html", "b.html", "old.html", "gone.html", "shut/x.html", "hidden.html", "list?sort=1", "p.png",
             f"{other}/", "http://192.0.2.1/", "mailto:a@b.example", "a.html?utm_source=x", "nofollow.html"),
    )  # fmt: skip
    village.put(0, "a.html", page("a", "b.html", "/"))
    village.put(0, "b.html", page("b", "missing.html"))
    village.put(0, "new.html", page("new"))
    village.put(0, "hidden.html", page("hidden", "behind.html"))
    village.put(0, "behind.html", page("behind"))
    village.put(0, "nofollow.html", page("nofollow", "behind.html", head='<meta name="robots" content="nofollow">'))
    village.put(0, "shut/x.html", page("x"))
    village.put(1, "robots.txt", "User-agent: tester-crawler\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    village.put(1, "index.html", page("other"))
    return village


@pytest.fixture
def root(tmp_path: Path, small, monkeypatch) -> Path:
    """Make a workspace that knows both sites; it is the current folder."""
    folder = tmp_path / "workspace"
    prepare(folder)
    (folder / "windrow.toml").write_text(
        f'{OPERATOR}delay = "1 ms"\n'
        f'[source.one]\ncollection = "pages"\nurl = "{small.origin(0)}/"\n'
        f'[source.two]\ncollection = "pages"\nseeds = ["{small.origin(1)}/"]\n'
    )
    monkeypatch.chdir(folder)
    return folder


def paths(asked, port: int) -> list[str]:
    return sorted(one.path for one in asked if one.port == port)


WHOLE = ["/", "/a.html", "/b.html", "/gone.html", "/hidden.html", "/missing.html", "/new.html", "/nofollow.html",
         "/old.html", "/robots.txt"]  # fmt: skip


def test_what_is_asked_is_exactly_what_may_be_asked(root, small, windrow) -> None:
    mark = small.mark()
    said = windrow("run", "pages", "--json")
    assert said.code == 0, said.err
    asked = small.asked(mark)
    assert paths(asked, small.ports[0]) == WHOLE
    assert paths(asked, small.ports[1]) == ["/robots.txt"]
    assert {one.agent for one in asked} == {AGENT}
    (summary,) = said.of("summary")
    one, two = summary["sources"]
    assert (one["source"], one["new"], one["moved"], one["failed"]) == ("one", 6, 1, 2)
    assert (two["source"], two["refused"], two["fetched"]) == ("two", 1, 0)
    outcomes = {each["outcome"]: each["visits"] for each in summary["outcomes"]}
    assert outcomes == {
        "file_ingested": 6, "permanent_redirect": 1, "file_gone": 1, "file_not_found": 1, "robots_denied": 1,
    }  # fmt: skip
    assert {each["reason"]: each["items"] for each in summary["reasons"]} == {"robots_denied": 1}
    (standing,) = windrow("status", "--json").messages
    states = {each["source"]: each for each in standing["sources"]}
    assert (states["one"]["items"], states["one"]["new"], states["one"]["failed"]) == (6, 6, 2)
    assert states["one"]["next_due"] > time.strftime("%Y-%m-%d")
    assert windrow("check").code == 0


def test_running_again_asks_nobody_until_something_is_due(root, small, windrow) -> None:
    assert windrow("run", "pages").code == 0
    mark = small.mark()
    assert windrow("run", "pages").code == 0
    assert small.asked(mark) == []


def test_again_is_conditional_and_tells_what_changed(root, small, windrow) -> None:
    assert windrow("run", "pages").code == 0
    small.put(0, "b.html", page("b, but longer than before", "missing.html"))
    (small.roots[0] / "a.html").unlink()
    mark = small.mark()
    said = windrow("run", "one", "--again", "--json")
    assert said.code == 0
    asked = {one.path: one for one in small.asked(mark)}
    assert sorted(asked) == WHOLE
    assert asked["/new.html"].status == asked["/"].status == 304
    assert asked["/new.html"].if_none_match.startswith('"')
    assert (asked["/b.html"].status, asked["/a.html"].status) == (200, 404)
    (one,) = said.of("summary")[0]["sources"]
    assert (one["same"], one["changed"], one["gone"], one["new"]) == (4, 1, 1, 0)


def test_a_dry_run_asks_nobody_and_tells_what_would_be_asked(root, small, windrow) -> None:
    mark = small.mark()
    before = sorted(path.name for path in root.iterdir())
    said = windrow("run", "--dry-run", "--json")
    assert said.code == 0
    assert [one["key"] for one in said.of("would_fetch")] == [f"{small.origin(0)}/", f"{small.origin(1)}/"]
    assert [(one["source"], one["asked"], one["waiting"]) for one in said.of("would_ask")] == [
        ("one", True, 1), ("two", True, 1),
    ]  # fmt: skip
    assert small.asked(mark) == []
    assert sorted(path.name for path in root.iterdir()) == before


def test_a_limit_is_the_most_pages_that_are_asked(root, small, windrow) -> None:
    mark = small.mark()
    assert windrow("run", "one", "--limit", "3").code == 0
    assert len([one for one in small.asked(mark) if one.path != "/robots.txt"]) == 3
    assert windrow("run", "one").code == 0
    assert paths(small.asked(mark), small.ports[0])[:-2] == WHOLE[:-1]


def test_crawling_alone_leaves_reading_for_later(root, small, windrow) -> None:
    assert windrow("run", "pages", "--to", "crawl").code == 0
    mark = small.mark()
    assert windrow("run", "pages", "--from", "summarise").code == 0
    assert small.asked(mark) == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", ["windrow.toml", "pages.operator is missing"]),
        ('operator = "tester"', ["windrow.toml", "pages.contact is missing"]),
        ('operator = "a b"\ncontact = "a@b.example"', ["windrow.toml: pages.operator"]),
        ('operator = "tester"\ncontact = "nowhere"', ["windrow.toml: pages.contact"]),
        ('user_agent = "somebody"', ["windrow.toml: pages.user_agent", "no web page and no mailbox"]),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_nothing_is_asked_without_an_operator_who_can_be_reached(root, small, windrow, lines, words, dry) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace(OPERATOR, f'[pages]\nprivate = ["127.0.0.1"]\n{lines}\n'))
    mark = small.mark()
    said = windrow("run", *(["--dry-run"] if dry else []))
    assert said.code == 4
    first, *rest = said.err.strip().splitlines()
    assert [word for word in words if word not in first] == []
    assert len(rest) == 1
    assert rest[0].startswith("try: ")
    assert small.asked(mark) == []


def test_a_private_address_is_not_talked_to_unless_it_is_named(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('private = ["127.0.0.1"]\n', ""))
    mark = small.mark()
    said = windrow("run", "pages")
    assert small.asked(mark) == []
    assert "its robots.txt could not be had" in said.err
    assert "127.0.0.1" in said.err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_crawl_goes_on_where_it_was(root, small, windrow, stop) -> None:
    for number in range(60):
        small.put(0, f"n{number}.html", page(f"n{number}", f"n{number + 1}.html", f"n{number + 2}.html"))
    small.put(0, "index.html", page("home", "n0.html"))
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('"1 ms"', '"30 ms"'))
    mark = small.mark()
    run = start("run", "one", cwd=root)
    deadline = time.monotonic() + 60
    while len(small.asked(mark)) < 15 and time.monotonic() < deadline:
        assert run.poll() is None
        time.sleep(0.02)
    os.kill(run.pid, stop)
    _, err = run.communicate(timeout=60)
    if stop is signal.SIGINT:
        assert run.returncode == 130
        assert "finishing what is in hand" in err
    else:
        with sqlite3.connect(root / "ledger.sqlite") as ledger:
            ledger.execute("UPDATE lease SET expires = '2000-01-01T00:00:00.000000Z'")
        ledger.close()
    before = len(small.asked(mark))
    assert before < 50
    assert windrow("run", "one").code == 0
    asked = paths(small.asked(mark), small.ports[0])
    wanted = {"/", "/n60.html", "/n61.html", *(f"/n{number}.html" for number in range(60))}
    assert set(asked) - {"/robots.txt"} == wanted
    twice = len(asked) - len(set(asked))
    assert twice <= (2 if stop is signal.SIGINT else 12), "what was asked and not put on record is asked again"
    assert windrow("check").code == 0


def test_try_reads_one_page_and_writes_nothing(root, small, windrow) -> None:
    before = sorted(root.rglob("*"))
    said = windrow("try", f"{small.origin(0)}/b.html", "--as", "pages", "--json")
    assert said.code == 0
    (got,) = said.of("got")
    assert got["address"] == f"{small.origin(0)}/b.html"
    kinds = [one["kind"] for one in said.of("record")]
    assert kinds == ["text_pile", "document_description", "link_summary"]
    assert said.of("record")[2]["identifier"] == f"{small.origin(0)}/missing.html"
    assert sorted(root.rglob("*")) == before
    assert windrow("try", f"{small.origin(0)}/missing.html", "--as", "pages").code == 1
    assert windrow("try", "ftp://a.example/x", "--as", "pages").code == 2
    hidden = windrow("try", f"{small.origin(0)}/hidden.html", "--as", "pages")
    assert (hidden.code, "asks not to be indexed" in hidden.out) == (1, True)


def test_try_reads_a_file(tmp_path, windrow, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_text(page("kept", "b.html", head='<meta name="robots" content="noindex">'))
    said = windrow("try", "page.html", "--as", "pages")
    assert said.code == 1
    assert "title=kept" in said.out
    assert "asks not to be indexed" in said.out


def test_new_source_writes_a_site(root, small, windrow) -> None:
    assert windrow("new", "source", "third", f"{small.origin(2)}/", "--collection", "pages").code == 0
    assert (root / "sources" / "third.toml").read_text() == f'url = "{small.origin(2)}/"\ncollection = "pages"\n'
    for name, url in (("bad", "nowhere"), ("again", f"{small.origin(0)}/"), ("pw", "https://me:secret@h.example/")):
        said = windrow("new", "source", name, url, "--collection", "pages")
        assert said.code == 2
        assert "secret" not in said.out + said.err
        assert not (root / "sources" / f"{name}.toml").exists()


def test_it_runs_as_a_program(root, small) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "windrow", "run", "pages"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "file_ingested" in done.stderr
    assert done.stdout == ""


@pytest.fixture
def crawled(root, small, windrow) -> Path:
    """Crawl both sites."""
    said = windrow("run", "pages")
    assert said.code == 0, said.err
    return root


def test_what_was_crawled_is_searched_and_told_of(crawled, small, windrow) -> None:
    found = windrow("search", "all about", "--json").of("result")
    assert {one["url"].removeprefix(small.origin(0)) for one in found} == {
        "/", "/a.html", "/b.html", "/new.html", "/nofollow.html",
    }  # fmt: skip
    said = windrow("why", f"{small.origin(0)}/shut/x.html")
    assert "robots.txt, line 2: Disallow: /shut/" in said.out


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
    said = windrow("export", "pages", "--as", "jsonl")
    assert said.code == 0
    lines = {one["url"].removeprefix(small.origin(0)): one for one in map(json.loads, said.out.splitlines())}
    assert set(lines) == {"/", "/a.html", "/b.html", "/hidden.html", "/new.html", "/nofollow.html", "/old.html"}
    assert lines["/a.html"]["title"] == "a"
    assert lines["/a.html"]["ended"] is None
    assert lines["/old.html"]["redirect"] == f"{small.origin(0)}/new.html"
    assert lines["/hidden.html"]["text"] is None


def test_an_export_without_pages_says_what_makes_them(root, windrow) -> None:
    said = windrow("export", "summary", "--as", "sqlite")
    assert said.code == 1
    assert "try: windrow run pages" in said.err


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE text_pile SET text = text || 'x'", "is not the text that its digest names"),
        ("UPDATE entity_generation SET marked_duplicate = 1 WHERE entity_generation_id = 1", "without the mark"),
        ("UPDATE entity_generation SET confirmed_end_unix_utc = 5", "ended before it was last seen"),
        ("UPDATE token_statistics SET occurances = occurances + 1", "other words than token_statistics tells, and"),
        ("DELETE FROM full_text_entity_index", "is not indexed"),
        ("DELETE FROM url WHERE str_url LIKE '%a.html'", "refers to a row of url"),
        (AHEAD, "the ledger ends with visit"),
    ],
)
def test_check_finds_what_does_not_agree(crawled, windrow, sql, words) -> None:
    assert (windrow("check").code, windrow("check").out) == (0, "")
    database = sqlite3.connect(crawled / "summary.sqlite")
    database.execute(sql)
    database.commit()
    database.close()
    said = windrow("check")
    assert said.code == 1
    assert words in said.out
    assert "windrow run" in said.out


def test_a_summary_that_is_ahead_of_its_ledger_is_not_gone_on_with(crawled, windrow) -> None:
    with closing(sqlite3.connect(crawled / "summary.sqlite")) as database:
        database.execute(AHEAD)
        database.commit()
    said = windrow("run", "one", "--again")
    assert said.code == 1
    assert "up to visit 999999, and the ledger ends with" in said.err


def test_an_operator_has_pages_asked_again_or_never(crawled, small, windrow) -> None:
    a, gone = f"{small.origin(0)}/a.html", f"{small.origin(0)}/gone.html"
    assert windrow("retry", a, "--dry-run").out.splitlines() == [a]
    mark = small.mark()
    assert windrow("run", "pages").code == 0
    assert small.asked(mark) == []
    assert windrow("retry", f"{a}#part").out.splitlines() == [a]
    assert windrow("retry", "--source", "one").out.splitlines() == sorted([gone, f"{small.origin(0)}/missing.html"])
    assert windrow("retry", "--reason", "robots_denied").out.splitlines() == [f"{small.origin(1)}/"]
    assert windrow("cancel", gone).code == 0
    assert windrow("run", "pages").code == 0
    assert paths(small.asked(mark), small.ports[0]) == ["/a.html", "/missing.html", "/robots.txt"]
    assert windrow("run", "pages", "--again").code == 0
    assert "/gone.html" not in paths(small.asked(mark), small.ports[0])
    assert windrow("check").code == 0
    assert windrow("retry", f"{small.origin(0)}/unknown.html").code == 1 + 1
    assert "stands" in windrow("why", gone).out


def test_a_site_that_does_not_answer_fails_alone(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace(f"{small.origin(1)}/", "http://127.0.0.1:9/"))
    said = windrow("run", "pages", "--json")
    assert said.code == 3
    (summary,) = said.of("summary")
    one, two = summary["sources"]
    assert (one["new"], one["trouble"]) == (6, "")
    assert two["trouble"].startswith("http://127.0.0.1:9: its robots.txt could not be had: ")
    (standing,) = windrow("status", "--json").messages
    assert [bool(each["trouble"]) for each in standing["sources"]] == [False, True]


def test_replay_makes_the_same_summary_again_and_asks_nobody(crawled, small, windrow) -> None:
    mark = small.mark()
    before = windrow("export", "pages", "--as", "jsonl").out
    said = windrow("replay", "--json")
    assert said.code == 0, said.err
    (told,) = said.of("reread")
    assert told["before"] == told["after"] == len(before.splitlines())
    assert told["changed"] == 0
    assert sorted(windrow("export", "pages", "--as", "jsonl").out.splitlines()) == sorted(before.splitlines())
    assert small.asked(mark) == []
    assert (windrow("check").code, windrow("check").out) == (0, "")
    assert len(windrow("search", "all about", "--json").of("result")) == 5
    database = sqlite3.connect(crawled / "summary.sqlite")
    database.execute("UPDATE document_description SET title = 'somebody changed it' WHERE title = 'a'")
    database.commit()
    database.close()
    assert windrow("replay", "--json").of("reread")[0]["changed"] == 1
    assert windrow("export", "pages", "--as", "jsonl").out.count("somebody changed it") == 0


def test_a_run_asks_each_site_for_no_more_than_its_bound(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('delay = "1 ms"', 'delay = "1 ms"\nmax_commands_per_run = 4'))
    mark = small.mark()
    for done in (4, 8, 9):
        assert windrow("run", "pages").code == 0
        assert len([one for one in small.asked(mark) if one.path != "/robots.txt"]) == done
    assert paths(small.asked(mark), small.ports[0])[:9] == WHOLE[:9]


def test_a_page_is_hidden_and_shown_again_by_its_header_alone(root, small, windrow) -> None:
    small.put(0, "shy.html", page("wallflower"))
    small.put(0, "index.html", page("home", "shy.html"))
    assert windrow("run", "one").code == 0
    assert "wallflower" in windrow("search", "wallflower").out
    small.put(0, "shy", "")
    mark = small.mark()
    assert windrow("run", "one", "--again").code == 0
    assert [one.status for one in small.asked(mark) if one.path == "/shy.html"] == [304]
    assert "shy.html" not in windrow("search", "wallflower").out
    (small.roots[0] / "shy").unlink()
    assert windrow("run", "one", "--again").code == 0
    assert "shy.html" in windrow("search", "wallflower").out
    told = "SELECT count(*), count(text_pile_id), count(confirmed_end_unix_utc) FROM entity_generation"
    with closing(sqlite3.connect(root / "summary.sqlite")) as link:
        found = link.execute(f"{told} JOIN url USING (url_id) WHERE path = '/shy.html'").fetchone()
    assert found == (3, 2, 2)
