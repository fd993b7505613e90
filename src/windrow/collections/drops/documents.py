"""Parse the XML files of drops safely, convert their texts to values, and build the identifiers of their records.

An identifier is made of these parts, joined by `_`, as in the standard's later stage:

- specimen: `centre_specimenID`;
- experiment: `centre_experimentID[_sequenceID]_specimenIDs`, with the specimens in sorted order;
- line: `centre_colonyID[_sequenceID]_procedureID`;
- housing: `centre_fromLIMS[_lastUpdated]_procedureID`.

The last two have more parts than the standard's `centre_colonyID` and `centre_fromLIMS_date`: lines and housings have
one record for each procedure (fertility, viability, ...), and without these parts the newest record would replace the
others. Identifiers are case-sensitive. An identifier longer than `MAX_NAME_LENGTH` is cut, and ends with the digest of
the whole identifier. As in the standard, an underscore within an id can make two identifiers the same: that of `a_1`
without a sequence, and that of `a` with the sequence `1`. The store then tells an `IdentifierCollision`.
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

from windrow.collections.drops.elements import MAX_NAME_LENGTH, ColumnKind
from windrow.digest import digest
from windrow.errors import StepError
from windrow.formats import xml
from windrow.model import Limits
from windrow.reasons import Reason

Node = etree._Element  # noqa: SLF001 - the only name that lxml has for an element


def read_all(view: BinaryIO) -> bytes:
    """Return all bytes of a document; its size was limited when it was opened."""
    view.seek(0)
    return view.read()


def parse_document(content: bytes, limits: Limits) -> Node:
    """Parse a document and return its root; raise StepError if it is malformed, has a DTD or exceeds a limit."""
    return xml.build_tree(xml.require_root(xml.admit(content, limits)).content)


def stream_elements(content: bytes, limits: Limits) -> Iterator[tuple[str, Node]]:
    """Yield (`start` or `end`, element) at each tag of a document; raise StepError as `parse_document` does."""
    text = xml.require_root(xml.admit(content, limits))
    events: Any = etree.iterparse(io.BytesIO(text.content), events=("start", "end"), **xml.PARSER_OPTIONS)
    try:
        yield from events
    except etree.XMLSyntaxError as error:
        raise xml.to_step_error(error, events.error_log) from None


def line_number(element: Node) -> int | None:
    """Return the line number of an element, or None if it is unknown; in a stream it is not exact above 65,535."""
    number: Any = element.sourceline
    return int(number) if number else None


def attribute_text(element: Node, name: str) -> str:
    """Return the text of an attribute, or an empty text if the element does not have it."""
    return str(element.get(name) or "")


_MAX_LOOPED_CHILDREN = 8  # up to this number a loop in Python is twice as fast as lxml's search


def find_child(element: Node, name: str) -> Node | None:
    """Return the first child with this name in any namespace, or None."""
    if len(element) > _MAX_LOOPED_CHILDREN:
        return next(element.iterchildren(f"{{*}}{name}"), None)
    for candidate in element:
        if _strip_namespace(candidate.tag) == name:
            return candidate
    return None


def find_children(element: Node, name: str) -> list[Node]:
    """Return the children with this name in any namespace."""
    return list(element.iterchildren(f"{{*}}{name}"))


def local_name(element: Node) -> str:
    """Return an element's name without its namespace; `etree.QName` takes five times as long."""
    return _strip_namespace(element.tag)


@lru_cache(maxsize=4096)
def _strip_namespace(tag: str) -> str:
    return tag.rpartition("}")[2]


ParseText = Callable[[str], object]

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_DECIMAL = re.compile(r"\s*[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)\s*")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def parse_boolean(text: str) -> bool:
    """Return the value of an xs:boolean; raise StepError for any other text.

    >>> parse_boolean(" 1 ")
    True
    """
    parsed = _BOOLEANS.get(text.strip())
    if parsed is None:
        raise _make_value_error(text, "is not true or false")
    return parsed


def parse_integer(text: str) -> int:
    """Return the value of an xs:integer; raise StepError for any other text, or above 64 bits or 100 characters."""
    if not _INTEGER.fullmatch(text):
        raise _make_value_error(text, "is not a whole number")
    if len(text) > 100 or not -(2**63) <= (number := int(text)) < 2**63:
        raise _make_value_error(text, "does not fit into 64 bits", Reason.TOO_LARGE)
    return number


def parse_double(text: str) -> float:
    """Return the value of an xs:double; raise StepError for any other text, and for INF and NaN."""
    try:
        number = float(text.replace("_", "?"))  # Python allows underscores, XML Schema does not
    except ValueError:
        raise _make_value_error(text, "is not a number") from None
    if not isfinite(number):
        raise _make_value_error(text, "is not a finite number")
    return number


def parse_decimal(text: str) -> str:
    """Return an xs:decimal as text, since a float would lose digits; raise StepError if the text is not one.

    >>> parse_decimal(" 0.10000000000000000000001 ")
    '0.10000000000000000000001'
    """
    if not _DECIMAL.fullmatch(text):
        raise _make_value_error(text, "is not a decimal number")
    return text.strip()


def parse_date(text: str) -> str:
    """Return the date with which a text begins, as YYYY-MM-DD without a time zone; raise StepError if there is none.

    >>> parse_date("2012-12-31+01:00")
    '2012-12-31'
    """
    day = text.strip()[:10]
    try:
        return dt.date.fromisoformat(day).isoformat()
    except ValueError:
        raise _make_value_error(text, "is not a date in the years 1 to 9999") from None


def parse_name(text: str) -> str:
    """Return a text for an indexed column unchanged; raise StepError for more than `MAX_NAME_LENGTH` characters."""
    if len(text) > MAX_NAME_LENGTH:
        raise _make_value_error(text, f"has {len(text)} characters; the limit is {MAX_NAME_LENGTH}", Reason.TOO_LARGE)
    return text


PARSERS: dict[ColumnKind, ParseText | None] = {
    ColumnKind.NAME: parse_name,
    ColumnKind.TEXT: None,
    ColumnKind.INTEGER: parse_integer,
    ColumnKind.DOUBLE: parse_double,
    ColumnKind.DECIMAL: parse_decimal,
    ColumnKind.BOOLEAN: parse_boolean,
    ColumnKind.DATE: parse_date,
}
"""A dict from a column's kind to the function that turns a text into its value; None leaves the text as it is."""


def _make_value_error(text: str, problem: str, reason: Reason = Reason.NOT_VALID) -> StepError:
    return StepError(f"{text[:60]!r} {problem}", reason)


def join_identifier(*parts: str | None) -> str:
    """Join the parts that are not None with `_`; the result has at most `MAX_NAME_LENGTH` characters.

    >>> join_identifier("H", "e1", None, "s1")
    'H_e1_s1'
    >>> len(join_identifier("H", "x" * 1000))
    255
    """
    identifier = "_".join(part for part in parts if part is not None)
    if len(identifier) <= MAX_NAME_LENGTH:
        return identifier
    digest_hex = digest(identifier.encode()).partition(":")[2]
    return f"{identifier[: MAX_NAME_LENGTH - 1 - len(digest_hex)]}~{digest_hex}"


def specimen_identifier(centre_id: str, specimen_id: str) -> str:
    """Return the identifier of a mouse or embryo."""
    return join_identifier(centre_id, specimen_id)


def experiment_identifier(
    centre_id: str, experiment_id: str, sequence_id: str | None, specimen_ids: Iterable[str]
) -> str:
    """Return the identifier of an experiment; the order of its specimens does not matter."""
    return join_identifier(centre_id, experiment_id, sequence_id, *sorted(specimen_ids))


def line_identifier(centre_id: str, colony_id: str, sequence_id: str | None, procedure_id: str | None) -> str:
    """Return the identifier of a line's record for one procedure."""
    return join_identifier(centre_id, colony_id, sequence_id, procedure_id)


def housing_identifier(centre_id: str, from_lims: str, last_updated: str | None, procedure_id: str | None) -> str:
    """Return the identifier of a housing's record for one procedure; `from_lims` is the text `true` or `false`."""
    return join_identifier(centre_id, from_lims, last_updated, procedure_id)
