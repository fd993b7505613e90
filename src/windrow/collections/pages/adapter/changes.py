"""What changed on the pages of the sites: the versions that began or ended, as the Summary Database tells them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import sqlalchemy as sa

from windrow.adapter import CHANGED, GONE, NEW, SourceChange, Window
from windrow.collections.pages.adapter.editions import contents
from windrow.collections.pages.adapter.open_summary import there
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.database.page_versions import NONE, PageVersion, Timeline, Versions, ended, timelines
from windrow.collections.pages.database.sound import reached
from windrow.collections.pages.difference import difference
from windrow.config import Workspace
from windrow.engine.ledger import Ledger
from windrow.formats.url import parts

COLLECTION = "pages"
MOVED = "moved"


class VersionChange(NamedTuple):
    """What happened at an address: `before` and `after` are its versions then, None for none."""

    at: int
    kind: str
    before: PageVersion | None
    after: PageVersion | None


def changes(workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
    """Yield the pages that came, changed in text or description, or went, in no order."""
    sources = {host.origin: host.source for host in ledger.addresses.hosts(COLLECTION)}
    with there(workspace) as engine:
        if engine is None:
            return
        reader = Versions(engine)
        since = int(window.since.timestamp()) if window.since else None if window.facts else 0
        for line in timelines(engine, since=since, sessions=window.facts or NONE):
            for turn in turns(line):
                shown = turn.after or turn.before
                assert shown is not None
                yield SourceChange(
                    datetime.fromtimestamp(turn.at, UTC),
                    sources.get(parts(line.url).origin, ""),
                    COLLECTION,
                    turn.kind,
                    line.url,
                    shown.title or shown.headline or "",
                    _said(reader, turn),
                )


def turns(line: Timeline) -> Iterator[VersionChange]:
    """Yield what happened at an address within the window.

    A redirect is no page: only that a page became one, or one a page, is told. A page is gone when its version ends
    and no other begins then; after that, its absence is nothing new.
    """
    before: PageVersion | None = None
    for number, one in enumerate(line.versions):
        replaced = before is not None and before.end == one.first
        if one.first in line.visited:
            if replaced:
                yield VersionChange(one.first, CHANGED, before, one)
            elif one.redirect is None:
                yield VersionChange(one.first, NEW, before, one)
        after = line.versions[number + 1] if number + 1 < len(line.versions) else None
        ended = one.end is not None and (after is None or after.first != one.end)
        if ended and one.end is not None and one.end in line.visited and one.redirect is None:
            yield VersionChange(one.end, GONE, one, None)
        before = one


def _said(reader: Versions, turn: VersionChange) -> str:
    """Say in a line what is other than before."""
    if turn.kind == CHANGED and turn.before is not None and turn.after is not None:
        return str(difference(contents(reader, turn.before), contents(reader, turn.after)))
    if turn.kind == NEW and turn.before is not None and turn.before.end is not None:
        return f"there again; it was gone on {datetime.fromtimestamp(turn.before.end, UTC):%Y-%m-%d}"
    return ""


def outcomes(workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]) -> Counter[str]:
    """Count how the questions between two facts ended: what was read was ingested, whatever its server calls it."""
    unread, ingested = (code.name.lower() for code in (ExitCode.FILE_OF_UNKNOWN_TYPE, ExitCode.FILE_INGESTED))
    with there(workspace) as engine:
        if not counted[unread] or engine is None or not _is_read(engine, ledger, facts):
            return counted
        read = max(0, counted[unread] - ended(engine, facts, ExitCode.FILE_OF_UNKNOWN_TYPE))
    found = counted.copy()
    found.update({unread: -read, ingested: read})
    return +found


def _is_read(engine: sa.Engine, ledger: Ledger, facts: tuple[int, int]) -> bool:
    return reached(engine) >= min(facts[1], ledger.attempts.last_visit())


def content(workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
    """Count the pages of each source that came, changed or went, as sessions between two facts wrote it."""
    with there(workspace) as engine:
        return {} if engine is None else _count(ledger, timelines(engine, sessions=facts))


def content_of_visits(
    workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
) -> Mapping[str, Counter[str]] | None:
    """Count the pages of each source that came, changed, went or moved, by what was read of visits between two facts.

    None where not all that was asked for in that time has been read yet.
    """
    with there(workspace) as engine:
        if engine is None or not _is_read(engine, ledger, facts):
            return None
        return _count(ledger, timelines(engine, visits=facts))


def _count(ledger: Ledger, lines: Iterable[Timeline]) -> Mapping[str, Counter[str]]:
    sources = {host.origin: host.source for host in ledger.addresses.hosts(COLLECTION)}
    found: dict[str, Counter[str]] = {name: Counter() for name in sources.values()}
    for line in lines:
        source = sources.get(parts(line.url).origin)
        if source is not None:
            found[source].update(turn.kind for turn in turns(line))
            # a page may send its readers on by itself: it moved, though its answer is one of a page
            found[source][MOVED] += sum(
                one.redirect is not None and one.kind is not None and one.first in line.visited for one in line.versions
            )
    return found
