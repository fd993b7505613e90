"""The archive: all bytes that were received, in WARC files."""

from windrow.archive.capture_sink import UNARCHIVED_PREFIX, ArchiveWriter, CaptureSink
from windrow.archive.indexed import LineBlock, read_blocks, verify_block, verify_record, verify_stated_digest
from windrow.archive.repair import (
    lock_archive,
    mark_ledger,
    refuse_other_ledger,
    remove_old_parts,
    repair_archive,
)
from windrow.archive.view import Capture, open_capture, open_response, read_request, record_id

__all__ = [
    "UNARCHIVED_PREFIX",
    "ArchiveWriter",
    "Capture",
    "CaptureSink",
    "LineBlock",
    "lock_archive",
    "mark_ledger",
    "open_capture",
    "open_response",
    "read_blocks",
    "read_request",
    "record_id",
    "refuse_other_ledger",
    "remove_old_parts",
    "repair_archive",
    "verify_block",
    "verify_record",
    "verify_stated_digest",
]
