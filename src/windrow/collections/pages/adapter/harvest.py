"""The crawl of a workspace: its sites, its user agent, and the verdict of the rules on an address."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from windrow.archive import open_response
from windrow.clock import now
from windrow.collections.pages.adapter.crawler_projection import CrawlerProjection
from windrow.collections.pages.adapter.search_index import follower
from windrow.collections.pages.code import CrawlType
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.discover import site
from windrow.collections.pages.policy import PolicyVerdict, describe_verdict, judge_by_robots
from windrow.collections.pages.settings import Pages
from windrow.config import Value, Workspace
from windrow.engine.run import Harvest
from windrow.errors import ConfigError, UsageError, WindrowError
from windrow.fetch.politeness import robots_state
from windrow.fetch.politeness.user_agent import user_agent
from windrow.formats.http import decode_body
from windrow.formats.robots import MAX_BYTES
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Source
from windrow.reasons import Reason
from windrow.stores.index.folder import refuse_foreign
from windrow.stores.sqlite import close_on_failure


def harvest(workspace: Workspace) -> Harvest:
    """Make the harvest of the configured sites; raise ConfigError without an operator.

    If no site is configured, no requests are sent, and no operator is needed.
    """
    named = [source for source in workspace.sources if source.collection == COLLECTION.name]
    agent = agent_of(workspace) if named else agent_known(workspace)
    sources = tuple(replace(source, site=replace(source.site, agent=agent)) for source in named)
    section = workspace.section(Pages)
    refuse_foreign(section.index)
    projection = CrawlerProjection(
        section.crawler_database,
        agent,
        archive=workspace.archive.folder if section.file_text else None,
        summary=section.summary_database,
    )
    with close_on_failure(projection.close):
        store = SummaryStore(section.summary_database)
    return Harvest(
        COLLECTION,
        sources,
        options={"agent": agent},
        projection=projection,
        version_store=store,
        derivations={"index": follower(section.summary_database, section.index)},
        limits=section.limits,
    )


def agent_of(workspace: Workspace) -> str:
    """Return the user agent, with operator and contact; raise ConfigError if a setting for it is missing or wrong."""
    section: Pages = workspace.section(Pages)
    try:
        return user_agent(section.operator, section.contact, section.user_agent)
    except ConfigError as error:
        name, _, expected = str(error).partition(": ")
        value = _find_setting(workspace, name)
        raise ConfigError(f"{_describe_setting(value)}: {expected}", hint=_suggest_setting(workspace, value)) from None


def _find_setting(workspace: Workspace, name: str) -> Value:
    """Return a setting of [pages], or the workspace's setting of this name if [pages] leaves it at its default."""
    values = {setting.name: setting for setting in workspace.values}
    value, workspace_value = values[f"pages.{name}"], values.get(name)
    return (
        workspace_value
        if value.origin == "default" and workspace_value is not None and workspace_value.value
        else value
    )


def agent_known(workspace: Workspace) -> str:
    """Return the user agent; empty if none is configured. Robots directives may name it even without a crawl."""
    try:
        return agent_of(workspace)
    except ConfigError:
        return ""


def _describe_setting(value: Value) -> str:
    """Describe where a setting was set, or that it is missing."""
    if value.origin == "default":
        return f"windrow.toml: {value.name} is missing"
    return f"{value.origin}: {value.name}"


def _suggest_setting(workspace: Workspace, value: Value) -> str:
    word = value.name.rpartition(".")[2]
    example = {"operator": "example", "contact": "https://example.org/our-crawler"}.get(word)
    config_path = workspace.root / "windrow.toml"
    if value.origin.startswith("env "):
        return f"unset {value.origin.removeprefix('env ')}"
    part = "below [pages] in" if "." in value.name else "at the top of"
    return f'{word} = "{example}" {part} {config_path}' if example else f"edit {config_path}"


def require_ready(workspace: Workspace) -> None:
    """Raise ConfigError without an operator and contact, or if the index's folder has other contents."""
    agent_of(workspace)
    refuse_foreign(workspace.section(Pages).index)


def check_source(workspace: Workspace, source: Source) -> None:
    """Raise UsageError if a seed is one of another source too: each origin is crawled for one source."""
    for other_source in workspace.sources:
        if other_source.collection != source.collection or other_source.name == source.name:
            continue
        if shared_seeds := set(other_source.options["seeds"]) & set(source.options["seeds"]):
            raise UsageError(f"{min(shared_seeds)} is a seed of {other_source.name} already", hint="windrow config")


def update_projection(workspace: Workspace, ledger: Ledger) -> None:
    """Do nothing: an operator's decision about addresses is not a crawl, and the standard has no table for it."""
    del workspace, ledger


def predict(workspace: Workspace, name: str) -> str:
    """Return the end of a message on why an address is not known; empty for any other name."""
    if workspace.of(COLLECTION.name) and name.startswith(("http://", "https://")):
        return "; the address belongs to none of the sites of this workspace"
    return ""


_LOOKED_AT = 20
"""Most answers for robots.txt that are read: the last valid one stays in force for a day."""


class Judged(NamedTuple):
    """The verdict of the rules on an address now.

    `source` is the site that it belongs to, or empty. `why` describes the rule that refuses it; empty if it may be
    requested.
    """

    source: str
    reason: Reason | None
    why: str


def judge(workspace: Workspace, ledger: Ledger, url: str, *, beside: str = "") -> Judged:
    """Judge a normal address by the rules of the workspace's sites again, without any request.

    If the address is an asset, `beside` is the source whose pages need it.
    """
    if beside and (owner := workspace.source(beside)):
        verdict = site(owner).denies(parts(url))
        if verdict.allowed:
            verdict = _judge_private_host(ledger, url) or judge_by_robots(
                url, robots_in_force(workspace, ledger, owner, parts(url).origin).robots
            )
        return Judged(beside, verdict.reason, describe_verdict(verdict))
    judgement = Judged("", Reason.OUT_OF_SCOPE, "it belongs to none of the sites of this workspace")
    year = now().year
    for source in workspace.sources:
        if source.collection != "pages":
            continue
        policy = site(source)
        verdict = policy.judge_without_robots(url, year)
        if verdict.reason is Reason.OUT_OF_SCOPE:
            continue
        if verdict.allowed:
            robots = robots_in_force(workspace, ledger, source, parts(url).origin).robots
            verdict = _judge_private_host(ledger, url) or policy.judge(url, year, robots)
        return Judged(source.name, verdict.reason, describe_verdict(verdict))
    return judgement


def _judge_private_host(ledger: Ledger, url: str) -> PolicyVerdict | None:
    """Return the verdict on a host that resolved to a private network: its robots.txt was never requested."""
    attempts = ledger.attempts.of_rules(parts(url).origin, "pages", int(CrawlType.ROBOTSTXT_FETCH), 1)
    if attempts and attempts[0].reason is Reason.PRIVATE_ADDRESS:
        return PolicyVerdict(Reason.PRIVATE_ADDRESS, parts(url).host)
    return None


def robots_in_force(workspace: Workspace, ledger: Ledger, source: Source, origin: str) -> robots_state.RobotsState:
    """Return the robots.txt in force at an origin, from its answers so far.

    Before the first answer, everything is allowed, because its rules are unknown.
    """
    kind = int(CrawlType.ROBOTSTXT_FETCH)
    attempts = ledger.attempts.of_rules(origin, "pages", kind, _LOOKED_AT)
    state = robots_state.NEW_STATE
    for attempt in reversed(attempts):
        content = _read_body(workspace, attempt.place) if attempt.place else b""
        answered_at = attempt.started.timestamp()
        state = robots_state.update_state(
            state, status=attempt.status, content=content, agent=source.site.agent, now=answered_at
        )
    return (
        state
        if attempts
        else robots_state.update_state(robots_state.NEW_STATE, status=404, content=b"", agent="", now=0.0)
    )


def _read_body(workspace: Workspace, place: ArchivePlace) -> bytes:
    """Return the decoded body of a kept robots.txt; empty if it cannot be read."""
    try:
        response = open_response(workspace.archive.folder, place)
        with response.view as view:
            codings = {name: response.fields[name] for name in ("content-encoding",) if name in response.fields}
            limits = workspace.section(Pages).limits
            return decode_body(view.read(2 * MAX_BYTES), codings, most=limits.member_size, ratio=limits.ratio)
    except WindrowError:
        return b""
