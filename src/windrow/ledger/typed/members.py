"""Written by `make queries` from members.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from windrow.ledger.database import LedgerQueries
from windrow.model import Status
from windrow.reasons import Reason


class LoadedRow(NamedTuple):
    """A row of `loaded`."""

    member: int
    key: str
    number: int


class PassedCount(NamedTuple):
    """How many files have members that all `passed` a step, or of which one failed.

    It `failed` there where none did before. The step is empty for their names.
    """

    step: str
    passed: bool
    failed: bool
    number: int


class BroughtMember(NamedTuple):
    """A member that an attempt brought, with the step that it waits for, failed at or was ended before, and why."""

    member: int
    key: str
    kind: str
    step: str | None
    status: Status | None
    reason: Reason | None


class MemberCount(NamedTuple):
    """How many members that an attempt brought stand alike.

    `step` is what they wait for, failed at or were ended before, None for those that are through; `started` where it
    was begun for them meanwhile.
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
        """Return how many rows a step made of each member since the store was last made anew."""
        return self._database.rows(LoadedRow._make, "members.loaded", step, collection)

    def passed_between(self, collection: str, facts: tuple[int, int]) -> list[PassedCount]:
        """Count the files of whose members a step took some between two facts."""
        return self._database.rows(_make_passed_count, "members.passed_between", facts[1], facts[0], collection)

    def brought(self, attempt: int) -> list[BroughtMember]:
        """Return the members that an attempt brought, in the order of work."""
        return self._database.rows(_make_brought_member, "members.brought", attempt)

    def count_named(self, collection: str, reasons: Iterable[str]) -> int:
        """Count the members whose names were refused for one of some reasons."""
        value: int = self._database.value("members.count_named", collection, json.dumps([*reasons]))
        return value

    def count(self, files: Sequence[int]) -> list[MemberCount]:
        """Count the members of each attempt to get files by the step that they wait for."""
        return self._database.rows(_make_member_count, "members.count", json.dumps([*files]))

    def of_file(self, file: int) -> list[int]:
        """Return the numbers of the members that attempts to get a file brought."""
        return self._database.column("members.of_file", file)

    def ended(self, files: Sequence[int]) -> list[int]:
        """Return the numbers of the members of files that were ended by an operator."""
        return self._database.column("members.ended", json.dumps([*files]))
