"""Read what a page says of itself: title, description, addresses, language, robots, OpenGraph, dates, offers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.formats.html.linked import StructuredData, linked
from windrow.formats.html.shown_dates import DATED, modified_dates, published_dates
from windrow.formats.html.tree import search
from windrow.formats.moment import written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

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
_AUTHORS = (
    "author", "article:author", "og:article:author", "article:author_name", "article.author", "authors", "byl",
    "byline", "parsely-author", "sailthru.author", "dc.creator", "dcterms.creator", "dc.creator.name",
    "citation_author", "rbauthors", "shareaholic:article_author_name", "cxenseparse:author",
)  # fmt: skip
_AUTHOR = frozenset(_AUTHORS)
_KEYWORDS = frozenset((
    "article:tag", "og:article:tag", "article:section", "news_keywords", "keywords", "parsely-tags",
    "sailthru.tags", "parsely-section",
))  # fmt: skip
_OF_HEAD = frozenset(("meta", "link", "base", "script"))
_SOUGHT = f"{', '.join(sorted(_OF_HEAD))}, {DATED}"

_Attributes = Mapping[str, str | None]
_Link = tuple[list[str], _Attributes]
"""The relations and the attributes of a `link`."""


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
    published: str = ""
    """A date that can be read, as written, of the head or else of the body; so is `modified`."""
    modified: str = ""
    writers: tuple[tuple[str, str], ...] = ()
    """Name and content of every `meta` that may name an author, in order."""
    named: tuple[tuple[str, str], ...] = ()
    """The first content of every other `meta`, by its name in lower case; those of `robots` joined by commas."""
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

    @property
    def authors(self) -> tuple[str, ...]:
        """Return the names that JSON-LD has, else those of the most trusted `meta` that has any but an address."""
        if self.linked.authors:
            return self.linked.authors
        for name in _AUTHORS:
            if values := [value for key, value in self.writers if key == name and "://" not in value]:
                return tuple(dict.fromkeys(values))
        return ()

    @property
    def keywords(self) -> tuple[str, ...]:
        """Return keywords, tags and sections, each once."""
        written_by = [*self.graph, *self.named]
        words = [word.strip() for key, value in written_by if key in _KEYWORDS for word in value.split(",")]
        first_spelling: dict[str, str] = {}
        for word in filter(None, (*words, *self.linked.keywords)):
            first_spelling.setdefault(word.casefold(), word)
        return tuple(first_spelling.values())

    def property(self, name: str) -> str:
        """Return the first OpenGraph property of this name, such as `og:title`; empty where there is none."""
        return next((value for key, value in self.graph if key == name and value), "")


def head(tree: LexborHTMLParser) -> PageHead:
    """Read what a page says of itself, wherever in the page it says it."""
    named: dict[str, str] = {}
    graph: list[tuple[str, str]] = []
    writers: list[tuple[str, str]] = []
    links: list[_Link] = []
    base = ""
    scripts: list[str] = []
    refreshed: list[Related] = []
    dates: list[LexborNode] = []
    for node in search(tree, _SOUGHT):  # once takes less than all that is done with what it yields
        tag, attributes = node.tag, node.attributes
        if tag == "meta":
            _meta(attributes, named, graph, writers)
            if "http-equiv" in attributes and (href := refresh(attributes)):
                refreshed.append(Related("refresh", href, ""))
        elif tag == "link":
            links.append(((attributes.get("rel") or "").lower().split(), attributes))
        elif tag == "base":
            base = base or _text(attributes, "href")
        elif tag == "script" and _essence(attributes) == _JSON_LD and (script := node.text()):
            scripts.append(script)
        if tag not in _OF_HEAD or "itemprop" in attributes:
            dates.append(node)
    data = linked(scripts)
    properties = dict(reversed([*graph, *named.items()]))
    root = tree.css_first("html")
    canonicals = tuple(filter(None, (_text(attributes, "href") for rel, attributes in links if "canonical" in rel)))
    return PageHead(
        title=_title(tree),
        description=named.get("description", ""),
        language=_text(root.attributes, "lang") if root is not None else "",
        canonical=next(iter(canonicals), ""),
        canonicals=canonicals,
        base=base,
        robots=frozenset(word.strip().lower() for word in named.get("robots", "").split(",") if word.strip()),
        asks=tuple(meta for meta in named.items() if _ASKS.search(meta[1])),
        published=_stated(data.published, _PUBLISHED, properties) or dated(published_dates(tree, dates)),
        modified=_stated(data.modified, _MODIFIED, properties) or dated(modified_dates(dates)),
        writers=tuple(writers),
        named=tuple(named.items()),
        linked=data,
        graph=tuple(graph),
        feeds=tuple(_feeds(links)),
        icons=tuple(_icons(links)),
        translations=tuple(_translations(links)),
        related=(*refreshed, *_related(links)),
        json_ld="\n".join(scripts),
    )


def _stated(linked_date: str, names: Sequence[str], properties: Mapping[str, str]) -> str:
    """Return the date that JSON-LD has, else that of the first `meta` of these names that has one."""
    return dated((linked_date, *filter(None, map(properties.get, names))))


def dated(texts: Iterable[str]) -> str:
    """Return the first of these that is a date; empty where none is."""
    return next((text for text in texts if text and written(text)), "")


def _essence(attributes: _Attributes) -> str:
    """Return the media type that an element names, without parameters."""
    return (attributes.get("type") or "").partition(";")[0].strip().lower()


def _text(attributes: _Attributes, name: str) -> str:
    return " ".join((attributes.get(name) or "")[:_LONGEST].split())


def _meta(
    attributes: _Attributes,
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


def _feeds(links: Sequence[_Link]) -> Iterator[FeedLink]:
    for relations, attributes in links:
        if "alternate" in relations and (kind := _essence(attributes)) in _FEEDS and attributes.get("href"):
            yield FeedLink(kind, _text(attributes, "href"), _text(attributes, "title"))


def refresh(attributes: _Attributes) -> str:
    """Return the address that a `meta http-equiv=refresh` leads to (HTML standard, 4.2.5.3); empty where to none."""
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return ""
    before, mark, rest = (attributes.get("content") or "")[:_LONGEST].partition("=")
    return rest.strip().strip("'\"") if mark and before.strip().lower().endswith("url") else ""


def _related(links: Sequence[_Link]) -> Iterator[Related]:
    """Yield other pages; feeds, translations, icons and the canonical address are told apart from them."""
    for relations, attributes in links:
        if RELATIONS.isdisjoint(relations) or attributes.get("hreflang"):
            continue
        is_page = not attributes.get("type") or _essence(attributes) in _PAGES
        if is_page and (href := _text(attributes, "href")):
            relation = next(relation for relation in relations if relation in RELATIONS)
            yield Related(relation, href, _text(attributes, "title"))


def _icons(links: Sequence[_Link]) -> Iterator[str]:
    for relations, attributes in links:
        if not _ICONS.isdisjoint(relations) and (href := _text(attributes, "href")):
            yield href


def _translations(links: Sequence[_Link]) -> Iterator[Translation]:
    for relations, attributes in links:
        if "alternate" not in relations or not attributes.get("hreflang") or not attributes.get("href"):
            continue
        if _essence(attributes) not in _FEEDS:
            yield Translation(_text(attributes, "hreflang"), _text(attributes, "href"), _text(attributes, "title"))
