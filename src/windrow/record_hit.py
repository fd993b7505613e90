"""Records that a search finds, as results of every collection are put."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from windrow.adapter import Message, SearchResult, SnippetMark, snippet_marks
from windrow.query.snippet import marked, snippet
from windrow.stores.record_index import Entry


class RecordHit(NamedTuple):
    """A record found: `published` is when its source first said anything of it, `updated` when it last changed."""

    rank: int
    url: str
    title: str
    snippet: str
    marks: tuple[SnippetMark, ...]
    published: datetime
    updated: datetime
    score: float
    collection: str
    key: str
    value: Any


class RecordSearchEnd(NamedTuple):
    """The last line of a search: how it was understood, and whether there is more behind it."""

    query: str
    offset: int
    results: int
    further: bool
    relaxed: bool
    notes: tuple[str, ...]


def result_of(one: Entry, name: str, rank: int, find: re.Pattern[str] | None, *, explain: bool) -> SearchResult:
    """Put an entry of the collection of this name as every collection's results are put."""
    shown, title = snippet(one.text, find), marked(one.title, find)
    score = round(one.score, 4)
    published, updated = (datetime.fromtimestamp(at, UTC) for at in (one.published, one.updated))
    hit = RecordHit(
        rank, one.url, one.title, "".join(piece for piece, _ in shown), snippet_marks(shown), published, updated,
        score, name, one.key, json.loads(one.json),
    )  # fmt: skip
    remarks = (f"score {score:.3f}: how much its key, title, address and text speak of the words",)
    key = "" if one.key in {one.title, one.url} else one.key
    about = " ".join(filter(None, [name, key, f"updated {updated:%Y-%m-%d}"]))
    return SearchResult(
        title, one.url, about, shown, remarks if explain else (), Message("record_result", hit), updated
    )
