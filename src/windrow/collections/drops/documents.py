"""Parse the drops' documents with the safe parser's settings, convert texts to values, and build records' identifiers.

The rules are those of the standard's own later stage (its report identifiers), joined by `_`:

- specimen: `centre_specimenID`;
- experiment: `centre_experimentID[_sequenceID]_specimenIDs`, several specimens in sorted order;
- line: `centre_colonyID[_sequenceID]_procedureID`;
- housing: `centre_fromLIMS[_lastUpdated]_procedureID`.

Two of them go one step further than the standard's `centre_colonyID` and `centre_fromLIMS_date`: a
line has one record per procedure (fertility, viability, ...), and so has a housing, so that without
the procedure, and for a line without the sequence, the newest record would replace its own siblings.
Identifiers are case-sensitive. One longer than `NAME_LIMIT` is cut and ends with the digest of the
whole. Known weakness of the standard's form: an underscore within an id can make two ids one
(`a_1` without sequence, and `a` with sequence `1`), as it did there.
"""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any, BinaryIO

from lxml import etree

from windrow.collections.drops.elements import NAME_LIMIT, ColumnKind
from windrow.digest import digest
from windrow.errors import StepError
from windrow.formats import xml
from windrow.model import Limits
from windrow.reasons import Reason

Node = etree._Element  # noqa: SLF001 - the only name that lxml has for an element


def read_all(view: BinaryIO) -> bytes:
    """Return all bytes of a document; `open_member` limits its size."""
    view.seek(0)
    return view.read()


def parse(content: bytes, limits: Limits) -> Node:
    """Read a whole document; return its root."""
    return xml.build_tree(xml.require_root(xml.admit(content, limits)).content)


def stream(content: bytes, limits: Limits) -> Iterator[tuple[str, Node]]:
    """Read a document element by element: `start` and `end` of each."""
    text = xml.require_root(xml.admit(content, limits))
    events: Any = etree.iterparse(io.BytesIO(text.content), events=("start", "end"), **xml.PARSER_OPTIONS)
    try:
        yield from events
    except etree.XMLSyntaxError as error:
        raise xml.to_step_error(error, events.error_log) from None


def line(element: Node) -> int | None:
    """Return the line number of an element; above 65,535 exact only in a document parsed as a whole."""
    number: Any = element.sourceline
    return int(number) if number else None


def attribute(element: Node, name: str) -> str:
    """Return the text of an attribute; empty if the element does not have it."""
    return str(element.get(name) or "")


_FEW = 8


def child(element: Node, name: str) -> Node | None:
    """Return the first child with this name in any namespace; a loop is twice as fast if there are few children."""
    if len(element) > _FEW:
        return next(element.iterchildren(f"{{*}}{name}"), None)
    for candidate in element:
        if _local(candidate.tag) == name:
            return candidate
    return None


def children(element: Node, name: str) -> list[Node]:
    """Return the children with this name in any namespace."""
    return list(element.iterchildren(f"{{*}}{name}"))


def local_name(element: Node) -> str:
    """Return an element's name without its namespace; `etree.QName` takes five times as long."""
    return _local(element.tag)


@lru_cache(maxsize=4096)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


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
        raise _make_error(text, "is not true or false")
    return value


def integer(text: str) -> int:
    """Read an xs:integer of at most 64 bits: the schema sets no limit, but databases do."""
    if not _INTEGER.fullmatch(text):
        raise _make_error(text, "is not a whole number")
    if len(text) > 100 or not -(2**63) <= (value := int(text)) < 2**63:
        raise _make_error(text, "does not fit 64 bits", Reason.TOO_LARGE)
    return value


def double(text: str) -> float:
    """Read an xs:double; INF and NaN are refused, because not every database can store them."""
    try:
        value = float(text.replace("_", "?"))  # Python alone allows an underscore
    except ValueError:
        raise _make_error(text, "is not a number") from None
    if not isfinite(value):
        raise _make_error(text, "is not a finite number")
    return value


def decimal(text: str) -> str:
    """Read an xs:decimal, digit by digit: a binary number would lose some, and SQL's own end at 65 (MariaDB).

    >>> decimal(" 0.10000000000000000000001 ")
    '0.10000000000000000000001'
    """
    if not _DECIMAL.fullmatch(text):
        raise _make_error(text, "is not a decimal number")
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
        raise _make_error(text, "is not a day of the years 1 to 9999") from None


def name(text: str) -> str:
    """Read a text that is indexed: it must not be longer than `NAME_LIMIT` characters."""
    if len(text) > NAME_LIMIT:
        raise _make_error(text, f"has {len(text)} characters, more than the {NAME_LIMIT} of an id", Reason.TOO_LARGE)
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


def _make_error(text: str, problem: str, reason: Reason = Reason.NOT_VALID) -> StepError:
    return StepError(f"{text[:60]!r} {problem}", reason)


def join(*parts: str | None) -> str:
    """Join the parts that are not None, and shorten the result to `NAME_LIMIT` characters.

    >>> join("H", "e1", None, "s1")
    'H_e1_s1'
    >>> len(join("H", "x" * 1000))
    255
    """
    identifier = "_".join(part for part in parts if part is not None)
    if len(identifier) <= NAME_LIMIT:
        return identifier
    mark = digest(identifier.encode()).partition(":")[2]
    return f"{identifier[: NAME_LIMIT - 1 - len(mark)]}~{mark}"


def specimen(centre: str, specimen_id: str) -> str:
    """Return the identifier of a mouse or embryo."""
    return join(centre, specimen_id)


def experiment(centre: str, experiment_id: str, sequence: str | None, specimens: Iterable[str]) -> str:
    """Return the identifier of an experiment; its specimens may come in any order."""
    return join(centre, experiment_id, sequence, *sorted(specimens))


def line_identity(centre: str, colony: str, sequence: str | None, procedure: str | None) -> str:
    """Return the identifier of one procedure of a line."""
    return join(centre, colony, sequence, procedure)


def housing(centre: str, from_lims: str, updated: str | None, procedure: str | None) -> str:
    """Return the identifier of a housing record; `from_lims` is `true` or `false`."""
    return join(centre, from_lims, updated, procedure)
