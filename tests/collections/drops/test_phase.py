from collections import Counter
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.drops.phase import PHASES, UNZIP, advance, parent, phase
from windrow.model import Status

P, R, D, C, F = Status
states = st.tuples(st.integers(1, len(PHASES)), st.sampled_from(Status))


def test_the_eleven_phases_in_order():
    assert PHASES == (
        "download", "zip_name", "zip_md5", "unzip", "xml_name", "xsd", "upload", "data", "context", "overview", "qc",
    )  # fmt: skip
    assert (phase("download"), phase("zip_name"), phase("unzip"), phase("qc")) == (1, 2, 4, 11)


@pytest.mark.parametrize(
    ("old", "new", "stored"),
    [
        ((6, F), (4, F), (4, F)),  # the earliest failed phase is remembered
        ((4, F), (6, F), (4, F)),
        ((6, F), (7, D), (6, F)),  # failure sticks
        ((6, F), (1, P), (6, F)),
        ((6, D), (4, F), (4, F)),  # a failure is stored even of an earlier phase
        ((6, D), (4, D), (6, D)),  # else the phase only rises
        ((6, R), (6, D), (6, D)),
        ((6, D), (6, R), (6, D)),  # and the status within it
        ((6, D), (7, P), (7, P)),
        ((6, C), (6, D), (6, C)),
        ((6, C), (7, P), (7, C)),  # what was cancelled does not come back by itself
        ((6, C), (6, F), (6, F)),
    ],
)
def test_transitions(old, new, stored):
    assert advance(old, new) == stored


@given(states, states)
def test_only_a_failure_lowers_a_phase_and_nothing_lowers_a_status_within_one(old, new):
    stored = advance(old, new)
    assert stored[0] >= old[0] or stored[1] is F
    assert stored[0] != old[0] or stored[1] >= old[1]
    assert old[1] is not F or stored[1] is F
    assert advance(stored, new) == stored


@given(st.lists(states, min_size=1), st.randoms())
def test_the_order_of_requests_makes_no_difference(requests, random):
    shuffled = list(requests)
    random.shuffle(shuffled)
    assert reduce(advance, requests) == reduce(advance, shuffled)


@pytest.mark.parametrize(
    ("children", "state"),
    [
        ([(10, D), (10, D)], (10, D)),
        ([(10, D), (6, R)], (6, R)),
        ([(10, D), (6, F), (5, F)], (5, F)),
        ([(7, P), (8, F)], (8, F)),
        ([(6, C), (10, D)], (6, C)),
        ([(6, C), (4, P)], (4, P)),
        ([], (UNZIP, F)),
    ],
)
def test_parent(children, state):
    assert parent(Counter(children)) == state


@given(st.lists(states, min_size=1), st.integers(0, 99), states)
def test_a_parent_never_falls_back_while_its_children_advance(children, which, request):
    which %= len(children)
    before = parent(Counter(children))
    children[which] = advance(children[which], request)
    after = parent(Counter(children))
    assert after == before or advance(before, after) == after or (C in (before[1], after[1]) and after >= before)


def test_a_count_of_none_counts_for_nothing():
    assert parent({(5, F): 0, (7, D): 3}) == (7, D)
