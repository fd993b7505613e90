"""What was said of an event, folded into its document: moves, cancellations, what vanishes and comes back."""

from datetime import UTC, datetime, timedelta

from windrow.collections.events.documents import Completeness, GoodRun, Said, event_document, id_of

FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)


def value(**more):
    told = {
        "datetime": "2026-01-10T15:00:00Z", "title": "Board", "description": None, "end_datetime": None,
        "branch": "Other", "entity": "Senate", "parser_name": "p", "event_url": None,
        "source_timezone": "America/New_York", "unique_key": "7", "all_day": False, "status": "scheduled",
    }  # fmt: skip
    return told | more


def said(day, told, visit=None):
    aside = {"source_url": "http://a.example/", "source_text": f"<li>{day}</li>", "parser_version": "1"}
    return Said(FIRST + timedelta(days=day), visit or day * 10, "s", told, aside)


def runs(*days):
    return tuple(GoodRun(day * 10, day * 10 + 1, FIRST + timedelta(days=day)) for day in days)


def folded(told, good=(), after=2):
    return event_document("p/7", told, Completeness(good, after)).document


def test_what_is_only_seen_again_makes_no_revision_and_keeps_the_text_and_time_it_was_first_read_with():
    one = folded([said(1, value()), said(2, value()), said(3, value())])
    assert (one["revision"], one["access_datetime"], one["source_text"]) == (0, "2026-01-02T12:00:00Z", "<li>1</li>")
    assert "history" not in one


def test_a_changed_title_is_an_update_with_what_it_said_before_and_a_moved_one_has_its_former_ids():
    moved = value(datetime="2026-01-11T15:00:00Z", title="Board, moved")
    made = event_document("p/7", [said(1, value()), said(2, moved), said(3, moved)], Completeness())
    one = made.document
    assert one["_id"] == id_of(moved)
    assert one["previous_ids"] == [id_of(value())] == list(made.former)
    assert one["history"] == [{"at": "2026-01-03T12:00:00Z", "fields": {
        "datetime": ["2026-01-10T15:00:00Z", "2026-01-11T15:00:00Z"], "title": ["Board", "Board, moved"]}}]  # fmt: skip
    assert one["access_datetime"] == "2026-01-03T12:00:00Z"


def test_an_event_that_moves_back_has_its_first_id_and_the_other_among_its_former_ones():
    moved = value(datetime="2026-01-11T15:00:00Z")
    one = folded([said(1, value()), said(2, moved), said(3, value())])
    assert (one["_id"], one["previous_ids"], one["revision"]) == (id_of(value()), [id_of(moved)], 2)


def test_a_future_event_that_good_runs_do_not_list_is_missing_after_as_many_as_are_wanted():
    seen = [said(1, value())]
    assert folded(seen, runs(1, 2))["status"] == "scheduled"
    one = folded(seen, runs(1, 2, 3))
    assert (one["status"], one["last_seen"], one["revision"]) == ("missing", "2026-01-02T12:00:00Z", 1)
    assert one["changed"] == "2026-01-04T12:00:00Z"
    assert folded(seen, runs(1, 2, 3), after=0)["status"] == "scheduled"


def test_a_past_event_that_rolls_off_its_calendar_stays_as_it_is_and_one_of_today_is_not_past():
    assert folded([said(1, value())], runs(1, 20, 21))["status"] == "scheduled"
    day = value(datetime="2026-01-04T00:00:00Z", all_day=True)
    assert folded([said(1, day)], runs(1, 2, 3))["status"] == "missing"  # at noon of its day
    assert folded([said(1, day)], runs(1, 2, 4))["status"] == "scheduled"


def test_a_missing_event_that_comes_back_has_its_status_again_and_both_in_its_history():
    one = folded([said(1, value()), said(4, value())], runs(1, 2, 3, 4))
    assert one["status"] == "scheduled"
    assert [entry["fields"]["status"] for entry in one["history"]] == [
        ["scheduled", "missing"],
        ["missing", "scheduled"],
    ]


def test_an_event_that_its_source_takes_back_is_withdrawn_with_what_it_last_said():
    one = folded([said(1, value()), said(2, None), said(3, None)])
    assert (one["status"], one["title"], one["revision"]) == ("withdrawn", "Board", 1)
    assert event_document("p/7", [said(1, None)], Completeness()) is None
