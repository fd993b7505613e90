"""The one ledger: facts are appended, present state is derived."""

from windrow.engine.ledger.lease import Lease
from windrow.engine.ledger.ledger import Ledger, LedgerWriter

__all__ = ["Lease", "Ledger", "LedgerWriter"]
