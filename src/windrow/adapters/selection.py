"""Which records an export writes, and how adapters count the records that could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from windrow.reasons import BY_RULE, OWN_FAULTS

if TYPE_CHECKING:
    from windrow.config import Workspace
    from windrow.stores.skipped_counts import SkippedCounts

REPORTED_ELSEWHERE = BY_RULE | OWN_FAULTS
"""Reasons that do not show that a document is unreadable: rules, and failures with causes outside documents."""


class ExportSelection(NamedTuple):
    """Which records an export writes: those that have all `fields`, and a time from `start` on and before `end`.

    `start` and `end` are times or the beginnings of times, such as a month; an empty one is not a bound. `fields` are
    pairs (name, value) that a record must have.
    """

    start: str = ""
    end: str = ""
    fields: tuple[tuple[str, str], ...] = ()


EVERYTHING = ExportSelection()
"""The selection of all records."""


class CountsSkipped(Protocol):
    """Can count the records that it could not read."""

    def count_skipped(self, workspace: Workspace, facts: tuple[int, int] | None) -> Mapping[str, int]:
        """Count by reason the records that could not be read from the attempts in `facts` (first, last).

        Nothing is counted for `facts` if sessions report these records as left out. If `facts` is None, all attempts
        count, except at addresses whose later attempts could be read.
        """


class CountsUnrepaired:
    """A base class for adapters with a store of records: counts the records that could not be read so far."""

    def _store(self, workspace: Workspace) -> AbstractContextManager[SkippedCounts | None]:
        """Open the store, or yield None if it does not exist. The adapter overrides this."""
        raise NotImplementedError

    def count_skipped(self, workspace: Workspace, facts: tuple[int, int] | None) -> Mapping[str, int]:
        """Count by reason the records that could not be read, except at addresses where one was read later.

        Nothing is counted if `facts` are given, because a session reports as left out what it could not read.
        """
        with self._store(workspace) as store:
            if store is None or facts is not None:
                return {}
            return store.count_unrepaired(dict.fromkeys(REPORTED_ELSEWHERE, ""))

    def unrepaired_reasons(self, workspace: Workspace) -> set[tuple[str, str]]:
        """Return each source with each reason for which something of it could not be read so far.

        The source is empty if it is not known. Reasons in REPORTED_ELSEWHERE are left out.
        """
        with self._store(workspace) as store:
            if store is None:
                return set()
            return {*store.count_unrepaired_by_source(dict.fromkeys(REPORTED_ELSEWHERE, ""))}
