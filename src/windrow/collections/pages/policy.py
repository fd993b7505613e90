"""Decide by all rules of a site, in a fixed order, whether an address may be requested; detect crawler traps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from windrow.collections.pages import scope
from windrow.collections.pages.code import ASSET, CrawlType, may_be_readable
from windrow.collections.pages.scope import AllowedParameters, Scope
from windrow.fetch.politeness.guard import describe_refusal, host_matches, host_pattern
from windrow.formats.robots import Pattern, Robots, parse_path_pattern, spell_path
from windrow.formats.url import Parts, parts
from windrow.reasons import Reason

_DATE_IN_PATH = re.compile(r"/(?:(\d{4})/(?:0?[1-9]|1[0-2])|(\d{4})-(?:0?[1-9]|1[0-2])(?:-\d{1,2})?)(?=/|\Z)", re.ASCII)
_DATE_IN_QUERY = re.compile(
    r"(?:^|&)[^=&]*=(\d{4})-(?:0?[1-9]|1[0-2])(?:-\d{1,2})?(?!\d)"
    r"|(?:^|&)(?:[a-z]*[_-])?(?:year|yr|jahr|annee|ano)=(\d{4})(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_SAMPLE_EVERY = 30  # one page in this many is hashed (0.1 ms), and every page after one that repeated a text
_ENDLESS_AFTER = 120  # hashed pages in a row without a new text, after which an origin counts as endless
_MAX_STRIPPED_BYTES = 1 << 18  # tags of larger pages are not removed: generated pages without content are smaller
_SHORT_TEXT_BYTES = 500  # in shorter texts, numbers near one in the address are ignored, as in endless calendars
_NUMBER = re.compile(rb"[0-9]{1,18}")
_MAX_REMEMBERED_TEXTS = 10_000  # per origin
_PLAUSIBLE_YEARS = range(1500, 3000)  # other numbers of four digits are not years

_MAX_SEGMENTS = 16  # of a path
_MAX_REPEATS = 3  # occurrences of one segment in a path, or of one parameter in a query
_MAX_SEGMENT_LENGTH = 255  # characters
_MAX_PARAMETERS = 8  # of a query
_MIN_YEAR = 1900  # of a date
_MAX_YEARS_AHEAD = 1  # of the present year


def describe_trap(address: Parts, year: int) -> str:
    """Return what makes an address look like a crawler trap, or "" if nothing does. `year` is the present year.

    >>> from windrow.formats.url import parts
    >>> describe_trap(parts("https://example.org/events/2099/07/"), 2026)
    'a date in 2099'
    >>> describe_trap(parts("https://example.org/a/b/a/b/a/b/a/b"), 2026)
    "the segment 'a' 4 times in the path"
    >>> describe_trap(parts("https://example.org/2024/07/a"), 2026)
    ''
    """
    return _describe_bad_path(address.path) or _describe_bad_query(address.query) or _describe_bad_date(address, year)


def _describe_bad_path(path: str) -> str:
    segments = [segment for segment in path.split("/") if segment]
    if len(path) <= _MAX_SEGMENT_LENGTH and len(set(segments)) == len(segments) <= _MAX_SEGMENTS:
        return ""
    if len(segments) > _MAX_SEGMENTS:
        return f"{len(segments)} segments in the path"
    if len(max(segments, key=len, default="")) > _MAX_SEGMENT_LENGTH:
        return f"a segment of more than {_MAX_SEGMENT_LENGTH} characters in the path"
    segment, count = Counter(segments).most_common(1)[0] if len(segments) > _MAX_REPEATS else ("", 0)
    return f"the segment {segment[:40]!r} {count} times in the path" if count > _MAX_REPEATS else ""


def _describe_bad_query(query: str | None) -> str:
    if not query:
        return ""
    parameters = scope.list_parameter_names(query)
    if len(parameters) > _MAX_PARAMETERS:
        return f"{len(parameters)} parameters in the query"
    name, count = Counter(parameters).most_common(1)[0] if len(parameters) > _MAX_REPEATS else ("", 0)
    return f"the parameter {name[:40]!r} {count} times in the query" if count > _MAX_REPEATS else ""


def _describe_bad_date(address: Parts, year: int) -> str:
    matches = _DATE_IN_PATH.findall(address.path) + (_DATE_IN_QUERY.findall(address.query) if address.query else [])
    for in_path, in_query in matches:
        date_year = int(in_path or in_query)
        if date_year in _PLAUSIBLE_YEARS and not _MIN_YEAR <= date_year <= year + _MAX_YEARS_AHEAD:
            return f"a date in {date_year}"
    return ""


def _remove_tags(body: bytes) -> bytes:
    """Return a body without its tags; a tag without `>` ends where the next one begins.

    >>> _remove_tags(b"a<b>c > d<e<f>g<h")
    b'ac > dg'
    """
    before_first_tag, *tags = body.split(b"<")
    return b"".join((before_first_tag, *[tag.partition(b">")[2] for tag in tags]))


_BLANKS = b" \t\n\f\r"


def _remove_numbers(text: bytes, url: str) -> bytes:
    """Return a text without the numbers that differ from a number in the address by at most 1.

    >>> _remove_numbers(b"Day 7 of 31, then day 8: 20 degrees", "http://a.example/day/07")
    b'Day  of 31, then day : 20 degrees'
    """
    numbers = {int(number) for number in _NUMBER.findall(url.encode())}
    near_numbers = {near for number in numbers for near in (number - 1, number, number + 1)}
    return _NUMBER.sub(lambda match: b"" if int(match[0]) in near_numbers else match[0], text)


class NoveltyCount:
    """Counts how many consecutive new pages of an origin repeat texts of earlier pages.

    Only the pages whose texts are hashed count: one in `_SAMPLE_EVERY`, and those after a page that repeated a text.

    >>> count = NoveltyCount()
    >>> [count.add_page(b"<p>No events in %d. <a href=%d>" % (n, n + 1), f"/{n}") for n in range(200)].index(True)
    178
    >>> count.is_repeating
    True
    """

    __slots__ = ("_pages", "_repeats", "_text_hashes")

    @property
    def is_repeating(self) -> bool:
        """Whether the last page that was hashed repeated the text of an earlier page."""
        return self._repeats > 0

    def __init__(self) -> None:
        self._pages = 0
        self._repeats = 0
        self._text_hashes: set[int] = set()

    def add_page(self, body: bytes, url: str) -> bool:
        """Count the body of a new page; return whether the last `_ENDLESS_AFTER` hashed pages all repeated a text."""
        self._pages += 1
        if self._pages % _SAMPLE_EVERY and not self._repeats:
            return False
        words = b"" if len(body) > _MAX_STRIPPED_BYTES else _remove_tags(body)
        text = words.translate(None, _BLANKS)
        if len(text) < _SHORT_TEXT_BYTES:
            text = _remove_numbers(words, url).translate(None, _BLANKS)
        digest = hash(text) if len(body) <= _MAX_STRIPPED_BYTES else hash(body)
        self._repeats = self._repeats + 1 if digest in self._text_hashes else 0
        if len(self._text_hashes) < _MAX_REMEMBERED_TEXTS:
            self._text_hashes.add(digest)
        return self._repeats >= _ENDLESS_AFTER


class PolicyVerdict(NamedTuple):
    """Whether an address may be requested. `reason` is why it may not be requested, or None if it may.

    `rule` is the deciding rule as written or, without one, what is wrong with the address, such as the names of its
    parameters or the ending of its file name; it may be empty. `line` is the line of the rule in robots.txt,
    counted from 1, or None if the rule is not in robots.txt.
    """

    reason: Reason | None = None
    rule: str = ""
    line: int | None = None

    @property
    def allowed(self) -> bool:
        """Whether the address may be requested."""
        return self.reason is None


ALLOWED = PolicyVerdict()


def describe_verdict(verdict: PolicyVerdict) -> str:
    """Describe the rule that refuses an address or, if none is named, the reason; return "" if it is allowed.

    >>> describe_verdict(PolicyVerdict(Reason.ROBOTS_DENIED, "Disallow: /a", 4))
    'robots.txt, line 4: Disallow: /a'
    >>> describe_verdict(PolicyVerdict(Reason.QUERY_DENIED, "q page"))
    'query parameters that no rule allows: q page'
    """
    descriptions = {
        Reason.ROBOTS_DENIED: f"robots.txt, line {verdict.line}: {verdict.rule}",
        Reason.POLICY_DENIED: f"do_not_crawl: {verdict.rule}",
        Reason.QUERY_DENIED: f"query parameters that no rule allows: {verdict.rule}",
        Reason.CRAWLER_TRAP: f"it looks like a crawler trap: {verdict.rule}",
        Reason.OUT_OF_SCOPE: "it matches none of the source's paths" if verdict.rule else "",
        Reason.PRIVATE_ADDRESS: describe_refusal(verdict.rule, Reason.PRIVATE_ADDRESS),
        Reason.OTHER_PART: verdict.rule,
        Reason.UNSUPPORTED: f"files whose names end in .{verdict.rule} are not read",
    }
    return (descriptions.get(verdict.reason) or verdict.reason.meaning) if verdict.reason else ""


class DenyRule(NamedTuple):
    """One rule of `do_not_crawl`: its text, and the patterns of the host names and of the paths that it forbids."""

    text: str
    host_pattern: str
    path_pattern: Pattern


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules of a site except robots.txt."""

    scope: Scope
    deny_rules: tuple[DenyRule, ...] = ()
    parameter_rules: tuple[AllowedParameters, ...] = ()

    @property
    def named_parameters(self) -> frozenset[str]:
        """The names of parameters that rules give in full, without a `*`."""
        return frozenset(name for rule in self.parameter_rules for name in rule.names)

    def judge_without_robots(self, url: str, year: int, kind: int = CrawlType.FILE_CRAWL) -> PolicyVerdict:
        """Judge a normalised address by all rules except robots.txt; `year` is the present year, `kind` the crawl type.

        A sitemap is judged only by the site's hosts, and an asset only by `do_not_crawl`.

        >>> from windrow.collections.pages.scope import make_scope
        >>> scope = make_scope(["https://example.org/"])
        >>> site = make_policy(scope, do_not_crawl=["/tag/"], url_query_parameters=["page"])
        >>> site.judge_without_robots("https://example.org/tag/x", 2026)
        PolicyVerdict(reason=<Reason.POLICY_DENIED: 'policy_denied'>, rule='/tag/', line=None)
        >>> site.judge_without_robots("https://example.org/?page=2", 2026).allowed
        True
        """
        address = parts(url)
        if kind == ASSET:
            return self.judge_by_deny_rules(address)
        if kind == CrawlType.METADATA_CRAWL:
            return ALLOWED if self.scope.owns(address) else PolicyVerdict(Reason.OUT_OF_SCOPE)
        return self.judge_parts(address, year)

    def judge_parts(self, address: Parts, year: int) -> PolicyVerdict:
        """Judge the address of a page, given in parts, by all rules except robots.txt; `year` is the present year."""
        if not self.scope.contains(address):
            return PolicyVerdict(Reason.OUT_OF_SCOPE)
        if (verdict := self.judge_by_deny_rules(address)).reason:
            return verdict
        if address.query is not None and (verdict := self._judge_query(address, spell_path(address))).reason:
            return verdict
        if trap := describe_trap(address, year):
            return PolicyVerdict(Reason.CRAWLER_TRAP, trap)
        if not may_be_readable(address.path):
            return PolicyVerdict(Reason.UNSUPPORTED, address.path.rpartition(".")[2][:20])
        return ALLOWED

    def judge_by_deny_rules(self, address: Parts) -> PolicyVerdict:
        """Judge an address, given in parts, only by `do_not_crawl`."""
        path_and_query = spell_path(address) if self.deny_rules else ""
        for deny_rule in self.deny_rules:
            if deny_rule.path_pattern.matches(path_and_query) and host_matches(deny_rule.host_pattern, address.host):
                return PolicyVerdict(Reason.POLICY_DENIED, deny_rule.text)
        return ALLOWED

    def judge(self, url: str, year: int, robots: Robots, kind: int = CrawlType.FILE_CRAWL) -> PolicyVerdict:
        """Judge a normalised address by the rules for its crawl type and, if they allow it, by robots.txt."""
        verdict = self.judge_without_robots(url, year, kind)
        return verdict if verdict.reason else judge_by_robots(url, robots)

    def _judge_query(self, address: Parts, path_and_query: str) -> PolicyVerdict:
        """Judge the query of an address. One rule whose pattern matches the address must allow all its parameters."""
        parameters = scope.list_parameter_names(address.query)
        rules = self.parameter_rules
        if any(rule.pattern.matches(path_and_query) and rule.allows(parameters) for rule in rules):
            return ALLOWED
        return PolicyVerdict(Reason.QUERY_DENIED, " ".join(dict.fromkeys(parameters))[:200])


def judge_by_robots(url: str, robots: Robots) -> PolicyVerdict:
    """Judge a normalised address only by `robots`, the robots.txt of its origin."""
    decision = robots.decide("/" + url.split("/", 3)[3])
    return PolicyVerdict(decision.reason, decision.text, decision.line) if decision.line or decision.reason else ALLOWED


def make_policy(site: Scope, *, do_not_crawl: Iterable[str] = (), url_query_parameters: Iterable[str] = ()) -> Policy:
    """Make the policy of a site from its rules as written in TOML; raise ConfigError for a malformed rule."""
    deny_rules = tuple(_parse_deny_rule(text) for text in do_not_crawl)
    return Policy(site, deny_rules, tuple(map(scope.parse_parameter_rule, url_query_parameters)))


def _parse_deny_rule(text: str) -> DenyRule:
    """Parse a rule: `/path` or `*path` for all hosts, or `host`, `host/path` or `.host/path`."""
    if text.startswith(("/", "*")):
        return DenyRule(text, "*", parse_path_pattern(text, "do_not_crawl"))
    host_name, slash, path = text.partition("/")
    return DenyRule(
        text, host_pattern(host_name, "do_not_crawl"), parse_path_pattern(f"/{path}" if slash else "/", "do_not_crawl")
    )
