"""Which records an export writes, and the protocol of adapters that count the records that could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from windrow.config import Workspace


class ExportSelection(NamedTuple):
    """Which records an export writes: those with `fields` whose own time is at least `start` and before `end`.

    `start` and `end` are times or the beginnings of times, such as a month; an empty one is not a bound. `fields` are
    pairs (name, value) that a record must have.
    """

    start: str = ""
    end: str = ""
    fields: tuple[tuple[str, str], ...] = ()


EVERYTHING = ExportSelection()
"""The selection of all records."""


class CountsSkipped(Protocol):
    """Reads several records from a document, some of which it may have to skip."""

    def count_skipped(self, workspace: Workspace, facts: tuple[int, int] | None) -> Mapping[str, int]:
        """Count by reason the records that could not be read from the attempts of `facts` (first, last).

        If `facts` is None, all attempts count, except for records that a later attempt at the same address read.
        """
