"""Update the search index of pages from their Summary Database, and open it for searches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.fulltext_table import FillCounts, Pulse, fill, never_stop
from windrow.collections.pages.database.search_view import NO_LINKS, IncomingLinks, IndexedGeneration, SummaryReader
from windrow.collections.pages.search.index_query import FIELDS, VERSION, compute_stamp, make_document
from windrow.query.word import count_words
from windrow.stores.index.fulltext_index import FullTextIndex, fill_index, open_for_search
from windrow.stores.index.manifest import IndexManifest, ManifestEntry, manifest_path

PAGES_PER_BATCH = 1_000
"""The maximum number of versions of pages that are read at once."""
BATCHES_PER_COMMIT = 20
"""The maximum number of batches of versions that are committed together."""

_NO_STAMP = (1 << 63, 0)  # a (page id, stamp) that is greater than those of all pages


def open_to_search(summary: SummaryReader, folder: Path, *, anew: bool = False) -> tuple[FullTextIndex, bool]:
    """Open the index of pages for searches.

    Build the index first if the index or its manifest is missing or of another version, or if `anew` is true. Return
    the index, and whether it was built in a temporary folder. If it was, the next search must build it again.
    """
    built: list[FullTextIndex] = []

    def build(index: FullTextIndex) -> None:
        built.append(index)
        bring_up_to_date(index, summary, lambda: True)

    index = open_for_search(folder, FIELDS, VERSION, _has_no_manifest, build, anew=anew)
    return index, index in built and index.is_scratch


def bring_up_to_date(index: FullTextIndex, summary: SummaryReader, pulse: Callable[[], bool]) -> tuple[int, int]:
    """Write new and changed pages to an index, and remove pages that no longer exist. Return the number of each.

    An index without a manifest is emptied first. `pulse` is called between batches; if it returns False, the work
    stops.
    """
    if _has_no_manifest(index):
        index.empty()
    with IndexManifest(manifest_path(index.folder)) as manifest:
        return _IndexUpdate(summary, index, manifest, pulse).run()


def _has_no_manifest(index: FullTextIndex) -> bool:
    return not manifest_path(index.folder).exists()


def decode_links(entry: ManifestEntry) -> IncomingLinks:
    """Return how many pages link to a page, and the texts of these links, from its entry in the manifest."""
    if entry.anchors == "[]":
        return NO_LINKS
    return IncomingLinks(entry.links, tuple((text, count) for text, count in json.loads(entry.anchors)))


def find_index_faults(summary_path: Path, folder: Path) -> Iterator[str]:
    """Yield a message for each kind of difference between the Summary Database and the index in a folder.

    Neither is changed. Raises StoreError if the database or the manifest cannot be read; an index that cannot be opened
    counts as missing.
    """
    with (
        closing(SummaryReader(summary_path)) as summary,
        closing(FullTextIndex.open_scratch(folder, FIELDS, VERSION)) as index,
    ):
        if index.fresh or _has_no_manifest(index):
            if next(summary.read_findable(), None) is not None:
                yield "the search index does not exist, or is of another version"
            return
        with IndexManifest(manifest_path(index.folder)) as manifest:
            expected_count = sum(1 for _ in manifest.stamps())
            removed_count = changed_count = 0
            for _, exists in _find_differences(summary, manifest):
                changed_count += exists
                removed_count += not exists
        if changed_count:
            yield f"the search index is out of date: {changed_count:,} pages are missing or have changed"
        if removed_count:
            yield f"the search index is out of date: it contains {removed_count:,} pages that no longer exist"
        if len(index) != expected_count:
            yield f"the search index contains {len(index):,} pages instead of {expected_count:,}"


def _find_differences(summary: SummaryReader, manifest: IndexManifest) -> Iterator[tuple[int, bool]]:
    """Yield the id of each version that is new, has changed or is only in the manifest, and whether it still exists."""
    stamps = manifest.stamps()
    indexed_id, indexed_stamp = next(stamps, _NO_STAMP)
    for page in summary.read_findable():
        while indexed_id < page.id:
            yield indexed_id, False
            indexed_id, indexed_stamp = next(stamps, _NO_STAMP)
        if indexed_id != page.id or indexed_stamp != compute_stamp(page):
            yield page.id, True
        if indexed_id == page.id:
            indexed_id, indexed_stamp = next(stamps, _NO_STAMP)
    while indexed_id < _NO_STAMP[0]:
        yield indexed_id, False
        indexed_id, indexed_stamp = next(stamps, _NO_STAMP)


def _mark_differences(summary: SummaryReader, manifest: IndexManifest) -> list[int]:
    """Mark new and changed pages, and the pages that they link to, as due; return the ids of removed pages."""
    removed_ids: list[int] = []
    changed_ids: list[int] = []
    for page_id, exists in _find_differences(summary, manifest):
        (changed_ids if exists else removed_ids).append(page_id)
        if len(changed_ids) == PAGES_PER_BATCH:
            _mark_changed(summary, manifest, changed_ids)
            changed_ids = []
    _mark_changed(summary, manifest, changed_ids)
    return removed_ids


def _mark_changed(summary: SummaryReader, manifest: IndexManifest, changed_ids: list[int]) -> None:
    """Mark changed pages as due, and the pages that they link to, because the texts of these links may have changed."""
    manifest.mark_due(changed_ids)
    manifest.mark_due(summary.find_linked_generations(changed_ids))


class _IndexUpdate(NamedTuple):
    summary: SummaryReader
    full_text: FullTextIndex
    manifest: IndexManifest
    pulse: Callable[[], bool]

    def run(self) -> tuple[int, int]:
        """Update the index and the manifest; return the numbers of written and removed pages."""
        removed_ids = _mark_differences(self.summary, self.manifest)
        if removed_ids:
            self.full_text.write((), removed_ids)
            self.manifest.write((), removed_ids)
        written_count = 0
        while self.pulse() and (due_ids := self.manifest.due(PAGES_PER_BATCH * BATCHES_PER_COMMIT)):
            new_entries: list[ManifestEntry] = []
            documents = (make_document(page, links) for page, links in self._find_changed(due_ids, new_entries))
            written_count += self.full_text.write(documents)
            self.manifest.write(new_entries)
            self.manifest.clear_due(due_ids)
        return written_count, len(removed_ids)

    def _find_changed(
        self, due_ids: list[int], new_entries: list[ManifestEntry]
    ) -> Iterator[tuple[IndexedGeneration, IncomingLinks]]:
        """Yield the due pages whose stamps have changed, with the links to them; append entries to `new_entries`."""
        for start in range(0, len(due_ids), PAGES_PER_BATCH):
            chunk = due_ids[start : start + PAGES_PER_BATCH]
            old_entries = self.manifest.read_entries(chunk)
            versions = self.summary.read_versions(chunk)
            pages = [page for page in versions if page.pile_id is not None or page.title is not None]
            links_of_urls = self.summary.read_links({page.url_id for page in pages})
            for page in pages:
                links, own_stamp = links_of_urls[page.url_id], compute_stamp(page)
                full_stamp = compute_stamp(page, links)
                if page.id in old_entries and old_entries[page.id][1:3] == (own_stamp, full_stamp):
                    continue
                anchors = json.dumps(links.texts)
                new_entries.append(ManifestEntry(page.id, own_stamp, full_stamp, links.pages, anchors))
                yield page, links
            self.pulse()


class Indexed(NamedTuple):
    """Counts of the index phase: rows of the full-text table, and pages written to the index and removed from it."""

    texts: FillCounts
    written: int
    removed: int


def index_pages(summary: Path, folder: Path, pulse: Pulse = never_stop) -> Indexed:
    """Update the full-text table of a Summary Database, and the index in `folder`; a repeated call changes nothing.

    A missing index is built; a folder with other contents is refused. `pulse` is called between batches. If it returns
    False, the work stops, and the next call continues it.
    """
    texts = fill(summary, count_words, pulse, VERSION)
    if not pulse():
        return Indexed(texts, 0, 0)
    with closing(SummaryReader(summary)) as reader:
        counts = fill_index(folder, FIELDS, VERSION, lambda index: bring_up_to_date(index, reader, pulse), pulse)
    return Indexed(texts, *counts)


def make_index_phase(summary_path: Path, folder: Path) -> Callable[[Pulse], str]:
    """Return the index phase of a session: a function that updates the index, and returns a message with counts.

    The message is empty if there is no Summary Database.
    """

    def update(pulse: Pulse) -> str:
        if not summary_path.is_file():
            return ""
        texts, written, removed = index_pages(summary_path, folder, pulse)
        message = f"texts: {texts.added} added, {texts.changed} changed, {texts.removed} removed"
        return f"{message}; pages: {written} written to the index, {removed} removed"

    return update
