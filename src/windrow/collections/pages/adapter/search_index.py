"""Update the search index of pages from their Summary Database, and open it for searches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.fulltext_table import FillCounts, Pulse, Spelling, fill, never_stop
from windrow.collections.pages.database.search_view import (
    NO_LINKS,
    IncomingLinks,
    IndexedGeneration,
    SummaryReader,
    is_findable,
)
from windrow.collections.pages.search.ask import FIELDS, VERSION, entry, stamp
from windrow.query.word import counted, readable
from windrow.stores.index.fulltext_index import FullTextIndex, fill_index, open_for_search
from windrow.stores.index.manifest import IndexManifest, ManifestEntry, manifest_path

BATCH = 1_000
"""Pages read at once."""
COMMIT = 20
"""Batches committed together."""


def open_to_search(summary: SummaryReader, folder: Path, *, anew: bool = False) -> tuple[FullTextIndex, bool]:
    """Open the index of pages for searches; if it is missing or of another version, it is built first.

    Return it, and whether it was built in a temporary folder, so that the next search builds it again.
    """
    made_in: list[FullTextIndex] = []

    def fill(index: FullTextIndex) -> None:
        made_in.append(index)
        bring_up_to_date(index, summary, lambda: True)

    index = open_for_search(folder, FIELDS, VERSION, _has_no_manifest, fill, anew=anew)
    return index, index in made_in and index.is_scratch


def update_index(summary: SummaryReader, folder: Path, pulse: Callable[[], bool]) -> tuple[int, int]:
    """Update the index in a folder; return the numbers of pages added and removed."""
    return fill_index(folder, FIELDS, VERSION, lambda index: bring_up_to_date(index, summary, pulse), pulse)


def bring_up_to_date(index: FullTextIndex, summary: SummaryReader, pulse: Callable[[], bool]) -> tuple[int, int]:
    """Add new pages to an index and remove those that are gone; return the numbers of pages added and removed."""
    if _has_no_manifest(index):
        index.empty()
    with IndexManifest(manifest_path(index.folder)) as manifest:
        return _Renewal(summary, index, manifest, pulse).run()


def _has_no_manifest(index: FullTextIndex) -> bool:
    return not manifest_path(index.folder).exists()


def links_of(entry: ManifestEntry) -> IncomingLinks:
    """Decode the links of a page in the manifest."""
    if entry.anchors == "[]":
        return NO_LINKS
    return IncomingLinks(entry.links, tuple((text, count) for text, count in json.loads(entry.anchors)))


def behind(file: Path, folder: Path) -> Iterator[str]:
    """Return a line for each difference between the index and the Summary Database.

    Nothing is changed. Raises StoreError if one of the two cannot be read.
    """
    with closing(SummaryReader(file)) as summary, closing(FullTextIndex.open_scratch(folder, FIELDS, VERSION)) as index:
        if index.fresh or _has_no_manifest(index):
            if next(summary.states(), None) is not None:
                yield "the search index is not there, or of another version"
            return
        with IndexManifest(manifest_path(index.folder)) as manifest:
            indexed = sum(1 for _ in manifest.stamps())
            removed = changed = 0
            for _, is_there in _differences(summary, manifest):
                changed += is_there
                removed += not is_there
        if changed:
            yield f"the search index is behind: {changed:,} pages are not in it as they are"
        if removed:
            yield f"the search index is behind: {removed:,} pages are in it that are not there"
        if len(index) != indexed:
            yield f"the search index has {len(index):,} pages, and should have {indexed:,}"


def _differences(summary: SummaryReader, manifest: IndexManifest) -> Iterator[tuple[int, bool]]:
    """Yield the id of each page that differs from the manifest, and whether the page still exists."""
    stamps = manifest.stamps()
    head = next(stamps, None)
    for page in summary.states():
        while head is not None and head[0] < page.id:
            yield head[0], False
            head = next(stamps, None)
        if head is None or head[0] != page.id or head[1] != stamp(page):
            yield page.id, True
        if head is not None and head[0] == page.id:
            head = next(stamps, None)
    while head is not None:
        yield head[0], False
        head = next(stamps, None)


def _compare(summary: SummaryReader, manifest: IndexManifest) -> list[int]:
    """Record in the manifest which pages have another stamp, and return the ids of pages that no longer exist."""
    removed: list[int] = []
    changed: list[int] = []
    for number, is_there in _differences(summary, manifest):
        (changed if is_there else removed).append(number)
        if len(changed) == BATCH:
            _note(summary, manifest, changed)
            changed = []
    _note(summary, manifest, changed)
    return removed


def _note(summary: SummaryReader, manifest: IndexManifest, changed: list[int]) -> None:
    manifest.mark_due(changed)
    manifest.mark_due(summary.targets(changed))


class _Renewal(NamedTuple):
    """One pass over changed pages and their link targets, whose link texts may have changed."""

    summary: SummaryReader
    beside: FullTextIndex
    manifest: IndexManifest
    pulse: Callable[[], bool]

    def run(self) -> tuple[int, int]:
        """Return the numbers of pages added and removed."""
        removed = _compare(self.summary, self.manifest)
        if removed:
            self.beside.write((), removed)
            self.manifest.write((), removed)
        added = 0
        while self.pulse() and (due_ids := self.manifest.due(BATCH * COMMIT)):
            rows: list[ManifestEntry] = []
            entries = (entry(page, called) for page, called in self._changed(due_ids, rows))
            added += self.beside.write(entries)
            self.manifest.write(rows)
            self.manifest.clear_due(due_ids)
        return added, len(removed)

    def _changed(
        self, due_ids: list[int], rows: list[ManifestEntry]
    ) -> Iterator[tuple[IndexedGeneration, IncomingLinks]]:
        """Yield the documents that must be written again, and note them in `rows`."""
        for start in range(0, len(due_ids), BATCH):
            chunk = due_ids[start : start + BATCH]
            old_entries = self.manifest.read_entries(chunk)
            pages = [page for page in self.summary.generations(chunk) if is_findable(page)]
            links = self.summary.links({page.url_id for page in pages})
            for page in pages:
                called, own_stamp = links[page.url_id], stamp(page)
                full_stamp = stamp(page, called)
                if page.id in old_entries and old_entries[page.id][1:3] == (own_stamp, full_stamp):
                    continue
                rows.append(ManifestEntry(page.id, own_stamp, full_stamp, called.page_count, json.dumps(called.texts)))
                yield page, called
            self.pulse()


SPELLING = Spelling(readable, VERSION)
"""How texts are written into the full-text table."""


class Indexed(NamedTuple):
    """Counts of the index phase: rows of the full-text table, then pages added to the index and removed."""

    filled: FillCounts
    put: int
    removed: int


def index_pages(summary: Path, folder: Path, pulse: Pulse = never_stop) -> Indexed:
    """Update full text and index from a Summary Database; a repeated call changes nothing.

    `folder` may be removed at any time and is then built again; one with other contents is refused. `pulse` is called
    between batches; if it returns False, the work ends, and the next call continues it, as after a crash.
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
