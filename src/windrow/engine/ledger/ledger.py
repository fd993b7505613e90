"""The ledger of one workspace: its queries, by subject, and its writer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windrow.engine.ledger.addresses import AddressQueries
from windrow.engine.ledger.attempts import AttemptQueries
from windrow.engine.ledger.captures import CaptureQueries
from windrow.engine.ledger.database import LedgerDatabase
from windrow.engine.ledger.items import ItemQueries
from windrow.engine.ledger.listings import ListingQueries
from windrow.engine.ledger.requests import RequestQueries
from windrow.engine.ledger.sessions import SessionQueries
from windrow.engine.ledger.takedowns import TakedownQueries
from windrow.engine.ledger.warc_imports import ImportQueries
from windrow.engine.ledger.writer import LedgerWriter


class Ledger:
    """One workspace's ledger in an SQLite file.

    Reading is open to many processes at once; writing goes through `writing()`, one at a time. `database` is for the
    modules of this package alone.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, making or upgrading its tables; a copy is kept before an upgrade."""
        self.path = path
        self.database = LedgerDatabase(path)
        self.sessions = SessionQueries(self.database)
        self.items = ItemQueries(self.database)
        self.listings = ListingQueries(self.database)
        self.attempts = AttemptQueries(self.database)
        self.addresses = AddressQueries(self.database)
        self.captures = CaptureQueries(self.database)
        self.requests = RequestQueries(self.database)
        self.takedowns = TakedownQueries(self.database)
        self.imports = ImportQueries(self.database)

    @contextmanager
    def writing(self) -> Iterator[LedgerWriter]:
        """Open one transaction; what was written in it is there wholly or not at all."""
        with self.database.transaction():
            writer = LedgerWriter(self.database)
            yield writer
            writer.flush()

    def copy_unread(self, path: Path) -> Ledger:
        """Copy the ledger to another file, as it was before anything was read, and open the copy."""
        self.database.copy(path, "forget_readings", "forget_standings", "forget_members")
        return Ledger(path)

    def close(self) -> None:
        """Close the file."""
        self.database.connection.close()

    def __repr__(self) -> str:
        """Name the file."""
        return f"Ledger({str(self.path)!r})"
