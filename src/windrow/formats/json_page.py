"""Parse JSON, and find what a page of an API states beside its list: an error, and the number of all entries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from windrow.errors import StepError
from windrow.reasons import Reason

_ERROR_KEYS = ("error", "errors", "fault", "exception")
_TOTAL_KEYS = (
    "total", "total_count", "totalCount", "total_items", "totalItems", "total_results", "totalResults", "total_records",
    "totalRecords", "totalElements", "numFound",
)  # fmt: skip
_PAGING_KEYS = ("meta", "_meta", "pagination", "page", "paging", "links", "_links", "hydra:view", "response")
_PAGES_KEYS = ("total_pages", "totalPages", "last_page", "lastPage", "page_count", "pageCount")
_PAGE_KEYS = ("page", "current_page", "currentPage")
_NEXT_KEYS = (
    "next", "next_url", "nextUrl", "next_page", "nextPage", "next_page_url", "nextPageUrl", "nextLink",
    "@odata.nextLink", "hydra:next",
)  # fmt: skip
_TOKEN_KEYS = ("nextPageToken", "next_page_token", "next_cursor", "nextCursor")
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

    It may be in an object such as `meta` or `pagination`, where it is also called `count` beside a number of pages.

    >>> find_total({"items": [], "total": 40}), find_total({"total": "about 40"}), find_total([])
    (40, 0, 0)
    >>> find_total({"pagination": {"count": 240, "pages": 3}}), find_total({"meta": {"total": 7}, "total": 9})
    (240, 9)
    """
    for part in _paging_parts(document):
        keys = (*_TOTAL_KEYS, "count") if part is not document and "pages" in part else _TOTAL_KEYS
        if total := _first_number(part, keys):
            return total
    return 0


def find_pages(document: Any) -> tuple[int, int]:
    """Return the number of this page, and how many pages the list has; 0 if an object does not state them.

    >>> find_pages({"pagination": {"page": 2, "pages": 3}}), find_pages({"page": {"number": 0, "totalPages": 9}})
    ((2, 3), (1, 9))
    """
    for part in _paging_parts(document):
        keys = (*_PAGES_KEYS, "pages") if part is not document else _PAGES_KEYS
        if pages := _first_number(part, keys):
            is_from_zero = isinstance(part.get("number"), int) and not _first_number(part, _PAGE_KEYS)
            return (part["number"] + 1 if is_from_zero else _first_number(part, _PAGE_KEYS)), pages
    return 0, 0


def states_next_page(document: Any) -> bool:
    """Return whether an object names a next page of its list, by an address or a token.

    >>> states_next_page({"links": {"next": "/a?page=2"}}), states_next_page({"next": "2026-12-01"})
    (True, False)
    """
    parts = _paging_parts(document)
    names = [part.get(key) for part in parts for key in _NEXT_KEYS]
    names = [name.get("href") if isinstance(name, Mapping) else name for name in names]
    has_token = any(isinstance(part.get(key), str) and part[key] for part in parts for key in _TOKEN_KEYS)
    return has_token or any(isinstance(name, str) and ("/" in name or "?" in name) for name in names)


def _paging_parts(document: Any) -> list[Mapping[str, Any]]:
    """Return an object, and the objects in it that describe its pages; () for anything else."""
    if not isinstance(document, Mapping):
        return []
    parts = [document, *(document[key] for key in _PAGING_KEYS if isinstance(document.get(key), Mapping))]
    return parts + [part[key] for part in parts[1:] for key in _PAGING_KEYS if isinstance(part.get(key), Mapping)]


def _first_number(part: Mapping[str, Any], keys: Sequence[str]) -> int:
    numbers = (part.get(key) for key in keys)
    return next((number for number in numbers if isinstance(number, int) and not isinstance(number, bool)), 0)
