"""The home of events: an agenda and a month, of all events, of a branch, an entity or a source, and each event."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import date, timedelta
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from windrow.adapters.home import (
    Agenda,
    AgendaEntry,
    Fact,
    Facts,
    Group,
    Home,
    HomeFeed,
    HomeLink,
    HomeMoment,
    HomeText,
    HomeTimeline,
    HomeView,
    Part,
    read_day,
    read_start,
    refuse_unknown,
    refuse_unread,
)
from windrow.clock import now
from windrow.collections.events.adapter.databases import EventDatabases
from windrow.collections.events.documents import complete_document
from windrow.collections.events.export_texts import NOTES, describe_notes, links_of
from windrow.collections.events.times import parse_utc
from windrow.errors import UsageError
from windrow.formats.text import cut_around_difference, spell_value
from windrow.model import Source
from windrow.stores.documents import ViewRange
from windrow.stores.sqlite_documents import SqliteDocuments

_AGENDA, _MONTH = "agenda", "month"
_API_PATH = "/api/events"
_PAGE_EVENTS = 50
_DAY_EVENTS = 4  # of a day in a month, which leads to all of them
_READ_OF_DAY = 500  # events of a day in UTC that are read for a month; some are of the local day before or after
_MAX_GROUPS = 150  # branches, or entities; the search finds the events of others
_MAX_READ = 5_000  # events that are read for a page to find those of one source; the next page goes on after them
_MAX_MATCHES = 20_000  # of a search whose events are put in order of time
_FEEDS = (("iCalendar", "ical"), ("Atom", "atom"), ("JSON Feed", "jsonfeed"), ("JSON", "json"), ("CSV", "csv"))


class _Selection(NamedTuple):
    """The events to show: a view of the database with the values of its first fields, a source and words, or ""."""

    view: str
    first: tuple[str, ...]
    source: str
    words: str = ""


def show_home(databases: EventDatabases, sources: Iterable[Source], view: HomeView) -> Home:
    """Return the agenda from a day on (by default today), the month of that day, or the events that have some words."""
    refuse_unknown("view", view.view, (_AGENDA, _MONTH))
    refuse_unread(view, "view", "group", "day", "words", *(() if view.view == _MONTH else ("start",)))
    groups = tuple(_list_groups(databases, sources))
    selection = _select(view.group, {source.name for source in sources})
    day = read_day(view, now().date())
    views = tuple(
        HomeLink(name, view=HomeView(name, "", view.group, view.day, view.words)) for name in (_AGENDA, _MONTH)
    )
    note, further = "", None
    if view.view == _MONTH:
        part: Part = _show_month(databases, selection._replace(words=view.words), day)
        views = (*views, *_other_months(view, day))
    elif view.words and not view.day:
        entries, further = _search(databases, selection, view)
        part = Agenda(f"Events with “{view.words}”, the latest first", entries)
    else:
        entries, further = _read_agenda(databases, selection._replace(words=view.words), view, day)
        title = f"Events with “{view.words}” from" if view.words else "From"
        part = Agenda(f"{title} {day.isoformat()} on", entries)
    if isinstance(part, Agenda) and not part.entries:
        note = "No events here: an earlier day may have some, or windrow run events"
        if further:
            note = f"None of the next {_MAX_READ:,} events is one of these: further ones may be"
    return Home(
        "Events", (part,), views, groups, _list_feeds(view, selection), further, by_day="from",
        by_words=isinstance(databases.store, SqliteDocuments), note=note,
    )  # fmt: skip


def _list_groups(databases: EventDatabases, sources: Iterable[Source]) -> Iterator[Group]:
    for field in ("branch", "entity"):
        names = [(f"{field}:{name}", name) for name in islice(_read_values(databases, field), _MAX_GROUPS + 1)]
        more = [("", "and others: search for them")] if len(names) > _MAX_GROUPS else []
        yield Group(field, (*names[:_MAX_GROUPS], *more))
    yield Group("source", tuple((f"source:{source.name}", source.name) for source in sources))


def _read_values(databases: EventDatabases, field: str) -> Iterator[str]:
    """Yield the different values of the first field of a view, with one look-up for each."""
    start = ""
    while found := list(databases.store.view(databases.events, field, ViewRange(start=start, limit=1))):
        value = str(found[0].get(field) or "")
        following = f"{value} "  # the least text after the value, as no name has control characters
        if following <= start:  # a server that orders texts otherwise
            return
        yield value
        start = following


def _select(group: str, sources: Container[str]) -> _Selection:
    field, _, value = group.partition(":")
    if not group:
        return _Selection("all", (), "")
    if field == "source" and value in sources:  # whatever its parser was called when its events were read
        return _Selection("all", (), value)
    if field in {"branch", "entity"} and value:
        return _Selection(field, (value,), "")
    raise UsageError(f"group: {group!r} is not a branch:NAME, entity:NAME or source:NAME of these events")


def _read_events(
    databases: EventDatabases, selection: _Selection, start: str, end: str = "", skip: int = 0
) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Yield at most `_MAX_READ` events in order of time in UTC, each with its place in the view; None if not selected.

    The documents of other programs without a valid time are not selected, as in all exports.
    """
    if selection.words:
        bounds = ViewRange(selection.first, start, end, limit=_MAX_MATCHES + 1)
        matches = [*_searched(databases).search(databases.events, selection.words, selection.view, bounds)]
        if len(matches) > _MAX_MATCHES:  # the earliest ones would be missing
            raise UsageError(f"more than {_MAX_MATCHES:,} events from then on have these words: add a word")
        in_order = sorted(matches, key=lambda match: str(match.get("datetime") or ""))
        documents: Iterable[Mapping[str, Any]] = in_order[skip:]
    else:
        bounds = ViewRange(selection.first, start, end, limit=_MAX_READ, skip=skip)
        documents = databases.store.view(databases.events, selection.view, bounds)
    for place, document in enumerate(documents, skip):
        is_selected = not selection.source or document.get("source") == selection.source
        yield place, complete_document(document) if is_selected else None


def _read_agenda(
    databases: EventDatabases, selection: _Selection, view: HomeView, day: date
) -> tuple[tuple[AgendaEntry, ...], HomeLink | None]:
    """Return the events from a day on, by the local days of their sources, and a link to later ones."""
    skip, entries, following = read_start(view), list[AgendaEntry](), None
    for place, event in _read_events(databases, selection, _day_before(day), skip=skip):
        if event is not None and (entry := _describe(event)).day >= day:
            if len(entries) == _PAGE_EVENTS:
                following = place
                break
            entries.append(entry)
        if place + 1 - skip == _MAX_READ:
            following = place + 1
    further = None
    if following is not None:
        further = HomeLink("Later events", view=view._replace(day=day.isoformat(), start=str(following)))
    return tuple(sorted(entries, key=lambda entry: entry.day)), further


def _day_before(day: date) -> str:
    """Return the day before: in UTC, an event of a place east of Greenwich may begin on it."""
    return (day - timedelta(days=1)).isoformat()


def _show_month(databases: EventDatabases, selection: _Selection, day: date) -> Agenda:
    """Return the first events of each day, by the local days of their sources."""
    first = day.replace(day=1)
    last = first.replace(day=monthrange(day.year, day.month)[1])
    of_day: dict[date, list[AgendaEntry]] = {}
    cut_days = set[date]()
    for number in range(-1, last.day + 1):  # in UTC, an event may be on the day before or after
        one_day = first + timedelta(days=number)
        following = (one_day + timedelta(days=1)).isoformat()
        events = (event for _, event in _read_events(databases, selection, one_day.isoformat(), following) if event)
        for count, event in enumerate(events):
            if count == _READ_OF_DAY:
                cut_days.add(min(max(one_day, first), last))
                break
            entry = _describe(event)
            if first <= entry.day <= last:
                of_day.setdefault(entry.day, []).append(entry)
    shown = [entry for day in sorted(of_day) for entry in of_day[day][:_DAY_EVENTS]]
    more = tuple(sorted({day for day, found in of_day.items() if len(found) > _DAY_EVENTS} | cut_days))
    chosen = f": events with “{selection.words}”" if selection.words else ""
    return Agenda(f"{first:%B %Y}{chosen}", tuple(shown), first, more)


def _other_months(view: HomeView, day: date) -> tuple[HomeLink, HomeLink]:
    first = day.replace(day=1)
    months = (first - timedelta(days=1), first + timedelta(days=31))
    before, after = (view._replace(day=month.replace(day=1).isoformat()) for month in months)
    return HomeLink("month before", view=before), HomeLink("month after", view=after)


def _searched(databases: EventDatabases) -> SqliteDocuments:
    if not isinstance(databases.store, SqliteDocuments):
        raise UsageError("events in a CouchDB cannot be searched here", hint="windrow search --collection events WORDS")
    return databases.store


def _search(
    databases: EventDatabases, selection: _Selection, view: HomeView
) -> tuple[tuple[AgendaEntry, ...], HomeLink | None]:
    skip = read_start(view)
    bounds = ViewRange(selection.first, limit=_PAGE_EVENTS + 1, skip=skip)
    found = list(_searched(databases).search(databases.events, view.words, selection.view, bounds))
    further = view._replace(start=str(skip + _PAGE_EVENTS)) if len(found) > _PAGE_EVENTS else None
    shown = (
        event
        for document in found[:_PAGE_EVENTS]
        if (event := complete_document(document)) and (not selection.source or event.get("source") == selection.source)
    )
    return tuple(map(_describe, shown)), HomeLink("Earlier events", view=further) if further else None


def _describe(event: Mapping[str, Any]) -> AgendaEntry:
    """Return an event as an entry of an agenda, on its day and at its time where it takes place."""
    start = parse_utc(event["datetime"])
    local = str(event.get("local_datetime") or "")
    day, time = start.date(), "" if event["all_day"] else f"{start:%H:%M} UTC"
    if local and not event["all_day"]:
        zone = str(event.get("source_timezone") or "").rpartition("/")[2].replace("_", " ")
        day, time = date.fromisoformat(local[:10]), f"{local[11:16]} {zone}".strip()
    status = "" if event["status"] in {"scheduled", "confirmed"} else str(event["status"])
    note = ", ".join(filter(None, (event["branch"], event["entity"], describe_notes(event, NOTES[:2]))))
    return AgendaEntry(
        day,
        time,
        HomeLink(event["title"], view=HomeView(name=event["uid"])),
        str(event.get("location") or ""),
        note,
        status,
    )


def _list_feeds(view: HomeView, selection: _Selection) -> tuple[HomeFeed, ...]:
    """Return the addresses at which programs can subscribe to the selected events."""
    path = "/".join((_API_PATH, "all" if selection.source else selection.view, *map(_quote, selection.first)))
    if selection.source:
        path = f"{_API_PATH}/all"
    parameters = {"source": selection.source, "q": view.words}
    given = {name: text for name, text in parameters.items() if text}
    return tuple(HomeFeed(name, f"{path}?{urlencode({'format': form, **given})}") for name, form in _FEEDS)


def _quote(text: str) -> str:
    return quote(text, safe="")


def show_event(event: Mapping[str, Any]) -> Home:
    """Return an event: when and where it takes place, its description, and how it changed."""
    entry = _describe(event)
    links = [("page", event.get("event_url")), ("listed in", event.get("source_url"))]
    links += [((link.name or "document").lower(), link.url) for link in links_of(event)]
    facts = (
        Fact("when", HomeLink(" ".join(filter(None, (entry.day.isoformat(), entry.time))))),
        *((Fact("until", HomeLink(f"{event['end_datetime']}".replace("T", " "))),) if event["end_datetime"] else ()),
        Fact("where", HomeLink(entry.place)),
        Fact("status", HomeLink(str(event["status"]))),
        *((Fact("notes", HomeLink(notes)),) if (notes := describe_notes(event)) else ()),
        Fact("branch", HomeLink(str(event["branch"]), view=HomeView(group=f"branch:{event['branch']}"))),
        Fact("entity", HomeLink(str(event["entity"]), view=HomeView(group=f"entity:{event['entity']}"))),
        Fact("source", HomeLink(str(event.get("source") or ""), story=str(event.get("source") or ""))),
        *(Fact(name, HomeLink(url)) for name, url in links if url),
        Fact("record", HomeLink(event["uid"], story=event["uid"])),
    )
    parts: tuple[Part, ...] = (Facts("", facts),)
    if event["description"]:
        parts += (HomeText("Description", str(event["description"])),)
    moments = [HomeMoment(parse_utc(event["first_seen"]), "new", HomeLink("first seen"))]
    for change in event.get("history", ()):
        fields = "; ".join(
            "{}: {!r} -> {!r}".format(name, *cut_around_difference(*map(_spell, (old, new))))
            for name, (old, new) in change["fields"].items()
        )
        moments.append(HomeMoment(parse_utc(change["at"]), "changed", HomeLink(fields, difference=event["uid"])))
    return Home(str(event["title"]), (*parts, HomeTimeline("History", tuple(moments))))


def _spell(value: Any) -> str:
    return "nothing" if value is None else spell_value(value)
