"""May an address be asked for? All rules of a site in one order, guards against endless rows of pages among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.collections.pages import scope
from windrow.collections.pages.code import SKIPPED, promises
from windrow.collections.pages.scope import AllowedParameters, Scope, names, path_pattern, target
from windrow.fetch.politeness.guard import describe_refusal, host_fits, host_pattern
from windrow.formats.robots import Pattern, Robots
from windrow.formats.url import Parts, parts
from windrow.reasons import Reason

_PATH = re.compile(r"/(?:(\d{4})/(?:0?[1-9]|1[0-2])|(\d{4})-(?:0?[1-9]|1[0-2])(?:-\d{1,2})?)(?=/|\Z)", re.ASCII)
_QUERY = re.compile(
    r"(?:^|&)[^=&]*=(\d{4})-(?:0?[1-9]|1[0-2])(?:-\d{1,2})?(?!\d)"
    r"|(?:^|&)(?:[a-z]*[_-])?(?:year|yr|jahr|annee|ano)=(\d{4})(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_SAMPLED = 30  # of so many new pages one is looked at, until one brings nothing: a look takes a tenth of a millisecond
_SAME = 120  # pages in a row that bring nothing new, before an origin is found endless
_LARGE = 1 << 18  # bytes of a page that is not looked at: nobody generates such without content
_SHORT = 500  # bytes of a text whose numbers do not make it another one: a calendar's, a counter's
_KEPT = 10_000  # texts remembered
_ERA = range(1500, 3000)  # other numbers of four digits are no years


class TrapRules(NamedTuple):
    """How far addresses may go. `years` holds for dates that an address names, counted from this year."""

    depth: int = 16  # segments of a path
    repeats: int = 3  # times that a segment may occur in a path
    segment: int = 255  # characters of a segment
    parameters: int = 8
    first: int = 1900  # year
    ahead: int = 1  # years


GUARD = TrapRules()


def trapped(address: Parts, year: int, guard: TrapRules = GUARD) -> str:
    """Return why an address looks like a trap, or an empty text. `year` is the present one.

    >>> from windrow.formats.url import parts
    >>> trapped(parts("https://example.org/events/2099/07/"), 2026)
    'a date in 2099'
    >>> trapped(parts("https://example.org/a/b/a/b/a/b/a/b"), 2026)
    "the segment 'a' 4 times"
    >>> trapped(parts("https://example.org/2024/07/a"), 2026)
    ''
    """
    return _path(address.path, guard) or _query(address.query, guard) or _date(address, year, guard)


def _path(path: str, guard: TrapRules) -> str:
    """Look at the segments of a path."""
    segments = [one for one in path.split("/") if one]
    if len(path) <= guard.segment and len(set(segments)) == len(segments) <= guard.depth:
        return ""
    if len(segments) > guard.depth:
        return f"{len(segments)} segments"
    if len(max(segments, key=len, default="")) > guard.segment:
        return f"a segment of more than {guard.segment} characters"
    segment, count = Counter(segments).most_common(1)[0] if len(segments) > guard.repeats else ("", 0)
    return f"the segment {segment[:40]!r} {count} times" if count > guard.repeats else ""


def _query(query: str | None, guard: TrapRules) -> str:
    """Look at the parameters of a query."""
    if not query:
        return ""
    given = names(query)
    if len(given) > guard.parameters:
        return f"{len(given)} parameters"
    name, count = Counter(given).most_common(1)[0] if len(given) > guard.repeats else ("", 0)
    return f"the parameter {name[:40]!r} {count} times" if count > guard.repeats else ""


def _date(address: Parts, year: int, guard: TrapRules) -> str:
    """Look at the dates that an address names."""
    told = _PATH.findall(address.path) + (_QUERY.findall(address.query) if address.query else [])
    for one, other in told:
        named = int(one or other)
        if named in _ERA and not guard.first <= named <= year + guard.ahead:
            return f"a date in {named}"
    return ""


def _without_tags(body: bytes) -> bytes:
    """Return what is outside of tags; one ends at its `>`, else where the next begins.

    >>> _without_tags(b"a<b>c > d<e<f>g<h")
    b'ac > dg'
    """
    first, *others = body.split(b"<")
    return b"".join((first, *[one.partition(b">")[2] for one in others]))


class NoveltyCount:
    """What the new addresses of an origin bring: a text that another one had before says nothing new.

    >>> row = NoveltyCount()
    >>> [row.endless(b"<p>No events in %d. <a href=%d>" % (at, at + 1)) for at in range(1964, 2164)].index(True)
    178
    >>> row.known
    True
    """

    __slots__ = ("_new", "_same", "_texts")

    @property
    def known(self) -> bool:
        """Tell whether the last page brought nothing new, as far as it was looked at."""
        return self._same > 0

    def __init__(self) -> None:
        """Begin with no page."""
        self._new = 0
        self._same = 0
        self._texts: set[int] = set()

    def endless(self, body: bytes) -> bool:
        """Take the body of a new address; tell whether for long none brought anything new."""
        self._new += 1
        if self._new % _SAMPLED and not self._same:
            return False
        text = b"" if len(body) > _LARGE else _without_tags(body).translate(None, b" \t\n\f\r")
        if len(text) < _SHORT:
            text = text.translate(None, b"0123456789")
        told = hash(text) if len(body) <= _LARGE else hash(body)
        self._same = self._same + 1 if told in self._texts else 0
        if len(self._texts) < _KEPT:
            self._texts.add(told)
        return self._same >= _SAME


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
    queries: tuple[AllowedParameters, ...] = ()
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
        given = scope.names(address.query)
        if any(query.pattern.matches(where) and query.allows(given) for query in self.queries):
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
    return Policy(site, denied, tuple(map(scope.rule, url_query_parameters)), skipped, guard)


def _denied(text: str) -> Denied:
    """Read `/path` or `*path`, which hold on all hosts, `host`, `host/path` or `.host/path`."""
    if text.startswith(("/", "*")):
        return Denied(text, "*", path_pattern(text, "do_not_crawl"))
    host, slash, rest = text.partition("/")
    return Denied(text, host_pattern(host, "do_not_crawl"), path_pattern(f"/{rest}" if slash else "/", "do_not_crawl"))
