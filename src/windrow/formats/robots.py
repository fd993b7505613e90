"""robots.txt as RFC 9309 reads it, with Crawl-delay and Sitemap lines beside it.

Settled where the RFC leaves a choice:

- Of a file longer than 500 KiB the whole lines within them count.
- An agent is matched whole and in any case, up to the first space, `/`, `;`, `,` or `(`.
- A line may lack its colon, and `disallow` may be misspelt in the usual ways: what was meant as a
  refusal is obeyed.
- Crawl-delay is not a rule: it neither begins nor ends a group, and counts for the agents that were
  named above it. Of several for one agent the longest counts, at most 180 seconds.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.formats.pattern import Pattern, canonical, pattern
from windrow.formats.url import normalise
from windrow.reasons import Reason

CAP = 500 * 1024
"""Bytes of a file that are read (RFC 9309, section 2.5)."""

LONGEST_DELAY = 180.0
"""Seconds of the longest Crawl-delay that is obeyed."""

_SITEMAPS = 500
_KEY = re.compile(r"\s*+([A-Za-z-]++)(?:\s*+:|\s)")
_END = re.compile(r"\r\n|\n|\r")
_AGENT = re.compile(r"[^\s/;,(]+")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{0,6})?|\.\d{1,6}", re.ASCII)
_KEYS = {
    "user-agent": "agent", "useragent": "agent", "allow": "allow", "crawl-delay": "delay", "crawldelay": "delay",
    "sitemap": "sitemap", "site-map": "sitemap",
} | dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow")  # fmt: skip


class RobotsVerdict(NamedTuple):
    """Whether an address may be asked for, and what says so: a line of the file, counted from 1, or none."""

    reason: Reason | None
    line: int | None = None
    text: str = ""

    @property
    def allowed(self) -> bool:
        """Tell whether it may be asked for."""
        return self.reason is None


ALLOWED = RobotsVerdict(None)


class Rule(NamedTuple):
    """One allow or disallow line: its pattern, and the line as it is written."""

    allow: bool
    pattern: Pattern
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Robots:
    """What one robots.txt says to one agent.

    `agent` is the name of the group that counts: the agent's own, `*`, or empty where none does.
    """

    rules: tuple[Rule, ...] = ()
    agent: str = ""
    delay: float | None = None  # seconds
    sitemaps: tuple[str, ...] = ()
    refusal: Reason | None = None  # why everything is refused, whatever the rules say
    _plain: dict[str, Rule] = field(init=False, repr=False, compare=False)
    _lengths: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _wild: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _starts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the rules for matching: plain beginnings by length, patterns by the longest first."""
        ordered = sorted(self.rules, key=lambda rule: (-len(rule.pattern.text), not rule.allow, rule.line))
        plain: dict[str, Rule] = {}
        wild = []
        for rule in ordered:
            if rule.pattern.plain:
                plain.setdefault(rule.pattern.text, rule)
            else:
                wild.append(rule)
        object.__setattr__(self, "_plain", plain)
        object.__setattr__(self, "_lengths", tuple(dict.fromkeys(map(len, plain))))
        object.__setattr__(self, "_wild", tuple(wild))
        object.__setattr__(self, "_starts", tuple({rule.pattern.pieces[0] for rule in wild}))

    def ask(self, target: str) -> RobotsVerdict:
        r"""Judge a normal address's path and query: the longest rule counts, of equals the one that allows.

        >>> site = parse(b"User-agent: *\nDisallow: /*.pdf$\nAllow: /free", "windrow")
        >>> site.ask("/a.pdf")
        RobotsVerdict(reason=<Reason.ROBOTS_DENIED: 'robots_denied'>, line=2, text='Disallow: /*.pdf$')
        >>> site.ask("/a.pdf?x").allowed, site.ask("/free.pdf").line
        (True, 2)
        """
        if target == "/robots.txt":
            return ALLOWED
        if self.refusal:
            return RobotsVerdict(self.refusal)
        rule = self._find(canonical(target, literal=True))
        if rule is None:
            return ALLOWED
        return RobotsVerdict(None if rule.allow else Reason.ROBOTS_DENIED, rule.line, rule.text)

    def _find(self, target: str) -> Rule | None:
        """Return the rule that counts for a target."""
        whole = len(target)
        found = None
        for length in self._lengths:
            if length <= whole and (found := self._plain.get(target[:length])):
                break
        for rule in self._wild if target.startswith(self._starts) else ():
            if found and (len(rule.pattern.text), rule.allow) <= (len(found.pattern.text), found.allow):
                break
            if rule.pattern.matches(target):
                return rule
        return found


ALLOW_ALL = Robots()


def parse(content: bytes, agent: str) -> Robots:
    r"""Read what a robots.txt says to an agent, known by its product token: `example-crawler`.

    Nothing is malformed: what cannot be understood is passed over.

    >>> parse(b"User-agent: Example-Crawler/2\nCrawl-delay: 5", "example-crawler").delay
    5.0
    """
    wanted = token(agent)
    groups: dict[str, _Group] = {}
    named: dict[str, _Group] = {}  # the agents that the lines at hand are for
    open_ = False  # more agents may join them
    sitemaps: dict[str, None] = {}
    for number, line in enumerate(_lines(content), 1):
        key, value = _split(line)
        if key == "agent":
            name = token(value)
            named = named if open_ else {}
            if name in {wanted, "*"}:
                named[name] = groups.setdefault(name, _Group())
            open_ = True
        elif key in {"allow", "disallow"}:
            open_ = False
            if value.startswith(("/", "*")):
                rule = Rule(key == "allow", pattern(value), number, line.strip()[:200])
                for group in named.values():
                    group.rules.append(rule)
        elif key == "delay" and _SECONDS.fullmatch(value):
            for group in named.values():
                group.delays.append(min(float(value), LONGEST_DELAY))
        elif key == "sitemap" and len(sitemaps) < _SITEMAPS and (url := normalise(value).url):
            sitemaps[url] = None
    chosen = wanted if wanted in groups else "*" if "*" in groups else ""
    group = groups.get(chosen, _Group())
    return Robots(tuple(dict.fromkeys(group.rules)), chosen, max(group.delays, default=None), tuple(sitemaps))


@dataclass(slots=True)
class _Group:
    """What the lines for one agent say, all over the file."""

    rules: list[Rule] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def token(agent: str) -> str:
    """Return the part of a user agent that robots.txt is matched with, in lower case.

    >>> token("Example-Crawler/1.0 (for https://example.org/)")
    'example-crawler'
    """
    found = _AGENT.match(agent.strip())
    return found[0].lower() if found else ""


def _split(line: str) -> tuple[str, str]:
    """Return the kind and the value of a line; empty ones where it is none of ours."""
    text = line.partition("#")[0]
    found = _KEY.match(text)
    key = _KEYS.get(found[1].lower(), "") if found else ""
    return (key, text[found.end() :].strip()) if found else ("", "")


def _lines(content: bytes) -> Iterable[str]:
    """Bring a file to text and cut it into lines; a last line that the cap cuts is left out."""
    text = content[:CAP]
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        lines = _END.split(text.decode("utf-16", "replace"))
    else:
        lines = _END.split(text.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape"))
    return lines[:-1] if len(content) > CAP else lines
