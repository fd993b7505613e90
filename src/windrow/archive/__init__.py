"""The archive: all received bytes, in WARC files with a CDXJ index."""

from windrow.archive.capture_sink import UNARCHIVED, ArchiveWriter, CaptureSink
from windrow.archive.indexed import LineBlock, read_blocks, verify_record
from windrow.archive.mend import alone, mark_ledger, mend, refuse_other_ledger, sweep
from windrow.archive.view import Capture, open_capture, open_response, record_id

__all__ = [
    "UNARCHIVED",
    "ArchiveWriter",
    "Capture",
    "CaptureSink",
    "LineBlock",
    "alone",
    "mark_ledger",
    "mend",
    "open_capture",
    "open_response",
    "read_blocks",
    "record_id",
    "refuse_other_ledger",
    "sweep",
    "verify_record",
]
