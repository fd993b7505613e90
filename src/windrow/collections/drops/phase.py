"""The phases of the tracker, and the state of a zip derived from the states of its XML files.

A state is a pair (phase id, status). Phase ids count from 1 in the order of `PHASES`. While an attempt is processed,
neither the phase id nor, within a phase, the status decreases (specification, sections 2 and 4.6 as settled).
"""

from __future__ import annotations

from collections.abc import Mapping

from windrow.model import State, Status

PHASE_MEANINGS = {
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
PHASES = tuple(PHASE_MEANINGS)


def phase_id(name: str) -> int:
    """Return the id of a phase.

    >>> phase_id("download"), phase_id("qc")
    (1, 11)
    """
    return PHASES.index(name) + 1


UNZIP = phase_id("unzip")


def parent_state(counts: Mapping[State, int]) -> State:
    """Return the state of a zip whose XML files are in these states; `counts` has the number of files in each state.

    If a file failed, the zip failed at the earliest phase at which a file failed. Otherwise the zip has the least of
    the files' states, so that it is done with a phase when its last file is. A cancelled file counts like the others,
    so that the zip is not done with a phase that this file did not pass. A zip without XML files failed at `unzip`.

    >>> parent_state({(7, Status.DONE): 2, (6, Status.RUNNING): 1})
    (6, <Status.RUNNING: 2>)
    """
    states = [state for state, count in counts.items() if count > 0]
    failed_phases = [phase for phase, status in states if status is Status.FAILED]
    if failed_phases:
        return min(failed_phases), Status.FAILED
    return min(states, default=(UNZIP, Status.FAILED))
