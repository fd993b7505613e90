from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats.robots import NO_DIRECTIVES, Directives, is_nofollow, read_header_directives, read_meta_directives
from windrow.reasons import Reason

AGENT = "windrow-crawler (for https://example.org/)"
JUNE = datetime(2010, 6, 25, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (["noindex"], Directives(noindex=True)),
        (["NONE"], Directives(noindex=True, nofollow=True)),
        (["noarchive, nofollow"], Directives(nofollow=True, noarchive=True)),
        (["noarchive", "nosnippet"], Directives(noarchive=True, nosnippet=True)),
        (["max-snippet:0, max-image-preview: large"], Directives(nosnippet=True)),
        (["max-snippet: 20"], NO_DIRECTIVES),
        (["all, index, follow, x-y"], NO_DIRECTIVES),
        (["googlebot: noindex"], NO_DIRECTIVES),
        (["windrow-crawler: noindex"], Directives(noindex=True)),
        (["googlebot: noindex, nofollow, windrow-crawler: noarchive"], Directives(noarchive=True)),
        (["windrow-crawler: noarchive, googlebot: noindex, nofollow"], Directives(noarchive=True)),
        (["googlebot: noindex", "nofollow"], Directives(nofollow=True)),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noarchive"], Directives(noarchive=True, until=JUNE)),
        (["noarchive, unavailable_after: 25 Jun 2010 15:00:00 GMT"], Directives(noarchive=True, until=JUNE)),
        (["windrow-crawler: unavailable_after: 2010-06-25T15:00:00Z"], Directives(until=JUNE)),
        (["googlebot: unavailable_after: 2010-06-25T15:00:00Z"], NO_DIRECTIVES),
        (["unavailable_after: soon, noindex"], Directives(noindex=True)),
        (["unavailable_after: 2012-01-01", "unavailable_after: 25 Jun 2010 15:00:00 GMT"], Directives(until=JUNE)),
        ([",,: ,;"], NO_DIRECTIVES),
    ],
)
def test_headers(values, asked):
    assert read_header_directives(values, AGENT) == asked


@pytest.mark.parametrize(
    ("pairs", "asked"),
    [
        ([("robots", "noindex,nofollow")], Directives(noindex=True, nofollow=True)),
        ([("Robots", "noindex"), ("windrow-crawler", "index, nofollow")], Directives(noindex=True, nofollow=True)),
        ([("googlebot", "noindex"), ("description", "noindex")], NO_DIRECTIVES),
        (
            [("robots", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT,nofollow")],
            Directives(nofollow=True, until=JUNE),
        ),
        ([("robots", "noindex nofollow")], NO_DIRECTIVES),
    ],
)
def test_elements(pairs, asked):
    assert read_meta_directives(pairs, AGENT) == asked


def test_refusals():
    before, after = datetime(2010, 6, 25, 14, tzinfo=UTC), datetime(2010, 6, 25, 16, tzinfo=UTC)
    assert Directives(noindex=True, until=JUNE).refusal(after) is Reason.NOINDEX
    assert Directives(until=JUNE).refusal(after) is Reason.EXPIRED
    assert Directives(until=JUNE).refusal(before) is None
    assert Directives(nofollow=True, noarchive=True).refusal(after) is None


def test_links():
    assert is_nofollow("nofollow noopener")
    assert is_nofollow("me\nNoFollow")
    assert not is_nofollow("nofollower ugc")


@given(st.lists(st.text(max_size=80), max_size=4))
def test_any_text_can_be_read_and_order_does_not_count(values):
    assert read_header_directives(values, AGENT) == read_header_directives(values[::-1], AGENT)
    assert read_meta_directives([("robots", value) for value in values], AGENT) == read_meta_directives(
        [("robots", value) for value in values[::-1]], AGENT
    )


@given(st.text(st.sampled_from("noindex,unavailable_after: 2010x-Z"), max_size=60))
def test_a_word_added_takes_nothing_back(text):
    assert read_header_directives([f"{text}", "noindex"], AGENT).noindex
    alone, more = read_header_directives([text], AGENT), read_header_directives([text, "index, all, follow"], AGENT)
    assert alone == more


def test_long_fields_are_read_to_their_end():
    assert read_header_directives(["x," * 1_000_000 + "noindex"], AGENT).noindex
