"""Read a page's metadata: from its head, from JSON-LD (schema.org), and from dates in its body."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.content.tree import search
from windrow.formats.moment import written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_LONGEST_SCRIPT = 1 << 20  # characters of one script
_DEEPEST = 12
_MOST = 5_000  # JSON-LD objects of a page
_ARTICLE = re.compile(r"article|posting|report$|^review|recipe|howto", re.IGNORECASE)
_SITE = re.compile(r"^website$", re.IGNORECASE)
_PAGE = re.compile(r"page$|creativework$|videoobject|podcastepisode|event$", re.IGNORECASE)
_LISTS = frozenset((
    "itemListElement", "hasPart", "blogPost", "comment", "review", "isRelatedTo", "relatedLink", "citation",
    "suggestedAnswer", "breadcrumb",
))  # fmt: skip
"""Properties with objects other than the page itself."""
_DATE = re.compile(r'"(datePublished|dateModified)"\s*:\s*"([^"]{4,40})"')
_OPENING = re.compile(r"\s*(?://<!\[CDATA\[|<!\[CDATA\[|<!--)")
_CLOSINGS = ("//]]>", "]]>", "-->")

LinkedObject = dict[str, Any]


class StructuredData(NamedTuple):
    """The properties of the main object in a page's JSON-LD, as written; missing ones are empty."""

    headline: str = ""
    authors: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""
    description: str = ""
    image: str = ""
    language: str = ""
    keywords: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    """Names of the site and of its publisher."""


def read_json_ld(scripts: Sequence[str]) -> StructuredData:
    """Read the JSON-LD of a page; only the dates, if no script is valid JSON.

    >>> read_json_ld(['{"@type": "NewsArticle", "headline": "Tea", "author": {"name": "Ann"}}']).authors
    ('Ann',)
    """
    if not scripts:
        return StructuredData()
    known: dict[str, LinkedObject] = {}
    objects = list(_objects(scripts, known))
    dates_in_text = dict(reversed(_DATE.findall("\n".join(scripts)))) if not objects else {}
    main_object = next((node for node in objects if _is(node, _ARTICLE)), None)
    if main_object is None:
        main_object = next((node for node in objects if _is(node, _PAGE)), {})
    names = [name for node in objects if _is(node, _SITE) for name in _names(node, known)]
    keywords = [part.strip() for word in _texts(main_object.get("keywords")) for part in word.split(",")]
    return StructuredData(
        _first(main_object, "headline") or (_first(main_object, "name") if _is(main_object, _ARTICLE) else ""),
        tuple(dict.fromkeys(name for role in ("author", "creator") for name in _names(main_object.get(role), known))),
        _first(main_object, "datePublished", "dateCreated", "uploadDate") or dates_in_text.get("datePublished", ""),
        _first(main_object, "dateModified") or dates_in_text.get("dateModified", ""),
        _first(main_object, "description"),
        next(iter(_images(main_object.get("image"), known)), ""),
        _first(main_object, "inLanguage"),
        tuple(dict.fromkeys(filter(None, keywords))),
        tuple(dict.fromkeys([*names, *_names(main_object.get("publisher"), known)])),
    )


def _objects(scripts: Sequence[str], known: dict[str, LinkedObject]) -> Iterator[LinkedObject]:
    """Yield the objects with a type in scripts, except those that the page only lists; add all to `known` by `@id`."""
    objects_left = _MOST
    for script in scripts:
        try:
            document = json.loads(_uncommented(script[:_LONGEST_SCRIPT]), strict=False)
        except (ValueError, RecursionError):
            continue
        queue = deque([(document, 0)])
        while queue and objects_left:
            node, depth = queue.popleft()
            if isinstance(node, list) and depth < _DEEPEST:
                queue += [(member, depth + 1) for member in node[:objects_left]]
            elif isinstance(node, dict):
                objects_left -= 1
                name = node.get("@id")
                if isinstance(name, str) and len(node) > 1:
                    known.setdefault(name, node)
                if "@type" in node:
                    yield node
                members = [
                    member for key, member in node.items() if key not in _LISTS and isinstance(member, dict | list)
                ]
                queue += [(member, depth + 1) for member in members if depth < _DEEPEST]


def _uncommented(script: str) -> str:
    """Return a script without the delimiters of a comment or CDATA section around it."""
    if opening := _OPENING.match(script):
        script = script[opening.end() :]
    end = script.rstrip()
    closing = next((mark for mark in _CLOSINGS if end.endswith(mark)), "")
    return end.removesuffix(closing) if closing else script


def _is(node: LinkedObject, kind: re.Pattern[str]) -> bool:
    return any(kind.search(text.rpartition("/")[2]) for text in _texts(node.get("@type")))


def _texts(value: Any) -> list[str]:
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]


def _first(node: LinkedObject, *names: str) -> str:
    for name in names:
        for raw_text in _texts(node.get(name)):
            if text := _clean(raw_text):
                return text
    return ""


def _clean(text: str) -> str:
    text = " ".join(unescape(text[:10_000]).split())
    return text.encode("utf-8", "replace").decode()


def _names(value: Any, known: dict[str, LinkedObject]) -> Iterator[str]:
    """Yield the names of persons or organisations, given as strings, objects, or references to objects."""
    for person in (value if isinstance(value, list) else [value])[:100]:
        if isinstance(person, str):
            yield _clean(person)
        elif isinstance(person, dict):
            node = person if "name" in person else known.get(str(person.get("@id")), person)
            yield from filter(None, map(_clean, _texts(node.get("name"))))


def _images(value: Any, known: dict[str, LinkedObject]) -> Iterator[str]:
    for image in (value if isinstance(value, list) else [value])[:10]:
        node = known.get(str(image.get("@id")), image) if isinstance(image, dict) and "url" not in image else image
        addresses = _texts([node.get("url"), node.get("contentUrl")] if isinstance(node, dict) else node)
        yield from (text for text in map(_clean, addresses) if text)


DATED = "time[datetime], .dt-published, .dt-updated, [itemprop~=datePublished], [itemprop~=dateModified]"
"""Selects elements with dates: HTML's `time`, microformats2 (h-entry), microdata."""
_LONGEST_DATE = 60  # characters of a date


def published_dates(tree: LexborHTMLParser, elements: Sequence[LexborNode]) -> Iterator[str]:
    """Yield possible dates of publication, the most trusted first; `elements` are those that `DATED` selects.

    `itemprop` and `dt-published` count if all on the page agree, since a list of entries has one for each entry. A
    `time` in an article's header counts if it is the only article, or its header contains an `h1`. Other `time`
    elements count if all on the page agree.
    """
    yield _only_value(elements, "itemprop", "datePublished")
    yield _only_value(elements, "class", "dt-published")
    times = [element for element in elements if element.tag == "time" and "datetime" in element.attributes]
    if times:
        yield _in_article_header(tree)
        dates = [value for value in map(_value, times) if written(value)]
        if len({written(value) for value in dates}) == 1:
            yield dates[0]


def modified_dates(elements: Sequence[LexborNode]) -> Iterator[str]:
    """Yield possible dates of the last change, the most trusted first."""
    yield _only_value(elements, "itemprop", "dateModified")
    yield _only_value(elements, "class", "dt-updated")


def _only_value(elements: Sequence[LexborNode], attribute: str, word: str) -> str:
    """Return the date in the elements that have this word in the attribute, or "" if they have different dates."""
    dates = {_value(element) for element in elements if word in (element.attributes.get(attribute) or "").split()}
    return dates.pop() if len(dates) == 1 else ""


def _in_article_header(tree: LexborHTMLParser) -> str:
    time = tree.css_first("article header time[datetime]")
    if time is not None and len(tree.css("article")) > 1:
        time = tree.css_first("article header:has(h1) time[datetime]")
    return _value(time) if time is not None else ""


def _value(element: LexborNode) -> str:
    """Return an element's date as written for machines, or as shown if it has only that."""
    attributes = element.attributes
    date = (
        attributes.get("datetime")
        or attributes.get("content")
        or attributes.get("value")
        or attributes.get("title")
        or element.text()
        or ""
    )
    return " ".join(date[:_LONGEST_DATE].split())


_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"})
_JSON_LD = "application/ld+json"
_ASKS = re.compile(r"no(?:index|ne\b)|unavailable_after", re.IGNORECASE)
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
RELATIONS = frozenset({"next", "prev", "previous", "alternate", "start", "index", "contents", "up"})
"""Relations of links to further pages."""
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
"""Names of `meta` elements with a page's date, the most reliable first."""
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
_READ_ELEMENTS = f"{', '.join(sorted(_OF_HEAD))}, {DATED}"

_Attributes = Mapping[str, str | None]
_Link = tuple[list[str], _Attributes]
"""The relations and the attributes of a `link`."""


class FeedLink(NamedTuple):
    """A feed of the page."""

    type: str
    href: str
    title: str


class Translation(NamedTuple):
    """The page in another language, or the page to choose a language from (`x-default`)."""

    language: str
    href: str
    title: str


class Related(NamedTuple):
    """Another page with its relation to this one, such as `next`; `refresh` if this page redirects to it."""

    rel: str
    href: str
    title: str


class PageHead(NamedTuple):
    """A page's metadata; missing fields are empty. Addresses are as written."""

    title: str = ""
    description: str = ""
    language: str = ""
    """The `lang` of the root, as written."""
    canonical: str = ""
    """The first canonical address; `canonicals` has all."""
    canonicals: tuple[str, ...] = ()
    base: str = ""
    """The base of relative addresses, or an empty text if that is the page's own address."""
    robots: frozenset[str] = frozenset()
    """The directives of `meta name=robots`, in lower case."""
    asks: tuple[tuple[str, str], ...] = ()
    """Name and content of every `meta` that may hold such directives, for all robots or for one."""
    published: str = ""
    """A readable date, as written, from the head, or from the body if the head has none; so is `modified`."""
    modified: str = ""
    writers: tuple[tuple[str, str], ...] = ()
    """Name and content of every `meta` that may name an author, in order."""
    named: tuple[tuple[str, str], ...] = ()
    """The first content of every other `meta`, with its name in lower case; those of `robots` joined by commas."""
    linked: StructuredData = StructuredData()
    """The properties in its JSON-LD."""
    graph: tuple[tuple[str, str], ...] = ()
    """OpenGraph and article properties, as written, in order."""
    feeds: tuple[FeedLink, ...] = ()
    icons: tuple[str, ...] = ()
    """Addresses of the site's icons."""
    translations: tuple[Translation, ...] = ()
    related: tuple[Related, ...] = ()
    json_ld: str = ""
    """The text of all JSON-LD."""

    @property
    def authors(self) -> tuple[str, ...]:
        """The names in JSON-LD, or if it has none, in the most trusted `meta` elements that are not addresses."""
        if self.linked.authors:
            return self.linked.authors
        for name in _AUTHORS:
            if names := [author for key, author in self.writers if key == name and "://" not in author]:
                return tuple(dict.fromkeys(names))
        return ()

    @property
    def keywords(self) -> tuple[str, ...]:
        """Keywords, tags and sections, each once."""
        metas = [*self.graph, *self.named]
        words = [word.strip() for key, value in metas if key in _KEYWORDS for word in value.split(",")]
        first_spelling: dict[str, str] = {}
        for word in filter(None, (*words, *self.linked.keywords)):
            first_spelling.setdefault(word.casefold(), word)
        return tuple(first_spelling.values())

    def property(self, name: str) -> str:
        """Return the first OpenGraph property of this name, such as `og:title`, or an empty text."""
        return next((value for key, value in self.graph if key == name and value), "")


def head(tree: LexborHTMLParser) -> PageHead:
    """Read a page's metadata, wherever in the page it is."""
    named: dict[str, str] = {}
    graph: list[tuple[str, str]] = []
    writers: list[tuple[str, str]] = []
    links: list[_Link] = []
    base = ""
    scripts: list[str] = []
    refreshed: list[Related] = []
    dates: list[LexborNode] = []
    for node in search(tree, _READ_ELEMENTS):  # one search, which is the cheapest
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
    structured = read_json_ld(scripts)
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
        published=_stated(structured.published, _PUBLISHED, properties) or dated(published_dates(tree, dates)),
        modified=_stated(structured.modified, _MODIFIED, properties) or dated(modified_dates(dates)),
        writers=tuple(writers),
        named=tuple(named.items()),
        linked=structured,
        graph=tuple(graph),
        feeds=tuple(_feeds(links)),
        icons=tuple(_icons(links)),
        translations=tuple(_translations(links)),
        related=(*refreshed, *_related(links)),
        json_ld="\n".join(scripts),
    )


def _stated(linked_date: str, names: Sequence[str], properties: Mapping[str, str]) -> str:
    """Return the first readable date: that of JSON-LD, or of a `meta` with one of these names; or an empty text."""
    return dated((linked_date, *filter(None, map(properties.get, names))))


def dated(texts: Iterable[str]) -> str:
    """Return the first text that is a date, or an empty text."""
    return next((text for text in texts if text and written(text)), "")


def _essence(attributes: _Attributes) -> str:
    """Return the media type in an element's `type`, without parameters, in lower case."""
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
        writers.append((key, content))  # there may be an element for each author
    if key.startswith(("og:", "article:", "twitter:")):
        graph.append((key, content))
    elif key:
        # all robots elements count; of others only the first
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
    """Return the address of a `meta http-equiv=refresh` (HTML standard, section 4.2.5.3), or an empty text."""
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return ""
    prefix, equals, address = (attributes.get("content") or "")[:_LONGEST].partition("=")
    return address.strip().strip("'\"") if equals and prefix.strip().lower().endswith("url") else ""


def _related(links: Sequence[_Link]) -> Iterator[Related]:
    """Yield related pages, without feeds, translations, icons and the canonical address."""
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
