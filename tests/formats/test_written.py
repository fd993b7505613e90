"""Dates as pages state them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats.moment import read_page_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-05", "2024-03-05T00:00:00"),
        ("2024-03-05T23:30:00-0500", "2024-03-05T23:30:00-05:00"),
        ("2024-03-05 10:00:00.123 UTC", "2024-03-05T10:00:00+00:00"),
        ("20240305T101112Z", "2024-03-05T10:11:12+00:00"),
        ("2024/03/05", "2024-03-05T00:00:00"),
        ("Thu, 01 Jan 1970 00:00:09 GMT", "1970-01-01T00:00:09+00:00"),
        ("Published: 5th March 2024, 9:05 p.m.", "2024-03-05T21:05:00"),
        ("13.4.2024", "2024-04-13T00:00:00"),
        ("4/13/2024", "2024-04-13T00:00:00"),
        ("2024 Jun 30", "2024-06-30T00:00:00"),
        ("Essay - Published: 2025.12.17 | Tea", "2025-12-17T00:00:00"),
        ("Updated 2025-11-20 14:30", "2025-11-20T14:30:00"),
        ("2025-11-20T14Z", "2025-11-20T14:00:00+00:00"),
        ("2025-11-20T2:30:00Z", "2025-11-20T02:30:00+00:00"),
        ("2025-11-20 02:30 PM -0600", "2025-11-20T14:30:00-06:00"),
        ("2025-11-20 12:15 AM", "2025-11-20T00:15:00"),
        ("2025-11-20 14:30:00 CST", "2025-11-20T14:30:00-06:00"),
        ("2025-11-20T14:30:00[America/Chicago]", "2025-11-20T14:30:00-06:00"),
        ("20 Nov 2025, 2:30 p.m. GMT", "2025-11-20T14:30:00+00:00"),
        ("Nov 20, 2025, 2:30\u202fPM", "2025-11-20T14:30:00"),
        ("Thu Nov 20 2025 14:30:00 GMT-0600 (CST)", "2025-11-20T14:30:00-06:00"),
        ("Thu Nov 20 2025 14:30:00 GMT-0600 (Central Standard Time)", "2025-11-20T14:30:00-06:00"),
        ("Thu, 20 Nov 2025 14:30:00 CET", "2025-11-20T14:30:00+01:00"),
        ("Sun, 20 Jul 2025 14:30:00 BST", "2025-07-20T14:30:00+01:00"),
        ("Sun, 20 Jul 2025 14:30:00 EST", "2025-07-20T14:30:00-05:00"),
        ("Thu, 20 Nov 2025 14:30:00 -0000", "2025-11-20T14:30:00+00:00"),
        ("20/11/2025 14:30 +0100", "2025-11-20T14:30:00+01:00"),
        ("11/20/2025 2:30 PM", "2025-11-20T14:30:00"),
        ("Published 2:30 PM EST, Thu November 20, 2025", "2025-11-20T14:30:00-05:00"),
        ("Posted by Ann Lee on March 5, 2024 at 9:05 pm | Tea", "2024-03-05T21:05:00"),
        ("March 5, 2024 \u00b7 5 min read", "2024-03-05T00:00:00"),
        ("Published 2024-03-05, updated 2024-03-06", "2024-03-05T00:00:00"),
        ("20 Nov 2025 1430 +0100", "2025-11-20T14:30:00+01:00"),
    ],
)
def test_a_date_keeps_the_zone_that_it_tells(text: str, expected: str) -> None:
    time = read_page_time(text)
    assert time is not None
    assert time.isoformat() == expected


@pytest.mark.parametrize("text", ["", "soon", "3/4/2024", "2024-13-01", "0001-01-01T00:00:00", "1700000000", "2024",
                                  "Thu, 20 Nov 2025 14:30:00 IST", "5 March 2024 14:30 | IST", "GMT 14:30, 20 Nov 2025",
                                  "Noon, Nov 20 2025", "Nov 24, 2026 at 6 o'clock", "2016-12-31T23:59:60Z",
                                  "2025-11-20T14:30:00ZZ", "Published March 5, 2024, updated March 6, 2024 9:05 pm"])  # fmt: skip
def test_what_is_no_date_or_may_be_two_is_none(text: str) -> None:
    assert read_page_time(text) is None


@given(st.text(max_size=70))
def test_any_text_is_a_date_or_none(text: str) -> None:
    time = read_page_time(text)
    assert time is None or time.year >= 1500
