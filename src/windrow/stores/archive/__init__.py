"""The archive: every byte that came, in WARC files with a CDXJ index."""

from windrow.stores.archive.deposit import Deposit
from windrow.stores.archive.keeper import Keeper
from windrow.stores.archive.mend import alone, mend, sweep
from windrow.stores.archive.view import Capture, open_capture, open_response

__all__ = ["Capture", "Deposit", "Keeper", "alone", "mend", "open_capture", "open_response", "sweep"]
