"""The text and figures of a comparison."""

import json
import sys

import pytest
from benchmarks.comparison import Comparison, median_of, run, show, spread
from benchmarks.daemon import Missing, find

from benchmarks import drops

FIELDS = {"work", "unit", "ours", "peer", "theirs", "ratio", "goal", "met", "note"}
MORE = Comparison("fetch", "files/s", 1500.0, "lftp", 1000.0, 1.0)
LESS = Comparison("memory", "MB", 120.0, "windrow with 200", 100.0, 1 / 1.2, "less")
ALONE = Comparison("fetch", "files/s", 1500.0, "lftp", None, 1.0)


def test_a_ratio_above_one_is_ahead_of_the_peer():
    assert (MORE.ratio, MORE.met) == (1.5, True)
    assert MORE._replace(ours=900.0).met is False
    assert MORE._replace(ours=800.0, goal=0.8).met is True


def test_less_can_be_better():
    assert LESS.ratio == pytest.approx(0.8333, abs=1e-4)
    assert LESS.met
    assert not LESS._replace(ours=121.0).met


def test_a_peer_that_is_not_here_is_neither_met_nor_missed():
    assert (ALONE.ratio, ALONE.met) == (None, None)
    assert ALONE.line() == "fetch: 1,500.0 files/s, lftp not run, ratio -, goal 1: not run"


def test_a_line_tells_ours_the_peers_the_ratio_and_the_goal():
    assert MORE.line() == "fetch: 1,500.0 files/s, lftp 1,000.0, ratio 1.50, goal 1: met"
    assert "MISSED" in MORE._replace(ours=1.0).line()


def test_a_peer_shown_without_a_goal_is_neither_met_nor_missed():
    beside = MORE._replace(goal=None)
    assert (beside.ratio, beside.met) == (1.5, None)
    assert beside.line() == "fetch: 1,500.0 files/s, lftp 1,000.0, ratio 1.50, no goal"


def test_json_is_an_object_a_line(capsys):
    run({"one": lambda: iter([MORE, ALONE]), "two": lambda: iter([LESS])}, ["one"], as_json=True)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(row) for row in rows] == [FIELDS, FIELDS]
    assert [row["theirs"] for row in rows] == [1000.0, None]


def test_what_cannot_run_is_named_and_the_rest_runs(capsys):
    def missing():
        raise Missing("lftp is not here: make servers")
        yield

    run({"one": missing, "two": lambda: iter([MORE])}, as_json=False)
    printed = capsys.readouterr()
    assert printed.out == MORE.line() + "\n"
    assert printed.err == "one: not run: lftp is not here: make servers\n"


def test_an_unknown_name_is_a_usage_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["drops", "nothing"])
    with pytest.raises(SystemExit) as ended:
        show("", drops.COMPARISONS)
    assert ended.value.code == 2
    assert "small-ftp" in capsys.readouterr().err


def test_a_program_that_is_not_here_is_missing():
    with pytest.raises(Missing, match="make servers"):
        find("windrow-has-no-such-peer")


def test_a_median_and_a_spread():
    assert (median_of([3.0, 1.0, 2.0]), median_of([])) == (2.0, 0.0)
    assert spread([1.0, 3.0], []) == "ours 1 to 3"
