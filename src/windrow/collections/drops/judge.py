"""The step `data`: check the integrity of a loaded document, by itself and against the reference lists.

The checks are those of the standard's integrity validator. A question to the store (was this specimen submitted?) is
returned as a `StoreLookUp`. If a list that checks need is not configured, the finding `CheckNotRun` names these checks.
The finding for an unknown pipeline is fatal, the finding for an unknown project is a warning, and all other faults are
errors. In a document that deletes records, only the identifiers are checked.
"""

from __future__ import annotations

from windrow.collections.drops.checks import check_centre, check_specimen
from windrow.collections.drops.documents import Node, find_children, local_name, parse_document, read_all
from windrow.collections.drops.elements import ROOT_TAGS
from windrow.collections.drops.reference import Findings, quote, read_lists
from windrow.contract import Task
from windrow.errors import StepError
from windrow.model import Level, Reading
from windrow.reasons import Reason

IDENTIFYING_ATTRIBUTES = {
    "mouse": ("specimenID",),
    "embryo": ("specimenID",),
    "experiment": ("experimentID",),
    "line": ("colonyID",),
}
"""A dict from the name of a record's element to its identifying attributes. Those of a housing are not checked."""

DATE_ATTRIBUTES = {"mouse": "DOB", "experiment": "dateOfExperiment", "housing": "lastUpdated", "statusCode": "date"}
"""A dict from the name of an element to its attribute that is a date."""
_DAY_LENGTH = len("yyyy-MM-dd")


def judge(task: Task) -> Reading:
    """Check the document of `task`; `count` in the returned reading is the number of its records.

    Options of the task: `today` is an ISO date, and dates of birth after it are faults; without `today` this is not
    checked. `action` is `add`, `edit` or `delete`, by default the first part of the item's key. Raises StepError if the
    document or a reference list cannot be parsed, or if the root element is not that of specimens or experiments.
    """
    root = parse_document(read_all(task.view), task.limits)
    if root.tag not in ROOT_TAGS.values():
        message = f"the root element {str(root.tag)[:80]} is not that of specimens or experiments"
        raise StepError(message, Reason.WRONG_ROOT)
    findings = Findings(read_lists(task.resources), task.options.get("today", ""))
    action = task.options.get("action") or task.item.key.partition("/")[0]
    records = [record for centre_element in root for record in centre_element]
    for record in records:
        _check_identifiers(findings, record)
    if action != "delete":
        for record in records:
            _note_zones(findings, record)
        if root.tag == ROOT_TAGS["specimen"]:
            for record in records:
                check_specimen(findings, record)
        else:
            for centre_element in root:
                check_centre(findings, centre_element)
    return Reading(findings=findings.listed, lookups=findings.lookups, count=len(records))


def _check_identifiers(findings: Findings, record: Node) -> None:
    for name in IDENTIFYING_ATTRIBUTES.get(local_name(record), ()):
        findings.check_identifier(name, record.get(name, ""), record)
    for element in record:
        element_name = local_name(element)
        if element_name == "procedure":
            findings.check_identifier("procedureID", element.get("procedureID", ""), element)
        elif element_name == "specimenID":
            findings.check_identifier("specimenID", element.text or "", element)


def _note_zones(findings: Findings, record: Node) -> None:
    """Add a note for each date with a time zone, which has no column: the day is the one at the centre."""
    name = local_name(record)
    identifiers = [quote(record.get(attribute, "")) for attribute in IDENTIFYING_ATTRIBUTES.get(name, ())]
    title = " ".join((name, *identifiers))
    for element in (record, *find_children(record, "statusCode")):
        attribute = DATE_ATTRIBUTES.get(local_name(element))
        day = element.get(attribute, "").strip() if attribute else ""
        if day[_DAY_LENGTH:]:
            message = f"{title}: {attribute} {quote(day)} has a time zone; the day is kept as it is written"
            findings.report("DateWithZone", message, element, Level.NOTE)
