"""A generation of a page, with all that an index or a result tells of it."""

from __future__ import annotations

from typing import NamedTuple

PAGE_TEXTS = "windrow_page_text"
"""The table of what one page can be found by beside its text: `windrow.stores.index.page_text`."""


class IndexedGeneration(NamedTuple):
    """Times are UNIX seconds; `kind` is `type/subtype`; texts are empty where there are none."""

    id: int
    uuid: bytes
    url_id: int
    url: str
    host: str
    first: int
    last: int
    end: int | None
    duplicate: bool
    pile: int | None
    kind: str | None
    suffix: str | None
    canonical: int | None
    language: str | None
    title: str | None
    headline: str | None
    description: str | None
    created: int | None
    updated: int | None
    indexiness: int
    text: str
    secondary: str
    big: str
    small: str
    code: str
    quote: str


class IncomingLinks(NamedTuple):
    """Links to a URL: from how many pages, and what they call it, most frequent first."""

    pages: int
    texts: tuple[tuple[str, int], ...]


class PageText(NamedTuple):
    """What one page can be found by besides its text pile: a row of `windrow_page_text`, before it is folded."""

    id: int
    title: str
    description: str
    headline: str
    address: str
    called: tuple[str, ...]


NO_LINKS = IncomingLinks(0, ())
