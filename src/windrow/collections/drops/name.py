"""Names of zips and XML files: read the centre, date and increment from a name that follows the convention.

    zip = centre "." date "." increment ".impc.zip"
    xml = centre "." date "." increment "." kind ".impc.xml"

The date must be a day of the calendar, and the centre must be declared, in upper or lower case (specification, section
3). The workspace may replace both patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from windrow.errors import ConfigError
from windrow.reasons import Reason

ZIP_PATTERN = r"(?P<centre>[A-Za-z_]+)\.(?P<date>\d{4}-\d{2}-\d{2})\.(?P<inc>\d{1,5})\.impc\.zip"
XML_PATTERN = (
    r"(?P<centre>[A-Za-z_]+)\.(?P<date>\d{4}-\d{2}-\d{2})\.(?P<inc>\d{1,5})"
    r"\.(?P<kind>specimen|experiment)\.impc\.xml"
)
MAX_NAME_LENGTH = 128
"""The maximum number of characters of a file name that fits into the tracker's columns."""
MAX_INCREMENT = 2**63 - 1
"""The greatest increment that every database can store."""
UNSAFE_PATTERN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff/\\]|\.\.|\A[A-Za-z]:")


class DocumentKind(StrEnum):
    """The kind of records in an XML file; specimens are loaded before experiments."""

    SPECIMEN = "specimen"
    EXPERIMENT = "experiment"


class ZipName(NamedTuple):
    """The parts of a zip's name: the centre that made it (as declared), the date, and the increment (0 or more)."""

    centre: str
    date: date
    inc: int


class XmlName(NamedTuple):
    """The parts of an XML file's name: the centre (as declared), the date, the increment, and the kind of records."""

    centre: str
    date: date
    inc: int
    kind: DocumentKind


def read_zip_name(name: str, centres: Iterable[str], pattern: str = ZIP_PATTERN) -> ZipName | Reason:
    """Return the parts of a zip's name, or the reason why it is refused; `centres` are the declared short names.

    >>> read_zip_name("h.2012-11-20.03.impc.zip", ["H", "Ics"])
    ZipName(centre='H', date=datetime.date(2012, 11, 20), inc=3)
    >>> read_zip_name("H.2012-02-31.1.impc.zip", ["H"]).value
    'bad_date'
    """
    match = _match_name(name, compile_zip_pattern(pattern))
    if isinstance(match, Reason):
        return match
    centre = find_declared(match["centre"], centres)
    return ZipName(centre, _parse_date(match), int(match["inc"])) if centre else Reason.UNKNOWN_CENTRE


def spell_centre_as_declared(name: str, centre: str, pattern: str = ZIP_PATTERN) -> str:
    """Return a zip's name with its centre spelt as `centre`, the declared spelling; an invalid name is not changed.

    >>> spell_centre_as_declared("h.2012-11-20.03.impc.zip", "H")
    'H.2012-11-20.03.impc.zip'
    """
    match = compile_zip_pattern(pattern).fullmatch(name)
    return f"{name[: match.start('centre')]}{centre}{name[match.end('centre') :]}" if match else name


def matches_ignoring_case(name: str, pattern: str = ZIP_PATTERN) -> bool:
    """Return whether a zip's name follows the convention if case is ignored.

    >>> matches_ignoring_case("H.2012-11-20.03.IMPC.zip")
    True
    """
    return re.fullmatch(compile_zip_pattern(pattern).pattern, name, re.ASCII | re.IGNORECASE) is not None


def read_xml_name(name: str, centres: Iterable[str], pattern: str = XML_PATTERN) -> XmlName | Reason:
    """Return the parts of an XML file's name, or the reason why it is refused; `centres` are the declared short names.

    >>> read_xml_name("Ics.2013-06-19.11.specimen.impc.xml", ["Ics"]).kind.value
    'specimen'
    """
    match = _match_name(name, compile_xml_pattern(pattern))
    if isinstance(match, Reason):
        return match
    if match["kind"] not in set(DocumentKind):
        return Reason.BAD_NAME
    centre = find_declared(match["centre"], centres)
    if not centre:
        return Reason.UNKNOWN_CENTRE
    return XmlName(centre, _parse_date(match), int(match["inc"]), DocumentKind(match["kind"]))


def find_declared(centre: str, centres: Iterable[str]) -> str:
    """Return the declared spelling of a centre, ignoring case, or an empty text if the centre is not declared."""
    folded = centre.casefold()
    return next((declared for declared in centres if declared.casefold() == folded), "")


def refusal_reason(name: str) -> Reason | None:
    """Return the reason why a name is refused (it is too long or unsafe), or None if it can be used."""
    if len(name) > MAX_NAME_LENGTH:
        return Reason.NAME_TOO_LONG
    return Reason.UNSAFE_NAME if UNSAFE_PATTERN.search(name) else None


@lru_cache(maxsize=32)
def compile_zip_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the setting `zip_name`; raise ConfigError if it is malformed or lacks a required group."""
    return _compile_pattern(pattern, "drops.zip_name", {"centre", "date", "inc"})


@lru_cache(maxsize=32)
def compile_xml_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the setting `xml_name`; raise ConfigError if it is malformed or lacks a required group."""
    return _compile_pattern(pattern, "drops.xml_name", {"centre", "date", "inc", "kind"})


def _compile_pattern(pattern: str, setting: str, required_groups: set[str]) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise ConfigError(f"{setting}: the pattern is not a regular expression: {error}") from None
    if missing := required_groups - set(compiled.groupindex):
        raise ConfigError(f"{setting}: the pattern lacks these groups: {', '.join(sorted(missing))}")
    return compiled


def _match_name(name: str, pattern: re.Pattern[str]) -> re.Match[str] | Reason:
    """Return the match if a name has a centre, a calendar date and an increment, and otherwise why it is refused."""
    if reason := refusal_reason(name):
        return reason
    match = pattern.fullmatch(name)
    if not match or not match["centre"] or not match["date"]:
        return Reason.BAD_NAME
    increment = match["inc"]
    if not increment or not (increment.isascii() and increment.isdigit()) or int(increment) > MAX_INCREMENT:
        return Reason.BAD_NAME
    try:
        _parse_date(match)
    except ValueError:
        return Reason.BAD_DATE
    return match


def _parse_date(match: re.Match[str]) -> date:
    return date.fromisoformat(match["date"])
