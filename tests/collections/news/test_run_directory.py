"""The directory of a run: its raw responses are valid JSON, and its summary has the result of every site."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.daemon import free_port

from tests.collections.news.paper import article, rss
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from tests.engine.unsteady_steps import stop_all_steps
from tests.sessions import session_settings
from windrow.collections.news import standard
from windrow.collections.news.adapter import ADAPTER, publish
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.ledger import Ledger


@pytest.fixture
def press():
    served = Press(posts=3)
    yield served
    served.close()


def feed_of(press, numbers):
    press.posts = {}
    press.put("/rss.xml", rss(press.url, numbers, mark=""), "application/rss+xml")
    for number in numbers:
        press.put(f"/news/the-quay-story-{number}.html", article(press.url, number))
    return {"paper": {"url": f"{press.url}/rss.xml", "kind": "feed"}}


def results(root, run=-1):
    return {site["domain"]: site for site in summaries(root, "_collection_summary.json")[run]["results"]}


def test_raw_replies_are_json_where_the_first_reply_of_a_site_lists_nothing(tmp_path, press):
    workspace = configured(tmp_path, {"press": {"url": press.url, "kind": "wordpress", "overlap": "0s"}})
    run(workspace)
    press.edit(2, "2099-01-01T00:00:00", title={"rendered": "Edited"})  # in one window; the other is empty
    run(workspace)
    for path in sorted(tmp_path.glob("raw_news_data/*/*/127*.json")):
        rows = json.loads(path.read_text())
    assert [row["title"]["rendered"] for row in rows if row["id"] == 2] == ["Edited"]


def test_articles_that_a_run_did_not_read_are_written_by_the_next_one(tmp_path, press, monkeypatch):
    workspace = configured(tmp_path, feed_of(press, (1, 2, 3)))
    with stop_all_steps(monkeypatch):
        run(workspace)
    assert articles(tmp_path) == {}
    press.close()  # nothing is requested again
    run(workspace)
    assert len(articles(tmp_path)) == 3
    assert summaries(tmp_path)[0]["statistics"]["errors"] > 0, "what a run told of itself stays"


def test_an_edited_article_stays_as_it_is_where_an_earlier_answer_is_read_late(tmp_path, press, monkeypatch):
    sites = {"press": {"url": press.url, "kind": "wordpress", "overlap": "0s"}}
    workspace = configured(tmp_path, sites, "rewrite_changed = true")
    with stop_all_steps(monkeypatch):
        run(workspace)
    press.edit(2, "2099-01-01T00:00:00", title={"rendered": "Edited"})
    run(workspace)
    edited = {url: article["title"] for url, article in articles(tmp_path).items()}
    assert len(edited) == len(press.posts)
    assert "Edited" in edited.values()


def test_a_file_that_was_replaced_by_an_older_copy_is_named(tmp_path, press):
    sites = {"press": {"url": press.url, "kind": "wordpress", "overlap": "0s"}}
    workspace = configured(tmp_path, sites, "rewrite_changed = true")
    run(workspace)
    press.edit(2, "2099-01-01T00:00:00", title={"rendered": "Edited"})
    older = {path: path.read_text() for path in tmp_path.glob("normalized_news/*/*.json")}
    run(workspace)

    def find_faults():
        with closing(Ledger(workspace.ledger)) as ledger:
            return [*ADAPTER.check(workspace, ledger)]

    assert find_faults() == []
    (changed,) = (path for path, text in older.items() if path.read_text() != text)
    changed.write_text(older[changed])
    (fault,) = find_faults()
    assert fault.location.endswith(changed.name)
    assert fault.problem == "is an older copy: it has version 1 of 2"
    changed.unlink()  # what the hint says
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    run(workspace)
    assert find_faults() == []
    assert "Edited" in changed.read_text()


def test_articles_that_were_read_late_are_written_page_by_page_until_the_run_is_stopped(tmp_path, press, monkeypatch):
    monkeypatch.setattr(publish, "_PAGE_SIZE", 2)
    workspace = configured(tmp_path, feed_of(press, (1, 2, 3, 4)))
    with stop_all_steps(monkeypatch):
        run(workspace)
    harvest = ADAPTER.harvest(workspace)
    with Session(session_settings(workspace), "run news") as session:
        session.run_harvest(replace(harvest, derivations={}))
    (write,) = harvest.derivations.values()
    assert articles(tmp_path) == {}
    with ADAPTER._store(workspace) as records:
        late = len(records.late_attempts())
    write(lambda: not articles(tmp_path))  # stopped once an article is written
    assert 0 < len(articles(tmp_path)) < 4
    with ADAPTER._store(workspace) as records:
        assert 0 < len(records.late_attempts()) < late
    tree = tmp_path / "normalized_news"
    shutil.copytree(tree, tmp_path / "older")
    write(lambda: True)
    assert len(articles(tmp_path)) == 4
    shutil.rmtree(tree)
    (tmp_path / "older").rename(tree)
    assert "is an older copy" in write(lambda: True).errors[""]


def test_the_summary_counts_the_articles_of_a_feed_and_says_where_its_replies_are_listed(tmp_path, press):
    run(configured(tmp_path, feed_of(press, (1, 2, 3))))
    (site,) = results(tmp_path).values()
    assert (site["status"], site["article_count"]) == ("success", 3)
    assert json.loads(Path(site["file_path"]).read_text())[0]["url"].startswith(press.url)


def test_an_article_whose_page_fails_does_not_make_its_site_fail(tmp_path, press):
    sites = feed_of(press, (1, 2, 3))
    press.put("/news/the-quay-story-2.html", "no", status=404)
    run(configured(tmp_path, sites))
    (site,) = results(tmp_path).values()
    assert (site["status"], site["article_count"]) == ("success", 2)
    assert "error_message" not in site
    assert summaries(tmp_path)[0]["statistics"]["errors"] == 1


def test_a_site_whose_front_page_fails_is_in_the_summary(tmp_path, press):
    press.posts = {}
    run(configured(tmp_path, {"press": {"url": f"{press.url}/"}}))
    (site,) = results(tmp_path).values()
    assert site["status"] == "error"
    assert site["error_message"]


def test_an_address_that_is_spelled_in_an_odd_way_does_not_stop_the_run(tmp_path, press):
    press.posts[1]["link"] = "http://user:word@other.example/x"
    press.posts[2]["link"] += "#top"
    run(configured(tmp_path, {"press": {"url": press.url, "kind": "wordpress"}}))
    assert len(articles(tmp_path)) == 3
    assert [list(standard.problems(article)) for article in articles(tmp_path).values()] == [[], [], []]


def test_numbers_that_json_cannot_say_are_null(tmp_path, press):
    posts = (
        json.dumps(list(press.posts.values())).replace('"author": 1', '"author": NaN').replace('"id": 3', '"id": 1e999')
    )
    press._answer = lambda path: (200, {"Content-Type": "application/json"}, posts.encode())
    run(configured(tmp_path, {"press": {"url": press.url, "kind": "wordpress"}}))
    texts = [path.read_text() for path in tmp_path.glob("normalized_news/*/*.json")]
    assert len(texts) == 3
    assert not [text for text in texts if "NaN" in text or "Infinity" in text]


@pytest.mark.parametrize(("kind", "body"), [
    ("wordpress", b"5"), ("wordpress", b'{"rows": 7}'), ("wordpress", b"[[["),
    ("townnews", b"5"), ("townnews", b'{"rows": 7}'), ("feed", b"5"), ("feed", b"[[["),
])  # fmt: skip
def test_a_site_that_answers_no_list_fails_alone(tmp_path, press, kind, body):
    odd = Press()
    odd._answer = lambda path: (200, {"Content-Type": "application/json"}, body)
    sites = {"odd": {"url": f"{odd.url}/a", "kind": kind}, "press": {"url": press.url, "kind": "wordpress"}}
    run(configured(tmp_path, sites))
    odd.close()
    collected = [site for each in summaries(tmp_path, "_collection_summary.json") for site in each["results"]]
    assert [site["status"] for site in collected if site["domain"] in odd.url] == ["error"]
    without_rows = sum(each["details"].get("responses_without_rows", 0) for each in summaries(tmp_path))
    assert (without_rows > 0) == (kind != "feed"), "the file of the site does not have them"
    assert len(articles(tmp_path)) == 3


@pytest.mark.parametrize("shape", [b"\xef\xbb\xbf%s", b'{"body": %s, "status": 200, "headers": {}}'])
def test_several_replies_of_a_site_are_one_list_however_the_first_is_wrapped(tmp_path, press, shape):
    plain = press._answer

    def wrapped(path):
        status, fields, body = plain(path)
        return status, fields, shape % body if status == 200 else body

    press._answer = wrapped
    for number in range(4, 24):
        press.post(number)
    run(configured(tmp_path, {"press": {"url": press.url, "kind": "wordpress"}}))
    (path,) = tmp_path.glob("raw_news_data/*/*/127*.json")
    assert len(json.loads(path.read_text())) == 23


def test_hosts_that_answer_nothing_at_all_are_in_the_summary_with_their_error(tmp_path, press):
    dead, name = free_port(), "nothing.invalid"
    sites = {
        "press": {"url": press.url, "kind": "wordpress"}, "dead": {"url": f"http://127.0.0.1:{dead}/", "kind": "wordpress"},
        "unknown": {"url": f"http://{name}/"},
    }  # fmt: skip
    root = tmp_path / "some"
    run(configured(root, sites))
    collected = summaries(root, "_collection_summary.json")
    press_host = press.url.partition("//")[2]
    by_host = {site["domain"]: site for each in collected for site in each["results"]}
    assert {host: site["status"] for host, site in by_host.items()} == {
        press_host: "success", f"127.0.0.1:{dead}": "error", name: "error",
    }  # fmt: skip
    assert by_host[name]["error_message"]
    assert "hours_ago" in collected[0]
    assert {site["domain"] for site in collected[0]["results"]} == {press_host, f"127.0.0.1:{dead}"}
    alone = tmp_path / "alone"
    run(configured(alone, {"dead": sites["dead"]}))
    (site,) = results(alone).values()
    assert (site["domain"], site["status"]) == (f"127.0.0.1:{dead}", "error")
    assert summaries(alone)[0]["statistics"]["files_processed"] == 0


def test_articles_that_were_written_before_a_replay_are_not_told_as_new(tmp_path, press):
    """All runs are compared with the tree again; only what is new, or was deleted, is told.

    A tree that is an older copy, or that is gone, is told by each run until a replay.
    """
    workspace = configured(tmp_path, {"press": {"url": press.url, "kind": "wordpress", "overlap": "0s"}})

    def told() -> str:
        first_fact = run(workspace).number
        with closing(Ledger(workspace.ledger)) as ledger:
            comments = [task.comment for task in ledger.sessions.tasks((first_fact, 1 << 60))]
        (comment,) = (comment for comment in comments if comment and comment.startswith("publish: "))
        return comment.removeprefix("publish: ")

    assert told() == "3 new articles of 1 run"
    press.post(4)
    assert told() == "1 new article of 1 run"
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    before = summaries(tmp_path)
    assert told() == "0 new articles of 1 run; 2 earlier runs had been written before"
    assert summaries(tmp_path)[:2] == before
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    next(tmp_path.glob("normalized_news/*/*.json")).unlink()
    press.post(5)
    assert told() == "2 new articles of 1 run; 3 earlier runs had been written before"
    tree = tmp_path / "normalized_news"
    shutil.copytree(tree, tmp_path / "older")
    press.post(6)
    assert told() == "1 new article of 1 run"
    shutil.rmtree(tree)
    assert run(workspace).failed == 1
    shutil.rmtree(tree, ignore_errors=True)
    (tmp_path / "older").rename(tree)
    assert run(workspace).failed == 1
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert told() == "0 new articles of 1 run; 7 earlier runs had been written before"
    assert (run(workspace).failed, len(articles(tmp_path))) == (0, 6)
