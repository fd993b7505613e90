"""What of a page goes into the index beside the database, and how often.

A word of the title counts as four in the text, and so on: the index scores one field, in which important
texts come again. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004), not a sum of
scores field by field, in which a word that stands in many fields would count too much.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain

from windrow.collections.pages.database.search_view import IncomingLinks, IndexedGeneration, PageText
from windrow.query.word import address_text, indexed
from windrow.stores.index.clause import IndexDocument, IndexField

VERSION = "4"
"""Of what is put in; another one makes the index anew."""

FIELDS = (
    IndexField("main", "words"),  # pages as they are now, duplicates apart: most searches need no filter then
    IndexField("rest", "words"),
    IndexField("past", "words"),  # the same of all others
    IndexField("past_rest", "words"),
    IndexField("title", "words"),
    IndexField("headline", "words"),
    IndexField("code", "words"),
    IndexField("quote", "words"),
    IndexField("address", "words"),
    IndexField("site", "mark"),
    IndexField("host", "mark"),
    IndexField("port", "mark"),
    IndexField("url", "mark"),
    IndexField("lang", "mark"),
    IndexField("type", "mark"),
    IndexField("flag", "mark"),
    IndexField("published", "number"),
    IndexField("updated", "number"),
    IndexField("first", "number"),
    IndexField("end", "number"),
)
OPEN = 2**62
"""The end of a generation that has none."""

TITLE, HEADLINE, CALLED, BIG, SMALL, DESCRIPTION, ADDRESS = 4, 3, 3, 3, 1, 1, 1
"""How often each text comes in `main`, besides where it stands in the text itself."""
_ASKED_URL = 2_100  # characters; no query is so long, and a part of an address must not be taken for another one
_PORTS = {"http": "80", "https": "443"}


def entry(page: IndexedGeneration, links: IncomingLinks) -> IndexDocument:
    """Return a generation as the index takes it."""
    own = page_text(page, links)
    address, title, headline = indexed(own.address), indexed(own.title), indexed(own.headline)
    text, big, small = indexed(page.text), indexed(page.big), indexed(page.small)
    main = [(text, 1), (title, TITLE), (headline, HEADLINE), (indexed(own.description), DESCRIPTION)]
    main += [(big, BIG), (small, SMALL), (address, ADDRESS)]
    main += [(indexed(called), CALLED) for called in own.called]
    now = page.end is None and not page.duplicate
    texts = [("main" if now else "past", one) for one, times in main if one for _ in range(times)]
    more = [("rest" if now else "past_rest", indexed(page.secondary)), ("title", title), ("address", address)]
    more += [("headline", one) for one in (headline, big, small)]
    more += [("code", indexed(page.code)), ("quote", indexed(page.quote))]
    texts += [(name, one) for name, one in more if one.strip()]
    return IndexDocument(page.id, tuple(chain(texts, _marks(page))), _numbers(page))


def page_text(page: IndexedGeneration, links: IncomingLinks) -> PageText:
    """Return what can be found of a page besides the text that it may share with others."""
    called = tuple(text for text, _ in links.texts)
    return PageText(
        page.id, page.title or "", page.description or "", page.headline or "", address_text(page.url), called
    )


def stamp(page: IndexedGeneration, links: IncomingLinks | None = None) -> int:
    """Return a number that changes with what `entry` would make of a generation; its texts are told by their pile.

    When it was seen last does not count: that changes with every visit, and is no part of the index.
    """
    said = (*page[2:6], *page[7:20], links)
    return int.from_bytes(blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def _marks(page: IndexedGeneration) -> list[tuple[str, str]]:
    labels = page.host.split(".")
    scheme, _, rest = page.url.partition("://")
    port = rest.partition("/")[0].rpartition("]")[2].rpartition("@")[2].partition(":")[2] or _PORTS.get(scheme, "")
    found = [("host", page.host), ("port", port)] + [("url", rest)] * (len(page.url) <= _ASKED_URL)
    found += [("site", ".".join(labels[start:])) for start in range(len(labels))]
    tags = (page.language or "").lower().split("-")
    found += [("lang", "-".join(tags[: end + 1])) for end in range(len(tags)) if tags[0]]
    if page.kind:
        name, _, subtype = page.kind.partition("/")
        kinds = {page.kind, name, subtype, f"{name}/*"}
        if page.suffix:
            kinds |= {page.suffix, f"{page.kind}+{page.suffix}"}
        found += [("type", kind) for kind in sorted(kinds)]
    flags = {"duplicate": page.duplicate, "open": page.end is None}
    flags |= {"now": page.end is None and not page.duplicate, "index": page.indexiness > 0, "leaf": page.indexiness < 0}
    return found + [("flag", name) for name, holds in flags.items() if holds]


def _numbers(page: IndexedGeneration) -> tuple[tuple[str, int], ...]:
    published = page.first if page.created is None else page.created
    updated = published if page.updated is None else page.updated
    end = OPEN if page.end is None else page.end
    return (("published", published), ("updated", updated), ("first", page.first), ("end", end))
