"""An article's page: what it says of itself in JSON-LD, meta tags and microdata, and its main text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from urllib.parse import unquote, urlsplit

from windrow.collections.news.article import FoundArticle, article_observation
from windrow.contract import Observation, Skip, Task
from windrow.errors import StepError
from windrow.formats import html
from windrow.formats.http import media_type
from windrow.formats.url import normalise
from windrow.reasons import Reason

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
        found = html.article(body, task.fields.get("content-type", ""), url, options.get("drop", ()))
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
