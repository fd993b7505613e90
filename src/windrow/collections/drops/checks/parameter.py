"""Checks of single parameters. A status, if there is one, must be known, and then ends the check.

A `rule` is None where there is no list of pipelines: then only what needs none is checked.
"""

from __future__ import annotations

from collections.abc import Callable

from windrow.collections.drops.checks.case import Case, castable, shown
from windrow.collections.drops.dom import Node, child, children
from windrow.collections.drops.reference import Parameter

Check = Callable[[Case, Node, Parameter | None, set[str]], None]


def simple(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check a simple parameter, or a metadata: its value is there, of its type, one of its options."""
    if not _status(case, element):
        found = child(element, "value")
        _value(case, element, "" if found is None else found.text or "", rule)


def ontology(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check an ontology parameter: terms are there and of a permitted ontology."""
    if _status(case, element):
        return
    for term in element.iterchildren("{*}term"):
        text = term.text or ""
        if not text:
            case.find("ValueMissing", f"{_name(element)} has an empty term", term)
        elif rule is not None and not text.startswith(rule.ontologies):
            case.find("TermNotPermitted", f"{_name(element)}: {shown(text)} is of no permitted ontology", term)


def series(case: Case, element: Node, rule: Parameter | None, _: set[str]) -> None:
    """Check a series: each increment has a value or a status, and the increments are as defined."""
    if _status(case, element):
        return
    values = children(element, "value")
    if not values:
        case.find("ValueMissing", f"{_name(element)} has no values", element)
        return
    for value in values:
        text, status = value.text or "", value.get("incrementStatus")
        if status:
            if text:
                told = f"{_name(element)} has a value and a status for increment"
                case.find("SeriesValueConflict", f"{told} {shown(value.get('incrementValue', ''))}", value)
            continue
        if not value.get("incrementValue"):
            case.find("IncrementEmpty", f"{_name(element)} has an increment without a name", value)
        _value(case, value, text, rule, element)
    if rule is not None:
        _increments(case, element, values, rule)


def media(case: Case, element: Node, _: Parameter | None, associable: set[str]) -> None:
    """Check a media parameter: what it is associated with is in the procedure."""
    if not _status(case, element):
        _associations(case, element, associable)


def media_series(case: Case, element: Node, rule: Parameter | None, associable: set[str]) -> None:
    """Check a series of media: there are some, their increments and associations are as defined."""
    if _status(case, element):
        return
    values = children(element, "value")
    if not values:
        case.find("ValueMissing", f"{_name(element)} has no values", element)
        return
    _associations(case, element, associable)
    if rule is not None:
        _increments(case, element, values, rule)


def _status(case: Case, element: Node) -> bool:
    """Check the parameter's status; tell whether it has one."""
    found = child(element, "parameterStatus")
    if found is None or not found.text:
        return False
    case.status(found.text, found, _name(element))
    return True


def _value(case: Case, element: Node, text: str, rule: Parameter | None, parameter: Node | None = None) -> None:
    """Check the value that an element holds: the `parameter` itself, or one of a series."""
    owner = element if parameter is None else parameter
    if not text:
        case.find("ValueMissing", f"{_name(owner)} has no value", element)
        return
    if rule is None:
        return
    if not castable(text, rule.value_type):
        case.find("ValueNotCastable", f"{_name(owner)}: {shown(text)} is no {rule.value_type}", element)
    if rule.options and text not in rule.options:
        case.find("OptionNotPermitted", f"{_name(owner)}: {shown(text)} is not one of its options", element)


def _increments(case: Case, element: Node, values: list[Node], rule: Parameter) -> None:
    """Check number, names and type of the increments; the standard reads the type of the first rule."""
    if not rule.increments:
        return
    first, name = rule.increments[0], _name(element)
    if len(rule.increments) == 1 and len(values) < first.minimum:
        told = f"{name} has {len(values)} increments, of at least {first.minimum}"
        case.find("IncrementsTooFew", told, element)
    permitted = {one.text for one in rule.increments if one.text}
    for value in values:
        text = value.get("incrementValue", "")
        if first.text and text not in permitted:
            case.find("IncrementNotPermitted", f"{name}: {shown(text)} is not one of its increments", value)
        kind = {"datetime": "DATETIME", "float": "FLOAT"}.get(first.kind.lower(), "")
        if kind and not castable(text, kind):
            case.find("IncrementNotCastable", f"{name}: increment {shown(text)} is no {kind}", value)
    if first.text:
        for text in sorted(permitted - {value.get("incrementValue", "") for value in values}):
            case.find("IncrementMissing", f"{name} lacks increment {shown(text)}", element)


def _associations(case: Case, element: Node, associable: set[str]) -> None:
    for one in element.iter("{*}parameterAssociation"):
        target = one.get("parameterID", "")
        if target not in associable:
            told = f"{_name(element)} points to {shown(target)}, no simple or ontology parameter of the procedure"
            case.find("AssociationUndefined", told, one)


def _name(element: Node) -> str:
    return f"parameter {shown(element.get('parameterID', ''))}"


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
