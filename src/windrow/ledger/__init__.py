"""The ledger of a workspace, an SQLite file: facts are only ever appended, and the present state is derived from them.

A fact is a row with a number that is unique in the ledger and greater than those of all facts before it (`seq` in the
tables). Sessions, hosts, items (listed files, members and imported files) and attempts are given by these numbers.
"""

from windrow.ledger.addresses import ELSEWHERE
from windrow.ledger.ledger import Ledger, LedgerWriter
from windrow.ledger.sessions import Lease

__all__ = ["ELSEWHERE", "Lease", "Ledger", "LedgerWriter"]
