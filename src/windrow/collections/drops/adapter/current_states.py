"""The states of a ledger's zips and XML files, as in the tracker, and the states they reached in a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import TypeVar

from windrow.adapters.adapter import RestCount
from windrow.collections.drops.collection import COLLECTION, XML, ZIP
from windrow.collections.drops.phase import PHASES, parent_state
from windrow.collections.drops.states import (
    DOWNLOAD,
    UNZIP,
    XML_NAME,
    ZIP_MD5,
    ZIP_NAME,
    StateEvent,
    ZipStates,
    waiting_xml,
    xml_state,
    zip_states,
)
from windrow.ledger import Ledger
from windrow.ledger.typed.items import SeenItem
from windrow.model import State, Status
from windrow.reasons import Reason

TOGETHER = 1_000
"""Items that are looked up together."""

T = TypeVar("T")

Members = Mapping[int, Mapping[int, Counter[State]]]
"""The number of XML files in each state, by their zip and the attempt that found them."""


def states(ledger: Ledger, items: Sequence[int]) -> dict[int, State]:
    """Return the states of zips and XML files."""
    seen_items = ledger.items.seen(items)
    xmls = xml_states(ledger, [item for item in seen_items if item.kind == XML])
    zips = zips_of(ledger, [item.item for item in seen_items if item.kind == ZIP])
    return xmls | {item: zip_.state for item, zip_ in zips.items()}


def find_shown(ledger: Ledger, items: Iterable[int]) -> tuple[dict[int, ZipStates], dict[int, State]]:
    """Return the states of zips and XML files, and of the zips that these XML files are in."""
    zips: dict[int, None] = {}
    xmls: dict[int, State] = {}
    for page in _pages(sorted(items)):
        seen_items = ledger.items.seen(page)
        zips |= dict.fromkeys(item.file or item.item for item in seen_items)
        xmls |= xml_states(ledger, [item for item in seen_items if item.kind == XML])
    return {item: zip_ for page in _pages([*zips]) for item, zip_ in zips_of(ledger, page).items()}, xmls


def all_states(ledger: Ledger) -> dict[int, State]:
    """Return the state of every zip and XML file."""
    places: dict[int, State] = {}
    for page in _pages(ledger.items.numbers(COLLECTION.name)):
        places |= states(ledger, page)
    return places


def xml_states(ledger: Ledger, xmls: Sequence[SeenItem]) -> dict[int, State]:
    """Return the states of XML files."""
    waiting = {
        item.item: waiting_xml(item.step, item.status, started=item.started)
        for item in xmls
        if item.status is not Status.CANCELLED
    }
    ended = [item for item in xmls if item.status is Status.CANCELLED]
    return waiting | {item.item: xml_state(item.reason, events) for item, events in _read_events(ledger, ended)}


def zips_of(ledger: Ledger, zips: Sequence[int]) -> dict[int, ZipStates]:
    """Return the states of zips and their attempts."""
    members = _count_members(ledger, zips)
    return {
        item.item: _zip_states(ledger, item, events, members)
        for item, events in _read_events(ledger, ledger.items.seen(zips))
    }


def _zip_states(ledger: Ledger, item: SeenItem, events: Sequence[StateEvent], members: Members) -> ZipStates:
    return zip_states(
        item.reason, events, members.get(item.item, {}), partial(_count_members_before, ledger, item.item)
    )


def _count_members_before(ledger: Ledger, zip_: int, seq: int) -> dict[int, Counter[State]]:
    """Count a zip's XML files by attempt and by their state before the event number `seq`."""
    counts: dict[int, Counter[State]] = {}
    for xml, events in _read_events(ledger, ledger.items.seen(ledger.members.of_file(zip_))):
        earlier = [event for event in events if event.seq < seq]
        counts.setdefault(xml.attempt, Counter())[xml_state(xml.reason, earlier)] += 1
    return counts


def _count_members(ledger: Ledger, zips: Sequence[int]) -> Members:
    counts: dict[int, dict[int, Counter[State]]] = {}
    for row in ledger.members.count(zips):
        if row.status is not Status.CANCELLED:
            state = waiting_xml(row.step, row.status, started=row.started)
            counts.setdefault(row.file, {}).setdefault(row.attempt, Counter())[state] += row.number
    for page in _pages(ledger.members.ended(zips)):
        ended = ledger.items.seen(page)
        states_by_item = xml_states(ledger, ended)
        for item in ended:
            by_attempt = counts.setdefault(item.file or 0, {})
            by_attempt.setdefault(item.attempt, Counter())[states_by_item[item.item]] += 1
    return counts


def _read_events(ledger: Ledger, items: Sequence[SeenItem]) -> Iterator[tuple[SeenItem, list[StateEvent]]]:
    """Yield items with the events that changed their states, in order."""
    for page in _pages(items):
        rows = groupby(ledger.items.events([item.item for item in page]), attrgetter("item"))
        events = {number: [StateEvent(*row[1:]) for row in group] for number, group in rows}
        for item in page:
            yield item, events.get(item.item, [])


def _pages(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), TOGETHER):
        yield items[start : start + TOGETHER]


def count_states(ledger: Ledger) -> Counter[tuple[str, State]]:
    """Count zips, and the XML files of the latest attempt at each, by state."""
    counts: Counter[tuple[str, State]] = Counter()
    for page in _pages(ledger.listed_files.numbers(COLLECTION.name)):
        members = _count_members(ledger, page)
        waiting = [item.item for item in ledger.items.seen(page) if item.step is not None]
        waiting_states = {
            item.item: _zip_states(ledger, item, events, members)
            for item, events in _read_events(ledger, ledger.items.seen(waiting))
        }
        for item in page:
            members_by_attempt = members.get(item, {})
            if item in waiting_states:
                state, latest_attempt = waiting_states[item].state, max(waiting_states[item].downloads, default=0)
            else:  # all its steps are done: its state is that of its documents
                latest_attempt = max(members_by_attempt, default=0)
                state = parent_state(members_by_attempt[latest_attempt]) if latest_attempt else (UNZIP, Status.DONE)
            counts[ZIP, state] += 1
            counts.update(
                {(XML, place): number for place, number in members_by_attempt.get(latest_attempt, {}).items()}
            )
    return counts


def count_shown(ledger: Ledger) -> Counter[tuple[str, State]]:
    """Count zips and XML files by their state in the tracker, except those with names too long or unsafe for it."""
    counts: Counter[tuple[str, State]] = Counter()
    for page in _pages(ledger.listed_files.numbers(COLLECTION.name)):
        counts.update((ZIP, zip_.shown) for zip_ in zips_of(ledger, page).values())
        for attempts in _count_members(ledger, page).values():
            for members in attempts.values():
                counts.update({(XML, state): number for state, number in members.items()})
    counts[XML, (XML_NAME, Status.FAILED)] -= ledger.members.count_named(
        COLLECTION.name, (Reason.NAME_TOO_LONG, Reason.UNSAFE_NAME)
    )
    return +counts


RestKey = tuple[str, int, Status, Reason | None]
"""Kind, phase, status and reason."""


def count_rests(ledger: Ledger, span: tuple[int, int]) -> list[RestCount]:
    """Count the zips and XML files that reached each state between two facts, by state and reason."""
    counts: Counter[RestKey] = Counter()
    for key, number in chain(
        _count_arrivals(ledger, span), _count_readings(ledger, span), _count_decided(ledger, span)
    ):
        counts[key] += number
    return [
        RestCount(COLLECTION.name, kind, PHASES[phase - 1], status, reason, number)
        for (kind, phase, status, reason), number in sorted(counts.items(), key=lambda rest: rest[0][1])
    ]


def _count_arrivals(ledger: Ledger, span: tuple[int, int]) -> Iterator[tuple[RestKey, int]]:
    """Yield counts of attempts by outcome, of names that were refused, and of XML files that were found."""
    for arrival in ledger.listed_files.fetched_between(COLLECTION.name, span):
        if arrival.reason is None:
            for phase in (DOWNLOAD, ZIP_NAME, *([ZIP_MD5] if arrival.compared else [])):
                yield (ZIP, phase, Status.DONE, None), arrival.number
        else:
            phase = ZIP_MD5 if arrival.reason is Reason.DIGEST_MISMATCH else DOWNLOAD
            yield (ZIP, phase, Status.FAILED, arrival.reason), arrival.number
    for named in ledger.items.named_between(COLLECTION.name, span):
        if named.kind == XML:
            yield (XML, XML_NAME, _status_for(named.reason), named.reason), named.number
        elif named.reason is not None:
            yield (ZIP, ZIP_NAME, Status.FAILED, named.reason), named.number


def _count_readings(ledger: Ledger, span: tuple[int, int]) -> Iterator[tuple[RestKey, int]]:
    """Yield counts of readings, and of zips whose XML files all passed a step or of which one failed."""
    for reading in ledger.items.read_between(span):
        if reading.collection == COLLECTION.name:
            yield (reading.kind, _phase(reading.step), _status_for(reading.reason), reading.reason), reading.number
    for passed in ledger.members.passed_between(COLLECTION.name, span):
        if passed.passed or passed.failed:
            status = Status.DONE if passed.passed else Status.FAILED
            yield (ZIP, _phase(passed.step), status, None), passed.number


def _count_decided(ledger: Ledger, span: tuple[int, int]) -> Iterator[tuple[RestKey, int]]:
    """Yield the state of each item that an operator cancelled, with a count of 1."""
    decided = ledger.items.ended_between(COLLECTION.name, span)
    for page in _pages([*decided]):
        kinds = {item.item: item.kind for item in ledger.items.seen(page)}
        for item, (phase, status) in states(ledger, page).items():
            if status is Status.CANCELLED:
                yield (kinds[item], phase, status, Reason(decided[item])), 1


def _status_for(reason: Reason | None) -> Status:
    return Status.DONE if reason is None else Status.FAILED


def _phase(step: str) -> int:
    return PHASES.index(step) + 1 if step else XML_NAME
