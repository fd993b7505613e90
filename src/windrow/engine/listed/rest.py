"""How long to wait after a failure: seconds between the attempts of a run, hours and days between sessions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import Collection
from windrow.engine.steps.due import Due, due
from windrow.fetch.politeness.pace import MIN_RECORDED_PAUSE_SECONDS
from windrow.formats.url import normalise, parts
from windrow.ledger import Ledger, LedgerWriter
from windrow.model import Finding, Level, Site, Status
from windrow.reasons import Reason

AGAIN = frozenset({
    Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TIMEOUT, Reason.SERVER_ERROR, Reason.RATE_LIMITED,
    Reason.INTERRUPTED, Reason.PROTOCOL_ERROR, Reason.DISK_FULL, Reason.DISK_FAILED, Reason.SIZE_MISMATCH,
    Reason.TLS_FAILED, Reason.LOGIN_FAILED, Reason.NO_SECRET, Reason.HOST_KEY_UNKNOWN, Reason.HOST_KEY_CHANGED,
    Reason.PERMISSION_DENIED, Reason.NOT_FOUND, Reason.NO_TRANSPORT, Reason.STEP_FAILED,
})  # fmt: skip
"""Failures that do not depend on the bytes: later sessions try again by themselves."""

SESSIONS = 5
"""Sessions that try a failed transfer without a pause between them."""

FIRST = timedelta(hours=6)
LONGEST = timedelta(days=30)


class RestingFile(NamedTuple):
    """A file whose transfer failed in `sessions` sessions, and the time until which it is not requested."""

    file: int
    key: str
    sessions: int
    until: datetime
    reason: Reason


def pause(sessions: int) -> timedelta:
    """Return how long a file rests after its last attempt if `sessions` sessions in a row have failed.

    >>> pause(4), pause(5), pause(7), pause(99)
    (datetime.timedelta(0), datetime.timedelta(seconds=21600), datetime.timedelta(days=1), datetime.timedelta(days=30))
    """
    if sessions < SESSIONS:
        return timedelta()
    return min(LONGEST, FIRST * (1 << min(sessions - SESSIONS, 16)))


def describe_rest(key: str, reason: Reason, sessions: int, at: datetime) -> Finding | None:
    """Return the finding for a file that failed at every host: it rests, or waits for a person."""
    if reason not in AGAIN:
        return Finding("GivenUp", f"not requested again automatically; windrow retry {key}", Level.WARN)
    if not (wait := pause(sessions)):
        return None
    message = f"failed in {sessions} sessions; a run after {at + wait:%Y-%m-%d %H:%M} UTC asks again"
    return Finding("RestingFile", f"{message}, at once: windrow retry {key}", Level.WARN)


def divide(ledger: Ledger, failed: Iterable[Due], at: datetime) -> tuple[list[Due], list[RestingFile]]:
    """Split failed files into those that are due at a time, and those that rest."""
    retryable = {due_item.item.id: due_item for due_item in failed if due_item.reason in AGAIN}
    failed_sessions = ledger.attempts.failed_sessions(list(retryable))
    due_files, resting = [], []
    for file, due_item in retryable.items():
        history = failed_sessions.get(file)
        until = history.last + pause(history.number) if history else at
        if history is None or until <= at:
            due_files.append(due_item)
        else:
            assert due_item.reason is not None
            resting.append(RestingFile(file, due_item.item.key, history.number, until, due_item.reason))
    return due_files, resting


def resting(ledger: Ledger, collection: Collection, at: datetime) -> list[RestingFile]:
    """Return all files of a collection that rest at a time."""
    failed = due(ledger, collection, collection.listing.fetch_phase, Status.FAILED)
    return divide(ledger, failed, at)[1]


class OriginPauses:
    """The pauses that origins asked for, in this run or an earlier one, for any collection."""

    def __init__(self, ledger: Ledger) -> None:
        """Load the pauses that have not ended."""
        self._until: dict[str, float] = {**ledger.addresses.rests(int(now().timestamp()))}

    def left(self, site: Site) -> float:
        """Return the seconds until the pause of a site's origin ends."""
        return max(0.0, self._until.get(_origin(site), 0.0) - now().timestamp())

    def note(self, writer: LedgerWriter, site: Site, seconds: float | None) -> None:
        """Record that the origin of a site asked for a pause from now on."""
        if not seconds or seconds < MIN_RECORDED_PAUSE_SECONDS:
            return
        origin = _origin(site)
        until = math.ceil(now().timestamp() + min(seconds, MOST))
        self._until[origin] = max(self._until.get(origin, 0.0), until)
        writer.addresses.record_pause(origin, until)


def _origin(site: Site) -> str:
    """Return the origin of a site in the form of page origins: without the default port of its scheme."""
    url = normalise(f"{site.origin}/").url if site.scheme in {"http", "https"} else ""
    return parts(url).origin if url else site.origin


def describe_pause(site: Site, seconds: float) -> str:
    """Return a message that says why a site is not requested in this run."""
    return f"{site.origin} asked to be left alone for {seconds:.0f} seconds more"


MOST = 366 * 86400.0
"""The longest pause that is recorded, in seconds."""

FIRST_WAIT = 0.5
LONGEST_WAIT = 300.0
"""Seconds between two attempts of one run: before the second one, and at most."""


def worth_waiting(requested: float | None) -> bool:
    """Return whether this run waits as long as a server requested; a longer pause is left to the next run.

    >>> worth_waiting(None), worth_waiting(7.0), worth_waiting(86400.0)
    (True, True, False)
    """
    return requested is None or requested <= LONGEST_WAIT


def wait_before(attempt: int, requested: float | None = None) -> float:
    """Return the seconds to wait before the attempt after `attempt` failed ones.

    It is at least the server's own wish (`requested`, from Retry-After).

    >>> 0.25 <= wait_before(1) <= 0.5, wait_before(1, requested=7.0) >= 7.0
    (True, True)
    """
    backoff: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 no secret
    return max(backoff, requested or 0.0)
