"""Sites crawled from the command line: which requests are sent, by the log of a real nginx."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import chdir, closing

import pytest

from tests import programs
from tests.cli.conftest import AGENT, OPERATOR, WHOLE, page, paths
from tests.clock import pass_time
from tests.servers.hostile import GOOD, answer, serve_answers
from tests.waiting import PATIENCE, until
from windrow.app.begin import prepare
from windrow.app.captures import list_sessions
from windrow.app.session_progress import read_progress
from windrow.collections.pages.adapter import trial
from windrow.engine.sample import sample_address
from windrow.ledger import Ledger
from windrow.model import Site
from windrow.reasons import Reason


def test_what_is_asked_is_exactly_what_may_be_asked(root, small, windrow) -> None:
    mark = small.mark()
    output = windrow("run", "pages", "--json")
    assert output.code == 0, output.err
    asked = small.asked(mark)
    assert paths(asked, small.ports[0]) == WHOLE
    assert paths(asked, small.ports[1]) == ["/robots.txt"]
    assert {request.agent for request in asked} == {AGENT}
    (summary,) = output.of("summary")
    first, second = summary["sources"]
    assert (first["source"], first["new"], first["redirected"], first["failed"]) == ("one", 6, 1, 2)
    assert (second["source"], second["refused"], second["fetched"]) == ("two", 1, 0)
    outcomes = {each["outcome"]: each["attempts"] for each in summary["outcomes"]}
    assert outcomes == {
        "file_ingested": 6, "permanent_redirect": 1, "file_gone": 1, "file_not_found": 1, "robots_denied": 1,
    }  # fmt: skip
    assert {each["reason"]: each["items"] for each in summary["reasons"]} == {
        "gone": 1,
        "not_found": 1,
        "robots_denied": 1,
    }
    (standing,) = windrow("status", "--json").messages
    states = {each["source"]: each for each in standing["sources"]}
    assert (states["one"]["items"], states["one"]["new"], states["one"]["failed"]) == (6, 6, 2)
    assert states["one"]["next_due"] > time.strftime("%Y-%m-%d")
    (site,) = windrow("why", "one", "--json").of("origin")
    assert states["one"]["next_due"] == site["next_due"]
    reasons = {each["reason"]: each["items"] for each in standing["reasons"]}
    assert reasons == {"not_found": 1, "gone": 1, "robots_denied": 1, "noindex": 1}
    assert sum(each["failed"] for each in standing["sources"]) == 3, "as many as failed for the first three reasons"
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        progress, (entry,) = read_progress(ledger, 1), list_sessions(ledger, None, 9)
    assert entry.failed == 2
    assert (progress.attempts, progress.failed) == (9, 2), "without robots.txt, and what it forbids"
    assert first["offered"] > 8
    assert windrow("run", "one", "--again").code == 0
    (earlier,) = windrow("why", "session 1", "--json").of("summary")
    assert [source["offered"] for source in earlier["sources"]] == [None, 1], "what is known now is not of that session"
    assert windrow("why", "session 1").out.splitlines()[2].split()[:2] == ["one", "-"]
    assert windrow("check").code == 0


def test_a_file_without_a_reader_has_one_word_in_the_report_and_the_database(root, small, windrow) -> None:
    small.put(0, "new.html", page("new", "table.json"))
    small.put(0, "b.html", page("b", "new.html"))
    small.put(0, "table.json", "{}")
    output = windrow("run", "one", "--json")
    assert output.code == 0, output.err
    outcomes = {each["outcome"]: each["attempts"] for each in output.of("summary")[0]["outcomes"]}
    assert outcomes["file_of_unknown_type"] == 1
    (source,) = output.of("summary")[0]["sources"]
    assert source["new"] == outcomes["file_ingested"] + 1
    with closing(sqlite3.connect(root / "summary.sqlite")) as database:
        query = "SELECT exit_code, count(*) FROM crawl_summary WHERE exit_code IN (20, 29) GROUP BY 1"
        assert dict(database.execute(query)) == {20: outcomes["file_ingested"], 29: 1}


def test_a_page_that_its_server_calls_a_picture_is_ingested_in_the_report_the_status_and_both_databases(
    tmp_path, windrow
):
    answers = {
        (GOOD, "/"): answer(page("home", "called.html", "table.json").encode()),
        (GOOD, "/called.html"): answer(page("called otherwise").encode(), kind="image/png"),
        (GOOD, "/table.json"): answer(b"{}", kind="application/json"),
    }
    with serve_answers(answers) as server, chdir(tmp_path):
        prepare(tmp_path)
        configuration = f'{OPERATOR.replace("127.0.0.1", GOOD)}[source.one]\ncollection = "pages"\n'
        (tmp_path / "windrow.toml").write_text(f'{configuration}url = "{server.origin(GOOD)}/"\n')
        output = windrow("run", "one", "--json")
        assert output.code == 0, output.err
        (status,) = windrow("status", "--json").messages
        story = windrow("why", "session 1", "--json").messages[0]
    for summary in (output.of("summary")[0], status["last"], story):
        outcomes = {each["outcome"]: each["attempts"] for each in summary["outcomes"]}
        assert outcomes == {"file_ingested": 2, "file_of_unknown_type": 1}
    for database, table in (("summary", "crawl_summary"), ("crawler", "crawl_log")):
        with closing(sqlite3.connect(tmp_path / f"{database}.sqlite")) as link:
            query = f"SELECT exit_code, count(*) FROM {table} WHERE crawl_type = 0 GROUP BY 1"
            assert dict(link.execute(query)) == {20: 2, 29: 1}
    with closing(sqlite3.connect(tmp_path / "crawler.sqlite")) as link:
        query = "SELECT last_contentful_crawl_time_unix_utc FROM crawl_candidate JOIN url USING (url_id) WHERE path = ?"
        assert link.execute(query, ("/called.html",)).fetchone() != (None,)


def test_an_error_with_the_bytes_of_the_page_and_a_choice_of_pages_have_failed(tmp_path, windrow):
    pages = {f"/{name}.html": page(name).encode() for name in ("broken", "missing", "walled", "renamed")}
    answers = {(GOOD, path): answer(body) for path, body in pages.items()}
    answers[GOOD, "/"] = answer(page("home", *(path[1:] for path in pages)).encode())
    with serve_answers(answers) as server, chdir(tmp_path):
        prepare(tmp_path)
        configuration = f'{OPERATOR.replace("127.0.0.1", GOOD)}[source.one]\ncollection = "pages"\n'
        (tmp_path / "windrow.toml").write_text(f'{configuration}url = "{server.origin(GOOD)}/"\n')
        assert windrow("run", "one").code == 0
        statuses = ("500 Error", "404 Not Found", "403 Forbidden", "300 Multiple Choices")
        for (path, body), status in zip(pages.items(), statuses, strict=True):
            answers[GOOD, path] = answer(body, status)
        (source,) = windrow("run", "one", "--again", "--json").of("summary")[0]["sources"]
        (status,) = windrow("status", "--json").messages
        story = windrow("why", f"{server.origin(GOOD)}/renamed.html").out
    assert (source["same"], source["redirected"], source["failed"]) == (1, 0, 4)
    reasons = {each["reason"]: each["items"] for each in status["reasons"]}
    assert reasons == {"server_error": 1, "not_found": 1, "permission_denied": 1, "protocol_error": 1}
    assert "present at the last successful request, but later ones failed" in story


def test_pages_that_lead_on_come_back_or_let_themselves_be_found_again_are_told_as_such(tmp_path, windrow):
    hidden = page("hidden", head="<meta name=robots content=noindex>").encode()
    answers = {
        (GOOD, "/"): answer(page("home", "on.html", "back.html", "hidden.html").encode()),
        (GOOD, "/on.html"): answer(page("on", head="<meta http-equiv=refresh content='0; url=/'>").encode()),
        (GOOD, "/back.html"): answer(page("back").encode()),
        (GOOD, "/hidden.html"): answer(hidden),
    }
    with serve_answers(answers) as server, chdir(tmp_path):
        url = server.origin(GOOD)
        prepare(tmp_path)
        configuration = f'{OPERATOR.replace("127.0.0.1", GOOD)}[source.one]\ncollection = "pages"\nurl = "{url}/"\n'
        (tmp_path / "windrow.toml").write_text(configuration)
        (source,) = windrow("run", "one", "--json").of("summary")[0]["sources"]
        assert (source["new"], source["redirected"], source["same_text"], source["failed"]) == (4, 1, 0, 0)
        status = windrow("status", "--json").of("status")[0]
        assert [(reason["reason"], reason["items"]) for reason in status["reasons"]] == [("noindex", 1)]
        assert status["last"]["still_open"] == 0, "a rule of the page is no failure"
        answers[GOOD, "/hidden.html"] = answer(page("hidden").encode())
        answers[GOOD, "/back.html"] = answer(b"gone", "410 Gone")
        (changed,) = (each for each in windrow("run", "one", "--again", "--json").of("summary")[0]["changes"]
                      if each["key"] == f"{url}/hidden.html")  # fmt: skip
        assert "size" not in changed["difference"]
        answers[GOOD, "/back.html"] = answer(page("back").encode())
        windrow("run", "one", "--again")
        story = windrow("why", f"{url}/back.html").out
    assert "changed  present again\n" in story
    assert "no difference" not in story


def test_running_again_asks_nobody_until_something_is_due(crawled, small, windrow) -> None:
    mark = small.mark()
    assert windrow("run", "pages").code == 0
    assert small.asked(mark) == []


def test_again_is_conditional_and_tells_what_changed(crawled, small, windrow) -> None:
    small.put(0, "b.html", page("b, but longer than before", "missing.html"))
    (small.roots[0] / "a.html").unlink()
    mark = small.mark()
    pass_time(2)  # versions are told apart by seconds
    output = windrow("run", "one", "--again", "--json")
    assert output.code == 0
    asked = {request.path: request for request in small.asked(mark)}
    assert sorted(asked) == WHOLE
    assert asked["/new.html"].status == asked["/"].status == 304
    assert asked["/new.html"].if_none_match.startswith('"')
    assert (asked["/b.html"].status, asked["/a.html"].status) == (200, 404)
    (source,) = output.of("summary")[0]["sources"]
    # one 404 may be an accident: a page is gone after the second
    assert (source["same"], source["changed"], source["gone"], source["new"]) == (4, 1, 0, 0)


def test_a_dry_run_asks_nobody_and_tells_what_would_be_asked(root, small, windrow) -> None:
    mark = small.mark()
    before = sorted(path.name for path in root.iterdir())
    output = windrow("run", "--dry-run", "--json")
    assert output.code == 0
    assert [fetch["key"] for fetch in output.of("would_fetch")] == [f"{small.origin(0)}/", f"{small.origin(1)}/"]
    assert [(source["source"], source["asked"], source["waiting"]) for source in output.of("would_ask")] == [
        ("one", True, 1), ("two", True, 1),
    ]  # fmt: skip
    assert small.asked(mark) == []
    assert sorted(path.name for path in root.iterdir()) == before


def test_a_limit_is_the_most_pages_that_are_asked(root, small, windrow) -> None:
    mark = small.mark()
    assert windrow("run", "one", "--limit", "3").code == 0
    assert len([request for request in small.asked(mark) if request.path != "/robots.txt"]) == 3
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
        (
            'user_agent = "somebody"',
            ["windrow.toml: pages.user_agent", "it must contain the address of a web page or a mailbox"],
        ),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_nothing_is_asked_without_an_operator_who_can_be_reached(root, small, windrow, lines, words, dry) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace(OPERATOR, f'[pages]\nprivate_hosts = ["127.0.0.1"]\n{lines}\n'))
    mark = small.mark()
    output = windrow("run", *(["--dry-run"] if dry else []))
    assert output.code == 4
    first, *rest = output.err.strip().splitlines()
    assert [word for word in words if word not in first] == []
    assert len(rest) == 1
    assert rest[0].startswith("try: ")
    assert small.asked(mark) == []


def test_a_private_address_is_not_talked_to_unless_it_is_named(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('private_hosts = ["127.0.0.1"]\n', ""))
    mark = small.mark()
    output = windrow("run", "pages")
    assert small.asked(mark) == []
    assert "its robots.txt could not be fetched" in output.err
    assert "127.0.0.1" in output.err


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_crawl_goes_on_where_it_was(root, small, windrow, start, stop) -> None:
    for number in range(60):
        small.put(0, f"n{number}.html", page(f"n{number}", f"n{number + 1}.html", f"n{number + 2}.html"))
    small.put(0, "index.html", page("home", "n0.html"))
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('"1 ms"', '"200 ms"'))
    mark = small.mark()
    run = start("run", "one", cwd=root)
    until(lambda: len(small.asked(mark)) >= 15 or run.poll() is not None)
    assert run.poll() is None
    os.kill(run.pid, stop)
    _, err = run.read_rest(PATIENCE)
    if stop is signal.SIGINT:
        assert run.returncode == 130
        assert "finishing the items in progress" in err
    else:
        with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
            ledger.execute("UPDATE lease SET expires = '2000-01-01T00:00:00.000000Z'")
        ledger.close()
    before = len(small.asked(mark))
    assert before < 50
    (root / "windrow.toml").write_text(text)
    assert windrow("run", "one").code == 0
    asked = paths(small.asked(mark), small.ports[0])
    wanted = {"/", "/n60.html", "/n61.html", *(f"/n{number}.html" for number in range(60))}
    assert set(asked) - {"/robots.txt"} == wanted
    twice = len(asked) - len(set(asked))
    assert twice <= (2 if stop is signal.SIGINT else 12), "what was asked and not put on record is asked again"
    assert windrow("check").code == 0


def test_try_reads_one_page_and_writes_nothing(root, small, windrow) -> None:
    before = sorted(root.rglob("*"))
    output = windrow("try", f"{small.origin(0)}/b.html", "--collection", "pages", "--json")
    assert output.code == 0
    (fetched,) = output.of("fetched")
    assert fetched["address"] == f"{small.origin(0)}/b.html"
    kinds = [record["kind"] for record in output.of("record")]
    assert kinds == ["text_pile", "document_description", "link_summary"]
    assert output.of("record")[2]["identifier"] == f"{small.origin(0)}/missing.html"
    assert sorted(root.rglob("*")) == before
    assert windrow("try", f"{small.origin(0)}/missing.html", "--collection", "pages").code == 1
    assert windrow("try", "ftp://a.example/x", "--collection", "pages").code == 2
    hidden = windrow("try", f"{small.origin(0)}/hidden.html", "--collection", "pages")
    assert (hidden.code, "asks not to be indexed" in hidden.out) == (1, True)


def test_try_refuses_a_private_number_that_a_run_refuses(root, small, windrow, monkeypatch, tmp_path) -> None:
    text, address = (root / "windrow.toml").read_text(), f"{small.origin(0)}/b.html"
    unnamed = text.replace('private_hosts = ["127.0.0.1"]\n', "")
    (root / "windrow.toml").write_text(unnamed)
    mark = small.mark()
    output = windrow("try", address, "--collection", "pages")
    assert (output.code, 'private_hosts = ["127.0.0.1"]' in output.err) == (1, True)
    output = windrow("try", address.replace("127.0.0.1", "0x7f.1"), "--collection", "pages")
    assert (output.code, Reason.PRIVATE_ADDRESS.meaning in output.err) == (1, True)
    monkeypatch.chdir(tmp_path)  # without a workspace nothing is allowed
    output = windrow("try", address, "--collection", "pages")
    assert (output.code, Reason.PRIVATE_ADDRESS.meaning in output.err) == (1, True)
    assert small.asked(mark) == []
    monkeypatch.chdir(root)  # a source's own line holds for its hosts, as in a run
    (root / "windrow.toml").write_text(
        unnamed.replace("[source.one]\n", '[source.one]\nprivate_hosts = ["127.0.0.1"]\n')
    )
    assert windrow("try", address, "--collection", "pages").code == 0
    assert windrow("run", address).code == 0
    (root / "windrow.toml").write_text(unnamed)
    assert windrow("run", address).code != 0


def test_try_reads_a_file(tmp_path, windrow, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_text(page("kept", "b.html", head='<meta name="robots" content="noindex">'))
    output = windrow("try", "page.html", "--collection", "pages")
    assert output.code == 1
    assert "title=kept" in output.out
    assert "asks not to be indexed" in output.out
    (tmp_path / "app.html").write_text("<title>App</title><div id=root></div><script src=/app.js></script>")
    assert "warn  NoText: the document has no text" in windrow("try", "app.html", "--collection", "pages").out


def test_try_reads_a_file_within_the_limits_of_pages(root, windrow) -> None:
    (root / "windrow.toml").write_text((root / "windrow.toml").read_text() + "[pages.limits]\nlinks = 1\n")
    (root / "page.html").write_text(page("kept", "b.html", "c.html", "d.html"))
    output = windrow("try", str(root / "page.html"), "--collection", "pages", "--json")
    assert len([record for record in output.of("record") if record["table"] == "link_summary"]) == 1
    (finding,) = output.of("finding")
    assert (finding["kind"], finding["message"]) == ("Capped", "more than 1 links of a page: 2 left out")


def test_try_reads_a_file_that_is_named_by_a_url(tmp_path, windrow) -> None:
    path = tmp_path / "a page.html"
    path.write_text(page("kept"))
    for address in (path.as_uri(), f"file:{path}"):
        output = windrow("try", address, "--collection", "pages")
        assert (output.code, "title=kept" in output.out) == (0, True)


def test_try_waits_for_an_answer_as_long_as_a_run(root, small, windrow, monkeypatch) -> None:
    """The limit of CPU time is one for reading."""
    (root / "windrow.toml").write_text((root / "windrow.toml").read_text() + "[pages.limits]\ncpu_time = 7\n")
    timeouts = []

    def record_timeout(make_source, url, limits):
        timeouts.append(make_source(url).site.timeout)
        return sample_address(make_source, url, limits)

    monkeypatch.setattr(trial, "sample_address", record_timeout)
    assert windrow("try", f"{small.origin(0)}/b.html", "--collection", "pages").code == 0
    assert timeouts == [Site("http").timeout]


def test_new_source_writes_a_site(root, small, windrow) -> None:
    assert windrow("new", "source", "third", f"{small.origin(2)}/", "--collection", "pages").code == 0
    assert (root / "sources" / "third.toml").read_text() == f'url = "{small.origin(2)}/"\ncollection = "pages"\n'
    for name, url in (("bad", "nowhere"), ("again", f"{small.origin(0)}/"), ("pw", "https://me:s3cr3t@h.example/")):
        output = windrow("new", "source", name, url, "--collection", "pages")
        assert output.code == 2
        assert "s3cr3t" not in output.out + output.err
        assert not (root / "sources" / f"{name}.toml").exists()


def test_it_runs_as_a_program(root, small) -> None:
    done = programs.run("-m", "windrow", "run", "pages", cwd=root)
    assert done.returncode == 0, done.stderr
    assert "file_ingested" in done.stderr
    assert done.stdout == ""
