"""The index phase: update the full-text tables of the Summary Database, then the search index."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.adapter.search_index import update_index
from windrow.collections.pages.database.fulltext_table import FillCounts, Pulse, Spelling, fill, go_on
from windrow.collections.pages.database.search_view import SummaryReader
from windrow.collections.pages.search.ask import VERSION
from windrow.query.word import counted, readable

SPELLING = Spelling(readable, VERSION)
"""How texts are written into the full-text table."""


class Indexed(NamedTuple):
    """Counts of the index phase: rows of the full-text table, then pages added to the index and removed."""

    filled: FillCounts
    put: int
    removed: int


def index_pages(summary: Path, folder: Path, pulse: Pulse = go_on) -> Indexed:
    """Update full text and index from a Summary Database; a repeated call changes nothing.

    `folder` may be removed at any time, and is made anew; one that holds something else is refused. `pulse` is called
    between batches, and ends the work where it says False; the next call goes on there, as it does after a crash.
    """
    filled = fill(summary, counted, pulse, SPELLING)
    if not pulse():
        return Indexed(filled, 0, 0)
    with closing(SummaryReader(summary)) as reader:
        return Indexed(filled, *update_index(reader, folder, pulse))


def follower(place: Path, folder: Path) -> Callable[[Pulse], str]:
    """Return the index phase of a session: it indexes the Summary Database in a file, and reports the counts."""

    def follow(pulse: Pulse) -> str:
        if not place.is_file():
            return ""
        done = index_pages(place, folder, pulse)
        texts = done.filled
        message = f"texts: {texts.added} added, {texts.changed} changed, {texts.removed} removed"
        return f"{message}; pages: {done.put} put into the index, {done.removed} removed"

    return follow
