"""The readers by name, for the setting `reader` of a source; each is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument
from windrow.contract import Request, later


class EventReader(NamedTuple):
    """The functions that read one kind of document.

    `next_page` returns the address of the next page, or an empty text. `details` returns the requests for documents of
    single events, and `count_unaddressed` the number of those that a list names without a valid address. `count_others`
    returns how many parts of the document are left out by `others_rule`, such as the tasks of a calendar.
    `count_entries` returns how many entries a page has, how many its whole list has, or 0 if it does not state that,
    and whether there are further pages. `complete` means that the pages of a list usually have all future events.
    `is_growing` means that new events are in new documents at the end of a chain, so that each run requests the whole
    chain.
    """

    read: Callable[[SourceDocument], Iterator[RawEvent | SkippedPart]]
    complete: bool
    next_page: Callable[[SourceDocument], str] = lambda _: ""
    details: Callable[[SourceDocument], tuple[Request, ...]] = lambda _: ()
    count_unaddressed: Callable[[SourceDocument], int] = lambda _: 0
    count_others: Callable[[SourceDocument], int] = lambda _: 0
    others_rule: str = ""
    is_growing: bool = False
    count_entries: Callable[[SourceDocument], tuple[int, int, bool]] = lambda _: (0, 0, False)


_PACKAGE = "windrow.collections.events.readers"

READERS = {
    "icalendar": EventReader(
        later(f"{_PACKAGE}.icalendar:read_icalendar"),
        complete=True,
        count_others=later(f"{_PACKAGE}.calendar_heads:count_other_components"),
        others_rule="tasks, journal entries and busy times of a calendar",
    ),
    "feed": EventReader(later(f"{_PACKAGE}.by_path:read_feed"), complete=False),
    "json": EventReader(
        later(f"{_PACKAGE}.by_fields:read_json"),
        complete=True,
        next_page=later(f"{_PACKAGE}.paging:next_json_page"),
        details=later(f"{_PACKAGE}.by_fields:detail_requests"),
        count_unaddressed=later(f"{_PACKAGE}.by_fields:count_unaddressed"),
        count_entries=later(f"{_PACKAGE}.paging:count_entries"),
    ),
    "xml": EventReader(later(f"{_PACKAGE}.by_path:read_xml"), complete=True),
    "senate-votes": EventReader(later(f"{_PACKAGE}.publishers:read_senate_votes"), complete=False),
    "house-votes": EventReader(
        later(f"{_PACKAGE}.publishers:read_house_vote"),
        complete=False,
        next_page=later(f"{_PACKAGE}.publishers:next_house_vote"),
        is_growing=True,
    ),
    "house-calendar": EventReader(
        later(f"{_PACKAGE}.publishers:read_house_calendar"),
        complete=False,
        details=later(f"{_PACKAGE}.publishers:house_calendar_requests"),
    ),
    "html": EventReader(
        later(f"{_PACKAGE}.by_path:read_html"), complete=True, next_page=later(f"{_PACKAGE}.by_path:next_html_page")
    ),
    "schema.org": EventReader(
        later(f"{_PACKAGE}.schema_org:read_schema_org"),
        complete=False,
        details=later(f"{_PACKAGE}.schema_org:item_list_requests"),
        count_unaddressed=later(f"{_PACKAGE}.schema_org:count_unaddressed_items"),
        count_others=later(f"{_PACKAGE}.schema_org:count_listed_items"),
        others_rule="pages whose addresses an ItemList has, as the setting `details` does not ask for them",
    ),
    "legistar": EventReader(
        later(f"{_PACKAGE}.publishers:read_legistar"),
        complete=True,
        next_page=later(f"{_PACKAGE}.publishers:next_legistar_page"),
        count_entries=later(f"{_PACKAGE}.paging:count_entries"),
    ),
}
