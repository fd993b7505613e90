"""Bytes that harm their fetcher: it or the reading is ended, the address is recorded, and other hosts are crawled."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests import programs
from tests.engine.harmful_crawl import crawl_harmful
from tests.engine.site_crawl import faults, query_ledger
from tests.servers.hostile import BAD, GOOD, answer, serve_answers
from tests.waiting import PATIENCE, until
from windrow.engine import heartbeat
from windrow.engine.heartbeat import Heartbeat, Overdue

HERE = Path(__file__).parents[2]
PAGES = 30


def page(*links):
    return answer(b"".join(b"<a href='%s'>x</a>" % link.encode() for link in links))


def harmful_site(harmful, rules=b"User-agent: *\nAllow: /"):
    """Return the answers of a good host with a chain of pages, and of one with a harmful page."""
    answers = {(GOOD, f"/{number}"): page(f"/{number + 1}") for number in range(PAGES - 1)}
    answers[GOOD, f"/{PAGES - 1}"] = page()
    answers |= {(BAD, "/0"): page("/1", "/harm", "/2"), (BAD, "/1"): page(), (BAD, "/2"): page("/3")}
    return answers | {
        (BAD, "/3"): page(), (BAD, "/harm"): answer(b"do:%s now" % harmful),
        (BAD, "/robots.txt"): answer(rules, kind="text/plain"),
    }  # fmt: skip


def crawl(tmp_path, answers):
    """Crawl both hosts; a hang that is not ended lasts until the test's time limit."""
    with serve_answers(answers) as server:
        return crawl_harmful(tmp_path, f"{server.origin(GOOD)}/0", f"{server.origin(BAD)}/0"), server


@pytest.mark.parametrize(
    ("harmful", "reason", "times"),
    [(b"hang", "time_limit", 1), (b"loop", "time_limit", 1), (b"die", "worker_died", 2), (b"hoard", "memory_limit", 1)],
)
def test_bytes_that_harm_their_fetcher_are_told_by_address_and_all_else_is_crawled(tmp_path, harmful, reason, times):
    _, server = crawl(tmp_path, harmful_site(harmful))
    paths = {host: [path for at_host, path in server.asked if at_host == host] for host in (GOOD, BAD)}
    assert set(paths[GOOD]) == {"/robots.txt", *(f"/{number}" for number in range(PAGES))}
    assert set(paths[BAD]) == {"/robots.txt", "/0", "/1", "/2", "/3", "/harm"}
    assert paths[BAD].count("/harm") == times, "it is not asked again in this run"
    rows = query_ledger(
        tmp_path,
        "SELECT v.reason, a.url, a.due FROM attempt v JOIN address a ON a.digest = v.address WHERE v.reason > ''",
    )
    assert [(row[0], row[1].rpartition("/")[2]) for row in rows] == [(reason, "harm")]
    assert rows[0][2] > time.time(), "but another day"
    assert faults(tmp_path) == []


def test_rules_that_hang_their_fetcher_have_their_host_left(tmp_path):
    code, server = crawl(tmp_path, harmful_site(b"hang", rules=b"do:hang now"))
    assert len([path for host, path in server.asked if host == GOOD]) >= PAGES
    assert {path for host, path in server.asked if host == BAD} == {"/robots.txt"}
    assert code == 3
    assert [why for (why,) in query_ledger(tmp_path, "SELECT reason FROM task_end WHERE failed") if why] == [
        "time_limit"
    ]


def test_a_host_that_harms_again_and_again_is_left_for_the_run(tmp_path):
    answers = harmful_site(b"loop")
    answers[BAD, "/0"] = page(*(f"/harm{number}" for number in range(20)))
    answers |= {(BAD, f"/harm{number}"): answer(b"do:hoard now") for number in range(20)}
    code, server = crawl(tmp_path, answers)
    assert len([path for host, path in server.asked if "harm" in path]) == 5
    assert code == 3
    assert ("site_given_up",) in query_ledger(tmp_path, "SELECT reason FROM task_end WHERE failed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_two_wishes_to_stop_end_a_run_whose_fetcher_hangs(tmp_path, number):
    with serve_answers(harmful_site(b"hang")) as server:
        seeds = [f"{server.origin(GOOD)}/0", f"{server.origin(BAD)}/0"]
        process = programs.start("-m", "tests.engine.harmful_crawl", tmp_path, *seeds, cwd=HERE)
        until(lambda: (BAD, "/harm") in server.asked)
        time.sleep(0.3)
        os.kill(process.pid, number)
        time.sleep(0.3)
        os.kill(process.pid, number)
        process.wait(PATIENCE)


def test_one_wish_to_stop_does_not_wait_for_a_fetcher_that_hangs(tmp_path):
    with serve_answers(harmful_site(b"hang")) as server:
        process = programs.start("-m", "tests.engine.harmful_crawl", tmp_path, f"{server.origin(BAD)}/0", cwd=HERE)
        until(lambda: (BAD, "/harm") in server.asked)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 130


def test_a_reading_that_takes_too_long_is_ended_from_within(monkeypatch):
    monkeypatch.setattr(heartbeat, "_READING_CPU", 0.2)
    monkeypatch.setattr(heartbeat, "_TICK", 0.05)
    heart = Heartbeat(heartbeat.board())
    before = signal.getsignal(signal.SIGPROF)
    heart.start()
    try:
        with pytest.raises(Overdue), heart.reading(1, 2):
            re.match(r"(a+)+b", "a" * 60)
        with heart.reading(1, 2):
            assert sum(range(1000)) == 499_500
        until = time.process_time() + 0.4
        while time.process_time() < until:
            pass  # outside a reading there is no limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
