"""The states (phase and status) of zips and XML files in the tracker, derived from the ledger: pure functions.

The ledger does not store states. The state of a zip follows from the attempts to fetch it, the reading of its step and
the states of its XML files. The state of an XML file follows from the starts and the readings of its steps. Both also
depend on a refusal of the name, and on decisions of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from windrow.collections.drops.phase import parent_state, phase_id
from windrow.model import State, Status
from windrow.reasons import Reason

DOWNLOAD, ZIP_NAME, ZIP_MD5, UNZIP, XML_NAME, OVERVIEW = map(
    phase_id, ("download", "zip_name", "zip_md5", "unzip", "xml_name", "overview")
)

XmlCounts = Mapping[int, Mapping[State, int]]
"""A dict from attempt to the number of the attempt's XML files in each state."""


class StateEvent(NamedTuple):
    """An event that changes the state of a zip or an XML file.

    `seq` is its number on the ledger; `event` is `attempt`, `end` (of an attempt), `start` (of a step), `reading` or
    `decision`. `step` is the step of a start or a reading. `reason` says why an attempt or a reading failed, or what
    the operator decided. `checksum` is not empty if the bytes of a successful attempt were compared with a checksum in
    a side-car.
    """

    seq: int
    event: str
    step: str = ""
    reason: Reason | None = None
    checksum: str = ""


class ZipStates(NamedTuple):
    """The state of a zip, and a dict from each attempt to fetch the zip to the attempt's state."""

    state: State
    attempt_states: Mapping[int, State]

    @property
    def shown(self) -> State:
        """The state that the tracker shows: that of the latest attempt, or the zip's own if there are no attempts.

        Ordering a retry does not change it.
        """
        return self.attempt_states[max(self.attempt_states)] if self.attempt_states else self.state


def xml_state_at_step(step: str | None, status: Status | None, *, has_started: bool) -> State:
    """Return the state of an XML file that waits for `step` or failed at it; if `step` is None, all steps are done.

    `status` is the status of the step, and `has_started` says whether the step was started for the file. For a
    cancelled file, `xml_state` is used instead.

    >>> xml_state_at_step("upload", Status.PENDING, has_started=False), xml_state_at_step(None, None, has_started=False)
    ((6, <Status.DONE: 3>), (10, <Status.DONE: 3>))
    """
    if step is None:
        return OVERVIEW, Status.DONE
    if status is Status.FAILED:
        return phase_of_step(step), Status.FAILED
    return (phase_id(step), Status.RUNNING) if has_started else (phase_id(step) - 1, Status.DONE)


def xml_state(refusal: Reason | None, events: Iterable[StateEvent]) -> State:
    """Return the state of an XML file after some events; `refusal` is why its name was refused, or None.

    Any decision ends an XML file: a retry fetches its zip again, with new XML files.

    >>> xml_state(None, [StateEvent(1, "start", "xsd"), StateEvent(2, "reading", "xsd", Reason.NOT_VALID)])
    (6, <Status.FAILED: 5>)
    """
    state = XML_NAME, Status.FAILED if refusal else Status.DONE
    for event in events:
        state = (state[0], Status.CANCELLED) if event.event == "decision" else _state_after_step(event)
    return state


def zip_states(
    refusal: Reason | None,
    events: Iterable[StateEvent],
    xml_counts: XmlCounts,
    xml_counts_before: Callable[[int], XmlCounts] | None = None,
) -> ZipStates:
    """Return the states of a zip and its attempts after some events; `refusal` is why its name was refused, or None.

    `xml_counts` has the numbers of XML files in their present states. `xml_counts_before(seq)` returns the numbers
    before the event `seq`: a cancelled zip keeps the phase that it had then, even if a replay has read its files since.
    Without this function, it keeps the phase that follows from `xml_counts`.

    >>> zip_states(None, [StateEvent(1, "attempt"), StateEvent(2, "end")], {}).state
    (2, <Status.DONE: 3>)
    """
    state = (ZIP_NAME, Status.FAILED) if refusal else (DOWNLOAD, Status.PENDING)
    attempt_states: dict[int, State] = {}
    attempt, is_unzipped = 0, False  # number of the latest attempt; 0: there is none yet
    for event in events:
        if event.event == "attempt":
            if attempt_states.get(attempt) == (DOWNLOAD, Status.RUNNING):
                attempt_states[attempt] = DOWNLOAD, Status.FAILED  # it was interrupted
            attempt, state, is_unzipped = event.seq, (DOWNLOAD, Status.RUNNING), False
        elif event.event == "decision" and event.reason is Reason.RETRIED:
            state, is_unzipped = (DOWNLOAD, Status.PENDING), False
            continue  # the attempt keeps its state
        elif event.event == "decision":
            if (
                xml_counts_before is not None
                and (xml_counts_then := xml_counts_before(event.seq).get(attempt))
                and is_unzipped
            ):
                state = parent_state(xml_counts_then)
            state = state[0], Status.CANCELLED
        elif event.event == "end":
            state = _state_after_attempt(event)
        else:
            state = _state_after_step(event)
            is_unzipped = state == (UNZIP, Status.DONE)
            if is_unzipped and xml_counts.get(attempt):
                state = parent_state(xml_counts[attempt])
        if attempt:
            attempt_states[attempt] = state
    return ZipStates(state, attempt_states)


def _state_after_attempt(event: StateEvent) -> State:
    """Return the state of a zip after an attempt ended; the name of the zip was checked when it was listed."""
    if event.reason is None:
        return ZIP_MD5 if event.checksum else ZIP_NAME, Status.DONE
    return ZIP_MD5 if event.reason is Reason.DIGEST_MISMATCH else DOWNLOAD, Status.FAILED


def _state_after_step(event: StateEvent) -> State:
    if event.event == "start":
        return phase_id(event.step), Status.RUNNING
    return phase_of_step(event.step), Status.FAILED if event.reason else Status.DONE


def phase_of_step(step: str) -> int:
    """Return the phase id of a step. An empty text means the check of an XML file's name, which has no step."""
    return phase_id(step) if step else XML_NAME
