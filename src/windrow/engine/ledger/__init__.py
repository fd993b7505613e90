"""The one ledger: facts are appended, present state is derived."""

from windrow.engine.ledger.lease import Lease
from windrow.engine.ledger.ledger import Ledger
from windrow.engine.ledger.writer import LedgerWriter

__all__ = ["Lease", "Ledger", "LedgerWriter"]
