"""The reference lists that integrity checks compare documents with, and the findings about one document.

Each list is a resource under one of these names:

- `status_codes`: lines of `code ~ description ~ explanation`, or a `Statuscodes` document;
- `projects`: names separated by commas or line breaks, perhaps after `projects =`;
- `pipelines`: an `impressPipelineContainer` document: pipelines, their procedures and parameters;
- `strains`: an `mgiStrains` document, or lines of tab-separated MGI id, name and type;
- `colonies`, `parent_colonies`: iMITS' `phenotypeAttempts` and `microinjectionAttempts` documents.

The schemas of these documents are the standard's own (`impress`, `statuscodes`, `mgi`, `imits`). Each process keeps
the lists that it has parsed, up to `_MAX_CACHED_LISTS`, by name and digest.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any, NamedTuple

from windrow.caps import STORED_FINDINGS
from windrow.collections.drops.documents import Node, line_number
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.text import counted
from windrow.model import Finding, Level, Limits, Resource, StoreLookUp


class IncrementRule(NamedTuple):
    """A rule for the increments of a series of values."""

    minimum: int  # the least number of increments
    text: str  # the name of one permitted increment; if that of the first rule is empty, all are permitted
    kind: str  # the type of all names: `float`, `datetime` or another


class ParameterRule(NamedTuple):
    """How a procedure of a pipeline defines a parameter."""

    type: str  # the name that its element must have: simpleParameter, ...
    value_type: str
    required: bool
    options: frozenset[str]
    ontologies: tuple[str, ...]
    increments: tuple[IncrementRule, ...]


Procedure = Mapping[str, ParameterRule]
Pipeline = Mapping[str, Procedure]


class Colony(NamedTuple):
    """A colony as iMITS describes it. `centre` is the name that iMITS uses for the centre that produced the colony."""

    centre: str
    status: str
    parent: str  # the colony of the micro-injection from which it descends


class ReferenceLists(NamedTuple):
    """The reference lists; a list that is not configured is None."""

    status_codes: tuple[str, ...] | None = None
    projects: frozenset[str] | None = None
    pipelines: Mapping[str, Pipeline] | None = None  # by key
    strains: frozenset[str] | None = None  # names and MGI ids
    colonies: Mapping[str, Colony] | None = None  # by name
    parent_colonies: Mapping[str, str] | None = None  # status by name


def read_lists(resources: Mapping[str, Resource]) -> ReferenceLists:
    """Read the reference lists among `resources`; raise StepError with the name of a list that is not valid."""
    return ReferenceLists(
        **{name: _read_list(name, resources[name]) for name in ReferenceLists._fields if name in resources}
    )


_parsed_lists: dict[tuple[str, str], Any] = {}
_MAX_CACHED_LISTS = 32


def _read_list(name: str, resource: Resource) -> Any:
    key = (name, resource.digest)
    if key not in _parsed_lists:
        if len(_parsed_lists) >= _MAX_CACHED_LISTS:
            _parsed_lists.clear()
        try:
            _parsed_lists[key] = _LIST_PARSERS[name](resource.content)
        except (StepError, ValueError) as error:
            raise StepError(f"the list `{name}` is not valid: {error}") from None
    return _parsed_lists[key]


def _parse_xml(content: bytes) -> Node:
    return xml.parse(content, Limits())


def _required_attribute(element: Node, name: str) -> str:
    if name not in element.attrib:
        raise StepError(f"the element {element.tag} lacks the attribute {name}")
    return str(element.attrib[name])


def _is_xml(content: bytes) -> bool:
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def _read_lines(content: bytes) -> list[str]:
    """Return the lines of a text, without their ends; str.splitlines would also split at U+0085 and others."""
    return [line.decode() for line in content.removeprefix(codecs.BOM_UTF8).splitlines()]


def _read_status_codes(content: bytes) -> tuple[str, ...]:
    if _is_xml(content):
        elements = _parse_xml(content).iter("{*}statusCode")
        return tuple(code for element in elements if (code := _required_attribute(element, "code").strip()))
    return tuple(code for line in _read_lines(content) if (code := line.partition("~")[0].strip()))


def _read_projects(content: bytes) -> frozenset[str]:
    text = content.decode("utf-8-sig")
    before_equals, equals, after_equals = text.partition("=")
    names_text = after_equals if equals and before_equals.strip() == "projects" else text
    return frozenset(name for part in names_text.replace("\n", ",").split(",") if (name := part.strip()))


def _read_strains(content: bytes) -> frozenset[str]:
    if _is_xml(content):
        strains = _parse_xml(content).iter("{*}mgiStrain")
        return frozenset(name for strain in strains for name in (strain.get("MGI_ID"), strain.get("strainID")) if name)
    return frozenset(name for line in _read_lines(content) for part in line.split("\t")[:2] if (name := part.strip()))


def _read_pipelines(content: bytes) -> dict[str, Pipeline]:
    return {
        _required_attribute(pipeline, "pipeline_key"): {
            _required_attribute(procedure, "procedure_key"): {
                _required_attribute(parameter, "parameter_key"): _read_parameter(parameter)
                for parameter in procedure.iterchildren("{*}impressParameter")
            }
            for procedure in pipeline.iterchildren("{*}impressProcedure")
        }
        for pipeline in _parse_xml(content).iter("{*}pipeline")
    }


def _read_parameter(element: Node) -> ParameterRule:
    def children(name: str) -> list[Node]:
        return list(element.iterchildren(f"{{*}}{name}"))

    return ParameterRule(
        type=element.get("type", ""),
        value_type=element.get("value_type", ""),
        required=element.get("is_required", "") in {"true", "1"},
        options=frozenset(option.get("name", "") for option in children("impressParameterOption")),
        ontologies=tuple(option.get("ontology_id", "") for option in children("impressOntologyParameterOption")),
        increments=tuple(
            IncrementRule(int(increment.get("min") or 0), increment.get("string", ""), increment.get("type", ""))
            for increment in children("impressParameterIncrement")
        ),
    )


def _read_colonies(content: bytes) -> dict[str, Colony]:
    colonies = {}
    for attempt in _parse_xml(content).iter("{*}phenotypeAttempt"):
        genotype = attempt.find("{*}genotypicInformation")
        parent = "" if genotype is None else genotype.get("microInjectionAttemptColonyName", "")
        colonies[_required_attribute(attempt, "phenotypeColonyName")] = Colony(
            attempt.get("productionCentre", ""), attempt.get("phenotypeStatus", ""), parent
        )
    return colonies


def _read_parent_colonies(content: bytes) -> dict[str, str]:
    injections = _parse_xml(content).iter("{*}microinjectionAttempt")
    return {_required_attribute(injection, "colonyName"): injection.get("statusName", "") for injection in injections}


_LIST_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "status_codes": _read_status_codes,
    "projects": _read_projects,
    "pipelines": _read_pipelines,
    "strains": _read_strains,
    "colonies": _read_colonies,
    "parent_colonies": _read_parent_colonies,
}


_FLOAT_PATTERN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT_PATTERN = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_ZONE_PATTERN = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_CLOCK_PATTERN = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_DATETIME_PATTERN = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_CLOCK_PATTERN}{_ZONE_PATTERN}")
_DATE_PATTERN = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}){_ZONE_PATTERN}")
_TIME_PATTERN = re.compile(rf"{_CLOCK_PATTERN}{_ZONE_PATTERN}")


def is_of_type(text: str, value_type: str) -> bool:
    """Return whether `text` is of a type: BOOL, DATETIME, DATE, TIME, FLOAT or INT. For other types, return True.

    This is stricter than the standard's own tool, which by mistake reads `12 apples` as 12 and accepts any BOOL.

    >>> [is_of_type(text, "FLOAT") for text in ("12.5", "1e3", "12 apples", "1,5", "nan")]
    [True, True, False, False, False]
    """
    is_valid = _TYPE_CHECKS.get(value_type.upper())
    try:
        return is_valid is None or is_valid(text.strip())
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    match = _DATE_PATTERN.fullmatch(text)
    return match is not None and bool(date.fromisoformat(match[1]))


_TYPE_CHECKS: dict[str, Callable[[str], bool]] = {
    "BOOL": lambda text: text.lower() in {"true", "false", "1", "0"},
    "FLOAT": lambda text: bool(_FLOAT_PATTERN.fullmatch(text)) and isfinite(float(text)),
    "INT": lambda text: bool(_INT_PATTERN.fullmatch(text)),
    "DATETIME": lambda text: bool(_DATETIME_PATTERN.fullmatch(text)) and datetime.fromisoformat(text) is not None,
    "DATE": _is_date,
    "TIME": lambda text: bool(_TIME_PATTERN.fullmatch(text)) and time.fromisoformat(text) is not None,
}


MAX_FINDINGS = STORED_FINDINGS.number
"""The number of findings about one document after which only fatal ones are kept; the others are only counted."""


class Findings:
    """Collects the findings about one document, and the look-ups in the store that may become findings."""

    def __init__(self, lists: ReferenceLists, today: str) -> None:
        """Take the lists to compare with; `today` is an ISO date, or empty if it is not known."""
        self.lists = lists
        self.today = today
        self._findings: list[Finding] = []
        self._lookups: dict[tuple[str, str], StoreLookUp] = {}
        self._omitted_count = 0
        self._skipped_checks: dict[str, set[str]] = {}

    def report(self, finding_kind: str, message: str, element: Node, level: Level = Level.ERROR) -> None:
        """Add a finding with the line number of an element. After `MAX_FINDINGS` findings, only fatal ones are kept."""
        if level is Level.FATAL or len(self._findings) < MAX_FINDINGS:
            self._findings.append(Finding(finding_kind, message, level, line_number(element)))
        else:
            self._omitted_count += 1

    def add_lookup(self, question: str, key: str, finding_kind: str, message: str, element: Node) -> None:
        """Add a look-up, once for each question and key; a finding is added if the store does not have the key."""
        finding = Finding(finding_kind, message, Level.ERROR, line_number(element))
        self._lookups.setdefault((question, key), StoreLookUp(question, key, finding))

    def skip_checks(self, cause: str, *finding_kinds: str) -> None:
        """Record that the checks for these kinds of findings could not be run, and why."""
        self._skipped_checks.setdefault(cause, set()).update(finding_kinds)

    def check_status(self, text: str, element: Node, title: str) -> None:
        """Add a finding if a status does not begin with a known code. Without a list of codes, the check is skipped."""
        known_codes = self.lists.status_codes
        if known_codes is None:
            self.skip_checks("the list `status_codes` is not configured", "UnknownStatusCode")
        elif not text.startswith(known_codes):
            self.report("UnknownStatusCode", f"{title}: {quote(text)} does not begin with a known status code", element)

    def check_project(self, name: str, element: Node) -> None:
        """Add a finding if a project is not in the list of projects. Without a list, the check is skipped."""
        if self.lists.projects is None:
            self.skip_checks("the list `projects` is not configured", "UnknownProject")
        elif name not in self.lists.projects:
            self.report("UnknownProject", f"project {quote(name)} is not in the list of projects", element, Level.WARN)

    def check_identifier(self, name: str, text: str, element: Node) -> None:
        """Add a finding if `text`, the id in an attribute or child called `name`, is empty or has blanks around it."""
        stripped = text.strip()
        if not stripped:
            self.report("IdentifierMissing", f"{name} is missing or empty", element)
        elif text != stripped:
            self.report("BlanksInIdentifier", f"{name} {quote(text)} has blanks around it", element)

    @property
    def listed(self) -> tuple[Finding, ...]:
        """The findings in the order of the document, then notes about findings left out and about checks not run."""
        notes = []
        if self._omitted_count:
            omitted = counted(self._omitted_count, "more finding")
            notes.append(Finding("MoreFindings", f"not listed: {omitted}", Level.NOTE))
        if self._skipped_checks:
            message = "; ".join(
                f"{cause}: {', '.join(sorted(kinds))}" for cause, kinds in sorted(self._skipped_checks.items())
            )
            notes.append(Finding("CheckNotRun", message, Level.NOTE))
        return (*sorted(self._findings, key=lambda finding: finding.line or 0), *notes)

    @property
    def lookups(self) -> tuple[StoreLookUp, ...]:
        """The look-ups; each pair of question and key occurs once."""
        return tuple(self._lookups.values())


def quote(text: str) -> str:
    """Return a text from the document in quotes, for a message; a text of more than 80 characters is cut."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
