"""List the changes at the sources, format them as an Atom feed or an HTML page, and compare versions of a record."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeVar
from uuid import NAMESPACE_URL, uuid5

from windrow.adapters.adapter import (
    ALL_FACTS,
    CHANGED,
    GONE,
    NEW,
    Compares,
    Comparison,
    CountsOutcomes,
    ListsChanges,
    SourceChange,
    Window,
    harvested_collections,
)
from windrow.adapters.selection import CountsSkipped
from windrow.app.summary import ABOVE_EVERY_FACT, ContentCounts
from windrow.config import Workspace
from windrow.contract.registry import capable, installed
from windrow.digest import digest
from windrow.errors import StoreError, UsageError, WindrowError
from windrow.formats.text import counted, xml_text
from windrow.formats.url import has_web_scheme
from windrow.ledger import Ledger
from windrow.ledger.lease import killed_session
from windrow.query.tree import read_time_span
from windrow.reasons import Reason

_Adapter = TypeVar("_Adapter")
_Result = TypeVar("_Result")

MAX_SESSION_CHANGES = 1_000
"""The maximum number of changes that the summary of a session lists."""
_READ_AT_ONCE = 100
"""The number of changes of a collection that `newest_changes` reads before it yields one of them."""


def changes(
    workspace: Workspace,
    ledger: Ledger,
    window: Window,
    *,
    source: str = "",
    kind: str = "",
    skip_broken: bool = False,
    unreadable: dict[str, str] | None = None,
) -> Iterator[SourceChange]:
    """Yield the changes within a window, collection by collection.

    `source` selects one source, also one that is not declared any more, and `kind` one kind of change (new, changed or
    gone); an empty text selects all. Raise UsageError for an unknown source. If an adapter cannot be imported, raise
    ConfigError or, if `skip_broken`, yield only the changes in the listings of its collection. If a store cannot be
    read, raise StoreError or, if `unreadable` is given, add to it the name of the collection and why.
    """
    for reader in _readers(workspace, ledger, source, skip_broken=skip_broken):
        for change in reader.read(window._replace(source=source), unreadable):
            if (not source or change.source == source) and (not kind or change.kind == kind):
                yield change


def place_of(change: SourceChange) -> tuple[int, str, str, str, str, str]:
    """Return what orders changes as they were shown; no two have the same."""
    return change.fact, change.source, change.key, change.kind, change.title, change.difference


def identify(change: SourceChange) -> str:
    """Return the digest that tells a change apart from all others, and that is the same in each list and feed."""
    return digest(repr((change.at.astimezone(UTC).isoformat(), *place_of(change))).encode(errors="surrogatepass"))


def newest_changes(
    workspace: Workspace,
    ledger: Ledger,
    since: datetime | None,
    *,
    source: str = "",
    kind: str = "",
    only: str = "",
    upto: int = ALL_FACTS[1],
    until: datetime | None = None,
    unreadable: dict[str, str],
) -> Iterator[SourceChange]:
    """Yield the changes since a time in the order of `place_of`, the last first, and read few more than are asked for.

    `only` is a collection, or empty for all. Changes that facts with numbers above `upto` show are left out, and so are
    those from `until` on. For the other parameters, see `changes`.
    """
    window = since_window(ledger, since)
    if window is None:
        return
    window = window._replace(until=until, shown_by=(0, upto), source=source)
    streams = [
        reader.read_backwards(window, unreadable)
        for reader in _readers(workspace, ledger, source, skip_broken=False)
        if only in {"", reader.collection}
    ]
    for change in merge(*streams, key=place_of, reverse=True):
        if (not source or change.source == source) and (not kind or change.kind == kind):
            yield change


@contextmanager
def _store_losses(collection: str, unreadable: dict[str, str] | None) -> Iterator[None]:
    """If a store cannot be read in the block, raise StoreError or, if `unreadable` is given, add to it why."""
    try:
        yield
    except StoreError as error:
        if unreadable is None:
            raise
        unreadable[collection] = str(error)


class _Reader(NamedTuple):
    """Yields a collection's changes within a window, and finds the first fact of the newest (see `ListsChanges`)."""

    collection: str
    changes: Callable[[Window], Iterator[SourceChange]]
    first_of_newest: Callable[[Window, int], int]

    def read(self, window: Window, unreadable: dict[str, str] | None) -> Iterator[SourceChange]:
        """Yield the changes; if the store cannot be read, raise StoreError or add to `unreadable` why."""
        with _store_losses(self.collection, unreadable):
            yield from self.changes(window)

    def read_backwards(self, window: Window, unreadable: dict[str, str]) -> Iterator[SourceChange]:
        """Yield the changes in the order of `place_of`, the last first; add to `unreadable` why they cannot be read."""
        first, last = window.shown_by
        with _store_losses(self.collection, unreadable):
            while first <= last:
                start = max(first, self.first_of_newest(window._replace(shown_by=(first, last)), _READ_AT_ONCE))
                newest = self.read(window._replace(shown_by=(start, last)), unreadable)
                yield from sorted(newest, key=place_of, reverse=True)
                last = start - 1


def _readers(workspace: Workspace, ledger: Ledger, source: str, *, skip_broken: bool) -> Iterator[_Reader]:
    """Yield a reader for each harvested collection, or for that of `source` alone."""
    declared = {configured.name: configured.collection for configured in workspace.sources}
    collection_of_source = declared.get(source) or (source and ledger.sessions.collection_of(source))
    if source and not collection_of_source:
        raise UsageError(f"source {source!r} is not declared, and never was", hint="windrow status")
    harvested = harvested_collections(workspace, ledger)
    for name in installed():
        if name in harvested and (not source or collection_of_source == name):
            adapter = capable(ListsChanges, {name}, skip_broken=skip_broken).get(name)
            yield (
                _Reader(name, partial(listing_changes, ledger, name), partial(_first_of_newest_listed, ledger, name))
                if adapter is None
                else _Reader(
                    name, partial(adapter.changes, workspace, ledger), partial(adapter.first_of_newest, workspace)
                )
            )


def changes_in_order(
    workspace: Workspace,
    ledger: Ledger,
    window: Window,
    *,
    source: str,
    kind: str,
    unreadable: dict[str, str] | None = None,
) -> list[SourceChange]:
    """Return the result of `changes` in order of time; raise UsageError for an unknown kind."""
    if kind not in {"", NEW, CHANGED, GONE}:
        raise UsageError(f"{kind!r} is not a kind of change; the kinds are {NEW}, {CHANGED} and {GONE}")
    return sorted(
        changes(workspace, ledger, window, source=source, kind=kind, unreadable=unreadable),
        key=lambda change: (change.at, change.source, change.key),
    )


def read_each(
    adapters: Mapping[str, _Adapter], read: Callable[[_Adapter], _Result], unreadable: dict[str, str] | None
) -> Iterator[tuple[str, _Result]]:
    """Yield for each adapter the name of its collection and what `read` returns.

    If a store cannot be read, raise StoreError or, if `unreadable` is given, add to it the collection and why.
    """
    for name, adapter in adapters.items():
        with _store_losses(name, unreadable):
            yield name, read(adapter)


def content_counts(workspace: Workspace, ledger: Ledger, unreadable: dict[str, str] | None = None) -> ContentCounts:
    """Return the functions by which the harvested collections' adapters count changes, outcomes and skips.

    Adapters that cannot be imported count nothing: a collection that is not declared any more must not stop a run, and
    neither must a store that cannot be read. Then the functions add the collection and why to `unreadable`, which is
    also that of the result.
    """
    unreadable = {} if unreadable is None else unreadable
    harvested = harvested_collections(workspace, ledger)

    def count_changes(
        count: Callable[[ListsChanges], Mapping[str, Counter[str]] | None],
    ) -> Mapping[str, Counter[str]]:
        adapters = capable(ListsChanges, harvested, skip_broken=True)
        counts: dict[str, Counter[str]] = {}
        for _, changes_by_source in read_each(adapters, count, unreadable):
            counts |= changes_by_source or {}
        return counts

    def correct_outcomes(collection: str, facts: tuple[int, int], counts_by_outcome: Counter[str]) -> Counter[str]:
        adapters = capable(CountsOutcomes, {collection}, skip_broken=True)
        corrected = read_each(
            adapters, lambda adapter: adapter.outcomes(workspace, ledger, facts, counts_by_outcome), unreadable
        )
        return next((outcome_counts for _, outcome_counts in corrected), counts_by_outcome)

    return ContentCounts(
        lambda facts: count_changes(lambda adapter: adapter.content_of_attempts(workspace, ledger, facts)),
        lambda facts: count_changes(lambda adapter: adapter.content(workspace, ledger, facts)),
        correct_outcomes,
        lambda facts: count_skipped(workspace, ledger, facts, unreadable), unreadable,
    )  # fmt: skip


def count_skipped(
    workspace: Workspace, ledger: Ledger, facts: tuple[int, int] | None, unreadable: dict[str, str] | None = None
) -> Mapping[str, int]:
    """Count by reason the records that could not be read in the attempts within `facts` (first, last).

    If `facts` is None, count those of all attempts, except at addresses whose later attempts could be read. Records
    that sessions report as left out are only counted if `facts` is None. For `unreadable`, see `read_each`.
    """
    counts: Counter[str] = Counter()
    adapters = capable(CountsSkipped, harvested_collections(workspace, ledger), skip_broken=True)
    for _, skipped in read_each(adapters, lambda adapter: adapter.count_skipped(workspace, facts), unreadable):
        counts.update(skipped)
    return counts


def session_changes(
    workspace: Workspace, ledger: Ledger, session: int, unreadable: dict[str, str]
) -> tuple[SourceChange, ...]:
    """Return the first changes that a session reports, at most one more than `MAX_SESSION_CHANGES`.

    Add to `unreadable` the name of each collection whose store cannot be read, and why.
    """
    window = Window(facts=ledger.sessions.reported_facts(session))
    reported = changes(workspace, ledger, window, skip_broken=True, unreadable=unreadable)
    return tuple(islice(reported, MAX_SESSION_CHANGES + 1))


def since_window(ledger: Ledger, since: datetime | None) -> Window | None:
    """Return the window of the changes that were seen since a time, or written by a session that ended since then.

    A session writes until it ends what it fetched before. One without an end is running or was killed. If `since` is
    None, the window is that of the last session, or None if that was killed. It is also None without any session.
    """
    last_session = ledger.sessions.latest()
    if last_session is None or (since is None and killed_session(ledger)):
        return None
    if since is None:
        return Window(facts=ledger.sessions.reported_facts(last_session))
    first = ledger.sessions.last_before(since)
    session = ledger.sessions.get(first)
    has_ended = session is None or (session.ended is not None and session.ended < since)
    return Window(since, (first + has_ended, ABOVE_EVERY_FACT))


def listing_changes(ledger: Ledger, collection: str, window: Window) -> Iterator[SourceChange]:
    """Yield the changes in a collection's listings: those since `window.since`, or else those in `window.facts`."""
    for change in ledger.mirrors.changes(collection, _listing_facts(window)):
        if window.since is not None and change.at < window.since:
            continue
        if window.until is not None and change.at >= window.until:
            continue
        kind = NEW if change.event in {"listed", "refused"} else change.event
        difference = counted(change.size, "byte") if change.size is not None else ""
        if kind == CHANGED and change.before != change.size:
            difference = f"size {_format_size(change.before)} -> {_format_size(change.size)}"
        elif kind == CHANGED:
            difference = "another date"
        yield SourceChange(
            change.at, change.source, collection, kind, change.key, change.path, "" if kind == GONE else difference,
            fact=change.seq,
        )  # fmt: skip


def _first_of_newest_listed(ledger: Ledger, collection: str, window: Window, most: int) -> int:
    return ledger.mirrors.first_of_newest(collection, _listing_facts(window), most)


def _listing_facts(window: Window) -> tuple[int, int]:
    first, last = window.facts if window.facts and window.since is None else ALL_FACTS
    return max(first, window.shown_by[0]), min(last, window.shown_by[1])


def _format_size(size: int | None) -> str:
    return "unknown" if size is None else counted(size, "byte")


def compare(workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Comparison:
    """Compare the versions of a page or record at two times, in the first collection that has `name`.

    `since` and `until` are times, or spans such as a month, whose end counts. An empty `until` means the latest
    version, and an empty `since` the version before it. `context` is the number of unchanged lines to show around
    changed ones. Raise UsageError for an invalid time, and WindrowError if no collection has the page or record.
    """
    for name_of_time, text in (("old", since), ("new", until)):
        if text and read_time_span(text) is None:
            raise UsageError(
                f"{name_of_time}: {text!r} is not a day, month, year or time", hint="2026-11-21, 2026-11 or 2026"
            )
    first_error: WindrowError | None = None
    harvested = harvested_collections(workspace)
    adapters = capable(Compares, harvested)
    for adapter in adapters.values():
        try:
            if comparison := adapter.compare(workspace, name, since, until, context=context):
                return comparison
        except WindrowError as error:  # a collection that does not take such names raises UsageError
            first_error = error if first_error is None or isinstance(first_error, UsageError) else first_error
    hint, message = f"windrow why {shlex.quote(name)}", f"no version of {name} is known"
    if uncompared := ", ".join(sorted({*harvested} - {*adapters})):
        first_error = None if isinstance(first_error, UsageError) else first_error
        message = f"{message} that can be compared: windrow does not compare files and records of {uncompared}"
    raise first_error or WindrowError(message, hint=hint, reason=Reason.NOT_FOUND)


def format_atom(
    changes: Sequence[SourceChange],
    name: str,
    now: datetime,
    *,
    identity: int,
    query: str = "",
    links: Mapping[str, str] | None = None,
) -> str:
    """Return an Atom feed (RFC 4287) with an entry for each change; `name` is the workspace's name.

    The feed's own time is the time of the latest change, or `now` if nothing changed. Its id is made of the name, the
    `identity` of the workspace's ledger, and `query`, which selects the changes. `links` are addresses by relation,
    such as `next` (RFC 5005).
    """
    updated = max((change.at for change in changes), default=now)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{xml_text(name)}: what changed</title>",
        f"<id>{_make_urn(f'{name} {identity}?{query}')}</id>",
        f"<updated>{_format_time(updated)}</updated>",
        *(f'<link rel="{relation}" href="{xml_text(address)}"/>' for relation, address in (links or {}).items()),
        "<author><name>windrow</name></author>",
    ]
    for change in changes:
        lines += [
            "<entry>",
            f"<title>{xml_text(f'{change.kind}: {change.title or change.key}')}</title>",
            f"<id>{_make_urn(identify(change))}</id>",
            f"<updated>{_format_time(change.at)}</updated>",
            f'<category term="{xml_text(change.kind)}"/>',
            *([f'<link href="{xml_text(address)}"/>'] if (address := find_address(change)) else []),
            f'<content type="text">{xml_text(_summarise_change(change))}</content>',  # required without a link
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>", ""])


def format_html(changes: Iterable[SourceChange], name: str) -> str:
    """Return an HTML page with a table row for each change; `name` is the workspace's name."""
    title = f"{xml_text(name)}: what changed"
    rows = [
        f"<tr><td>{change.at:%Y-%m-%d %H:%M}</td><td>{xml_text(change.source)}</td><td>{xml_text(change.kind)}</td>"
        f"<td>{_link(change)}</td><td>{xml_text(change.difference)}</td></tr>"
        for change in changes
    ]
    head = "<tr><th>when (UTC)</th><th>source</th><th>kind</th><th>what</th><th>difference</th></tr>"
    body = "\n".join([f"<table>{head}", *rows, "</table>"]) if rows else "<p>Nothing changed.</p>"
    begin = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n<h1>{title}</h1>'
    return f"{begin}\n{body}\n</html>\n"


def _link(change: SourceChange) -> str:
    text = xml_text(change.title or change.key)
    address = find_address(change)
    return f'<a href="{xml_text(address)}">{text}</a>' if address else text


def find_address(change: SourceChange) -> str:
    """Return the web address of a change, or "" if it has none."""
    return next((text for text in (change.url, change.key) if has_web_scheme(text)), "")


def _summarise_change(change: SourceChange) -> str:
    return f"{change.source}: {change.difference}" if change.difference else change.source


def _make_urn(text: str) -> str:
    return uuid5(NAMESPACE_URL, f"windrow changes {text}").urn


def _format_time(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
