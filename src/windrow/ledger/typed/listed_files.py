"""Written by `make queries` from listed_files.sql: edit that file, and run `make queries` again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import ItemKey
from windrow.model import Status
from windrow.reasons import Reason


class KnownFile(NamedTuple):
    """A listed file.

    `failed_step` is the step at which it failed, "" if its name was refused, or None if it has not failed. `attempt` is
    its last attempt, or 0.
    """

    key: str
    file: int
    failed_step: str | None
    attempt: int


class SameName(NamedTuple):
    """A fetched file, and one of the same name in another folder that was fetched earlier, with other bytes."""

    file: int
    key: str
    other_key: str


class ArrivalCount(NamedTuple):
    """The number of files whose attempts ended with the same `reason` (None: fetched).

    `compared` is true if the files were compared with a checksum file.
    """

    reason: Reason | None
    compared: bool
    number: int


def _make_arrival_count(row: tuple[Any, ...]) -> ArrivalCount:
    reason, compared, number = row
    return ArrivalCount(None if reason is None else Reason(reason), bool(compared), number)


class TypedListedFiles(LedgerQueries):
    """The queries of listed_files.sql."""

    def known(self, collection: str, keys: Sequence[str]) -> dict[str, KnownFile]:
        """Return a dict from key to listed file, for those of these keys that a collection has."""
        rows = self._database.rows(KnownFile._make, "listed_files.known", collection, json.dumps([*keys]))
        return {row[0]: row for row in rows}

    def numbers(self, collection: str) -> list[int]:
        """Return the numbers of a collection's listed files, in order."""
        return self._database.column("listed_files.numbers", collection)

    def with_same_name(self, collection: str, folders: Sequence[str], kind: str) -> list[SameName]:
        """Return the files with other bytes than an earlier one of the same name in another of these folders.

        Those reported under this kind since their latest transfer are left out; earlier transfers do not count.
        """
        return self._database.rows(
            SameName._make, "listed_files.with_same_name", json.dumps([*folders]), collection, kind
        )

    def fetched_between(self, collection: str, facts: tuple[int, int]) -> list[ArrivalCount]:
        """Count by reason and `compared` the files with an attempt that ended between two facts."""
        return self._database.rows(_make_arrival_count, "listed_files.fetched_between", facts[0], facts[1], collection)

    def by_address(self, address: str) -> list[ItemKey]:
        """Return the files that were requested from an address."""
        return self._database.rows(ItemKey._make, "listed_files.by_address", address)

    def by_path(self, source: str, path: str) -> list[ItemKey]:
        """Return the files that a source lists, or has listed, at a path."""
        return self._database.rows(ItemKey._make, "listed_files.by_path", source, path)

    def of_attempt(self, attempt: int) -> list[ItemKey]:
        """Return the file of an attempt, by the number of the attempt or of its end."""
        return self._database.rows(ItemKey._make, "listed_files.of_attempt", attempt)

    def keys_by_status(
        self, collection: str, statuses: tuple[Status, Status], source: str, reason: str, excluded: Sequence[str] = ()
    ) -> list[str]:
        """Return the keys of the files from a source (empty: any) with one of two statuses and a reason (empty: any).

        Files that only the sources `excluded` list, or have listed, are left out. A file without a pending step has the
        statuses and reasons of the members that its latest attempt fetched.
        """
        return self._database.column(
            "listed_files.keys_by_status", collection, source, json.dumps([*excluded]), statuses[0], statuses[1], reason
        )
