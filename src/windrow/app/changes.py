"""What changed at the sources, and between two versions of one thing.

Every collection answers with the same values, for one list over all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice

from windrow.adapter import CHANGED, GONE, NEW, Compared, SourceChange, Window, harvested_collections
from windrow.app.summary import WhatWasRead
from windrow.config import Workspace
from windrow.engine.ledger import Ledger
from windrow.engine.requests.origin_rules import walked
from windrow.errors import UsageError, WindrowError
from windrow.formats.text import counted
from windrow.registry import capable, collection, installed

MOST = 1_000
"""Changes of one session that are handed on with its summary."""


def changes(
    workspace: Workspace, ledger: Ledger, window: Window, *, source: str = "", kind: str = ""
) -> Iterator[SourceChange]:
    """Yield what changed, collection by collection: at all sources or at one, of all kinds or of one.

    Raises UsageError for a source that nobody knows.
    """
    sources = {one.name: one.collection for one in workspace.sources}
    if source and source not in sources:
        raise UsageError(f"there is no source {source!r}", hint="windrow status")
    used = harvested_collections(workspace, ledger)
    for name in installed():
        if name in used and (not source or sources[source] == name):
            for one in _answers(name, workspace, ledger, window):
                if (not source or one.source == source) and (not kind or one.kind == kind):
                    yield one


def _answers(name: str, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
    if able := capable("changes", {name}):
        yield from able[name].changes(workspace, ledger, window)
    elif walked(collection(name)) is None:
        yield from of_listings(ledger, name, window)


def was_read(workspace: Workspace, ledger: Ledger) -> WhatWasRead:
    """Return what counts by what was read, for the collections whose bytes do not say all."""
    used = harvested_collections(workspace, ledger)

    def visited(facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for one in capable("content_of_visits", used).values():
            found |= one.content_of_visits(workspace, ledger, facts) or {}
        return found

    def written(facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for one in capable("content", used).values():
            found |= one.content(workspace, ledger, facts)
        return found

    def outcomes(name: str, facts: tuple[int, int], visited: Counter[str]) -> Counter[str]:
        able = capable("outcomes", {name})
        found: Counter[str] = able[name].outcomes(workspace, ledger, facts, visited) if able else visited
        return found

    return WhatWasRead(visited, written, outcomes)


def of_session(workspace: Workspace, ledger: Ledger, session: int) -> tuple[SourceChange, ...]:
    """Return the first changes that a session tells, `MOST` of them and one where there are more."""
    window = Window(facts=ledger.sessions.telling(session))
    return tuple(islice(changes(workspace, ledger, window), MOST + 1))


def since_window(ledger: Ledger, since: datetime) -> Window:
    """Return what was seen since a time, and what sessions that began later wrote of what was seen before."""
    return Window(since, (ledger.sessions.last_before(since) + 1, 2**62))


def of_listings(ledger: Ledger, collection: str, window: Window) -> Iterator[SourceChange]:
    """Yield what the listings of a collection's sources said."""
    facts = window.facts if window.facts and window.since is None else (0, 2**62)
    for one in ledger.listings.changes(collection, facts):
        if window.since is not None and one.at < window.since:
            continue
        kind = NEW if one.event == "listed" else one.event
        said = counted(one.size, "byte") if one.size is not None else ""
        if kind == CHANGED and one.before != one.size:
            said = f"size {_bytes(one.before)} -> {_bytes(one.size)}"
        elif kind == CHANGED:
            said = "another date"
        yield SourceChange(one.at, one.source, collection, kind, one.key, one.path, "" if kind == GONE else said)


def _bytes(size: int | None) -> str:
    return "unknown" if size is None else counted(size, "byte")


def compare(workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Compared:
    """Compare two versions of what is named; the first collection that knows it answers."""
    last: WindrowError = UsageError("no collection of this workspace compares versions", hint="windrow status")
    for one in capable("compare", harvested_collections(workspace)).values():
        try:
            found: Compared = one.compare(workspace, name, since, until, context=context)
        except WindrowError as error:
            last = error
        else:
            return found
    raise last
