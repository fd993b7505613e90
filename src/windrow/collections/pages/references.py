"""The references of a page: the links that a crawl follows, and what the page needs to be shown as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from weakref import WeakSet

from windrow.collections.pages.code import mime
from windrow.content.charset import decode
from windrow.content.head import RELATIONS, refresh
from windrow.content.tree import parse
from windrow.formats import robots
from windrow.formats.sniff import sniff
from windrow.formats.url import normalise
from windrow.formats.url_hints import read as read_hint

MOST_LINKS = 20_000
"""References of one page; what is behind them is not followed."""

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_HINTS = frozenset(
    (
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
        "application/xml", "text/xml", "application/gzip", "application/x-gzip",
    )
)  # fmt: skip
_WANTED = "a[href], area[href], iframe[src], frame[src], link[rel][href], meta[content], base[href]"
_RELATED = RELATIONS | {"canonical"}


class References:
    """Reads the references of what one agent is given."""

    def __init__(self, agent: str, *, feeds: bool = True) -> None:
        """Heed what pages ask of this agent; without `feeds`, those that pages name are passed over."""
        self._agent = agent
        self._feeds = feeds

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base and the references of a document at the normal address `url`, as they are written.

        Of an HTML page its links, frames and related pages; of a feed or sitemap its entries; of anything
        else none, and none where the page or its header says `nofollow`.
        """
        named = {name.lower(): value for name, value in fields.items()}
        told = mime(named.get("content-type", ""))
        essence = sniff(body, told.essence).essence if told else "text/html" if body.lstrip()[:1] == b"<" else ""
        # The values of one field that came several times are parted by line feeds.
        if robots.header(named.get("x-robots-tag", "").split("\n"), self._agent).nofollow:
            return url, []
        if essence in _HINTS:
            return url, [entry.url for entry in read_hint(body, url).entries[:MOST_LINKS]]
        if essence not in _PAGES:
            return url, []
        return self._page(url, decode(body, named.get("content-type", "")).text)

    def _page(self, url: str, text: str) -> tuple[str, list[str]]:
        base, asked = "", robots.NOTHING
        found: list[str] = []
        for node in parse(text).css(_WANTED):
            tag, attributes = node.tag, node.attributes
            if tag == "base":
                base = base or normalise(attributes.get("href") or "", url).url
            elif tag == "meta":
                pair = (attributes.get("name") or "", attributes.get("content") or "")
                asked = asked.join(robots.meta([pair], self._agent)) if pair[0] else asked
                found += filter(None, (refresh(attributes),))
            elif len(found) < MOST_LINKS:
                found += self._reference(tag or "", attributes)
        return base or url, [] if asked.nofollow else found

    def _reference(self, tag: str, attributes: Mapping[str, str | None]) -> Iterator[str]:
        """Yield what one element refers to, if a crawl may follow it."""
        rel = attributes.get("rel") or ""
        written = attributes.get("href" if tag not in {"iframe", "frame"} else "src")
        if not written or (rel and robots.nofollow(rel)):
            return
        if tag == "link":
            if not _RELATED.intersection(rel.lower().split()):
                return
            kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
            if kind and kind not in _PAGES and not (self._feeds and kind in _HINTS):
                return
        yield written


Read = Callable[[str, Mapping[str, str], bytes], tuple[str, list[str]]]
"""Address, header fields and body of a page -> its base and the references in it, as they are written."""

ROOM = 1 << 16
"""Tags and references remembered by all origins of this process together."""

LONGEST = 1 << 20
"""Bytes of the longest page that is scanned."""

_WIDE = 400  # bytes of the longest tag remembered
_END = b"/end-of-tag-"
_SCAN = re.compile(rb"<[aAlLmMbBiIfF][\s/RrEeAaIiFf][^>]+")
"""Finds all tags that may hold references, and some that cannot: the engine of `re` is fastest so."""

_TAG = re.compile(rb"<(?:a|area|link|meta|base|i?frame)[\s/]", re.IGNORECASE)
_NEVER = re.compile(rb"<(?:base|frame)[\s/]", re.IGNORECASE)
"""What these mean depends on where they stand."""


class LinkMemo:
    """What was met on the pages of one origin; stands before the reader of references."""

    __slots__ = ("__weakref__", "_near", "_offered", "_read", "_same")

    def __init__(self, read: Read) -> None:
        """Remember what `read` returns."""
        self._read = read
        self._same: set[bytes] = set()  # tags that mean the same on every page
        self._near: dict[str, set[bytes]] = {}  # and those that mean the same in a folder
        self._offered: set[str] = set()
        _SHELF.all.add(self)

    def forget(self) -> None:
        """Begin afresh: everything is offered once more."""
        self._same.clear()
        self._near.clear()
        self._offered.clear()

    def __call__(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base of a page and those of its references that were not offered before."""
        found = self._tags(fields, body)
        if found and self._same.issuperset(found):
            return url, []
        folder = url.partition("?")[0].rpartition("/")[0]
        tags = {one for one in set(found) - self._same if _TAG.match(one)}
        if found and tags <= self._near.get(folder, _NONE):
            return url, []
        base, references = self._read(url, fields, body)
        if tags and base == url:
            self._learn(folder, tags, url, set(references))
        offered = self._offered
        fresh = [reference for reference in references if reference not in offered]
        if base == url:
            steady = list(filter(_steady, fresh))
            offered.update(steady)
            _SHELF.take(len(steady))
        return base, fresh

    def _tags(self, fields: Mapping[str, str], body: bytes) -> list[bytes]:
        """Return the tags that may hold references; none where a scan cannot tell."""
        html = "html" in fields.get("content-type", "").partition(";")[0].lower()
        if not html or len(body) > LONGEST or b"\x00" in body or b"\x1b" in body:
            return []
        return _SCAN.findall(body)

    def _learn(self, folder: str, tags: Iterable[bytes], url: str, offered: set[str]) -> None:
        """Remember those tags whose references, each read by itself, are all among what the page offered.

        Behind every tag stands one of ours: where it is read as such, the tag before it was whole.
        """
        alone = [tag for tag in tags if len(tag) <= _WIDE and tag.isascii() and not _NEVER.match(tag)]
        text = b"".join(b"%b></iframe><a href='%b%d'>" % (one, _END, at) for at, one in enumerate(alone))
        _, references = self._read(url, {"content-type": "text/html"}, text)
        held: list[str] = []
        ends = {f"{_END.decode()}{at}": one for at, one in enumerate(alone)}
        before = -1
        for reference in references:
            if reference not in ends:
                held.append(reference)
                continue
            at = int(reference[len(_END) :])
            if at == before + 1 and offered.issuperset(held):
                self._remember(folder, ends[reference], held)
            before = at
            held = []

    def _remember(self, folder: str, tag: bytes, held: list[str]) -> None:
        if all(map(_steady, held)):
            self._same.add(tag)
        elif not any(one.startswith("?") for one in held):
            self._near.setdefault(folder, set()).add(tag)
        _SHELF.take(1)


class _Shelf:
    """The room that all origins have together: when it is full, all of them begin afresh."""

    def __init__(self) -> None:
        self.all: WeakSet[LinkMemo] = WeakSet()
        self._left = ROOM

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            self._left = ROOM
            for one in list(self.all):
                one.forget()


_SHELF = _Shelf()
_NONE: frozenset[bytes] = frozenset()


def _steady(reference: str) -> bool:
    """Tell whether a reference means the same on every page of an origin, or nothing but the page itself."""
    return reference.startswith(("/", "#", "http://", "https://"))


MOST_ASSETS = 500
"""Assets of one document; what it names behind them is not asked for."""

_LONGEST = 1 << 20  # characters of a style sheet that are read
_ASSETS = (
    "base[href], img, source, image, input[type=image], script[src], link[rel][href], video[poster], object[data],"
    " [background], [style], style"
)
_PLAIN = {
    "img": ("src",), "source": (), "image": ("href", "xlink:href"), "input": ("src",), "script": ("src",),
    "video": ("poster",), "object": ("data",),
}  # fmt: skip
_PICTURED = frozenset({"img", "source"})
_RELATIONS = frozenset({"stylesheet", "icon", "apple-touch-icon", "manifest", "modulepreload", "mask-icon"})
_PRELOADED = frozenset({"style", "script", "font", "image"})
_URL = re.compile(
    r"""url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^)"'\s]*+))|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""", re.IGNORECASE
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CANDIDATE = re.compile(r"\s*+,?\s*+([^\s,]\S*+)([^,(]*+(?:\([^)]*+\)[^,(]*+)*+)")


def assets(url: str, fields: Mapping[str, str], body: bytes) -> list[str]:
    """Return the normal addresses that a page or style sheet at a normal address needs, each once.

    >>> page = b"<img src=a.png srcset='b.png 2x, /c.png 3x'><link rel=stylesheet href=s.css><a href=/page>x</a>"
    >>> assets("http://a.example/x/", {"content-type": "text/html"}, page)
    ['http://a.example/x/a.png', 'http://a.example/x/b.png', 'http://a.example/c.png', 'http://a.example/x/s.css']
    >>> assets("http://a.example/s.css", {"content-type": "text/css"}, b"@font-face { src: url('f.woff2') }")
    ['http://a.example/f.woff2']
    """
    told = fields.get("content-type", "")
    kind = mime(told)
    essence = kind.essence if kind else "text/html"
    if essence == "text/css":
        return _resolved(url, _styled(decode(body, told).text))
    if essence not in {"text/html", "application/xhtml+xml"}:
        return []
    base, found = _page(url, decode(body, told).text)
    return _resolved(base, found)


def _resolved(base: str, references: Iterable[str]) -> list[str]:
    named = (
        normalise(reference.strip(), base).url
        for reference in references
        if reference and not reference.startswith(("data:", "#"))
    )
    return list(islice(dict.fromkeys(filter(None, named)), MOST_ASSETS))


def _page(url: str, text: str) -> tuple[str, list[str]]:
    base = ""
    found: list[str] = []
    for node in parse(text).css(_ASSETS):
        tag, attributes = node.tag or "", node.attributes
        if tag == "base":
            base = base or normalise(attributes.get("href") or "", url).url
            continue
        found += [attributes.get(name) or "" for name in (*_PLAIN.get(tag, ()), "background")]
        if tag in _PICTURED:
            found += candidates(attributes.get("srcset") or "")
        if tag == "link" and _shows(attributes):
            found += [attributes.get("href") or "", *candidates(attributes.get("imagesrcset") or "")]
        found += _styled(attributes.get("style") or "")
        if tag == "style":
            found += _styled(node.text() or "")
        if len(found) > 20 * MOST_ASSETS:
            break
    return base or url, found


def _shows(attributes: Mapping[str, str | None]) -> bool:
    """Tell whether a `link` names what is loaded to show the page."""
    relations = set((attributes.get("rel") or "").lower().split())
    preloaded = "preload" in relations and (attributes.get("as") or "").lower() in _PRELOADED
    return preloaded or not relations.isdisjoint(_RELATIONS)


def candidates(srcset: str) -> list[str]:
    """Return the addresses of a `srcset` (HTML standard, section 4.8.4.2.2); a comma may be part of one.

    >>> candidates("a.png 1x, b,c.png 200w,d.png")
    ['a.png', 'b,c.png', 'd.png']
    """
    found: list[str] = []
    at = 0
    srcset = srcset[: _LONGEST // 8]
    while len(found) < MOST_ASSETS and (one := _CANDIDATE.match(srcset, at)) and one.end() > at:
        name = one[1]
        if name.endswith(","):
            found.append(name.rstrip(","))
            at = one.end(1)
        else:
            found.append(name)
            at = one.end()
    return [one for one in found if one]


def _styled(text: str) -> Iterator[str]:
    """Yield what a style sheet names."""
    for one in islice(_URL.finditer(_COMMENT.sub(" ", text[:_LONGEST])), 20 * MOST_ASSETS):
        yield next(filter(None, one.groups()), "")
