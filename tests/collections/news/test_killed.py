"""A run that is killed at any point and repeated writes the same trees, byte by byte, as one that was not."""

import os
import shutil
import signal
import sys
import time
import traceback
from contextlib import closing
from dataclasses import replace

import windrow
from tests import programs
from tests.cli.test_forget import remains
from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.workspace import COLLECTION, articles, configured, run, summaries
from tests.crash.deadly import kill_at
from tests.house.tree import ROOT
from tests.sessions import session_settings
from tests.waiting import PATIENCE
from windrow.collections.news.adapter import ADAPTER
from windrow.collections.news.adapter.adapter import NewsAdapter
from windrow.collections.news.adapter.tree_index import TreeIndex
from windrow.config import load
from windrow.engine import takedown
from windrow.engine.session import Session
from windrow.ledger import Ledger
from windrow.ledger.takedowns import TakedownWriter
from windrow.stores.records import RecordStore

WATCHED = ("normalized_news", "raw_news_data", "news.db")
TOUCHED = {"open", "os.rename", "os.mkdir", "shutil.rmtree"}


def harvest_only(workspace):
    """Run a session that requests and reads, but does not write the tree."""
    with Session(session_settings(workspace), "run news") as session:
        harvest = ADAPTER.harvest(workspace)
        session.run_harvest(replace(harvest, derivations={"publish": lambda pulse: "nothing"}))


def publish(root):
    harvest = ADAPTER.harvest(load(root, environ={}, collections={"news": COLLECTION}))
    with closing(harvest.version_store):
        harvest.derivations["publish"](lambda: True)


def publish_and_be_killed(root, number):
    """Write the trees in a process that is killed at a given number of file operations; tell whether it was."""
    child = os.fork()
    if child == 0:
        left = number

        def heard(event, arguments):
            nonlocal left
            if event in TOUCHED and any(word in str(arguments[0]) for word in WATCHED):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(heard)
        _end_with(lambda: publish(root))
    return _was_killed(child)


def _end_with(work):
    """Do the work of a forked process, and exit."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 whatever it is, it is shown
        traceback.print_exc()
    finally:
        os._exit(code)


def _was_killed(child):
    """Wait for a forked process, and tell whether it was killed; fail if it ended with an error."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, -signal.SIGKILL}
    return code != 0


def trees(root):
    """Return the contents of the files by path, without the generation, which is higher after a kill."""
    paths = (path for name in WATCHED[:2] for path in (root / name).rglob("*"))
    files = [path for path in paths if path.is_file() and path.name != "_windrow_generation"]
    return {str(path.relative_to(root)): path.read_bytes().replace(str(root).encode(), b"ROOT") for path in files}


def test_the_trees_are_the_same_whichever_file_was_touched_last_when_writing_them_was_killed(tmp_path):
    press = Press(posts=3)
    try:
        workspace = configured(
            tmp_path / "run", {"press": {"url": press.url, "kind": "wordpress"}}, "rewrite_changed = true"
        )
        harvest_only(workspace)
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 2))
        press.edit(2, now, content={"rendered": "<p>Corrected.</p>"})
        press.edit(3, now, link=f"{press.url}/2025/11/moved/")
        press.post(9, now)
        pass_time(1.1)
        harvest_only(workspace)
    finally:
        press.close()
    shutil.copytree(tmp_path / "run", tmp_path / "whole")
    publish(tmp_path / "whole")
    expected = trees(tmp_path / "whole")
    assert len([name for name in expected if name.startswith("normalized_news/127.")]) == 4
    assert sum(summary["statistics"]["articles_new"] for summary in summaries(tmp_path / "whole")) == 4
    assert (
        len([article for article in articles(tmp_path / "whole").values() if "revisions" in article["metadata"]]) == 2
    )
    number, killed = 1, True
    while killed:
        root = tmp_path / f"cut{number}"
        shutil.copytree(tmp_path / "run", root)
        killed = publish_and_be_killed(root, number)
        publish(root)
        assert trees(root) == expected, f"killed at file {number}"
        shutil.rmtree(root)
        number += 1
    assert number > 25


def test_a_run_that_is_killed_while_it_asks_is_gone_on_with_and_leaves_the_same_articles(tmp_path):
    press = Press(posts=25)
    try:
        sources = {"press": {"url": press.url, "kind": "wordpress"}}
        run(configured(tmp_path / "whole", sources))
        expected = {
            url: article | {"first_seen_timestamp_gmt": 0} for url, article in articles(tmp_path / "whole").items()
        }
        assert len(expected) == 25
        root = tmp_path / "cut"
        workspace = configured(root, sources)
        for page in (1, 3):
            child = programs.start("-m", "tests.collections.news.workspace", root, cwd=ROOT)
            press.before = lambda path, page=page, pid=child.pid: (
                f"page={page}&" in path and os.kill(pid, signal.SIGKILL)
            )
            assert child.wait(timeout=PATIENCE) == -signal.SIGKILL
        press.before = lambda path: None
        run(workspace)
        written = {url: article | {"first_seen_timestamp_gmt": 0} for url, article in articles(root).items()}
        assert written == expected
        assert sum(summary["statistics"]["articles_new"] for summary in summaries(root)) == 25
    finally:
        press.close()


SECRET = "zanzibarite"
DEADLY = (
    *((TakedownWriter, name) for name in ("begin", "record_spans", "clear", "record_done", "lift", "make_due_again")),
    (takedown, "erase"), (NewsAdapter, "remove_taken_down"), (NewsAdapter, "_remove_files"), (NewsAdapter, "clean_stores"),
    (RecordStore, "forget"), (TreeIndex, "remove"),
)  # fmt: skip


def forget_and_be_killed(root, url, number):
    """Take down an article in a process that is killed before or after a given number of calls; tell whether it was."""
    child = os.fork()
    if child == 0:
        _end_with(lambda: _forget_until_killed(root, url, number))
    return _was_killed(child)


def _forget_until_killed(root, url, number):
    kill_at(number, DEADLY)
    windrow.open(root).forget([url])


def test_forgetting_an_article_of_a_list_that_is_killed_anywhere_is_finished_and_the_list_is_asked_for_again(tmp_path):
    press = Press(posts=2)
    try:
        text = f"<p>It is about {SECRET}.</p>"
        press.post(3, content={"rendered": text, "protected": False})
        sources = {"press": {"url": press.url, "kind": "wordpress", "full_listing_every": "0s"}}
        run(configured(tmp_path / "base", sources))
        url, others = press.posts[3]["link"], {press.posts[number]["link"] for number in (1, 2)}
        assert articles(tmp_path / "base").keys() == {url, *others}
        number, killed = 1, True
        while killed:
            root = tmp_path / f"cut{number}"
            shutil.copytree(tmp_path / "base", root)
            killed = forget_and_be_killed(root, url, number)
            with closing(Ledger(root / "ledger.sqlite")) as ledger:
                is_open = bool(ledger.takedowns.open())
            windrow.open(root).forget([] if is_open and number % 4 == 1 else [url])
            assert remains(root, SECRET) == [], f"killed at {number}"
            assert articles(root).keys() == others
            asked = len(press.asked)
            run(configured(root, sources))
            lists = [path for path in press.asked[asked:] if "_embed" in path and "include" not in path]
            assert lists, f"killed at {number}: no list is asked for any more"
            assert articles(root).keys() == others, f"killed at {number}"
            assert found(root) == others, f"killed at {number}: what the list has besides is not known any more"
            shutil.rmtree(root)
            number += 2  # before each call is after the one before it
        assert number > 25
    finally:
        press.close()


def found(root):
    """Return the addresses of the articles in the store."""
    with closing(RecordStore(root / "news.db", read_only=True)) as store:
        return {version.key for version in store.versions() if version.change != "gone"}
