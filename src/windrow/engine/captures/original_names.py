"""Name the originals of revisits that do not state the digest of their bytes."""

from __future__ import annotations

from datetime import datetime

from windrow.archive.warc_reader import WarcRecord, stated_digest
from windrow.clock import spell
from windrow.digest import digest
from windrow.formats.url import normalise
from windrow.formats.warc import read_date
from windrow.model import Attempt


def name_original(record: WarcRecord, attempt: Attempt) -> tuple[str, ...]:
    """Return the names by which revisits without a digest refer to a record: its id, and its address and time.

    The result is empty if the record states a digest, since the revisits of such a program state it, too.
    """
    if stated_digest(record.fields):
        return ()
    return _make_names(record.fields.get("warc-record-id", ""), attempt.url, attempt.started)


def referred_names(record: WarcRecord, payload: str) -> tuple[str, ...]:
    """Return how a revisit names its original: by its digest `payload` or, without one, as in `name_original`."""
    if payload:
        return (payload,)
    fields = record.fields
    address = normalise(fields.get("warc-refers-to-target-uri", "").strip("<> ")).url
    captured_at = read_date(fields.get("warc-refers-to-date", ""))
    return _make_names(fields.get("warc-refers-to", ""), address, captured_at)


def _make_names(record_id: str, address: str, captured_at: datetime | None) -> tuple[str, ...]:
    names = [f"record {record_id}"] if record_id else []
    if address and captured_at:
        names.append(f"capture {address} {spell(captured_at)}")
    # As digests: a takedown leaves no addresses on the ledger.
    return tuple(digest(name.encode()) for name in names)
