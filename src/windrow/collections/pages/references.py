"""The references of a page: the links that a crawl follows, and the assets that the page needs to be displayed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from weakref import WeakSet

from windrow.collections.pages.code import mime
from windrow.content.charset import decode
from windrow.content.head import RELATIONS, read_refresh
from windrow.content.tree import parse
from windrow.formats import robots
from windrow.formats.sniff import sniff
from windrow.formats.url import normalise
from windrow.formats.url_hints import read_hints as read_hint

MOST_LINKS = 20_000
"""Most references of one page that are followed."""

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_HINTS = frozenset(
    (
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
        "application/xml", "text/xml", "application/gzip", "application/x-gzip",
    )
)  # fmt: skip
_LINKING = "a[href], area[href], iframe[src], frame[src], link[rel][href], meta[content], base[href]"
_FOLLOWED_RELATIONS = RELATIONS | {"canonical"}


class References:
    """Reads the references of documents for one user agent."""

    def __init__(self, agent: str, *, feeds: bool = True) -> None:
        """Obey the robots directives for `agent`; without `feeds`, feeds that pages link to are left out."""
        self._agent = agent
        self._feeds = feeds

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base and the references of a document at the normal address `url`, as written.

        The references of an HTML page are its links, frames and related pages, those of a feed or sitemap its
        entries. For other documents, and for those with the directive `nofollow`, none are returned.
        """
        lower_fields = {name.lower(): value for name, value in fields.items()}
        declared = mime(lower_fields.get("content-type", ""))
        essence = (
            sniff(body, declared.essence).essence if declared else "text/html" if body.lstrip()[:1] == b"<" else ""
        )
        # The values of a repeated field are separated by line feeds.
        if robots.read_header_directives(lower_fields.get("x-robots-tag", "").split("\n"), self._agent).nofollow:
            return url, []
        if essence in _HINTS:
            return url, [entry.url for entry in read_hint(body, url).entries[:MOST_LINKS]]
        if essence not in _PAGES:
            return url, []
        return self._page(url, decode(body, lower_fields.get("content-type", "")).text)

    def _page(self, url: str, text: str) -> tuple[str, list[str]]:
        base, directives = "", robots.NO_DIRECTIVES
        references: list[str] = []
        for node in parse(text).css(_LINKING):
            tag, attributes = node.tag, node.attributes
            if tag == "base":
                base = base or normalise(attributes.get("href") or "", url).url
            elif tag == "meta":
                name_and_content = (attributes.get("name") or "", attributes.get("content") or "")
                directives = (
                    directives.join(robots.read_meta_directives([name_and_content], self._agent))
                    if name_and_content[0]
                    else directives
                )
                references += filter(None, (read_refresh(attributes),))
            elif len(references) < MOST_LINKS:
                references += self._find_references(tag or "", attributes)
        return base or url, [] if directives.nofollow else references

    def _find_references(self, tag: str, attributes: Mapping[str, str | None]) -> Iterator[str]:
        """Yield the reference of one element, if a crawl may follow it."""
        rel = attributes.get("rel") or ""
        reference = attributes.get("href" if tag not in {"iframe", "frame"} else "src")
        if not reference or (rel and robots.is_nofollow(rel)):
            return
        if tag == "link":
            if not _FOLLOWED_RELATIONS.intersection(rel.lower().split()):
                return
            kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
            if kind and kind not in _PAGES and not (self._feeds and kind in _HINTS):
                return
        yield reference


ReadReferences = Callable[[str, Mapping[str, str], bytes], tuple[str, list[str]]]
"""Address, header fields and body of a page -> its base and the references in it, as written."""

ROOM = 1 << 16
"""Most tags and references remembered by all origins of this process together."""

LONGEST_PAGE = 1 << 20
"""Most bytes of a page that is scanned."""

_LONGEST_TAG = 400  # bytes of a tag that is remembered
_END = b"/end-of-tag-"
_SCAN = re.compile(rb"<[aAlLmMbBiIfF][\s/RrEeAaIiFf][^>]+")
"""Matches all tags that may contain references, and some that cannot: an exact pattern would be slower."""

_TAG = re.compile(rb"<(?:a|area|link|meta|base|i?frame)[\s/]", re.IGNORECASE)
_POSITIONAL = re.compile(rb"<(?:base|frame)[\s/]", re.IGNORECASE)
"""The meaning of these depends on their position in the page."""


class LinkMemo:
    """Remembers the tags and references of one origin's pages, so that pages with only known tags are not parsed."""

    __slots__ = ("__weakref__", "_folder_tags", "_offered", "_read", "_site_tags")

    def __init__(self, read: ReadReferences) -> None:
        """Call `read` for pages with unknown tags, and remember what it returns."""
        self._read = read
        self._site_tags: set[bytes] = set()  # tags with the same references on every page
        self._folder_tags: dict[str, set[bytes]] = {}  # and those with the same references in a folder
        self._offered: set[str] = set()
        _shared_limit.memos.add(self)

    def forget(self) -> None:
        """Forget everything, so that known references are returned once more."""
        self._site_tags.clear()
        self._folder_tags.clear()
        self._offered.clear()

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base of a page and those of its references that were not returned before."""
        scanned = self._scan_tags(fields, body)
        if scanned and self._site_tags.issuperset(scanned):
            return url, []
        folder = url.partition("?")[0].rpartition("/")[0]
        tags = {tag for tag in set(scanned) - self._site_tags if _TAG.match(tag)}
        if scanned and tags <= self._folder_tags.get(folder, _NO_TAGS):
            return url, []
        base, references = self._read(url, fields, body)
        if tags and base == url:
            self._learn_tags(folder, tags, url, set(references))
        offered = self._offered
        fresh = [reference for reference in references if reference not in offered]
        if base == url:
            steady = list(filter(_is_absolute, fresh))
            offered.update(steady)
            _shared_limit.count(len(steady))
        return base, fresh

    def _scan_tags(self, fields: Mapping[str, str], body: bytes) -> list[bytes]:
        """Return the tags that may contain references; empty if a scan of bytes cannot find them all."""
        html = "html" in fields.get("content-type", "").partition(";")[0].lower()
        if not html or len(body) > LONGEST_PAGE or b"\x00" in body or b"\x1b" in body:
            return []
        return _SCAN.findall(body)

    def _learn_tags(self, folder: str, tags: Iterable[bytes], url: str, offered: set[str]) -> None:
        """Remember those tags whose references, parsed apart from the page, are all among those of the page.

        A marker follows each tag: if the marker itself is parsed as a link, the tag before it was complete.
        """
        alone = [tag for tag in tags if len(tag) <= _LONGEST_TAG and tag.isascii() and not _POSITIONAL.match(tag)]
        text = b"".join(b"%b></iframe><a href='%b%d'>" % (tag, _END, index) for index, tag in enumerate(alone))
        _, references = self._read(url, {"content-type": "text/html"}, text)
        pending: list[str] = []
        tag_of_marker = {f"{_END.decode()}{index}": tag for index, tag in enumerate(alone)}
        last_index = -1
        for reference in references:
            if reference not in tag_of_marker:
                pending.append(reference)
                continue
            index = int(reference[len(_END) :])
            if index == last_index + 1 and offered.issuperset(pending):
                self._remember_tag(folder, tag_of_marker[reference], pending)
            last_index = index
            pending = []

    def _remember_tag(self, folder: str, tag: bytes, references: list[str]) -> None:
        if all(map(_is_absolute, references)):
            self._site_tags.add(tag)
        elif not any(reference.startswith("?") for reference in references):
            self._folder_tags.setdefault(folder, set()).add(tag)
        _shared_limit.count(1)


class _SharedLimit:
    """The limit on the total size of all memos: when it is reached, all memos are cleared."""

    def __init__(self) -> None:
        self.memos: WeakSet[LinkMemo] = WeakSet()
        self._left = ROOM

    def count(self, added: int) -> None:
        self._left -= added
        if self._left < 0:
            self._left = ROOM
            for memo in list(self.memos):
                memo.forget()


_shared_limit = _SharedLimit()
_NO_TAGS: frozenset[bytes] = frozenset()


def _is_absolute(reference: str) -> bool:
    """Tell whether a reference has the same target on every page of an origin, or points to its own page."""
    return reference.startswith(("/", "#", "http://", "https://"))


MOST_ASSETS = 500
"""Most assets of one document that are requested."""

_LONGEST_SHEET = 1 << 20  # most characters of a style sheet that are read
_ASSETS = (
    "base[href], img, source, image, input[type=image], script[src], link[rel][href], video[poster], object[data],"
    " [background], [style], style"
)
_ADDRESS_ATTRIBUTES = {
    "img": ("src",), "source": (), "image": ("href", "xlink:href"), "input": ("src",), "script": ("src",),
    "video": ("poster",), "object": ("data",),
}  # fmt: skip
_WITH_SRCSET = frozenset({"img", "source"})
_RELATIONS = frozenset({"stylesheet", "icon", "apple-touch-icon", "manifest", "modulepreload", "mask-icon"})
_PRELOADED = frozenset({"style", "script", "font", "image"})
_URL = re.compile(
    r"""url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^)"'\s]*+))|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""", re.IGNORECASE
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SRCSET_ENTRY = re.compile(r"\s*+,?\s*+([^\s,]\S*+)([^,(]*+(?:\([^)]*+\)[^,(]*+)*+)")


def assets(url: str, fields: Mapping[str, str], body: bytes) -> list[str]:
    """Return the normal addresses of the assets that a page or style sheet at a normal address needs, each once.

    >>> page = b"<img src=a.png srcset='b.png 2x, /c.png 3x'><link rel=stylesheet href=s.css><a href=/page>x</a>"
    >>> assets("http://a.example/x/", {"content-type": "text/html"}, page)
    ['http://a.example/x/a.png', 'http://a.example/x/b.png', 'http://a.example/c.png', 'http://a.example/x/s.css']
    >>> assets("http://a.example/s.css", {"content-type": "text/css"}, b"@font-face { src: url('f.woff2') }")
    ['http://a.example/f.woff2']
    """
    content_type = fields.get("content-type", "")
    kind = mime(content_type)
    essence = kind.essence if kind else "text/html"
    if essence == "text/css":
        return _resolve_addresses(url, _find_style_addresses(decode(body, content_type).text))
    if essence not in {"text/html", "application/xhtml+xml"}:
        return []
    base, references = _find_assets(url, decode(body, content_type).text)
    return _resolve_addresses(base, references)


def _resolve_addresses(base: str, references: Iterable[str]) -> list[str]:
    urls = (
        normalise(reference.strip(), base).url
        for reference in references
        if reference and not reference.startswith(("data:", "#"))
    )
    return list(islice(dict.fromkeys(filter(None, urls)), MOST_ASSETS))


def _find_assets(url: str, text: str) -> tuple[str, list[str]]:
    base = ""
    references: list[str] = []
    for node in parse(text).css(_ASSETS):
        tag, attributes = node.tag or "", node.attributes
        if tag == "base":
            base = base or normalise(attributes.get("href") or "", url).url
            continue
        references += [attributes.get(name) or "" for name in (*_ADDRESS_ATTRIBUTES.get(tag, ()), "background")]
        if tag in _WITH_SRCSET:
            references += parse_srcset(attributes.get("srcset") or "")
        if tag == "link" and _is_loaded(attributes):
            references += [attributes.get("href") or "", *parse_srcset(attributes.get("imagesrcset") or "")]
        references += _find_style_addresses(attributes.get("style") or "")
        if tag == "style":
            references += _find_style_addresses(node.text() or "")
        if len(references) > 20 * MOST_ASSETS:
            break
    return base or url, references


def _is_loaded(attributes: Mapping[str, str | None]) -> bool:
    """Tell whether the target of a `link` is loaded to display the page."""
    relations = set((attributes.get("rel") or "").lower().split())
    preloaded = "preload" in relations and (attributes.get("as") or "").lower() in _PRELOADED
    return preloaded or not relations.isdisjoint(_RELATIONS)


def parse_srcset(srcset: str) -> list[str]:
    """Return the addresses in a `srcset` (HTML standard, section 4.8.4.2.2); an address may contain a comma.

    >>> parse_srcset("a.png 1x, b,c.png 200w,d.png")
    ['a.png', 'b,c.png', 'd.png']
    """
    addresses: list[str] = []
    position = 0
    srcset = srcset[: _LONGEST_SHEET // 8]
    while len(addresses) < MOST_ASSETS and (match := _SRCSET_ENTRY.match(srcset, position)) and match.end() > position:
        address = match[1]
        if address.endswith(","):
            addresses.append(address.rstrip(","))
            position = match.end(1)
        else:
            addresses.append(address)
            position = match.end()
    return list(filter(None, addresses))


def _find_style_addresses(text: str) -> Iterator[str]:
    for match in islice(_URL.finditer(_COMMENT.sub(" ", text[:_LONGEST_SHEET])), 20 * MOST_ASSETS):
        yield next(filter(None, match.groups()), "")
