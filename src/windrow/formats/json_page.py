"""Parse JSON, and find what a page of an API states beside its list: an error, and the number of all entries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from windrow.errors import StepError
from windrow.reasons import Reason

_ERROR_KEYS = ("error", "errors", "fault", "exception")
_TOTAL_KEYS = (
    "total", "total_count", "totalCount", "total_items", "totalItems", "total_results", "totalResults", "total_records",
    "totalRecords", "numFound",
)  # fmt: skip
_MESSAGE_CHARACTERS = 200  # of an error


def load_json(content: bytes | str, *, strict: bool = False) -> Any:
    """Parse JSON; NaN and Infinity, which JSON does not have, and numbers such as 1e999 become None.

    Such numbers are too large for a float; integers of any size are kept, as a text if they have more than the 4,300
    digits that Python converts. Raise ValueError if `content` is not JSON, and RecursionError if it is nested too
    deeply. If `strict`, raise StepError for a number that would not stay a number.

    >>> load_json('[NaN, -Infinity, 1e999, 1.5]'), len(load_json(f'[7, {"9" * 5000}]')[1])
    ([None, None, None, 1.5], 5000)
    """

    def read_number(text: str) -> float | None:
        number = float(text)
        if strict and not isfinite(number):
            raise StepError(f"{text[:40]} is not a number in JSON, or is too large", Reason.NOT_WELL_FORMED)
        return number if isfinite(number) else None

    def read_integer(text: str) -> int | str:
        with suppress(ValueError):
            return int(text)
        if strict:
            raise StepError(f"a number of {len(text)} digits is too large", Reason.NOT_WELL_FORMED)
        return text

    try:
        return json.loads(content, parse_constant=read_number, parse_float=read_number)
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise
    return json.loads(content, parse_constant=read_number, parse_float=read_number, parse_int=read_integer)


def find_repeated_keys(text: str) -> set[str]:
    """Return the keys that are more than once in one object of a JSON document; `load_json` uses the last value.

    >>> find_repeated_keys('[{"a": 1, "b": {"a": 2}}, {"a": 3}]'), find_repeated_keys('{"a": 1, "a": 2}')
    (set(), {'a'})
    """
    repeated: set[str] = set()

    def read_object(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
            repeated.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    json.loads(text, object_pairs_hook=read_object, parse_int=str)
    return repeated


def find_error(document: Any) -> str:
    """Return the error that an object states beside its list, cut to 200 characters, or "" if there is none.

    >>> find_error({"items": [], "error": {"message": "busy"}}), find_error({"items": [], "errors": []})
    ("error: {'message': 'busy'}", '')
    >>> find_error({"items": [], "success": False})
    'success: False'
    """
    if not isinstance(document, Mapping):
        return ""
    for key in _ERROR_KEYS:
        if document.get(key):
            return f"{key}: {document[key]}"[:_MESSAGE_CHARACTERS]
    return "success: False" if document.get("success") is False else ""


def find_total(document: Any) -> int:
    """Return the number of entries that an object states for its whole list, or 0 if it states no number.

    >>> find_total({"items": [], "total": 40}), find_total({"total": "about 40"}), find_total([])
    (40, 0, 0)
    """
    totals = (document.get(key) for key in _TOTAL_KEYS) if isinstance(document, Mapping) else ()
    return next((total for total in totals if isinstance(total, int) and not isinstance(total, bool)), 0)
