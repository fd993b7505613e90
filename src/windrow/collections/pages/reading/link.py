"""The links of a page: where they lead, how far, of what sort, and where in the page they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.reading.target import LinkClassifier
from windrow.collections.pages.scope import Scope, locality
from windrow.formats.html import Outline, PageHead, PageLocation
from windrow.formats.url import normalise, parts

LOCATIONS = tuple(PageLocation)[:15]
"""The parts of a page that a link's location signature tells of, in the order of the table's columns."""
_LOCATION = sum(map(int, LOCATIONS))
_AWAY = int(PageLocation.NAV | PageLocation.ASIDE)
_EDGE = int(PageLocation.HEADER | PageLocation.FOOTER)
_CENTRE = int(PageLocation.MAIN | PageLocation.ARTICLE)
_HEADLINE, _LIST = int(PageLocation.HEADLINE), int(PageLocation.LIST)
_WEB = ("http://", "https://")
_OUT, _SELF = int(Locality.OUT), int(Locality.SELF)


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
    offers += [(one.href, Destination.TRANSLATION, one.title) for one in head.translations]
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
        if reach == _OUT:
            tally[4] += 1
            continue
        step = 0 if reach == _SELF else 2
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
