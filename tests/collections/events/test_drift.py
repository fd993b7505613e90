"""A source that stops to say what it always said is told apart from an empty season."""

from tests.collections.events.reader import read
from windrow.collections.events.discover import detect_drift

FIELDS = {"title": "t", "start": "s", "description": "d"}


def answer(count, description="text", title="Board"):
    rows = ",".join(
        f'{{"t": "{title} {number}", "s": "2026-09-{number + 1:02}", "d": "{description}"}}' for number in range(count)
    )
    found, unread = read(f"[{rows}]", "json", fields=FIELDS, placeholders=("Nothing 0",))
    return [*found, *unread]


def known(*answers):
    told = {}
    for one in answers:
        told, drifts = detect_drift(told, one)
        assert drifts == ()
    return told


def test_no_event_where_there_were_always_some_is_drift_and_goes_on_to_be_until_there_are():
    habit = known(answer(5), answer(4), answer(5))
    told, drifts = detect_drift(habit, [])
    assert drifts == ("there are no events; each of the 3 responses before had some",)
    assert detect_drift(told, [])[1] == drifts
    assert detect_drift(told, answer(3))[1] == ()


def test_an_empty_season_is_no_drift_where_there_was_one_before_or_the_source_says_so_or_it_is_new():
    assert detect_drift(known(answer(5), []), [])[1] == ()
    assert detect_drift(known([], answer(1), answer(1), answer(1)), [])[1] == ()
    assert detect_drift(known(answer(5), answer(5), answer(5)), answer(1, title="Nothing"))[1] == ()


def test_a_field_that_is_not_filled_any_more_is_drift_and_one_that_never_was_is_not():
    habit = known(answer(5), answer(4), answer(5))
    assert detect_drift(habit, answer(5, ""))[1] == ("description is filled in 0% of 5 events; it was in 100%",)
    assert detect_drift(habit, answer(2, ""))[1] == ()  # too few to tell
    assert detect_drift(known(*[answer(5, "")] * 4), answer(5, ""))[1] == ()
