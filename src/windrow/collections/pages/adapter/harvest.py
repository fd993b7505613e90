"""The crawl of a workspace: its sites, its user agent, and whether the rules allow an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, permutations
from typing import NamedTuple

from windrow.archive import open_response
from windrow.clock import now
from windrow.collections.pages.adapter.crawler_projection import CrawlerProjection
from windrow.collections.pages.adapter.page_sources import PageSources
from windrow.collections.pages.adapter.search_index import make_index_phase
from windrow.collections.pages.code import CrawlType
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.soft_404s import count_suspects, find_doubtful
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.database.writer import read_mark
from windrow.collections.pages.discover import make_site_policy
from windrow.collections.pages.policy import PolicyVerdict, describe_verdict, judge_by_robots
from windrow.collections.pages.settings import Pages
from windrow.config import Value, Workspace
from windrow.engine.run import Derived, Harvest
from windrow.errors import ConfigError, UsageError, WindrowError
from windrow.fetch.politeness import robots_state
from windrow.fetch.politeness.user_agent import user_agent
from windrow.formats.http import decode_body
from windrow.formats.robots import MAX_BYTES
from windrow.formats.url import normalise_typed, parts
from windrow.ledger import Ledger
from windrow.ledger.sessions import RuleCount
from windrow.model import ArchivePlace, Source
from windrow.reasons import Reason
from windrow.stores.index.folder import refuse_foreign
from windrow.stores.sqlite import SqliteReader, close_on_failure
from windrow.stores.store_mark import StoreMark


def harvest(workspace: Workspace) -> Harvest:
    """Make the harvest of the configured sites, and open its databases.

    Raises ConfigError if the index's folder has other contents, or if there is a site but no valid user agent.
    """
    site_sources = [source for source in workspace.sources if source.collection == COLLECTION.name]
    agent = require_agent(workspace) if site_sources else find_agent(workspace)
    sources = tuple(replace(source, site=replace(source.site, agent=agent)) for source in site_sources)
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
        derivations={"index": partial(_index, workspace)},
        limits=section.limits,
    )


_SUSPECT_RULE = (
    "several addresses have the same text, without a word of these addresses, or in place of different texts"
    " (is:soft-404 finds them)"
)


def _index(workspace: Workspace, pulse: Callable[[], bool]) -> Derived:
    """Update the search index; return what was done, and how many pages searches leave out as suspected soft 404s.

    Pages whose text a suspected one replaced are requested again soon.
    """
    section = workspace.section(Pages)
    message = make_index_phase(section.summary_database, section.index)(pulse)
    message = "; ".join(filter(None, [message, find_mixed_changes(workspace.of(COLLECTION.name))]))
    if not section.summary_database.is_file():
        return Derived(message)
    with closing(SqliteReader(section.summary_database)) as reader, reader.reading() as connection:
        suspects = count_suspects(connection)
        doubtful = find_doubtful(connection) if suspects else {}
    if not suspects:
        return Derived(message)
    with closing(Ledger(workspace.ledger)) as ledger:
        if doubtful:
            attempts = ledger.attempts.by_numbers(list(doubtful))
            with ledger.writing() as writer:
                for recorded in attempts:
                    writer.addresses.make_due_by(recorded.seq, doubtful[recorded.seq])
        sources = PageSources(workspace, ledger)
        counts = [
            RuleCount(sources.of_page(example) or origin, Reason.SOFT_404, _SUSPECT_RULE, page_count, example)
            for origin, page_count, example in suspects
        ]
    return Derived(message, left_out=tuple(counts))


_IGNORING = ("ignore", "ignore_text")


def find_mixed_changes(sources: Iterable[Source]) -> str:
    """Describe the first pages that two sources request, but read differently; return "" if there are none.

    A page has one history, so it changes each time that the other source has read it. Only sources whose seeds have the
    same origin are compared.
    """
    by_origin: dict[str, list[Source]] = {}
    for source in sources:
        for origin in {parts(seed).origin for seed in source.options["seeds"]}:
            by_origin.setdefault(origin, []).append(source)
    pairs = chain.from_iterable(permutations(group, 2) for group in by_origin.values() if len(group) > 1)
    for source, other in pairs:
        if all(source.options.get(name) == other.options.get(name) for name in _IGNORING):
            continue
        policy = make_site_policy(other)
        for seed in source.options["seeds"]:
            if policy.judge_without_robots(seed, now().year).allowed:
                return (
                    f"{source.name} and {other.name} may both request {seed}, and ignore different texts in it, so that"
                    " each run may report changes that are none: give them different paths"
                )
    return ""


def require_agent(workspace: Workspace) -> str:
    """Return the user agent; raise ConfigError if a setting that it is composed of is missing or malformed."""
    section: Pages = workspace.section(Pages)
    try:
        return user_agent(section.operator, section.contact, section.user_agent)
    except ConfigError as error:
        name, _, problem = str(error).partition(": ")
        setting = _find_setting(workspace, name)
        hint = _suggest_setting(workspace, setting)
        raise ConfigError(f"{_describe_setting(setting)}: {problem}", hint=hint) from None


def _find_setting(workspace: Workspace, name: str) -> Value:
    """Return the setting with this name in [pages], or the workspace's if only that one is set."""
    settings = {setting.name: setting for setting in workspace.values}
    own_setting, workspace_setting = settings[f"pages.{name}"], settings.get(name)
    if own_setting.origin == "default" and workspace_setting is not None and workspace_setting.value:
        return workspace_setting
    return own_setting


def find_agent(workspace: Workspace) -> str:
    """Return the user agent, or "" if a setting for it is missing or malformed.

    The user agent is needed even if nothing is crawled, because pages may have robots directives that name it.
    """
    try:
        return require_agent(workspace)
    except ConfigError:
        return ""


def _describe_setting(setting: Value) -> str:
    if setting.origin == "default":
        return f"windrow.toml: {setting.name} is missing"
    return f"{setting.origin}: {setting.name}"


def _suggest_setting(workspace: Workspace, setting: Value) -> str:
    key = setting.name.rpartition(".")[2]
    example = {"operator": "example", "contact": "https://example.org/our-crawler"}.get(key)
    config_path = workspace.root / "windrow.toml"
    if setting.origin.startswith("env "):
        return f"unset {setting.origin.removeprefix('env ')}"
    location = "below [pages] in" if "." in setting.name else "at the top of"
    return f'{key} = "{example}" {location} {config_path}' if example else f"edit {config_path}"


def require_ready(workspace: Workspace) -> None:
    """Raise ConfigError if there is no valid user agent, or if the index's folder has other contents."""
    require_agent(workspace)
    refuse_foreign(workspace.section(Pages).index)


def check_source(workspace: Workspace, source: Source) -> None:
    """Raise UsageError if another source of pages shares a seed with `source`: it would be requested for both."""
    for other_source in workspace.sources:
        if other_source.collection != source.collection or other_source.name == source.name:
            continue
        if shared_seeds := set(other_source.options["seeds"]) & set(source.options["seeds"]):
            raise UsageError(
                f"{min(shared_seeds)} is already a seed of the source {other_source.name}", hint="windrow config"
            )


def marks(workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
    """Return how to read how far the Summary Database and the crawler database go, and of which ledger they are."""
    del ledger
    section = workspace.section(Pages)
    paths = (section.summary_database, section.crawler_database)
    return {path.name: partial(read_mark, path) for path in paths if path.is_file()}


def update_projection(workspace: Workspace, ledger: Ledger) -> None:
    """Do nothing: the standard does not have a table for an operator's decisions about addresses."""
    del workspace, ledger


def predict(workspace: Workspace, name: str) -> str:
    """Return the end of the message about an unknown address: that the address belongs to none of the sites.

    The result is empty if `name` is not a web address, or if the workspace has no sites.
    """
    if workspace.of(COLLECTION.name) and normalise_typed(name):
        return "; the address belongs to none of the sites of this workspace"
    return ""


_MAX_ROBOTS_ANSWERS = 20
"""The maximum number of recent answers that are read to find the robots.txt in force."""


class Judgement(NamedTuple):
    """The verdict of the rules on an address now.

    `source` is the name of the source by whose rules the address was judged, or empty if the address is on none of the
    sites' hosts. `reason` is why the address may not be requested, or None if it may be. `rule` describes the rule that
    refuses the address, or is empty.
    """

    source: str
    reason: Reason | None
    rule: str


def judge_address(workspace: Workspace, ledger: Ledger, url: str, kinds: Mapping[str, int]) -> Judgement:
    """Judge a normalised address by the present rules of the sources, without a request.

    `kinds` is a dict from the name of each source that has the address in the ledger to the address's crawl type. If
    some of these sources are configured, only their rules are applied, otherwise those of all sources whose hosts
    include the address. The result is that of the first source that may request the address. If none may, it is that of
    the first source whose paths include it, or else of the first whose hosts include it.
    """
    sites = {source.name: source for source in workspace.of(COLLECTION.name)}
    address, year, private_host = parts(url), now().year, _judge_private_host(ledger, url)
    robots = find_robots_in_force(workspace, ledger, address.origin).robots
    refusals = []
    for source in [sites[name] for name in kinds if name in sites] or sites.values():
        policy, kind = make_site_policy(source), kinds.get(source.name, CrawlType.FILE_CRAWL)
        verdict = policy.judge_without_robots(url, year, kind)
        if verdict.reason is Reason.OUT_OF_SCOPE and policy.scope.owns(address):
            verdict = verdict._replace(rule="paths")
        elif verdict.reason is Reason.OUT_OF_SCOPE:
            continue
        elif verdict.allowed:
            verdict = private_host or judge_by_robots(url, robots)
        if verdict.allowed and not source.part.has_origin(address.origin):
            verdict = PolicyVerdict(Reason.OTHER_PART, source.part.describe(address.origin))
        judgement = Judgement(source.name, verdict.reason, describe_verdict(verdict))
        if verdict.allowed:
            return judgement
        refusals.append(judgement)
    none = Judgement("", Reason.OUT_OF_SCOPE, "it belongs to none of the sites of this workspace")
    return min(refusals, key=lambda refusal: refusal.reason is Reason.OUT_OF_SCOPE, default=none)


def _judge_private_host(ledger: Ledger, url: str) -> PolicyVerdict | None:
    attempts = ledger.attempts.of_rules(parts(url).origin, "pages", int(CrawlType.ROBOTSTXT_FETCH), 1)
    if attempts and attempts[0].reason is Reason.PRIVATE_ADDRESS:
        return PolicyVerdict(Reason.PRIVATE_ADDRESS, parts(url).host)
    return None


def find_robots_in_force(workspace: Workspace, ledger: Ledger, origin: str) -> robots_state.RobotsState:
    """Return the robots.txt in force at an origin for the crawler, computed from its latest answers in the ledger.

    Before the first answer, everything is allowed. As in a crawl, a redirect that was followed is not an answer, and an
    answer that failed counts as none, unless it was only too large.
    """
    agent = find_agent(workspace) or workspace.user_agent
    kind = int(CrawlType.ROBOTSTXT_FETCH)
    attempts = ledger.attempts.of_rules(origin, "pages", kind, _MAX_ROBOTS_ANSWERS)
    state, hops = robots_state.NEW_STATE, 0
    for attempt in reversed(attempts):
        if robots_state.redirect_target(attempt.status or 0, attempt.location, attempt.url, hops):
            hops += 1
            continue
        hops = 0
        status = attempt.status if attempt.reason in {None, Reason.TOO_LARGE} else None
        content = _read_body(workspace, attempt.place) if attempt.place else b""
        answered_at = attempt.started.timestamp() + attempt.seconds
        state = robots_state.update_state(state, status=status, content=content, agent=agent, now=answered_at)
    if state is robots_state.NEW_STATE:  # as for a site without a robots.txt
        return robots_state.update_state(robots_state.NEW_STATE, status=404, content=b"", agent="", now=0.0)
    return state


def _read_body(workspace: Workspace, place: ArchivePlace) -> bytes:
    """Return the decompressed body of a robots.txt in the archive, or empty bytes if it cannot be read."""
    try:
        capture = open_response(workspace.archive.folder, place)
        with capture.view as view:
            codings = {name: capture.fields[name] for name in ("content-encoding",) if name in capture.fields}
            limits = workspace.section(Pages).limits
            return decode_body(view.read(2 * MAX_BYTES), codings, most=limits.member_size, ratio=limits.ratio)[0]
    except WindrowError:
        return b""
