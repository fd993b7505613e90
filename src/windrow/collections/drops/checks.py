"""Integrity checks of lines, experiments, parameters, mice and embryos.

If no list of pipelines is configured, `rule` is None, and only what does not need that list is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windrow.collections.drops import documents
from windrow.collections.drops.documents import Node, attribute, child, children, local_name
from windrow.collections.drops.reference import Case, Parameter, Pipeline, Procedure, is_castable, quote
from windrow.model import Level

Check = Callable[[Case, Node, Parameter | None, set[str]], None]


def check_simple(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check the value of a simple parameter or metadata: not empty, of its type, one of its options."""
    if not _check_status(case, element):
        value_element = child(element, "value")
        _check_value(case, element, "" if value_element is None else value_element.text or "", rule)


def check_ontology(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check an ontology parameter: its terms are not empty and belong to a permitted ontology."""
    if _check_status(case, element):
        return
    for term in element.iterchildren("{*}term"):
        text = term.text or ""
        if not text:
            case.report("ValueMissing", f"{_title(element)} has an empty term", term)
        elif rule is not None and not text.startswith(rule.ontologies):
            case.report("TermNotPermitted", f"{_title(element)}: {quote(text)} is not in a permitted ontology", term)


def check_series(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check a series: each increment has a value or a status, and the increments are as defined."""
    if _check_status(case, element):
        return
    values = children(element, "value")
    if not values:
        case.report("ValueMissing", f"{_title(element)} has no values", element)
        return
    for value in values:
        text, status = value.text or "", value.get("incrementStatus")
        if status:
            if text:
                message = f"{_title(element)} has a value and a status for increment"
                case.report("SeriesValueConflict", f"{message} {quote(value.get('incrementValue', ''))}", value)
            continue
        if not value.get("incrementValue"):
            case.report("IncrementEmpty", f"{_title(element)} has an increment without a name", value)
        _check_value(case, value, text, rule, element)
    if rule is not None:
        _check_increments(case, element, values, rule)


def check_media(case: Case, element: Node, _: Parameter | None, associable: set[str]) -> None:
    """Check a media parameter: the parameters it is associated with are in the procedure."""
    if not _check_status(case, element):
        _check_associations(case, element, associable)


def check_media_series(case: Case, element: Node, rule: Parameter | None, associable: set[str]) -> None:
    """Check a series of media: not empty, with increments and associations as defined."""
    if _check_status(case, element):
        return
    values = children(element, "value")
    if not values:
        case.report("ValueMissing", f"{_title(element)} has no values", element)
        return
    _check_associations(case, element, associable)
    if rule is not None:
        _check_increments(case, element, values, rule)


def _check_status(case: Case, element: Node) -> bool:
    """Check that a parameter's status code is known; return whether it has one."""
    status = child(element, "parameterStatus")
    if status is None or not status.text:
        return False
    case.check_status(status.text, status, _title(element))
    return True


def _check_value(case: Case, element: Node, text: str, rule: Parameter | None, parameter: Node | None = None) -> None:
    """Check the value that an element holds: the `parameter` itself, or one of a series."""
    owner = element if parameter is None else parameter
    if not text:
        case.report("ValueMissing", f"{_title(owner)} has no value", element)
        return
    if rule is None:
        return
    if not is_castable(text, rule.value_type):
        case.report("ValueNotCastable", f"{_title(owner)}: {quote(text)} is not of type {rule.value_type}", element)
    if rule.options and text not in rule.options:
        case.report("OptionNotPermitted", f"{_title(owner)}: {quote(text)} is not one of its options", element)


def _check_increments(case: Case, element: Node, values: list[Node], rule: Parameter) -> None:
    """Check the number, names and type of the increments; as in the standard, the type is that of the first rule."""
    if not rule.increments:
        return
    first_rule, name = rule.increments[0], _title(element)
    if len(rule.increments) == 1 and len(values) < first_rule.minimum:
        message = f"{name} has {len(values)} increments; at least {first_rule.minimum} are required"
        case.report("IncrementsTooFew", message, element)
    permitted = {increment.text for increment in rule.increments if increment.text}
    for value in values:
        text = value.get("incrementValue", "")
        if first_rule.text and text not in permitted:
            case.report("IncrementNotPermitted", f"{name}: {quote(text)} is not one of its increments", value)
        kind = {"datetime": "DATETIME", "float": "FLOAT"}.get(first_rule.kind.lower(), "")
        if kind and not is_castable(text, kind):
            case.report("IncrementNotCastable", f"{name}: increment {quote(text)} is not of type {kind}", value)
    if first_rule.text:
        for text in sorted(permitted - {value.get("incrementValue", "") for value in values}):
            case.report("IncrementMissing", f"{name} lacks increment {quote(text)}", element)


def _check_associations(case: Case, element: Node, associable: set[str]) -> None:
    for association in element.iter("{*}parameterAssociation"):
        target = association.get("parameterID", "")
        if target not in associable:
            message = (
                f"{_title(element)} points to {quote(target)}, not a simple or ontology parameter of the procedure"
            )
            case.report("AssociationUndefined", message, association)


def _title(element: Node) -> str:
    return f"parameter {quote(element.get('parameterID', ''))}"


CHECKS: dict[str, Check] = {
    "simpleParameter": check_simple,
    "ontologyParameter": check_ontology,
    "seriesParameter": check_series,
    "mediaParameter": check_media,
    "mediaSampleParameter": check_media,
    "seriesMediaParameter": check_media_series,
    "procedureMetadata": check_simple,
}
"""How each type of parameter is checked."""


def check_centre(case: Case, element: Node) -> None:
    """Check one centre of an experiment document; if its pipeline is unknown, nothing else in it is checked."""
    name = element.get("pipeline", "")
    pipeline: Pipeline | None = None
    if case.lists.pipelines is None:
        kinds = ("UnknownPipeline", "ProcedureNotInPipeline", "RequiredParameterMissing", "ParameterNotInProcedure")
        case.skip_checks(
            "the list pipelines is not configured",
            *kinds,
            "WrongParameterType",
            "ValueNotCastable",
            "OptionNotPermitted",
        )
        case.skip_checks(
            "the list pipelines is not configured", "TermNotPermitted", "IncrementsTooFew", "IncrementNotPermitted"
        )
        case.skip_checks("the list pipelines is not configured", "IncrementMissing", "IncrementNotCastable")
    elif name not in case.lists.pipelines:
        message = f"pipeline {quote(name)} is not in IMPReSS; nothing in this centre was checked"
        case.report("UnknownPipeline", message, element, Level.FATAL)
        return
    else:
        pipeline = case.lists.pipelines[name]
    case.check_project(element.get("project", ""), element)
    for record in element:
        if local_name(record) == "line":
            check_line(case, record, pipeline)
        elif local_name(record) == "experiment":
            check_experiment(case, record, pipeline, element.get("centreID", ""))


def check_line(case: Case, element: Node, pipeline: Pipeline | None) -> None:
    """Check the status codes of a line, or its colony and procedure if it has no status codes."""
    colony = element.get("colonyID", "")
    if check_statuses(case, element, f"line {quote(colony)}"):
        return
    if case.lists.colonies is None:
        case.skip_checks("the list colonies is not configured", "UnknownColony")
    elif colony not in case.lists.colonies:
        case.report("UnknownColony", f"line: colony {quote(colony)} is not in iMITS", element)
    _check_procedure_of(case, element, pipeline, f"line {quote(colony)}")


def check_experiment(case: Case, element: Node, pipeline: Pipeline | None, centre_id: str) -> None:
    """Check the date and specimens of an experiment, and its procedure if it has no status codes."""
    name = f"experiment {quote(element.get('experimentID', ''))}"
    if not element.get("dateOfExperiment", "").strip():
        case.report("DateMissing", f"{name} has no dateOfExperiment", element)
    for specimen in element.iterchildren("{*}specimenID"):
        text = specimen.text or ""
        key = documents.specimen(centre_id, text)
        message = f"{name}: specimen {quote(text)} was not submitted by {centre_id}"
        case.add_lookup("specimen", key, "SpecimenNotSubmitted", message, specimen)
    if not check_statuses(case, element, name):
        _check_procedure_of(case, element, pipeline, name)


def check_statuses(case: Case, element: Node, name: str) -> bool:
    """Check the status codes of the record `name`; return whether it has any."""
    codes = children(element, "statusCode")
    for status in codes:
        case.check_status(status.text or "", status, name)
    return bool(codes)


def _check_procedure_of(case: Case, element: Node, pipeline: Pipeline | None, name: str) -> None:
    procedure_element = child(element, "procedure")
    if procedure_element is None:
        case.report("ProcedureMissing", f"{name} has neither status code nor procedure", element)
    else:
        check_procedure(case, procedure_element, pipeline)


ASSOCIABLE = {"simpleParameter", "ontologyParameter"}
"""What a media's association may point to."""


def check_procedure(case: Case, element: Node, pipeline: Pipeline | None) -> None:
    """Check a procedure against its pipeline, or by itself if no list of pipelines is configured."""
    key = element.get("procedureID", "")
    defined: Procedure | None = None
    if pipeline is not None:
        defined = pipeline.get(key)
        if defined is None:
            case.report("ProcedureNotInPipeline", f"procedure {quote(key)} is not part of the pipeline", element)
            return
    parameters = [(local_name(parameter), parameter.get("parameterID", ""), parameter) for parameter in element]
    if defined is not None:
        _find_missing(case, element, defined, {name for _, name, _ in parameters})
    _find_repeated(case, parameters)
    associable = {name for tag, name, _ in parameters if tag in ASSOCIABLE}
    for tag, name, parameter in parameters:
        case.check_identifier("parameterID", name, parameter)
        rule = None
        if defined is not None:
            rule = defined.get(name)
            if rule is None:
                message = f"parameter {quote(name)} is not part of procedure {quote(key)}"
                case.report("ParameterNotInProcedure", message, parameter)
                continue
            if rule.type != tag:
                message = f"parameter {quote(name)} is a {rule.type}, submitted as {tag}"
                case.report("WrongParameterType", message, parameter)
                continue
        CHECKS[tag](case, parameter, rule, associable)


def _find_missing(case: Case, element: Node, defined: Procedure, submitted: set[str]) -> None:
    missing = sorted(name for name, rule in defined.items() if rule.required and name not in submitted)
    if missing:
        listed = ", ".join(missing[:50]) + (f" and {len(missing) - 50} more" if len(missing) > 50 else "")
        case.report("RequiredParameterMissing", f"{quote(element.get('procedureID', ''))} lacks {listed}", element)


def _find_repeated(case: Case, parameters: list[tuple[str, str, Node]]) -> None:
    """Report each pair of parameterID and sequenceID that occurs more than once, at its second occurrence."""
    counts: dict[tuple[str, str | None], list[Node]] = {}
    for _, name, parameter in parameters:
        counts.setdefault((name, parameter.get("sequenceID")), []).append(parameter)
    for (name, sequence), repeats in counts.items():
        if len(repeats) > 1:
            number = "" if sequence is None else f" with sequence {quote(sequence)}"
            case.report("ParameterRepeated", f"parameter {quote(name)}{number} occurs {len(repeats)} times", repeats[1])


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


def check_specimen(case: Case, element: Node) -> None:
    """Check one mouse or embryo."""
    case.check_project(element.get("project", ""), element)
    status = child(element, "statusCode")
    if status is not None and status.text:
        case.check_status(status.text, status, f"specimen {quote(element.get('specimenID', ''))}")
    if element.get("isBaseline", "").strip() in {"true", "1"}:
        check_baseline(case, element)
    else:
        check_mutant(case, element)
    if local_name(element) == "mouse":
        check_birth(case, element)
    else:
        check_stage(case, element)


def check_baseline(case: Case, element: Node) -> None:
    """Check that a baseline specimen is of a known strain."""
    strain = element.get("strainID")
    if not strain:
        case.report("StrainMissing", f"baseline {_specimen(element)} has no strainID", element)
    elif case.lists.strains is None:
        case.skip_checks("the list strains is not configured", "UnknownStrain")
    elif strain not in case.lists.strains:
        case.report("UnknownStrain", f"{_specimen(element)}: strain {quote(strain)} is not in MGI", element)


def check_mutant(case: Case, element: Node) -> None:
    """Check that the colony of a mutant specimen is in iMITS, is ready, and belongs to the same centre."""
    colony = element.get("colonyID")
    if not colony:
        case.report("ColonyMissing", f"mutant {_specimen(element)} has no colonyID", element)
        return
    colonies = case.lists.colonies
    if colonies is None:
        case.skip_checks(
            "the list colonies is not configured", "UnknownColony", "ColonyNotReady", "WrongProductionCentre"
        )
        return
    imits_colony = colonies.get(colony)
    if imits_colony is None:
        case.report("UnknownColony", f"{_specimen(element)}: colony {quote(colony)} is not in iMITS", element)
        return
    parent_colonies = case.lists.parent_colonies
    if imits_colony.status in UNREADY:
        case.report(
            "ColonyNotReady", f"colony {quote(colony)} has the status {quote(imits_colony.status)} in iMITS", element
        )
    elif parent_colonies is None:
        case.skip_checks("the list parent_colonies is not configured", "ColonyNotReady (parent colony)")
    elif parent_colonies.get(imits_colony.parent) != CONFIRMED:
        case.report("ColonyNotReady", f"the parent of colony {quote(colony)} is not {CONFIRMED!r} in iMITS", element)
    centre = attribute(element, "productionCentre") or attribute(element, "phenotypingCentre")
    expected = CENTRES.get(centre)
    if expected is None:
        case.skip_checks(f"iMITS has no name for centre {centre}", "WrongProductionCentre")
    elif expected != imits_colony.centre:
        message = (
            f"colony {quote(colony)} belongs to {quote(imits_colony.centre)} in iMITS, here to {centre} ({expected})"
        )
        case.report("WrongProductionCentre", message, element)


def check_birth(case: Case, element: Node) -> None:
    """Check that a mouse has a date of birth that is not in the future."""
    born = element.get("DOB", "").strip()
    if not born:
        case.report("BirthDateMissing", f"{_specimen(element)} has no DOB", element)
    elif not case.today:
        case.skip_checks("the date of today is not known", "BirthDateInFuture")
    elif born[:10] > case.today:
        case.report("BirthDateInFuture", f"{_specimen(element)} has a DOB in the future: {quote(born)}", element)


def check_stage(case: Case, element: Node) -> None:
    """Check that an embryo's stage exists: 0 <= DPC < 20, 1 <= Theiler < 26."""
    text, unit = element.get("stage", ""), element.get("stageUnit", "")
    pattern, low, high = (_DPC, 0, 20) if unit == "DPC" else (_THEILER, 1, 26)
    match = pattern.fullmatch(text)
    if match is None:
        case.report("StageNotRecognised", f"{_specimen(element)}: {quote(text)} is not a {unit} stage", element)
    elif not low <= float(match[1]) < high:
        message = f"{_specimen(element)}: {unit} stage {quote(text)} is not in {low} to under {high}"
        case.report("StageOutOfRange", message, element)


def _specimen(element: Node) -> str:
    return f"specimen {quote(element.get('specimenID', ''))}"
