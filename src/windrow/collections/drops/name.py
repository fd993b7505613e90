"""File names of the convention, read strictly: producer, date and increment of a file.

    zip = centre "." date "." increment ".impc.zip"
    xml = centre "." date "." increment "." kind ".impc.xml"

A name is taken as a whole or not at all; its date must be a day of the calendar and its centre one
of those declared, compared without regard to case (specification, section 3). Both patterns may be
replaced by the workspace.
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

ZIP = r"(?P<centre>[A-Za-z_]+)\.(?P<date>\d{4}-\d{2}-\d{2})\.(?P<inc>\d{1,5})\.impc\.zip"
XML = (
    r"(?P<centre>[A-Za-z_]+)\.(?P<date>\d{4}-\d{2}-\d{2})\.(?P<inc>\d{1,5})"
    r"\.(?P<kind>specimen|experiment)\.impc\.xml"
)
LONGEST = 128
"""Characters that the tracker's columns hold."""
GREATEST = 2**63 - 1
"""An increment that every database holds."""
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff/\\]|\.\.|\A[A-Za-z]:")


class DocumentKind(StrEnum):
    """The kind of records in an XML file; specimens are loaded before the experiments on them."""

    SPECIMEN = "specimen"
    EXPERIMENT = "experiment"


class ZipName(NamedTuple):
    """The parts of a zip's name; `centre` is the producer as declared, `inc` a number from 0."""

    centre: str
    date: date
    inc: int


class XmlName(NamedTuple):
    """The parts of an XML file's name."""

    centre: str
    date: date
    inc: int
    kind: DocumentKind


def read_zip_name(name: str, centres: Iterable[str], pattern: str = ZIP) -> ZipName | Reason:
    """Read the name of a zip, or return why it is refused.

    >>> read_zip_name("h.2012-11-20.03.impc.zip", ["H", "Ics"])
    ZipName(centre='H', date=datetime.date(2012, 11, 20), inc=3)
    >>> read_zip_name("H.2012-02-31.1.impc.zip", ["H"]).value
    'bad_date'
    """
    match = _match(name, zip_pattern(pattern))
    if isinstance(match, Reason):
        return match
    centre = find_declared(match["centre"], centres)
    return ZipName(centre, _day(match), int(match["inc"])) if centre else Reason.UNKNOWN_CENTRE


def own_spelling(name: str, centre: str, pattern: str = ZIP) -> str:
    """Return a valid zip name with its centre in the declared spelling, so that all spellings name one zip.

    >>> own_spelling("h.2012-11-20.03.impc.zip", "H")
    'H.2012-11-20.03.impc.zip'
    """
    match = zip_pattern(pattern).fullmatch(name)
    return f"{name[: match.start('centre')]}{centre}{name[match.end('centre') :]}" if match else name


def differs_by_case(name: str, pattern: str = ZIP) -> bool:
    """Tell whether a bad zip's name would follow the convention if case made no difference.

    >>> differs_by_case("H.2012-11-20.03.IMPC.zip")
    True
    """
    return re.fullmatch(zip_pattern(pattern).pattern, name, re.ASCII | re.IGNORECASE) is not None


def read_xml_name(name: str, centres: Iterable[str], pattern: str = XML) -> XmlName | Reason:
    """Read the name of an XML file, or return why it is refused.

    >>> read_xml_name("Ics.2013-06-19.11.specimen.impc.xml", ["Ics"]).kind.value
    'specimen'
    """
    match = _match(name, xml_pattern(pattern))
    if isinstance(match, Reason):
        return match
    if match["kind"] not in set(DocumentKind):
        return Reason.BAD_NAME
    centre = find_declared(match["centre"], centres)
    if not centre:
        return Reason.UNKNOWN_CENTRE
    return XmlName(centre, _day(match), int(match["inc"]), DocumentKind(match["kind"]))


def find_declared(centre: str, centres: Iterable[str]) -> str:
    """Return the declared spelling of a centre, ignoring case; empty if the centre is not declared."""
    folded = centre.casefold()
    return next((declared for declared in centres if declared.casefold() == folded), "")


def refusal(name: str) -> Reason | None:
    """Return the reason if a name is too long or unsafe; None if it can be used."""
    if len(name) > LONGEST:
        return Reason.NAME_TOO_LONG
    return Reason.UNSAFE_NAME if UNSAFE.search(name) else None


@lru_cache(maxsize=32)
def zip_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for the names of zips; raise ConfigError if it cannot be used."""
    return _compile(pattern, "zip_name", {"centre", "date", "inc"})


@lru_cache(maxsize=32)
def xml_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for the names of XML files; raise ConfigError if it cannot be used."""
    return _compile(pattern, "xml_name", {"centre", "date", "inc", "kind"})


def _compile(pattern: str, option: str, groups: set[str]) -> re.Pattern[str]:
    """Compile a pattern; raise ConfigError if it is malformed or lacks one of these groups."""
    try:
        compiled = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise ConfigError(f"{option}: not a regular expression: {error}") from None
    if missing := groups - set(compiled.groupindex):
        raise ConfigError(f"{option}: the pattern has no group named {', '.join(sorted(missing))}")
    return compiled


def _match(name: str, pattern: re.Pattern[str]) -> re.Match[str] | Reason:
    """Match a whole name that has a centre, a calendar date and an increment; else return why it is refused."""
    if reason := refusal(name):
        return reason
    match = pattern.fullmatch(name)
    if not match or not match["centre"] or not match["date"]:
        return Reason.BAD_NAME
    inc = match["inc"]
    if not inc or not (inc.isascii() and inc.isdigit()) or int(inc) > GREATEST:
        return Reason.BAD_NAME
    try:
        _day(match)
    except ValueError:
        return Reason.BAD_DATE
    return match


def _day(match: re.Match[str]) -> date:
    """Return the date in a name."""
    return date.fromisoformat(match["date"])
