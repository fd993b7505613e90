"""The phases of the tracker, and the state that a row takes from its children: pure functions on (phase, status).

Phase ids count from 1 in the order of `PHASES`; ids and statuses rise (specification, sections 2
and 4.6 as settled).
"""

from __future__ import annotations

from collections.abc import Mapping

from windrow.model import State, Status

MEANINGS = {
    "download": "fetch the zip from one of its sources",
    "zip_name": "the zip's name follows the convention",
    "zip_md5": "the zip matches the checksum offered beside it",
    "unzip": "the zip is sound and its members are known",
    "xml_name": "the XML file's name follows the convention",
    "xsd": "the XML file is valid against its schema",
    "upload": "the file's rows are loaded into the database",
    "data": "the rows' integrity is checked against the database",
    "context": "the file's context for the tracker is built",
    "overview": "the overview tables are built from what is new",
    "qc": "ready for quality control; written by others",
}
PHASES = tuple(MEANINGS)


def phase(name: str) -> int:
    """Return the id of a phase.

    >>> phase("download"), phase("qc")
    (1, 11)
    """
    return PHASES.index(name) + 1


UNZIP = phase("unzip")


def parent_state(children: Mapping[State, int]) -> State:
    """Return the state that a parent takes from its children, counted by state.

    If a child failed, it is the earliest phase that failed; otherwise the least state of all, so that a parent is done
    with a phase when its last child is. A cancelled child counts with its state, so that the parent never shows as done
    a phase that the child did not pass. A parent without children contained nothing usable and failed at `unzip`.

    >>> parent_state({(7, Status.DONE): 2, (6, Status.RUNNING): 1})
    (6, <Status.RUNNING: 2>)
    """
    states = [state for state, count in children.items() if count > 0]
    failed = [number for number, status in states if status is Status.FAILED]
    if failed:
        return min(failed), Status.FAILED
    return min(states, default=(UNZIP, Status.FAILED))
