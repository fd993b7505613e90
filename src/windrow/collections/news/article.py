"""Convert articles to the form that the standard defines; read an article from an HTML page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import escape, unescape
from typing import Any
from unicodedata import category
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from windrow.collections.news import standard
from windrow.collections.news.wanted_paths import find_refusal
from windrow.content.article import Article, read_article
from windrow.content.charset import decode
from windrow.content.head import first_date, read_refresh
from windrow.content.markdown import html_to_markdown
from windrow.content.selected_parts import PART_NAMES, PartSelectors, select_parts
from windrow.content.substitute import asks_for_consent, recognise_substitute
from windrow.content.tree import parse, remove_silent_elements
from windrow.content.xhtml import decode_page, describe_fault
from windrow.contract import Observation, Skip, Task, skip_excess
from windrow.digest import hash64
from windrow.errors import StepError
from windrow.formats import robots
from windrow.formats.http import read_media_type
from windrow.formats.moment import has_day, read_page_time
from windrow.formats.url import has_web_scheme, is_front_page, normalise
from windrow.formats.words import count_words
from windrow.reasons import Reason

_FIRST_YEAR = 1990
_MAX_TIME_AHEAD = timedelta(days=1)
_WORD = re.compile(r"\w+(?:['\u2019.-]\w+)*")
"""Matches a word of a title, by which an article is recognised."""
_DESTINATION = r"\]\((?:<[^<>\n]*+>|[^()\s]*+(?>(?:\([^()\s]*+\)[^()\s]*+)*))\)"
_NO_WORDS = re.compile(rf"!\[[^\[\]]*+{_DESTINATION}|{_DESTINATION}")
"""Matches what is not counted as words in Markdown: an image, and the address of a link."""


@dataclass
class FoundArticle:
    """An article as a reader returns it.

    `kind` is the kind of its site. `html` is its text as HTML, in which addresses are relative to `base_url`; all other
    texts are plain. `date` and `modified` are the times of publication and of the last change, as the site writes them.
    """

    url: str
    kind: str
    title: str = ""
    html: str = ""
    base_url: str = ""
    date: str = ""
    timestamp: int | None = None
    """The time of publication in seconds since 1970, for a `date` that cannot be converted."""
    authors: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    own_keywords: list[str] | None = None
    """The keywords that its page states, if `keywords` also has categories of a list of articles."""
    image_url: str = ""
    excerpt: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    canonical_url: str = ""
    lasting_name: str = ""
    """A name that stays the same when the address changes, such as one with the number of a WordPress post."""
    modified: str = ""
    redirected_from: tuple[str, ...] = ()
    """The addresses of its site that permanently redirect to it."""


def article_observation(article: FoundArticle, zone: str, seen: datetime | None) -> Observation | Skip:
    """Return the observation of an article, without `first_seen_timestamp_gmt`, or a skip.

    It is skipped if it has no valid web address, no title or no text. `zone` is the IANA name of the time zone of dates
    that do not state one, or empty. `seen` is the time of the request, or None if it is not known.
    """
    domain = standard.domain(article.url)
    if not domain or not has_web_scheme(article.url):
        entry_name = article.url or article.lasting_name or article.title
        return Skip(Reason.BAD_ADDRESS, entry_name[:500], "" if article.url else "the article has no valid web address")
    title = " ".join(article.title.split())
    if not title:
        return Skip(Reason.NO_TITLE, article.url)
    text = _remove_title(html_to_markdown(article.html, normalise(article.base_url or article.url).url), title)
    word_count = count_words(_NO_WORDS.sub(" ", text))
    if not word_count:
        return Skip(Reason.NO_TEXT, article.url, "its text has no words" if text.strip() else "")
    timestamp, doubt = parse_date(article.date, zone, seen)
    if timestamp is None and article.timestamp is not None:
        timestamp, doubt = article.timestamp, ""
    metadata = {name: value for name, value in article.metadata.items() if value not in (None, "", [])}
    if article.canonical_url:  # stored even if it equals the address, so that all spellings give the same record
        metadata["canonical_url"] = article.canonical_url
    if doubt:
        metadata["date_doubt"] = doubt
    observed: dict[str, Any] = {
        "url": article.url,
        "title": title,
        "article_text": text,
        "source_domain": domain,
        "publication_date": article.date or None,
        "publication_timestamp_gmt": timestamp,
        "author": ", ".join(unique_texts(article.authors)) or None,
        "keywords": unique_texts(article.keywords),
        "word_count": word_count,
    }
    image_url = normalise(article.image_url, article.base_url or article.url).url if article.image_url else ""
    optional_fields = {"image_url": image_url, "excerpt": article.excerpt, "metadata": metadata}
    observed |= {name: content for name, content in optional_fields.items() if content}
    is_own = standard.is_same_site(article.url, article.canonical_url)
    own_alias = standard.alias(article.url)
    canonical_alias = standard.alias(article.canonical_url) if is_own else own_alias
    # Some sites write one canonical address on all pages, or on all parts of a series: articles are joined by it only
    # if their titles and their days of publication are equal, and their texts nearly so.
    time = read_page_time(article.date) if article.date else None
    symbols = "".join(character for character in title if category(character).startswith("S"))  # such as +, $ and emoji
    identity = " ".join([*_words(title), symbols, time.date().isoformat() if time else ""])
    shared_aliases = (f"{canonical_alias} {hash64(identity):x}",)
    aliases: tuple[str, ...] = (own_alias,)
    if time and word_count >= _MIN_WORDS_OF_COPY and not article.lasting_name:  # it may move to another address
        aliases += (f"{standard.site(article.url)} {hash64(f'{identity} {text}'):x}",)
    # A text without a date may be at two addresses of a site for a time: only a redirect says that they are the same.
    # It is not an alias: an address that redirects to each day's page would make all of them one article.
    moved_from = tuple(f"{standard.alias(former)} {hash64(identity):x}" for former in article.redirected_from)
    # The tree finds a file by the key of the record: an alias that articles share would give them one file.
    aside = {"kind": article.kind, "aliases": aliases, "name": article.lasting_name}
    if canonical_alias != own_alias:
        aside["canonical"] = canonical_alias
    if article.modified:
        aside["modified"] = article.modified
    return Observation(
        article.url, observed, f"{title}\n{text}", url=article.url, aside=aside, aliases=aliases + shared_aliases,
        names=tuple(filter(None, [article.lasting_name])), shared_aliases=shared_aliases, moved_from=moved_from,
        own_lists={} if article.own_keywords is None else {"keywords": tuple(unique_texts(article.own_keywords))},
    )  # fmt: skip


def separate_claim(article: FoundArticle, task: Task) -> FoundArticle:
    """Return an article of a list with the address `ADDRESS#NAME` if the address is at no site of the list's source.

    Any list may name addresses of other sites; what it says must neither change nor end the articles that those sites
    have there. The sites of a source are those of its `url` and `origins`, and the one that returned the list.
    """
    if task.request is None or task.source is None or not (site := standard.domain(article.url)):
        return article
    origins = task.source.options["origins"]
    if site in map(standard.domain, (task.request.url, task.source.site.address(""), *origins)):
        return article
    name = article.lasting_name or f"{article.kind}:{standard.domain(task.request.url)}"
    return replace(article, url=f"{article.url}#{name}")


def _remove_title(text: str, title: str) -> str:
    r"""Return a text without the headline at its beginning, if the headline repeats the title and other text remains.

    Figures and their captions may be before the headline; they are kept.

    >>> _remove_title("# Tea\n\nPour it.", "Tea"), _remove_title("# Tea", "Tea")
    ('Pour it.', '# Tea')
    >>> _remove_title("![](https://a.example/a.jpg)\n\n# Tea\n\nPour it.", "Tea")
    '![](https://a.example/a.jpg)\n\nPour it.'
    """
    paragraphs = text.split("\n\n")
    text_indices = (index for index, part in enumerate(paragraphs) if not part.startswith(("![", "*", "[![")))
    index = next(text_indices, 0)  # of the first paragraph that is neither a figure nor a caption
    is_title = paragraphs[index][:2] == "# " and _words(paragraphs[index].removeprefix("# ")) == _words(title)
    without_title = "\n\n".join((*paragraphs[:index], *paragraphs[index + 1 :]))
    return without_title if is_title and without_title.strip() else text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def parse_date(date: str, zone: str, seen: datetime | None) -> tuple[int | None, str]:
    """Return (seconds since 1970 or None, a doubt about the date or an empty text).

    `zone` is the IANA name of the time zone of a date that does not state one, or empty. A date before 1990, or more
    than a day after `seen`, is doubtful, and so is one that occurs twice or never in `zone`. So is a text that is not a
    date, one with a time of day or a zone that is not understood, and a date without a zone if `zone` is empty; its
    time is None.

    >>> parse_date("2025-11-20T14:30:00-06:00", "", datetime(2026, 1, 1, tzinfo=UTC))
    (1763670600, '')
    >>> parse_date("2025-11-20T14:30:00", "", datetime(2026, 1, 1, tzinfo=UTC))
    (None, 'no time zone')
    >>> parse_date("2025-10-26T02:30:00", "Europe/Berlin", None)
    (1761438600, 'the clocks change then')
    """
    if not date:
        return None, ""
    time = read_page_time(date)
    if time is None:
        return None, "time not understood" if has_day(date) else "not a date"
    doubt = ""
    if time.tzinfo is None:
        if not zone:
            return None, "no time zone"
        time = time.replace(tzinfo=ZoneInfo(zone))
        if time.utcoffset() != time.replace(fold=1).utcoffset():  # it occurs twice or never
            doubt = "the clocks change then"
    try:
        timestamp = int(time.timestamp())
        time = time.astimezone(UTC)
    except (OverflowError, ValueError):
        return None, "not a date"
    if time.year < _FIRST_YEAR:
        return (timestamp if timestamp > 0 else None), f"before {_FIRST_YEAR}"
    return timestamp, "in the future" if seen and time > seen + _MAX_TIME_AHEAD else doubt


def unique_texts(texts: Iterable[str]) -> list[str]:
    """Return each text once, in order, with single spaces; empty texts are left out."""
    return list(dict.fromkeys(text for text in (" ".join(text.split()) for text in texts) if text))


_ARTICLE_MARK = re.compile(rb'(?i)itemtype=["\']?https?://schema\.org/\w*(?:Article|Posting)')
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")
_MIN_WORDS_OF_COPY = 50  # of a text that two addresses of a site must have if they are those of one article
_MIN_FURTHER_WORDS = 50  # that the text in JSON-LD must have beyond the text that the page shows
_PAYWALL_MARK = re.compile(rb'"isAccessibleForFree"\s*:\s*"?false', re.IGNORECASE)
MAX_STUB_SIZE = 20_000
"""The maximum size in bytes of a page that can be taken for a mere redirect to another page."""
_MAX_STUB_CHARACTERS = 600  # of its text
_SOON = re.compile(r"\s*(?:\d|10)(?:\.\d*)?\s*[;,]")
"""Matches the beginning of the content of a `meta` refresh that redirects after at most ten seconds."""
_VARIANT_SEGMENT = re.compile(r"(?i)amp|print|mobile|m|page|full|index\.\w+|0*1")
"""Matches a path segment that is added for another form of an article, such as one for printing."""
_FURTHER_PART = re.compile(r"(?i)[/_-](?:(?:page|part|seite|teil|p)[/_-]?)?(?!0*1$)\d{1,3}")
"""Matches what is added to the path of an article for its further pages, which have other texts."""
_EXTENSION = re.compile(r"\.\w{2,5}$")
_INDEX_FILE = re.compile(r"(?i)(?:^|/)(?:index|default)\.\w{2,5}$")
_NAMING_PARAMETER = re.compile(r"(?i)(?:\w*id|p|n|a|s|article|artikel|story|news|post|page|title|slug)=")
"""Matches a query parameter that may be the only difference between the addresses of two articles."""
_SLUG_MARK = re.compile(r"[\d-]|[^-_/]{3,}_|%")
"""Matches characters that the last path segment of most article addresses has, and of few section addresses."""
HTML_TYPES = frozenset(("", "text/html", "application/xhtml+xml"))
"""The media types of pages, and that of a response without one."""


def find_refresh(body: bytes, url: str, content_type: str = "") -> str:
    """Return the address to which a page with little text soon redirects by a `meta` refresh.

    Return "" if there is none, or if it is an address of the same page.

    >>> find_refresh(b"<meta http-equiv=refresh content='0; url=/b'><p>Moved", "https://a.example/a")
    'https://a.example/b'
    """
    if len(body) > MAX_STUB_SIZE or b"refresh" not in body.lower():
        return ""
    tree = parse(decode_page(body, content_type).html)
    for node in tree.css("noscript"):  # it sends browsers without scripts elsewhere, from pages that have a text, too
        node.decompose()
    metas = (node.attributes for node in tree.css("meta[http-equiv]"))
    reference, content = next(
        ((href, attributes["content"] or "") for attributes in metas if (href := read_refresh(attributes))), ("", "")
    )
    if not _SOON.match(content):
        return ""
    base = tree.css_first("base[href]")
    base_url = normalise((base.attributes["href"] if base is not None else "") or "", url).url or url
    remove_silent_elements(tree)
    text = " ".join(tree.root.text(separator=" ").split()) if tree.root is not None else ""
    target = normalise(reference, base_url).url
    return target if len(text) <= _MAX_STUB_CHARACTERS and standard.alias(target) != standard.alias(url) else ""


def read_page(task: Task, kind: str, feed_entry: Mapping[str, Any]) -> Iterator[Observation | Skip]:
    """Yield the observation of the article in a page, or a skip; nothing for a page that only redirects to another.

    A page that redirects to a front page is skipped. After an observation, a skip is yielded for each cap that leaves
    out something, and for JSON-LD that cannot be read. `feed_entry` has the `title`, `published`, `authors` and
    `keywords` that a feed gives for the article; it is empty without a feed.
    """
    url = task.request.url if task.request else task.item.key
    body = task.view.read()
    agent = task.source.site.agent if task.source else ""
    directives = robots.read_header_directives(task.fields.get("x-robots-tag", "").split("\n"), agent)
    options = task.source.options if task.source else {}
    if skip := _check_response(url, body, task.fields, options):
        yield skip
        return
    if target := find_refresh(body, url, task.fields.get("content-type", "")):
        if is_front_page(target):
            yield Skip(Reason.REDIRECTED, url, f"it redirects to {target}")
        return
    content_type, excluded = task.fields.get("content-type", ""), options.get("exclude_selectors", ())
    try:
        page = read_article(body, content_type, url, excluded)
        selectors = PartSelectors(
            **{name: options.get(f"{name}_selectors", ()) for name in PART_NAMES}, exclude=excluded
        )
        page, missing = select_parts(page, body, content_type, selectors)
    except StepError as error:
        yield Skip(error.reason or Reason.STEP_FAILED, url, str(error))
        return
    if directives.join(robots.read_meta_directives(page.robots_metas, agent)).noindex:
        yield Skip(Reason.NOINDEX, url)
        return
    is_article = bool(options.get("article"))  # other paths are refused above
    if substitute := _find_substitute(page, url, body, task.fields, feed_entry, is_article=is_article):
        yield substitute
        return
    article = _make_article(page, url, kind, feed_entry, is_paywalled=bool(_PAYWALL_MARK.search(body)))
    former_urls = task.request.redirected_from if task.request else ()
    article.redirected_from = tuple(former for former in former_urls if standard.is_same_site(url, former))
    if is_outside(article.date, str(options.get("since", "")), str(options.get("until", ""))):
        yield Skip(Reason.NOT_WANTED, url, "it is before `since` or after `until`")
        return
    yield article_observation(article, str(options.get("timezone", "")), task.visited)
    yield from _find_losses(page, missing)


def _make_article(
    page: Article, url: str, kind: str, feed_entry: Mapping[str, Any], *, is_paywalled: bool
) -> FoundArticle:
    base_url = normalise(page.base, url).url if page.base else url
    canonical_url = normalise(page.canonical, base_url).url if page.canonical else ""
    stated_dates = (page.stated_date, feed_entry.get("published", ""))
    text_html, text_source = _choose_text(page)
    return FoundArticle(
        url=url,
        kind=kind,
        title=page.title or feed_entry.get("title", ""),
        html=text_html,
        base_url=base_url,
        date=first_date(stated_dates) or next(filter(None, stated_dates), page.published),
        authors=list(page.authors or feed_entry.get("authors", ())),
        keywords=[*page.keywords, *feed_entry.get("keywords", ())],
        own_keywords=list(page.keywords) if feed_entry else None,
        image_url=page.image,
        excerpt=" ".join(page.description.split()),
        metadata={
            "site_name": page.site, "language": page.language, "modified_date": page.modified,
            "paywalled": is_paywalled or None, "text_source": text_source,
        },
        canonical_url=canonical_url if canonical_url and _may_be_own(canonical_url, url) else "",
        modified=page.modified,
    )  # fmt: skip


def _choose_text(page: Article) -> tuple[str, str]:
    """Return the text of an article as HTML, and "json_ld" if it is that of the page's JSON-LD, otherwise "".

    It is taken from there if it has at least twice the words of the text that the page shows. A page shows only a
    teaser if a script adds the rest, or if the rest must be paid for.
    """
    stated_text = page.stated_text
    shown, stated = (count_words(text) for text in (" ".join(page.blocks), _MARKUP.sub(" ", stated_text)))
    if stated < max(2 * shown, shown + _MIN_FURTHER_WORDS):
        return page.markup, ""
    if _MARKUP.search(stated_text):
        return stated_text, "json_ld"
    return "".join(f"<p>{escape(line)}</p>" for line in stated_text.splitlines() if line.strip()), "json_ld"


def _find_losses(page: Article, missing: Iterable[str]) -> Iterator[Skip]:
    """Yield a skip for each cap that leaves out something of a page, and for XML and JSON-LD that cannot be read.

    Also yield one for each part in `missing`, whose selectors select nothing that can be read.
    """
    yield from map(skip_excess, page.left_out)
    if page.fault:
        yield Skip(Reason.NOT_WELL_FORMED, "XHTML", describe_fault(page.fault))
    if page.unread_scripts:
        message = "a part of its JSON-LD is not valid JSON, or is nested too deeply"
        yield Skip(Reason.NOT_WELL_FORMED, "JSON-LD", message, page.unread_scripts)
    for name in missing:
        message = f"`{name}_selectors` select nothing that can be read; what was found without them is used"
        yield Skip(Reason.INCOMPLETE_RECORD, f"{name}_selectors", message)


def _check_response(url: str, body: bytes, fields: Mapping[str, str], options: Mapping[str, Any]) -> Skip | None:
    if rule := find_refusal(url, options):
        return Skip(Reason.NOT_WANTED, url, rule)
    if read_media_type(fields) not in HTML_TYPES:
        return Skip(Reason.NOT_WANTED, url, f"its media type is {read_media_type(fields)}, not HTML")
    if not body.strip():
        return Skip(Reason.NO_TEXT, url, "the response is empty")
    return None


def is_outside(date: str, since: str, until: str) -> bool:
    """Return whether a date is before the day `since` or after the day `until`; an empty day is no limit.

    >>> is_outside("2026-01-31T10:00:00Z", "2026-02-01", ""), is_outside("", "2026-02-01", "")
    (True, False)
    """
    time = read_page_time(date) if date and (since or until) else None
    day = time.date().isoformat() if time else ""
    return bool(day) and (day < since or bool(until and day > until))


def _find_substitute(
    page: Article, url: str, body: bytes, fields: Mapping[str, str], feed_entry: Mapping[str, Any], *, is_article: bool
) -> Skip | None:
    """Return a skip if a page is not an article, otherwise None. `is_article` is whether its address says that it is.

    Any other page with neither a date nor metadata of an article is an article only if a feed names it, and if the page
    has at least half of the long words of its title in the feed.
    """
    if is_front_page(url):
        return Skip(Reason.NOT_WANTED, url, "the page is the front page of the site")
    text = "\n".join(page.blocks)
    reason = recognise_substitute((page.title, *page.blocks[:1]), text)
    if reason is None and not page.published and asks_for_consent(text):
        reason = Reason.CONSENT_PAGE
    if reason:
        return Skip(reason, url, f"the page is titled {page.title[:200]!r}")
    if page.published or page.kind.lower().startswith("article") or _ARTICLE_MARK.search(body):
        return None
    if not feed_entry:
        return (
            None
            if is_article
            else Skip(Reason.NOT_WANTED, url, "the page has neither a date of publication nor metadata of an article")
        )
    listed_title = feed_entry.get("title", "")
    if _has_words_of(listed_title, unescape(decode(body, fields.get("content-type", "")).text)):
        return None
    message = f"the page has fewer than half of the words of its title in a feed, {listed_title[:200]!r}"
    return Skip(Reason.SOFT_404, url, message)


def _has_words_of(title: str, text: str) -> bool:
    """Return whether a text has at least half of a title's words of 4 letters or more; True if the title has none."""
    long_words = {word for word in _words(title) if len(word) > 3}
    return not long_words or 2 * len(long_words & {*_words(text)}) >= len(long_words)


def _may_be_own(canonical_url: str, url: str) -> bool:
    """Return whether a canonical address may belong to the article at `url`.

    Some sites state the same canonical address in all articles: that of the front page, of a section, or of the program
    that makes the pages; others state that of the first page of an article in its further pages. With such an address,
    each page would replace the one before it.

    >>> _may_be_own("https://a.example/news/", "https://a.example/news/the-quay")
    False
    >>> _may_be_own("https://a.example/", "https://a.example/the-quay")
    False
    >>> _may_be_own("https://a.example/news/the-quay", "https://a.example/news/the-quay/amp/")
    True
    >>> _may_be_own("https://a.example/a?id=5", "https://a.example/a?id=5&form=print")
    True
    >>> _may_be_own("https://a.example/news/the-quay.html", "https://a.example/news/the-quay-2.html")
    False
    """
    canonical_path, path = (
        _INDEX_FILE.sub("", unquote(urlsplit(address).path).strip("/")) for address in (canonical_url, url)
    )
    canonical_query, query = (standard.alias(address).partition("?")[2] for address in (canonical_url, url))
    if canonical_path == path:
        return {*filter(_NAMING_PARAMETER.match, query.split("&"))} <= {*canonical_query.split("&")}
    if not canonical_path:
        return bool(canonical_query)
    stem, canonical_stem = _EXTENSION.sub("", path), _EXTENSION.sub("", canonical_path)
    if stem.startswith(canonical_stem) and _FURTHER_PART.fullmatch(stem[len(canonical_stem) :]):
        return False
    if path.startswith(f"{canonical_path}/"):
        return all(_VARIANT_SEGMENT.fullmatch(segment) for segment in path[len(canonical_path) + 1 :].split("/"))
    is_section = not _SLUG_MARK.search(canonical_path.rpartition("/")[2]) and not canonical_query
    return not is_section or not path
