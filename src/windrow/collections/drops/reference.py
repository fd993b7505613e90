"""The lists that integrity checks compare with, and the findings about one document.

Each list is a resource under one of these names:

- `status_codes`: lines of `code ~ description ~ explanation`, or a `Statuscodes` document;
- `projects`: names between commas or on lines of their own, with or without `projects =` before them;
- `pipelines`: an `impressPipelineContainer` document: pipelines, their procedures and parameters;
- `strains`: an `mgiStrains` document, or lines of tab-separated MGI id, name and type;
- `colonies`, `parent_colonies`: iMITS' `phenotypeAttempts` and `microinjectionAttempts` documents.

The documents' schemas are the standard's own (`impress`, `statuscodes`, `mgi`, `imits`). A list is
parsed once per digest and process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any, NamedTuple

from windrow.collections.drops.documents import Node, line
from windrow.errors import StepError
from windrow.formats import xml
from windrow.model import Finding, Level, Limits, Resource, StoreLookUp


class Increment(NamedTuple):
    """A rule for increments of a series: the permitted text, or the type of their values, and their least number."""

    minimum: int
    text: str
    kind: str


class Parameter(NamedTuple):
    """A parameter as a pipeline defines it."""

    type: str  # the element it is submitted as: simpleParameter, ...
    value_type: str
    required: bool
    options: frozenset[str]
    ontologies: tuple[str, ...]
    increments: tuple[Increment, ...]


Procedure = Mapping[str, Parameter]
Pipeline = Mapping[str, Procedure]


class Colony(NamedTuple):
    """A colony in iMITS."""

    centre: str
    status: str
    parent: str  # the colony of the micro-injection that it comes from


class Lists(NamedTuple):
    """All lists; None for one that is not configured."""

    status_codes: tuple[str, ...] | None = None
    projects: frozenset[str] | None = None
    pipelines: Mapping[str, Pipeline] | None = None
    strains: frozenset[str] | None = None
    colonies: Mapping[str, Colony] | None = None
    parent_colonies: Mapping[str, str] | None = None


def read_lists(resources: Mapping[str, Resource]) -> Lists:
    """Read the lists among `resources`; raise StepError, with the list's name, for one that cannot be read."""
    return Lists(**{name: _read(name, resources[name]) for name in Lists._fields if name in resources})


_cache: dict[tuple[str, str], Any] = {}
_MOST_CACHED = 32


def _read(name: str, resource: Resource) -> Any:
    key = (name, resource.digest)
    if key not in _cache:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        try:
            _cache[key] = _PARSERS[name](resource.content)
        except (StepError, ValueError, KeyError) as error:
            raise StepError(f"the list {name} cannot be read: {error}") from None
    return _cache[key]


def _parse(content: bytes) -> Node:
    return xml.parse(content, Limits())


def _required(element: Node, name: str) -> str:
    """Return a required attribute; raise KeyError if it is missing."""
    return str(element.attrib[name])


def _is_document(content: bytes) -> bool:
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def _read_status_codes(content: bytes) -> tuple[str, ...]:
    if _is_document(content):
        return tuple(_required(element, "code") for element in _parse(content).iter("{*}statusCode"))
    lines = content.decode("utf-8-sig").splitlines()
    return tuple(code for line in lines if (code := line.partition("~")[0].strip()))


def _read_projects(content: bytes) -> frozenset[str]:
    text = content.decode("utf-8-sig")
    head, equals, tail = text.partition("=")
    listed = tail if equals and head.strip() == "projects" else text
    return frozenset(name for part in listed.replace("\n", ",").split(",") if (name := part.strip()))


def _read_strains(content: bytes) -> frozenset[str]:
    if _is_document(content):
        strains = _parse(content).iter("{*}mgiStrain")
        return frozenset(name for strain in strains for name in (strain.get("MGI_ID"), strain.get("strainID")) if name)
    lines = content.decode("utf-8-sig").splitlines()
    return frozenset(name for line in lines for part in line.split("\t")[:2] if (name := part.strip()))


def _read_pipelines(content: bytes) -> dict[str, Pipeline]:
    return {
        _required(pipeline, "pipeline_key"): {
            _required(procedure, "procedure_key"): {
                _required(parameter, "parameter_key"): _read_parameter(parameter)
                for parameter in procedure.iterchildren("{*}impressParameter")
            }
            for procedure in pipeline.iterchildren("{*}impressProcedure")
        }
        for pipeline in _parse(content).iter("{*}pipeline")
    }


def _read_parameter(element: Node) -> Parameter:
    def inner(name: str) -> list[Node]:
        return list(element.iterchildren(f"{{*}}{name}"))

    return Parameter(
        type=element.get("type", ""),
        value_type=element.get("value_type", ""),
        required=element.get("is_required", "") in {"true", "1"},
        options=frozenset(option.get("name", "") for option in inner("impressParameterOption")),
        ontologies=tuple(option.get("ontology_id", "") for option in inner("impressOntologyParameterOption")),
        increments=tuple(
            Increment(int(increment.get("min") or 0), increment.get("string", ""), increment.get("type", ""))
            for increment in inner("impressParameterIncrement")
        ),
    )


def _read_colonies(content: bytes) -> dict[str, Colony]:
    colonies = {}
    for attempt in _parse(content).iter("{*}phenotypeAttempt"):
        genotype = attempt.find("{*}genotypicInformation")
        parent = "" if genotype is None else genotype.get("microInjectionAttemptColonyName", "")
        colonies[_required(attempt, "phenotypeColonyName")] = Colony(
            attempt.get("productionCentre", ""), attempt.get("phenotypeStatus", ""), parent
        )
    return colonies


def _read_parent_colonies(content: bytes) -> dict[str, str]:
    injections = _parse(content).iter("{*}microinjectionAttempt")
    return {_required(injection, "colonyName"): injection.get("statusName", "") for injection in injections}


_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "status_codes": _read_status_codes,
    "projects": _read_projects,
    "pipelines": _read_pipelines,
    "strains": _read_strains,
    "colonies": _read_colonies,
    "parent_colonies": _read_parent_colonies,
}


_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_DATETIME = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_CLOCK}{_ZONE}")
_DATE = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}){_ZONE}")
_TIME = re.compile(rf"{_CLOCK}{_ZONE}")


def is_castable(text: str, value_type: str) -> bool:
    """Tell whether `text` is a BOOL, DATETIME, DATE, TIME, FLOAT or INT; for other types, any text is allowed.

    Stricter than the standard's own tool, which by mistake reads `12 apples` as 12, and accepts any text as a BOOL.

    >>> [is_castable(text, "FLOAT") for text in ("12.5", "1e3", "12 apples", "1,5", "nan")]
    [True, True, False, False, False]
    """
    read = _READERS.get(value_type.upper())
    try:
        return read is None or read(text.strip())
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    return match is not None and bool(date.fromisoformat(match[1]))


_READERS: dict[str, Callable[[str], bool]] = {
    "BOOL": lambda text: text.lower() in {"true", "false", "1", "0"},
    "FLOAT": lambda text: bool(_FLOAT.fullmatch(text)) and isfinite(float(text)),
    "INT": lambda text: bool(_INT.fullmatch(text)),
    "DATETIME": lambda text: bool(_DATETIME.fullmatch(text)) and datetime.fromisoformat(text) is not None,
    "DATE": _is_date,
    "TIME": lambda text: bool(_TIME.fullmatch(text)) and time.fromisoformat(text) is not None,
}


MOST_FINDINGS = 1_000
"""Most findings kept for one document, not counting fatal ones."""


class Case:
    """Collects the findings about one document, and its look-ups in the store."""

    def __init__(self, lists: Lists, today: str) -> None:
        """Compare with these lists; `today` is an ISO date, or empty if it is not known."""
        self.lists = lists
        self.today = today
        self._findings: list[Finding] = []
        self._lookups: dict[tuple[str, str], StoreLookUp] = {}
        self._dropped = 0
        self._not_run: dict[str, set[str]] = {}

    def report(self, kind: str, message: str, element: Node, level: Level = Level.ERROR) -> None:
        """Add a finding with the line of an element, unless there are `MOST_FINDINGS` already and it is not fatal."""
        if level is Level.FATAL or len(self._findings) < MOST_FINDINGS:
            self._findings.append(Finding(kind, message, level, line(element)))
        else:
            self._dropped += 1

    def add_lookup(self, question: str, key: str, kind: str, message: str, element: Node) -> None:
        """Add a look-up of a key in the store; it becomes a finding if the store does not have the key."""
        finding = Finding(kind, message, Level.ERROR, line(element))
        self._lookups.setdefault((question, key), StoreLookUp(question, key, finding))

    def skip_checks(self, cause: str, *kinds: str) -> None:
        """Record checks that could not be run."""
        self._not_run.setdefault(cause, set()).update(kinds)

    def check_status(self, text: str, element: Node, owner: str) -> None:
        """Add a finding if a status of the record `owner` does not begin with a known code."""
        codes = self.lists.status_codes
        if codes is None:
            self.skip_checks("the list status_codes is not configured", "UnknownStatusCode")
        elif not text.startswith(codes):
            self.report("UnknownStatusCode", f"{owner}: {quote(text)} does not begin with a known status code", element)

    def check_project(self, name: str, element: Node) -> None:
        """Add a finding if a project is not known."""
        if self.lists.projects is None:
            self.skip_checks("the list projects is not configured", "UnknownProject")
        elif name not in self.lists.projects:
            self.report("UnknownProject", f"project {quote(name)} is not known", element, Level.WARN)

    def check_identifier(self, name: str, text: str, element: Node) -> None:
        """Add a finding if an id is empty or has blanks around it."""
        bare = text.strip()
        if not bare:
            self.report("IdentifierMissing", f"{name} is empty", element)
        elif text != bare:
            self.report("BlanksInIdentifier", f"{name} {quote(text)} has blanks around it", element)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of the document, then the number left out and the checks that were not run."""
        notes = []
        if self._dropped:
            notes.append(Finding("MoreFindings", f"{self._dropped} more findings are not listed", Level.NOTE))
        if self._not_run:
            message = "; ".join(
                f"{cause}: {', '.join(sorted(kinds))}" for cause, kinds in sorted(self._not_run.items())
            )
            notes.append(Finding("CheckNotRun", message, Level.NOTE))
        return (*sorted(self._findings, key=lambda finding: finding.line or 0), *notes)

    @property
    def lookups(self) -> tuple[StoreLookUp, ...]:
        """All questions, each once."""
        return tuple(self._lookups.values())


def quote(text: str) -> str:
    """Quote a text of the document for a message, cut where it is long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
