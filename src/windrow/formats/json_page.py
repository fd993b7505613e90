"""Parse JSON, and find what a page of an API states beside its list: an error, and the number of all entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
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

    Such numbers are too large for a float; integers of any size are kept. Raise ValueError if `content` is not JSON,
    and RecursionError if it is nested too deeply. If `strict`, raise StepError for a number that would become None.

    >>> load_json('[NaN, -Infinity, 1e999, 1.5]')
    [None, None, None, 1.5]
    """

    def read_number(text: str) -> float | None:
        number = float(text)
        if strict and not isfinite(number):
            raise StepError(f"{text[:40]} is not a number in JSON, or is too large", Reason.NOT_WELL_FORMED)
        return number if isfinite(number) else None

    return json.loads(content, parse_constant=read_number, parse_float=read_number)


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
