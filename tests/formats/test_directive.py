from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats.robots import NOTHING, Directives, header, meta, nofollow
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
        (["max-snippet: 20"], NOTHING),
        (["all, index, follow, x-y"], NOTHING),
        (["googlebot: noindex"], NOTHING),
        (["windrow-crawler: noindex"], Directives(noindex=True)),
        (["googlebot: noindex, nofollow, windrow-crawler: noarchive"], Directives(noarchive=True)),
        (["windrow-crawler: noarchive, googlebot: noindex, nofollow"], Directives(noarchive=True)),
        (["googlebot: noindex", "nofollow"], Directives(nofollow=True)),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noarchive"], Directives(noarchive=True, until=JUNE)),
        (["noarchive, unavailable_after: 25 Jun 2010 15:00:00 GMT"], Directives(noarchive=True, until=JUNE)),
        (["windrow-crawler: unavailable_after: 2010-06-25T15:00:00Z"], Directives(until=JUNE)),
        (["googlebot: unavailable_after: 2010-06-25T15:00:00Z"], NOTHING),
        (["unavailable_after: soon, noindex"], Directives(noindex=True)),
        (["unavailable_after: 2012-01-01", "unavailable_after: 25 Jun 2010 15:00:00 GMT"], Directives(until=JUNE)),
        ([",,: ,;"], NOTHING),
    ],
)
def test_headers(values, asked):
    assert header(values, AGENT) == asked


@pytest.mark.parametrize(
    ("pairs", "asked"),
    [
        ([("robots", "noindex,nofollow")], Directives(noindex=True, nofollow=True)),
        ([("Robots", "noindex"), ("windrow-crawler", "index, nofollow")], Directives(noindex=True, nofollow=True)),
        ([("googlebot", "noindex"), ("description", "noindex")], NOTHING),
        (
            [("robots", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT,nofollow")],
            Directives(nofollow=True, until=JUNE),
        ),
        ([("robots", "noindex nofollow")], NOTHING),
    ],
)
def test_elements(pairs, asked):
    assert meta(pairs, AGENT) == asked


def test_refusals():
    before, after = datetime(2010, 6, 25, 14, tzinfo=UTC), datetime(2010, 6, 25, 16, tzinfo=UTC)
    assert Directives(noindex=True, until=JUNE).refusal(after) is Reason.NOINDEX
    assert Directives(until=JUNE).refusal(after) is Reason.EXPIRED
    assert Directives(until=JUNE).refusal(before) is None
    assert Directives(nofollow=True, noarchive=True).refusal(after) is None


def test_links():
    assert nofollow("nofollow noopener")
    assert nofollow("me\nNoFollow")
    assert not nofollow("nofollower ugc")


@given(st.lists(st.text(max_size=80), max_size=4))
def test_any_text_can_be_read_and_order_does_not_count(values):
    assert header(values, AGENT) == header(values[::-1], AGENT)
    assert meta([("robots", value) for value in values], AGENT) == meta(
        [("robots", value) for value in values[::-1]], AGENT
    )


@given(st.text(st.sampled_from("noindex,unavailable_after: 2010x-Z"), max_size=60))
def test_a_word_added_takes_nothing_back(text):
    assert header([f"{text}", "noindex"], AGENT).noindex
    alone, more = header([text], AGENT), header([text, "index, all, follow"], AGENT)
    assert alone == more


def test_long_fields_are_cut():
    assert header(["x," * 1_000_000 + "noindex"], AGENT) == NOTHING
