"""List the records of a collection, and open its home."""

from __future__ import annotations

from windrow.adapters.adapter import ListsRecords, RecordList
from windrow.adapters.home import HasHome, Home, HomeView
from windrow.config import Workspace
from windrow.contract.registry import capable, installed
from windrow.errors import UsageError
from windrow.ledger import Ledger


def list_records(workspace: Workspace, collection: str, before: int, limit: int) -> RecordList:
    """Return current records, the newest first; raise UsageError for a collection that does not list its records."""
    adapter = capable(ListsRecords, {collection} & {*installed()}).get(collection)
    if adapter is None:
        listing = ", ".join(capable(ListsRecords))
        raise UsageError(f"{collection!r} does not list its records; collections that do are {listing}")
    return adapter.list_records(workspace, before=before, limit=limit)


def open_home(workspace: Workspace, ledger: Ledger, collection: str, view: HomeView) -> Home:
    """Return a view of a collection's home; raise UsageError for a collection that has none."""
    adapter = capable(HasHome, {collection} & {*installed()}).get(collection)
    if adapter is None:
        raise UsageError(f"{collection!r} has no home; collections that have one are {', '.join(capable(HasHome))}")
    return adapter.home(workspace, ledger, view)
