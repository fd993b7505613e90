"""Drift of a source, as opposed to a season without events."""

from tests.collections.events.reader import read
from windrow.collections.events.discover import detect_drift

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
