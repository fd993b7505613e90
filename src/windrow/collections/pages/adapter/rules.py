"""Which rule speaks on an address now: the sites' own, and the robots.txt that its origin gave last."""

from __future__ import annotations

from typing import NamedTuple

from windrow.collections.pages.code import CrawlType
from windrow.collections.pages.discover import site
from windrow.collections.pages.policy import PolicyVerdict, by_robots, told
from windrow.collections.pages.settings import pages_of
from windrow.config import Workspace
from windrow.engine.clock import now
from windrow.engine.ledger import Ledger
from windrow.errors import WindrowError
from windrow.formats.coding import plain
from windrow.formats.robots import CAP
from windrow.formats.url import parts
from windrow.model import ArchivePlace, Source
from windrow.politeness import robots_standing
from windrow.reasons import Reason
from windrow.stores.archive import open_response

_LOOKED_AT = 20
"""Answers to the question for robots.txt that are gone through: the last of them that holds counts for a day."""


class Judged(NamedTuple):
    """What the rules say of an address now.

    `source` is the site it belongs to, empty for none. `why` is the rule in words, empty where it may be
    asked for.
    """

    source: str
    reason: Reason | None
    why: str


def judge(workspace: Workspace, ledger: Ledger, url: str, *, beside: str = "") -> Judged:
    """Run the rules of the workspace's sites on a normal address again, without asking anybody.

    `beside` is the source whose pages need the address, where it is an asset of theirs.
    """
    if beside and (owner := workspace.source(beside)):
        verdict = site(owner).denies(parts(url))
        if verdict.allowed:
            verdict = _private(ledger, url) or by_robots(
                url, standing(workspace, ledger, owner, parts(url).origin).robots
            )
        return Judged(beside, verdict.reason, told(verdict))
    found = Judged("", Reason.OUT_OF_SCOPE, "it belongs to none of the sites of this workspace")
    year = now().year
    for source in workspace.sources:
        if source.collection != "pages":
            continue
        policy = site(source)
        verdict = policy.ask(url, year)
        if verdict.reason is Reason.OUT_OF_SCOPE:
            continue
        if verdict.allowed:
            robots = standing(workspace, ledger, source, parts(url).origin).robots
            verdict = _private(ledger, url) or policy.judge(url, year, robots)
        return Judged(source.name, verdict.reason, told(verdict))
    return found


def _private(ledger: Ledger, url: str) -> PolicyVerdict | None:
    """Return the verdict on a host that was last found inside a private network: its robots.txt was never asked for."""
    visits = ledger.attempts.of_rules(parts(url).origin, "pages", int(CrawlType.ROBOTSTXT_FETCH), 1)
    if visits and visits[0].reason is Reason.PRIVATE_ADDRESS:
        return PolicyVerdict(Reason.PRIVATE_ADDRESS, parts(url).host)
    return None


def standing(workspace: Workspace, ledger: Ledger, source: Source, origin: str) -> robots_standing.RobotsState:
    """Return the robots.txt that is in force at an origin, from what it answered so far.

    Before its first answer all is allowed here: nobody knows what it says.
    """
    kind = int(CrawlType.ROBOTSTXT_FETCH)
    visits = ledger.attempts.of_rules(origin, "pages", kind, _LOOKED_AT)
    state = robots_standing.NEW
    for one in reversed(visits):
        content = _content(workspace, one.place) if one.warc else b""
        at = one.started.timestamp()
        state = robots_standing.updated(state, status=one.status, content=content, agent=source.site.agent, now=at)
    return state if visits else robots_standing.updated(robots_standing.NEW, status=404, content=b"", agent="", now=0.0)


def _content(workspace: Workspace, place: ArchivePlace) -> bytes:
    """Return the rules of a kept answer, without the coding they came in; nothing where that cannot be had."""
    try:
        kept = open_response(workspace.archive.folder, place)
        with kept.view as view:
            codings = {name: kept.fields[name] for name in ("content-encoding",) if name in kept.fields}
            limits = pages_of(workspace.sections).limits
            return plain(view.read(2 * CAP), codings, most=limits.member, ratio=limits.ratio)
    except WindrowError:
        return b""
