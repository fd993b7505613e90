"""A part of adapters with a store of records: it lists them, and shows each with its history."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from windrow.adapters.adapter import RecordList
from windrow.adapters.record_search import RecordFaces, ShownCollection, list_records

if TYPE_CHECKING:
    from windrow.adapters.home import Home, HomeView
    from windrow.config import Workspace
    from windrow.ledger import Ledger
    from windrow.stores.records import RecordStore


def list_sources(workspace: Workspace, ledger: Ledger, collection: str) -> tuple[str, ...]:
    """Return the names of a collection's sources: those that are declared, then former ones that requested something.

    The ledger tells them at once; to count the records of each takes long.
    """
    declared = [source.name for source in workspace.of(collection)]
    former = sorted({host.source for host in ledger.addresses.hosts(collection)})
    return tuple(dict.fromkeys([*declared, *former]))


class ShowsRecords:
    """A base class for adapters with a store of records: lists them, and shows each with its history."""

    _name = ""
    """The name of the collection."""

    def _store(self, workspace: Workspace) -> AbstractContextManager[RecordStore | None]:
        """Open the store, or yield None if it does not exist. The adapter overrides this."""
        raise NotImplementedError

    def list_records(self, workspace: Workspace, *, before: int, limit: int) -> RecordList:
        """Return current records, the newest first."""
        with self._store(workspace) as store:
            return list_records(store, before, limit) if store else RecordList()

    def home(self, workspace: Workspace, ledger: Ledger, view: HomeView) -> Home:
        """Return the list of records, of all sources or one, those that have words, or the record `view.name`."""
        from windrow.adapters.record_home import show_home  # noqa: PLC0415 loaded when used

        sources = list_sources(workspace, ledger, self._name)
        with self._store(workspace) as store:
            return show_home(store, ledger, ShownCollection(self._name, sources, self._faces()), view)

    def knows(self, workspace: Workspace, ledger: Ledger, name: str) -> bool:  # noqa: ARG002 others need the ledger
        """Return whether there is a record with this key."""
        with self._store(workspace) as store:
            return store is not None and store.has_record(name)

    def _faces(self) -> RecordFaces:
        """Return how records are shown. Subclasses may override this."""
        from windrow.adapters.record_home import PLAIN  # noqa: PLC0415 loaded when used

        return PLAIN
