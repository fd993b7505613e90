"""The states (phase and status) of zips and XML files in the tracker, derived from the ledger: pure functions.

States are not stored: a zip's state follows from its attempts, the reading of its step and its XML files, that of an
XML file from the readings of its steps; an operator's decision changes either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from windrow.collections.drops.phase import parent_state, phase
from windrow.model import State, Status
from windrow.reasons import Reason

DOWNLOAD, ZIP_NAME, ZIP_MD5, UNZIP, XML_NAME, OVERVIEW = map(
    phase, ("download", "zip_name", "zip_md5", "unzip", "xml_name", "overview")
)


Members = Mapping[int, Mapping[State, int]]
"""The number of XML files in each state, by the attempt that brought them."""


class StateEvent(NamedTuple):
    """An event that changes the state of a zip or an XML file.

    `event` is attempt, end (of an attempt), start (of a step), reading or decision, `seq` its number on the ledger.
    `reason` is why an attempt or a reading failed, or the operator's decision; `checksum` is that of a successful
    attempt, if it was compared with a side-car.
    """

    seq: int
    event: str
    step: str = ""
    reason: Reason | None = None
    checksum: str = ""


class ZipStates(NamedTuple):
    """The state of a zip, and that of each of its attempts, by their numbers on the ledger.

    While the zip waits for another attempt that an operator asked for, the tracker shows the state of the latest
    attempt.
    """

    state: State
    downloads: Mapping[int, State]

    @property
    def shown(self) -> State:
        """The state that the tracker shows."""
        return self.downloads[max(self.downloads)] if self.downloads else self.state


def waiting_xml(step: str | None, status: Status | None, *, started: bool) -> State:
    """Return the state of an XML file that waits for `step` or failed at it; without a step, all are done.

    `started` tells whether the step was started for it. For a file that an operator cancelled, see `xml_state`.

    >>> waiting_xml("upload", Status.PENDING, started=False), waiting_xml(None, None, started=False)
    ((6, <Status.DONE: 3>), (10, <Status.DONE: 3>))
    """
    if step is None:
        return OVERVIEW, Status.DONE
    if status is Status.FAILED:
        return _phase(step), Status.FAILED
    return (phase(step), Status.RUNNING) if started else (phase(step) - 1, Status.DONE)


def xml_state(refusal: Reason | None, events: Iterable[StateEvent]) -> State:
    """Return the state of an XML file; `refused` is the reason if its name was refused.

    >>> xml_state(None, [StateEvent(1, "start", "xsd"), StateEvent(2, "reading", "xsd", Reason.NOT_VALID)])
    (6, <Status.FAILED: 5>)
    """
    state = XML_NAME, Status.FAILED if refusal else Status.DONE
    for event in events:
        state = (state[0], Status.CANCELLED) if event.event == "decision" else _after_step(event)
    return state


def zip_states(
    refused: Reason | None,
    events: Iterable[StateEvent],
    members: Members,
    before: Callable[[int], Members] | None = None,
) -> ZipStates:
    """Return the states of a zip and its attempts; `refused` is the reason if its name was refused.

    `members` counts the XML files of each attempt by their present states, `before` by their states before an event: a
    cancelled zip keeps the state that it had then, even if a replay has read its files since.

    >>> zip_states(None, [StateEvent(1, "attempt"), StateEvent(2, "end")], {}).state
    (2, <Status.DONE: 3>)
    """
    state = (ZIP_NAME, Status.FAILED) if refused else (DOWNLOAD, Status.PENDING)
    downloads: dict[int, State] = {}
    attempt, unzipped = 0, False
    for event in events:
        if event.event == "attempt":
            if downloads.get(attempt) == (DOWNLOAD, Status.RUNNING):
                downloads[attempt] = DOWNLOAD, Status.FAILED  # it was interrupted
            attempt, state, unzipped = event.seq, (DOWNLOAD, Status.RUNNING), False
        elif event.event == "decision" and event.reason is Reason.RETRIED:
            state, unzipped = (DOWNLOAD, Status.PENDING), False
            continue  # its download keeps its state
        elif event.event == "decision":
            if before is not None and (members_then := before(event.seq).get(attempt)) and unzipped:
                state = parent_state(members_then)
            state = state[0], Status.CANCELLED
        elif event.event == "end":
            state = _after_attempt(event)
        else:
            state = _after_step(event)
            unzipped = state == (UNZIP, Status.DONE)
            if unzipped and members.get(attempt):
                state = parent_state(members[attempt])
        if attempt:
            downloads[attempt] = state
    return ZipStates(state, downloads)


def _after_attempt(event: StateEvent) -> State:
    """Return the state of a zip after an attempt; its name was found valid when it was listed."""
    if event.reason is None:
        return ZIP_MD5 if event.checksum else ZIP_NAME, Status.DONE
    return ZIP_MD5 if event.reason is Reason.DIGEST_MISMATCH else DOWNLOAD, Status.FAILED


def _after_step(event: StateEvent) -> State:
    """Return the state after a step was started or has finished."""
    if event.event == "start":
        return phase(event.step), Status.RUNNING
    return _phase(event.step), Status.FAILED if event.reason else Status.DONE


def _phase(step: str) -> int:
    """Return the phase of a step; without a step `xml_name`, for an XML file whose name was refused."""
    return phase(step) if step else XML_NAME
