"""The Normalized News Data Standard 3.0, and whether a tree of files follows it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from windrow.errors import StepError
from windrow.formats.moment import written
from windrow.formats.url import normalise, parts

FIELDS = (
    "url", "title", "article_text", "source_domain", "publication_date", "publication_timestamp_gmt",
    "first_seen_timestamp_gmt", "author", "keywords", "image_url", "excerpt", "word_count", "metadata",
)  # fmt: skip
"""The fields of an article, in the order of the standard's example."""

REQUIRED = ("url", "title", "article_text", "source_domain", "first_seen_timestamp_gmt")
_TEXTS = ("url", "title", "article_text", "source_domain")
_OPTIONAL_TEXTS = ("image_url", "excerpt")
_MILLISECONDS = 10**12  # so large a number is a time in milliseconds
_HOST = re.compile(r"[a-z0-9_][a-z0-9._-]{0,252}|[0-9a-f:]{2,45}")
_DEVICE = re.compile(r"^(?:m|mobile|amp|touch|wap)\.(?=[^.]+\.)")
_MARKS = re.compile(r"(?i)^(?:utm_[a-z]+|fbclid|gclid|mc_[ce]id|igshid|cmpid|ref|src)$")


def file_name(url: str) -> str:
    """Return the name of an article's file: the MD5 of its URL as it is written.

    >>> file_name("https://example.com/article1")
    '792d5401678a0440aa8ee3e2e366a849.json'
    """
    return hashlib.md5(url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest() + ".json"


def domain(url: str) -> str:
    """Return the domain of an address, without a leading `www.`, in lower case and punycode; empty for no address.

    >>> domain("https://WWW.B\u00fccher.example:8080/x"), domain("https://../x")
    ('xn--bcher-kva.example', '')
    """
    resolved = normalise(url).url
    host = parts(resolved).host.strip("[]").removeprefix("www.") if resolved else ""
    return host if _HOST.fullmatch(host) and ".." not in host else ""


def alias(url: str) -> str:
    """Return what all spellings of one address have in common; empty for no address.

    >>> alias("http://www.example.com/a/?utm_source=x#top") == alias("https://example.com/a")
    True
    """
    resolved = normalise(url).url
    if not resolved:
        return ""
    address, _, query = resolved.partition("?")
    where = address.partition("://")[2].removeprefix("www.").rstrip("/")
    kept = [one for one in query.split("&") if one and not _MARKS.match(one.partition("=")[0])]
    return f"{where}?{'&'.join(kept)}" if kept else where


def is_same_site(url: str, other: str) -> bool:
    """Tell whether two addresses may be one article's: no page may say that it is the article of another site.

    A host's other names for small screens are the same site. Any other host below it may be a stranger's, as where
    everybody who writes has one: what such a page names may be the address of an article that is not its own.

    >>> is_same_site("https://m.example.com/a", "https://www.example.com/a"), is_same_site("https://a.example/", "")
    (True, False)
    >>> is_same_site("https://ann.blogs.example/a", "https://blogs.example/a")
    False
    """
    one, two = (_DEVICE.sub("", domain(each)) for each in (url, other))
    return bool(one and two) and one == two


def spelled(article: Mapping[str, Any]) -> str:
    """Return an article as its file has it."""
    known = {name: article[name] for name in FIELDS if name in article}
    known |= {name: value for name, value in article.items() if name not in known}
    return json.dumps(known, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode() + "\n"


def content_hash(article: Mapping[str, Any]) -> str:
    """Return what tells one revision of an article from another; when it was seen is none of it."""
    told = {name: value for name, value in article.items() if name not in {"first_seen_timestamp_gmt", "metadata"}}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def problems(article: Any) -> Iterator[tuple[str, str]]:
    """Yield what the standard's own validation finds: a field, and what is wrong with it."""
    if not isinstance(article, dict):
        yield "", "it is no JSON object"
        return
    for name in _TEXTS:
        value = article.get(name)
        if not isinstance(value, str) or not value.strip():
            yield name, "is missing or empty" if value is None or isinstance(value, str) else "is no text"
    bare = article.get("source_domain")
    if isinstance(bare, str) and ("/" in bare or any(map(str.isspace, bare))):
        yield "source_domain", "is no bare domain"
    url = article.get("url")
    if isinstance(url, str) and url.strip() and (not url.startswith(("http://", "https://")) or not normalise(url).url):
        yield "url", "is no absolute address of the web"
    if not _is_seconds(article.get("first_seen_timestamp_gmt")):
        yield "first_seen_timestamp_gmt", "is no positive whole number of seconds"
    yield from _optional(article)


def _optional(article: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    stamp = article.get("publication_timestamp_gmt")
    if stamp is not None and not _is_seconds(stamp):
        yield "publication_timestamp_gmt", "is neither null nor a positive whole number of seconds"
    for name in ("publication_date", "author"):
        if not isinstance(article.get(name), str | None):
            yield name, "is neither null nor a text"
    keywords = article.get("keywords", [])
    if not isinstance(keywords, list) or not all(isinstance(keyword, str) for keyword in keywords):
        yield "keywords", "is no list of texts"
    for name in _OPTIONAL_TEXTS:
        if name in article and not isinstance(article[name], str):
            yield name, "is no text"
    count = article.get("word_count", 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        yield "word_count", "is no whole number"
    if not isinstance(article.get("metadata", {}), dict):
        yield "metadata", "is no object"


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MILLISECONDS


_APART = timedelta(days=1).total_seconds()  # a date without a zone may be this far from its seconds
_SAME = 1.0
LARGEST = 64 << 20
"""Bytes of a file that is judged."""


def judge_file(folder: str, name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an article's file: the field, or an empty text, and what is wrong with it."""
    try:
        article = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        yield "", "is no UTF-8"
        return
    except (ValueError, RecursionError, StepError):
        yield "", "is no JSON"
        return
    yield from problems(article)
    if isinstance(article, dict):
        yield from _placed(article, folder, name)
        yield from _dated(article)


def _no_number(name: str) -> None:
    raise StepError(f"{name} is no JSON")


def _placed(article: dict[str, Any], folder: str, name: str) -> Iterator[tuple[str, str]]:
    url, domain = article.get("url"), article.get("source_domain")
    if isinstance(url, str) and name != file_name(url):
        yield "url", f"the file should be called {file_name(url)}"
    if isinstance(domain, str) and domain != folder:
        yield "source_domain", f"the file should lie in {domain[:100]!r}"


def _dated(article: dict[str, Any]) -> Iterator[tuple[str, str]]:
    stamp, told = article.get("publication_timestamp_gmt"), article.get("publication_date")
    if not isinstance(stamp, int) or not isinstance(told, str) or (at := written(told)) is None:
        return
    try:
        apart = abs(at.timestamp() - stamp)
    except (OverflowError, ValueError):
        return
    if apart > (_SAME if at.tzinfo else _APART):
        yield "publication_timestamp_gmt", f"is {stamp}, and publication_date is {told[:40]!r}"
