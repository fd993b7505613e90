"""Documents that are not written in HTML: what all of them have in common."""

from __future__ import annotations

from windrow.collections.pages.reading.description import Description
from windrow.collections.pages.reading.document import PageDocument
from windrow.collections.pages.reading.link import Link, count, indexiness
from windrow.collections.pages.reading.pile import Pile
from windrow.collections.pages.reading.target import LinkClassifier
from windrow.model import Finding

NOTHING = Description(None, None, None, None, None, None, 0)
_LEAST, _MOST = 80, 1_000  # characters of a paragraph that describes the whole


def blank(*findings: Finding) -> PageDocument:
    """Return a document without text."""
    return PageDocument(Pile(), NOTHING, [], None, frozenset(), "", findings=findings)


def paragraph(lines: list[str]) -> str | None:
    """Return the first paragraph that is long enough to describe the whole, cut where it is very long."""
    return next((line[:_MOST] for line in lines if len(line) >= _LEAST), None)


def index(links: list[Link], *, dated: bool = False) -> int:
    """Say how much a document is an index of others."""
    return indexiness(count(links, publishing_date=dated))


def link(url: str, reference: str, text: str) -> Link | None:
    """Return a link of a document at `url` that is not written in HTML; None where the reference means no address."""
    target = LinkClassifier(url).target(reference)
    if target is None:
        return None
    return Link(
        target.url, target.fragment, False, False, False, 0, False, target.destination, target.locality, "",
        text or None,
    )  # fmt: skip
