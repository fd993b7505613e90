"""An article, and the page that it is read from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from windrow.collections.news import standard
from windrow.content.article import article as read_article
from windrow.content.markdown import markdown
from windrow.contract import Observation, Skip, Task
from windrow.errors import StepError
from windrow.formats.http import media_type
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


_HEAD = 200_000  # bytes in which a page says that it is an article
_ARTICLE = re.compile(
    rb'(?i)property=["\']?og:type["\']?[^<>]*content=["\']?article|content=["\']?article["\']?[^<>]*property=["\']?og:type'
    rb'|"@type"\s*:\s*\[?\s*"[^"]*(?:Article|Posting|Report)"|itemtype=["\']?https?://schema\.org/\w*(?:Article|Posting)'
)
_PAID = re.compile(rb'"isAccessibleForFree"\s*:\s*"?false', re.IGNORECASE)
_META_ROBOTS = re.compile(rb'(?i)<meta[^<>]*name=["\']?robots["\']?[^<>]*>')
_CONTENT = re.compile(r'(?i)content=["\']?([^"\'>]*)')
_VIEW = re.compile(r"(?i)amp|print|mobile|m|page|full|index\.\w+|\d{1,3}")  # of one article, below its address
_HTML = frozenset(("", "text/html", "application/xhtml+xml"))


def read_page(task: Task, kind: str, said: Mapping[str, str]) -> Observation | Skip:
    """Make an article of a page; `said` is what the feed that named it says of it."""
    url = task.request.url if task.request else task.item.key
    if media_type(task.fields) not in _HTML:
        return Skip(Reason.NOT_WANTED, url, f"type {media_type(task.fields)}")
    body = task.view.read()
    if not body.strip():
        return Skip(Reason.NO_TEXT, url, "an empty answer")
    if _is_closed(body, task.fields):
        return Skip(Reason.NOINDEX, url)
    options = task.source.options if task.source else {}
    try:
        found = read_article(body, task.fields.get("content-type", ""), url, options.get("drop", ()))
    except StepError as error:
        return Skip(error.reason or Reason.STEP_FAILED, url, str(error))
    if not (said or found.published or _ARTICLE.search(body[:_HEAD])):
        return Skip(Reason.NOT_WANTED, url, "type no article")
    base = normalise(found.base, url).url if found.base else url
    canonical = normalise(found.canonical, base).url if found.canonical else ""
    article = FoundArticle(
        url=url,
        kind=kind,
        title=unescape(found.title) or said.get("title", ""),
        html=found.markup,
        base=base,
        date=found.published or said.get("published", ""),
        authors=list(found.authors),
        keywords=list(found.keywords),
        image=found.image,
        excerpt=" ".join(unescape(found.description).split()),
        metadata={
            "site_name": found.site, "language": found.language, "modified_date": found.modified,
            "paywalled": True if _PAID.search(body) else None,
        },
        canonical=canonical if canonical and _is_own(canonical, url) else "",
        modified=found.modified,
    )  # fmt: skip
    return article_observation(article, str(options.get("zone", "")), task.visited)


def _is_own(canonical: str, url: str) -> bool:
    """Tell whether a canonical address may be that of this article: some sites name a page that lists it instead.

    >>> _is_own("https://a.example/news/", "https://a.example/news/the-quay")
    False
    >>> _is_own("https://a.example/news/the-quay", "https://a.example/news/the-quay/amp/")
    True
    """
    path, own = (unquote(urlsplit(one).path).strip("/") for one in (canonical, url))
    if not path or not own.startswith(f"{path}/"):
        return bool(path or urlsplit(canonical).query) or url.count("/") <= 3
    return all(_VIEW.fullmatch(one) for one in own[len(path) + 1 :].split("/"))


def _is_closed(body: bytes, fields: Mapping[str, str]) -> bool:
    told = [_CONTENT.search(tag.decode("latin-1")) for tag in _META_ROBOTS.findall(body[:_HEAD])]
    words = {word.strip().lower() for one in told if one for word in one[1].split(",")}
    return bool(words & {"noindex", "none"}) or "noindex" in fields.get("x-robots-tag", "").lower()
