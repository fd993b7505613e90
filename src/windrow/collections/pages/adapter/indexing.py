"""Make pages findable: the tables of the Summary Database first, then the index beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from windrow.collections.pages.adapter.search import is_current, open_index, roll_path
from windrow.collections.pages.database.fulltext_table import Filled, PageTexts, Pulse, Spelling, fill, go_on, page_ids
from windrow.collections.pages.database.search_view import (
    IncomingLinks,
    IndexedGeneration,
    PageText,
    SummaryReader,
    findable,
)
from windrow.collections.pages.search.ask import VERSION, entry, page_text, stamp
from windrow.query.word import counted, readable
from windrow.stores.databases import connect, file_of
from windrow.stores.index.folder import begin_roll
from windrow.stores.index.fulltext_index import FullTextIndex, IndexManifest, ManifestEntry, there

BATCH = 1_000
"""Pages that are read at once."""
COMMIT = 20
"""Batches that are committed together; the next ones are begun when work goes on."""
SPELLING = Spelling(readable, VERSION)
"""How texts are written into the full-text table."""


EXTRA = "searches are faster and better ranked with the extra: pip install 'windrow[search]'"
"""Said once in a workspace: when pages are made findable for the first time."""


class Indexed(NamedTuple):
    """What the index phase did: rows of the full-text table, then pages put in (also into the index) and removed."""

    filled: Filled
    put: int
    removed: int


def index_pages(engine: sa.Engine, folder: Path, pulse: Pulse = go_on) -> Indexed:
    """Bring full text and index up to date with a Summary Database; doing it again changes nothing.

    `folder` may be removed at any time, and is made anew; one that holds something else is refused. Without the
    extra `search` it has only the list of what was done, and searches use the tables of the database, which find the
    same pages. `pulse` is called between batches, and ends the work where it says False; the next call goes on
    there, as it does after a crash.
    """
    filled = fill(engine, counted, pulse, SPELLING)
    if not pulse():
        return Indexed(filled, 0, 0)
    beside = open_index(folder) if there() else None
    if beside is None:
        begin_roll(folder)
    page_texts = PageTexts(engine, VERSION)
    with IndexManifest(roll_path(folder)) as roll, closing(SummaryReader(file_of(engine))) as summary:
        there_now, noted = page_ids(engine), {number for number, _ in roll.stamps()}
        page_texts.remove(sorted(there_now - noted))
        roll.distrust(sorted(noted - there_now))
        return Indexed(filled, *_Renewal(summary, beside, page_texts, roll, pulse).run())


def follower(place: Path, folder: Path) -> Callable[[Pulse], str]:
    """Return the index phase of a session: it indexes the Summary Database in a file, and says what it did."""

    def follow(pulse: Pulse) -> str:
        if not place.is_file():
            return ""
        told_of = roll_path(folder).exists()
        engine = connect(f"sqlite:///{place}", durable=False)
        try:
            done = index_pages(engine, folder, pulse)
        finally:
            engine.dispose()
        texts = done.filled
        extra = "" if told_of or there() else f"; {EXTRA}"
        told = f"texts: {texts.added} added, {texts.changed} changed, {texts.removed} removed"
        return f"{told}; pages: {done.put} put into the index, {done.removed} removed{extra}"

    return follow


def behind(engine: sa.Engine, folder: Path) -> Iterator[str]:
    """Say what of the index is not as the Summary Database wants it, a line each; an empty list is good.

    Nothing is changed, and no index is made. Raises StoreError where one of the two cannot be read.
    """
    with closing(SummaryReader(file_of(engine))) as summary:
        yield from _behind(engine, folder, summary)


def _behind(engine: sa.Engine, folder: Path, summary: SummaryReader) -> Iterator[str]:
    if there() and not is_current(folder):
        if next(summary.states(), None) is not None:
            yield "the search index is not there, or of another version"
        return
    if not roll_path(folder).exists():
        if next(summary.states(), None) is not None:
            yield "no page was made findable by its title, its address and what others call it"
        return
    with IndexManifest(roll_path(folder)) as roll:
        noted = {number for number, _ in roll.stamps()}
        gone = changed = 0
        for _, is_there in _differences(summary, roll):
            changed += is_there
            gone += not is_there
    if changed:
        yield f"the search index is behind: {changed:,} pages are not in it as they are"
    if gone:
        yield f"the search index is behind: {gone:,} pages are in it that are not there"
    if there() and (count := len(open_index(folder))) != len(noted):
        yield f"the search index has {count:,} pages, and should have {len(noted):,}"
    if noted != (kept := page_ids(engine)):
        yield f"windrow_page_text differs from the search index in {len(noted ^ kept):,} pages"


def _differences(summary: SummaryReader, roll: IndexManifest) -> Iterator[tuple[int, bool]]:
    """Yield the id of what has another stamp in the roll, or none, and of what is not there any more (False)."""
    rolled = roll.stamps()
    head = next(rolled, None)
    for page in summary.states():
        while head is not None and head[0] < page.id:
            yield head[0], False
            head = next(rolled, None)
        if head is None or head[0] != page.id or head[1] != stamp(page):
            yield page.id, True
        if head is not None and head[0] == page.id:
            head = next(rolled, None)
    while head is not None:
        yield head[0], False
        head = next(rolled, None)


def _compare(summary: SummaryReader, roll: IndexManifest) -> list[int]:
    """Note in the roll what has another stamp than there, and return what is not there any more."""
    gone: list[int] = []
    changed: list[int] = []
    for number, is_there in _differences(summary, roll):
        (changed if is_there else gone).append(number)
        if len(changed) == BATCH:
            _note(summary, roll, changed)
            changed = []
    _note(summary, roll, changed)
    return gone


def _note(summary: SummaryReader, roll: IndexManifest, changed: list[int]) -> None:
    roll.need(changed)
    roll.need(summary.targets(changed))


class _Renewal(NamedTuple):
    """One pass over what changed, and over what those pages link to: they may call it by another name now."""

    summary: SummaryReader
    beside: FullTextIndex | None
    page_texts: PageTexts
    roll: IndexManifest
    pulse: Pulse

    def run(self) -> tuple[int, int]:
        """Return how many pages were put in, and how many removed."""
        gone = _compare(self.summary, self.roll)
        if gone:
            if self.beside is not None:
                self.beside.write((), gone)
            self.page_texts.remove(gone)
            self.roll.write((), gone)
        put = 0
        while self.pulse() and (due := self.roll.due(BATCH * COMMIT)):
            rows: list[ManifestEntry] = []
            entries = (entry(page, called) for page, called in self._changed(due, rows))
            put += self.beside.write(entries) if self.beside is not None else sum(1 for _ in entries)
            self.roll.write(rows)
            self.roll.done(due)
        return put, len(gone)

    def _changed(self, due: list[int], rows: list[ManifestEntry]) -> Iterator[tuple[IndexedGeneration, IncomingLinks]]:
        """Yield what must be written again, once its own row is written, and note it in `rows`."""
        for start in range(0, len(due), BATCH):
            some = due[start : start + BATCH]
            before = self.roll.named(some)
            texts = self.beside is not None
            pages = [page for page in self.summary.generations(some, texts=texts) if findable(page)]
            links = self.summary.links({page.url_id for page in pages})
            changed = []
            for page in pages:
                called, own = links[page.url_id], stamp(page)
                whole = stamp(page, called)
                if page.id in before and before[page.id][1:3] == (own, whole):
                    continue
                rows.append(ManifestEntry(page.id, own, whole, called.pages, json.dumps(called.texts)))
                changed.append((page, called))
            self.page_texts.put(_row(page_text(page, called)) for page, called in changed)
            yield from changed
            self.pulse()


_APART = " \ue000 "
"""Stands between the names that others give a page, so that no phrase reaches from one to the next; nobody can ask
for it, as no letter is so numbered."""


def _row(page: PageText) -> tuple[int, str, str, str, str, str]:
    called = _APART.join(readable(text) for text in page.called)
    named = readable(page.title), readable(page.description), readable(page.headline), readable(page.address)
    return (page.id, *named, called)
