"""Written by `make queries` from members.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from windrow.ledger.database import LedgerQueries
from windrow.model import Status
from windrow.reasons import Reason


class LoadedRow(NamedTuple):
    """The number of rows that a step loaded for a member."""

    member: int
    key: str
    number: int


class LoadedMember(NamedTuple):
    """A member that a step loaded."""

    member: int
    key: str


class PassedCount(NamedTuple):
    """The number of files with the same result of a step.

    `passed` is true if all members of a file have passed the step, `failed` if a member failed at it and none had been
    refused or had failed at another step before. An empty step is the check of names and entries.
    """

    step: str
    passed: bool
    failed: bool
    number: int


class BroughtMember(NamedTuple):
    """A member, the step that it waits for, failed at or was ended before, and the reason."""

    member: int
    key: str
    kind: str
    step: str | None
    status: Status | None
    reason: Reason | None


class MemberCount(NamedTuple):
    """The number of an attempt's members with the same pending step (None: all steps are done) and status.

    `started` is whether this step has begun for them.
    """

    file: int
    attempt: int
    step: str | None
    status: Status | None
    started: bool
    number: int


def _make_passed_count(row: tuple[Any, ...]) -> PassedCount:
    step, passed, failed, number = row
    return PassedCount(step, bool(passed), bool(failed), number)


def _make_brought_member(row: tuple[Any, ...]) -> BroughtMember:
    member, key, kind, step, status, reason = row
    return BroughtMember(
        member, key, kind, step, None if status is None else Status(status), None if reason is None else Reason(reason)
    )


def _make_member_count(row: tuple[Any, ...]) -> MemberCount:
    file, attempt, step, status, started, number = row
    return MemberCount(file, attempt, step, None if status is None else Status(status), bool(started), number)


class TypedMembers(LedgerQueries):
    """The queries of members.sql."""

    def loaded(self, step: str, collection: str) -> list[LoadedRow]:
        """Return the number of rows that a step loaded for each member whose last reading succeeded.

        Readings from before the beginning of the last successful replay are left out.
        """
        return self._database.rows(LoadedRow._make, "members.loaded", step, collection)

    def last_loaded(self, step: str, collection: str) -> LoadedMember | None:
        """Return the member that a step loaded last, or None. Readings are left out as in `loaded`."""
        return self._database.first(LoadedMember._make, "members.last_loaded", step, collection)

    def passed_between(self, collection: str, facts: tuple[int, int]) -> list[PassedCount]:
        """Count by step and result the files whose members were found, or were read by a step, between two facts."""
        return self._database.rows(_make_passed_count, "members.passed_between", facts[1], facts[0], collection)

    def brought(self, attempt: int) -> list[BroughtMember]:
        """Return the members that an attempt fetched, in the order of their ranks."""
        return self._database.rows(_make_brought_member, "members.brought", attempt)

    def count_named(self, collection: str, reasons: Iterable[str]) -> int:
        """Count a collection's members that were refused for one of these reasons."""
        value: int = self._database.value("members.count_named", collection, json.dumps([*reasons]))
        return value

    def count(self, files: Sequence[int]) -> list[MemberCount]:
        """Count the members of files by attempt and pending step."""
        return self._database.rows(_make_member_count, "members.count", json.dumps([*files]))

    def of_file(self, file: int) -> list[int]:
        """Return the numbers of the members of a file from all attempts to fetch it, in order."""
        return self._database.column("members.of_file", file)

    def ended(self, files: Sequence[int]) -> list[int]:
        """Return the numbers of members that ended because their file, one of `files`, was cancelled or retried."""
        return self._database.column("members.ended", json.dumps([*files]))
