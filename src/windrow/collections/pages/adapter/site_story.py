"""The story of a site: its origins, what is known of each, and what its robots.txt says now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.collections.pages.adapter.lookup import when
from windrow.collections.pages.adapter.open_summary import there
from windrow.collections.pages.adapter.page_story import Tombstone, tombstones
from windrow.collections.pages.adapter.rules import standing
from windrow.collections.pages.database.page_versions import Counted, Versions
from windrow.config import Workspace
from windrow.engine.clock import now
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.addresses import HostState
from windrow.model import Source
from windrow.politeness.robots_standing import RobotsState

_HOST = re.compile(r"(?:(?:[a-z0-9_-]{1,63}\.)+[a-z0-9_-]{1,63}|\[[0-9a-f:.]+\]|localhost)(?::[0-9]{1,5})?")


class OutcomeTally(NamedTuple):
    """How often one thing came of asking: a status of HTTP, or the reason why there was none.

    `latest` is the address that it came of last; it is empty where that was a robots.txt.
    """

    what: str
    visits: int
    meaning: str
    latest: str


class SiteOrigin(NamedTuple):
    """An origin: addresses known there, with a body, failing and due; `robots` says what its robots.txt allows now.

    `delay` is the seconds between requests that its robots.txt asks for.
    """

    origin: str
    source: str
    addresses: int
    pages: int
    failing: int
    due: int
    next_due: datetime | None
    asked: datetime | None
    robots: str
    delay: float | None
    came: tuple[OutcomeTally, ...]
    tombstones: tuple[Tombstone, ...]


class SiteState(NamedTuple):
    """A site or a host: where it begins, its origins, and its versions in the Summary Database."""

    name: str
    seeds: tuple[str, ...]
    origins: tuple[SiteOrigin, ...]
    versions: Counted


def site_of(workspace: Workspace, ledger: Ledger, source: Source) -> SiteState:
    """Tell of a source's site."""
    rows = ledger.addresses.host_states(source.name, "", int(now().timestamp()))
    return _site(workspace, ledger, (source.name, tuple(source.options["seeds"])), rows)


def site_at(workspace: Workspace, ledger: Ledger, host: str) -> SiteState | None:
    """Tell of a host's origins, whichever site they belong to; None where it is none that is known.

    A port may stand behind it; the address of a robots.txt means its origin.
    """
    name = host.lower().removesuffix("/robots.txt").removeprefix("http://").removeprefix("https://").rstrip("/.")
    if not _HOST.fullmatch(name):
        return None
    rows = ledger.addresses.host_states("", name, int(now().timestamp()))
    return _site(workspace, ledger, (name, ()), rows) if rows else None


def _site(
    workspace: Workspace, ledger: Ledger, named: tuple[str, tuple[str, ...]], hosts: Sequence[HostState]
) -> SiteState:
    sources = {source.name: source for source in workspace.sources}
    found = tuple(
        _origin(workspace, ledger, sources.get(one.source), one) for one in hosts if one.collection == "pages"
    )
    origins = [one.origin for one in found]
    with there(workspace) as engine:
        versions = Versions(engine).count(origins) if engine is not None else Counted(0, 0, 0, 0)
    return SiteState(*named, found, versions)


def _origin(workspace: Workspace, ledger: Ledger, source: Source | None, host: HostState) -> SiteOrigin:
    state = standing(workspace, ledger, source, host.origin) if source else None
    came = [
        OutcomeTally(one.reason or str(one.status), one.number, one.reason.meaning if one.reason else "", one.latest)
        for one in ledger.attempts.outcomes(host.seq)
    ]
    delay = state.robots.delay if state else None
    graves = tombstones(ledger, 0, host.seq)
    buried = any(one.lifted is None for one in graves)
    said = _robots(state) if state and host.asked and not buried else ""
    return SiteOrigin(
        host.origin, host.source, host.addresses, host.pages, host.failing, host.due, when(host.next_due), host.asked,
        said, delay, tuple(came), graves,
    )  # fmt: skip


def _robots(state: RobotsState) -> str:
    robots = state.robots
    if robots.refusal:
        return "could not be had, so nothing may be asked for"
    if not robots.rules:
        return "allows everything"
    refused = sum(not rule.allow for rule in robots.rules)
    return f"{refused} of {len(robots.rules)} rules for {robots.agent or 'us'} refuse something"
