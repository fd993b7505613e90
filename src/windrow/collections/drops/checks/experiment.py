"""Checks of lines and experiments, down to their procedure."""

from __future__ import annotations

from windrow.collections.drops import identity
from windrow.collections.drops.checks.case import Case, shown
from windrow.collections.drops.checks.parameter import CHECKS
from windrow.collections.drops.dom import Node, child, children, local_name
from windrow.collections.drops.reference import Pipeline, Procedure
from windrow.model import Level


def centre(case: Case, element: Node) -> None:
    """Check one centre of an experiment document; one with an unknown pipeline is not looked into."""
    name = element.get("pipeline", "")
    pipeline: Pipeline | None = None
    if case.lists.pipelines is None:
        kinds = ("UnknownPipeline", "ProcedureNotInPipeline", "RequiredParameterMissing", "ParameterNotInProcedure")
        case.skip("no list pipelines", *kinds, "WrongParameterType", "ValueNotCastable", "OptionNotPermitted")
        case.skip("no list pipelines", "TermNotPermitted", "IncrementsTooFew", "IncrementNotPermitted")
        case.skip("no list pipelines", "IncrementMissing", "IncrementNotCastable")
    elif name not in case.lists.pipelines:
        told = f"no pipeline {shown(name)} in IMPReSS; nothing in this centre was checked"
        case.find("UnknownPipeline", told, element, Level.FATAL)
        return
    else:
        pipeline = case.lists.pipelines[name]
    case.project(element.get("project", ""), element)
    for record in element:
        if local_name(record) == "line":
            line(case, record, pipeline)
        elif local_name(record) == "experiment":
            experiment(case, record, pipeline, element.get("centreID", ""))


def line(case: Case, element: Node, pipeline: Pipeline | None) -> None:
    """Check a line: its status codes are known, or else its colony is and it has a procedure."""
    colony = element.get("colonyID", "")
    if statuses(case, element, f"line {shown(colony)}"):
        return
    if case.lists.colonies is None:
        case.skip("no list colonies", "UnknownColony")
    elif colony not in case.lists.colonies:
        case.find("UnknownColony", f"line: no colony {shown(colony)} in iMITS", element)
    _inner(case, element, pipeline, f"line {shown(colony)}")


def experiment(case: Case, element: Node, pipeline: Pipeline | None, centre_id: str) -> None:
    """Check an experiment: its date, that its specimens are known, its status codes or procedure."""
    name = f"experiment {shown(element.get('experimentID', ''))}"
    if not element.get("dateOfExperiment", "").strip():
        case.find("DateMissing", f"{name} has no dateOfExperiment", element)
    for specimen in element.iterchildren("{*}specimenID"):
        text = specimen.text or ""
        key = identity.specimen(centre_id, text)
        told = f"{name}: specimen {shown(text)} was not submitted by {centre_id}"
        case.ask("specimen", key, "SpecimenNotSubmitted", told, specimen)
    if not statuses(case, element, name):
        _inner(case, element, pipeline, name)


def statuses(case: Case, element: Node, name: str) -> bool:
    """Check the status codes of a record; tell whether it has any."""
    found = children(element, "statusCode")
    for status in found:
        case.status(status.text or "", status, name)
    return bool(found)


def _inner(case: Case, element: Node, pipeline: Pipeline | None, name: str) -> None:
    found = child(element, "procedure")
    if found is None:
        case.find("ProcedureMissing", f"{name} has neither status code nor procedure", element)
    else:
        procedure(case, found, pipeline)


ASSOCIABLE = {"simpleParameter", "ontologyParameter"}
"""What a media's association may point to."""


def procedure(case: Case, element: Node, pipeline: Pipeline | None) -> None:
    """Check a procedure against its pipeline, or by itself where there is no list of pipelines."""
    key = element.get("procedureID", "")
    defined: Procedure | None = None
    if pipeline is not None:
        defined = pipeline.get(key)
        if defined is None:
            case.find("ProcedureNotInPipeline", f"procedure {shown(key)} is not part of the pipeline", element)
            return
    parameters = [(local_name(one), one.get("parameterID", ""), one) for one in element]
    if defined is not None:
        _missing(case, element, defined, {name for _, name, _ in parameters})
    _repeated(case, parameters)
    associable = {name for tag, name, _ in parameters if tag in ASSOCIABLE}
    for tag, name, one in parameters:
        case.identifier("parameterID", name, one)
        rule = None
        if defined is not None:
            rule = defined.get(name)
            if rule is None:
                told = f"parameter {shown(name)} is not part of procedure {shown(key)}"
                case.find("ParameterNotInProcedure", told, one)
                continue
            if rule.type != tag:
                told = f"parameter {shown(name)} is a {rule.type}, submitted as {tag}"
                case.find("WrongParameterType", told, one)
                continue
        CHECKS[tag](case, one, rule, associable)


def _missing(case: Case, element: Node, defined: Procedure, there: set[str]) -> None:
    missing = sorted(name for name, rule in defined.items() if rule.required and name not in there)
    if missing:
        told = ", ".join(missing[:50]) + (f" and {len(missing) - 50} more" if len(missing) > 50 else "")
        case.find("RequiredParameterMissing", f"{shown(element.get('procedureID', ''))} lacks {told}", element)


def _repeated(case: Case, parameters: list[tuple[str, str, Node]]) -> None:
    """Find (parameterID, sequenceID) pairs that are there more than once; told once, at the second."""
    counts: dict[tuple[str, str | None], list[Node]] = {}
    for _, name, one in parameters:
        counts.setdefault((name, one.get("sequenceID")), []).append(one)
    for (name, sequence), found in counts.items():
        if len(found) > 1:
            number = "" if sequence is None else f" with sequence {shown(sequence)}"
            case.find("ParameterRepeated", f"parameter {shown(name)}{number} is there {len(found)} times", found[1])
