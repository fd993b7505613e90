"""Read a page's metadata: from its head, and from dates in its body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from windrow.caps import HEAD_VALUE, Excess
from windrow.content.json_ld import StructuredData, read_json_ld
from windrow.content.tree import select_once
from windrow.formats.moment import read_page_time

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

DATE_SELECTOR = (
    "time[datetime], .dt-published, .dt-updated, [itemprop~=datePublished], [itemprop~=dateModified], abbr.published,"
    " abbr.updated, [property~='schema:dateCreated'], [property~='dc:created']"
)
"""A selector for elements with dates: HTML's `time`, microformats (h-entry, and hAtom as Blogger writes it), microdata,
and RDFa as Drupal writes it."""
_MAX_DATE_CHARACTERS = 60  # characters of a date


def published_dates(tree: LexborHTMLParser, elements: Sequence[LexborNode]) -> Iterator[str]:
    """Yield possible dates of publication, the most trusted first; some are empty.

    `elements` are the elements that `DATE_SELECTOR` selects. A date of `itemprop` or `dt-published` is used only if all
    dates of its kind on the page are equal, because a list has one for each entry. A `time` in an article's header is
    used if the page has only one article, or the header contains an `h1`. The first readable `time` is used if all
    readable ones on the page are equal.
    """
    if not elements:
        return
    yield _only_value(elements, "itemprop", "datePublished")
    yield _only_value(elements, "class", "dt-published")
    yield _only_value(_abbreviations(elements), "class", "published")
    yield _only_value(elements, "property", "schema:dateCreated")
    yield _only_value(elements, "property", "dc:created")
    times = [element for element in elements if element.tag == "time" and "datetime" in element.attributes]
    if times:
        yield _article_header_date(tree)
        readable_dates = [date for date in map(_read_date, times) if read_page_time(date)]
        if len({read_page_time(date) for date in readable_dates}) == 1:
            yield readable_dates[0]


def modified_dates(elements: Sequence[LexborNode]) -> Iterator[str]:
    """Yield possible dates of the last change, the most trusted first; some are empty."""
    if not elements:
        return
    yield _only_value(elements, "itemprop", "dateModified")
    yield _only_value(elements, "class", "dt-updated")
    yield _only_value(_abbreviations(elements), "class", "updated")


def _abbreviations(elements: Sequence[LexborNode]) -> list[LexborNode]:
    return [element for element in elements if element.tag == "abbr"]


def _only_value(elements: Sequence[LexborNode], attribute: str, word: str) -> str:
    """Return the date of all elements whose attribute contains `word`, or "" if they have several dates or none."""
    dates = {_read_date(element) for element in elements if word in (element.attributes.get(attribute) or "").split()}
    return dates.pop() if len(dates) == 1 else ""


def _article_header_date(tree: LexborHTMLParser) -> str:
    time = tree.css_first("article header time[datetime]")
    if time is not None and len(tree.css("article")) > 1:
        time = tree.css_first("article header:has(h1) time[datetime]")
    return _read_date(time) if time is not None else ""


def _read_date(element: LexborNode) -> str:
    attributes = element.attributes
    date = (
        attributes.get("datetime")
        or attributes.get("content")
        or attributes.get("value")
        or attributes.get("title")
        or element.text()
        or ""
    )
    return " ".join(date[:_MAX_DATE_CHARACTERS].split())


_XML_TYPES = frozenset({"text/xml", "application/xml"})
_FEED_WORD = re.compile(r"(?i)rss|atom|feed")
"""Matches the address or title of a feed whose link has a type of _XML_TYPES."""
_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"})
_JSON_LD_TYPE = "application/ld+json"
HIDING_DIRECTIVE = re.compile(r"no(?:index|ne\b)|unavailable_after", re.IGNORECASE)
_PAGE_MEDIA_TYPES = frozenset({"text/html", "application/xhtml+xml"})
RELATIONS = frozenset({"next", "prev", "previous", "alternate", "start", "index", "contents", "up"})
"""The relations of `link` elements that lead to other pages."""
_NAMED_RELATIONS = RELATIONS | {
    "me",
    "author",
    "license",
    "help",
    "tag",
    "bookmark",
    "search",
    "amphtml",
    "first",
    "last",
}
"""Those, and relations to pages that are links of a page but that a crawl does not follow."""
_ICON_RELATIONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"})
_PUBLISHED_NAMES = (
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
_MODIFIED_NAMES = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "article:modified", "datemodified",
    "article.updated", "lastmod", "dcterms.modified", "dc.date.modified",
)  # fmt: skip
_AUTHOR_NAMES = (
    "author", "article:author", "og:article:author", "article:author_name", "article.author", "authors", "byl",
    "byline", "parsely-author", "sailthru.author", "dc.creator", "dcterms.creator", "dc.creator.name",
    "citation_author", "rbauthors", "shareaholic:article_author_name", "cxenseparse:author",
)  # fmt: skip
_AUTHOR_NAME_SET = frozenset(_AUTHOR_NAMES)
_KEYWORD_NAMES = frozenset((
    "article:tag", "og:article:tag", "article:section", "news_keywords", "keywords", "parsely-tags",
    "sailthru.tags", "parsely-section", "dc.subject", "dcterms.subject",
))  # fmt: skip
_HEAD_ELEMENTS = frozenset(("meta", "link", "base", "script"))
_READ_SELECTOR = f"{', '.join(sorted(_HEAD_ELEMENTS))}, {DATE_SELECTOR}"

_Attributes = Mapping[str, str | None]
_Link = tuple[list[str], _Attributes]
"""The relations and the attributes of a `link`."""


class FeedLink(NamedTuple):
    """A link from the page to a feed; `type` is its media type."""

    type: str
    href: str
    title: str


class Translation(NamedTuple):
    """A link to the page in another language, or to a page where the reader chooses one (`x-default`)."""

    language: str
    href: str
    title: str


class Related(NamedTuple):
    """A link to another page; `rel` has its relations, such as `next`, or is `refresh` if this page redirects to it."""

    rel: str
    href: str
    title: str


class PageHead(NamedTuple):
    """A page's metadata; missing fields are empty. Addresses are as written."""

    title: str = ""
    description: str = ""
    language: str = ""
    """The `lang` attribute of the root element, as written."""
    canonical: str = ""
    """The first of `canonicals`."""
    canonicals: tuple[str, ...] = ()
    base: str = ""
    """The address in `base`, against which relative addresses are resolved, or ""."""
    robots: frozenset[str] = frozenset()
    """The directives of `meta name=robots`, in lower case."""
    robots_metas: tuple[tuple[str, str], ...] = ()
    """The name and content of each `meta` outside `open_graph` whose content matches `HIDING_DIRECTIVE`."""
    published: str = ""
    """A date that `read_page_time` can read, as written. `modified` is in the same form."""
    unread_date: str = ""
    """The first date of publication in JSON-LD or a `meta`, as written, if `read_page_time` can read none."""
    modified: str = ""
    author_metas: tuple[tuple[str, str], ...] = ()
    """The name and content of each `meta` that may name an author, in order."""
    metas: tuple[tuple[str, str], ...] = ()
    """The lower-case name of each `meta` that is not in `open_graph`, and its first content; for `robots` and
    keywords, all contents joined."""
    linked: StructuredData = StructuredData()
    """The properties in the page's JSON-LD."""
    open_graph: tuple[tuple[str, str], ...] = ()
    """The lower-case name and the content of each `meta` named `og:...`, `article:...` or `twitter:...`, in order."""
    feeds: tuple[FeedLink, ...] = ()
    icons: tuple[str, ...] = ()
    """Addresses of the site's icons."""
    translations: tuple[Translation, ...] = ()
    related: tuple[Related, ...] = ()
    json_ld: str = ""
    """The text of all JSON-LD."""
    left_out: tuple[Excess, ...] = ()
    """For each cap that the metadata exceed, how much is left out."""

    @property
    def authors(self) -> tuple[str, ...]:
        """The authors in JSON-LD; if there are none, those in the most trusted kind of `meta`, without addresses."""
        if self.linked.authors:
            return self.linked.authors
        for name in _AUTHOR_NAMES:
            if names := [author for key, author in self.author_metas if key == name and "://" not in author]:
                is_one_each = name == "citation_author"
                return tuple(dict.fromkeys(_given_names_first(author) if is_one_each else author for author in names))
        return ()

    @property
    def keywords(self) -> tuple[str, ...]:
        """Keywords, tags and sections, each once, ignoring case."""
        pairs = [*self.open_graph, *self.metas]
        words = [word.strip() for key, value in pairs if key in _KEYWORD_NAMES for word in value.split(",")]
        return unique_keywords((*words, *self.linked.keywords))

    def property(self, name: str) -> str:
        """Return the first content of a `meta` with this name in `open_graph`, such as `og:title`, or ""."""
        return next((value for key, value in self.open_graph if key == name and value), "")


def _given_names_first(author: str) -> str:
    """Return an author's name with the given names first; a text that may name several authors is returned as it is.

    >>> _given_names_first("van der Berg, Jan"), _given_names_first("Ann Lee"), _given_names_first("Lee A, Ek B")
    ('Jan van der Berg', 'Ann Lee', 'Lee A, Ek B')
    """
    family_name, _, given_names = (part.strip() for part in author.partition(","))
    words = family_name.split()
    is_family_name = len(words) == 1 or (bool(words) and words[0][0].islower())
    return f"{given_names} {family_name}" if is_family_name and given_names and "," not in given_names else author


def unique_keywords(words: Iterable[str]) -> tuple[str, ...]:
    """Return each word once, ignoring case, in its first spelling; empty ones are left out."""
    first_spelling: dict[str, str] = {}
    for word in filter(None, words):
        first_spelling.setdefault(word.casefold(), word)
    return tuple(first_spelling.values())


def read_page_head(tree: LexborHTMLParser) -> PageHead:
    """Read a page's metadata, from its head and its body."""
    metas: dict[str, str] = {}
    open_graph: list[tuple[str, str]] = []
    author_metas: list[tuple[str, str]] = []
    repeated_metas: list[tuple[str, str]] = []
    links: list[_Link] = []
    base = ""
    excess_characters = 0
    scripts: list[str] = []
    refresh_links: list[Related] = []
    dated_elements: list[LexborNode] = []
    for node in select_once(tree, _READ_SELECTOR):  # one search is cheaper than several
        tag, attributes = node.tag, node.attributes
        if tag == "meta":
            excess_characters += _add_meta(attributes, metas, repeated_metas, open_graph, author_metas)
            if "http-equiv" in attributes and (href := read_refresh(attributes)):
                refresh_links.append(Related("refresh", href, ""))
        elif tag == "link":
            links.append(((attributes.get("rel") or "").lower().split(), attributes))
        elif tag == "base":
            base = base or _text(attributes, "href")
        elif tag == "script" and _media_type(attributes) == _JSON_LD_TYPE and (script := node.text()):
            scripts.append(script)
        if tag not in _HEAD_ELEMENTS or "itemprop" in attributes:
            dated_elements.append(node)
    repeated_metas = _join_repeated(metas, repeated_metas) if repeated_metas else []
    canonicals = tuple(filter(None, (_text(attributes, "href") for rel, attributes in links if "canonical" in rel)))
    properties = dict(reversed([*open_graph, *metas.items()]))
    title = _read_title(tree)
    titles = [title, properties.get("og:title", ""), properties.get("twitter:title", "")]
    structured = read_json_ld(scripts, titles, [*canonicals, properties.get("og:url", "")])
    stated_dates = (structured.published, *_values_of(_PUBLISHED_NAMES, properties))
    published = first_date(stated_dates) or first_date(published_dates(tree, dated_elements))
    root = tree.css_first("html")
    excess_characters += max(0, len(title) - HEAD_VALUE.number) + structured.excess_characters
    return PageHead(
        title=title[: HEAD_VALUE.number],
        description=metas.get("description", ""),
        language=_text(root.attributes, "lang") if root is not None else "",
        canonical=next(iter(canonicals), ""),
        canonicals=canonicals,
        base=base,
        robots=frozenset(word.strip().lower() for word in metas.get("robots", "").split(",") if word.strip()),
        robots_metas=tuple(meta for meta in (*metas.items(), *repeated_metas) if HIDING_DIRECTIVE.search(meta[1])),
        published=published,
        unread_date="" if published else next(filter(None, stated_dates), ""),
        modified=first_date((structured.modified, *_values_of(_MODIFIED_NAMES, properties)))
        or first_date(modified_dates(dated_elements)),
        author_metas=tuple(author_metas),
        metas=tuple(metas.items()),
        linked=structured,
        open_graph=tuple(open_graph),
        feeds=tuple(_feed_links(links)),
        icons=tuple(_icon_addresses(links)),
        translations=tuple(_translations(links)),
        related=(*refresh_links, *_related_links(links)),
        json_ld="\n".join(scripts),
        left_out=structured.left_out + HEAD_VALUE.find_excess(HEAD_VALUE.number + excess_characters),
    )


def _values_of(names: Sequence[str], properties: Mapping[str, str]) -> Iterator[str]:
    return filter(None, map(properties.get, names))


def first_date(texts: Iterable[str]) -> str:
    """Return the first text that `read_page_time` can read, or "" if there is none."""
    return next((text for text in texts if text and read_page_time(text)), "")


def _media_type(attributes: _Attributes) -> str:
    return (attributes.get("type") or "").partition(";")[0].strip().lower()


def _text(attributes: _Attributes, name: str) -> str:
    return " ".join((attributes.get(name) or "").split())


def _add_meta(
    attributes: _Attributes,
    metas: dict[str, str],
    repeated_metas: list[tuple[str, str]],
    open_graph: list[tuple[str, str]],
    author_metas: list[tuple[str, str]],
) -> int:
    """Add a `meta` element to `open_graph` or `metas`; add it also to `author_metas` if it may name an author.

    If `metas` has the name already, the element is added to `repeated_metas` instead. An element without content is
    not added. Return the number of characters beyond HEAD_VALUE, which are left out.
    """
    content = attributes.get("content")
    if not content:
        return 0
    content = " ".join(content.split())
    excess_characters = max(0, len(content) - HEAD_VALUE.number)
    content = content[: HEAD_VALUE.number]
    key = (attributes.get("property") or attributes.get("name") or "").strip().lower()
    if key in _AUTHOR_NAME_SET:
        author_metas.append((key, content))  # there may be an element for each author
    if key.startswith(("og:", "article:", "twitter:")):
        open_graph.append((key, content))
    elif key:
        if key in metas:
            repeated_metas.append((key, content))
        else:
            metas[key] = content
    return excess_characters if key else 0


def _join_repeated(metas: dict[str, str], repeated_metas: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Add the repeated contents of `robots` and of keywords to `metas`; return the other repeated elements."""
    remaining_metas = []
    joined_contents: dict[str, list[str]] = {}
    for key, content in repeated_metas:
        if key == "robots" or key in _KEYWORD_NAMES:
            joined_contents.setdefault(key, [metas[key]]).append(content)
        else:
            remaining_metas.append((key, content))
    metas |= {key: ",".join(contents) for key, contents in joined_contents.items()}
    return remaining_metas


def _read_title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("head > title") or next(filter(_is_outside_svg, tree.css("title")), None)
    return " ".join((node.text() or "").split()) if node is not None else ""


def _is_outside_svg(node: LexborNode) -> bool:
    """Return whether a title is one of the page, and not one of a picture in it."""
    ancestor = node.parent
    while ancestor is not None and ancestor.tag != "svg":
        ancestor = ancestor.parent
    return ancestor is None


def _feed_links(links: Sequence[_Link]) -> Iterator[FeedLink]:
    for relations, attributes in links:
        if "alternate" not in relations or not attributes.get("href"):
            continue
        media_type, address, title = _media_type(attributes), _text(attributes, "href"), _text(attributes, "title")
        if media_type in _FEED_TYPES or (media_type in _XML_TYPES and _FEED_WORD.search(f"{address} {title}")):
            yield FeedLink(media_type, address, title)


_REFRESH = re.compile(
    r"""\s*+[\d.]*+(?:\s*+[;,]|\s|\A)\s*+(?>(?:url\s*+=\s*+)?)(["']?+)(.*)""", re.IGNORECASE | re.DOTALL
)
"""Matches the content of a refresh: the quote before the address, and the address with the quote after it."""


def read_refresh(attributes: _Attributes) -> str:
    """Return the address of a `meta http-equiv=refresh` (HTML standard, section 4.2.5.3), or "" if there is none."""
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return ""
    match = _REFRESH.match(attributes.get("content") or "")
    if match is None:
        return ""
    quote, address = match[1], match[2].strip()
    return address.partition(quote)[0].strip() if quote else address


def _related_links(links: Sequence[_Link]) -> Iterator[Related]:
    for relations, attributes in links:
        if _NAMED_RELATIONS.isdisjoint(relations) or attributes.get("hreflang"):
            continue
        is_page = not attributes.get("type") or _media_type(attributes) in _PAGE_MEDIA_TYPES
        if is_page and (href := _text(attributes, "href")):
            yield Related(" ".join(relations), href, _text(attributes, "title"))


def _icon_addresses(links: Sequence[_Link]) -> Iterator[str]:
    for relations, attributes in links:
        if not _ICON_RELATIONS.isdisjoint(relations) and (href := _text(attributes, "href")):
            yield href


def _translations(links: Sequence[_Link]) -> Iterator[Translation]:
    for relations, attributes in links:
        if "alternate" not in relations or not attributes.get("hreflang") or not attributes.get("href"):
            continue
        if _media_type(attributes) not in _FEED_TYPES:
            yield Translation(_text(attributes, "hreflang"), _text(attributes, "href"), _text(attributes, "title"))
