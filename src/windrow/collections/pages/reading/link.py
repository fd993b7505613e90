"""The links of a page: where they lead, how far, of what sort, and where in the page they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.reading.address import Place, Resolver, place
from windrow.formats.html import Head, Mark, Outline

LOCATIONS = tuple(Mark)[:15]
"""The parts of a page that a link's location signature tells of, in the order of the table's columns."""
_LOCATION = sum(map(int, LOCATIONS))
_AWAY = int(Mark.NAV | Mark.ASIDE)
_EDGE = int(Mark.HEADER | Mark.FOOTER)
_CENTRE = int(Mark.MAIN | Mark.ARTICLE)
_HEADLINE, _LIST = int(Mark.HEADLINE), int(Mark.LIST)


_BY_TAG = {
    "img": Destination.IMAGE,
    "audio": Destination.AUDIO,
    "video": Destination.VIDEO,
    "iframe": Destination.EMBEDDED,
    "embed": Destination.EMBEDDED,
    "object": Destination.EMBEDDED,
    "form": Destination.FORM,
}
_FILES = frozenset({"http", "https", "ftp", "ftps", "sftp", "gemini", "gopher", "file"})
_TALK = frozenset({"mailto", "tel", "sms", "xmpp", "sip", "sips", "skype", "whatsapp", "tg", "irc", "ircs", "matrix",
                   "callto", "facetime", "news", "nntp"})  # fmt: skip


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
    text: str | None


def links(outline: Outline, head: Head, url: str) -> list[Link]:
    """Return the links of a page in its order, then the feeds it offers.

    Pictures, scripts and styles are no links: they are part of the page. References that mean no address, and those
    to `javascript:` and `data:`, are left out.
    """
    return list(_links(outline, head, url))


def _links(outline: Outline, head: Head, url: str) -> Iterator[Link]:
    origin = Resolver(url)
    start = origin.resolve(head.base) if head.base else None
    resolver = Resolver(start.url) if start else origin
    here = place(url.partition("#")[0])
    far: dict[str, tuple[int, int | None]] = {}
    for tag, href, rel, text, marks, headline in outline.anchors:
        target = resolver.resolve(href)
        if target is None or target.url.startswith(("javascript:", "data:", "blob:", "about:")):
            continue
        known = far.get(target.url)
        if known is None:
            there = place(target.url)
            known = far[target.url] = (locality(here, there), _destination(there))
        words = rel.lower().split() if rel else ()
        yield Link(
            target.url,
            target.fragment,
            "nofollow" in words,
            "me" in words,
            "tag" in words,
            marks & _LOCATION,
            headline,
            known[1] if tag not in _BY_TAG else int(_BY_TAG[tag]),
            known[0],
            tag,
            text or None,
        )
    for feed in head.feeds:
        target = resolver.resolve(feed.href)
        if target is not None:
            far_ = locality(here, place(target.url))
            yield Link(
                target.url, target.fragment, False, False, False, 0, False, int(Destination.FEED), far_, "link",
                feed.title or None,
            )  # fmt: skip


def _destination(there: Place) -> int | None:
    if there.scheme in _FILES:
        return int(Destination.FILE)
    return int(Destination.COMMUNICATION) if there.scheme in _TALK else None


def locality(here: Place, there: Place) -> int:
    """Say how far it is from one address to another: the first difference decides.

    A host more or other leads out, and so does another port, or a scheme that differs by more than its last "s"; the
    default ports of http and https count as one. Another path or query stays on the site.

    >>> locality(place("http://a.example/x"), place("https://a.example/y"))
    1
    """
    if there.host is None or there.host != here.host:
        return int(Locality.OUT)
    if _port(there) != _port(here) or there.scheme.removesuffix("s") != here.scheme.removesuffix("s"):
        return int(Locality.OUT)
    if there.path != here.path or there.query != here.query:
        return int(Locality.IN)
    return int(Locality.SELF)


def _port(where: Place) -> int | None:
    return 80 if (where.scheme, where.port) == ("https", 443) else where.port


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
    for link in found:
        where = link.location
        if link.html_tag != "a" or not link.text or where & _AWAY:
            continue
        if where & _EDGE and not where & _CENTRE:
            continue
        if link.locality == Locality.OUT:
            tally[4] += 1
            continue
        step = 0 if link.locality == Locality.SELF else 2
        if link.contains_headline or where & _HEADLINE:
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
