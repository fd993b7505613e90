"""What the configuration says, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windrow.model import Limits, Source
from windrow.settings.setting import Value


@dataclass(frozen=True, slots=True)
class Archive:
    """Where captures are kept; `rotation` in bytes."""

    folder: Path
    rotation: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a run goes. 0 processes: as many as suit the machine; `every` in seconds, 0: once."""

    fetchers: int
    readers: int
    every: float
    notify: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace's configuration; paths are absolute."""

    root: Path
    name: str
    contact: str
    agent: str
    ledger: Path
    archive: Archive
    limits: Limits
    run: RunSettings
    sections: Mapping[str, Any]  # what each collection is told, by its name
    sources: tuple[Source, ...]
    values: tuple[Value, ...]  # every setting, in the order of the reference

    def source(self, name: str) -> Source | None:
        """Return the source of this name."""
        return next((source for source in self.sources if source.name == name), None)

    def of(self, collection: str) -> tuple[Source, ...]:
        """Return the sources of a collection."""
        return tuple(source for source in self.sources if source.collection == collection)

    def told(self, collection: str, section: Any) -> Workspace:
        """Return this configuration with another section for a collection."""
        return replace(self, sections={**self.sections, collection: section})
