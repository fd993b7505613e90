"""The ledger of one workspace: its queries, by subject, and its writer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path

from windrow.ledger.addresses import AddressQueries, AddressWriter
from windrow.ledger.attempts import AttemptWriter
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.captures import CaptureWriter, ImportWriter
from windrow.ledger.database import LedgerDatabase
from windrow.ledger.items import ItemWriter
from windrow.ledger.listed_files import ListedFileWriter, MirrorWriter
from windrow.ledger.requests import RequestQueries, RequestWriter
from windrow.ledger.sessions import SessionQueries, SessionWriter
from windrow.ledger.takedowns import TakedownQueries, TakedownWriter
from windrow.ledger.typed.attempts import TypedAttempts
from windrow.ledger.typed.captures import TypedCaptures
from windrow.ledger.typed.imports import TypedImports
from windrow.ledger.typed.items import TypedItems
from windrow.ledger.typed.listed_files import TypedListedFiles
from windrow.ledger.typed.members import TypedMembers
from windrow.ledger.typed.mirrors import TypedMirrors
from windrow.ledger.unread import UnreadQueries, UnreadWriter


class LedgerWriter:
    """Appends facts within an open transaction; methods that write a fact return its number.

    Few transactions write to all subjects, so the part for each is made when it is first used. `batch` is for the
    modules of this package alone.
    """

    sessions = cached_property(lambda writer: SessionWriter(writer.batch))
    items = cached_property(lambda writer: ItemWriter(writer.batch))
    listed_files = cached_property(lambda writer: ListedFileWriter(writer.batch))
    mirrors = cached_property(lambda writer: MirrorWriter(writer.batch))
    attempts = cached_property(lambda writer: AttemptWriter(writer.batch))
    addresses = cached_property(lambda writer: AddressWriter(writer.batch))
    requests = cached_property(lambda writer: RequestWriter(writer.batch))
    captures = cached_property(lambda writer: CaptureWriter(writer.batch))
    takedowns = cached_property(lambda writer: TakedownWriter(writer.batch))
    imports = cached_property(lambda writer: ImportWriter(writer.batch))
    unread = cached_property(lambda writer: UnreadWriter(writer.batch))

    def __init__(self, database: LedgerDatabase) -> None:
        self.batch = LedgerBatch(database)

    @property
    def at(self) -> datetime:
        """The time of all facts of this transaction."""
        return self.batch.at

    @at.setter
    def at(self, moment: datetime) -> None:
        self.batch.at = moment

    def flush(self) -> None:
        """Write the collected rows, so that queries within the transaction see it."""
        self.batch.flush()


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
        self.items = TypedItems(self.database)
        self.listed_files = TypedListedFiles(self.database)
        self.members = TypedMembers(self.database)
        self.mirrors = TypedMirrors(self.database)
        self.attempts = TypedAttempts(self.database)
        self.addresses = AddressQueries(self.database)
        self.captures = TypedCaptures(self.database)
        self.requests = RequestQueries(self.database)
        self.takedowns = TakedownQueries(self.database)
        self.imports = TypedImports(self.database)
        self.unread = UnreadQueries(self.database)

    @contextmanager
    def writing(self) -> Iterator[LedgerWriter]:
        """Open one transaction, which is rolled back on any exception."""
        with self.database.transaction():
            writer = LedgerWriter(self.database)
            yield writer
            writer.flush()

    def copy_unread(self, path: Path) -> Ledger:
        """Copy the ledger to another file without all results of steps, and open the copy."""
        self.database.copy(path, "forget_readings", "forget_starts", "forget_pending", "forget_members")
        return Ledger(path)

    def close(self) -> None:
        """Close the file."""
        self.database.connection.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"
