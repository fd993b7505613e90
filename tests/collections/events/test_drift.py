"""A source that stops to say what it always said is told apart from an empty season."""

from tests.collections.events.reader import read
from windrow.collections.events.discover import judge

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
        told, drifts = judge(told, one)
        assert drifts == ()
    return told


def test_no_event_where_there_were_always_some_is_drift_and_goes_on_to_be_until_there_are():
    habit = known(answer(5), answer(4), answer(5))
    told, drifts = judge(habit, [])
    assert drifts == ("there is no event, where each of 3 answers before had some",)
    assert judge(told, [])[1] == drifts
    assert judge(told, answer(3))[1] == ()


def test_an_empty_season_is_no_drift_where_there_was_one_before_or_the_source_says_so_or_it_is_new():
    assert judge(known(answer(5), []), [])[1] == ()
    assert judge(known([], answer(1), answer(1), answer(1)), [])[1] == ()
    assert judge(known(answer(5), answer(5), answer(5)), answer(1, title="Nothing"))[1] == ()


def test_a_field_that_is_not_filled_any_more_is_drift_and_one_that_never_was_is_not():
    habit = known(answer(5), answer(4), answer(5))
    assert judge(habit, answer(5, ""))[1] == ("description is filled in 0% of 5 events; it was in 100%",)
    assert judge(habit, answer(2, ""))[1] == ()  # too few to tell
    assert judge(known(*[answer(5, "")] * 4), answer(5, ""))[1] == ()
