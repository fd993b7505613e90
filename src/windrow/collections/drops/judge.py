"""JUDGE: integrity checks of a loaded document against itself and the lists.

The checks are those of the standard's integrity validator. A question to the store (has this
specimen been submitted?) is returned as a `StoreLookUp`; checks whose list is missing are named in one finding,
`CheckNotRun`. Of the standard's three levels, an unknown pipeline is fatal, an unknown project a
warning, all else an error. Of a document to delete only the identifiers are checked.
"""

from __future__ import annotations

from windrow.collections.drops.checks import check_centre, check_specimen
from windrow.collections.drops.documents import Node, local_name, parse, read_all
from windrow.collections.drops.elements import ROOTS
from windrow.collections.drops.reference import Case, read_lists
from windrow.contract import Task
from windrow.errors import StepError
from windrow.model import Reading
from windrow.reasons import Reason

IDENTIFIERS = {
    "mouse": ("specimenID",),
    "embryo": ("specimenID",),
    "experiment": ("experimentID",),
    "line": ("colonyID",),
}
"""The identifying attributes of a record. For every action they, and the ids of its procedures and specimens, must not
be empty or have blanks around them."""


def judge(task: Task) -> Reading:
    """Check the document of `task`; `count` is the number of its records.

    Options: `today` (an ISO date), after which dates are in the future; `action` (`add`, `edit` or `delete`; by default
    the first part of the item's key).
    """
    root = parse(read_all(task.view), task.limits)
    if root.tag not in ROOTS.values():
        raise StepError(f"the root element is {str(root.tag)[:80]}", Reason.WRONG_ROOT)
    case = Case(read_lists(task.resources), task.options.get("today", ""))
    action = task.options.get("action") or task.item.key.partition("/")[0]
    records = [record for centre_element in root for record in centre_element]
    for record in records:
        _identifiers(case, record)
    if action != "delete":
        if root.tag == ROOTS["specimen"]:
            for record in records:
                check_specimen(case, record)
        else:
            for centre_element in root:
                check_centre(case, centre_element)
    return Reading(findings=case.findings, lookups=case.lookups, count=len(records))


def _identifiers(case: Case, record: Node) -> None:
    for name in IDENTIFIERS.get(local_name(record), ()):
        case.check_identifier(name, record.get(name, ""), record)
    for element in record:
        kind = local_name(element)
        if kind == "procedure":
            case.check_identifier("procedureID", element.get("procedureID", ""), element)
        elif kind == "specimenID":
            case.check_identifier("specimenID", element.text or "", element)
