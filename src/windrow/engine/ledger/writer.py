"""The one writer of the ledger, open for one transaction, with a part for each subject."""

from __future__ import annotations

from datetime import datetime

from windrow.engine.ledger.addresses import AddressWriter
from windrow.engine.ledger.attempts import AttemptWriter
from windrow.engine.ledger.batch import LedgerBatch
from windrow.engine.ledger.captures import CaptureWriter
from windrow.engine.ledger.database import LedgerDatabase
from windrow.engine.ledger.items import ItemWriter
from windrow.engine.ledger.listings import ListingWriter
from windrow.engine.ledger.requests import RequestWriter
from windrow.engine.ledger.sessions import SessionWriter
from windrow.engine.ledger.takedowns import TakedownWriter
from windrow.engine.ledger.warc_imports import ImportWriter


class LedgerWriter:
    """Append facts within a transaction of the ledger; what makes a fact returns its `seq`."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Write to a database in which a transaction is open."""
        batch = self._batch = LedgerBatch(database)
        self.sessions = SessionWriter(batch)
        self.items = ItemWriter(batch)
        self.listings = ListingWriter(batch)
        self.attempts = AttemptWriter(batch)
        self.addresses = AddressWriter(batch)
        self.requests = RequestWriter(batch)
        self.captures = CaptureWriter(batch)
        self.takedowns = TakedownWriter(batch)
        self.imports = ImportWriter(batch)

    @property
    def at(self) -> datetime:
        """The moment that all facts of this transaction bear."""
        return self._batch.at

    @at.setter
    def at(self, moment: datetime) -> None:
        self._batch.at = moment

    def flush(self) -> None:
        """Write what was gathered, so that queries within the transaction see it."""
        self._batch.flush()
