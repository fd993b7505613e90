"""The collections that can be configured: each has its part of windrow.toml, and its own words for sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from windrow.config import drops, pages
from windrow.config.declared import Around, Declared
from windrow.config.setting import SOURCE, WORKSPACE, Setting
from windrow.config.workspace import Value
from windrow.model import Source


class Section(NamedTuple):
    """One collection's settings: of the workspace, dotted from its top; of its sources, beside those that all have.

    `build` makes a source of the values that it was given.
    """

    settings: tuple[Setting, ...]
    source: tuple[Setting, ...]
    build: Callable[[Declared, Mapping[str, Value], Around], Source]


SECTIONS = {
    "drops": Section(drops.SETTINGS, drops.SOURCE, drops.source),
    "pages": Section(pages.SETTINGS, pages.SOURCE, pages.source),
}

SETTINGS = {one.name: one for one in (*WORKSPACE, *(each for part in SECTIONS.values() for each in part.settings))}
SOURCE_SETTINGS = {
    name: {setting.name: setting for setting in (*SOURCE, *part.source)} for name, part in SECTIONS.items()
}
"""What a source may say, by its collection."""
CENTRE_SETTINGS = {setting.name: setting for setting in drops.CENTRE}
