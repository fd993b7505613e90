"""The links of a page: their targets, whether they stay on the site, and their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.scope import Scope, locality
from windrow.content.head import PageHead
from windrow.content.outline import Outline, PageLocation
from windrow.formats.url import Resolved, Resolver, normalise, normalise_other_scheme, parts
from windrow.reasons import Reason

_FILE_SCHEMES = frozenset({"ftp", "ftps", "sftp", "gemini", "gopher", "file"})
_CONTACT_SCHEMES = frozenset({"mailto", "tel", "sms", "xmpp", "sip", "sips", "skype", "whatsapp", "tg", "irc", "ircs",
                              "matrix", "callto", "facetime", "news", "nntp"})  # fmt: skip
_IGNORED_SCHEMES = frozenset({"javascript", "data", "blob", "about"})
_FILE, _OUT, _IN, _SELF = int(Destination.FILE), int(Locality.OUT), int(Locality.IN), int(Locality.SELF)


class LinkTarget(NamedTuple):
    """The target of a reference."""

    url: str
    """The normal address, without the fragment."""
    fragment: str | None
    destination: int | None
    """A `Destination`; None where the scheme is not understood."""
    locality: int
    """A `Locality`."""


class LinkClassifier:
    """Resolves and classifies the references of one page."""

    __slots__ = ("_authority", "_base", "_resolver", "_self", "here")

    def __init__(self, url: str, base: str = "") -> None:
        """Take the page's address; `base` is the `href` of its `base` element."""
        self.here = normalise(url).url
        """The page's normal address; empty if `url` is not an address of the web."""
        self._self = self.here.partition("://")[2]
        self._authority = self._self.partition("/")[0] + "/"
        self._base = (normalise(base, self.here).url if base else "") or self.here
        self._resolver = _resolver("/".join(self._base.split("/", 3)[:3]))

    def targets(self, references: Iterable[str]) -> Iterator[LinkTarget | None]:
        """Yield the target of each reference; None if it is not an address.

        >>> targets = LinkClassifier("http://a.example/x/y?z").targets(["../b#c", "http://[", "data:,x"])
        >>> [target and target[:2] for target in targets]
        [('http://a.example/b', 'c'), None, None]
        """
        references = list(references)
        for reference, resolved in zip(references, self._resolver.resolve(self._base, references), strict=True):
            url, fragment, reason = resolved
            if url:
                yield LinkTarget(url, fragment, _FILE, self.locality(url))
            else:
                yield _classify_other_scheme(reference) if reason is Reason.NO_TRANSPORT else None

    def target(self, reference: str) -> LinkTarget | None:
        """Return the target of one reference."""
        return next(self.targets([reference]))

    def locality(self, url: str) -> int:
        """Return the `Locality` of another address.

        Another host or port is OUT, another path or query IN; http and https are treated as one scheme, and so are
        their usual ports.

        >>> LinkClassifier("http://a.example/x").locality("https://a.example/y")
        1
        """
        after_scheme = url.partition("://")[2]
        if not after_scheme.startswith(self._authority):
            return _OUT
        return _SELF if after_scheme == self._self else _IN


@lru_cache(maxsize=8)
def _resolver(origin: str) -> Resolver:
    """Return the resolver of an origin, which caches links and is shared by its pages."""
    return Resolver(origin)


def _classify_other_scheme(reference: str) -> LinkTarget | None:
    """Return the target of a reference with another scheme than http and https."""
    resolved: Resolved = normalise_other_scheme(reference)
    scheme = resolved.url.partition(":")[0]
    if not scheme or scheme in _IGNORED_SCHEMES:
        return None
    destination = int(Destination.COMMUNICATION) if scheme in _CONTACT_SCHEMES else None
    return LinkTarget(resolved.url, resolved.fragment, _FILE if scheme in _FILE_SCHEMES else destination, _OUT)


LOCATIONS = tuple(PageLocation)[:15]
"""The parts of a page that a link's location can have, in the order of the table's columns."""
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
    """The target without its fragment."""
    fragment: str | None
    nofollow: bool
    me: bool
    tag: bool
    location: int
    """A bit for each of `LOCATIONS` that contains the link, the first lowest."""
    contains_headline: bool
    destination: int | None
    """A `Destination`; None where the scheme is not understood."""
    locality: int
    """A `Locality`."""
    html_tag: str
    """The name of the element; empty if the document is not HTML."""
    text: str | None


def links(outline: Outline, head: PageHead, url: str) -> list[Link]:
    """Return the links of a page in order, then its feeds, related pages, translations and icons.

    Scripts and styles do not count as links. References that are not addresses, and those to `javascript:` and
    `data:`, are left out.
    """
    classifier = LinkClassifier(url, head.base)
    page_links = []
    targets = classifier.targets([anchor.href for anchor in outline.anchors])
    for (tag, _, rel, text, marks, headline), target in zip(outline.anchors, targets, strict=True):
        if target is None:
            continue
        address, fragment, destination, locality = target
        words = rel.lower().split() if rel else ()
        page_links.append(
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
    page_links += _head_links(head, classifier)
    return page_links


def place_links(page_links: list[Link], url: str, site: Scope) -> list[Link]:
    """Return the links of a page with their locality relative to `site`; unchanged if the page is outside the site."""
    page_url = normalise(url).url
    if not page_url or not site.holds(parts(page_url)):
        return page_links
    page = parts(page_url)
    return [
        link._replace(locality=int(locality(page, parts(link.url), site))) if link.url.startswith(_WEB) else link
        for link in page_links
    ]


def without_tags(page_links: list[Link]) -> list[Link]:
    """Return links without element names, for a document that was converted to HTML."""
    return [link._replace(html_tag="") for link in page_links]


def _head_links(head: PageHead, classifier: LinkClassifier) -> Iterator[Link]:
    """Yield the links in the head of a page: feeds, related pages, translations and icons."""
    offers = [(feed.href, Destination.FEED, feed.title) for feed in head.feeds]
    offers += [(link.href, Destination.FILE, link.title) for link in head.related]
    offers += [(translation.href, Destination.TRANSLATION, translation.title) for translation in head.translations]
    offers += [(href, Destination.ICON, "") for href in head.icons]
    tags = {link.href: "meta" for link in head.related if link.rel == "refresh"}
    targets = classifier.targets([href for href, _, _ in offers])
    for (href, destination, title), target in zip(offers, targets, strict=True):
        if target is not None:
            yield Link(
                target.url, target.fragment, False, False, False, 0, False, int(destination), target.locality,
                tags.get(href, "link"), title or None,
            )  # fmt: skip


class Count(NamedTuple):
    """The numbers from which the indexiness of a page is computed."""

    publishing_date: bool
    self_in_headers: int
    self_in_lists: int
    in_headers: int
    in_lists: int
    out: int


def count_links(page_links: list[Link], *, publishing_date: bool) -> Count:
    """Count the content links of a page: `a` elements with a text, outside of navigation, aside, header and footer.

    Links in `main` or `article` count even in a header or footer there. A link in a headline and a list counts as in
    a headline.
    """
    tally = [0, 0, 0, 0, 0]
    for _, _, _, _, _, location, headline, _, link_locality, tag, text in page_links:
        if location & _AWAY or tag != "a" or not text:
            continue
        if location & _EDGE and not location & _CENTRE:
            continue
        if link_locality == _OUTSIDE:
            tally[4] += 1
            continue
        offset = 0 if link_locality == _SAME_PAGE else 2
        if headline or location & _HEADLINE:
            tally[offset] += 1
        elif location & _LIST:
            tally[offset + 1] += 1
    return Count(publishing_date, *tally)


def indexiness(counted: Count) -> int:
    """Return the indexiness of a page: above 0 for a list of links, below 0 for a page of content.

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
