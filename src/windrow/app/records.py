"""List the records of a collection."""

from __future__ import annotations

from windrow.adapters.adapter import ListsRecords, RecordList
from windrow.config import Workspace
from windrow.contract.registry import capable, installed
from windrow.errors import UsageError


def list_records(workspace: Workspace, collection: str, before: int, limit: int) -> RecordList:
    """Return current records, the newest first; raise UsageError for a collection that does not list its records."""
    adapter = capable(ListsRecords, {collection} & {*installed()}).get(collection)
    if adapter is None:
        listing = ", ".join(capable(ListsRecords))
        raise UsageError(f"{collection!r} does not list its records; collections that do are {listing}")
    return adapter.list_records(workspace, before=before, limit=limit)
