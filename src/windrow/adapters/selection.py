"""Which records an export writes, and the counts of those that could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from windrow.config import Workspace


class ExportSelection(NamedTuple):
    """Which records an export writes: those whose own time is at least `start` and before `end`, and with `fields`.

    A bound may be a part of a time, such as a month, or empty. `fields` are (name, value).
    """

    start: str = ""
    end: str = ""
    fields: tuple[tuple[str, str], ...] = ()


EVERYTHING = ExportSelection()
"""Selects all records."""


class CountsSkipped(Protocol):
    """Reads several records from a document, of which some may not be readable."""

    def count_skipped(self, workspace: Workspace, facts: tuple[int, int] | None) -> Mapping[str, int]:
        """Count by reason the records that could not be read from the attempts of `facts` (first, last).

        If `facts` is None, those are counted that no later attempt has repaired.
        """
        ...
