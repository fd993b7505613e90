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
    ],
)
def test_a_date_keeps_the_zone_that_it_tells(text: str, expected: str) -> None:
    time = read_page_time(text)
    assert time is not None
    assert time.isoformat() == expected


@pytest.mark.parametrize("text", ["", "soon", "3/4/2024", "2024-13-01", "0001-01-01T00:00:00", "1700000000", "2024"])
def test_what_is_no_date_or_may_be_two_is_none(text: str) -> None:
    assert read_page_time(text) is None


@given(st.text(max_size=70))
def test_any_text_is_a_date_or_none(text: str) -> None:
    time = read_page_time(text)
    assert time is None or time.year >= 1500
