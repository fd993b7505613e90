"""What the configuration says, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from windrow.model import Limits, Secret, Source


class Value(NamedTuple):
    """One setting's value and where it came from.

    `origin` is `default`, a file's name, `env NAME` or `flag --NAME`; `shown` is the value for
    people, a place where it is a secret.
    """

    name: str
    value: Any
    shown: str
    origin: str


@dataclass(frozen=True, slots=True)
class Archive:
    """Where captures are kept; `rotation` in bytes."""

    folder: Path
    rotation: int


@dataclass(frozen=True, slots=True)
class Run:
    """How a run goes. 0 processes: as many as suit the machine; `every` in seconds, 0: once."""

    fetchers: int
    readers: int
    every: float
    notify: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Database:
    """A database's address in SQLAlchemy's spelling, without its password, and where that one is."""

    url: str
    secret: Secret | None = None


@dataclass(frozen=True, slots=True)
class Centre:
    """A centre as declared (tracker report, table centre)."""

    short_name: str
    full_name: str = ""
    email: str = ""
    phone: str = ""
    address: str = ""
    imits_name: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Drops:
    """What the collection `drops` is told. Empty patterns: the standard's own."""

    tracker: Database
    store: Database
    listers: int
    downloaders: int
    attempts: int
    list_within: float  # seconds; 0: however long it takes
    fetch_within: float
    zip_name: str
    xml_name: str
    schemas: Mapping[str, Path]  # specimen, experiment
    lists: Mapping[str, Path]  # only those that are given
    centres: tuple[Centre, ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """What the collection `pages` is told as a whole; what each site may have of its own is in its source.

    `operator`, `contact` and `user_agent` make the name under which it crawls; without them nothing is
    asked. `limits` are those of one page.
    """

    operator: str
    contact: str
    user_agent: str
    summary: Path
    crawler: Path
    file_text: bool
    index: Path
    limits: Limits


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
    run: Run
    drops: Drops
    pages: Pages
    sources: tuple[Source, ...]
    values: tuple[Value, ...]  # every setting, in the order of the reference

    def source(self, name: str) -> Source | None:
        """Return the source of this name."""
        return next((source for source in self.sources if source.name == name), None)
