"""Integrity checks of lines, experiments, parameters, mice and embryos. Faults are added to `findings`.

`rule` is the definition of a parameter in the list of pipelines. If that list is not configured, `rule` is None, and
only checks that do not need it are run. If a parameter has a status, its status is checked, but not its values,
increments and associations. `associable_ids` are the ids of the parameters with which the media parameters of the same
procedure may be associated.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windrow.collections.drops import documents
from windrow.collections.drops.documents import Node, attribute_text, find_child, find_children, local_name
from windrow.collections.drops.reference import Findings, ParameterRule, Pipeline, Procedure, is_of_type, quote
from windrow.model import Level

ParameterCheck = Callable[[Findings, Node, ParameterRule | None, set[str]], None]


def check_simple(findings: Findings, element: Node, rule: ParameterRule | None, _: set[str]) -> None:
    """Check that a simple parameter or metadata has a value of the right type and, if it has options, one of them."""
    if not _check_status(findings, element):
        value_element = find_child(element, "value")
        _check_value(findings, element, "" if value_element is None else value_element.text or "", rule)


def check_ontology(findings: Findings, element: Node, rule: ParameterRule | None, _: set[str]) -> None:
    """Check that an ontology parameter has terms, and that they are not empty and belong to a permitted ontology."""
    if _check_status(findings, element):
        return
    terms = find_children(element, "term")
    if not terms:
        findings.report("ValueMissing", f"{_title(element)} has no terms", element)
    for term in terms:
        text = term.text or ""
        if not text:
            findings.report("ValueMissing", f"{_title(element)} has an empty term", term)
        elif rule is not None and not text.startswith(rule.ontologies):
            message = f"{_title(element)}: {quote(text)} is not in a permitted ontology"
            findings.report("TermNotPermitted", message, term)


def check_series(findings: Findings, element: Node, rule: ParameterRule | None, _: set[str]) -> None:
    """Check that a series has increments as defined, each with either a known status, or a name and a value."""
    values = _find_values(findings, element)
    for value in values:
        text, status = value.text or "", value.get("incrementStatus")
        if status:
            findings.check_status(status, value, _title(element))
            if text:
                message = f"{_title(element)} has a value and a status for increment"
                findings.report("SeriesValueConflict", f"{message} {quote(value.get('incrementValue', ''))}", value)
            continue
        if not value.get("incrementValue"):
            findings.report("IncrementEmpty", f"{_title(element)} has an increment without a name", value)
        _check_value(findings, value, text, rule, element)
    if values and rule is not None:
        _check_increments(findings, element, values, rule)


def check_media(findings: Findings, element: Node, _: ParameterRule | None, associable_ids: set[str]) -> None:
    """Check that a media parameter is associated only with parameters whose ids are in `associable_ids`."""
    if not _check_status(findings, element):
        _check_associations(findings, element, associable_ids)


def check_media_series(findings: Findings, element: Node, rule: ParameterRule | None, associable_ids: set[str]) -> None:
    """Check that a series of media is not empty, and that its increments and associations are as defined."""
    if not (values := _find_values(findings, element)):
        return
    _check_associations(findings, element, associable_ids)
    if rule is not None:
        _check_increments(findings, element, values, rule)


def _find_values(findings: Findings, element: Node) -> list[Node]:
    """Return the values of a series; report one that has neither values nor a status. One with a status has none."""
    if _check_status(findings, element):
        return []
    values = find_children(element, "value")
    if not values:
        findings.report("ValueMissing", f"{_title(element)} has no values", element)
    return values


def _check_status(findings: Findings, element: Node) -> bool:
    """Check that the status of a parameter, if it has one, begins with a known code; return whether it has one."""
    status = find_child(element, "parameterStatus")
    if status is None or not status.text:
        return False
    findings.check_status(status.text, status, _title(element))
    return True


def _check_value(
    findings: Findings, element: Node, text: str, rule: ParameterRule | None, series: Node | None = None
) -> None:
    """Check the text of a parameter's value: `element` is the parameter, or an increment of the parameter `series`."""
    parameter = element if series is None else series
    if not text:
        findings.report("ValueMissing", f"{_title(parameter)} has no value", element)
        return
    if rule is None:
        return
    if not is_of_type(text, rule.value_type):
        message = f"{_title(parameter)}: {quote(text)} is not of type {rule.value_type}"
        findings.report("ValueNotCastable", message, element)
    if rule.options and text not in rule.options:
        message = f"{_title(parameter)}: {quote(text)} is not one of its options"
        findings.report("OptionNotPermitted", message, element)


def _check_increments(findings: Findings, element: Node, values: list[Node], rule: ParameterRule) -> None:
    """Check the names and types of increments and, if `rule` has only one increment, that there are enough of them."""
    if not rule.increments:
        return
    first_rule, title = rule.increments[0], _title(element)
    if len(rule.increments) == 1 and len(values) < first_rule.minimum:
        message = f"{title} has {len(values)} increments; at least {first_rule.minimum} are required"
        findings.report("IncrementsTooFew", message, element)
    permitted_names = {increment.text for increment in rule.increments if increment.text}
    for value in values:
        text = value.get("incrementValue", "")
        if first_rule.text and text not in permitted_names:
            findings.report("IncrementNotPermitted", f"{title}: {quote(text)} is not one of its increments", value)
        value_type = {"datetime": "DATETIME", "float": "FLOAT"}.get(first_rule.kind.lower(), "")
        if value_type and not is_of_type(text, value_type):
            message = f"{title}: increment {quote(text)} is not of type {value_type}"
            findings.report("IncrementNotCastable", message, value)
    if first_rule.text:
        for text in sorted(permitted_names - {value.get("incrementValue", "") for value in values}):
            findings.report("IncrementMissing", f"{title} lacks increment {quote(text)}", element)


def _check_associations(findings: Findings, element: Node, associable_ids: set[str]) -> None:
    for association in element.iter("{*}parameterAssociation"):
        target = association.get("parameterID", "")
        if target not in associable_ids:
            message = f"{_title(element)}: {quote(target)} is not a simple or ontology parameter of the procedure"
            findings.report("AssociationUndefined", message, association)


def _title(element: Node) -> str:
    return f"parameter {quote(element.get('parameterID', ''))}"


PARAMETER_CHECKS: dict[str, ParameterCheck] = {
    "simpleParameter": check_simple,
    "ontologyParameter": check_ontology,
    "seriesParameter": check_series,
    "mediaParameter": check_media,
    "mediaSampleParameter": check_media,
    "seriesMediaParameter": check_media_series,
    "procedureMetadata": check_simple,
}
"""A dict from the name of a parameter's element to the function that checks the parameter."""


PIPELINE_FINDING_KINDS = (
    *("UnknownPipeline", "ProcedureNotInPipeline", "RequiredParameterMissing", "ParameterNotInProcedure"),
    *("WrongParameterType", "ValueNotCastable", "OptionNotPermitted", "TermNotPermitted", "IncrementsTooFew"),
    *("IncrementNotPermitted", "IncrementMissing", "IncrementNotCastable"),
)
"""The kinds of findings that are made only if the list of pipelines is configured."""


def check_centre(findings: Findings, element: Node) -> None:
    """Check the project, lines and experiments of a centre; if its pipeline is unknown, report only that."""
    pipeline_name = element.get("pipeline", "")
    pipeline: Pipeline | None = None
    if findings.lists.pipelines is None:
        findings.skip_checks("the list `pipelines` is not configured", *PIPELINE_FINDING_KINDS)
    elif pipeline_name not in findings.lists.pipelines:
        consequence = "in this centre, only the identifiers of records, specimens and procedures were checked"
        message = f"pipeline {quote(pipeline_name)} is not in IMPReSS; {consequence}"
        findings.report("UnknownPipeline", message, element, Level.FATAL)
        return
    else:
        pipeline = findings.lists.pipelines[pipeline_name]
    findings.check_project(element.get("project", ""), element)
    for record in element:
        if local_name(record) == "line":
            check_line(findings, record, pipeline)
        elif local_name(record) == "experiment":
            check_experiment(findings, record, pipeline, element.get("centreID", ""))


def check_line(findings: Findings, element: Node, pipeline: Pipeline | None) -> None:
    """Check the status codes of a line; if it has no status code, check its colony and procedure."""
    colony = element.get("colonyID", "")
    if _check_status_codes(findings, element, f"line {quote(colony)}"):
        return
    if findings.lists.colonies is None:
        findings.skip_checks("the list `colonies` is not configured", "UnknownColony")
    elif colony not in findings.lists.colonies:
        findings.report("UnknownColony", f"colony {quote(colony)} of this mouse line is not in iMITS", element)
    _check_procedure_of(findings, element, pipeline, f"line {quote(colony)}")


def check_experiment(findings: Findings, element: Node, pipeline: Pipeline | None, centre_id: str) -> None:
    """Check the date, specimens and status codes of an experiment; if it has no status code, check its procedure."""
    title = f"experiment {quote(element.get('experimentID', ''))}"
    if not element.get("dateOfExperiment", "").strip():
        findings.report("DateMissing", f"{title} has no dateOfExperiment", element)
    for specimen in element.iterchildren("{*}specimenID"):
        specimen_id = specimen.text or ""
        key = documents.specimen_identifier(centre_id, specimen_id)
        message = f"{title}: specimen {quote(specimen_id)} was not submitted by {centre_id}"
        findings.add_lookup("specimen", key, "SpecimenNotSubmitted", message, specimen)
    if not _check_status_codes(findings, element, title):
        _check_procedure_of(findings, element, pipeline, title)


def _check_status_codes(findings: Findings, element: Node, record_title: str) -> bool:
    codes = find_children(element, "statusCode")
    for status in codes:
        findings.check_status(status.text or "", status, record_title)
    return bool(codes)


def _check_procedure_of(findings: Findings, element: Node, pipeline: Pipeline | None, record_title: str) -> None:
    procedure_element = find_child(element, "procedure")
    if procedure_element is None:
        findings.report("ProcedureMissing", f"{record_title} has neither status code nor procedure", element)
    else:
        check_procedure(findings, procedure_element, pipeline)


ASSOCIABLE_TYPES = {"simpleParameter", "ontologyParameter"}
"""The types of parameters with which a media parameter may be associated."""


def check_procedure(findings: Findings, element: Node, pipeline: Pipeline | None) -> None:
    """Check a procedure and its parameters; if `pipeline` is given and lacks the procedure, report only that."""
    procedure_id = element.get("procedureID", "")
    procedure: Procedure | None = None
    if pipeline is not None:
        procedure = pipeline.get(procedure_id)
        if procedure is None:
            message = f"procedure {quote(procedure_id)} is not part of the pipeline"
            findings.report("ProcedureNotInPipeline", message, element)
            return
    parameters = [(local_name(parameter), parameter.get("parameterID", ""), parameter) for parameter in element]
    if procedure is not None:
        _report_missing(findings, element, procedure, {parameter_id for _, parameter_id, _ in parameters})
    _report_repeated_parameters(findings, parameters)
    associable_ids = {parameter_id for tag, parameter_id, _ in parameters if tag in ASSOCIABLE_TYPES}
    for tag, parameter_id, parameter in parameters:
        findings.check_identifier("parameterID", parameter_id, parameter)
        rule = None
        if procedure is not None:
            rule = procedure.get(parameter_id)
            if rule is None:
                message = f"parameter {quote(parameter_id)} is not part of procedure {quote(procedure_id)}"
                findings.report("ParameterNotInProcedure", message, parameter)
                continue
            if rule.type != tag:
                message = f"parameter {quote(parameter_id)} must be submitted as {rule.type}, not as {tag}"
                findings.report("WrongParameterType", message, parameter)
                continue
        PARAMETER_CHECKS[tag](findings, parameter, rule, associable_ids)


def _report_missing(findings: Findings, element: Node, procedure: Procedure, submitted_ids: set[str]) -> None:
    missing_ids = sorted(name for name, rule in procedure.items() if rule.required and name not in submitted_ids)
    if missing_ids:
        id_list = ", ".join(missing_ids[:50]) + (f" and {len(missing_ids) - 50} more" if len(missing_ids) > 50 else "")
        message = f"procedure {quote(element.get('procedureID', ''))} lacks the required parameters {id_list}"
        findings.report("RequiredParameterMissing", message, element)


def _report_repeated_parameters(findings: Findings, parameters: list[tuple[str, str, Node]]) -> None:
    occurrences: dict[tuple[str, str | None], list[Node]] = {}
    for _, parameter_id, parameter in parameters:
        occurrences.setdefault((parameter_id, parameter.get("sequenceID")), []).append(parameter)
    for (parameter_id, sequence_id), repeats in occurrences.items():
        if len(repeats) > 1:
            suffix = "" if sequence_id is None else f" with sequence {quote(sequence_id)}"
            message = f"parameter {quote(parameter_id)}{suffix} occurs {len(repeats)} times"
            findings.report("ParameterRepeated", message, repeats[1])


IMITS_CENTRE_NAMES = {
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
"""A dict from the ILAR code of a centre, as the standard uses it, to the centre's name in iMITS."""

UNREADY_STATUSES = {"Rederivation Started", "Phenotype Attempt Aborted"}
"""The statuses in iMITS of colonies that cannot have specimens: breeding has only just begun, or was abandoned."""

CONFIRMED_STATUS = "Genotype confirmed"
"""The status in iMITS that a parent colony must have."""

_DPC_PATTERN = re.compile(r"E?([0-9]+(?:\.[0-9]*)?)", re.ASCII)
_THEILER_PATTERN = re.compile(r"(?:TS)?([0-9]{1,9})[a-d]?", re.ASCII)


def check_specimen(findings: Findings, element: Node) -> None:
    """Check the project, status, strain or colony, and birth date or stage of one mouse or embryo."""
    findings.check_project(element.get("project", ""), element)
    status = find_child(element, "statusCode")
    if status is not None and status.text:
        findings.check_status(status.text, status, _specimen_title(element))
    if element.get("isBaseline", "").strip() in {"true", "1"}:
        check_baseline(findings, element)
    else:
        check_mutant(findings, element)
    if local_name(element) == "mouse":
        check_birth(findings, element)
    else:
        check_stage(findings, element)


def check_baseline(findings: Findings, element: Node) -> None:
    """Check that a baseline specimen (one without a mutation) has a known strain."""
    strain = element.get("strainID")
    if not strain:
        findings.report("StrainMissing", f"baseline {_specimen_title(element)} has no strainID", element)
    elif findings.lists.strains is None:
        findings.skip_checks("the list `strains` is not configured", "UnknownStrain")
    elif strain not in findings.lists.strains:
        findings.report("UnknownStrain", f"{_specimen_title(element)}: strain {quote(strain)} is not in MGI", element)


def check_mutant(findings: Findings, element: Node) -> None:
    """Check that a mutant's colony is in iMITS, is ready, has a confirmed parent and belongs to the mutant's centre."""
    colony = element.get("colonyID")
    if not colony:
        findings.report("ColonyMissing", f"mutant {_specimen_title(element)} has no colonyID", element)
        return
    colonies = findings.lists.colonies
    if colonies is None:
        finding_kinds = ("UnknownColony", "ColonyNotReady", "WrongProductionCentre")
        findings.skip_checks("the list `colonies` is not configured", *finding_kinds)
        return
    imits_colony = colonies.get(colony)
    if imits_colony is None:
        findings.report("UnknownColony", f"{_specimen_title(element)}: colony {quote(colony)} is not in iMITS", element)
        return
    parent_colonies = findings.lists.parent_colonies
    if imits_colony.status in UNREADY_STATUSES:
        message = f"colony {quote(colony)} is not ready: its status in iMITS is {quote(imits_colony.status)}"
        findings.report("ColonyNotReady", message, element)
    elif parent_colonies is None:
        findings.skip_checks("the list `parent_colonies` is not configured", "ColonyNotReady (parent colony)")
    elif parent_colonies.get(imits_colony.parent) != CONFIRMED_STATUS:
        message = f"the parent of colony {quote(colony)} does not have the status {CONFIRMED_STATUS!r} in iMITS"
        findings.report("ColonyNotReady", message, element)
    centre_code = attribute_text(element, "productionCentre") or attribute_text(element, "phenotypingCentre")
    expected_centre = IMITS_CENTRE_NAMES.get(centre_code)
    if expected_centre is None:
        findings.skip_checks(f"the iMITS name of centre {quote(centre_code)} is not known", "WrongProductionCentre")
    elif expected_centre != imits_colony.centre:
        message = f"colony {quote(colony)} belongs to {quote(imits_colony.centre)} in iMITS, not to {expected_centre}"
        findings.report("WrongProductionCentre", message, element)


def check_birth(findings: Findings, element: Node) -> None:
    """Check that a mouse has a date of birth that is not in the future."""
    birth_date = element.get("DOB", "").strip()
    if not birth_date:
        findings.report("BirthDateMissing", f"{_specimen_title(element)} has no DOB", element)
    elif not findings.today:
        findings.skip_checks("today's date is not known", "BirthDateInFuture")
    elif birth_date[:10] > findings.today:
        message = f"{_specimen_title(element)} has a DOB in the future: {quote(birth_date)}"
        findings.report("BirthDateInFuture", message, element)


def check_stage(findings: Findings, element: Node) -> None:
    """Check an embryo's stage: days post coitum (DPC) from 0 to below 20, or a Theiler stage from 1 to below 26."""
    stage, unit = element.get("stage", ""), element.get("stageUnit", "")
    pattern, minimum, limit = (_DPC_PATTERN, 0, 20) if unit == "DPC" else (_THEILER_PATTERN, 1, 26)
    match, title = pattern.fullmatch(stage), _specimen_title(element)
    if match is None:
        findings.report("StageNotRecognised", f"{title}: {quote(stage)} is not a {unit} stage", element)
    elif not minimum <= float(match[1]) < limit:
        message = f"{title}: {unit} stage {quote(stage)} must be at least {minimum} and below {limit}"
        findings.report("StageOutOfRange", message, element)


def _specimen_title(element: Node) -> str:
    return f"specimen {quote(element.get('specimenID', ''))}"
