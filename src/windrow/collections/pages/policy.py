"""May an address be asked for? All rules of a site, in one order, with the rule that decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.collections.pages import parameter
from windrow.collections.pages.code import SKIPPED, promises
from windrow.collections.pages.scope import Scope, path_pattern, target
from windrow.collections.pages.trap import GUARD, TrapRules, trapped
from windrow.formats.pattern import Pattern
from windrow.formats.robots import Robots
from windrow.formats.url import Parts, parts
from windrow.politeness.guard import describe_refusal
from windrow.politeness.host import host_fits, host_pattern
from windrow.reasons import Reason


class PolicyVerdict(NamedTuple):
    """Whether an address may be asked for: no reason, it may. `rule` is what decided, as it is written.

    `line` is the rule's line in robots.txt, counted from 1.
    """

    reason: Reason | None = None
    rule: str = ""
    line: int | None = None

    @property
    def allowed(self) -> bool:
        """Tell whether it may be asked for."""
        return self.reason is None


ALLOWED = PolicyVerdict()


def told(verdict: PolicyVerdict) -> str:
    """Say which rule refuses an address.

    >>> told(PolicyVerdict(Reason.ROBOTS_DENIED, "Disallow: /a", 4))
    'robots.txt, line 4: Disallow: /a'
    >>> told(PolicyVerdict(Reason.QUERY_DENIED, "q page"))
    'query parameters that no rule allows: q page'
    """
    words = {
        Reason.ROBOTS_DENIED: f"robots.txt, line {verdict.line}: {verdict.rule}",
        Reason.POLICY_DENIED: f"do_not_crawl: {verdict.rule}",
        Reason.QUERY_DENIED: f"query parameters that no rule allows: {verdict.rule}",
        Reason.TRAP: f"it looks like a trap: {verdict.rule}",
        Reason.OUT_OF_SCOPE: "none of the source's paths fits it" if verdict.rule else "",
        Reason.PRIVATE_ADDRESS: describe_refusal(verdict.rule, Reason.PRIVATE_ADDRESS),
        Reason.UNSUPPORTED: f"files that end in .{verdict.rule} are not read",
    }
    return (words.get(verdict.reason) or verdict.reason.meaning) if verdict.reason else ""


class Denied(NamedTuple):
    """One rule of `do_not_crawl`: a path's pattern, on one host or on all."""

    text: str
    host: str
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Policy:
    """What the workspace allows on a site."""

    scope: Scope
    denied: tuple[Denied, ...] = ()
    queries: tuple[parameter.AllowedParameters, ...] = ()
    skipped: frozenset[str] = field(default=SKIPPED, repr=False)
    guard: TrapRules = GUARD

    def ask(self, url: str, year: int) -> PolicyVerdict:
        """Judge a normal address by all rules but robots.txt; `year` is the present one.

        >>> from windrow.collections.pages.scope import scope
        >>> site = policy(scope(["https://example.org/"]), do_not_crawl=["/tag/"], url_query_parameters=["page"])
        >>> site.ask("https://example.org/tag/x", 2026)
        PolicyVerdict(reason=<Reason.POLICY_DENIED: 'policy_denied'>, rule='/tag/', line=None)
        >>> site.ask("https://example.org/?page=2", 2026).allowed
        True
        """
        return self.estimate(parts(url), year)

    def estimate(self, address: Parts, year: int) -> PolicyVerdict:
        """Judge an address in parts as `ask` does."""
        if not self.scope.holds(address):
            return PolicyVerdict(Reason.OUT_OF_SCOPE)
        if (verdict := self.denies(address)).reason:
            return verdict
        if address.query is not None and (verdict := self._query(address, target(address))).reason:
            return verdict
        if why := trapped(address, year, self.guard):
            return PolicyVerdict(Reason.TRAP, why)
        if not promises(address.path, self.skipped):
            return PolicyVerdict(Reason.UNSUPPORTED, address.path.rpartition(".")[2][:20])
        return ALLOWED

    def denies(self, address: Parts) -> PolicyVerdict:
        """Judge an address in parts by `do_not_crawl` alone."""
        where = target(address) if self.denied else ""
        for one in self.denied:
            if one.pattern.matches(where) and host_fits(one.host, address.host):
                return PolicyVerdict(Reason.POLICY_DENIED, one.text)
        return ALLOWED

    def judge(self, url: str, year: int, robots: Robots) -> PolicyVerdict:
        """Judge a normal address by all rules and, if they allow it, by its host's robots.txt."""
        verdict = self.ask(url, year)
        return verdict if verdict.reason else by_robots(url, robots)

    def _query(self, address: Parts, where: str) -> PolicyVerdict:
        """Judge the query: one rule must allow all its parameters."""
        given = parameter.names(address.query)
        if any(one.pattern.matches(where) and one.allows(given) for one in self.queries):
            return ALLOWED
        return PolicyVerdict(Reason.QUERY_DENIED, " ".join(dict.fromkeys(given))[:200])


def by_robots(url: str, robots: Robots) -> PolicyVerdict:
    """Judge a normal address by its host's robots.txt alone."""
    said = robots.ask("/" + url.split("/", 3)[3])
    return PolicyVerdict(said.reason, said.text, said.line) if said.line or said.reason else ALLOWED


def policy(
    site: Scope,
    *,
    do_not_crawl: Iterable[str] = (),
    url_query_parameters: Iterable[str] = (),
    skipped: frozenset[str] = SKIPPED,
    guard: TrapRules = GUARD,
) -> Policy:
    """Read a site's rules as they are written in TOML; what is not well written raises ConfigError."""
    denied = tuple(_denied(text) for text in do_not_crawl)
    return Policy(site, denied, tuple(map(parameter.rule, url_query_parameters)), skipped, guard)


def _denied(text: str) -> Denied:
    """Read `/path` or `*path`, which hold on all hosts, `host`, `host/path` or `.host/path`."""
    if text.startswith(("/", "*")):
        return Denied(text, "*", path_pattern(text, "do_not_crawl"))
    host, slash, rest = text.partition("/")
    return Denied(text, host_pattern(host, "do_not_crawl"), path_pattern(f"/{rest}" if slash else "/", "do_not_crawl"))
