"""Drift of a source, as opposed to a season without events."""

import io
import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime

from tests.clock import pass_time
from tests.collections.events.place import calendar, configured, event, events, logs, run, serving
from tests.collections.events.reader import read
from windrow import Windrow
from windrow.app.status import current_state
from windrow.app.summary import describe_end
from windrow.caps import COMPARED_PAGES
from windrow.clock import now
from windrow.collections.events.collection import ADDRESS, COLLECTION, ONCE
from windrow.collections.events.discover import EMPTIED, _detect_drift_since, detect_drift, follow
from windrow.config import load
from windrow.contract import DRIFT, Answer, Request
from windrow.engine.requests.list_yield import describe_fall
from windrow.ledger import Ledger
from windrow.ledger.typed.requests import DailyYield
from windrow.model import Site, Source

FIELDS = {"title": "t", "start": "s", "description": "d"}


def answer(count, description="text", title="Board"):
    rows = ",".join(
        f'{{"t": "{title} {number}", "s": "2026-09-{number + 1:02}", "d": "{description}"}}' for number in range(count)
    )
    read_events, unread = read(f"[{rows}]", "json", fields=FIELDS, placeholders=("Nothing 0",))
    return [*read_events, *unread]


def learn(*answers):
    known = {}
    for response in answers:
        known, drifts = detect_drift(known, response)
        assert drifts == ()
    return known


def test_no_event_where_there_were_always_some_is_drift_and_goes_on_to_be_until_there_are():
    habit = learn(answer(5), answer(4), answer(5))
    learned, drifts = detect_drift(habit, [])
    assert drifts == ("the response has no events; each of the 3 earlier ones had some",)
    assert detect_drift(learned, [])[1] == drifts
    assert detect_drift(learned, answer(3))[1] == ()


def test_an_empty_season_is_no_drift_where_there_was_one_before_or_the_source_says_so_or_it_is_new():
    assert detect_drift(learn(answer(5), []), [])[1] == ()
    assert detect_drift(learn([], answer(1), answer(1), answer(1)), [])[1] == ()
    assert detect_drift(learn(answer(5), answer(5), answer(5)), answer(1, title="Nothing"))[1] == ()


def test_a_field_that_is_not_filled_any_more_is_drift_and_one_that_never_was_is_not():
    habit = learn(answer(5), answer(4), answer(5))
    assert detect_drift(habit, answer(5, ""))[1] == (
        "description is filled in 0% of 5 events; before, it was filled in 100%",
    )
    assert detect_drift(habit, answer(2, ""))[1] == ()  # too few events
    assert detect_drift(learn(*[answer(5, "")] * 4), answer(5, ""))[1] == ()


def test_from_the_day_of_usual_since_on_other_things_are_usual():
    """A field that was left out on purpose was drift for ever."""
    source, parts = Source("council", "events", Site("")), answer(5, "")
    habit = learn(answer(5), answer(4), answer(5))
    assert _detect_drift_since(source, habit, {}, parts).drifts
    accepted = replace(source, usual_since="2026-11-27")
    for _ in range(4):
        habit, drifts = _detect_drift_since(accepted, habit, {}, parts)
        assert drifts == ()
    assert habit["row"] == 4
    assert _detect_drift_since(accepted, habit, {}, []).drifts, "what is usual now is compared"


def test_a_calendar_that_gave_40_and_gives_2_is_trouble_until_it_gives_40_again(tmp_path):
    """The run succeeded, and nobody noticed."""
    whole = calendar(*(event(f"{number}@x", f":20990115T15{number:02}00Z") for number in range(40)))
    with serving() as site:
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
        for _ in range(8):
            site.put("/a.ics", whole)
            assert run(workspace).failed == 0
            pass_time(86_400)
        for _ in range(2):
            site.put("/a.ics", calendar(event("1@x", ":20990115T150100Z"), event("2@x", ":20990115T150200Z")))
            assert run(workspace).failed == 1
            pass_time(86_400)
        message = "it lists 2; on the 8 earlier days compared, it usually listed 40, and never fewer than 40"
        assert [log.get("drift") for log in logs(workspace)[-3:]] == [None, [message], [message]]
        assert f"{site.url}/a.ics: drift: {message}" in error_in_status(tmp_path)
        assert error_in_status(tmp_path).endswith("set `usual_since` for the source")
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", usual_since=f"{now():%Y-%m-%d}")
        assert run(workspace).failed == 0
        pass_time(86_400)
        assert error_in_status(tmp_path) == ""
        configured(tmp_path, f"{site.url}/a.ics", every="1s")
        site.put("/a.ics", whole)
        assert run(workspace).failed == 0
    assert error_in_status(tmp_path) == ""


def test_a_calendar_that_becomes_empty_is_told_until_it_has_events_again_or_its_setting_says_that_it_is_right(tmp_path):
    """The run was all well, and status had no word of it."""
    weekly = event("w@x", ":20260101T150000Z", rrule="FREQ=WEEKLY")
    with serving() as site:
        site.put("/a.ics", calendar(event("a@x", ":20990115T150000Z"), weekly))
        configured(tmp_path, url := f"{site.url}/a.ics", every="1s")
        windrow = Windrow(tmp_path)
        summary = windrow.run()
        assert [(count.reason, count.addresses) for count in summary.left_out] == [("not_wanted", 1)]
        assert summary.left_out == windrow.status().left_out
        count = len(events(windrow.config))
        site.put("/a.ics", calendar())
        pass_time(1.05)
        summary = windrow.run()
    assert describe_end(summary) == "all well"
    assert [(count.source, count.reason, count.addresses, count.example) for count in summary.left_out] == [
        ("council", "no_longer_listed", count, url)
    ]
    assert summary.left_out == windrow.status().left_out
    story = windrow.why("council").story
    assert story is not None
    assert f"({count} events of a list that has none now" in story.events[-1].message
    configured(tmp_path, url, every="1s", may_be_empty=True)
    assert Windrow(tmp_path).status().left_out == ()


def test_a_replay_counts_what_the_last_document_of_an_address_lacks_and_nothing_of_those_before_it(tmp_path):
    """It counted each answer: what a mended page had lacked stood in `status` for ever."""
    wrong, mended = (
        calendar(event("a@x", ":20990115T150000Z"), event("b@x", f":{at}")) for at in ("20990230", "20990228")
    )
    counts = []
    with serving() as site:
        configured(tmp_path, f"{site.url}/a.ics", every="1s")
        windrow = Windrow(tmp_path)
        for content in (wrong, wrong, mended):
            site.put("/a.ics", content)
            windrow.run()
            windrow.replay("events")
            counts.append([(count.reason, count.addresses) for count in windrow.status().left_out])
            pass_time(1.05)
    assert counts == [[("incomplete_record", 1)], [("incomplete_record", 1)], []]


def test_a_list_is_remembered_as_emptied_unless_it_says_so_itself_or_may_be_empty(tmp_path):
    rules = {"reader": "json", "fields": {"title": "t", "start": "s"}, "placeholders": ["None"]}
    some, none = [{"t": "A", "s": "2026-10-01"}, {"t": "B", "s": "2026-10-02"}], [{"t": "None"}]

    def emptied(*contents, **settings):
        (source,) = configured(tmp_path, "http://a.example/", **rules, **settings).of("events")
        learned = {}
        for content in contents:
            view = io.BytesIO(json.dumps(content).encode())
            answer = Answer(Request("http://a.example/", "first"), 200, {}, view, datetime(2026, 9, 1, tzinfo=UTC))
            learned |= follow(source, learned, answer).learned
        return learned.get(EMPTIED)

    assert emptied(some, []) == emptied(some, [], []) == {"url": "http://a.example/", "events": 2}
    assert emptied([]) is emptied(some) is emptied(some, none, []) is emptied(some, [], some) is None
    assert emptied(some, [], may_be_empty=True) is None
    assert emptied(some, some, some, []) is None  # that is drift


def test_a_list_that_never_had_an_event_is_told_and_a_page_without_json_ld_is_a_failure(tmp_path):
    """Each was all well for ever: a calendar of busy times, a page that asks to sign in, or one with microdata only."""
    busy = "BEGIN:VCALENDAR\r\nBEGIN:VFREEBUSY\r\nUID:1\r\nEND:VFREEBUSY\r\nEND:VCALENDAR\r\n"
    with serving() as site:
        site.put("/a.ics", busy)
        configured(tmp_path, url := f"{site.url}/a.ics", every="1s")
        windrow = Windrow(tmp_path)
        summary = windrow.run()
        assert summary.left_out == windrow.status().left_out
        assert [(count.rule, count.addresses) for count in summary.left_out] == [
            ("tasks, journal entries and busy times of a calendar", 1),
            ("lists that have had no event so far; if that is right, set `may_be_empty`", 1),
        ]
        site.put("/a.ics", calendar(event("a@x", ":20990115T150000Z")))
        pass_time(1.05)
        windrow.run()
    assert windrow.status().left_out == ()
    configured(tmp_path, url, reader="schema.org")
    (source,) = load(tmp_path, environ={}).of("events")
    login, microdata = b"<form>Please sign in</form>", b'<div itemscope itemtype="https://schema.org/MusicEvent"></div>'
    for content, learned, name, failure in (
        (login, {}, "first", "the page has no event in JSON-LD"), (login, {}, "", None),
        (microdata, {}, "first", "the page has no event in JSON-LD; those in its microdata are not read"),
        (login, {"starts of events": {"x": "2026-08-30T15:00:00Z"}}, "first", None),
    ):  # fmt: skip
        answer = Answer(Request(url, name), 200, {}, io.BytesIO(content), datetime(2026, 9, 1, tzinfo=UTC))
        result = follow(source, learned, answer)
        assert (result.skip is not None, [finding.message for finding in result.findings]) == (
            failure is not None, [failure] * (failure is not None)
        )  # fmt: skip


def error_in_status(root):
    workspace = load(root, environ={})
    with closing(Ledger(workspace.ledger)) as ledger:
        (state,) = current_state(workspace, ledger, {"events": tuple(COLLECTION.phases)}).sources
    return state.error


def days_with(*yields):
    return [DailyYield(f"2026-09-{day:02}", fewest) for day, fewest in enumerate(yields, 1)]


def test_an_address_of_each_day_is_compared_with_those_of_the_days_before_and_remembered_once(tmp_path):
    fields = {"title": "t", "start": "s", "description": "d"}
    workspace = configured(tmp_path, "http://a.example/{day}.json", reader="json", fields=fields)
    (source,) = workspace.of("events")
    learned, drifts = {}, []
    for day in range(1, 7):
        url = f"http://a.example/2026090{day}.json"
        rows = [
            {"t": f"Board {number}", "s": f"2026-10-{number:02}", "d": "" if day == 5 else "text"}
            for number in range(1, 6)
        ]
        request = Request(url, "first")
        dated = replace(source, options={**source.options, ADDRESS: url, ONCE: True})
        content = io.BytesIO(json.dumps([] if day == 6 else rows).encode())
        result = follow(dated, learned, Answer(request, 200, {}, content, datetime(2026, 9, day, tzinfo=UTC)))
        learned |= result.learned
        drifts += [(day, finding.message) for finding in result.findings if finding.kind == DRIFT]
    assert [key for key in learned if key.startswith("habits")] == ["habits"]
    assert drifts == [(5, "description is filled in 0% of 5 events; before, it was filled in 100%")]


def test_captured_pages_are_remembered_in_one_value_with_a_bound(tmp_path):
    fields = {"title": "t", "start": "s", "description": "d"}
    (source,) = configured(tmp_path, "http://a.example/", reader="json", fields=fields).of("events")
    learned, drifts = {}, []
    for number in [0, 0, 0, *range(1, COMPARED_PAGES.number + 3), 0, 0, 0, 0]:
        rows = [{"t": f"Board {index}", "s": "2026-10-01", "d": "text"} for index in range(5)]
        if number == 0 and len(drifts) == COMPARED_PAGES.number + 8:
            rows = []
        content = io.BytesIO(json.dumps(rows).encode())
        request = Request(f"http://a.example/{number}.json")
        result = follow(source, learned, Answer(request, 200, {}, content, datetime(2026, 9, 1, tzinfo=UTC)))
        learned |= result.learned
        drifts.append([finding.message for finding in result.findings if finding.kind == DRIFT])
    assert drifts == [*[[]] * (len(drifts) - 1), ["the response has no events; each of the 3 earlier ones had some"]]
    assert [key for key in learned if key.startswith("habits")] == ["habits of captures"]
    pages = learned["habits of captures"]
    assert len(pages) == COMPARED_PAGES.number
    assert [*pages][-2:] == [f"http://a.example/{COMPARED_PAGES.number + 2}.json", "http://a.example/0.json"]


def test_weekends_small_lists_and_new_lists_are_no_fall():
    today = date(2026, 9, 15)
    assert describe_fall(2, today, days_with(40, 40, 40, 40, 40, 3, 2, 40, 40)) == ""  # as on an earlier weekend
    assert describe_fall(2, today, days_with(40, 40, 40, 40, 40, 9, 8, 40, 40)) != ""
    assert describe_fall(0, today, days_with(*[9] * 9)) == ""  # small lists
    assert describe_fall(0, today, days_with(*[40] * 4)) == ""  # too few days
    assert describe_fall(0, date(2026, 9, 7), days_with(*[40] * 6)) == ""  # no weekend yet
    assert describe_fall(0, today, days_with(*[40] * 9)).startswith("it lists 0; ")
