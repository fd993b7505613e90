"""The findings and questions of one document, and whether a text is a value of an IMPReSS type."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from math import isfinite

from windrow.collections.drops.dom import Node, line
from windrow.collections.drops.reference import Lists
from windrow.model import Finding, Level, StoreLookUp

_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_DATETIME = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_CLOCK}{_ZONE}")
_DATE = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}){_ZONE}")
_TIME = re.compile(rf"{_CLOCK}{_ZONE}")


def castable(text: str, value_type: str) -> bool:
    """Tell whether `text` is a BOOL, DATETIME, DATE, TIME, FLOAT or INT; anything is another type.

    Stricter than the standard's own tool, whose number reader took `12 apples` for 12, and any text
    for a BOOL: that was not meant.

    >>> [castable(text, "FLOAT") for text in ("12.5", "1e3", "12 apples", "1,5", "nan")]
    [True, True, False, False, False]
    """
    read = _READERS.get(value_type.upper())
    try:
        return read is None or read(text.strip())
    except ValueError:
        return False


def _date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    return found is not None and bool(date.fromisoformat(found[1]))


_READERS: dict[str, Callable[[str], bool]] = {
    "BOOL": lambda text: text.lower() in {"true", "false", "1", "0"},
    "FLOAT": lambda text: bool(_FLOAT.fullmatch(text)) and isfinite(float(text)),
    "INT": lambda text: bool(_INT.fullmatch(text)),
    "DATETIME": lambda text: bool(_DATETIME.fullmatch(text)) and datetime.fromisoformat(text) is not None,
    "DATE": _date,
    "TIME": lambda text: bool(_TIME.fullmatch(text)) and time.fromisoformat(text) is not None,
}


MOST = 1_000
"""Findings of one document that are kept, fatal ones aside."""


class Case:
    """Collects the findings and asks of one document."""

    def __init__(self, lists: Lists, today: str) -> None:
        """Compare with these lists; `today` is an ISO date, or empty where it is not told."""
        self.lists = lists
        self.today = today
        self._findings: list[Finding] = []
        self._lookups: dict[tuple[str, str], StoreLookUp] = {}
        self._left_out = 0
        self._not_run: dict[str, set[str]] = {}

    def find(self, kind: str, message: str, element: Node, level: Level = Level.ERROR) -> None:
        """Add a finding at an element."""
        if level is Level.FATAL or len(self._findings) < MOST:
            self._findings.append(Finding(kind, message, level, line(element)))
        else:
            self._left_out += 1

    def ask(self, question: str, key: str, kind: str, message: str, element: Node) -> None:
        """Leave a question to the store; only if it does not know the key, it is a finding."""
        finding = Finding(kind, message, Level.ERROR, line(element))
        self._lookups.setdefault((question, key), StoreLookUp(question, key, finding))

    def skip(self, why: str, *kinds: str) -> None:
        """Remember checks that could not be run."""
        self._not_run.setdefault(why, set()).update(kinds)

    def status(self, text: str, element: Node, whose: str) -> None:
        """Check that a status begins with a known code."""
        codes = self.lists.status_codes
        if codes is None:
            self.skip("no list status_codes", "UnknownStatusCode")
        elif not text.startswith(codes):
            self.find("UnknownStatusCode", f"{whose}: {shown(text)} begins with no known status code", element)

    def project(self, name: str, element: Node) -> None:
        """Check that a project is known."""
        if self.lists.projects is None:
            self.skip("no list projects", "UnknownProject")
        elif name not in self.lists.projects:
            self.find("UnknownProject", f"no project {shown(name)} is known", element, Level.WARN)

    def identifier(self, name: str, text: str, element: Node) -> None:
        """Check that an id is there, and without blanks around it."""
        bare = text.strip()
        if not bare:
            self.find("IdentifierMissing", f"{name} is empty", element)
        elif text != bare:
            self.find("BlanksInIdentifier", f"{name} {shown(text)} has blanks around it", element)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of the document, then what was left out and what was not run."""
        more = []
        if self._left_out:
            more.append(Finding("MoreFindings", f"{self._left_out} more are not listed", Level.NOTE))
        if self._not_run:
            told = "; ".join(f"{why}: {', '.join(sorted(kinds))}" for why, kinds in sorted(self._not_run.items()))
            more.append(Finding("CheckNotRun", told, Level.NOTE))
        return (*sorted(self._findings, key=lambda finding: finding.line or 0), *more)

    @property
    def lookups(self) -> tuple[StoreLookUp, ...]:
        """All questions, each once."""
        return tuple(self._lookups.values())


def shown(text: str) -> str:
    """Quote a text of the document for a message, cut where it is long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
