"""Integrity checks of lines, experiments, parameters, mice and embryos.

A `rule` is None without a list of pipelines: then only what does not need that list is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windrow.collections.drops import documents
from windrow.collections.drops.documents import Node, attribute, child, children, local_name
from windrow.collections.drops.reference import Case, Parameter, Pipeline, Procedure, is_castable, quote
from windrow.model import Level

Check = Callable[[Case, Node, Parameter | None, set[str]], None]


def simple(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check the value of a simple parameter or metadata: not empty, of its type, one of its options."""
    if not _status(case, element):
        value_element = child(element, "value")
        _value(case, element, "" if value_element is None else value_element.text or "", rule)


def ontology(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check an ontology parameter: its terms are not empty and belong to a permitted ontology."""
    if _status(case, element):
        return
    for term in element.iterchildren("{*}term"):
        text = term.text or ""
        if not text:
            case.find("ValueMissing", f"{_title(element)} has an empty term", term)
        elif rule is not None and not text.startswith(rule.ontologies):
            case.find("TermNotPermitted", f"{_title(element)}: {quote(text)} is not in a permitted ontology", term)


def series(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check a series: each increment has a value or a status, and the increments are as defined."""
    if _status(case, element):
        return
    values = children(element, "value")
    if not values:
        case.find("ValueMissing", f"{_title(element)} has no values", element)
        return
    for value in values:
        text, status = value.text or "", value.get("incrementStatus")
        if status:
            if text:
                message = f"{_title(element)} has a value and a status for increment"
                case.find("SeriesValueConflict", f"{message} {quote(value.get('incrementValue', ''))}", value)
            continue
        if not value.get("incrementValue"):
            case.find("IncrementEmpty", f"{_title(element)} has an increment without a name", value)
        _value(case, value, text, rule, element)
    if rule is not None:
        _increments(case, element, values, rule)


def media(case: Case, element: Node, _: Parameter | None, associable: set[str]) -> None:
    """Check a media parameter: the parameters it is associated with are in the procedure."""
    if not _status(case, element):
        _associations(case, element, associable)


def media_series(case: Case, element: Node, rule: Parameter | None, associable: set[str]) -> None:
    """Check a series of media: not empty, with increments and associations as defined."""
    if _status(case, element):
        return
    values = children(element, "value")
    if not values:
        case.find("ValueMissing", f"{_title(element)} has no values", element)
        return
    _associations(case, element, associable)
    if rule is not None:
        _increments(case, element, values, rule)


def _status(case: Case, element: Node) -> bool:
    """Check the parameter's status; return whether it has one."""
    status = child(element, "parameterStatus")
    if status is None or not status.text:
        return False
    case.status(status.text, status, _title(element))
    return True


def _value(case: Case, element: Node, text: str, rule: Parameter | None, parameter: Node | None = None) -> None:
    """Check the value that an element holds: the `parameter` itself, or one of a series."""
    owner = element if parameter is None else parameter
    if not text:
        case.find("ValueMissing", f"{_title(owner)} has no value", element)
        return
    if rule is None:
        return
    if not is_castable(text, rule.value_type):
        case.find("ValueNotCastable", f"{_title(owner)}: {quote(text)} is not of type {rule.value_type}", element)
    if rule.options and text not in rule.options:
        case.find("OptionNotPermitted", f"{_title(owner)}: {quote(text)} is not one of its options", element)


def _increments(case: Case, element: Node, values: list[Node], rule: Parameter) -> None:
    """Check number, names and type of the increments; the standard reads the type of the first rule."""
    if not rule.increments:
        return
    first_rule, name = rule.increments[0], _title(element)
    if len(rule.increments) == 1 and len(values) < first_rule.minimum:
        message = f"{name} has {len(values)} increments, of at least {first_rule.minimum}"
        case.find("IncrementsTooFew", message, element)
    permitted = {increment.text for increment in rule.increments if increment.text}
    for value in values:
        text = value.get("incrementValue", "")
        if first_rule.text and text not in permitted:
            case.find("IncrementNotPermitted", f"{name}: {quote(text)} is not one of its increments", value)
        kind = {"datetime": "DATETIME", "float": "FLOAT"}.get(first_rule.kind.lower(), "")
        if kind and not is_castable(text, kind):
            case.find("IncrementNotCastable", f"{name}: increment {quote(text)} is not of type {kind}", value)
    if first_rule.text:
        for text in sorted(permitted - {value.get("incrementValue", "") for value in values}):
            case.find("IncrementMissing", f"{name} lacks increment {quote(text)}", element)


def _associations(case: Case, element: Node, associable: set[str]) -> None:
    for association in element.iter("{*}parameterAssociation"):
        target = association.get("parameterID", "")
        if target not in associable:
            message = (
                f"{_title(element)} points to {quote(target)}, not a simple or ontology parameter of the procedure"
            )
            case.find("AssociationUndefined", message, association)


def _title(element: Node) -> str:
    return f"parameter {quote(element.get('parameterID', ''))}"


CHECKS: dict[str, Check] = {
    "simpleParameter": simple,
    "ontologyParameter": ontology,
    "seriesParameter": series,
    "mediaParameter": media,
    "mediaSampleParameter": media,
    "seriesMediaParameter": media_series,
    "procedureMetadata": simple,
}
"""How each type of parameter is checked."""


def centre(case: Case, element: Node) -> None:
    """Check one centre of an experiment document; one with an unknown pipeline is not checked further."""
    name = element.get("pipeline", "")
    pipeline: Pipeline | None = None
    if case.lists.pipelines is None:
        kinds = ("UnknownPipeline", "ProcedureNotInPipeline", "RequiredParameterMissing", "ParameterNotInProcedure")
        case.skip("no list pipelines", *kinds, "WrongParameterType", "ValueNotCastable", "OptionNotPermitted")
        case.skip("no list pipelines", "TermNotPermitted", "IncrementsTooFew", "IncrementNotPermitted")
        case.skip("no list pipelines", "IncrementMissing", "IncrementNotCastable")
    elif name not in case.lists.pipelines:
        message = f"pipeline {quote(name)} is not in IMPReSS; nothing in this centre was checked"
        case.find("UnknownPipeline", message, element, Level.FATAL)
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
    """Check a line: its status codes or, without any, its colony and procedure."""
    colony = element.get("colonyID", "")
    if statuses(case, element, f"line {quote(colony)}"):
        return
    if case.lists.colonies is None:
        case.skip("no list colonies", "UnknownColony")
    elif colony not in case.lists.colonies:
        case.find("UnknownColony", f"line: colony {quote(colony)} is not in iMITS", element)
    _check_procedure(case, element, pipeline, f"line {quote(colony)}")


def experiment(case: Case, element: Node, pipeline: Pipeline | None, centre_id: str) -> None:
    """Check an experiment: its date, its specimens, and its status codes or procedure."""
    name = f"experiment {quote(element.get('experimentID', ''))}"
    if not element.get("dateOfExperiment", "").strip():
        case.find("DateMissing", f"{name} has no dateOfExperiment", element)
    for specimen in element.iterchildren("{*}specimenID"):
        text = specimen.text or ""
        key = documents.specimen(centre_id, text)
        message = f"{name}: specimen {quote(text)} was not submitted by {centre_id}"
        case.ask("specimen", key, "SpecimenNotSubmitted", message, specimen)
    if not statuses(case, element, name):
        _check_procedure(case, element, pipeline, name)


def statuses(case: Case, element: Node, name: str) -> bool:
    """Check the status codes of a record; return whether it has any."""
    codes = children(element, "statusCode")
    for status in codes:
        case.status(status.text or "", status, name)
    return bool(codes)


def _check_procedure(case: Case, element: Node, pipeline: Pipeline | None, name: str) -> None:
    procedure_element = child(element, "procedure")
    if procedure_element is None:
        case.find("ProcedureMissing", f"{name} has neither status code nor procedure", element)
    else:
        procedure(case, procedure_element, pipeline)


ASSOCIABLE = {"simpleParameter", "ontologyParameter"}
"""What a media's association may point to."""


def procedure(case: Case, element: Node, pipeline: Pipeline | None) -> None:
    """Check a procedure against its pipeline, or by itself where there is no list of pipelines."""
    key = element.get("procedureID", "")
    defined: Procedure | None = None
    if pipeline is not None:
        defined = pipeline.get(key)
        if defined is None:
            case.find("ProcedureNotInPipeline", f"procedure {quote(key)} is not part of the pipeline", element)
            return
    parameters = [(local_name(parameter), parameter.get("parameterID", ""), parameter) for parameter in element]
    if defined is not None:
        _missing(case, element, defined, {name for _, name, _ in parameters})
    _repeated(case, parameters)
    associable = {name for tag, name, _ in parameters if tag in ASSOCIABLE}
    for tag, name, parameter in parameters:
        case.identifier("parameterID", name, parameter)
        rule = None
        if defined is not None:
            rule = defined.get(name)
            if rule is None:
                message = f"parameter {quote(name)} is not part of procedure {quote(key)}"
                case.find("ParameterNotInProcedure", message, parameter)
                continue
            if rule.type != tag:
                message = f"parameter {quote(name)} is a {rule.type}, submitted as {tag}"
                case.find("WrongParameterType", message, parameter)
                continue
        CHECKS[tag](case, parameter, rule, associable)


def _missing(case: Case, element: Node, defined: Procedure, submitted: set[str]) -> None:
    missing = sorted(name for name, rule in defined.items() if rule.required and name not in submitted)
    if missing:
        listed = ", ".join(missing[:50]) + (f" and {len(missing) - 50} more" if len(missing) > 50 else "")
        case.find("RequiredParameterMissing", f"{quote(element.get('procedureID', ''))} lacks {listed}", element)


def _repeated(case: Case, parameters: list[tuple[str, str, Node]]) -> None:
    """Report each (parameterID, sequenceID) that occurs more than once, at its second place."""
    counts: dict[tuple[str, str | None], list[Node]] = {}
    for _, name, parameter in parameters:
        counts.setdefault((name, parameter.get("sequenceID")), []).append(parameter)
    for (name, sequence), repeats in counts.items():
        if len(repeats) > 1:
            number = "" if sequence is None else f" with sequence {quote(sequence)}"
            case.find("ParameterRepeated", f"parameter {quote(name)}{number} occurs {len(repeats)} times", repeats[1])


CENTRES = {
    "Bcm": "BCM",
    "Gmc": "HMGU",
    "H": "Harwell",
    "Ics": "ICS",
    "J": "JAX",
    "Krb": "KMPC",
    "Kmpc": "KMPC",
    "Ning": "MARC",
    "Rbrc": "RIKEN BRC",
    "Tcp": "TCP",
    "Ucd": "UCD",
    "Wtsi": "WTSI",
    "CDTA": "CDTA",
    "Crl": "CRL",
}
"""The name of a centre in iMITS by its ILAR code; the standard has no others."""

UNREADY = {"Rederivation Started", "Phenotype Attempt Aborted"}
"""States of a colony in iMITS that cannot have specimens, yet or any more."""

CONFIRMED = "Genotype confirmed"
"""The state that a parent colony must have."""

_DPC = re.compile(r"E?([0-9]+(?:\.[0-9]*)?)", re.ASCII)
_THEILER = re.compile(r"(?:TS)?([0-9]{1,9})[a-d]?", re.ASCII)


def specimen(case: Case, element: Node) -> None:
    """Check one mouse or embryo."""
    case.project(element.get("project", ""), element)
    status = child(element, "statusCode")
    if status is not None and status.text:
        case.status(status.text, status, f"specimen {quote(element.get('specimenID', ''))}")
    if element.get("isBaseline", "").strip() in {"true", "1"}:
        baseline(case, element)
    else:
        mutant(case, element)
    if local_name(element) == "mouse":
        birth(case, element)
    else:
        stage(case, element)


def baseline(case: Case, element: Node) -> None:
    """Check that a baseline specimen is of a known strain."""
    strain = element.get("strainID")
    if not strain:
        case.find("StrainMissing", f"baseline {_specimen(element)} has no strainID", element)
    elif case.lists.strains is None:
        case.skip("no list strains", "UnknownStrain")
    elif strain not in case.lists.strains:
        case.find("UnknownStrain", f"{_specimen(element)}: strain {quote(strain)} is not in MGI", element)


def mutant(case: Case, element: Node) -> None:
    """Check that the colony of a mutant specimen is in iMITS, is ready, and belongs to the same centre."""
    colony = element.get("colonyID")
    if not colony:
        case.find("ColonyMissing", f"mutant {_specimen(element)} has no colonyID", element)
        return
    attempts = case.lists.colonies
    if attempts is None:
        case.skip("no list colonies", "UnknownColony", "ColonyNotReady", "WrongProductionCentre")
        return
    attempt = attempts.get(colony)
    if attempt is None:
        case.find("UnknownColony", f"{_specimen(element)}: colony {quote(colony)} is not in iMITS", element)
        return
    injections = case.lists.parent_colonies
    if attempt.status in UNREADY:
        case.find("ColonyNotReady", f"colony {quote(colony)} has the status {quote(attempt.status)} in iMITS", element)
    elif injections is None:
        case.skip("no list parent_colonies", "ColonyNotReady (parent colony)")
    elif injections.get(attempt.parent) != CONFIRMED:
        case.find("ColonyNotReady", f"the parent of colony {quote(colony)} is not {CONFIRMED!r} in iMITS", element)
    centre = attribute(element, "productionCentre") or attribute(element, "phenotypingCentre")
    expected = CENTRES.get(centre)
    if expected is None:
        case.skip(f"iMITS has no name for centre {centre}", "WrongProductionCentre")
    elif expected != attempt.centre:
        message = f"colony {quote(colony)} belongs to {quote(attempt.centre)} in iMITS, here to {centre} ({expected})"
        case.find("WrongProductionCentre", message, element)


def birth(case: Case, element: Node) -> None:
    """Check that a mouse has a date of birth, and one that is not in the future."""
    born = element.get("DOB", "").strip()
    if not born:
        case.find("BirthDateMissing", f"{_specimen(element)} has no DOB", element)
    elif not case.today:
        case.skip("no date of today", "BirthDateInFuture")
    elif born[:10] > case.today:
        case.find("BirthDateInFuture", f"{_specimen(element)} has a DOB in the future: {quote(born)}", element)


def stage(case: Case, element: Node) -> None:
    """Check that an embryo's stage exists: 0 <= DPC < 20, 1 <= Theiler < 26."""
    text, unit = element.get("stage", ""), element.get("stageUnit", "")
    pattern, low, high = (_DPC, 0, 20) if unit == "DPC" else (_THEILER, 1, 26)
    match = pattern.fullmatch(text)
    if match is None:
        case.find("StageNotRecognised", f"{_specimen(element)}: {quote(text)} is not a {unit} stage", element)
    elif not low <= float(match[1]) < high:
        message = f"{_specimen(element)}: {unit} stage {quote(text)} is not in {low} to under {high}"
        case.find("StageOutOfRange", message, element)


def _specimen(element: Node) -> str:
    return f"specimen {quote(element.get('specimenID', ''))}"
