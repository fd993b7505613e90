from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.drops.collection import prefer
from windrow.model import OfferingSource


def order(producer, *hosts):
    return [host.source for host in prefer(producer, hosts)]


def test_the_producers_own_comes_first_whatever_it_did():
    assert order("Wtsi", OfferingSource("a", "H", 100, 0, 1e9), OfferingSource("b", "WTSI", 5, 5)) == ["b", "a"]


def test_a_host_never_tried_stands_between_good_and_bad():
    assert order(
        "H", OfferingSource("bad", "J", 4, 4), OfferingSource("new", "J"), OfferingSource("good", "J", 4, 0)
    ) == [
        "good",
        "new",
        "bad",
    ]


def test_then_the_faster_then_the_name():
    hosts = (
        OfferingSource("c", "J", 4, 1, 10.0),
        OfferingSource("b", "J", 4, 1, 20.0),
        OfferingSource("d", "J", 4, 1),
        OfferingSource("a", "J", 4, 1),
    )
    assert order("H", *hosts) == ["b", "c", "a", "d"]


def test_no_owner_is_nobodys():
    assert order("", OfferingSource("b", "", 1, 0), OfferingSource("a", "", 1, 1)) == ["b", "a"]


hosts = st.builds(
    OfferingSource,
    st.text(max_size=3),
    st.sampled_from(["H", "h", "J"]),
    st.integers(5, 9),
    st.integers(0, 5),
    st.none() | st.floats(0, 1e9),
)


@given(st.lists(hosts, unique_by=lambda host: host.source), st.randoms())
def test_every_host_is_kept_and_the_order_given_does_not_matter(offered, random):
    shuffled = list(offered)
    random.shuffle(shuffled)
    assert prefer("H", shuffled) == prefer("H", offered)
    assert set(prefer("H", offered)) == set(offered)
