"""`windrow why` and `windrow status`."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from tools.command import MESSAGES, shape

from tests.cli.conftest import put
from windrow.archive import open_capture
from windrow.demo.partner import drop, pack, specimens
from windrow.ledger import Ledger
from windrow.model import ArchivePlace
from windrow.reasons import Reason

ZIP = "H.2026-01-12.1.impc.zip"


def test_a_zip_tells_all_in_order(harvested, windrow) -> None:
    output = windrow("why", ZIP)
    assert output.code == 0
    assert output.out.startswith(f"add/{ZIP} (drops zip, number ")
    assert "is at overview: done" in output.out
    order = ["  seen ", "  listed ", "  fetch ", "capture ", "download: done", "unzip: done", "unzip (version 1)"]
    events = output.out.partition("\n\n")[2]
    places = [events.index(word) for word in order]
    assert places == sorted(places)
    assert re.search(r"kept at windrow-\S+\.warc(\.gz)? from byte \d+ on", output.out)
    assert "specimen.impc.xml" in output.out
    times = re.findall(r"(?m)^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)  ", output.out)
    assert times == sorted(times)


def test_a_difference_between_zips_is_refused_with_the_reason(harvested, windrow) -> None:
    output = windrow("diff", f"add/{ZIP}")
    assert output.code == 1
    assert "windrow does not compare files and records of drops" in output.err
    assert f"windrow why add/{ZIP}" in output.err


def test_the_capture_is_where_it_says(harvested, partner, windrow) -> None:
    (event,) = [message for message in windrow("why", ZIP, "--json").of("event") if message["event"] == "capture"]
    place = ArchivePlace(event["warc"], event["offset"], event["length"])
    with open_capture(harvested / "archive", place) as view:
        assert view.read() == (partner / "add" / ZIP).read_bytes()


@pytest.mark.parametrize("spelled", [ZIP, f"add/{ZIP}", "ADDRESS", "PATH"])
def test_one_thing_has_many_names(spelled, harvested, partner, windrow) -> None:
    named = spelled.replace("ADDRESS", f"file://{partner}/add/{ZIP}").replace("PATH", f"{partner}/add/{ZIP}")
    output = windrow("why", named, "--json")
    assert output.messages[0]["key"] == f"add/{ZIP}"
    assert windrow("why", output.messages[0]["number"], "--json").messages[0]["key"] == f"add/{ZIP}"


def test_json_is_as_documented(harvested, windrow) -> None:
    output = windrow("why", ZIP, "--json")
    assert {message["type"] for message in output.messages} == {"story", "event", "member"}
    for message in output.messages:
        allowed = set(shape(MESSAGES[message["type"]].shape))
        assert set(message) - {"type"} <= allowed
        if message["type"] != "event":
            assert set(message) - {"type"} == allowed


def test_a_document_has_its_archives_story_too(harvested, windrow) -> None:
    output = windrow("why", f"add/{ZIP}/H.2026-01-12.1.specimen.impc.xml")
    assert f"contained in add/{ZIP}" in output.out
    assert "kept at windrow-" in output.out
    assert "upload (version " in output.out
    assert "data: done" in output.out


def test_several_meanings_are_listed(harvested, windrow) -> None:
    output = windrow("why", "H.2026-01-12.1.specimen.impc.xml", "--json")
    assert output.code == 0
    assert [message["type"] for message in output.messages] == ["candidate", "candidate"]
    assert "may mean any of these" in windrow("why", "H.2026-01-12.1.specimen.impc.xml").err
    assert len(windrow("why", "h", "--json").of("candidate")) == 3  # a centre, whatever its case


@pytest.mark.parametrize(("name", "more"), [("H.2026-01-12.1.specimen.impc.xml", 1), ("h", 2)])
def test_the_latest_meanings_are_listed_and_the_others_counted(harvested, windrow, name, more) -> None:
    assert f"{name} may mean any of these, and {more} earlier (see --limit)" in windrow("why", name, "--limit", 1).err
    numbers = [candidate["number"] for candidate in windrow("why", name, "--json").of("candidate")]
    (latest,) = windrow("why", name, "--limit", 1, "--json").of("candidate")
    assert numbers == sorted(numbers, reverse=True)
    assert (len(numbers), latest["number"]) == (more + 1, numbers[0])


def test_a_finding_has_line_and_column_and_those_of_more_documents_are_counted(workspace, partner, windrow) -> None:
    broken = specimens("H", 7).replace(b'gender="male"', b'gender="maleish"', 1)
    names = [f"H.2026-01-20.{number}.specimen.impc.xml" for number in (1, 2)]
    put(partner, "add/H.2026-01-20.1.impc.zip", pack(dict.fromkeys(names, broken)))
    windrow("run")
    output = windrow("why", "H.2026-01-20.1.specimen.impc.xml")
    assert "is at xsd: failed, the document is not valid against its schema or format" in output.out
    line = next(line for line in output.out.splitlines() if "finding" in line)
    assert re.search(r"error, line \d+ column \d+: \w+: ", line)
    (event,) = [message for message in windrow("why", "H.2026-01-20.1.specimen.impc.xml", "--json").of("event")
                if message["event"] == "finding"]  # fmt: skip
    assert b'gender="maleish"' in broken.splitlines()[event["line"] - 1]
    events = windrow("why", "H.2026-01-20.1.impc.zip", "--limit", 1, "--json").of("event")
    messages = [event["message"] for event in events if event["event"] == "finding"]
    assert {message.partition(":")[0] for message in messages} == {names[0]}
    assert messages[-1].endswith("(and 1 more document failed; see --limit)")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("H.2026-02-31.1.impc.zip", Reason.BAD_DATE),
        (f"{'X' * 200}.zip", Reason.NAME_TOO_LONG),
        (f"add/{'X' * 200}.zip", Reason.NAME_TOO_LONG),
        ("H.2026-01-13.9.impc.zip", Reason.NOT_A_ZIP),
    ],
)
def test_what_was_refused_has_a_story(name, reason, harvested, windrow) -> None:
    output = windrow("why", name)
    assert output.code == 0
    assert reason.meaning in output.out
    assert "harwell" in output.out


def test_what_a_rule_left_out_of_a_zip_leads_to_it(workspace, partner, windrow) -> None:
    members = {"H.2026-01-20.1.specimen.impc.xml": specimens("H", 7), "notes.txt": b"hello"}
    put(partner, "add/H.2026-01-20.1.impc.zip", pack(members))
    windrow("run")
    output = windrow("why", "notes.txt")
    assert output.code == 0
    assert "'notes.txt' is left out: it is not an XML file" in output.out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonsense", "'nonsense' is not known\n"),
        ("add/other.txt", "runs ignore files of this name at sources of drops"),
        (
            "add/H.2026-02-30.1.impc.zip",
            "would be refused: the date is not a day of the calendar, or the time is not valid",
        ),
        ("H.2026-03-30.1.impc.zip", "its name is valid, but no source has listed it so far"),
        ("99999999999999999999", "'99999999999999999999' is not known"),
        ("\udcff", "is not known"),
    ],
)
def test_what_is_unknown_gives_1_and_a_hint(name, message, harvested, windrow) -> None:
    output = windrow("why", name)
    assert output.code == 1
    assert output.out == ""
    assert message in output.err
    assert "try: windrow status" in output.err


def test_nothing_is_no_question(harvested, windrow) -> None:
    assert windrow("why", " ").code == 2


def test_a_source_and_a_session_have_stories(harvested, windrow) -> None:
    assert "listing: done: harwell: 4 offered, 3 new, 2 refused, 0 gone" in windrow("why", "harwell").out
    assert windrow("why", "1").out.startswith("session 1 took ")
    assert windrow("why", "1", "--json").messages[0]["type"] == "summary"


def test_changes_of_a_listing_are_told(harvested, partner, windrow) -> None:
    (partner / "add" / ZIP).unlink()
    name, content = drop("H", "2026-01-12", 2, 2)
    put(partner, f"add/{name}", content)
    windrow("run")
    assert "harwell no longer offers it" in windrow("why", ZIP).out
    output = windrow("why", name)
    assert "harwell offers a changed version of it" in output.out
    assert "ContentChanged" in output.out
    row = windrow("status", "--json").messages[0]["sources"][0]
    assert (row["new"], row["changed"], row["gone"], row["same"]) == (0, 1, 1, 2)


def test_hostile_names_do_not_reach_the_terminal(workspace, partner, windrow) -> None:
    put(partner, "add/\x1b[2Jevil\u202e.impc.zip", b"PK")
    windrow("run")
    output = windrow("why", "harwell")
    assert "\x1b" not in output.out + windrow("status").out
    assert "\x1b" not in windrow("why", "add/\x1b[2Jevil\u202e.impc.zip").out
    assert "\x1b" not in windrow("why", "\x1b[2J").err


def test_status_counts_all(harvested, windrow) -> None:
    (standing,) = windrow("status", "--json").messages
    assert set(standing) - {"type"} == set(shape(MESSAGES["status"].shape))
    (row,) = standing["sources"]
    assert (row["source"], row["owner"], row["state"], row["new"], row["failed"]) == ("harwell", "H", "available", 3, 2)
    assert row["next_due"] is None
    assert {(state["phase"], state["status"], state["items"]) for state in standing["states"] if state["kind"] == "zip"} == {
        ("overview", "done", 2), ("unzip", "failed", 1), ("zip_name", "failed", 1),
    }  # fmt: skip
    assert {reason["reason"]: reason["items"] for reason in standing["reasons"]} == {
        "bad_date": 1, "not_a_zip": 1, "name_too_long": 1,
    }  # fmt: skip
    assert standing["last"]["exit_code"] == 0
    text = windrow("status").out
    assert re.search(r"harwell +H +available +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d +3 +0 +0 +0 +2 +-", text)


def test_status_tells_when_a_source_is_due(harvested, windrow) -> None:
    main = harvested / "windrow.toml"
    main.write_text(f'{main.read_text()}\n[run]\nevery = "6h"\n')
    (standing,) = windrow("status", "--json").messages
    next_due, began = (
        datetime.fromisoformat(at) for at in (standing["sources"][0]["next_due"], standing["last"]["began"])
    )
    assert next_due - began == timedelta(hours=6), "from the start of one run to the start of the next"


def test_a_run_in_which_nothing_fails_names_what_is_still_open(harvested, windrow) -> None:
    output = windrow("run")
    assert output.code == 0
    assert "all well" not in output.err
    assert output.err.splitlines()[0].endswith(": done, 2 still open")
    assert "still open: 2 failed, not fetched or not read, including earlier runs (windrow status)" in output.err


def test_status_before_the_first_run(workspace, windrow) -> None:
    (workspace / "ledger.sqlite").unlink()
    output = windrow("status")
    assert output.code == 0
    assert "no run so far" in output.err
    assert not (workspace / "ledger.sqlite").exists()


def test_a_name_in_a_listing_line_that_could_not_be_read_finds_that_line(harvested, windrow) -> None:
    name = "H.2026-01-24.1.impc.zip"
    line = f"add/-rw-r--r-- 1 u g -5 Nov 21 10:00 {name}"
    with closing(Ledger(harvested / "ledger.sqlite")) as ledger, ledger.writing() as writer:
        writer.mirrors.refuse(1, "partner", line, "", Reason.PROTOCOL_ERROR)
    output = windrow("why", name)
    assert output.code == 0
    assert output.out.startswith(f"{name} (refused, number ")
    assert f"offers {line}: {Reason.PROTOCOL_ERROR.meaning}" in output.out


def test_why_a_source_names_the_entries_that_were_refused(harvested, windrow) -> None:
    refused = [event for event in windrow("why", "harwell", "--json").of("event") if event["event"] == "refused"]
    assert {event["reason"] for event in refused} >= {"bad_date", "name_too_long"}
    assert windrow("status", "--json").of("status")[0]["last"]["sources"][0]["refused"] == len(refused)
    assert "H.2026-02-31.1.impc.zip: the date is not a day" in windrow("why", "harwell").out
    events = windrow("why", "harwell", "--limit", 1, "--json").of("event")
    (event,) = [event for event in events if event["event"] == "refused"]
    assert event["message"].endswith(" (and entries that were refused earlier; see --limit)")
