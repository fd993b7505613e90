"""The one ledger: facts are appended, present state is derived."""

from windrow.ledger.addresses import ELSEWHERE
from windrow.ledger.ledger import Ledger, LedgerWriter
from windrow.ledger.sessions import Lease

__all__ = ["ELSEWHERE", "Lease", "Ledger", "LedgerWriter"]
