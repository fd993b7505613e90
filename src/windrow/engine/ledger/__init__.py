"""The one ledger: facts are appended, present state is derived."""

from windrow.engine.ledger.book import Ledger
from windrow.engine.ledger.lease import Lease
from windrow.engine.ledger.pen import Pen

__all__ = ["Lease", "Ledger", "Pen"]
