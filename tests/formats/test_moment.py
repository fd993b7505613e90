from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats.moment import read_utc_time


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Sunday, 06-Nov-94 08:49:37 GMT", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Sun Nov  6 08:49:37 1994", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("25 Jun 2010 15:00:00 PST", datetime(2010, 6, 25, 23, tzinfo=UTC)),
        ("Thu, 20 Nov 2025 14:30:00 +01:00", datetime(2025, 11, 20, 13, 30, tzinfo=UTC)),
        ("20 Nov 2025 14:30:00-05:00 (EST)", datetime(2025, 11, 20, 19, 30, tzinfo=UTC)),
        ("Nov 20, 2025 14:30 GMT+01:00", datetime(2025, 11, 20, 13, 30, tzinfo=UTC)),
        ("Thu, 20 Nov 2025 14:30:00 UTC+0130", datetime(2025, 11, 20, 13, tzinfo=UTC)),
        ("Thu, 20 Nov 2025 14:30:00 +1:00", None),
        ("Thu, 20 Nov 2025 14:30:00 EST-05:00", None),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02-29T10:00:00.123Z", datetime(2024, 2, 29, 10, 0, 0, 123000, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        (" 2024-12 ", datetime(2024, 12, 1, tzinfo=UTC)),
        ("Thu, 20 Nov 2025 14:30:00 IST", None),
        ("20 Nov 2025 02:30 PM", None),
        ("2023-02-29", None),
        ("0000", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59-23:59", None),
        ("", None),
        ("yesterday", None),
        ("1" * 1000, None),
        ("\u0662024-01-01", None),
    ],
)
def test_times(text, read):
    assert read_utc_time(text) == read


@given(st.one_of(st.text(max_size=70), st.text(st.sampled_from("0123456789:-+TZ ,JanFebGMT"), max_size=40)))
def test_any_text_is_a_time_or_none(text):
    time = read_utc_time(text)
    assert time is None or time.tzinfo is UTC
