"""`run`, `status` and `why` agree about sources that are not read completely."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collections.events.place import calendar, configured, event, serving
from tests.waiting import PATIENCE
from windrow.adapters.record_changes import describe_difference

MEETING = ";TZID=America/New_York:20270115T100000"


@pytest.fixture
def site():
    with serving() as server:
        yield server


def bare(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where the extra `events` is not installed."""
    without = folder / "without"
    without.mkdir(exist_ok=True)
    (without / "icalendar.py").write_text("raise ImportError\n")
    env = {**os.environ, "PYTHONPATH": str(without)}
    command = [sys.executable, "-m", "windrow", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_a_missing_extra_fails_its_source_and_the_run_names_the_command_that_brings_it(tmp_path, site, windrow) -> None:
    site.put("/a.ics", calendar(event("a@x", MEETING, "Board")))
    configured(tmp_path, f"{site.url}/a.ics", every="1s")
    output = bare(tmp_path, "run")
    assert output.returncode == 3
    assert "1 of 1 source failed" in output.stderr
    assert "reading iCalendar needs the extra 'events': pip install 'windrow[events]'" in output.stderr
    assert "pip install 'windrow[events]'" in windrow("status", "--workspace", tmp_path).out


def test_a_run_does_not_call_all_well_what_it_tells_as_trouble(tmp_path, site, windrow) -> None:
    site.put("/a.ics", "<html>Sorry, moved.</html>")
    configured(tmp_path, f"{site.url}/a.ics", every="1s")
    output = windrow("run", "--workspace", tmp_path).err
    assert "the document is not an iCalendar" in output
    assert "all well" not in output
    assert "1 of 1 source failed" in output


def test_a_run_counts_the_events_that_could_not_be_read(tmp_path, site, windrow) -> None:
    site.put("/a.ics", calendar("UID:bad\r\nSUMMARY:Without a time", event("a@x", MEETING)))
    configured(tmp_path, f"{site.url}/a.ics", every="1s")
    output = windrow("run", "--workspace", tmp_path).err
    assert "1 event new, 0 changed, 1 log; 1 event could not be read: see windrow why ADDRESS" in output


def test_a_replay_is_no_good_session_of_a_source_that_could_not_be_read(tmp_path, site, windrow) -> None:
    site.put("/a.ics", "<html>Sorry, moved.</html>")
    configured(tmp_path, f"{site.url}/a.ics", every="6h")
    windrow("run", "--workspace", tmp_path)
    before = windrow("status", "--workspace", tmp_path).out
    assert "the document is not an iCalendar" in before
    assert windrow("replay", "--workspace", tmp_path).code == 0
    assert windrow("status", "--workspace", tmp_path).out == before


def test_why_tells_the_times_of_an_address_of_records_as_all_other_times(tmp_path, site, windrow) -> None:
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    configured(tmp_path, f"{site.url}/a.ics", every="6h")
    windrow("run", "--workspace", tmp_path)
    output = windrow("why", f"{site.url}/a.ics", "--workspace", tmp_path).out
    attempt, due = (line for line in output.splitlines() if "status 200" in line or "due again" in line)
    assert "T" not in attempt.split("  status")[0]
    assert due.endswith(":" + due[-2:])
    assert "Z" not in due


def test_why_of_a_source_of_drops_names_each_phase_that_took_its_documents(harvested, windrow) -> None:
    rows = [line.partition("task     ") for line in windrow("why", "harwell").out.splitlines()[4:]]
    doing = [told.split(":")[0] for _, task, told in rows if task]
    assert list(dict.fromkeys(doing))[:4] == ["listing", "fetching", "unzip", "xsd"]
    left_out = "listing: done: 1 left out, such as add/readme.txt: files whose names end in '.txt'"
    assert [told for _, task, told in rows if task and told.startswith("listing")][1:] == [left_out]


def test_what_cannot_be_retried_or_removed_is_said_plainly(harvested, windrow) -> None:
    """`retry` said "0 items put back; next: windrow run", and `forget` that it did not know the source."""
    nothing = windrow("retry", "--reason", "timeout")
    assert (nothing.code, nothing.err) == (0, "there is nothing to retry\n")
    output = windrow("forget", "harwell", "--yes")
    assert output.code == 2
    assert "harwell is a source of drops, of which windrow removes nothing" in output.err


def test_adopted_zips_have_their_source_in_status_and_why(workspace, partner, windrow) -> None:
    (workspace / "sources" / "harwell.toml").unlink()
    windrow("run", "--from", "unzip", partner)
    other = workspace / "other" / "add"
    other.mkdir(parents=True)
    (other / "H.2026-01-12.99.impc.zip").write_bytes(b"")
    windrow("run", "--from", "unzip", other)
    rows = windrow("status", "--json").of("status")[0]["sources"]
    assert [(row["state"], row["collection"], row["gone"]) for row in rows] == [("held", "drops", 0)] * 2
    assert min(row["items"] for row in rows) == 1  # each folder is a source of its own
    (name,) = [row["source"] for row in rows if row["items"] > 1]
    assert f"{name} (drops source)" in windrow("why", name).out


def test_a_dry_run_does_not_say_that_papers_would_ask_for_a_robots_txt(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    (tmp_path / "sources" / "library.toml").write_text('collection = "papers"\nwarc = ["warcs"]\n')
    assert "robots.txt" not in windrow("run", "--dry-run", "--workspace", tmp_path).out


def test_a_wrong_choice_is_guessed_and_an_empty_one_is_called_so(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    (tmp_path / "sources" / "council.toml").write_text('collection = "events"\nreader = "icalender"\n')
    output = windrow("config", "--workspace", tmp_path)
    assert output.code == 4
    assert "expected icalendar, feed" in output.err
    assert "legistar or empty; did you mean icalendar?" in output.err


@pytest.mark.parametrize("decision", ["retry", "cancel"])
def test_a_decision_about_a_source_that_does_not_exist_is_refused(tmp_path, windrow, decision) -> None:
    windrow("init", tmp_path)
    (tmp_path / "sources" / "council.toml").write_text('collection = "papers"\nwarc = ["warcs"]\n')
    output = windrow(decision, "--source", "counci", "--workspace", tmp_path)
    assert output.code == 2
    assert "there is no source 'counci'; did you mean council?" in output.err
    assert windrow(decision, "--source", "council", "--workspace", tmp_path).code == 0
    for option in (("--source", "council"), ("--reason", "timeout")):
        output = windrow(decision, "https://a.example/", *option, "--workspace", tmp_path)
        assert (output.code, "by name or by source and reason, not by both" in output.err) == (2, True)


def test_a_long_text_that_changed_late_is_shown_where_it_differs() -> None:
    old, new = "The same words. " * 20 + "Open until six.", "The same words. " * 20 + "Open until ten."
    text = describe_difference({"text": old}, {"text": new})
    before, after = text.removeprefix("text ").split(" -> ")
    assert before != after
    assert before.endswith("six.")
    assert after.endswith("ten.")


@pytest.mark.parametrize("contact", ["me@example.org", "mailto:me@example.org"])
def test_a_mailbox_is_a_contact_with_or_without_its_scheme(tmp_path, windrow, contact) -> None:
    windrow("init", tmp_path)
    toml = f'[pages]\noperator = "me"\ncontact = "{contact}"\n[source.a]\ncollection = "pages"\nseeds = ["http://a.example/"]\n'
    (tmp_path / "windrow.toml").write_text(toml)
    assert windrow("run", "--dry-run", "--workspace", tmp_path).code == 0


def test_a_contact_that_is_none_is_shown(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    toml = '[pages]\noperator = "me"\ncontact = "my phone"\n[source.a]\ncollection = "pages"\nseeds = ["http://a.example/"]\n'
    (tmp_path / "windrow.toml").write_text(toml)
    assert "not 'my phone'" in windrow("run", "--workspace", tmp_path).err


def test_status_names_the_command_that_tells_what_failed(crawled, windrow) -> None:
    output = windrow("status")
    assert "try: windrow why NAME (one" in output.err


def test_status_names_a_source_whose_requests_failed_and_nothing_of_it(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    (tmp_path / "windrow.toml").write_text(
        f'[source.away]\ncollection = "drops"\ncentre = "H"\nurl = "{(tmp_path / "gone").as_uri()}"\n'
    )
    assert windrow("run", "--workspace", tmp_path).code == 3
    assert "try: windrow why NAME (away)" in windrow("status", "--workspace", tmp_path).err


def test_status_says_why_the_last_session_ended_with_an_error_until_one_succeeds(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    (tmp_path / "drop" / "add").mkdir(parents=True)
    (tmp_path / "windrow.toml").write_text(
        f'[source.h]\ncollection = "drops"\ncentre = "H"\nurl = "{(tmp_path / "drop").as_uri()}"\n'
    )
    (tmp_path / "drops.sqlite").write_text("not a database " * 100)
    output = windrow("run", "--workspace", tmp_path)
    assert output.code == 1
    assert "not a database" in windrow("status", "--workspace", tmp_path).out
    (tmp_path / "drops.sqlite").unlink()
    assert windrow("run", "--workspace", tmp_path).code == 0
    assert "not a database" not in windrow("status", "--workspace", tmp_path).out


def test_status_says_why_a_collection_was_not_ready_until_a_run_gets_further(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    (tmp_path / "drop" / "add").mkdir(parents=True)
    (tmp_path / "windrow.toml").write_text(
        f'[source.h]\ncollection = "drops"\ncentre = "Nowhere"\nurl = "{(tmp_path / "drop").as_uri()}"\n'
    )
    assert windrow("run", "--workspace", tmp_path).code == 4
    (tmp_path / "windrow.toml").write_text((tmp_path / "windrow.toml").read_text().replace("Nowhere", "H"))
    assert "its centre 'Nowhere' is not declared" in windrow("status", "--workspace", tmp_path).out
    assert windrow("run", "--workspace", tmp_path).code == 0
    assert "Nowhere" not in windrow("status", "--workspace", tmp_path).out
