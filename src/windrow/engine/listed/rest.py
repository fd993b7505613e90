"""How long a file or an origin rests after a failure: seconds within a run, hours and days between sessions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import Collection
from windrow.engine.steps import unread
from windrow.engine.steps.due import Due, due
from windrow.fetch.politeness.pace import MIN_RECORDED_PAUSE_SECONDS
from windrow.formats.url import normalise, parts
from windrow.ledger import Ledger, LedgerWriter
from windrow.model import Finding, Level, Site, Status
from windrow.reasons import TRANSIENT_REASONS, Reason

RETRIED_REASONS = TRANSIENT_REASONS | {
    Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TIMEOUT, Reason.SERVER_ERROR, Reason.RATE_LIMITED,
    Reason.INTERRUPTED, Reason.PROTOCOL_ERROR, Reason.SIZE_MISMATCH, Reason.SOFT_404,
    Reason.TLS_FAILED, Reason.LOGIN_FAILED, Reason.NO_SECRET, Reason.HOST_KEY_UNKNOWN, Reason.HOST_KEY_CHANGED,
    Reason.PERMISSION_DENIED, Reason.NOT_FOUND, Reason.NO_TRANSPORT, Reason.STEP_FAILED, Reason.DIGEST_MISMATCH,
}  # fmt: skip
"""Reasons of failures that may pass. Later sessions try again without an operator's retry."""

MAX_SESSIONS_UNPAUSED = 5
"""The number of failed sessions in a row after which a file rests."""

FIRST_PAUSE = timedelta(hours=6)
"""The shortest time for which a file rests; it doubles with each further failed session, up to 30 days."""


class RestingFile(NamedTuple):
    """A file whose transfer failed in `sessions` sessions in a row, and which is not requested until `until`."""

    file: int
    key: str
    sessions: int
    until: datetime
    reason: Reason


def pause_after(sessions: int) -> timedelta:
    """Return how long a file rests after its last attempt if it failed in `sessions` sessions in a row.

    >>> pause_after(4), pause_after(5), pause_after(7), pause_after(99)
    (datetime.timedelta(0), datetime.timedelta(seconds=21600), datetime.timedelta(days=1), datetime.timedelta(days=30))
    """
    return unread.pause_after(sessions - MAX_SESSIONS_UNPAUSED + 2, FIRST_PAUSE)


def describe_rest(key: str, reason: Reason, sessions: int, failed_at: datetime) -> Finding | None:
    """Return the finding for a file that failed at every source, or None if the next run requests it."""
    if reason not in RETRIED_REASONS:
        return Finding("GivenUp", f"runs do not request it again, except after: windrow retry {key}", Level.WARN)
    if not (wait := pause_after(sessions)):
        return None
    message = f"failed in {sessions} sessions; a run after {failed_at + wait:%Y-%m-%d %H:%M} UTC requests it again"
    return Finding("RestingFile", f"{message}; for the next run to request it: windrow retry {key}", Level.WARN)


def split_resting(
    ledger: Ledger, failed_files: Iterable[Due], current_time: datetime
) -> tuple[list[Due], list[RestingFile]]:
    """Return those of the failed files that are due at `current_time`, and those that rest.

    Files that failed for a reason that is not in RETRIED_REASONS are left out. A file that failed at a time to come is
    due: the clock was ahead.
    """
    retryable = {due_item.item.id: due_item for due_item in failed_files if due_item.reason in RETRIED_REASONS}
    failed_sessions = ledger.attempts.failed_sessions(list(retryable))
    due_files, resting = [], []
    for file, due_item in retryable.items():
        failures = failed_sessions.get(file)
        until = failures.last + pause_after(failures.number) if failures else current_time
        if failures is None or not failures.last <= current_time < until:
            due_files.append(due_item)
        else:
            assert due_item.reason is not None
            resting.append(RestingFile(file, due_item.item.key, failures.number, until, due_item.reason))
    return due_files, resting


def resting(ledger: Ledger, collection: Collection, current_time: datetime) -> list[RestingFile]:
    """Return all files of a collection that rest at `current_time`."""
    failed_files = due(ledger, collection, collection.listing.fetch_phase, Status.FAILED)
    return split_resting(ledger, failed_files, current_time)[1]


class OriginPauses:
    """The pauses that servers asked for, in this run or an earlier one. They apply to all collections."""

    def __init__(self, ledger: Ledger) -> None:
        latest = now().timestamp() + MAX_RECORDED_PAUSE  # a later end is that of a clock that was ahead
        rests = ledger.addresses.rests(int(now().timestamp()))
        self._until: dict[str, float] = {origin: until for origin, until in rests.items() if until <= latest}

    def remaining(self, site: Site) -> float:
        """Return the seconds until the pause of a site's origin ends, or 0 if there is none."""
        return max(0.0, self._until.get(_origin(site), 0.0) - now().timestamp())

    def record_pause(self, writer: LedgerWriter, site: Site, seconds: float | None) -> None:
        """Record that a site's server asked for a pause of `seconds`. None, and short pauses, are not recorded."""
        if not seconds or seconds < MIN_RECORDED_PAUSE_SECONDS:
            return
        origin = _origin(site)
        until = math.ceil(now().timestamp() + min(seconds, MAX_RECORDED_PAUSE))
        self._until[origin] = max(self._until.get(origin, 0.0), until)
        writer.addresses.record_pause(origin, until)


def _origin(site: Site) -> str:
    """Return the origin of a site, without the default port of http and https, as in addresses of pages."""
    url = normalise(f"{site.origin}/").url if site.scheme in {"http", "https"} else ""
    return parts(url).origin if url else site.origin


def describe_pause(origin: str, seconds: float) -> str:
    """Return a message about an origin that asked not to be requested for `seconds` more."""
    return f"{origin} asked not to be requested for {seconds:.0f} more seconds"


MAX_RECORDED_PAUSE = 366 * 86400.0
"""The longest pause that is recorded, in seconds."""

FIRST_WAIT = 0.5
"""The longest wait before the second attempt, in seconds, if the server asks for none. It doubles with each failure."""
LONGEST_WAIT = 300.0
"""The longest wait before an attempt in a run, in seconds."""


def worth_waiting(requested: float | None) -> bool:
    """Return whether a run waits for a pause of `requested` seconds at a source (None: the source asked for none).

    If the pause is longer than LONGEST_WAIT, the result is False: the source is left until the next run.

    >>> worth_waiting(None), worth_waiting(7.0), worth_waiting(86400.0)
    (True, True, False)
    """
    return requested is None or requested <= LONGEST_WAIT


def wait_after(failures: int, requested: float | None = None) -> float:
    """Return the seconds to wait before the next attempt after `failures` failed attempts in a row.

    The result is partly random. It is at least `requested`, the seconds that the server stated in Retry-After, if any.

    >>> 0.25 <= wait_after(1) <= 0.5, wait_after(1, requested=7.0) >= 7.0
    (True, True)
    """
    backoff: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 no secret
    return max(backoff, requested or 0.0)
