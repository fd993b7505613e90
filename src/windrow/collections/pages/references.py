"""The references of a page: the links that a crawl follows, and the assets that the page needs to be displayed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakSet

from selectolax.lexbor import LexborNode

from windrow.caps import ASSETS_OF_DOCUMENT, PAGE_LINKS, STYLE_CHARACTERS, Cap, Excess
from windrow.collections.pages.code import parse_mime
from windrow.content.charset import decode
from windrow.content.head import RELATIONS, read_refresh
from windrow.content.tree import parse
from windrow.content.xhtml import decode_page, is_page
from windrow.formats import robots
from windrow.formats.sniff import sniff
from windrow.formats.srcset import parse_srcset
from windrow.formats.url import normalise, parts
from windrow.formats.url_hints import read_hints

_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_HINT_TYPES = frozenset(
    (
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
        "application/xml", "text/xml", "application/gzip", "application/x-gzip",
    )
)  # fmt: skip
_LINK_SELECTOR = (
    "a[href], area[href], iframe, frame[src], embed[src], object[data], link[rel][href], meta[content], base[href],"
    " svg a, noframes"
)
_ATTRIBUTE_OF_TAG = {**dict.fromkeys(("iframe", "frame", "embed"), "src"), "object": "data"}
_NESTING = frozenset({"iframe", "noframes"})
_MAX_NESTED_PAGES = 3  # of pages in the attribute `srcdoc` of a frame: a browser shows no deeper ones that people write
_FOLLOWED_RELATIONS = RELATIONS | {"canonical"}


class PageReferences(NamedTuple):
    """The base address of a document, its references as written, and those that ask not to be followed (`nofollow`)."""

    base: str
    urls: list[str]
    withheld: Sequence[str] = ()


class References:
    """Reads the references of documents for one user agent."""

    def __init__(self, agent: str, *, feeds: bool = True, max_links: int = PAGE_LINKS.number) -> None:
        """Take the user agent `agent`, whose robots directives are obeyed.

        If `feeds` is false, the feeds of pages are left out. `max_links` is the maximum number of references returned
        for a page, in addition to those of `meta` refreshes. The step `summarise` reports pages with more links. The
        entries of feeds and sitemaps have a cap of their own, which `SiteRules.hints` reports.
        """
        self._agent = agent
        self._includes_feeds = feeds
        self._max_links = max_links

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> PageReferences:
        """Return the references of a document. `url` is its normalised address, `fields` are its header fields.

        The references of an HTML page are those of its links, frames, embedded documents and `meta` refreshes, and of
        its feeds, related and canonical pages; those of elements with `rel=nofollow` are withheld. Those of a feed or
        sitemap are the addresses of its entries. Other documents have none, and a document with the directive
        `nofollow` withholds all.
        """
        lower_fields = {name.lower(): value for name, value in fields.items()}
        content_type = lower_fields.get("content-type", "")
        declared = parse_mime(content_type)
        essence = sniff(body, declared.essence if declared else "").essence
        # The values of a repeated field are separated by line feeds.
        robots_tag = lower_fields.get("x-robots-tag", "")
        directives = robots.NO_DIRECTIVES
        if robots_tag:
            directives = robots.read_header_directives(robots_tag.split("\n"), self._agent)
        if essence in _PAGE_TYPES or is_page(body, essence):
            return self._read_page(url, decode_page(body, content_type).html, directives)
        urls = [entry.url for entry in read_hints(body, url).entries] if essence in _HINT_TYPES else []
        return PageReferences(url, [], urls) if directives.nofollow else PageReferences(url, urls)

    def _read_page(self, url: str, text: str, directives: robots.Directives) -> PageReferences:
        base = ""
        references: list[str] = []
        withheld: list[str] = []
        for node in _list_elements(text):
            tag, attributes = node.tag, node.attributes
            if tag == "base":
                base = base or normalise(attributes.get("href") or "", url).url
            elif tag == "meta":
                name, content = attributes.get("name") or "", attributes.get("content") or ""
                directives = (
                    directives.join(robots.read_meta_directives([(name, content)], self._agent)) if name else directives
                )
                references += filter(None, (read_refresh(attributes),))
            elif len(references) + len(withheld) < self._max_links:
                reference = attributes.get("href") if tag == "a" else self._find_reference(tag or "", attributes)
                reference = reference or attributes.get("xlink:href")
                if reference:
                    rel = attributes.get("rel")
                    (withheld if rel and robots.is_nofollow(rel) else references).append(reference)
        if directives.nofollow:
            return PageReferences(base or url, [], references + withheld)
        return PageReferences(base or url, references, withheld)

    def _find_reference(self, tag: str, attributes: Mapping[str, str | None]) -> str | None:
        """Return the reference of an element, or None if it leads to no document."""
        if tag == "link":
            if not _FOLLOWED_RELATIONS.intersection((attributes.get("rel") or "").lower().split()):
                return None
            kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
            if kind and kind not in _PAGE_TYPES and not (self._includes_feeds and kind in _HINT_TYPES):
                return None
        return attributes.get(_ATTRIBUTE_OF_TAG.get(tag, "href"))


def _list_elements(text: str, depth: int = 0) -> list[LexborNode]:
    """Return the elements of a page with references. Those of a page in `noframes` or `srcdoc` stand before it."""
    nodes = parse(text).css(_LINK_SELECTOR)
    nesting = [index for index, node in enumerate(nodes) if node.tag in _NESTING] if depth < _MAX_NESTED_PAGES else []
    for index in reversed(nesting):
        node = nodes[index]
        if inner := node.text() if node.tag == "noframes" else node.attributes.get("srcdoc"):
            nodes[index:index] = _list_elements(inner, depth + 1)
    return nodes


ReadReferences = Callable[[str, Mapping[str, str], bytes], PageReferences]
"""A function that takes a page's address, header fields and body, and returns the page's references."""

MAX_REMEMBERED_ITEMS = 1 << 16
"""The maximum number of tags and references in all `LinkMemo` objects of a process together."""

MAX_SCANNED_BYTES = 1 << 20
"""The maximum size, in bytes, of a page that is scanned for tags."""

_MAX_TAG_BYTES = 400  # of a tag that is remembered
_MARKER = "/end-of-tag-"
_MARKED_TAG = f"%b></iframe><a href='{_MARKER}%d'><a rel=nofollow href='{_MARKER}%d'>".encode()
_POSSIBLE_TAG = re.compile(rb"<(?:[aAlLmMbBiIfF][\s/RrEeAaIiFf]|[eE][mM][bB]|[oO][bB][jJ])[^>]+")
"""Matches all tags that may contain references, and some that cannot: an exact pattern would be slower."""

_TAG = re.compile(rb"<(?:a|area|link|meta|base|i?frame|embed|object)[\s/]", re.IGNORECASE)
_POSITIONAL_TAG = re.compile(rb"<(?:base|frame)[\s/]|xlink:|srcdoc|/end-of-tag-", re.IGNORECASE)
"""Matches what begins a tag, or is in one, whose meaning depends on where in the page it is or on what follows it.

`xlink:href` is a reference in SVG only, an attribute `srcdoc` may extend beyond the end of the scanned tag, and the
last one would be mistaken for a marker.
"""


class LinkMemo:
    """Remembers tags and references of an origin's pages, so that a page whose tags are all known is not parsed."""

    __slots__ = ("__weakref__", "_folder_tags", "_known_references", "_read", "_site_tags")

    def __init__(self, read: ReadReferences) -> None:
        self._read = read
        self._site_tags: set[bytes] = set()  # tags with the same references on every page
        self._folder_tags: dict[str, set[bytes]] = {}  # tags with the same references on every page of a folder
        self._known_references: set[str] = set()
        _shared_limit.memos.add(self)

    def forget(self) -> None:
        """Forget everything, so that known references are returned again."""
        self._site_tags.clear()
        self._folder_tags.clear()
        self._known_references.clear()

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> PageReferences:
        """Return the base address of a page, and those of its references that are not known from earlier pages.

        If all tags of the page are known, the address `url` and no references are returned. Relative references may be
        returned again, because they have another target in another folder.
        """
        possible_tags = self._scan_tags(fields, body)
        if possible_tags and self._site_tags.issuperset(possible_tags):
            return PageReferences(url, [])
        folder = url.partition("?")[0].rpartition("/")[0]
        tags = {tag for tag in set(possible_tags) - self._site_tags if _TAG.match(tag)}
        if possible_tags and tags <= self._folder_tags.get(folder, _NO_TAGS):
            return PageReferences(url, [])
        base, references, withheld = self._read(url, fields, body)
        if base != url and parts(base).origin != parts(url).origin:
            return PageReferences(base, references, withheld)  # a path such as /x leads elsewhere from another base
        if tags and base == url:
            self._learn_tags(folder, tags, url, PageReferences(base, references, withheld))
        known_references = self._known_references
        new_references = [
            reference
            for reference in references
            if reference not in known_references or (base != url and reference[0] == "#")
        ]
        if base == url:
            absolute_references = list(filter(_is_absolute, new_references))
            known_references.update(absolute_references)
            _shared_limit.count(len(absolute_references))
        return PageReferences(base, new_references, withheld)

    def _scan_tags(self, fields: Mapping[str, str], body: bytes) -> list[bytes]:
        """Return the tags that may contain references, or an empty list if a scan of bytes cannot find all of them.

        Feeds are often declared as HTML; their references are texts or depend on other tags.
        """
        media_type = fields.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "text/html" or len(body) > MAX_SCANNED_BYTES or b"\x00" in body or b"\x1b" in body:
            return []
        if sniff(body, media_type).essence != media_type:
            return []
        return _POSSIBLE_TAG.findall(body)

    def _learn_tags(self, folder: str, tags: Iterable[bytes], url: str, page: PageReferences) -> None:
        """Remember each tag whose references, if it is parsed outside the page, are all references of the page.

        Tags that are long, not ASCII or matched by `_POSITIONAL_TAG` are not remembered. `url` and `page` are the
        address and all references of the page. All tags are parsed together, each followed by two links as markers, of
        which one is withheld: if both are found, the tag before them was complete.
        """
        parsed_tags = [
            tag for tag in tags if len(tag) <= _MAX_TAG_BYTES and tag.isascii() and not _POSITIONAL_TAG.search(tag)
        ]
        text = b"".join(_MARKED_TAG % (tag, index, index) for index, tag in enumerate(parsed_tags))
        _, urls, withheld = self._read(url, {"content-type": "text/html"}, text)
        index_of_marker = {f"{_MARKER}{index}": index for index in range(len(parsed_tags))}
        followed_by_tag = _split_at_markers(urls, index_of_marker)
        withheld_by_tag = _split_at_markers(withheld, index_of_marker)
        followed_on_page, withheld_on_page = set(page.urls), set(page.withheld)
        for index in followed_by_tag.keys() & withheld_by_tag.keys():
            tag_followed, tag_withheld = followed_by_tag[index], withheld_by_tag[index]
            if followed_on_page.issuperset(tag_followed) and withheld_on_page.issuperset(tag_withheld):
                self._remember_tag(folder, parsed_tags[index], tag_followed + tag_withheld)

    def _remember_tag(self, folder: str, tag: bytes, references: list[str]) -> None:
        """Remember a tag for all pages of the origin, or only for the pages of a folder if it has a relative reference.

        A tag with a reference that begins with `?` is not remembered.
        """
        if all(map(_is_absolute, references)):
            self._site_tags.add(tag)
        elif not any(reference.startswith("?") for reference in references):
            self._folder_tags.setdefault(folder, set()).add(tag)
        _shared_limit.count(1)


def _split_at_markers(references: Iterable[str], index_of_marker: Mapping[str, int]) -> dict[int, list[str]]:
    """Return the references before each marker by the marker's index, unless the marker before it is missing."""
    references_by_marker: dict[int, list[str]] = {}
    pending: list[str] = []
    last_index = -1
    for reference in references:
        index = index_of_marker.get(reference)
        if index is None:
            pending.append(reference)
            continue
        if index == last_index + 1:
            references_by_marker[index] = pending
        last_index, pending = index, []
    return references_by_marker


class _SharedLimit:
    """The limit on the number of items in all memos together. When it is exceeded, all memos are cleared."""

    def __init__(self) -> None:
        self.memos: WeakSet[LinkMemo] = WeakSet()
        self._left = MAX_REMEMBERED_ITEMS

    def count(self, added_count: int) -> None:
        self._left -= added_count
        if self._left < 0:
            self._left = MAX_REMEMBERED_ITEMS
            for memo in list(self.memos):
                memo.forget()


_shared_limit = _SharedLimit()
_NO_TAGS: frozenset[bytes] = frozenset()


def _is_absolute(reference: str) -> bool:
    return reference.startswith(("/", "#", "http://", "https://"))


class FoundAssets(NamedTuple):
    """The normalised addresses of the assets of a document, each once, and how much each cap leaves out."""

    urls: list[str]
    left_out: tuple[Excess, ...]


_MAX_ASSET_REFERENCES = 20 * ASSETS_OF_DOCUMENT.number  # of one document: many references have the same address
_ASSET_SELECTOR = (
    "base[href], img, source, image, input[type=image], script[src], link[rel][href], video[poster], object[data],"
    " [background], [style], style"
)
_ADDRESS_ATTRIBUTES = {
    "img": ("src",), "source": (), "image": ("href", "xlink:href"), "input": ("src",), "script": ("src",),
    "video": ("poster",), "object": ("data",),
}  # fmt: skip
_TAGS_WITH_SRCSET = frozenset({"img", "source"})
_LOADED_RELATIONS = frozenset({"stylesheet", "icon", "apple-touch-icon", "manifest", "modulepreload", "mask-icon"})
_PRELOADED_TYPES = frozenset({"style", "script", "font", "image"})
_STYLE_ADDRESS = re.compile(
    r"""url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^)"'\s]*+))|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""", re.IGNORECASE
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)  # an unclosed comment extends to the end of the text


def find_assets(url: str, fields: Mapping[str, str], body: bytes) -> FoundAssets:
    """Return the addresses of the assets that a page or style sheet at the normalised address `url` needs.

    `fields` are the header fields. A document of another type has no assets; one without a type is read as a page.

    >>> page = b"<img src=a.png srcset='b.png 2x, /c.png 3x'><link rel=stylesheet href=s.css><a href=/page>x</a>"
    >>> find_assets("http://a.example/x/", {"content-type": "text/html"}, page).urls
    ['http://a.example/x/a.png', 'http://a.example/x/b.png', 'http://a.example/c.png', 'http://a.example/x/s.css']
    >>> find_assets("http://a.example/s.css", {"content-type": "text/css"}, b"@font-face { src: url('f.woff2') }").urls
    ['http://a.example/f.woff2']
    """
    content_type = fields.get("content-type", "")
    media_type = parse_mime(content_type)
    essence = media_type.essence if media_type else "text/html"
    left_out: Counter[Cap] = Counter()
    base, references = url, list[str]()
    if essence == "text/css":
        references = _find_style_addresses(decode(body, content_type).text, left_out)
    elif is_page(body, essence):
        base, references = _find_page_assets(url, decode_page(body, content_type).html, left_out)
    return _resolve_addresses(base, references, left_out)


def _resolve_addresses(base: str, references: list[str], left_out: Counter[Cap]) -> FoundAssets:
    """Return the addresses of references that are neither `data:` nor fragments; count the excess in `left_out`."""
    urls = (
        normalise(reference.strip(), base).url
        for reference in references[:_MAX_ASSET_REFERENCES]
        if reference and not reference.startswith(("data:", "#"))
    )
    assets = list(dict.fromkeys(filter(None, urls)))
    unresolved = max(0, len(references) - _MAX_ASSET_REFERENCES)
    left_out[ASSETS_OF_DOCUMENT] += unresolved + max(0, len(assets) - ASSETS_OF_DOCUMENT.number)
    excess = tuple(Excess(cap, number) for cap, number in left_out.items() if number > 0)
    return FoundAssets(assets[: ASSETS_OF_DOCUMENT.number], excess)


def _find_page_assets(url: str, text: str, left_out: Counter[Cap]) -> tuple[str, list[str]]:
    """Return the base address of an HTML page, and the references to its assets; count cut characters in `left_out`."""
    base = ""
    references: list[str] = []
    for node in parse(text).css(_ASSET_SELECTOR):
        tag, attributes = node.tag or "", node.attributes
        if tag == "base":
            base = base or normalise(attributes.get("href") or "", url).url
            continue
        references += [attributes.get(name) or "" for name in (*_ADDRESS_ATTRIBUTES.get(tag, ()), "background")]
        if tag in _TAGS_WITH_SRCSET:
            references += parse_srcset(attributes.get("srcset") or "")
        if tag == "link" and _is_loaded(attributes):
            references += [attributes.get("href") or "", *parse_srcset(attributes.get("imagesrcset") or "")]
        references += _find_style_addresses(attributes.get("style") or "", left_out)
        if tag == "style":
            references += _find_style_addresses(node.text() or "", left_out)
    return base or url, list(filter(None, references))


def _is_loaded(attributes: Mapping[str, str | None]) -> bool:
    """Return whether a browser loads the target of a `link` with these attributes to display the page."""
    relations = set((attributes.get("rel") or "").lower().split())
    is_preloaded = "preload" in relations and (attributes.get("as") or "").lower() in _PRELOADED_TYPES
    return is_preloaded or not relations.isdisjoint(_LOADED_RELATIONS)


def _find_style_addresses(text: str, left_out: Counter[Cap]) -> list[str]:
    left_out[STYLE_CHARACTERS] += max(0, len(text) - STYLE_CHARACTERS.number)
    without_comments = _COMMENT.sub(" ", text[: STYLE_CHARACTERS.number])
    addresses = (next(filter(None, match.groups()), "") for match in _STYLE_ADDRESS.finditer(without_comments))
    return list(filter(None, addresses))
