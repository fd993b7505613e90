"""Read the texts of the schemas' simple types; what a database cannot hold is refused with a reason."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from math import isfinite

from windrow.errors import StepError
from windrow.reasons import Reason
from windrow.table_schema import NAME_LIMIT, ColumnKind

Read = Callable[[str], object]

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_DECIMAL = re.compile(r"\s*[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)\s*")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def boolean(text: str) -> bool:
    """Read an xs:boolean.

    >>> boolean(" 1 ")
    True
    """
    value = _BOOLEANS.get(text.strip())
    if value is None:
        raise _refused(text, "is not true or false")
    return value


def integer(text: str) -> int:
    """Read an xs:integer of at most 64 bits; the schema sets no bound, databases do."""
    if not _INTEGER.fullmatch(text):
        raise _refused(text, "is not a whole number")
    if len(text) > 100 or not -(2**63) <= (value := int(text)) < 2**63:
        raise _refused(text, "does not fit 64 bits", Reason.TOO_LARGE)
    return value


def double(text: str) -> float:
    """Read an xs:double; INF and NaN are refused, which not every database can hold."""
    try:
        value = float(text.replace("_", "?"))  # Python alone allows an underscore
    except ValueError:
        raise _refused(text, "is not a number") from None
    if not isfinite(value):
        raise _refused(text, "is not a finite number")
    return value


def decimal(text: str) -> str:
    """Read an xs:decimal, digit by digit: a binary number would lose some, and SQL's own end at 65 (MariaDB).

    >>> decimal(" 0.10000000000000000000001 ")
    '0.10000000000000000000001'
    """
    if not _DECIMAL.fullmatch(text):
        raise _refused(text, "is not a decimal number")
    return text.strip()


def date(text: str) -> str:
    """Read an xs:date as YYYY-MM-DD; a time zone after the day is left out.

    >>> date("2012-12-31+01:00")
    '2012-12-31'
    """
    day = text.strip()[:10]
    try:
        return dt.date.fromisoformat(day).isoformat()
    except ValueError:
        raise _refused(text, "is not a day of the years 1 to 9999") from None


def name(text: str) -> str:
    """Read a text that is indexed: it must not be longer than `NAME_LIMIT` characters."""
    if len(text) > NAME_LIMIT:
        raise _refused(text, f"has {len(text)} characters, more than the {NAME_LIMIT} of an id", Reason.TOO_LARGE)
    return text


READERS: dict[ColumnKind, Read | None] = {
    ColumnKind.NAME: name,
    ColumnKind.TEXT: None,
    ColumnKind.INTEGER: integer,
    ColumnKind.DOUBLE: double,
    ColumnKind.DECIMAL: decimal,
    ColumnKind.BOOLEAN: boolean,
    ColumnKind.DATE: date,
}
"""How a column's text becomes its value; None leaves it as it is."""


def _refused(text: str, why: str, reason: Reason = Reason.NOT_VALID) -> StepError:
    return StepError(f"{text[:60]!r} {why}", reason)
