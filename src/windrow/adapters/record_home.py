"""The home of a collection of JSON records that says nothing of its own: a list, and each record with its history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from windrow.adapters.adapter import CHANGED, ListedRecord
from windrow.adapters.home import (
    Cell,
    Fact,
    Facts,
    Group,
    Home,
    HomeEntry,
    HomeLink,
    HomeList,
    HomeMoment,
    HomeText,
    HomeTimeline,
    HomeView,
    Part,
    Picture,
    read_start,
    refuse_unknown,
    refuse_unread,
    unknown_name,
)
from windrow.adapters.record_search import RecordFaces, ShownCollection, list_records, search
from windrow.contract import OK
from windrow.digest import hash64
from windrow.formats.text import spell_value
from windrow.ledger import Ledger
from windrow.stores.record_entries import title_of
from windrow.stores.record_versions import RecordVersion
from windrow.stores.records import RecordStore

_PAGE_RECORDS = 25
_MAX_READ = 1_000  # records that are read to find those of one source for a page
_SHORT_CHARACTERS = 300  # of a field in a list; a longer one is cut, and ends with an ellipsis
_MAX_MOMENTS = 100  # versions of a record that are shown, the latest ones


def show_home(store: RecordStore | None, ledger: Ledger, shown: ShownCollection, view: HomeView) -> Home:
    """Return the record `view.name`, the records that have `view.words`, or the list, of all sources or one.

    `store` is None before the first run.
    """
    sources = tuple((f"source:{name}", name) for name in shown.sources)
    refuse_unknown("group", view.group, [key for key, _ in sources])
    refuse_unread(view, *(("name",) if view.name else ("group", "words", "start")))
    if view.name:
        history = store.history(view.name) if store else []
        if not history:
            raise unknown_name(shown.name, view.name)
        value = next((version.value for version in reversed(history) if version.value is not None), None)
        return Home(
            title_of(value, view.name), (*shown.faces.record(ledger, view.name, value), record_timeline(history))
        )
    start = read_start(view)
    entries: list[HomeEntry] = []
    if store is None:
        following = None
    elif view.words:
        words = f"({view.words}) {view.group}" if view.group else view.words  # a group is a filter of searches, too
        entries, following = _find_entries(store, shown, words, start)
    else:
        entries, following = _list_entries(store, shown, view.group.removeprefix("source:"), start)
    note = ""
    if not entries and not following:
        note = "No records here." if start or view.words or view.group else f"No records yet: windrow run {shown.name}"
    further = HomeLink("Further records", view=view._replace(start=str(following))) if following else None
    groups = (Group("source", sources),) if len(sources) > 1 else ()
    parts = (HomeList("", tuple(entries)),) if entries else ()
    return Home(shown.name.capitalize(), parts, groups=groups, further=further, by_words=True, note=note)


def _list_entries(
    store: RecordStore, shown: ShownCollection, source: str, before: int
) -> tuple[list[HomeEntry], int | None]:
    """Return a page of the list, and where it goes on; of one source, it may have few entries, or none."""
    if not source:
        found = list_records(store, before, _PAGE_RECORDS)
        return [shown.faces.entry(record) for record in found.records], found.next
    entries: list[HomeEntry] = []
    following: int | None = before
    for _ in range(_MAX_READ // _PAGE_RECORDS):
        found = list_records(store, following or 0, _PAGE_RECORDS)
        entries += [shown.faces.entry(record) for record in found.records if record.source == source]
        following = found.next
        if following is None or len(entries) >= _PAGE_RECORDS:
            break
    return entries, following


def _find_entries(
    store: RecordStore, shown: ShownCollection, words: str, offset: int
) -> tuple[list[HomeEntry], int | None]:
    answer = search(store, shown.name, words, offset=offset, limit=_PAGE_RECORDS, explain=False)
    hits = [result.details for result in answer.results]
    entries = [
        shown.faces.entry(
            ListedRecord(hit.key, hit.title, hit.url, "", hit.published, hit.updated, hit.value)
        )._replace(text=hit.snippet)
        for hit in hits
    ]
    return entries, offset + len(hits) if answer.further else None


def record_entry(record: ListedRecord) -> HomeEntry:
    """Return a record as an entry of a list, with its fields."""
    return HomeEntry(
        HomeLink(record.title, view=HomeView(name=record.key)),
        record_notes(record),
        facts=tuple(field_facts(record.value, _SHORT_CHARACTERS)),
    )


def record_notes(record: ListedRecord) -> tuple[Cell | Fact, ...]:
    """Return the source of a record, when it was first seen, and since when it is as it is."""
    source = (HomeLink(record.source, story=record.source),) if record.source else ()
    changed = (Fact("as it is since", record.changed),) if record.changed != record.first_seen else ()
    return (*source, Fact("first seen", record.first_seen), *changed)


def show_record(_ledger: Ledger, key: str, value: Any) -> tuple[Part, ...]:
    """Return the fields of a record."""
    return record_facts(key, value)


PLAIN = RecordFaces(record_entry, show_record)
"""How the records of a collection are shown that says nothing of its own."""


def find_picture(ledger: Ledger, url: str, description: str) -> tuple[Picture, ...]:
    """Return the last answer from an address as a picture, if a collection requested and kept one; else ()."""
    digest = hash64(url)
    for collection in sorted(ledger.sessions.collections()):
        for address in ledger.addresses.of_sources(collection, digest):
            kept = [
                row.seq for row in ledger.attempts.of_address(address.host, digest) if row.warc and row.status == OK
            ]
            if kept and address.url == url:
                return (Picture("", description, capture=kept[-1]),)
    return ()


def record_facts(key: str, value: Any) -> tuple[Part, ...]:
    """Return the fields of a record: short ones as facts, each of the others as a text."""
    names = ("key", *(name for name, _ in _fields(value)))
    facts = [Fact("key", HomeLink(key, story=key)), *field_facts(value)]
    is_short = [isinstance(fact.value, HomeLink) and len(fact.value.text) <= _SHORT_CHARACTERS for fact in facts]
    texts = [
        HomeText(name, fact.value.text)
        for name, fact, short in zip(names, facts, is_short, strict=True)
        if not short and isinstance(fact.value, HomeLink)
    ]
    return Facts("", tuple(fact for fact, short in zip(facts, is_short, strict=True) if short)), *texts


def field_facts(value: Any, most: int = 0) -> Iterable[Fact]:
    """Yield the fields of a record for people, without empty ones; with `most`, long ones are cut, with an ellipsis.

    >>> [(fact.name, fact.value.text) for fact in field_facts({"title": "Ferry", "tags": ["a", "b"], "end": None})]
    [('title', 'Ferry'), ('tags', 'a; b')]
    """
    for name, text in _fields(value):
        yield Fact(name, HomeLink(text if not most or len(text) <= most else f"{text[:most]}…"))


def _fields(value: Any) -> list[tuple[str, str]]:
    fields = value if isinstance(value, Mapping) else {"value": value}
    return [(name, spell_value(field)) for name, field in fields.items() if field not in (None, "", [], {})]


def record_timeline(history: Sequence[RecordVersion]) -> HomeTimeline:
    """Return the versions of a record: new, changed and gone; a last moment says when it was last seen unchanged."""
    changes = [version for version in history if version.change != "same"]
    moments = [
        HomeMoment(
            _utc(version.at), version.change,
            HomeLink("difference", difference=version.key, new=f"{_utc(version.at):%Y-%m-%dT%H:%M:%S}")
            if version.change == CHANGED
            else HomeLink("as it was received", capture=version.attempt),
            version.url,
        )
        for version in changes[-_MAX_MOMENTS:]
    ]  # fmt: skip
    if len(changes) > _MAX_MOMENTS:
        earlier = HomeLink(f"{len(changes) - _MAX_MOMENTS:,} earlier versions", story=changes[0].key)
        moments.insert(0, HomeMoment(_utc(changes[0].at), "earlier", earlier))
    if history and history[-1].change == "same":
        moments.append(HomeMoment(_utc(history[-1].at), "seen", HomeLink("unchanged", capture=history[-1].attempt)))
    return HomeTimeline("History", tuple(moments))


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC)
