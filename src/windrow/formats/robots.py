"""Read robots.txt (RFC 9309) with its path patterns, and the robots directives of a page.

The RFC leaves some choices open, which are decided here as follows:

- If a file is longer than 500 KiB, only the complete lines within its first 500 KiB count.
- Agents' names up to the first space, `/`, `;`, `,` or `(` are compared as a whole, without regard to case.
- A line may lack its colon, and `disallow` may be misspelt in the usual ways; such lines count, too.
- Crawl-delay is not a rule: it neither begins nor ends a group, and is valid for the agents named above it. If an agent
  has several, the longest is used, at most 180 seconds.

A pattern matches a path and query that begin with it. Matching takes linear time, without regular expressions.

For directives (`X-Robots-Tag`, `meta name=robots`) there is no standard, only the practice of the large search engines.
Here, directives of the header and of the page are in force if they are for all agents or for this agent; no directive
removes a restriction. `none` is `noindex, nofollow`; `nocache` is `noarchive`; `max-snippet:0` is `nosnippet`. After
`unavailable_after` a page counts as `noindex`. Unknown directives are ignored.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from windrow.caps import ROBOTS_BYTES, ROBOTS_SITEMAPS
from windrow.errors import ConfigError
from windrow.formats.moment import read_utc_time
from windrow.formats.url import Parts, normalise
from windrow.reasons import Reason

_NOT_CANONICAL = re.compile(rb"%(?:[0-9A-Fa-f]{2})?|[^A-Za-z0-9/._~!&()+,;=:@?*$-]")
_CANONICAL = re.compile(r"[A-Za-z0-9/._~!&()+,;=:@?-]*+")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Pattern(NamedTuple):
    """A pattern in its canonical spelling (`text`), and its `pieces` between the stars.

    `ends` is whether the pattern must match up to the end of the target, which is a path with its query.
    """

    text: str
    pieces: tuple[str, ...]
    ends: bool

    @property
    def plain(self) -> bool:
        """Whether the pattern has neither `*` nor `$`, so that it is only a prefix."""
        return len(self.pieces) == 1 and not self.ends

    def matches(self, target: str) -> bool:
        """Return whether the pattern matches a path and query in canonical spelling."""
        first, *further_pieces = self.pieces
        if not target.startswith(first):
            return False
        end = len(first)
        if not further_pieces:
            return not self.ends or end == len(target)
        for piece in further_pieces[:-1] if self.ends else further_pieces:
            position = target.find(piece, end)
            if position < 0:
                return False
            end = position + len(piece)
        return not self.ends or (end + len(further_pieces[-1]) <= len(target) and target.endswith(further_pieces[-1]))


def read_pattern(text: str) -> Pattern:
    """Read the pattern of an allow or disallow line.

    >>> read_pattern("/*.pdf$").matches("/a/b.pdf"), read_pattern("/*.pdf$").matches("/a/b.pdf?x")
    (True, False)
    """
    spelling = spell_canonically(text)
    first, *further_pieces = spelling.removesuffix("$").split("*")
    return Pattern(spelling, (first, *filter(None, further_pieces[:-1]), *further_pieces[-1:]), spelling.endswith("$"))


def parse_path_pattern(text: str, setting: str) -> Pattern:
    """Parse the pattern of a path; raise ConfigError, which names `setting`, if it does not begin with `/` or `*`."""
    if not text.startswith(("/", "*")):
        raise ConfigError(f"{setting}: {text[:200]!r} is not a path: a path begins with / or *")
    return read_pattern(text)


def spell_path(address: Parts) -> str:
    """Return the path and query of an address in the spelling that patterns match."""
    query = f"?{address.query}" if address.query is not None else ""
    return spell_canonically(address.path + query, is_literal=True)


def spell_canonically(text: str, *, is_literal: bool = False) -> str:
    """Return the canonical spelling of a pattern or, if `is_literal`, of a path and query (RFC 9309, section 2.2.2).

    Characters that browsers escape in some parts of an address but not in others are escaped.

    >>> spell_canonically("/caf\u00e9/%7e%2a*'$"), spell_canonically("/a*$", is_literal=True)
    ('/caf%C3%A9/~%2A*%27$', '/a%2A%24')
    """
    if _CANONICAL.fullmatch(text):
        return text
    spelling = _NOT_CANONICAL.sub(_spell_octet, text.encode("utf-8", "surrogateescape")).decode("ascii")
    if is_literal:
        return spelling.replace("*", "%2A").replace("$", "%24")
    if "$" in spelling[:-1]:
        return spelling[:-1].replace("$", "%24") + spelling[-1]
    return spelling


def _spell_octet(match: re.Match[bytes]) -> bytes:
    characters = match[0]
    if len(characters) == 3:
        octet = int(characters[1:], 16)
        return bytes((octet,)) if octet in _UNRESERVED else characters.upper()
    return b"%%%02X" % characters[0]


MAX_BYTES = ROBOTS_BYTES.number
"""The maximum number of bytes of a file that are read (RFC 9309, section 2.5)."""

MAX_DELAY_SECONDS = 180.0
"""The longest Crawl-delay that is obeyed, in seconds."""

_MAX_SITEMAPS = ROBOTS_SITEMAPS.number
_KEY = re.compile(r"\s*+([A-Za-z-]++)(?:\s*+:|\s)")
_LINE_END = re.compile(r"\r\n|\n|\r")
_PRODUCT_TOKEN = re.compile(r"[^\s/;,(]+")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{0,6})?|\.\d{1,6}", re.ASCII)
_KEYS = {
    "user-agent": "agent", "useragent": "agent", "allow": "allow", "crawl-delay": "delay", "crawldelay": "delay",
    "sitemap": "sitemap", "site-map": "sitemap",
} | dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow")  # fmt: skip


class RobotsVerdict(NamedTuple):
    """Whether an address may be requested, and the line of robots.txt that decides it.

    `reason` is None if the address may be requested. `line` is the number of the line, from 1; `text` has its first 200
    characters. If no line decides, `line` is None and `text` is empty.
    """

    reason: Reason | None
    line: int | None = None
    text: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the address may be requested."""
        return self.reason is None


ALLOWED = RobotsVerdict(reason=None)


class Rule(NamedTuple):
    """An allow line, or a disallow line if `allow` is False: its pattern, number (from 1) and first 200 characters."""

    allow: bool
    pattern: Pattern
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one robots.txt for one agent.

    `agent` is the name of the group that applies: the agent's own, `*`, or an empty text if none applies.
    """

    rules: tuple[Rule, ...] = ()
    agent: str = ""
    delay: float | None = None  # seconds, MAX_DELAY_SECONDS at most, or None without a Crawl-delay
    sitemaps: tuple[str, ...] = ()
    refusal: Reason | None = None  # why every address is refused whatever the rules are, or None
    sitemaps_left_out: int = 0  # how many more sitemaps the file names, beyond the cap
    asked_delay: float = 0.0  # the Crawl-delay as the file states it, in seconds
    bad_sitemaps: int = 0  # how many of its sitemap lines do not have a whole web address
    _prefix_rules: dict[str, Rule] = field(init=False, repr=False, compare=False)
    _prefix_lengths: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _wildcard_rules: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _wildcard_starts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Prepare a dict of the rules without wildcards, and a tuple of the others, the longest first."""
        ordered = sorted(self.rules, key=lambda rule: (-len(rule.pattern.text), not rule.allow, rule.line))
        prefix_rules: dict[str, Rule] = {}
        wildcard_rules = []
        for rule in ordered:
            if rule.pattern.plain:
                prefix_rules.setdefault(rule.pattern.text, rule)
            else:
                wildcard_rules.append(rule)
        object.__setattr__(self, "_prefix_rules", prefix_rules)
        object.__setattr__(self, "_prefix_lengths", tuple(dict.fromkeys(map(len, prefix_rules))))
        object.__setattr__(self, "_wildcard_rules", tuple(wildcard_rules))
        object.__setattr__(self, "_wildcard_starts", tuple({rule.pattern.pieces[0] for rule in wildcard_rules}))

    def decide(self, target: str) -> RobotsVerdict:
        r"""Decide whether the path and query of a normalised address may be requested.

        The longest matching rule decides; if two are equally long, an allow line decides. /robots.txt is always
        allowed; if `refusal` is set, nothing else is allowed.

        >>> site = parse(b"User-agent: *\nDisallow: /*.pdf$\nAllow: /free", "windrow")
        >>> site.decide("/a.pdf")
        RobotsVerdict(reason=<Reason.ROBOTS_DENIED: 'robots_denied'>, line=2, text='Disallow: /*.pdf$')
        >>> site.decide("/a.pdf?x").allowed, site.decide("/free.pdf").line
        (True, 2)
        """
        if target == "/robots.txt":
            return ALLOWED
        if self.refusal:
            return RobotsVerdict(self.refusal)
        rule = self._find(spell_canonically(target, is_literal=True))
        if rule is None:
            return ALLOWED
        return RobotsVerdict(None if rule.allow else Reason.ROBOTS_DENIED, rule.line, rule.text)

    def _find(self, target: str) -> Rule | None:
        """Return the longest rule that matches a path and query in canonical spelling, or None."""
        target_length = len(target)
        longest = None
        for length in self._prefix_lengths:
            if length <= target_length and (longest := self._prefix_rules.get(target[:length])):
                break
        for rule in self._wildcard_rules if target.startswith(self._wildcard_starts) else ():
            if longest and (len(rule.pattern.text), rule.allow) <= (len(longest.pattern.text), longest.allow):
                break
            if rule.pattern.matches(target):
                return rule
        return longest


ALLOW_ALL = Robots()


def parse(content: bytes, agent: str) -> Robots:
    r"""Read the rules of a robots.txt for an agent: a user agent, or only its product token.

    No error is raised: lines that cannot be understood are ignored.

    >>> parse(b"User-agent: Example-Crawler/2\nCrawl-delay: 5", "example-crawler").delay
    5.0
    """
    own_agent = product_token(agent)
    groups: dict[str, _Group] = {}
    current_groups: dict[str, _Group] = {}  # by agent, the groups to which the current lines belong
    in_agent_lines = False  # the previous rule or agent line names an agent: another agent joins its group
    sitemaps: dict[str, None] = {}
    bad_sitemaps = 0
    for number, line in enumerate(_split_lines(content), 1):
        key, value = _split_line(line)
        if key == "agent":
            name = product_token(value)
            current_groups = current_groups if in_agent_lines else {}
            if name in {own_agent, "*"}:
                current_groups[name] = groups.setdefault(name, _Group())
            in_agent_lines = True
        elif key in {"allow", "disallow"}:
            in_agent_lines = False
            if value.startswith(("/", "*")):
                rule = Rule(key == "allow", read_pattern(value), number, line.strip()[:200])
                for group in current_groups.values():
                    group.rules.append(rule)
        elif key == "delay" and _SECONDS.fullmatch(value):
            for group in current_groups.values():
                group.delays.append(float(value))
        elif key == "sitemap":
            url = normalise(value).url
            sitemaps |= {url: None} if url else {}
            bad_sitemaps += not url
    group_name = own_agent if own_agent in groups else "*" if "*" in groups else ""
    group = groups.get(group_name, _Group())
    asked_delay = max(group.delays, default=0.0)
    delay = min(asked_delay, MAX_DELAY_SECONDS) if group.delays else None
    left_out = max(0, len(sitemaps) - _MAX_SITEMAPS)
    named_sitemaps = tuple(islice(sitemaps, _MAX_SITEMAPS))
    return Robots(
        tuple(dict.fromkeys(group.rules)), group_name, delay, named_sitemaps,
        sitemaps_left_out=left_out, asked_delay=asked_delay, bad_sitemaps=bad_sitemaps,
    )  # fmt: skip


@dataclass(slots=True)
class _Group:
    """The rules for one agent, from all its groups in the file."""

    rules: list[Rule] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def product_token(agent: str) -> str:
    """Return the product token of a user agent in lower case; robots.txt names agents by it.

    >>> product_token("Example-Crawler/1.0 (for https://example.org/)")
    'example-crawler'
    """
    match = _PRODUCT_TOKEN.match(agent.strip())
    return match[0].lower() if match else ""


def _split_line(line: str) -> tuple[str, str]:
    """Return the key of a line as one of the values of `_KEYS` ("" if it is not known), and the value of the line."""
    text = line.partition("#")[0]
    match = _KEY.match(text)
    key = _KEYS.get(match[1].lower(), "") if match else ""
    return (key, text[match.end() :].strip()) if match else ("", "")


def _split_lines(content: bytes) -> Iterable[str]:
    """Return the lines in the first `MAX_BYTES` bytes of a file, without the last line if the file is longer."""
    text = content[:MAX_BYTES]
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        lines = _LINE_END.split(text.decode("utf-16", "replace"))
    else:
        lines = _LINE_END.split(text.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape"))
    return lines[:-1] if len(content) > MAX_BYTES else lines


_DIRECTIVES_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_AGENT_PREFIX = re.compile(r"\s*+([A-Za-z0-9_.*-]++)\s*+:\s*+")
_NOFOLLOW = re.compile(r"(?:^|\s)nofollow(?:\s|$)", re.IGNORECASE)


class Directives(NamedTuple):
    """The robots directives of a page. `until` is the time of `unavailable_after`, or None if there is none."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False
    until: datetime | None = None

    def join(self, other: Directives) -> Directives:
        """Return the restrictions of both, with the earlier `until`."""
        times = [time for time in (self.until, other.until) if time]
        return Directives(
            self.noindex or other.noindex,
            self.nofollow or other.nofollow,
            self.noarchive or other.noarchive,
            self.nosnippet or other.nosnippet,
            min(times, default=None),
        )

    def refusal(self, now: datetime) -> Reason | None:
        """Return why the page may not be indexed now, or None if it may be indexed."""
        if self.noindex:
            return Reason.NOINDEX
        return Reason.EXPIRED if self.until and self.until <= now else None


NO_DIRECTIVES = Directives()
_DIRECTIVE_BY_WORD = {
    "noindex": Directives(noindex=True),
    "nofollow": Directives(nofollow=True),
    "none": Directives(noindex=True, nofollow=True),
    "noarchive": Directives(noarchive=True),
    "nocache": Directives(noarchive=True),
    "nosnippet": Directives(nosnippet=True),
}


def read_header_directives(values: Iterable[str], agent: str) -> Directives:
    """Read the values of the `X-Robots-Tag` fields of a response: the directives for all agents and for `agent`.

    Directives after an agent's name and a colon are for that agent only, up to the next name in the value.

    >>> read_header_directives(["noarchive", "other: noindex", "Example-Crawler: nofollow"], "example-crawler/1")
    Directives(noindex=False, nofollow=True, noarchive=True, nosnippet=False, until=None)
    """
    agent_names = {product_token(agent), "*", "robots"}
    directives = NO_DIRECTIVES
    for value in values:
        is_for_agent = True
        pieces = value.split(",")[::-1]
        while pieces:
            position = 0
            while (prefix := _AGENT_PREFIX.match(pieces[-1], position)) and (
                (name := prefix[1].lower()) not in _DIRECTIVES_WITH_VALUE
            ):
                is_for_agent, position = name in agent_names, prefix.end()
            pieces[-1] = pieces[-1][position:]
            directive = _read_directive(pieces)
            directives = directives.join(directive) if is_for_agent else directives
    return directives


def read_meta_directives(pairs: Iterable[tuple[str, str]], agent: str) -> Directives:
    """Read the directives for all agents and for `agent` in `meta` elements, given as pairs of name and content.

    >>> read_meta_directives([("ROBOTS", "NoIndex, follow"), ("other", "noarchive")], "example-crawler").noindex
    True
    """
    agent_names = {product_token(agent), "robots"}
    directives = NO_DIRECTIVES
    for name, content in pairs:
        pieces = content.split(",")[::-1] if name.strip().lower() in agent_names else []
        while pieces:
            directives = directives.join(_read_directive(pieces))
    return directives


def is_nofollow(rel: str) -> bool:
    """Return whether a link's `rel` contains `nofollow`.

    >>> is_nofollow("external NOFOLLOW"), is_nofollow("no-nofollow"), is_nofollow("")
    (True, False, False)
    """
    return bool(rel) and bool(_NOFOLLOW.search(rel))


def _read_directive(pieces: list[str]) -> Directives:
    """Remove and read the first directive of a list; `pieces` are what is between its commas, the last one first."""
    name, colon, value = pieces.pop().partition(":")
    name = name.strip().lower()
    if name == "unavailable_after" and colon:
        if pieces and (time := read_utc_time(f"{value},{pieces[-1]}")):  # its time may contain a comma
            pieces.pop()
            return Directives(until=time)
        return Directives(until=read_utc_time(value))
    if name == "max-snippet" and value.strip() == "0":
        return Directives(nosnippet=True)
    return _DIRECTIVE_BY_WORD.get(name, NO_DIRECTIVES)
