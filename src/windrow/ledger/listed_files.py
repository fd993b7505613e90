"""Record listed files, the members (documents) that attempts found in them, and the mirrors where sources list them."""

from __future__ import annotations

from windrow.clock import spell
from windrow.ledger.batch import LedgerBatch
from windrow.model import Member, Offer, Status
from windrow.reasons import Reason


class ListedFileWriter:
    """Writes listed files and their members."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add(
        self, session: int, collection: str, kind: str, key: str, *, step: str = "", rank: str = "", owner: str = "",
        size: int | None = None, reason: Reason | None = None,
    ) -> int:  # fmt: skip
        """Record a listed file, and return its number. `owner` is the centre in its key, `size` is in bytes.

        The file is refused if there is a `reason`. Otherwise it waits for `step`, or is done if `step` is empty.
        """
        file = self._batch.fact("listed_file", session, collection, kind, key, owner, size, rank, reason)
        self._wait(file, collection, step, rank, 0, reason)
        return file

    def add_member(
        self, session: int, collection: str, kind: str, key: str, *, attempt: int, member: Member, step: str = "",
    ) -> int:  # fmt: skip
        """Record a member that an attempt found, and return its number.

        It is refused if the member has a reason. Otherwise it waits for `step`, or is done if `step` is empty.
        """
        columns = (member.name, member.size, member.digest, member.md5, member.rank, member.reason)
        number = self._batch.fact("member", session, collection, kind, key, attempt, *columns)
        self._wait(number, collection, step, member.rank, attempt, member.reason)
        return number

    def _wait(self, item: int, collection: str, step: str, rank: str, attempt: int, reason: Reason | None) -> None:  # noqa: PLR0917
        if reason:
            self._batch.row("pending_step", item, collection, "", Status.FAILED, rank, attempt, reason, item)
        elif step:
            self._batch.row("pending_step", item, collection, step, Status.PENDING, rank, attempt, None, item)


class MirrorWriter:
    """Writes mirrors, and the events of files at them."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def add(self, session: int, source: str, file: int, offer: Offer, event: str) -> int:
        """Record an `event` of a file at a source, update the mirror, and return the number of the fact.

        The event is `listed` or, if the name is refused, `refused` (the source began to list the file), `changed`,
        `gone` (the source stopped listing it), or `compared` (the file, or its checksum file, was compared with the
        archived file).
        """
        modified = spell(offer.modified) if offer.modified else None
        columns = (offer.size, modified, offer.sidecar)
        self._batch.row("mirror", source, file, offer.path, int(event != "gone"), *columns)
        return self._batch.fact("listing", session, source, file, offer.path, event, *columns)

    def refuse(self, session: int, source: str, path: str, digest: str, reason: Reason) -> int:
        """Record a refused entry, unless one with the same source, `digest` (of `path`) and reason is recorded."""
        return self._batch.fact("refusal", session, source, path, digest, reason)
