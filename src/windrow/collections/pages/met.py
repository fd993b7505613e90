"""Pages repeat their links: tell without parsing that all of a page's links were met before.

A page is scanned for the tags that may hold references. Where each of them, byte by byte, was on an
earlier page of the origin and all it refers to was offered then, the page has nothing new. Any doubt
lets the page be read in full.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from weakref import WeakSet

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
        fresh = [one for one in references if one not in offered]
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
        alone = [one for one in tags if len(one) <= _WIDE and one.isascii() and not _NEVER.match(one)]
        text = b"".join(b"%b></iframe><a href='%b%d'>" % (one, _END, at) for at, one in enumerate(alone))
        _, references = self._read(url, {"content-type": "text/html"}, text)
        held: list[str] = []
        ends = {f"{_END.decode()}{at}": one for at, one in enumerate(alone)}
        before = -1
        for one in references:
            if one not in ends:
                held.append(one)
                continue
            at = int(one[len(_END) :])
            if at == before + 1 and offered.issuperset(held):
                self._remember(folder, ends[one], held)
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
