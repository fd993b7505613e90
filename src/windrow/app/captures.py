"""List the sessions of a workspace, and open what one attempt kept in the archive."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import BinaryIO, NamedTuple

from windrow.archive import open_response, read_request
from windrow.config import Workspace
from windrow.engine.source_counts import read_sessions
from windrow.errors import WindrowError
from windrow.ledger import Ledger
from windrow.model import ArchivePlace
from windrow.reasons import Reason


class SessionEntry(NamedTuple):
    """A session in a list: when it began and ended. `ended` and `exit_code` are None if it runs or was killed.

    `failed` is the number of requests, transfers and readings that failed, and of names that were refused. What could
    not be read of a document that was read otherwise, and what rules or caps left out, does not count.
    """

    session: int
    command: str
    holder: str
    began: datetime
    ended: datetime | None
    exit_code: int | None
    failed: int = 0


class KeptCapture(NamedTuple):
    """What an attempt kept: the place of its record, the fields of its response by name, and its body as a file.

    `size` is that of the body as it was received, in bytes: `fields` name its codings. For an attempt that received
    the same bytes as an earlier one, the place is that of the earlier record. `status` is None without a response.
    `request` is the HTTP request that was sent, without its body, or empty if the archive does not have it beside.
    """

    attempt: int
    at: datetime
    source: str
    url: str
    status: int | None
    size: int
    digest: str
    warc: str
    offset: int
    length: int
    fields: Mapping[str, str]
    body: BinaryIO
    request: str = ""


def list_sessions(ledger: Ledger, before: int | None, limit: int) -> list[SessionEntry]:
    """Return at most `limit` sessions, newest first; with `before`, those with smaller numbers."""
    return [SessionEntry(*row) for row in read_sessions(ledger, before or 0, limit)]


def open_kept_capture(workspace: Workspace, ledger: Ledger, attempt: int) -> KeptCapture:
    """Open what an attempt kept; raise WindrowError if it is not known or kept nothing, ArchiveError if unreadable."""
    row = ledger.attempts.get(attempt)
    if row is None:
        raise WindrowError(f"no attempt has the number {attempt}", hint="windrow why NAME", reason=Reason.NOT_FOUND)
    if not row.warc or row.offset is None or row.length is None:
        why = f": {row.reason.meaning}" if row.reason else ""
        raise WindrowError(
            f"attempt {attempt} kept no bytes{why}", hint=f"windrow why {attempt}", reason=Reason.NOT_FOUND
        )
    place = ArchivePlace(row.warc, row.offset, row.length)
    request = read_request(workspace.archive.folder, place).partition(b"\r\n\r\n")[0]
    if row.revisit:
        recorded = ledger.attempts.by_numbers([attempt])  # empty for a listed file
        earlier = ledger.captures.place_of(recorded[0].attempt) if recorded else ledger.captures.of_digest(row.digest)
        place = earlier or place
    answer = open_response(workspace.archive.folder, place)
    size = answer.view.seek(0, 2)
    answer.view.seek(0)
    return KeptCapture(
        attempt, row.started, row.source, row.url, row.status, size, row.digest, *place, answer.fields, answer.view,
        request.decode("utf-8", "replace"),
    )  # fmt: skip
