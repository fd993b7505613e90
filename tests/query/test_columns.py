"""Filters by the columns of collections: their values, and what is indexed of records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.contract import ColumnType, TypedColumn
from windrow.errors import ConfigError
from windrow.query import Filter, parse
from windrow.query.columns import (
    LACKING,
    Bounds,
    check_columns,
    column_clause,
    column_entries,
    index_fields,
    parse_query,
    read_dates,
)
from windrow.query.tree import And, Word

COLUMNS = (
    TypedColumn("price", ColumnType.NUMBER, "offer.price"),
    TypedColumn("date", ColumnType.DATE),
    TypedColumn("tag", ColumnType.TEXT, "tags.name"),
    TypedColumn("in_stock", ColumnType.SWITCH),
    TypedColumn("doi", ColumnType.NAME),
)


@pytest.mark.parametrize(
    "text",
    ["price:5", "price:-3", "price:2..5", "price:..5", "price:5..", "date:2026", "date:2026-12..2027", "tag:green",
     'tag:"green tea"', "tag:te*", "in_stock:yes", "in_stock:FALSE", "doi:10.1000/X", "-price:5", "(price:5)"],
)  # fmt: skip
def test_a_filter_by_a_column_is_read(text):
    query = parse_query(f"tea {text}", COLUMNS)
    assert not query.notes
    assert isinstance(query.root, And)
    assert query.root.parts[1] != Word(text)


@pytest.mark.parametrize(
    "text", ["price:cheap", "price:..", "price:5..2", "date:soon", "date:2026..2025", "in_stock:perhaps"]
)
def test_a_value_that_is_not_valid_for_the_type_is_searched_for_as_words_with_a_note(text):
    query = parse_query(text, COLUMNS)
    assert query.notes == (f"'{text}' is not a valid filter, so its words are searched for",)
    assert query.root == Word(text)


def test_without_its_column_the_same_text_is_words():
    assert parse("price:5").root == Word("price:5")


def test_a_name_with_two_types_in_two_collections_has_the_values_of_both():
    columns = [TypedColumn("issue", ColumnType.NUMBER), TypedColumn("issue", ColumnType.TEXT)]
    assert parse_query("issue:special", columns).root == Filter("issue", "special", "issue:special")
    assert parse_query("issue:5..7", columns[:1]).root == Filter("issue", "5..7", "issue:5..7")


@pytest.mark.parametrize(
    ("record", "texts", "numbers"),
    [
        ({"offer": {"price": 5}, "date": 2026, "tags": [{"name": "Tea"}, {"name": "Cup"}], "in_stock": True, "doi": "10.1/A"},
         {"text_tag": {"Tea", "Cup"}, "mark_in_stock": {"true"}, "mark_doi": {"10.1/a"}},
         {"number_price", "first_date", "last_date"}),
        ({"offer": {"price": "5.00"}, "date": "2026-12-01T10:00:00+02:00", "tags": {"name": 7}, "in_stock": "no",
          "doi": "https://doi.org/10.1/A"},
         {"text_tag": {"7"}, "mark_in_stock": {"false"}, "mark_doi": {"10.1/a"}},
         {"number_price", "first_date", "last_date"}),
        ({"offer": 5, "date": "soon", "tags": [{"name": ""}], "in_stock": "perhaps", "doi": None},
         {LACKING: {"price", "date", "tag", "in_stock", "doi"}}, set()),
        ({"offer": {"price": 10**400}, "date": 10**400, "tags": [{}], "in_stock": [], "doi": "x" * 3_000},
         {LACKING: {"price", "date", "tag", "in_stock", "doi"}}, set()),
        ({"offer": {"price": [1, "about 2"]}, "date": ["2026-12-01", "2026-12-03"], "tags": [], "doi": {}, "in_stock": 1},
         {LACKING: {"price", "tag", "doi"}, "mark_in_stock": {"true"}}, {"number_price", "first_date", "last_date"}),
        ([1], {LACKING: {"price", "date", "tag", "in_stock", "doi"}}, set()),
    ],
)  # fmt: skip
def test_what_is_indexed_of_a_record_and_what_it_lacks(record, texts, numbers):
    entries = column_entries(COLUMNS, record)
    by_field: dict[str, set[str]] = {}
    for field, text in entries.texts:
        by_field.setdefault(field, set()).add(text)
    assert by_field == texts
    assert {field for field, _ in entries.numbers} == numbers
    assert {field for field, _ in (*entries.texts, *entries.numbers)} <= {field.name for field in index_fields(COLUMNS)}


def test_a_date_of_a_record_is_a_period():
    (first, last) = column_entries(
        [TypedColumn("date", ColumnType.DATE)], {"date": ["2026-12-03", "2026-12-05"]}
    ).numbers
    assert Bounds(first[1], last[1]) == read_dates("2026-12-03..2026-12-05")


@pytest.mark.parametrize(
    ("value", "same"),
    [
        ("20260131", "2026-01-31"), (20260131, "2026-01-31"), ("2026-031", "2026-01-31"), ("2026-W05-6", "2026-01-31"),
        ("2026W056", "2026-01-31"), ("2026-W05", "2026-01-26..2026-02-01"), ("2026-W53", "2026-12-28..2027-01-03"),
        ("9999-12-31", "9999-12-31T00:00:00..9999-12-31T23:59:59"), ("9999", "9999-01-01..9999-12-31"),
        ("9999-12", "9999-12-01..9999-12-31"), ("2024-02", "2024-02-01..2024-02-29"), (1769817600, "2026-01-31T00:00:00"),
        (20261340, "1970-08-23T12:09:00"),
    ],
)  # fmt: skip
def test_a_date_is_the_same_period_in_a_record_and_in_a_filter(value, same):
    numbers = column_entries([TypedColumn("date", ColumnType.DATE)], {"date": value}).numbers
    assert Bounds(*(number for _, number in numbers)) == read_dates(same)
    if isinstance(value, str):
        assert read_dates(value) == read_dates(same)


@pytest.mark.parametrize("text", ["20261340", "2026-W54", "2026-W00", "2026-366", "2026-000", "2026-W05-8"])
def test_a_text_that_is_no_date_is_no_filter_and_lacking_in_a_record(text):
    assert read_dates(text) is None
    assert column_entries([TypedColumn("date", ColumnType.DATE)], {"date": text}).texts == ((LACKING, "date"),)


def test_a_record_that_a_column_cannot_read_lacks_its_value_and_nothing_else():
    def read(record):
        return record["price"] / record["count"]

    columns = (TypedColumn("each", ColumnType.NUMBER, read=read), TypedColumn("count", ColumnType.NUMBER))
    entries = column_entries(columns, {"price": 5, "count": 0})
    assert entries.texts == ((LACKING, "each"),)
    assert [field for field, _ in entries.numbers] == ["number_count"]
    assert column_entries(columns, {"price": 6, "count": 3}).texts == ()


NUMBERS = st.one_of(st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False, width=32))


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_range_of_numbers_has_the_numbers_between_its_ends(low, high, number):
    low, high = sorted((float(low), float(high)))
    column = TypedColumn("n", ColumnType.NUMBER)
    typed = f"{low!r}..{high!r}"
    bounds = column_clause(column, Filter("n", typed, f"n:{typed}"))
    ((_, indexed),) = column_entries([column], {"n": number}).numbers
    assert (bounds.low <= indexed <= bounds.high) == (low <= number <= high)


@pytest.mark.parametrize("name", ["title", "source", "Price", "a b", "", "5", "a:b"])
def test_a_column_with_a_name_that_no_filter_can_have_is_refused(name):
    with pytest.raises(ConfigError):
        check_columns([TypedColumn(name, ColumnType.TEXT)])
    with pytest.raises(ConfigError):
        check_columns([TypedColumn("twice", ColumnType.TEXT), TypedColumn("twice", ColumnType.NAME)])


def test_columns_with_other_values_have_other_identities():
    columns = [
        TypedColumn("a", ColumnType.TEXT),
        TypedColumn("a", ColumnType.NAME),
        TypedColumn("a", ColumnType.TEXT, "b"),
        TypedColumn("a", ColumnType.TEXT, read=str),
        TypedColumn("a", ColumnType.TEXT, read=test_without_its_column_the_same_text_is_words),
    ]
    assert len({column.identity for column in columns}) == len(columns)
    assert "0x" not in columns[-1].identity, "it is the same in each process"
