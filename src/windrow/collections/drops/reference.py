"""The lists that integrity checks compare with, as the workspace names them for the steps.

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

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from windrow.collections.drops.dom import Node
from windrow.errors import StepError
from windrow.formats import xml
from windrow.model import Limits, Resource


class Increment(NamedTuple):
    """What an increment of a series must be: a text, or a value of a kind, at least so many of them."""

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


class Attempt(NamedTuple):
    """A colony as iMITS knows it."""

    centre: str
    status: str
    parent: str  # the colony of the micro-injection that it comes from


class Lists(NamedTuple):
    """All lists; None for one that the workspace does not name."""

    status_codes: tuple[str, ...] | None = None
    projects: frozenset[str] | None = None
    pipelines: Mapping[str, Pipeline] | None = None
    strains: frozenset[str] | None = None
    colonies: Mapping[str, Attempt] | None = None
    parent_colonies: Mapping[str, str] | None = None


def lists(resources: Mapping[str, Resource]) -> Lists:
    """Read the lists among `resources`; one that cannot be read is a StepError that names it."""
    return Lists(**{name: _read(name, resources[name]) for name in Lists._fields if name in resources})


_cache: dict[tuple[str, str], Any] = {}
_KEPT = 32


def _read(name: str, resource: Resource) -> Any:
    key = (name, resource.digest)
    if key not in _cache:
        if len(_cache) >= _KEPT:
            _cache.clear()
        try:
            _cache[key] = _PARSERS[name](resource.content)
        except (StepError, ValueError, KeyError) as error:
            raise StepError(f"the list {name} cannot be read: {error}") from None
    return _cache[key]


def _document(content: bytes) -> Node:
    return xml.parse(content, Limits())


def _key(element: Node, name: str) -> str:
    """Return an attribute that must be there."""
    return str(element.attrib[name])


def _is_document(content: bytes) -> bool:
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def _status_codes(content: bytes) -> tuple[str, ...]:
    if _is_document(content):
        return tuple(_key(found, "code") for found in _document(content).iter("{*}statusCode"))
    lines = content.decode("utf-8-sig").splitlines()
    return tuple(code for line in lines if (code := line.partition("~")[0].strip()))


def _projects(content: bytes) -> frozenset[str]:
    text = content.decode("utf-8-sig")
    head, equals, tail = text.partition("=")
    listed = tail if equals and head.strip() == "projects" else text
    return frozenset(name for part in listed.replace("\n", ",").split(",") if (name := part.strip()))


def _strains(content: bytes) -> frozenset[str]:
    if _is_document(content):
        found = _document(content).iter("{*}mgiStrain")
        return frozenset(name for one in found for name in (one.get("MGI_ID"), one.get("strainID")) if name)
    lines = content.decode("utf-8-sig").splitlines()
    return frozenset(name for line in lines for part in line.split("\t")[:2] if (name := part.strip()))


def _pipelines(content: bytes) -> dict[str, Pipeline]:
    return {
        _key(pipeline, "pipeline_key"): {
            _key(procedure, "procedure_key"): {
                _key(parameter, "parameter_key"): _parameter(parameter)
                for parameter in procedure.iterchildren("{*}impressParameter")
            }
            for procedure in pipeline.iterchildren("{*}impressProcedure")
        }
        for pipeline in _document(content).iter("{*}pipeline")
    }


def _parameter(element: Node) -> Parameter:
    def inner(name: str) -> list[Node]:
        return list(element.iterchildren(f"{{*}}{name}"))

    return Parameter(
        type=element.get("type", ""),
        value_type=element.get("value_type", ""),
        required=element.get("is_required", "") in {"true", "1"},
        options=frozenset(one.get("name", "") for one in inner("impressParameterOption")),
        ontologies=tuple(one.get("ontology_id", "") for one in inner("impressOntologyParameterOption")),
        increments=tuple(
            Increment(int(one.get("min") or 0), one.get("string", ""), one.get("type", ""))
            for one in inner("impressParameterIncrement")
        ),
    )


def _attempts(content: bytes) -> dict[str, Attempt]:
    made = {}
    for one in _document(content).iter("{*}phenotypeAttempt"):
        known = one.find("{*}genotypicInformation")
        parent = "" if known is None else known.get("microInjectionAttemptColonyName", "")
        made[_key(one, "phenotypeColonyName")] = Attempt(
            one.get("productionCentre", ""), one.get("phenotypeStatus", ""), parent
        )
    return made


def _injections(content: bytes) -> dict[str, str]:
    found = _document(content).iter("{*}microinjectionAttempt")
    return {_key(one, "colonyName"): one.get("statusName", "") for one in found}


_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "status_codes": _status_codes,
    "projects": _projects,
    "pipelines": _pipelines,
    "strains": _strains,
    "colonies": _attempts,
    "parent_colonies": _injections,
}
