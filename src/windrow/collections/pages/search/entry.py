"""What of a page goes into the index beside the database, and how often.

A word of the title counts as four in the text, and so on: the index scores one field, in which important
texts come again. That is BM25 over weighted fields (Robertson, Zaragoza and Taylor, 2004), not a sum of
scores field by field, in which a word that stands in many fields would count too much.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain
from urllib.parse import unquote

from windrow.collections.pages.search.word import spaced
from windrow.stores.index.clause import Entry, Field
from windrow.stores.index.generation import Generation, Links

VERSION = "3"
"""Of what is put in; another one makes the index anew."""

FIELDS = (
    Field("main", "words"),  # pages as they are now, duplicates apart: most searches need no filter then
    Field("rest", "words"),
    Field("past", "words"),  # the same of all others
    Field("past_rest", "words"),
    Field("title", "words"),
    Field("headline", "words"),
    Field("code", "words"),
    Field("quote", "words"),
    Field("address", "words"),
    Field("site", "mark"),
    Field("host", "mark"),
    Field("url", "mark"),
    Field("lang", "mark"),
    Field("type", "mark"),
    Field("flag", "mark"),
    Field("published", "number"),
    Field("updated", "number"),
    Field("first", "number"),
    Field("end", "number"),
)
OPEN = 2**62
"""The end of a generation that has none."""

TITLE, HEADLINE, CALLED, BIG, SMALL, DESCRIPTION, ADDRESS = 4, 3, 3, 3, 1, 1, 1
"""How often each text comes in `main`, besides where it stands in the text itself."""
_LONGEST_URL = 2_000


def entry(page: Generation, links: Links) -> Entry:
    """Return a generation as the index takes it."""
    address = spaced(address_text(page.url))
    title, headline, text = (spaced(one or "") for one in (page.title, page.headline, page.text))
    main = [(text, 1), (title, TITLE), (headline, HEADLINE), (spaced(page.description or ""), DESCRIPTION)]
    main += [(spaced(page.big), BIG), (spaced(page.small), SMALL), (address, ADDRESS)]
    main += [(spaced(called), CALLED) for called, _ in links.texts]
    now = page.end is None and not page.duplicate
    texts = [("main" if now else "past", one) for one, times in main if one for _ in range(times)]
    headlines = f"{headline}\n{spaced(page.big)}\n{spaced(page.small)}"
    own = (
        ("rest" if now else "past_rest", spaced(page.secondary)),
        ("title", title),
        ("headline", headlines),
        ("address", address),
    )
    more = (("code", page.code), ("quote", page.quote))
    texts += [(name, one) for name, one in own if one.strip()]
    texts += [(name, spaced(one)) for name, one in more if one]
    return Entry(page.id, tuple(chain(texts, _marks(page))), _numbers(page))


def stamp(page: Generation, links: Links | None = None) -> int:
    """Return a number that changes with what `entry` would make of a generation; its texts are told by their pile.

    When it was seen last does not count: that changes with every visit, and is no part of the index.
    """
    said = (*page[2:6], *page[7:20], links)
    return int.from_bytes(blake2b(repr(said).encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def address_text(url: str) -> str:
    """Return a URL with its words apart: host without `www`, path and query, without percent signs.

    >>> address_text("https://www.example.org/my%20page/a-b.html?q=1")
    'example.org/my page/a-b.html q=1'
    """
    host, slash, path = url[:_LONGEST_URL].partition("://")[2].partition("/")
    name = host.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    text = f"{name}{slash}{path.partition('#')[0].replace('?', ' ', 1)}"
    return unquote(text) if "%" in text else text


def _marks(page: Generation) -> list[tuple[str, str]]:
    labels = page.host.split(".")
    found = [("host", page.host), ("url", page.url[:_LONGEST_URL].partition("://")[2])]
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


def _numbers(page: Generation) -> tuple[tuple[str, int], ...]:
    published = page.first if page.created is None else page.created
    updated = published if page.updated is None else page.updated
    end = OPEN if page.end is None else page.end
    return (("published", published), ("updated", updated), ("first", page.first), ("end", end))
