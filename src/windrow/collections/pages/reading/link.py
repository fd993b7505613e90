"""The links of a page: for each link its target, what the target is, and whether it is on the same site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.scope import Scope, find_locality
from windrow.content.head import PageHead
from windrow.content.outline import Outline, PageLocation
from windrow.formats.url import Resolver, normalise, normalise_other_scheme, parts
from windrow.reasons import Reason

_FILE_SCHEMES = frozenset({"ftp", "ftps", "sftp", "gemini", "gopher", "file"})
_CONTACT_SCHEMES = frozenset({"mailto", "tel", "sms", "xmpp", "sip", "sips", "skype", "whatsapp", "tg", "irc", "ircs",
                              "matrix", "callto", "facetime", "news", "nntp"})  # fmt: skip
_IGNORED_SCHEMES = frozenset({"javascript", "data", "blob", "about"})
_IGNORED_BEFORE_SCHEME = "".join(map(chr, range(0x21)))
_FILE, _OUT, _IN, _SELF = int(Destination.FILE), int(Locality.OUT), int(Locality.IN), int(Locality.SELF)


class LinkTarget(NamedTuple):
    """The target of a reference in a page."""

    url: str
    """The normalised address, without the fragment."""
    fragment: str | None
    destination: int | None
    """A `Destination`; None if the scheme is unknown."""
    locality: int
    """A `Locality`."""


class LinkClassifier:
    """Resolves the references of one page, and classifies their targets."""

    __slots__ = ("_after_scheme", "_authority", "_base", "_resolver", "page_url", "refused")

    def __init__(self, url: str, base: str = "") -> None:
        """Take the address of a page, and the `href` of its `base` element (empty if it has none)."""
        self.page_url = normalise(url).url
        """The page's normalised address, or empty if `url` is not a web address."""
        self.refused: Counter[Reason] = Counter()
        """How many references had an address that is not valid or too long, by reason."""
        self._after_scheme = self.page_url.partition("://")[2]
        self._authority = self._after_scheme.partition("/")[0] + "/"
        self._base = (normalise(base, self.page_url).url if base else "") or self.page_url
        self._resolver = _get_resolver("/".join(self._base.split("/", 3)[:3]))

    def find_targets(self, references: Iterable[str]) -> Iterator[LinkTarget | None]:
        """Yield the target of each reference; None if it is not an address, or has a scheme such as `data:`.

        >>> targets = LinkClassifier("http://a.example/x/y?z").find_targets(["../b#c", "http://[", "data:,x"])
        >>> [target and target[:2] for target in targets]
        [('http://a.example/b', 'c'), None, None]
        """
        references = list(references)
        for reference, resolved in zip(references, self._resolver.resolve(self._base, references), strict=True):
            url, fragment, reason = resolved
            if url:
                yield LinkTarget(url, fragment, _FILE, self.classify_locality(url))
            elif reason is Reason.NO_TRANSPORT:
                yield self._classify_other_scheme(reference)
            else:
                self._refuse(reason)
                yield None

    def find_target(self, reference: str) -> LinkTarget | None:
        """Return the target of one reference, or None if it is not an address or has a scheme such as `data:`."""
        return next(self.find_targets([reference]))

    def classify_locality(self, url: str) -> int:
        """Return the `Locality` of a link to the normalised address `url`.

        An address with another host or port is OUT, the page's own address is SELF, and any other address is IN; http
        and https count as one scheme, and their usual ports as one port.

        >>> LinkClassifier("http://a.example/x").classify_locality("https://a.example/y")
        1
        """
        after_scheme = url.partition("://")[2]
        if not after_scheme.startswith(self._authority):
            return _OUT
        return _SELF if after_scheme == self._after_scheme else _IN

    def _classify_other_scheme(self, reference: str) -> LinkTarget | None:
        url, fragment, reason = normalise_other_scheme(reference)
        scheme = (url or reference.lstrip(_IGNORED_BEFORE_SCHEME)).partition(":")[0].lower()
        if scheme in _IGNORED_SCHEMES:
            return None
        if not url:
            self._refuse(reason)
            return None
        destination = int(Destination.COMMUNICATION) if scheme in _CONTACT_SCHEMES else None
        return LinkTarget(url, fragment, _FILE if scheme in _FILE_SCHEMES else destination, _OUT)

    def _refuse(self, reason: Reason | None) -> None:
        self.refused[reason or Reason.BAD_ADDRESS] += 1


@lru_cache(maxsize=8)
def _get_resolver(origin: str) -> Resolver:
    return Resolver(origin)


LINK_LOCATIONS = tuple(PageLocation)[:15]
"""The parts of a page that may contain a link, in the order of the columns of `link_summary`."""
_LOCATION_BITS = sum(map(int, LINK_LOCATIONS))
_OUTSIDE_CONTENT = int(PageLocation.NAV | PageLocation.ASIDE)
_HEADER_OR_FOOTER = int(PageLocation.HEADER | PageLocation.FOOTER)
_CONTENT = int(PageLocation.MAIN | PageLocation.ARTICLE)
_HEADLINE, _LIST = int(PageLocation.HEADLINE), int(PageLocation.LIST)
_WEB_PREFIXES = ("http://", "https://")


_DESTINATION_OF_TAG = {
    "img": Destination.IMAGE,
    "audio": Destination.AUDIO,
    "video": Destination.VIDEO,
    "iframe": Destination.EMBEDDED,
    "embed": Destination.EMBEDDED,
    "object": Destination.EMBEDDED,
    "form": Destination.FORM,
    "button": Destination.FORM,
    "input": Destination.IMAGE,
}
_DESTINATION_OF_ATTRIBUTE = {
    "poster": Destination.IMAGE,
    "formaction": Destination.FORM,
    "longdesc": Destination.FILE,
}
_DESTINATION_NUMBERS: dict[str, int | None] = {
    tag: int(destination) for tag, destination in _DESTINATION_OF_TAG.items()
}
_FURTHER_DESTINATIONS = {attribute: int(destination) for attribute, destination in _DESTINATION_OF_ATTRIBUTE.items()}


FRAME_RELATION = "x-frame"
"""The relation of a link that stands in a page in place of a frame."""
REFRESH_TAG = "meta"
"""The name of the element whose link is a refresh."""


class Link(NamedTuple):
    """One link, with the data for a row of `link_summary`."""

    url: str
    """The target without its fragment."""
    fragment: str | None
    nofollow: bool
    me: bool
    tag: bool
    location: int
    """A bit for each of `LINK_LOCATIONS` that contains the link; the lowest bit is that of the first location."""
    contains_headline: bool
    destination: int | None
    """A `Destination`; None if neither the element nor the scheme shows it."""
    locality: int
    """A `Locality`."""
    html_tag: str
    """The name of the element, or empty if the document is not HTML."""
    text: str | None


def find_links(outline: Outline, head: PageHead, classifier: LinkClassifier) -> list[Link]:
    """Return the links of a page in page order, then its feeds, related pages, translations and icons.

    `classifier` is that of the page's address and base. Scripts and styles do not count as links. Addresses such as
    `javascript:` and `data:` are left out, and so are addresses that are not valid or too long, which the classifier
    counts.
    """
    page_links = []
    targets = classifier.find_targets([anchor.href for anchor in outline.anchors])
    for (tag, _, rel, text, location, contains_headline), target in zip(outline.anchors, targets, strict=True):
        if target is None:
            continue
        address, fragment, destination, locality = target
        relations = rel.lower().split() if rel else ()
        if rel in _FURTHER_DESTINATIONS:
            destination = _FURTHER_DESTINATIONS[rel]
        elif tag == "source":
            destination = _DESTINATION_NUMBERS.get(rel, destination)
        elif tag in _DESTINATION_NUMBERS:
            destination = _DESTINATION_NUMBERS[tag]
        page_links.append(
            Link(
                address,
                fragment,
                "nofollow" in relations,
                "me" in relations,
                "tag" in relations,
                location & _LOCATION_BITS,
                contains_headline,
                destination,
                locality,
                "frame" if rel == FRAME_RELATION else tag,
                text or None,
            )
        )
    page_links += _find_head_links(head, classifier)
    return page_links


def set_localities(page_links: list[Link], url: str, site: Scope) -> list[Link]:
    """Return the links of the page at `url`. If the page is on `site`, web links get localities relative to `site`."""
    page_url = normalise(url).url
    if not page_url or not site.contains(parts(page_url)):
        return page_links
    page = parts(page_url)
    return [
        link._replace(locality=int(find_locality(page, parts(link.url), site)))
        if link.url.startswith(_WEB_PREFIXES)
        else link
        for link in page_links
    ]


def remove_tags(page_links: list[Link]) -> list[Link]:
    """Return links without element names, as for a document that is not HTML."""
    return [link._replace(html_tag="") for link in page_links]


def _find_head_links(head: PageHead, classifier: LinkClassifier) -> Iterator[Link]:
    references = [(feed.href, Destination.FEED, feed.title, "") for feed in head.feeds]
    references += [(link.href, Destination.FILE, link.title, link.rel) for link in head.related]
    references += [(other.href, Destination.TRANSLATION, other.title, "") for other in head.translations]
    references += [(href, Destination.ICON, "", "") for href in head.icons]
    targets = classifier.find_targets([href for href, *_ in references])
    for (_, destination, title, rel), target in zip(references, targets, strict=True):
        if target is not None:
            relations = rel.split()
            yield Link(
                target.url, target.fragment, "nofollow" in relations, "me" in relations, "tag" in relations, 0, False,
                int(destination), target.locality, REFRESH_TAG if rel == "refresh" else "link", title or None,
            )  # fmt: skip


class LinkCounts(NamedTuple):
    """The numbers from which the indexiness of a page is computed.

    `has_date` tells whether the page has a date of publication. The numbers count its links to itself (`self_`) and to
    other pages of the site (`site_`), each in headlines and in lists, and its links out of the site.
    """

    has_date: bool
    self_in_headlines: int
    self_in_lists: int
    site_in_headlines: int
    site_in_lists: int
    out_of_site: int


def count_links(page_links: list[Link], *, has_date: bool) -> LinkCounts:
    """Count the content links of a page: `a` elements with a text, outside navigation, aside, header and footer.

    Links in a header or footer count if they are also in `main` or `article`. A link within the site or to the page
    itself counts if it is in a headline, contains one, or is in a list; a link in both counts as one in a headline.
    """
    counts = [0, 0, 0, 0, 0]  # in the order of `LinkCounts`
    for _, _, _, _, _, location, contains_headline, _, link_locality, tag, text in page_links:
        if location & _OUTSIDE_CONTENT or tag != "a" or not text:
            continue
        if location & _HEADER_OR_FOOTER and not location & _CONTENT:
            continue
        if link_locality == _OUT:
            counts[4] += 1
            continue
        offset = 0 if link_locality == _SELF else 2
        if contains_headline or location & _HEADLINE:
            counts[offset] += 1
        elif location & _LIST:
            counts[offset + 1] += 1
    return LinkCounts(has_date, *counts)


def compute_indexiness(counts: LinkCounts) -> int:
    """Return the indexiness of a page: above 0 for a list of links, below 0 for a page of content.

    >>> compute_indexiness(LinkCounts(True, 0, 0, 1, 2, 3))
    -9
    """
    return (
        2 * counts.site_in_headlines
        + counts.site_in_lists
        - 2 * counts.self_in_headlines
        - counts.self_in_lists
        - counts.out_of_site
        - (10 if counts.has_date else 0)
    )
