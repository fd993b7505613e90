"""`windrow run`: its output, its selection, and its notifications."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from os import utime

import pytest
from tools.command import MESSAGES, PARTS, shape

from tests.cli.conftest import put, setting
from windrow.demo.partner import drop


def count(workspace, table: str) -> int:
    with closing(sqlite3.connect(workspace / "ledger.sqlite")) as ledger, ledger:
        row = ledger.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    ledger.close()
    return row


def test_the_summary_is_by_source_and_by_reason(workspace, windrow) -> None:
    output = windrow("run")
    assert output.code == 0
    lines = [line.split() for line in output.err.splitlines()]
    assert ["harwell", "4", "3", "0", "0", "2", "3", "0", "0", "4.0", "kB"] in lines
    assert ["zip", "unzip", "2", "0", "1"] in lines
    reasons = {line[0]: line[1] for line in lines if line and line[0] in {"bad_date", "not_a_zip", "name_too_long"}}
    assert reasons == {"bad_date": "1", "not_a_zip": "1", "name_too_long": "1"}
    assert "try: windrow why NAME" in output.err


def test_running_again_does_nothing_again(harvested, windrow) -> None:
    fetches = count(harvested, "attempt")
    output = windrow("run")
    assert output.code == 0
    assert count(harvested, "attempt") == fetches == 3
    assert "harwell        4    0        0     0        0        0" in output.err


def test_a_lost_file_of_the_archive_fails_each_run_until_it_is_back_or_given_up(harvested, windrow) -> None:
    """Each run was all well, and said that it had repaired what was lost."""
    path = next((harvested / "archive").glob("*.warc*"))
    path.rename(harvested / "away")
    for _ in range(2):
        output = windrow("run")
        assert output.code == 3
        assert "took" in output.err.splitlines()[0] and "1 problem" in output.err
        assert f"{path.name} is missing: captures in it are lost" in output.err
        assert "repaired" not in output.err
        assert path.name in windrow("status").out
    (harvested / "away").rename(path)
    assert path.name not in windrow("status").out
    assert windrow("run").code == 0


def test_again_fetches_once_more(harvested, windrow) -> None:
    output = windrow("run", "--again", "--json")
    assert output.code == 0
    assert count(harvested, "attempt") == 6
    (summary,) = output.of("summary")
    assert summary["sources"][0]["same"] == 3
    assert windrow("run", "--again", "--from", "xsd").code == 2
    partner = harvested.parent / "partner"
    min(partner.rglob("*.zip")).unlink()
    windrow("run", "--again")
    assert count(harvested, "attempt") == 8
    (status,) = windrow("status", "--json").of("status")
    assert "pending" not in {state["status"] for state in status["states"]}, "a zip that is gone waits for ever"


def test_json_streams_lines_that_are_documented(workspace, windrow) -> None:
    output = windrow("run", "--json")
    kinds = [message["type"] for message in output.messages]
    assert kinds[-1] == "summary"
    assert set(kinds) == {"progress", "summary"}
    assert output.err == ""
    parts = {each.__name__: set(shape(each)) for each in PARTS}
    for message in output.messages:
        assert set(message) - {"type"} == set(shape(MESSAGES[message["type"]].shape))
    summary = output.messages[-1]
    assert set(summary["sources"][0]) == parts["SourceCount"]
    assert set(summary["phases"][0]) == parts["PhaseCount"]
    assert set(summary["reasons"][0]) == parts["ReasonCount"]
    assert set(summary["findings"][0]) == parts["FindingCount"]


def test_dry_run_asks_nobody_and_writes_nothing(workspace, partner, windrow) -> None:
    output = windrow("run", "--dry-run")
    assert output.code == 0
    assert str(partner) in output.out
    assert "add edit delete" in output.out
    assert count(workspace, "session") == count(workspace, "attempt") == count(workspace, "listed_file") == 0
    assert not (workspace / "archive").exists()


def test_dry_run_tells_what_waits(workspace, windrow) -> None:
    windrow("run", "--limit", "1")
    assert count(workspace, "attempt") == 1
    output = windrow("run", "--dry-run", "--json")
    assert [fetch["key"] for fetch in output.of("would_fetch")] == [
        "add/H.2026-01-12.2.impc.zip",
        "add/H.2026-01-13.9.impc.zip",
    ]
    assert output.of("would_ask")[0]["waiting"] == 2
    assert set(output.of("would_ask")[0]) - {"type"} == set(shape(MESSAGES["would_ask"].shape))
    assert len(windrow("run", "--dry-run", "--json", "--limit", "1").of("would_fetch")) == 1
    assert count(workspace, "attempt") == 1


def test_since_leaves_out_what_is_older(workspace, partner, windrow) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
    utime(partner / "add" / drop("H", "2026-01-12", 1)[0], (long_ago, long_ago))
    windrow("run", "--since", "2021-06-01")
    assert count(workspace, "attempt") == 2
    assert len(windrow("run", "--dry-run", "--json").of("would_fetch")) == 1
    assert windrow("run", "--dry-run", "--json", "--since", "2021-06-01").of("would_fetch") == []
    windrow("run")
    assert count(workspace, "attempt") == 3


def test_phases_bound_a_run(workspace, windrow) -> None:
    windrow("run", "--to", "unzip")
    assert [phase["phase"] for phase in windrow("run", "--dry-run", "--from", "unzip", "--json").of("would_read")] == [
        "xsd"
    ]
    output = windrow("run", "--from", "xsd", "--to", "xsd", "--json")
    assert [progress["phase"] for progress in output.of("progress")] == ["xsd"] * len(output.of("progress"))
    output = windrow("status", "--json")
    assert {state["phase"] for state in output.messages[0]["states"] if state["kind"] == "xml"} == {"xsd"}
    assert windrow("run", "--from", "upload").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["nosuch"],
            "there is no source or collection 'nosuch'; the names are: drops, events, harwell, news, pages, papers",
        ),
        (["--from", "nosuch"], "--from: drops has no phase 'nosuch'; its phases are download, zip_name"),
        (["--from", "data", "--to", "xsd"], "--from data comes after --to xsd"),
        (["--every", "often"], "expected a duration"),
        (["--since", "yesterday"], "'yesterday' is not a date like 2026-01-31"),
        (["--since", "9999-12-31T23:59-23:59"], "'9999-12-31T23:59-23:59' is not a date like 2026-01-31"),
        (["--limit", "0"], "0 is not in the range"),
    ],
)
def test_wrong_wishes_are_usage_errors(words, message, workspace, windrow) -> None:
    output = windrow("run", *words)
    assert output.code == 2
    assert message in output.err
    assert count(workspace, "session") == 0


def test_a_source_that_cannot_be_listed_gives_3(workspace, partner, windrow) -> None:
    lost = f'url = "file://{partner}/nowhere"\ncollection = "drops"\ncentre = "H"\n'
    (workspace / "sources" / "lost.toml").write_text(lost)
    output = windrow("run")
    assert output.code == 3
    assert "lost: " in output.err
    assert "1 of 2 sources failed" in output.err
    rows = {source["source"]: source for source in windrow("status", "--json").messages[0]["sources"]}
    assert rows["lost"]["error"]
    assert rows["lost"]["last_good"] is None
    assert rows["harwell"]["last_good"]
    assert windrow("run", "harwell").code == 0


def test_a_folder_of_held_zips_is_adopted(workspace, partner, windrow, monkeypatch) -> None:
    (workspace / "sources" / "harwell.toml").unlink()
    output = windrow("run", partner)
    assert (output.code, output.err.splitlines()[-1]) == (2, f"try: windrow run --from unzip {partner}")
    monkeypatch.chdir(partner.parent)
    named = ("--workspace", workspace, "run", "--from", "unzip", "partner")
    output = windrow(*named, "--dry-run")
    assert (output.code, "adopted" in output.out) == (0, True)
    assert count(workspace, "session") == 0
    output = windrow(*named)
    assert output.code == 0
    assert "there are no sources" not in output.err
    assert count(workspace, "attempt") == 3
    windrow(*named)
    assert count(workspace, "attempt") == 3


def test_quiet_says_nothing(workspace, windrow) -> None:
    output = windrow("run", "--quiet")
    assert (output.code, output.out, output.err) == (0, "", "")


def test_without_sources_nobody_is_asked(workspace, windrow) -> None:
    (workspace / "sources" / "harwell.toml").unlink()
    output = windrow("run")
    assert output.code == 0
    assert "there are no sources" in output.err


def test_every_session_is_told_to_the_command_of_notify(workspace, partner, windrow) -> None:
    setting(workspace, "[run]\nnotify = \"sh -c 'cat >> told.jsonl; echo talk'\"")
    assert windrow("run").out == ""  # what the command prints is talk
    put(partner, "add/" + drop("H", "2026-01-14", 4)[0], drop("H", "2026-01-14", 4)[1])
    windrow("run", "harwell")
    summaries = [json.loads(line) for line in (workspace / "told.jsonl").read_text().splitlines()]
    assert [summary["exit_code"] for summary in summaries] == [0, 0]
    assert [summary["sources"][0]["new"] for summary in summaries] == [3, 1]
    assert set(summaries[0]) == {"type", "workspace", "folder", *shape(MESSAGES["summary"].shape)}
    assert summaries[1]["command"] == "run harwell"


def test_a_failing_command_of_notify_is_told(workspace, windrow) -> None:
    setting(workspace, '[run]\nnotify = "false"')
    output = windrow("run")
    assert output.code == 0
    assert "the command of run.notify, false, ended with code 1" in output.err


def test_a_command_of_notify_that_a_signal_ended_is_told_as_that(workspace, windrow) -> None:
    setting(workspace, "[run]\nnotify = \"sh -c 'kill -9 $$'\"")
    output = windrow("run")
    assert "the command of run.notify, sh, was ended by signal 9" in output.err


def test_the_pace_is_checked_and_taken(workspace, windrow) -> None:
    assert windrow("run", "--listers", "65").code == 2
    assert windrow("run", "--listers", "2", "--downloaders", "1", "--attempts", "2").code == 0
