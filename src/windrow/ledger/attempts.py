"""Record attempts to fetch an address or a listed file, and read them in order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.attempts import TypedAttempts
from windrow.model import Attempt, KeptResponse, RecordedAttempt

_PAGE_SIZE = 256  # the number of attempts that are read at a time


class AttemptQueries(TypedAttempts):
    """Queries on attempts."""

    def logged_between(self, collection: str, after: int, last: int) -> Iterator[RecordedAttempt]:
        """Yield the attempts at a collection's addresses and robots.txt with numbers above `after`, up to `last`."""
        while page := self.logged_after(collection, after, _PAGE_SIZE):
            for logged in page:
                if logged.recorded.seq > last:
                    return
                yield logged.recorded
            after = page[-1].recorded.seq


class AttemptWriter:
    """Writes attempts."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def begin(self, session: int, host: int, file: int, url: str, started: datetime) -> int:
        """Record that an attempt to fetch a listed file has begun. Return the number of the attempt."""
        return self._batch.fact("attempt_begun", session, host, file, url, spell(started), at=started)

    def record_attempt(
        self, session: int, host: int, attempt: Attempt, *, begun: int = 0,
        schedule: tuple[int | None, int, int] | None = None, beside: int | None = None,
    ) -> int:  # fmt: skip
        """Record an attempt as one fact. If `begun` is not 0, record the end of the attempt that has this number.

        Returns the number of the fact. `schedule` is (when the address is due next, its interval in seconds, its
        failures in a row), or None if these do not change. `beside` is the kind of files that are kept beside pages: if
        the address was requested as such a file and has since become a page, it is due at once.
        """
        kept, target = attempt.kept, attempt.target
        outcome_columns = (round(attempt.seconds, 6), attempt.status, attempt.received, attempt.reason, attempt.message)
        response_columns = (*attempt.validators, attempt.location, kept.mime if kept else "", attempt.checksum)
        end_columns = (*outcome_columns, *_kept_columns(kept), *response_columns)
        if begun:
            # The record of a continued transfer has the date at which the interrupted transfer began.
            record_date = spell(kept.at or self._batch.at) if kept else None
            return self._batch.fact("attempt_ended", record_date, *end_columns, begun)
        request_columns = (host, target, "" if target else attempt.url, attempt.kind, int(attempt.allowed))
        attempt_number = self._batch.fact("attempt", session, *request_columns, spell(attempt.started), *end_columns)
        if schedule is not None:
            content_attempt = attempt_number if kept and attempt.status == 200 else None
            self._batch.row("visited", attempt.kind, beside, *schedule, content_attempt, target, host)
        return attempt_number


def _kept_columns(kept: KeptResponse | None) -> tuple[Any, ...]:
    if kept is None:
        return ("", None, "", None, None, 0)
    return (kept.digest, kept.size, *kept.place, int(kept.revisit))
