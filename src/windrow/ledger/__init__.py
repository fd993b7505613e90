"""The ledger of a workspace, an SQLite file: facts are only ever appended, and the present state is derived from them.

A fact is a row with a number (`seq` in the tables), or the end of a transfer (`end_seq`). The number is unique in the
ledger, and greater than the numbers of all facts before it. Sessions, hosts, items (listed files, members and imported
files) and attempts are identified by these numbers.
"""

from windrow.ledger.addresses import ELSEWHERE
from windrow.ledger.lease import Lease
from windrow.ledger.ledger import Ledger, LedgerWriter

__all__ = ["ELSEWHERE", "Lease", "Ledger", "LedgerWriter"]
