"""The ledger of one workspace: queries and writers, with a part for each subject."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path

from windrow.ledger.addresses import AddressQueries, AddressWriter
from windrow.ledger.attempts import AttemptQueries, AttemptWriter
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.captures import CaptureQueries, CaptureWriter, ImportWriter
from windrow.ledger.database import LedgerDatabase
from windrow.ledger.items import ItemWriter
from windrow.ledger.listed_files import ListedFileWriter, MirrorWriter
from windrow.ledger.requests import RequestQueries, RequestWriter
from windrow.ledger.sessions import SessionQueries, SessionWriter
from windrow.ledger.takedowns import TakedownQueries, TakedownWriter
from windrow.ledger.typed.imports import TypedImports
from windrow.ledger.typed.items import TypedItems
from windrow.ledger.typed.listed_files import TypedListedFiles
from windrow.ledger.typed.members import TypedMembers
from windrow.ledger.typed.mirrors import TypedMirrors
from windrow.ledger.unread import UnreadQueries, UnreadWriter


class LedgerWriter:
    """Appends facts in an open transaction. Most methods that write one fact return its number.

    Few transactions write to all subjects, so the part for each subject is created when it is first used. Only modules
    of this package use `batch`.
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
        """The time of the facts of this transaction that have no time of their own."""
        return self.batch.at

    @at.setter
    def at(self, moment: datetime) -> None:
        self.batch.at = moment

    def flush(self) -> None:
        """Write the collected rows, so that queries in the same transaction see them."""
        self.batch.flush()


class Ledger:
    """The ledger of one workspace, in an SQLite file.

    Many processes may read at the same time. Facts are written in a block of `writing()`, by one process at a time.
    Only modules of this package use `database`.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and create or upgrade its tables if necessary (`LedgerDatabase`)."""
        self.path = path
        self.database = LedgerDatabase(path)
        self.sessions = SessionQueries(self.database)
        self.items = TypedItems(self.database)
        self.listed_files = TypedListedFiles(self.database)
        self.members = TypedMembers(self.database)
        self.mirrors = TypedMirrors(self.database)
        self.attempts = AttemptQueries(self.database)
        self.addresses = AddressQueries(self.database)
        self.captures = CaptureQueries(self.database)
        self.requests = RequestQueries(self.database)
        self.takedowns = TakedownQueries(self.database)
        self.imports = TypedImports(self.database)
        self.unread = UnreadQueries(self.database)

    @contextmanager
    def writing(self) -> Iterator[LedgerWriter]:
        """Open a transaction, and yield its writer. Any exception rolls the transaction back."""
        with self.database.transaction():
            writer = LedgerWriter(self.database)
            yield writer
            writer.flush()

    def copy_unread(self, path: Path) -> Ledger:
        """Copy the ledger to a file, without readings, step starts, pending steps and members, and open the copy."""
        # The pending steps of cancelled files are kept, so that a replay does not read these files.
        self.database.copy(path, "forget_readings", "forget_starts", "forget_pending", "forget_members")
        return Ledger(path)

    def wrong_values(self) -> list[str]:
        """Return a message for each column that has values of the wrong type, which windrow cannot have written."""
        return self.database.wrong_values()

    def close(self) -> None:
        """Close the file."""
        self.database.connection.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"
