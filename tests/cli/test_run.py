"""`windrow run`: what it says, what it leaves out, and what it hands on."""

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
        found = ledger.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    ledger.close()
    return found


def test_the_summary_is_by_source_and_by_reason(workspace, windrow) -> None:
    said = windrow("run")
    assert said.code == 0
    lines = [line.split() for line in said.err.splitlines()]
    assert ["harwell", "4", "3", "0", "0", "2", "3", "0", "0", "4.0", "kB"] in lines
    assert ["zip", "unzip", "2", "0", "1"] in lines
    reasons = {line[0]: line[1] for line in lines if line and line[0] in {"bad_date", "not_a_zip", "name_too_long"}}
    assert reasons == {"bad_date": "1", "not_a_zip": "1", "name_too_long": "1"}
    assert "try: windrow why NAME" in said.err


def test_running_again_does_nothing_again(harvested, windrow) -> None:
    fetches = count(harvested, "attempt")
    said = windrow("run")
    assert said.code == 0
    assert count(harvested, "attempt") == fetches == 3
    assert "harwell        4    0        0     0        0        0" in said.err


def test_again_fetches_once_more(harvested, windrow) -> None:
    said = windrow("run", "--again", "--json")
    assert said.code == 0
    assert count(harvested, "attempt") == 6
    (summary,) = said.of("summary")
    assert summary["sources"][0]["same"] == 3
    assert windrow("run", "--again", "--from", "xsd").code == 2


def test_json_streams_lines_that_are_documented(workspace, windrow) -> None:
    said = windrow("run", "--json")
    kinds = [message["type"] for message in said.messages]
    assert kinds[-1] == "summary"
    assert set(kinds) == {"progress", "summary"}
    assert said.err == ""
    parts = {each.__name__: set(shape(each)) for each in PARTS}
    for message in said.messages:
        assert set(message) - {"type"} == set(shape(MESSAGES[message["type"]].shape))
    summary = said.messages[-1]
    assert set(summary["sources"][0]) == parts["SourceCount"]
    assert set(summary["phases"][0]) == parts["PhaseCount"]
    assert set(summary["reasons"][0]) == parts["ReasonCount"]
    assert set(summary["findings"][0]) == parts["FindingCount"]


def test_dry_run_asks_nobody_and_writes_nothing(workspace, partner, windrow) -> None:
    said = windrow("run", "--dry-run")
    assert said.code == 0
    assert str(partner) in said.out
    assert "add edit delete" in said.out
    assert count(workspace, "session") == count(workspace, "attempt") == count(workspace, "item") == 0
    assert not (workspace / "archive").exists()


def test_dry_run_tells_what_waits(workspace, windrow) -> None:
    windrow("run", "--limit", "1")
    assert count(workspace, "attempt") == 1
    said = windrow("run", "--dry-run", "--json")
    assert [one["key"] for one in said.of("would_fetch")] == [
        "add/H.2026-01-12.2.impc.zip",
        "add/H.2026-01-13.9.impc.zip",
    ]
    assert said.of("would_ask")[0]["waiting"] == 2
    assert set(said.of("would_ask")[0]) - {"type"} == set(shape(MESSAGES["would_ask"].shape))
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
    assert [one["phase"] for one in windrow("run", "--dry-run", "--from", "unzip", "--json").of("would_read")] == [
        "xsd"
    ]
    said = windrow("run", "--from", "xsd", "--to", "xsd", "--json")
    assert [one["phase"] for one in said.of("progress")] == ["xsd"] * len(said.of("progress"))
    said = windrow("status", "--json")
    assert {one["phase"] for one in said.messages[0]["states"] if one["kind"] == "xml"} == {"xsd"}
    assert windrow("run", "--from", "upload").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["nosuch"],
            "there is no source or collection 'nosuch'; there are: drops, events, harwell, news, pages, papers",
        ),
        (["--from", "nosuch"], "--from: drops has no phase 'nosuch'; there are download, zip_name"),
        (["--from", "data", "--to", "xsd"], "--from data comes after --to xsd"),
        (["--every", "often"], "wanted a duration"),
        (["--since", "yesterday"], "'yesterday' is not a date like 2026-01-31"),
        (["--limit", "0"], "0 is not in the range"),
    ],
)
def test_wrong_wishes_are_usage_errors(words, told, workspace, windrow) -> None:
    said = windrow("run", *words)
    assert said.code == 2
    assert told in said.err
    assert count(workspace, "session") == 0


def test_a_source_that_cannot_be_listed_gives_3(workspace, partner, windrow) -> None:
    lost = f'url = "file://{partner}/nowhere"\ncollection = "drops"\ncentre = "H"\n'
    (workspace / "sources" / "lost.toml").write_text(lost)
    said = windrow("run")
    assert said.code == 3
    assert "lost: " in said.err
    assert "1 of 2 sources failed" in said.err
    rows = {one["source"]: one for one in windrow("status", "--json").messages[0]["sources"]}
    assert rows["lost"]["trouble"]
    assert rows["lost"]["last_good"] is None
    assert rows["harwell"]["last_good"]
    assert windrow("run", "harwell").code == 0


def test_a_folder_of_held_zips_is_adopted(workspace, partner, windrow, monkeypatch) -> None:
    (workspace / "sources" / "harwell.toml").unlink()
    said = windrow("run", partner)
    assert (said.code, said.err.splitlines()[-1]) == (2, f"try: windrow run --from unzip {partner}")
    monkeypatch.chdir(partner.parent)
    named = ("--workspace", workspace, "run", "--from", "unzip", "partner")
    said = windrow(*named, "--dry-run")
    assert (said.code, "adopted" in said.out) == (0, True)
    assert count(workspace, "session") == 0
    said = windrow(*named)
    assert said.code == 0
    assert "there are no sources" not in said.err
    assert count(workspace, "attempt") == 3
    windrow(*named)
    assert count(workspace, "attempt") == 3


def test_quiet_says_nothing(workspace, windrow) -> None:
    said = windrow("run", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_without_sources_nobody_is_asked(workspace, windrow) -> None:
    (workspace / "sources" / "harwell.toml").unlink()
    said = windrow("run")
    assert said.code == 0
    assert "there are no sources" in said.err


def test_every_session_is_told_to_the_command_of_notify(workspace, partner, windrow) -> None:
    setting(workspace, "[run]\nnotify = \"sh -c 'cat >> told.jsonl; echo talk'\"")
    assert windrow("run").out == ""  # what the command prints is talk
    put(partner, "add/" + drop("H", "2026-01-14", 4)[0], drop("H", "2026-01-14", 4)[1])
    windrow("run", "harwell")
    told = [json.loads(line) for line in (workspace / "told.jsonl").read_text().splitlines()]
    assert [one["exit_code"] for one in told] == [0, 0]
    assert [one["sources"][0]["new"] for one in told] == [3, 1]
    assert set(told[0]) == {"type", "workspace", "folder", *shape(MESSAGES["summary"].shape)}
    assert told[1]["command"] == "run harwell"


def test_a_failing_command_of_notify_is_told(workspace, windrow) -> None:
    setting(workspace, '[run]\nnotify = "false"')
    said = windrow("run")
    assert said.code == 0
    assert "the command of run.notify, false, ended with 1" in said.err


def test_the_pace_is_checked_and_taken(workspace, windrow) -> None:
    assert windrow("run", "--listers", "65").code == 2
    assert windrow("run", "--listers", "2", "--downloaders", "1", "--attempts", "2").code == 0
