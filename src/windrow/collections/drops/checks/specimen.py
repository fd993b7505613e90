"""Checks of mice and embryos."""

from __future__ import annotations

import re

from windrow.collections.drops.checks.case import Case, shown
from windrow.collections.drops.dom import Node, attribute, child, local_name

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
"""What iMITS calls a centre; the standard maps no others."""

UNREADY = {"Rederivation Started", "Phenotype Attempt Aborted"}
"""States of a colony in iMITS from which no specimen can come yet, or any more."""

CONFIRMED = "Genotype confirmed"
"""The state that a parent colony must have."""

_DPC = re.compile(r"E?([0-9]+(?:\.[0-9]*)?)", re.ASCII)
_THEILER = re.compile(r"(?:TS)?([0-9]{1,9})[a-d]?", re.ASCII)


def specimen(case: Case, element: Node) -> None:
    """Check one mouse or embryo."""
    case.project(element.get("project", ""), element)
    status = child(element, "statusCode")
    if status is not None and status.text:
        case.status(status.text, status, f"specimen {shown(element.get('specimenID', ''))}")
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
        case.find("StrainMissing", f"baseline {_name(element)} has no strainID", element)
    elif case.lists.strains is None:
        case.skip("no list strains", "UnknownStrain")
    elif strain not in case.lists.strains:
        case.find("UnknownStrain", f"{_name(element)}: no strain {shown(strain)} in MGI", element)


def mutant(case: Case, element: Node) -> None:
    """Check that a mutant specimen is of a colony that iMITS has, ready, and of the same centre."""
    colony = element.get("colonyID")
    if not colony:
        case.find("ColonyMissing", f"mutant {_name(element)} has no colonyID", element)
        return
    attempts = case.lists.colonies
    if attempts is None:
        case.skip("no list colonies", "UnknownColony", "ColonyNotReady", "WrongProductionCentre")
        return
    attempt = attempts.get(colony)
    if attempt is None:
        case.find("UnknownColony", f"{_name(element)}: no colony {shown(colony)} in iMITS", element)
        return
    injections = case.lists.parent_colonies
    if attempt.status in UNREADY:
        case.find("ColonyNotReady", f"colony {shown(colony)} is at {shown(attempt.status)} in iMITS", element)
    elif injections is None:
        case.skip("no list parent_colonies", "ColonyNotReady (parent colony)")
    elif injections.get(attempt.parent) != CONFIRMED:
        case.find("ColonyNotReady", f"the parent of colony {shown(colony)} is not {CONFIRMED!r} in iMITS", element)
    centre = attribute(element, "productionCentre") or attribute(element, "phenotypingCentre")
    expected = CENTRES.get(centre)
    if expected is None:
        case.skip(f"iMITS has no name for centre {centre}", "WrongProductionCentre")
    elif expected != attempt.centre:
        told = f"colony {shown(colony)} is of {shown(attempt.centre)} in iMITS, here of {centre} ({expected})"
        case.find("WrongProductionCentre", told, element)


def birth(case: Case, element: Node) -> None:
    """Check that a mouse is born."""
    born = element.get("DOB", "").strip()
    if not born:
        case.find("BirthDateMissing", f"{_name(element)} has no DOB", element)
    elif not case.today:
        case.skip("today is not told", "BirthDateInFuture")
    elif born[:10] > case.today:
        case.find("BirthDateInFuture", f"{_name(element)} is born on {shown(born)}", element)


def stage(case: Case, element: Node) -> None:
    """Check that an embryo's stage exists: 0 <= DPC < 20, 1 <= Theiler < 26."""
    text, unit = element.get("stage", ""), element.get("stageUnit", "")
    pattern, low, high = (_DPC, 0, 20) if unit == "DPC" else (_THEILER, 1, 26)
    found = pattern.fullmatch(text)
    if found is None:
        case.find("StageNotRecognised", f"{_name(element)}: {shown(text)} is no {unit} stage", element)
    elif not low <= float(found[1]) < high:
        told = f"{_name(element)}: {unit} stage {shown(text)} is not in {low} to under {high}"
        case.find("StageOutOfRange", told, element)


def _name(element: Node) -> str:
    return f"specimen {shown(element.get('specimenID', ''))}"
