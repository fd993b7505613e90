"""Links of the pages of one origin, resolved fast: known ones by memory, common ones by their look.

A link is looked up as it was written; sites repeat theirs on every page. One that is new and made
of nothing but harmless characters is resolved by a regular expression and a joining of texts. All
others take the long way through `normalise`. The three ways lead to the same address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from windrow.formats.url.normal import LONGEST, Resolved, normalise

_ROOM = 8_192  # links remembered
_WIDE = 200  # characters of the longest one remembered

_E = "%(?:2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-D]|[89A-F][0-9A-F])"  # escapes that stay as they are
_P = rf"[A-Za-z0-9_~!$&()*+,;=@./'-]*+(?:{_E}[A-Za-z0-9_~!$&()*+,;=@./'-]*+)*+"
_Q = rf"(?:\?[A-Za-z0-9_~!$&()*+,;=@./:?-]++(?:{_E}[A-Za-z0-9_~!$&()*+,;=@./:?-]*+)*+)?+"
_F = r"(?:#([A-Za-z0-9_~!$&()*+,;=@./:?'-]*+))?+"
_C = _P.replace("@./", "@.:/")  # a colon may stand anywhere but in the first segment of a relative path
_PATH = re.compile(rf"(/(?!/){_C}{_Q}){_F}")
_NAME = re.compile(rf"([A-Za-z0-9_~]{_P}{_Q}){_F}")
_QUERY = re.compile(rf"(?=[?#])({_Q}){_F}")
_SITE = r"https?://(?:(?!xn--)[a-z0-9-]{1,63}\.){1,3}(?!xn--)[a-z]{2,24}"
_WHOLE = re.compile(rf"({_SITE}/{_C}{_Q}){_F}")
_APART = re.compile(rf"({_SITE})(/{_C})({_Q})")


def quick(href: str, base: str, origin: str) -> Resolved | None:
    """Resolve a link of harmless characters against a normal address; None where it is not one.

    >>> quick("b.html#c", "https://example.org/a/?q", "https://example.org")
    Resolved(url='https://example.org/a/b.html', fragment='c', reason=None)
    >>> quick("../b", "https://example.org/a/", "https://example.org") is None
    True
    """
    if "/." in href:  # perhaps a dot segment
        return None
    first = href[:1]
    before = ""
    if first == "/":
        found, before = _PATH.fullmatch(href), origin
    elif first in "?#":
        found = _QUERY.fullmatch(href)
        before = base.partition("?")[0] if first == "?" else base
    elif href.startswith("http"):
        found = _WHOLE.fullmatch(href)
        if not found and href.startswith(f"{origin}/"):
            found, before = _PATH.fullmatch(href, len(origin)), origin
    else:
        found = _NAME.fullmatch(href)
        before = base.partition("?")[0].rpartition("/")[0] + "/"
    if not found:
        return None
    url = before + found[1]
    return Resolved(url, found[2] or None) if len(url) <= LONGEST else None


def apart(url: str) -> tuple[str, str, str] | None:
    """Take a normal address of harmless characters apart: origin, path, query with its mark. None for any other.

    >>> apart("https://example.org/a?b"), apart("https://example.org/a/../b")
    (('https://example.org', '/a', '?b'), None)
    """
    found = None if "/." in url or len(url) > LONGEST else _APART.fullmatch(url)
    return (found[1], found[2], found[3]) if found else None


class Resolver:
    """Resolve the links of one origin's pages, remembering those that its pages share.

    The memory is bounded: `room` links of at most 200 characters; when it is full it starts afresh.

    >>> site = Resolver("https://example.org")
    >>> [one.url for one in site.resolve("https://example.org/a/b", ["/x", "c#d", "ftp://h/"])]
    ['https://example.org/x', 'https://example.org/a/c', '']
    """

    __slots__ = ("_known", "_room", "origin")

    def __init__(self, origin: str, room: int = _ROOM) -> None:
        """Serve pages of this origin, spelt as `Parts.origin` spells it."""
        self.origin = origin
        self._known: dict[str, Resolved] = {}
        self._room = room

    def resolve(self, base: str, hrefs: Iterable[str]) -> list[Resolved]:
        """Return what each link means, in their order.

        `base` is the normal address of the page, or what its `base` element resolves to; it may
        lie at another origin.
        """
        if not base.startswith(f"{self.origin}/"):
            return [normalise(href, base) for href in hrefs]
        known = self._known.get
        return [known(href) or self._learn(href, base) for href in hrefs]

    def targets(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Return the addresses that the links of a page lead to, each once, without the refused."""
        found = {one[0]: None for one in self.resolve(base, hrefs)}
        found.pop("", None)
        return list(found)

    def _learn(self, href: str, base: str) -> Resolved:
        """Resolve a link that is not remembered; remember it where it means the same on every page."""
        found = quick(href, base, self.origin) or normalise(href, base)
        if len(href) <= _WIDE and href.startswith(("/", "http://", "https://")):
            if len(self._known) >= self._room:
                self._known.clear()
            self._known[href] = found
        return found
