"""The names of months: each is one month in all languages in which it is one."""

from __future__ import annotations

from collections import defaultdict

import pytest

from windrow.formats.moment import read_page_time
from windrow.formats.months import _NAMES, _without_accents, month_number


def test_no_name_is_two_months_with_or_without_its_accents() -> None:
    numbers = defaultdict[str, set[int]](set)
    for number, names in enumerate(_NAMES, 1):
        for name in names.split():
            numbers[name].add(number)
            numbers[_without_accents(name)].add(number)
    assert {name for name, months in numbers.items() if len(months) > 1} == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Publi\u00e9 le 1er ao\u00fbt 2026 \u00e0 14h30", "2026-08-01T14:30:00"),
        ("Julkaistu 24. marraskuuta 2026 klo 14.30", "2026-11-24T14:30:00"),
        ("5 czerwca 2026", "2026-06-05T00:00:00"),
        ("1. \u010dervence 2026", "2026-07-01T00:00:00"),
        ("1. \u010dervna 2026", "2026-06-01T00:00:00"),
        ("2026. m\u00e1j. 5.", "2026-05-05T00:00:00"),
        ("24 d\u2019abril de 2026", "2026-04-24T00:00:00"),
        ("24 Deireadh F\u00f3mhair 2026", "2026-10-24T00:00:00"),
        ("17 M\u00e4r 2026", "2026-03-17T00:00:00"),
        ("17. \u0434\u0435\u0446\u0435\u043c\u0431\u0430\u0440 2026.", "2026-12-17T00:00:00"),
        ("17 \u0434\u0435\u0446\u0435\u043c\u0431\u0440\u0430 2026", "2026-12-17T00:00:00"),
        ("5 fevrier 2026", "2026-02-05T00:00:00"),
    ],
)
def test_a_date_is_read_in_the_languages_of_europe(text: str, expected: str) -> None:
    time = read_page_time(text)
    assert time is not None
    assert time.isoformat() == expected


@pytest.mark.parametrize("text", ["24. listopada 2026", "5 Brumaire 2026", "iPhone 15 Pro 2024", "Novembering 5, 2026"])
def test_a_name_that_is_no_month_or_two_is_not_read(text: str) -> None:
    assert read_page_time(text) is None
    assert month_number("listopada") == 0
