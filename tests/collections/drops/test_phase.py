from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.drops.phase import PHASES, UNZIP, parent_state, phase_id
from windrow.model import Status

P, R, D, C, F = Status
states = st.tuples(st.integers(1, len(PHASES)), st.sampled_from(Status))


def test_the_eleven_phases_in_order():
    assert PHASES == (
        "download", "zip_name", "zip_md5", "unzip", "xml_name", "xsd", "upload", "data", "context", "overview", "qc",
    )  # fmt: skip
    assert (phase_id("download"), phase_id("zip_name"), phase_id("unzip"), phase_id("qc")) == (1, 2, 4, 11)


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
    assert parent_state(Counter(children)) == state


def advance(old, new):
    """Return the state of a child that stands at `old` and is asked to go to `new`: a failure stays, else it rises."""
    failed = [number for number, status in (old, new) if status is F]
    if failed:
        return min(failed), F
    return (max(old[0], new[0]), C) if C in {old[1], new[1]} else max(old, new)


@given(st.lists(states, min_size=1), st.integers(0, 99), states)
def test_a_parent_never_falls_back_while_its_children_advance(children, which, request):
    which %= len(children)
    before = parent_state(Counter(children))
    children[which] = advance(children[which], request)
    after = parent_state(Counter(children))
    assert after == before or advance(before, after) == after or (C in (before[1], after[1]) and after >= before)


def test_a_count_of_none_counts_for_nothing():
    assert parent_state({(5, F): 0, (7, D): 3}) == (7, D)
