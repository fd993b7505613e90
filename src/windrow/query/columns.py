"""Read filters by the columns of a collection, turn these filters into clauses, and index the columns of records.

An index has one or two fields for each column. They are named after the column and its type.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from windrow.contract.columns import ColumnType, TypedColumn
from windrow.errors import ConfigError
from windrow.formats.moment import read_utc_time
from windrow.query.clause import NO_DOCUMENT, Clause, IndexField, MarkIn, NumberRange, word_sequence
from windrow.query.parse import Query, parse
from windrow.query.tree import KEYS, And, Filter, read_time_span
from windrow.query.word import indexable_text, words

LACKING = "lacking"
"""The index field with the names of the columns for which a record has no value, or an unreadable one."""

_MAX_NAME_CHARACTERS = 2_000  # of an indexed NAME: a longer one cannot be typed, and counts as missing
_COLUMN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_DOI_RESOLVER = re.compile(r"(?:https?://)?(?:dx\.)?doi\.org/", re.IGNORECASE)
_SWITCH_MARKS = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false", "0": "false"}
_LAST_YEAR = 9_999  # a larger number is a time, or a day in digits
_DAYS_IN_DIGITS = range(1900_01_01, 2100_12_32)
"""A number in this range means a day in digits (YYYYMMDD), if there is such a day, and not a time in seconds."""

_MAX_TIME = 253_402_300_799  # the last second of the year 9999; a larger number has milliseconds
_FIELD_KINDS = {
    ColumnType.TEXT: {"text": "words"},
    ColumnType.NAME: {"mark": "mark"},
    ColumnType.SWITCH: {"mark": "mark"},
    ColumnType.NUMBER: {"number": "number"},
    ColumnType.DATE: {"first": "number", "last": "number"},
}
"""The fields that an index has for each type of column: a dict from the prefix of a field's name to its kind."""


class Bounds(NamedTuple):
    """The least and the greatest number of a range, as they are indexed, or None where the range has no bound."""

    low: int | None
    high: int | None


class ColumnEntries(NamedTuple):
    """The columns of a record as they are indexed: pairs (field, text or mark) and pairs (field, number)."""

    texts: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, int], ...]


def check_columns(columns: Iterable[TypedColumn]) -> None:
    """Raise ConfigError if the name of a column is not valid, or is the name of another column or of a filter."""
    names = set(KEYS)
    for column in columns:
        if not _COLUMN_NAME.fullmatch(column.name):
            raise ConfigError(f"{column.name!r} cannot name a column: use one of a-z, then any of a-z, 0-9, - and _")
        if column.name in names:
            raise ConfigError(f"a column cannot be called {column.name!r}: another filter has this name")
        names.add(column.name)


def parse_query(text: str, columns: Iterable[TypedColumn]) -> Query:
    """Parse a query that may filter by `columns`, which may belong to several collections.

    >>> column = TypedColumn("price", ColumnType.NUMBER)
    >>> parse_query("price:2..5", [column]).root
    Filter(key='price', value='2..5', typed='price:2..5')
    >>> parse_query("price:cheap", [column]).notes
    ("'price:cheap' is not a valid filter, so its words are searched for",)
    """
    types: dict[str, set[ColumnType]] = {}
    for column in columns:
        types.setdefault(column.name, set()).add(column.type)
    readers: dict[str, Callable[[str], str | None]] = {
        name: partial(_read_text, frozenset(of_name)) for name, of_name in types.items()
    }
    return parse(text, readers)


def _read_text(types: frozenset[ColumnType], text: str) -> str | None:
    """Return `text` if it is a valid filter value for a column of one of `types`, otherwise None."""
    return text if any(_read_value(type_, text) is not None for type_ in types) else None


def index_fields(columns: Iterable[TypedColumn]) -> tuple[IndexField, ...]:
    """Return the fields that an index has for `columns`, and the field LACKING, or () if there are no columns."""
    fields = [
        IndexField(f"{prefix}_{column.name}", kind)
        for column in columns
        for prefix, kind in _FIELD_KINDS[column.type].items()
    ]
    return (*fields, IndexField(LACKING, "mark")) if fields else ()


def column_entries(columns: Iterable[TypedColumn], record: Any) -> ColumnEntries:
    """Return the entries with which an index finds `record` when a search filters by `columns`."""
    texts: list[tuple[str, str]] = []
    numbers: list[tuple[str, int]] = []
    for column in columns:
        read = _RECORD_READERS[column.type]
        try:
            values = column.values_of(record)
        except Exception:  # noqa: BLE001 another maker's function may fail in any way: then the record lacks the value
            values = []
        entries = [entry for entry in map(read, values) if entry is not None]
        if len(entries) < len(values) or not values:
            texts.append((LACKING, column.name))
        if column.type is ColumnType.DATE and entries:
            numbers.append((f"first_{column.name}", min(low for low, _ in entries)))
            numbers.append((f"last_{column.name}", max(high for _, high in entries)))
        elif column.type is ColumnType.NUMBER:
            numbers += [(f"number_{column.name}", number) for number in entries]
        elif entries:
            field = f"{'text' if column.type is ColumnType.TEXT else 'mark'}_{column.name}"
            texts += [(field, text) for text in entries]
    return ColumnEntries(tuple(texts), tuple(numbers))


def column_clause(column: TypedColumn, leaf: Filter) -> Clause:
    """Return the clause for a filter by a column. A value that is not valid for the column's type matches nothing."""
    match column.type, _read_value(column.type, str(leaf.value)):
        case ColumnType.TEXT, str():
            return word_sequence(leaf, ((f"text_{column.name}", 1.0),))
        case ColumnType.NAME | ColumnType.SWITCH, str(mark):
            return MarkIn(f"mark_{column.name}", (mark,))
        case ColumnType.NUMBER, Bounds(low, high):
            return NumberRange(f"number_{column.name}", low, high)
        case ColumnType.DATE, Bounds(low, high):
            # The periods overlap: the record's begins before the filter's ends, and ends after the filter's begins.
            return And((NumberRange(f"first_{column.name}", high=high), NumberRange(f"last_{column.name}", low=low)))
    return NO_DOCUMENT


def read_dates(text: str) -> Bounds | None:
    """Return the first and last second of a date or a range of dates in UNIX time, or None if `text` is not valid.

    A date is a year, month, week, day or time.

    >>> read_dates("1970-01-01..1970-01-02"), read_dates("..1969"), read_dates("soon")
    (Bounds(low=0, high=172799), Bounds(low=None, high=-1), None)
    """
    return _read_range(text, _read_period)


def _read_value(type_: ColumnType, text: str) -> str | Bounds | None:
    """Return what a filter with the value `text` searches for in a column of this type, or None if it is not valid."""
    match type_:
        case ColumnType.TEXT:
            return text if words(text) else None
        case ColumnType.NAME:
            return _read_name(text)
        case ColumnType.SWITCH:
            return _SWITCH_MARKS.get(text.strip().lower())
        case ColumnType.NUMBER:
            return _read_range(text, _read_number_range)
        case ColumnType.DATE:
            return read_dates(text)


def _read_range(text: str, read: Callable[[str], Bounds | None]) -> Bounds | None:
    """Return the bounds of a value or a range (`LOW..HIGH`, `LOW..` or `..HIGH`), or None if `text` is not valid.

    `read` returns the bounds of one value. A range is not valid if LOW is greater than HIGH.
    """
    low_text, dots, high_text = text.strip().partition("..")
    low, high = read(low_text), read(high_text)
    if not dots:
        return low
    if (low is None and low_text) or (high is None and high_text) or not (low or high):
        return None
    bounds = Bounds(low.low if low else None, high.high if high else None)
    is_empty = bounds.low is not None and bounds.high is not None and bounds.low > bounds.high
    return None if is_empty else bounds


def _read_number_range(text: str) -> Bounds | None:
    number = _read_number(text)
    return None if number is None else Bounds(number, number)


def _read_period(value: Any) -> Bounds | None:
    """Return the first and last second of the time that a text or number names, or None if it does not name a time."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1000 * _MAX_TIME:
        if value in _DAYS_IN_DIGITS and (span := read_time_span(str(int(value)))):
            return Bounds(span.start, span.end - 1)
        if value > _LAST_YEAR:
            second = int(value if value <= _MAX_TIME else value / 1000)
            return Bounds(second, second)
        value = f"{int(value):04}"
    if not isinstance(value, str):
        return None
    if span := read_time_span(value.strip()):
        return Bounds(span.start, span.end - 1)
    if (time := read_utc_time(value)) is None:
        return None
    return Bounds(int(time.timestamp()), int(time.timestamp()))


def _read_number(value: Any) -> int | None:
    """Return the integer that is indexed for a number, or None for anything else and for a number that is too large.

    The integers have the order of the numbers. Numbers are compared as binary64 (IEEE 754), so those that differ after
    the fifteenth digit may be equal.

    >>> sorted(["10", 9.5, -1, "-2.5", 0], key=_read_number), _read_number("ten"), _read_number(True)
    (['-2.5', -1, 0, 9.5, '10'], None, None)
    """
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    (bits,) = struct.unpack(">q", struct.pack(">d", number))
    return int(bits) if bits >= 0 else int(bits) ^ (2**63 - 1)


def _read_name(value: Any) -> str | None:
    """Return the mark that is indexed for a name: in lower case, and without the address of a DOI resolver.

    Return None for a value that is not a text or number, and for a name that is empty or too long.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    name = _DOI_RESOLVER.sub("", str(value).strip(), count=1).casefold()
    return name if 0 < len(name) <= _MAX_NAME_CHARACTERS else None


def _read_words(value: Any) -> str | None:
    """Return the words of a text or number for the index, or None if it has no words, or for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value)
    return indexable_text(text) if words(text) else None


def _read_switch(value: Any) -> str | None:
    return _SWITCH_MARKS.get(str(value).strip().lower()) if isinstance(value, bool | int | str) else None


_RECORD_READERS: Mapping[ColumnType, Callable[[Any], Any]] = {
    ColumnType.TEXT: _read_words,
    ColumnType.NAME: _read_name,
    ColumnType.NUMBER: _read_number,
    ColumnType.DATE: _read_period,
    ColumnType.SWITCH: _read_switch,
}
"""For each type of column, the function that returns what is indexed for a value of a record (None: nothing)."""
