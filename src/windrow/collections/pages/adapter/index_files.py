"""The files of the index of pages, as a search opens them; `indexing` fills them."""

from __future__ import annotations

import json
from pathlib import Path

from windrow.collections.pages.database.search_view import NO_LINKS, IncomingLinks
from windrow.collections.pages.search.entry import FIELDS, VERSION
from windrow.stores.index.folder import ROLL
from windrow.stores.index.fulltext_index import FullTextIndex, ManifestEntry, current, there


def open_index(folder: Path) -> FullTextIndex:
    """Open the index of pages."""
    return FullTextIndex(folder, FIELDS, VERSION)


def is_current(folder: Path) -> bool:
    """Say whether an index of pages that this version can ask is in the folder."""
    return there() and roll_path(folder).exists() and current(folder, FIELDS, VERSION)


def roll_path(folder: Path) -> Path:
    """Return where the roll of an index is."""
    return folder / ROLL


def links_of(rolled: ManifestEntry) -> IncomingLinks:
    """Read the links that the roll remembers of a page."""
    if rolled.anchors == "[]":
        return NO_LINKS
    return IncomingLinks(rolled.links, tuple((text, count) for text, count in json.loads(rolled.anchors)))
