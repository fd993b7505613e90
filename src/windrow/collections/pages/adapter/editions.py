"""The versions of a page, each with what changed in it, and who else says what the latest one says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from windrow.collections.pages.adapter.lookup import when
from windrow.collections.pages.adapter.open_summary import there
from windrow.collections.pages.database.page_versions import Near, PageVersion, Versions
from windrow.collections.pages.difference import SIZE, State, difference
from windrow.config import Workspace

_COMPARED = 100
"""Versions, the latest ones, that are compared with the one before."""
_ALIKE = 5
"""Addresses with the same text that are named."""


class Edition(NamedTuple):
    """A version of a page; `changed` says in a line what is other than in the one before.

    `end` is the time at which it was known to be gone or changed, null for one that is there. `duplicate_of`
    is the address it is marked as a duplicate of, `copies` how many other addresses have the same text now.
    `indexed` says whether its text can be searched for, `words` how many words are counted in it; `reason` is
    why it has no text, where it was kept from having one.
    """

    generation: str
    first_seen: datetime
    last_seen: datetime
    end: datetime | None
    title: str
    kind: str
    language: str
    size: int | None
    redirect: str
    canonical: str
    duplicate_of: str
    copies: int
    crawls: int
    links: int
    indexed: bool
    words: int
    changed: str = ""
    reason: str = ""


class Others(NamedTuple):
    """Addresses with the same text now, those with nearly the same, and who stands for all."""

    alike: tuple[str, ...] = ()
    near: tuple[Near, ...] = ()
    stands: str = ""


def editions(workspace: Workspace, url: str) -> tuple[list[Edition], Others]:
    """Return the versions of an address, and who else says what the latest one says."""
    others = Others()
    with there(workspace) as engine:
        if engine is None:
            return [], others
        reader = Versions(engine)
        found = reader.of(url)
        latest = found[-1] if found else None
        if latest is not None and latest.pile is not None and latest.end is None:
            near, stands = reader.near(latest.id, _ALIKE)
            others = Others(tuple(reader.alike(latest.pile, url, _ALIKE)), tuple(near), stands)
        changes, reasons = _changes(reader, found), reader.reasons(url)
    return [_edition(one, changes.get(one.id, ""), reasons.get(one.generation, "")) for one in found], others


def _changes(reader: Versions, found: Sequence[PageVersion]) -> dict[int, str]:
    """Compare each version with the one before."""
    some = found[-_COMPARED:]
    states = [contents(reader, one) for one in some]
    told = dict[int, str]()
    for (earlier, before), (one, state) in pairwise(zip(some, states, strict=True)):
        found_other = difference(before, state)
        told[one.id] = str(found_other)
        if earlier.end is not None and earlier.end < one.first:
            told[one.id] = "there again" + ("" if found_other.nothing else f", with another content: {found_other}")
    return told


def contents(reader: Versions, one: PageVersion) -> State:
    """Return what a version says, as it is compared."""
    text, rest = reader.texts([one.pile]).get(one.pile, ("", "")) if one.pile is not None else ("", "")
    said = {
        "title": one.title, "headline": one.headline, "description": one.description, "language": one.language,
        "kind": one.kind, "redirect": one.redirect, "canonical": one.canonical,
        SIZE: None if one.pile is not None or one.size is None else f"{one.size:,} bytes",
    }  # fmt: skip
    return State(tuple((name, value or "") for name, value in said.items()), text, rest)


def _edition(one: PageVersion, changed: str, reason: str) -> Edition:
    return Edition(
        str(UUID(bytes=one.uuid)),
        datetime.fromtimestamp(one.first, UTC),
        datetime.fromtimestamp(one.last, UTC),
        when(one.end),
        one.title or one.headline or "",
        one.kind or "",
        one.language or "",
        one.size,
        one.redirect or "",
        one.canonical or "",
        one.original or "",
        one.copies,
        one.crawls,
        one.links,
        one.indexed,
        one.words,
        changed,
        reason if one.pile is None else "",
    )
