"""The Normalized News Data Standard 3.0: the fields and the file name of an article, and the check of both."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from unicodedata import category

from windrow.errors import StepError
from windrow.formats.json_page import find_repeated_keys, load_json
from windrow.formats.moment import read_page_time
from windrow.formats.text import replace_lone_surrogates
from windrow.formats.url import is_of_tracking, normalise, normalise_typed, parts

FIELDS = (
    "url", "title", "article_text", "source_domain", "publication_date", "publication_timestamp_gmt",
    "first_seen_timestamp_gmt", "author", "keywords", "image_url", "excerpt", "word_count", "metadata",
)  # fmt: skip
"""The fields of an article, in the order of the standard's example."""

REQUIRED_TEXT_FIELDS = ("url", "title", "article_text", "source_domain")
_OPTIONAL_TEXT_FIELDS = ("image_url", "excerpt")
_MAX_SECONDS = 10**12  # since 1970; a larger number is in milliseconds
_NOT_PROSE = re.compile(
    r"^[ \t>]*(`{3,})(?s:.*?)(?:^[ \t>]*\1|\Z)|(?<!`)(`+)(?!`)(?s:.{1,2000}?)(?<!`)\2(?!`)"
    r"|\]\([^()\s]*(?: \"(?>(?:\\.|[^\"\\\n])*)\")?|<(?:https?|mailto|tel):[^<>\s]*>|\\.",
    re.MULTILINE,
)
"""Matches what may look like HTML in Markdown: code, addresses and titles of links, and escaped characters."""
_MARKUP = re.compile(
    r"(?i)</?(?:a|b|blockquote|br|div|em|figure|font|h[1-6]|hr|i|iframe|img|li|ol|p|script|section|span|strong|style"
    r"|table|t[dhr]|u|ul)(?:\s[^<>]*)?/?>|&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[\da-f]{1,6});"
)
_HOST_NAME = re.compile(r"[a-z0-9_][a-z0-9._-]{0,252}|[0-9a-f:]{2,45}")
_MOBILE_PREFIX = re.compile(r"^(?:m|mobile|amp|touch|wap)\.(?=[^.]+\.)")
_VIEW_MATCH = re.compile(r"(?i)(?:amp|print|printable)(?:=(?:1|true|yes)?)?|outputtype=amp").fullmatch
"""Matches a query parameter that asks for another form of the same page."""
_ARTICLE_NAME = re.compile(r"#((?:wordpress|townnews):[^#]+)\Z")
"""Matches the end of the key `ADDRESS#NAME` of a record."""


def file_name(url: str) -> str:
    """Return the name of an article's file: the MD5 of its unchanged URL in UTF-8, with the suffix .json.

    >>> file_name("https://example.com/article1")
    '792d5401678a0440aa8ee3e2e366a849.json'
    """
    return hashlib.md5(url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest() + ".json"


def domain(url: str) -> str:
    """Return the host name of an address in lower case and punycode, without `www.`; empty if it is not valid.

    >>> domain("https://WWW.B\u00fccher.example:8080/x"), domain("https://../x")
    ('xn--bcher-kva.example', '')
    """
    normalised = normalise(url).url
    host_name = parts(normalised).host.strip("[]").removeprefix("www.") if normalised else ""
    return host_name if _HOST_NAME.fullmatch(host_name) and ".." not in host_name else ""


def split_name(key: str) -> tuple[str, str]:
    """Return the address and the name in the key `ADDRESS#NAME` of an article; the name is empty if there is none.

    >>> split_name("https://example.com/a#wordpress:list.example/7"), split_name("https://example.com/a#top")
    (('https://example.com/a', 'wordpress:list.example/7'), ('https://example.com/a#top', ''))
    """
    match = _ARTICLE_NAME.search(key)
    return (key[: match.start()], match[1]) if match else (key, "")


def alias(url: str) -> str:
    """Return a key that is the same for all spellings of an address; empty if it is not a web address.

    The addresses of a page's forms for printing and for AMP are such spellings if a parameter asks for them.

    >>> alias("http://www.example.com/a/?utm_source=x#top") == alias("https://example.com/a")
    True
    >>> alias("https://example.com/story.php?ref=2"), alias("https://example.com/story.php?ref=3")
    ('example.com/story.php?ref=2', 'example.com/story.php?ref=3')

    The name in a key `ADDRESS#NAME` remains, since it is the key of another article than that at the address.

    >>> alias("https://example.com/a#wordpress:list.example/7")
    'example.com/a#wordpress:list.example/7'
    """
    url, name = split_name(url)
    if name:
        return f"{address_alias}#{name}" if (address_alias := alias(url)) else ""
    resolved = normalise(url).url
    if not resolved:
        return ""
    address, _, query = resolved.partition("?")
    address_part = address.partition("://")[2].removeprefix("www.").rstrip("/")
    pairs = filter(None, query.split("&"))
    kept_pairs = [pair for pair in pairs if not is_of_tracking(pair) and not _VIEW_MATCH(pair)]
    return f"{address_part}?{'&'.join(kept_pairs)}" if kept_pairs else address_part


def is_same_site(url: str, canonical: str) -> bool:
    """Return whether the canonical address in a page is on the same site as `url`, the page's own address.

    A subdomain for mobile devices is the same site. Another subdomain may belong to other people, such as the authors
    of blogs, and a page must not replace an article of another site.

    >>> is_same_site("https://m.example.com/a", "https://www.example.com/a"), is_same_site("https://a.example/", "")
    (True, False)
    >>> is_same_site("https://ann.blogs.example/a", "https://blogs.example/a")
    False
    """
    return bool(domain(url)) and site(url) == site(canonical)


def site(url: str) -> str:
    """Return the domain of an address without the label of a form for mobile devices.

    >>> site("https://m.example.com/a"), site("https://www.example.com/a")
    ('example.com', 'example.com')
    """
    return _MOBILE_PREFIX.sub("", domain(url))


def format_article(article: Mapping[str, Any]) -> str:
    """Return an article as the text of its file: JSON, with the standard's fields first."""
    ordered = {name: article[name] for name in FIELDS if name in article}
    ordered |= {name: value for name, value in article.items() if name not in ordered}
    return replace_lone_surrogates(json.dumps(ordered, ensure_ascii=False, indent=2)) + "\n"


def content_hash(article: Mapping[str, Any]) -> str:
    """Return the SHA-256 (in hexadecimal) of an article without `metadata` and `first_seen_timestamp_gmt`."""
    compared = {name: value for name, value in article.items() if name not in {"first_seen_timestamp_gmt", "metadata"}}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()


def problems(article: Any) -> Iterator[tuple[str, str]]:
    """Yield (field, problem) for each violation of the standard; the field is empty if `article` is not an object."""
    if not isinstance(article, dict):
        yield "", "is not a JSON object"
        return
    for name in REQUIRED_TEXT_FIELDS:
        text = article.get(name)
        if not isinstance(text, str) or not text.strip():
            yield name, "is missing or empty" if text is None or isinstance(text, str) else "is not a text"
    source_domain = article.get("source_domain")
    if isinstance(source_domain, str) and ("/" in source_domain or any(map(str.isspace, source_domain))):
        yield "source_domain", "contains more than a domain name"
    url = article.get("url")
    if isinstance(url, str) and url.strip() and not normalise_typed(url):
        yield "url", "is not an absolute http or https address"
    if not _is_seconds(article.get("first_seen_timestamp_gmt")):
        yield "first_seen_timestamp_gmt", "is not a positive whole number of seconds"
    yield from _optional_problems(article)


def _optional_problems(article: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    timestamp = article.get("publication_timestamp_gmt")
    if timestamp is not None and not _is_seconds(timestamp):
        yield "publication_timestamp_gmt", "is neither null nor a positive whole number of seconds"
    for name in ("publication_date", "author"):
        if not isinstance(article.get(name), str | None):
            yield name, "is neither null nor a text"
    keywords = article.get("keywords", [])
    if not isinstance(keywords, list) or not all(isinstance(keyword, str) for keyword in keywords):
        yield "keywords", "is not a list of texts"
    for name in _OPTIONAL_TEXT_FIELDS:
        if name in article and not isinstance(article[name], str):
            yield name, "is not a text"
    count = article.get("word_count", 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        yield "word_count", "is not a whole number of 0 or more"
    if not isinstance(article.get("metadata", {}), dict):
        yield "metadata", "is not an object"


def _is_seconds(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number < _MAX_SECONDS


# The most seconds by which an article's date and timestamp may differ: if the date has a time zone, and if it has none.
_MAX_SECONDS_APART, _MAX_SECONDS_APART_WITHOUT_ZONE = 1.0, timedelta(days=1).total_seconds()
MAX_FILE_SIZE = 64 << 20
"""The maximum size of a file that is checked, in bytes."""


def check_file(folder: str, name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield (field, problem) for each violation in the file `folder`/`name`; the field is "" for the whole file."""
    try:
        text = content.decode("utf-8")
        article = load_json(text, strict=True)
    except UnicodeDecodeError:
        yield "", "is not UTF-8"
        return
    except (ValueError, RecursionError, StepError) as error:
        yield "", f"is not JSON: {error}"
        return
    yield from problems(article)
    if isinstance(article, dict):
        yield from _check_path(article, folder, name)
        yield from _check_date(article)
        yield from _check_texts(article)
        for key in sorted(find_repeated_keys(text)):
            yield "", f"has the key {key[:100]!r} more than once"


def _check_path(article: dict[str, Any], folder: str, name: str) -> Iterator[tuple[str, str]]:
    url, domain = article.get("url"), article.get("source_domain")
    if isinstance(url, str) and name != file_name(url):
        yield "url", f"the file's name should be {file_name(url)}"
    if isinstance(domain, str) and domain != folder:
        yield "source_domain", f"the file should be in the folder {domain[:100]!r}"


def _check_texts(article: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a reader would see in the texts, but `problems` accepts."""
    texts = {name: text for name, text in article.items() if isinstance(text, str) and text.strip()}
    for name, text in texts.items():
        if any(map(_is_surrogate, text)):
            yield name, "contains half of a surrogate pair, which is not a character"
        if name in REQUIRED_TEXT_FIELDS and all(category(character)[0] in "CZ" for character in text):
            yield name, "has only invisible characters"
    if markup := _MARKUP.search(_NOT_PROSE.sub(" ", texts.get("article_text", ""))):
        yield "article_text", f"contains HTML that is not converted: {markup[0][:40]!r}"
    url = texts.get("url", "")
    if any(map(str.isspace, url)):
        yield "url", "contains spaces"
    site, own_site = domain(f"https://{texts.get('source_domain', '')}/"), domain(url)
    if site and own_site and not f".{own_site}".endswith(f".{site}") and not f".{site}".endswith(f".{own_site}"):
        yield "source_domain", f"is not the domain of the url, {own_site[:100]!r}"


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _check_date(article: dict[str, Any]) -> Iterator[tuple[str, str]]:
    timestamp, date = article.get("publication_timestamp_gmt"), article.get("publication_date")
    if not isinstance(timestamp, int) or not isinstance(date, str) or (time := read_page_time(date)) is None:
        return
    try:
        seconds_apart = abs(time.timestamp() - timestamp)
    except (OverflowError, ValueError):
        return
    if seconds_apart > (_MAX_SECONDS_APART if time.tzinfo else _MAX_SECONDS_APART_WITHOUT_ZONE):
        yield "publication_timestamp_gmt", f"is {timestamp}, which differs from the publication_date {date[:40]!r}"
