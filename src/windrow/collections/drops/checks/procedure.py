"""Checks of a procedure as a whole: the parameters it has, lacks, repeats or should not have."""

from __future__ import annotations

from windrow.collections.drops.checks.case import Case, shown
from windrow.collections.drops.checks.parameter import CHECKS
from windrow.collections.drops.dom import Node, local_name
from windrow.collections.drops.reference import Pipeline, Procedure

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
