"""Derive the states of zips and XML files from the ledger, and count the files that are in a state or reached it.

Items (zips and XML files) are given by their numbers on the ledger; a state is a pair (phase id, status).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import TypeVar

from windrow.adapters.adapter import ReachedCount
from windrow.collections.drops.collection import COLLECTION, XML_KIND, ZIP_KIND
from windrow.collections.drops.phase import PHASES, parent_state
from windrow.collections.drops.states import (
    DOWNLOAD,
    UNZIP,
    XML_NAME,
    ZIP_MD5,
    ZIP_NAME,
    StateEvent,
    ZipStates,
    phase_of_step,
    xml_state,
    xml_state_at_step,
    zip_states,
)
from windrow.ledger import Ledger
from windrow.ledger.typed.items import SeenItem, StepCount
from windrow.model import State, Status
from windrow.reasons import Reason

PAGE_SIZE = 1_000
"""The maximum number of items that are looked up in one query."""

T = TypeVar("T")

CountsByZip = Mapping[int, Mapping[int, Counter[State]]]
"""A dict from zip to a dict from attempt to the number of the attempt's XML files in each state."""


def states(ledger: Ledger, items: Sequence[int]) -> dict[int, State]:
    """Return a dict from each of `items` to its state."""
    seen_items = ledger.items.seen(items)
    xml_states = read_xml_states(ledger, [item for item in seen_items if item.kind == XML_KIND])
    states_of_zips = read_zip_states(ledger, [item.item for item in seen_items if item.kind == ZIP_KIND])
    return xml_states | {item: states_of_zip.state for item, states_of_zip in states_of_zips.items()}


def read_shown_states(ledger: Ledger, items: Iterable[int]) -> tuple[dict[int, ZipStates], dict[int, State]]:
    """Return the states of zips and the states of XML files, as two dicts from item to state.

    The dicts have the zips and XML files in `items`, and also the zips that contain these XML files.
    """
    zip_numbers: dict[int, None] = {}
    xml_states: dict[int, State] = {}
    for page in _pages(sorted(items)):
        seen_items = ledger.items.seen(page)
        zip_numbers |= dict.fromkeys(item.file or item.item for item in seen_items)
        xml_states |= read_xml_states(ledger, [item for item in seen_items if item.kind == XML_KIND])
    states_of_zips: dict[int, ZipStates] = {}
    for page in _pages([*zip_numbers]):
        states_of_zips |= read_zip_states(ledger, page)
    return states_of_zips, xml_states


def all_states(ledger: Ledger) -> dict[int, State]:
    """Return a dict from every zip and XML file on the ledger to its state."""
    states_by_item: dict[int, State] = {}
    for page in _pages(ledger.items.numbers(COLLECTION.name)):
        states_by_item |= states(ledger, page)
    return states_by_item


def read_xml_states(ledger: Ledger, xmls: Sequence[SeenItem]) -> dict[int, State]:
    """Return a dict from each XML file to its state."""
    xml_states = {
        item.item: xml_state_at_step(item.step, item.status, has_started=item.started)
        for item in xmls
        if item.status is not Status.CANCELLED
    }
    cancelled_xmls = [item for item in xmls if item.status is Status.CANCELLED]
    for item, events in _read_events(ledger, cancelled_xmls):
        xml_states[item.item] = xml_state(item.reason, events)
    return xml_states


def read_zip_states(ledger: Ledger, zips: Sequence[int]) -> dict[int, ZipStates]:
    """Return a dict from each zip to its state and the states of the attempts to fetch it."""
    xml_counts = _count_xmls(ledger, zips)
    return {
        item.item: _derive_zip_states(ledger, item, events, xml_counts)
        for item, events in _read_events(ledger, ledger.items.seen(zips))
    }


def _derive_zip_states(
    ledger: Ledger, zip_: SeenItem, events: Sequence[StateEvent], xml_counts: CountsByZip
) -> ZipStates:
    count_xmls_before = partial(_count_xmls_before, ledger, zip_.item)
    return zip_states(zip_.reason, events, xml_counts.get(zip_.item, {}), count_xmls_before)


def _count_xmls_before(ledger: Ledger, zip_number: int, event_seq: int) -> dict[int, Counter[State]]:
    """Count the XML files of a zip by attempt, and by their state before an event."""
    counts: dict[int, Counter[State]] = {}
    for xml, events in _read_events(ledger, ledger.items.seen(ledger.members.of_file(zip_number))):
        earlier_events = [event for event in events if event.seq < event_seq]
        counts.setdefault(xml.attempt, Counter())[xml_state(xml.reason, earlier_events)] += 1
    return counts


def _count_xmls(ledger: Ledger, zips: Sequence[int]) -> CountsByZip:
    counts: dict[int, dict[int, Counter[State]]] = {}
    for count in ledger.members.count(zips):
        if count.status is not Status.CANCELLED:
            state = xml_state_at_step(count.step, count.status, has_started=count.started)
            counts.setdefault(count.file, {}).setdefault(count.attempt, Counter())[state] += count.number
    for page in _pages(ledger.members.ended(zips)):
        cancelled_xmls = ledger.items.seen(page)
        states_by_item = read_xml_states(ledger, cancelled_xmls)
        for item in cancelled_xmls:
            counts_by_attempt = counts.setdefault(item.file or 0, {})
            counts_by_attempt.setdefault(item.attempt, Counter())[states_by_item[item.item]] += 1
    return counts


def _read_events(ledger: Ledger, items: Sequence[SeenItem]) -> Iterator[tuple[SeenItem, list[StateEvent]]]:
    """Yield each item with the events that changed its state, in order."""
    for page in _pages(items):
        groups = groupby(ledger.items.events([item.item for item in page]), attrgetter("item"))
        events = {number: [StateEvent(*row[1:]) for row in group] for number, group in groups}
        for item in page:
            yield item, events.get(item.item, [])


def _pages(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), PAGE_SIZE):
        yield items[start : start + PAGE_SIZE]


def count_states(ledger: Ledger) -> Counter[tuple[str, State]]:
    """Count zips and XML files by (kind, state).

    Of XML files, only those fetched by the latest attempt at their zip are counted.
    """
    counts: Counter[tuple[str, State]] = Counter()
    for page in _pages(ledger.listed_files.numbers(COLLECTION.name)):
        xml_counts = _count_xmls(ledger, page)
        waiting_zips = [zip_.item for zip_ in ledger.items.seen(page) if zip_.step is not None]
        waiting_states = {
            zip_.item: _derive_zip_states(ledger, zip_, events, xml_counts)
            for zip_, events in _read_events(ledger, ledger.items.seen(waiting_zips))
        }
        for zip_number in page:
            counts_by_attempt = xml_counts.get(zip_number, {})
            if zip_number in waiting_states:
                state = waiting_states[zip_number].state
                latest_attempt = max(waiting_states[zip_number].attempt_states, default=0)
            else:  # all its steps are done: its state is that of its documents
                latest_attempt = max(counts_by_attempt, default=0)
                state = parent_state(counts_by_attempt[latest_attempt]) if latest_attempt else (UNZIP, Status.DONE)
            counts[ZIP_KIND, state] += 1
            latest_counts: Mapping[State, int] = counts_by_attempt.get(latest_attempt, {})
            counts.update({(XML_KIND, xml_state): number for xml_state, number in latest_counts.items()})
    return counts


def count_shown_states(ledger: Ledger) -> Counter[tuple[str, State]]:
    """Count, by (kind, state), the zips and XML files whose names the tracker can store."""
    counts: Counter[tuple[str, State]] = Counter()
    for page in _pages(ledger.listed_files.numbers(COLLECTION.name)):
        counts.update((ZIP_KIND, states_of_zip.shown) for states_of_zip in read_zip_states(ledger, page).values())
        for attempts in _count_xmls(ledger, page).values():
            for state_counts in attempts.values():
                counts.update({(XML_KIND, state): number for state, number in state_counts.items()})
    counts[XML_KIND, (XML_NAME, Status.FAILED)] -= ledger.members.count_named(
        COLLECTION.name, (Reason.NAME_TOO_LONG, Reason.UNSAFE_NAME)
    )
    return +counts


StateReason = tuple[str, int, Status, Reason | None]
"""Kind of item, phase id, status, and reason. The reason is None for a success and for a zip whose XML files failed."""


def count_reached(ledger: Ledger, facts: tuple[int, int], step_counts: Sequence[StepCount]) -> list[ReachedCount]:
    """Count the zips and XML files that reached each state between two facts, by reason.

    `facts` are the numbers of the first and the last fact, both included. `step_counts` are the numbers of items, of
    all collections, that steps read between these facts.
    """
    counts: Counter[StateReason] = Counter()
    for state_reason, number in chain(
        _count_arrivals(ledger, facts), _count_readings(ledger, facts, step_counts), _count_cancelled(ledger, facts)
    ):
        counts[state_reason] += number
    return [
        ReachedCount(COLLECTION.name, kind, PHASES[phase - 1], status, reason, number)
        for (kind, phase, status, reason), number in sorted(counts.items(), key=lambda counted: counted[0][1])
    ]


def _count_arrivals(ledger: Ledger, facts: tuple[int, int]) -> Iterator[tuple[StateReason, int]]:
    """Yield counts of zips with an ended attempt or a refused name, and of XML files in zips, by state and reason."""
    for arrival in ledger.listed_files.fetched_between(COLLECTION.name, facts):
        if arrival.reason is None:
            for phase in (DOWNLOAD, ZIP_NAME, *([ZIP_MD5] if arrival.compared else [])):
                yield (ZIP_KIND, phase, Status.DONE, None), arrival.number
        else:
            phase = ZIP_MD5 if arrival.reason is Reason.DIGEST_MISMATCH else DOWNLOAD
            yield (ZIP_KIND, phase, Status.FAILED, arrival.reason), arrival.number
    for named in ledger.items.named_between(COLLECTION.name, facts):
        if named.kind == XML_KIND:
            yield (XML_KIND, XML_NAME, _status_for(named.reason), named.reason), named.number
        elif named.reason is not None:
            yield (ZIP_KIND, ZIP_NAME, Status.FAILED, named.reason), named.number


def _count_readings(
    ledger: Ledger, facts: tuple[int, int], step_counts: Sequence[StepCount]
) -> Iterator[tuple[StateReason, int]]:
    """Yield counts of items that steps read, and of zips whose XML files passed a step or failed at it."""
    for count in step_counts:
        if count.collection == COLLECTION.name:
            phase, status = phase_of_step(count.step), _status_for(count.reason)
            yield (count.kind, phase, status, count.reason), count.number
    for zips in ledger.members.passed_between(COLLECTION.name, facts):
        if zips.passed or zips.failed:
            status = Status.DONE if zips.passed else Status.FAILED
            yield (ZIP_KIND, phase_of_step(zips.step), status, None), zips.number


def _count_cancelled(ledger: Ledger, facts: tuple[int, int]) -> Iterator[tuple[StateReason, int]]:
    reasons_by_item = ledger.items.ended_between(COLLECTION.name, facts)
    for page in _pages([*reasons_by_item]):
        kinds = {item.item: item.kind for item in ledger.items.seen(page)}
        for item, (phase, status) in states(ledger, page).items():
            if status is Status.CANCELLED:
                yield (kinds[item], phase, status, Reason(reasons_by_item[item])), 1


def _status_for(reason: Reason | None) -> Status:
    return Status.DONE if reason is None else Status.FAILED
