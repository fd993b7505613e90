"""What a reader found of an article, made into what the store takes: an observation, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from windrow.collections.news import standard
from windrow.contract import Observation, Skip
from windrow.formats.html.markdown import markdown
from windrow.formats.moment import written
from windrow.formats.url import normalise
from windrow.reasons import Reason

_FIRST_YEAR = 1990
_AHEAD = timedelta(days=1)
_WORD = re.compile(r"\w+(?:['\u2019.-]\w+)*")
_MOST_WORDS = 200  # keywords of an article
_LONGEST_TITLE = 2_000
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*+>.*?(?:</\1[^<>]*+>|\Z)", re.IGNORECASE | re.DOTALL)


@dataclass
class FoundArticle:
    """What a reader found of an article; `html` is its text, `title` and names are plain."""

    url: str
    kind: str
    title: str = ""
    html: str = ""
    base: str = ""
    date: str = ""
    stamp: int | None = None
    """When that is in seconds since 1970, where the source tells that beside a date that says too little."""
    authors: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    image: str = ""
    excerpt: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    canonical: str = ""
    name: str = ""
    """What its system calls it wherever it moves, such as its number there."""
    modified: str = ""


def article_observation(found: FoundArticle, zone: str, seen: datetime | None) -> Observation | Skip:
    """Return an article as the standard has it, but for when it was first seen; or why it is none."""
    domain = standard.domain(found.url)
    if not domain or not found.url.startswith(("http://", "https://")):
        return Skip(Reason.BAD_ADDRESS, found.url[:500] or "an article without an address")
    title = " ".join(_SCRIPT.sub(" ", found.title).split())[:_LONGEST_TITLE]
    if not title:
        return Skip(Reason.NO_TITLE, found.url)
    text = _without_title(markdown(found.html, normalise(found.base or found.url).url), title)
    if not text.strip():
        return Skip(Reason.NO_TEXT, found.url)
    stamp, doubt = seconds(found.date, zone, seen)
    if stamp is None and found.stamp is not None:
        stamp, doubt = found.stamp, ""
    metadata = {name: value for name, value in found.metadata.items() if value not in (None, "", [])}
    if found.canonical:
        metadata["canonical_url"] = found.canonical  # also its own: all spellings of an address say the same so
    if doubt:
        metadata["date_doubt"] = doubt
    value: dict[str, Any] = {
        "url": found.url,
        "title": title,
        "article_text": text,
        "source_domain": domain,
        "publication_date": found.date or None,
        "publication_timestamp_gmt": stamp,
        "author": ", ".join(distinct(found.authors)) or None,
        "keywords": distinct(found.keywords)[:_MOST_WORDS],
        "word_count": len(_WORD.findall(text)),
    }
    image = normalise(found.image, found.base or found.url).url if found.image else ""
    optional = {"image_url": image, "excerpt": found.excerpt, "metadata": metadata}
    value |= {name: each for name, each in optional.items() if each}
    addresses = [found.url, found.canonical] if standard.is_same_site(found.url, found.canonical) else [found.url]
    aliases = distinct(map(standard.alias, addresses))
    aside = {"kind": found.kind, "aliases": distinct([*aliases, found.name])}
    if found.modified:
        aside["modified"] = found.modified
    return Observation(found.url, value, f"{title}\n{text}", url=found.url, aside=aside,
                       names=(found.name,) if found.name else (), aliases=tuple(aliases))  # fmt: skip


def _without_title(text: str, title: str) -> str:
    r"""Leave out a headline that says the title once more, where anything follows it: the title has a field of its own.

    >>> _without_title("# Tea\n\nPour it.", "Tea"), _without_title("# Tea", "Tea")
    ('Pour it.', '# Tea')
    >>> _without_title("![](https://a.example/a.jpg)\n\n# Tea\n\nPour it.", "Tea")
    '![](https://a.example/a.jpg)\n\nPour it.'
    """
    parts = text.split("\n\n")
    at = next((at for at, one in enumerate(parts) if not one.startswith(("![", "*", "[!["))), 0)  # behind its figures
    says_it = parts[at][:2] == "# " and _plain(parts[at].removeprefix("# ")) == _plain(title)
    rest = "\n\n".join((*parts[:at], *parts[at + 1 :]))
    return rest if says_it and rest.strip() else text


def _plain(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def seconds(told: str, zone: str, seen: datetime | None) -> tuple[int | None, str]:
    """Return when a date is, in seconds since 1970, and what there is to doubt about it; None where it cannot be told.

    >>> seconds("2025-11-20T14:30:00-06:00", "", datetime(2026, 1, 1, tzinfo=UTC))
    (1763670600, '')
    >>> seconds("2025-11-20T14:30:00", "", datetime(2026, 1, 1, tzinfo=UTC))
    (None, 'no time zone')
    """
    if not told:
        return None, ""
    at = written(told)
    if at is None:
        return None, "not a date"
    if at.tzinfo is None:
        if not zone:
            return None, "no time zone"
        at = at.replace(tzinfo=ZoneInfo(zone))
    try:
        stamp = int(at.timestamp())
        at = at.astimezone(UTC)
    except (OverflowError, ValueError):
        return None, "not a date"
    if at.year < _FIRST_YEAR:
        return (stamp if stamp > 0 else None), f"before {_FIRST_YEAR}"
    return stamp, "in the future" if seen and at > seen + _AHEAD else ""


def distinct(texts: Iterable[str]) -> list[str]:
    """Return texts without spaces around them, each once, in their order."""
    return list(dict.fromkeys(one for one in (" ".join(text.split()) for text in texts) if one))
