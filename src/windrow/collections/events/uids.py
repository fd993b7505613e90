"""Choose the uids of a document's events: an event keeps its uid, whatever else its source lists.

Many sources give all dates of a series one id, and some give one id to all events. So it is decided once which of these
events has the plain uid, `SOURCE/ID`, and remembered for the source.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from windrow.caps import EVENT_IDS
from windrow.collections.events.parser import RawEvent
from windrow.collections.events.times import format_utc, parse_utc
from windrow.digest import digest
from windrow.formats.text import replace_lone_surrogates

MAX_UID_CHARACTERS = 480
"""The maximum number of characters of a uid; a longer uid is cut, and a part of its hash is appended."""

_REMEMBERED_TIME = timedelta(days=400)
"""If an id was only listed with one start, it is forgotten this long after that start, unless it is still listed.

It is more than a year, since some lists give the next date of a yearly event the id of the last one.
"""


class EventUids:
    """The uids of the events in one document of the source `prefix`.

    `known` is what `remember` returned for the source's latest document. It is a dict from identity, which is an id or,
    for events without a usable id, a hash. A value is START/END of the event with this identity or, if several starts
    were listed with it, a list of the start of the event that has the plain uid. An empty list is that of an id that
    identifies nothing. `offered` are the uids that the discovery chose for the document. With them, the reading step
    chooses the same uids, although it does not know what was known then.
    """

    def __init__(self, prefix: str, known: Mapping[str, Any], offered: Collection[str] = ()) -> None:
        self._prefix = prefix
        self._known = known
        self._offered = frozenset(offered)
        self._listed: dict[str, str | list[str]] = {}  # as in `known`, for the identities of the document

    def plain_uid(self, identity: str) -> str:
        """Return SOURCE/IDENTITY, the uid of the only or the first event with this identity."""
        return shorten_uid(f"{self._prefix}/{identity}")

    def is_shared(self, identity: str) -> bool:
        """Return whether several starts were listed with an identity before."""
        return isinstance(self._known.get(identity), list)

    def find_series(self, series: str) -> list[str]:
        """Return the plain uids of the events that were listed with an id, or with it and the start of a repetition."""
        return [self.plain_uid(known) for known in self._known if known == series or known.startswith(f"{series} ")]

    def find_usable_ids(
        self, ids: Sequence[str], events: Sequence[RawEvent], hash_event: Callable[[RawEvent], str]
    ) -> set[str]:
        """Return those of the `ids` of a document's parts that identify events.

        If there are more than two parts, an id is left out if at least half of the parts, and at least two, have it. If
        an id is known or offered, what was decided then holds.
        """
        counts = Counter(id_ for id_ in ids if id_)
        too_many = max(2, (len(ids) + 1) // 2)
        usable_ids = {id_ for id_, count in counts.items() if count == 1 or count < too_many or len(ids) <= 2}
        for id_ in counts.keys() & self._known.keys():
            (usable_ids.add if self._known[id_] else usable_ids.discard)(id_)
        if self._offered:
            named = [event for event in events if event.id.strip()]
            offered_ids = {event.id.strip() for event in named if self._offers(event.id.strip(), event)}
            others = [event for event in named if event.id.strip() not in offered_ids and event.start]
            hashed_ids = {event.id.strip() for event in others if self._offers(hash_event(event), event)}
            # If no id is offered, the source may have had no setting for the id then, and ids that are unique are used.
            hashed_ids = {id_ for id_ in hashed_ids if offered_ids or counts[id_] > 1}
            usable_ids = (usable_ids | offered_ids) - hashed_ids
        self._listed |= {id_: [] for id_ in counts.keys() - usable_ids}
        return usable_ids

    def choose(self, events: Sequence[tuple[str, str, str]], visited: str = "") -> list[str]:
        """Return a uid for each (identity, start, end) of a document's events, in their order.

        An event that had ended at the time `visited` is not moved any more: if its id is listed with the start of
        another day, as lists of the next event do, that is another event. An empty `visited` is before all events.
        """
        starts_by_identity = defaultdict[str, list[str]](list)
        ends: dict[str, str] = {}
        for identity, start, end in events:
            starts_by_identity[identity].append(start)
            ends.setdefault(identity, end)
        for identity, starts in starts_by_identity.items():
            known: Any = self._known.get(identity) or self._find_offered_start(identity, starts)
            if known and isinstance(known, list):
                self._listed[identity] = known
                continue
            known_start, _, known_end = (known or "").partition("/")
            has_ended = bool(known) and (known_end or known_start) < visited
            if len({*starts}) > 1 or (has_ended and _are_days_apart(known_start, starts[0])):
                self._listed[identity] = [known_start or starts[0]]
            else:
                self._listed[identity] = f"{starts[0]}/{ends[identity]}"
        return [self._choose(identity, start) for identity, start, _ in events]

    def _choose(self, identity: str, start: str) -> str:
        plain, listed = self.plain_uid(identity), self._listed[identity]
        return plain if isinstance(listed, str) or listed == [start] else date_uid(plain, start)

    def _find_offered_start(self, identity: str, starts: Sequence[str]) -> list[str]:
        """Return the start of the event whose plain uid is offered; [""] if only dated ones are, [] if none is."""
        offered_starts = {start for start in starts if self._is_offered(date_uid(self.plain_uid(identity), start))}
        if not self._is_offered(self.plain_uid(identity)):
            return [""] if offered_starts else []
        # If two events with this start have different content, the second one's uid has the start.
        counts = Counter(starts)
        return [start for start, count in counts.items() if start not in offered_starts or count > 1][:1]

    def _offers(self, identity: str, event: RawEvent) -> bool:
        uid = self.plain_uid(identity)
        is_dated = event.start is not None and self._is_offered(date_uid(uid, format_utc(event.start.utc)))
        return is_dated or self._is_offered(uid)

    def _is_offered(self, uid: str) -> bool:
        return bool(self._offered) and replace_lone_surrogates(uid) in self._offered

    def remember(self, visited: datetime) -> dict[str, Any]:
        """Return what to remember of the source after this document, which was fetched at `visited`."""
        oldest = format_utc(visited - _REMEMBERED_TIME)
        earlier = {
            identity: known
            for identity, known in self._known.items()
            if identity not in self._listed and (isinstance(known, list) or known >= oldest)
        }
        return dict([*earlier.items(), *self._listed.items()][-EVENT_IDS.number :])


def _are_days_apart(start: str, other_start: str) -> bool:
    return abs(parse_utc(other_start) - parse_utc(start)) >= timedelta(days=1)


def date_uid(uid: str, start: str) -> str:
    """Return the uid of an event that begins at `start`, if another event with its id has the plain uid."""
    return shorten_uid(f"{uid} {start}")


def shorten_uid(uid: str) -> str:
    """Return a uid with at most MAX_UID_CHARACTERS."""
    if len(uid) <= MAX_UID_CHARACTERS:
        return uid
    return f"{uid[: MAX_UID_CHARACTERS - 25]} {digest(uid.encode('utf-8', 'replace')).partition(':')[2][:24]}"
