"""In which runs a source was read whole: only these can tell that an event is missing."""

from __future__ import annotations

from typing import NamedTuple

from windrow.collections.events.documents import GoodRun
from windrow.contract import CAPTURED, REQUEST
from windrow.engine.ledger import Ledger
from windrow.model import Recorded
from windrow.reasons import Reason
from windrow.stores.records import RecordStore

PAGE = 256
_GOOD = frozenset({200, 304})

_PARTS = frozenset({Reason.TRUNCATED, Reason.TOO_LARGE})
"""Why a document was read only in part: what is not in that part may be in the rest."""


class SourceRuns(NamedTuple):
    """The good runs of a source, in order."""

    runs: tuple[GoodRun, ...]


def good_runs(collection: str, source: str, ledger: Ledger, records: RecordStore) -> SourceRuns:
    """Return the runs in which every address of a source that was asked brought a document that could be read."""
    found: list[GoodRun] = []
    session: list[Recorded] = []
    last = 0
    upto = records.checkpoint()
    while page := ledger.requests.visits(collection, source, last, (REQUEST, CAPTURED), PAGE):
        last = page[-1].seq
        for one in page:
            if one.seq > upto:
                continue
            if session and session[-1].session != one.session:
                found += _good(session, records)
                session = []
            session.append(one)
    found += _good(session, records)
    return SourceRuns(tuple(found))


def _good(session: list[Recorded], records: RecordStore) -> list[GoodRun]:
    if not session:
        return []
    ends = {one.visit.digest: one for one in session}
    skips = records.skips([one.seq for one in session])
    broken = {one.visit for one in skips if not one.key or one.reason in _PARTS}
    for one in ends.values():
        moved = bool(one.visit.location) and 300 <= (one.visit.status or 0) < 400
        if not moved and (one.visit.status not in _GOOD or one.visit.reason is not None or one.seq in broken):
            return []
    return [GoodRun(session[0].seq, session[-1].seq, session[0].visit.started)]
