"""Read what a page says of itself: title, description, addresses, language, robots, OpenGraph, dates, offers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.formats.html.linked import StructuredData, linked
from windrow.formats.moment import written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"})
_JSON_LD = "application/ld+json"
_ASKS = re.compile(r"no(?:index|ne\b)|unavailable_after", re.IGNORECASE)
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
RELATIONS = frozenset({"next", "prev", "previous", "alternate", "start", "index", "contents", "up"})
"""Relations to other pages that a reader may go on to."""
_ICONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"})
_LONGEST = 10_000  # characters of one value
_PUBLISHED = (
    "article:published_time", "og:article:published_time", "og:published_time", "article:published", "og:pubdate",
    "article:post_date", "datepublished", "rnews:datepublished", "publishdate", "publish-date", "publish_date",
    "publication_date", "publication-date", "publicationdate", "article.published", "article_date_original",
    "originalpublicationdate", "pubdate", "parsely-pub-date", "sailthru.date", "cxenseparse:recs:publishtime",
    "shareaholic:article_published_time", "citation_publication_date", "citation_online_date", "citation_date",
    "dc.date.issued", "dcterms.issued", "dcterms.created", "dc.date.created", "dc.date", "dcterms.date", "dcterm.date",
    "displaydate", "date", "article:created_time", "created", "article-publish-date", "release_date",
    "published-date", "published_date", "published-time", "published_time", "w-published-date",
)  # fmt: skip
"""Names that pages tell their date by, the plainest first."""
_MODIFIED = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "article:modified", "datemodified",
    "article.updated", "lastmod", "dcterms.modified", "dc.date.modified",
)  # fmt: skip
_AUTHOR = (
    "author", "article:author", "og:article:author", "article:author_name", "article.author", "authors", "byl",
    "byline", "parsely-author", "sailthru.author", "dc.creator", "dcterms.creator", "dc.creator.name",
    "citation_author", "rbauthors", "shareaholic:article_author_name", "cxenseparse:author",
)  # fmt: skip
_KEYWORDS = (
    "article:tag", "og:article:tag", "article:section", "news_keywords", "keywords", "parsely-tags",
    "sailthru.tags", "parsely-section",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed that the page offers."""

    type: str
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class Translation:
    """The page in another language, or the one to choose it from (`x-default`)."""

    language: str
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class Related:
    """Another page that this one names as its relation, such as `next`; `refresh` where it leads on by itself."""

    rel: str
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class PageHead:
    """What a page says of itself; an empty string where it says nothing. Addresses are as written."""

    title: str = ""
    description: str = ""
    language: str = ""
    """The `lang` of the root, as written."""
    canonical: str = ""
    """The first address that it names as its own; `canonicals` has all of them."""
    canonicals: tuple[str, ...] = ()
    base: str = ""
    """What relative addresses start from, where it is not the page's own address."""
    robots: frozenset[str] = frozenset()
    """The directives of `meta name=robots`, in lower case."""
    asks: tuple[tuple[str, str], ...] = ()
    """Name and content of every `meta` that may hold such directives, for all robots or for one of them."""
    authors: tuple[str, ...] = ()
    published: str = ""
    """A date that can be read, as written; so is `modified`."""
    modified: str = ""
    keywords: tuple[str, ...] = ()
    linked: StructuredData = field(default_factory=StructuredData)
    """What its JSON-LD says."""
    graph: tuple[tuple[str, str], ...] = ()
    """OpenGraph and article properties, as written, in order."""
    feeds: tuple[FeedLink, ...] = ()
    icons: tuple[str, ...] = ()
    """Addresses of the site's pictures of itself."""
    translations: tuple[Translation, ...] = ()
    related: tuple[Related, ...] = ()
    json_ld: str = ""
    """The text of all JSON-LD."""

    def property(self, name: str) -> str:
        """Return the first OpenGraph property of this name, such as `og:title`; empty where there is none."""
        return next((value for key, value in self.graph if key == name and value), "")


def head(tree: LexborHTMLParser) -> PageHead:
    """Read what a page says of itself, wherever in the page it says it."""
    named: dict[str, str] = {}
    graph: list[tuple[str, str]] = []
    writers: list[tuple[str, str]] = []
    links: list[tuple[str, dict[str, str | None]]] = []
    base = ""
    scripts: list[str] = []
    refreshed: list[Related] = []
    for node in tree.css("meta, link, base, script"):  # names alone, in one search, are found soonest
        tag, attributes = node.tag, node.attributes
        if tag == "meta":
            _meta(attributes, named, graph, writers)
            if "http-equiv" in attributes and (href := refresh(attributes)):
                refreshed.append(Related("refresh", href, ""))
        elif tag == "link":
            links.append(((attributes.get("rel") or "").lower(), attributes))
        elif tag == "base":
            base = base or _text(attributes, "href")
        elif (attributes.get("type") or "").partition(";")[0].strip().lower() == _JSON_LD:
            scripts.append(node.text() or "")
    json_ld = "\n".join(filter(None, scripts))
    data = linked(tuple(filter(None, scripts)))
    told = [*graph, *named.items()]
    properties = dict(reversed(told))
    root = tree.css_first("html")
    own = tuple(filter(None, (_text(each, "href") for rel, each in links if "canonical" in rel.split())))
    return PageHead(
        title=_title(tree),
        description=named.get("description", ""),
        language=_text(root.attributes, "lang") if root is not None else "",
        canonical=next(iter(own), ""),
        canonicals=own,
        base=base,
        robots=frozenset(word.strip().lower() for word in named.get("robots", "").split(",") if word.strip()),
        asks=tuple(one for one in named.items() if _ASKS.search(one[1])),
        authors=data.authors or tuple(_of(writers, _AUTHOR)),
        published=dated(data.published, *map(properties.get, _PUBLISHED)),
        modified=dated(data.modified, *map(properties.get, _MODIFIED)),
        keywords=tuple(_keywords(told, data)),
        linked=data,
        graph=tuple(graph),
        feeds=tuple(_feeds(links)),
        icons=tuple(_icons(links)),
        translations=tuple(_translations(links)),
        related=(*refreshed, *_related(links)),
        json_ld=json_ld,
    )


def dated(*told: str | None) -> str:
    """Return the first of these that is a date; empty where none is."""
    return next((one for one in told if one and written(one)), "")


def _of(told: list[tuple[str, str]], names: tuple[str, ...]) -> list[str]:
    """Return what is told by the first of these names that tells anything, apart from addresses."""
    for name in names:
        if found := [value for key, value in told if key == name and "://" not in value]:
            return list(dict.fromkeys(found))
    return []


def _keywords(told: list[tuple[str, str]], data: StructuredData) -> Iterator[str]:
    """Yield keywords, tags and sections, each once."""
    words = [part.strip() for key, value in told if key in _KEYWORDS for part in value.split(",")]
    known: set[str] = set()
    for word in (*words, *data.keywords):
        if word and word.casefold() not in known:
            known.add(word.casefold())
            yield word


def _text(attributes: dict[str, str | None], name: str) -> str:
    return " ".join((attributes.get(name) or "")[:_LONGEST].split())


def _meta(
    attributes: dict[str, str | None],
    named: dict[str, str],
    graph: list[tuple[str, str]],
    writers: list[tuple[str, str]],
) -> None:
    content = attributes.get("content")
    if not content:
        return
    content = " ".join(content[:_LONGEST].split())
    key = (attributes.get("property") or attributes.get("name") or "").strip().lower()
    if key in _AUTHOR:
        writers.append((key, content))  # several authors have an element each
    if key.startswith(("og:", "article:", "twitter:")):
        graph.append((key, content))
    elif key:
        # several robots elements add up; of the rest the first counts
        known = named.get(key)
        named[key] = content if known is None else f"{known},{content}" if key == "robots" else known


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("head > title") or tree.css_first("title")
    return " ".join((node.text() or "")[:_LONGEST].split()) if node is not None else ""


def _feeds(links: list[tuple[str, dict[str, str | None]]]) -> Iterator[FeedLink]:
    for rel, attributes in links:
        type_ = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if "alternate" in rel.split() and type_ in _FEEDS and attributes.get("href"):
            yield FeedLink(type_, _text(attributes, "href"), _text(attributes, "title"))


def refresh(attributes: Mapping[str, str | None]) -> str:
    """Return the address that a `meta http-equiv=refresh` leads to (HTML standard, 4.2.5.3); empty where to none."""
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return ""
    before, mark, rest = (attributes.get("content") or "")[:_LONGEST].partition("=")
    return rest.strip().strip("'\"") if mark and before.strip().lower().endswith("url") else ""


def _related(links: list[tuple[str, dict[str, str | None]]]) -> Iterator[Related]:
    """Yield other pages; feeds, translations, icons and the canonical address are told apart from them."""
    for rel, attributes in links:
        words = rel.split()
        if RELATIONS.isdisjoint(words) or attributes.get("hreflang"):
            continue
        kind = (attributes.get("type") or "text/html").partition(";")[0].strip().lower()
        if kind in _PAGES and (href := _text(attributes, "href")):
            yield Related(next(word for word in words if word in RELATIONS), href, _text(attributes, "title"))


def _icons(links: list[tuple[str, dict[str, str | None]]]) -> Iterator[str]:
    for rel, attributes in links:
        if "icon" in rel and not _ICONS.isdisjoint(rel.split()) and (href := _text(attributes, "href")):
            yield href


def _translations(links: list[tuple[str, dict[str, str | None]]]) -> Iterator[Translation]:
    for rel, attributes in links:
        if "alternate" not in rel.split() or not attributes.get("hreflang") or not attributes.get("href"):
            continue
        if (attributes.get("type") or "").partition(";")[0].strip().lower() not in _FEEDS:
            yield Translation(_text(attributes, "hreflang"), _text(attributes, "href"), _text(attributes, "title"))
