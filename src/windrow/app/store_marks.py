"""Read how far each store of a workspace goes, and whose it is, to be compared with the ledger."""

from __future__ import annotations

from contextlib import suppress

from windrow.adapters.adapter import harvested_collections
from windrow.config import Workspace
from windrow.contract.registry import adapter, installed
from windrow.errors import WindrowError
from windrow.ledger import Ledger
from windrow.stores.store_mark import StoreMark


def read_marks(workspace: Workspace, ledger: Ledger) -> dict[str, StoreMark]:
    """Return a dict from each store and projection to its mark.

    A store that cannot be read is left out: the harvest of its collection fails.
    """
    marks: dict[str, StoreMark] = {}
    for collection in sorted(harvested_collections(workspace, ledger) & {*installed()}):
        with suppress(WindrowError):
            for store, read_mark in adapter(collection).marks(workspace, ledger).items():
                with suppress(WindrowError):
                    marks[store] = read_mark()
    return marks
