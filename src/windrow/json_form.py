"""Values as plain JSON: what commands print, pages serve and notices carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any


def plain(value: Any) -> Any:
    """Turn a value of ours into what JSON knows; times are ISO 8601 in UTC, statuses are words.

    >>> from windrow.model import Finding, Status
    >>> plain((Status.DONE, Path("/a"), Finding("SchemaError", "no", line=3)))[:2]
    ['done', '/a']
    """
    match value:
        case IntEnum():
            told: Any = value.name.lower()
        case Enum():
            told = value.value
        case datetime() | date():
            told = value.isoformat().replace("+00:00", "Z")
        case Path():
            told = str(value)
        case Mapping():
            told = {str(name): plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            names = getattr(value, "_fields", None)
            told = {name: plain(getattr(value, name)) for name in names} if names else [plain(each) for each in value]
        case _ if is_dataclass(value):
            told = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            told = value
    return told


def message(kind: str, value: Any, *, omit_empty: bool = False) -> dict[str, Any]:
    """Return a message of a type; with `omit_empty`, fields that say nothing are left out.

    >>> message("gone", {"name": "a", "why": None}, omit_empty=True)
    {'type': 'gone', 'name': 'a'}
    """
    told = plain(value)
    if omit_empty:
        told = {name: each for name, each in told.items() if each is not None and each not in ("", [])}
    return {"type": kind, **told}
