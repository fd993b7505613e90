"""Articles in the form of the standard, and how one is read from an HTML page."""

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
from windrow.content.article import read_article
from windrow.content.markdown import html_to_markdown
from windrow.contract import Observation, Skip, Task
from windrow.errors import StepError
from windrow.formats.http import read_media_type
from windrow.formats.moment import read_page_time
from windrow.formats.url import normalise
from windrow.reasons import Reason

_FIRST_YEAR = 1990
_MAX_AHEAD = timedelta(days=1)
_WORD = re.compile(r"\w+(?:['\u2019.-]\w+)*")
_MAX_KEYWORDS = 200
_MAX_TITLE = 2_000
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*+>.*?(?:</\1[^<>]*+>|\Z)", re.IGNORECASE | re.DOTALL)


@dataclass
class FoundArticle:
    """An article as a reader returns it; `html` is its text as HTML, all other texts are plain."""

    url: str
    kind: str
    title: str = ""
    html: str = ""
    base: str = ""
    date: str = ""
    stamp: int | None = None
    """The publication time in seconds since 1970, used if `date` cannot be converted."""
    authors: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    image: str = ""
    excerpt: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    canonical: str = ""
    name: str = ""
    """A name that stays when the address changes, such as the number of a WordPress post."""
    modified: str = ""


def article_observation(article: FoundArticle, zone: str, seen: datetime | None) -> Observation | Skip:
    """Return an article's record with the standard's fields but `first_seen_timestamp_gmt`; a skip if it lacks one."""
    domain = standard.domain(article.url)
    if not domain or not article.url.startswith(("http://", "https://")):
        return Skip(Reason.BAD_ADDRESS, article.url[:500] or "the article has no address")
    title = " ".join(_SCRIPT.sub(" ", article.title).split())[:_MAX_TITLE]
    if not title:
        return Skip(Reason.NO_TITLE, article.url)
    text = _remove_title(html_to_markdown(article.html, normalise(article.base or article.url).url), title)
    if not text.strip():
        return Skip(Reason.NO_TEXT, article.url)
    stamp, doubt = parse_date(article.date, zone, seen)
    if stamp is None and article.stamp is not None:
        stamp, doubt = article.stamp, ""
    metadata = {name: value for name, value in article.metadata.items() if value not in (None, "", [])}
    if article.canonical:
        metadata["canonical_url"] = article.canonical  # even its own: all spellings of its address give one record
    if doubt:
        metadata["date_doubt"] = doubt
    observed: dict[str, Any] = {
        "url": article.url,
        "title": title,
        "article_text": text,
        "source_domain": domain,
        "publication_date": article.date or None,
        "publication_timestamp_gmt": stamp,
        "author": ", ".join(unique_texts(article.authors)) or None,
        "keywords": unique_texts(article.keywords)[:_MAX_KEYWORDS],
        "word_count": len(_WORD.findall(text)),
    }
    image = normalise(article.image, article.base or article.url).url if article.image else ""
    optional = {"image_url": image, "excerpt": article.excerpt, "metadata": metadata}
    observed |= {name: content for name, content in optional.items() if content}
    own_canonical = [article.canonical] if standard.is_same_site(article.url, article.canonical) else []
    aliases = unique_texts(map(standard.alias, [article.url, *own_canonical]))
    aside = {"kind": article.kind, "aliases": unique_texts([*aliases, article.name])}
    if article.modified:
        aside["modified"] = article.modified
    return Observation(article.url, observed, f"{title}\n{text}", url=article.url, aside=aside,
                       names=(article.name,) if article.name else (), aliases=tuple(aliases))  # fmt: skip


def _remove_title(text: str, title: str) -> str:
    r"""Return a text without a first headline that repeats the title, unless the text has nothing else.

    >>> _remove_title("# Tea\n\nPour it.", "Tea"), _remove_title("# Tea", "Tea")
    ('Pour it.', '# Tea')
    >>> _remove_title("![](https://a.example/a.jpg)\n\n# Tea\n\nPour it.", "Tea")
    '![](https://a.example/a.jpg)\n\nPour it.'
    """
    parts = text.split("\n\n")
    index = next(
        (index for index, part in enumerate(parts) if not part.startswith(("![", "*", "[!["))), 0
    )  # after figures
    is_title = parts[index][:2] == "# " and _words(parts[index].removeprefix("# ")) == _words(title)
    without_title = "\n\n".join((*parts[:index], *parts[index + 1 :]))
    return without_title if is_title and without_title.strip() else text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def parse_date(date: str, zone: str, seen: datetime | None) -> tuple[int | None, str]:
    """Return a date in seconds since 1970, or None if it cannot be converted, and what is doubtful about it.

    >>> parse_date("2025-11-20T14:30:00-06:00", "", datetime(2026, 1, 1, tzinfo=UTC))
    (1763670600, '')
    >>> parse_date("2025-11-20T14:30:00", "", datetime(2026, 1, 1, tzinfo=UTC))
    (None, 'no time zone')
    """
    if not date:
        return None, ""
    at = read_page_time(date)
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
    return stamp, "in the future" if seen and at > seen + _MAX_AHEAD else ""


def unique_texts(texts: Iterable[str]) -> list[str]:
    """Return the different texts, with spaces normalized, in their order, without empty ones."""
    return list(dict.fromkeys(text for text in (" ".join(text.split()) for text in texts) if text))


_HEAD_BYTES = 200_000  # of a page, in which marks of an article are searched
_ARTICLE = re.compile(
    rb'(?i)property=["\']?og:type["\']?[^<>]*content=["\']?article|content=["\']?article["\']?[^<>]*property=["\']?og:type'
    rb'|"@type"\s*:\s*\[?\s*"[^"]*(?:Article|Posting|Report)"|itemtype=["\']?https?://schema\.org/\w*(?:Article|Posting)'
)
_PAID = re.compile(rb'"isAccessibleForFree"\s*:\s*"?false', re.IGNORECASE)
_META_ROBOTS = re.compile(rb'(?i)<meta[^<>]*name=["\']?robots["\']?[^<>]*>')
_CONTENT = re.compile(r'(?i)content=["\']?([^"\'>]*)')
_VARIANT = re.compile(
    r"(?i)amp|print|mobile|m|page|full|index\.\w+|\d{1,3}"
)  # path segment of another form of an article
_HTML = frozenset(("", "text/html", "application/xhtml+xml"))


def read_page(task: Task, kind: str, feed_entry: Mapping[str, str]) -> Observation | Skip:
    """Return the article of a page, or a skip; `feed_entry` may have a `title` and a `published` date from a feed."""
    url = task.request.url if task.request else task.item.key
    if read_media_type(task.fields) not in _HTML:
        return Skip(Reason.NOT_WANTED, url, f"type {read_media_type(task.fields)}")
    body = task.view.read()
    if not body.strip():
        return Skip(Reason.NO_TEXT, url, "the response is empty")
    if _is_noindex(body, task.fields):
        return Skip(Reason.NOINDEX, url)
    options = task.source.options if task.source else {}
    try:
        page = read_article(body, task.fields.get("content-type", ""), url, options.get("exclude_selectors", ()))
    except StepError as error:
        return Skip(error.reason or Reason.STEP_FAILED, url, str(error))
    if not (feed_entry or page.published or _ARTICLE.search(body[:_HEAD_BYTES])):
        return Skip(Reason.NOT_WANTED, url, "not an article")
    base = normalise(page.base, url).url if page.base else url
    canonical = normalise(page.canonical, base).url if page.canonical else ""
    article = FoundArticle(
        url=url,
        kind=kind,
        title=unescape(page.title) or feed_entry.get("title", ""),
        html=page.markup,
        base=base,
        date=page.published or feed_entry.get("published", ""),
        authors=list(page.authors),
        keywords=list(page.keywords),
        image=page.image,
        excerpt=" ".join(unescape(page.description).split()),
        metadata={
            "site_name": page.site, "language": page.language, "modified_date": page.modified,
            "paywalled": True if _PAID.search(body) else None,
        },
        canonical=canonical if canonical and _is_own(canonical, url) else "",
        modified=page.modified,
    )  # fmt: skip
    return article_observation(article, str(options.get("timezone", "")), task.visited)


def _is_own(canonical: str, url: str) -> bool:
    """Return whether a canonical address may be the article's own: some sites give that of a section instead.

    >>> _is_own("https://a.example/news/", "https://a.example/news/the-quay")
    False
    >>> _is_own("https://a.example/news/the-quay", "https://a.example/news/the-quay/amp/")
    True
    """
    path, own_path = (unquote(urlsplit(address).path).strip("/") for address in (canonical, url))
    if not path or not own_path.startswith(f"{path}/"):
        return bool(path or urlsplit(canonical).query) or url.count("/") <= 3
    return all(_VARIANT.fullmatch(segment) for segment in own_path[len(path) + 1 :].split("/"))


def _is_noindex(body: bytes, fields: Mapping[str, str]) -> bool:
    matches = [_CONTENT.search(tag.decode("latin-1")) for tag in _META_ROBOTS.findall(body[:_HEAD_BYTES])]
    words = {word.strip().lower() for match in matches if match for word in match[1].split(",")}
    return bool(words & {"noindex", "none"}) or "noindex" in fields.get("x-robots-tag", "").lower()
