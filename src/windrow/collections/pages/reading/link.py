"""What the references of a page lead to, how far away that is, and of what sort it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.scope import Scope, locality
from windrow.content.head import PageHead
from windrow.content.outline import Outline, PageLocation
from windrow.formats.url import Resolved, Resolver, normalise, other, parts
from windrow.reasons import Reason

_FILES = frozenset({"ftp", "ftps", "sftp", "gemini", "gopher", "file"})
_TALK = frozenset({"mailto", "tel", "sms", "xmpp", "sip", "sips", "skype", "whatsapp", "tg", "irc", "ircs", "matrix",
                   "callto", "facetime", "news", "nntp"})  # fmt: skip
_NONE = frozenset({"javascript", "data", "blob", "about"})
_FILE, _OUT, _IN, _SELF = int(Destination.FILE), int(Locality.OUT), int(Locality.IN), int(Locality.SELF)


class LinkTarget(NamedTuple):
    """What a reference leads to."""

    url: str
    """Its one spelling, without the fragment."""
    fragment: str | None
    destination: int | None
    """A `Destination`; None where the scheme is not understood."""
    locality: int
    """A `Locality`."""


class LinkClassifier:
    """Tells what the references of one page lead to."""

    __slots__ = ("_authority", "_base", "_resolver", "_self", "here")

    def __init__(self, url: str, base: str = "") -> None:
        """Stand at the page of this address; `base` is what its `base` element says."""
        self.here = normalise(url).url
        """The page's own address, in its one spelling; empty where it is none."""
        self._self = self.here.partition("://")[2]
        self._authority = self._self.partition("/")[0] + "/"
        self._base = (normalise(base, self.here).url if base else "") or self.here
        self._resolver = _resolver("/".join(self._base.split("/", 3)[:3]))

    def targets(self, references: Iterable[str]) -> Iterator[LinkTarget | None]:
        """Yield for each reference what it leads to; None where it means no address.

        >>> targets = LinkClassifier("http://a.example/x/y?z").targets(["../b#c", "http://[", "data:,x"])
        >>> [one and one[:2] for one in targets]
        [('http://a.example/b', 'c'), None, None]
        """
        references = list(references)
        for reference, found in zip(references, self._resolver.resolve(self._base, references), strict=True):
            url, fragment, reason = found
            if url:
                yield LinkTarget(url, fragment, _FILE, self.locality(url))
            else:
                yield _foreign(reference) if reason is Reason.NO_TRANSPORT else None

    def target(self, reference: str) -> LinkTarget | None:
        """Return what one reference leads to."""
        return next(self.targets([reference]))

    def locality(self, url: str) -> int:
        """Say how far it is to another address: the first difference decides.

        A host more or other leads out, and so does another port; http and https count as one, and so do their own
        ports. Another path or query stays on the site.

        >>> LinkClassifier("http://a.example/x").locality("https://a.example/y")
        1
        """
        there = url.partition("://")[2]
        if not there.startswith(self._authority):
            return _OUT
        return _SELF if there == self._self else _IN


@lru_cache(maxsize=8)
def _resolver(origin: str) -> Resolver:
    """Return the memory of an origin's links, which its pages share."""
    return Resolver(origin)


def _foreign(reference: str) -> LinkTarget | None:
    """Return the target of another scheme than http and https."""
    found: Resolved = other(reference)
    scheme = found.url.partition(":")[0]
    if not scheme or scheme in _NONE:
        return None
    talk = int(Destination.COMMUNICATION) if scheme in _TALK else None
    return LinkTarget(found.url, found.fragment, _FILE if scheme in _FILES else talk, _OUT)


LOCATIONS = tuple(PageLocation)[:15]
"""The parts of a page that a link's location signature tells of, in the order of the table's columns."""
_LOCATION = sum(map(int, LOCATIONS))
_AWAY = int(PageLocation.NAV | PageLocation.ASIDE)
_EDGE = int(PageLocation.HEADER | PageLocation.FOOTER)
_CENTRE = int(PageLocation.MAIN | PageLocation.ARTICLE)
_HEADLINE, _LIST = int(PageLocation.HEADLINE), int(PageLocation.LIST)
_WEB = ("http://", "https://")
_OUTSIDE, _SAME_PAGE = int(Locality.OUT), int(Locality.SELF)


_BY_NAME = {
    "img": Destination.IMAGE,
    "audio": Destination.AUDIO,
    "video": Destination.VIDEO,
    "iframe": Destination.EMBEDDED,
    "embed": Destination.EMBEDDED,
    "object": Destination.EMBEDDED,
    "form": Destination.FORM,
}
_BY_TAG: dict[str, int | None] = {tag: int(destination) for tag, destination in _BY_NAME.items()}


class Link(NamedTuple):
    """One link, in the columns of `link_summary`."""

    url: str
    """Where it leads, without the fragment."""
    fragment: str | None
    nofollow: bool
    me: bool
    tag: bool
    location: int
    """A bit for each of `LOCATIONS` that it lies in, the first lowest."""
    contains_headline: bool
    destination: int | None
    """A `Destination`; None where the scheme is not understood."""
    locality: int
    """A `Locality`."""
    html_tag: str
    """The element that it is; empty where the document is not written in HTML."""
    text: str | None


def links(outline: Outline, head: PageHead, url: str) -> list[Link]:
    """Return the links of a page in its order, then its feeds, related pages, translations and icons.

    Scripts and styles are no links. References that mean no address, and those to `javascript:` and `data:`, are left
    out.
    """
    compass = LinkClassifier(url, head.base)
    found = []
    targets = compass.targets([anchor.href for anchor in outline.anchors])
    for (tag, _, rel, text, marks, headline), target in zip(outline.anchors, targets, strict=True):
        if target is None:
            continue
        address, fragment, destination, locality = target
        words = rel.lower().split() if rel else ()
        found.append(
            Link(
                address,
                fragment,
                "nofollow" in words,
                "me" in words,
                "tag" in words,
                marks & _LOCATION,
                headline,
                _BY_TAG.get(tag, destination),
                locality,
                tag,
                text or None,
            )
        )
    found += _offers(head, compass)
    return found


def placed(found: list[Link], url: str, site: Scope) -> list[Link]:
    """Return the links of a page with how far they reach from its site; all as they are where it lies outside."""
    here = normalise(url).url
    if not here or not site.holds(parts(here)):
        return found
    page = parts(here)
    return [
        link._replace(locality=int(locality(page, parts(link.url), site))) if link.url.startswith(_WEB) else link
        for link in found
    ]


def bare(found: list[Link]) -> list[Link]:
    """Return links of a document that is not written in HTML, though it was made HTML to be read."""
    return [link._replace(html_tag="") for link in found]


def _offers(head: PageHead, compass: LinkClassifier) -> Iterator[Link]:
    """Yield what the `link` elements of a page offer beside it."""
    offers = [(feed.href, Destination.FEED, feed.title) for feed in head.feeds]
    offers += [(one.href, Destination.FILE, one.title) for one in head.related]
    offers += [(translation.href, Destination.TRANSLATION, translation.title) for translation in head.translations]
    offers += [(href, Destination.ICON, "") for href in head.icons]
    tags = {one.href: "meta" for one in head.related if one.rel == "refresh"}
    targets = compass.targets([href for href, _, _ in offers])
    for (href, destination, title), target in zip(offers, targets, strict=True):
        if target is not None:
            yield Link(
                target.url, target.fragment, False, False, False, 0, False, int(destination), target.locality,
                tags.get(href, "link"), title or None,
            )  # fmt: skip


class Count(NamedTuple):
    """What a page's indexiness is made of."""

    publishing_date: bool
    self_in_headers: int
    self_in_lists: int
    in_headers: int
    in_lists: int
    out: int


def count(found: list[Link], *, publishing_date: bool) -> Count:
    """Count the links of a page's content: of `a`, with a text, not in navigation or aside, and in the main part.

    The main part is `main` and `article`, and outside of them what is neither header nor footer. Each link counts
    once: in a headline before in a list.
    """
    tally = [0, 0, 0, 0, 0]
    for _, _, _, _, _, where, headline, _, reach, tag, text in found:
        if where & _AWAY or tag != "a" or not text:
            continue
        if where & _EDGE and not where & _CENTRE:
            continue
        if reach == _OUTSIDE:
            tally[4] += 1
            continue
        step = 0 if reach == _SAME_PAGE else 2
        if headline or where & _HEADLINE:
            tally[step] += 1
        elif where & _LIST:
            tally[step + 1] += 1
    return Count(publishing_date, *tally)


def indexiness(counted: Count) -> int:
    """Say how much a page is an index of others (above 0) or a page of content (below 0).

    >>> indexiness(Count(True, 0, 0, 1, 2, 3))
    -9
    """
    return (
        2 * counted.in_headers
        + counted.in_lists
        - 2 * counted.self_in_headers
        - counted.self_in_lists
        - counted.out
        - (10 if counted.publishing_date else 0)
    )
