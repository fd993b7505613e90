"""Compare all stores and projections with a ledger that may be an older copy, before a run adds facts to it."""

from __future__ import annotations

from contextlib import closing, suppress

from windrow.config import Workspace
from windrow.contract.registry import adapter, installed
from windrow.engine.older_ledger import has_session_mark, mark_session
from windrow.engine.run import closing_all
from windrow.errors import StoreError, WindrowError
from windrow.ledger import Ledger
from windrow.ledger.facts import last_number


def compare_stores(config: Workspace) -> None:
    """Raise StoreError, which names every store that is ahead of the ledger; otherwise note that all were compared.

    Stores are only compared if the archive does not name its last session, as after an operator restored a ledger. A
    store that cannot be opened is not compared: its own harvest fails.
    """
    folder = config.archive.folder
    if not (folder.is_dir() and config.ledger.exists()) or has_session_mark(folder):
        return
    with closing(Ledger(config.ledger)) as ledger:
        last_fact = last_number(ledger)
        later_stores = [
            f"{name} (up to {checkpoint})"
            for name in sorted({source.collection for source in config.sources} & {*installed()})
            if (checkpoint := _read_checkpoint(config, name)) > last_fact
        ]
        if later_stores:
            raise StoreError(
                f"the ledger ends with fact {last_fact}, but the stores of {', '.join(later_stores)} have later facts",
                hint="restore the newest copy of the ledger, or move these stores away and: windrow run",
            )
        mark_session(folder, ledger, 0)


def _read_checkpoint(config: Workspace, name: str) -> int:
    """Return the number of the last fact in the stores of a collection, or 0 if they cannot be opened."""
    with suppress(WindrowError):
        harvest = adapter(name).harvest(config)
        stores = [store for store in (harvest.version_store, harvest.projection) if store]
        opened = [store for store in (harvest.store, harvest.version_store, harvest.projection) if store]
        with closing_all(*(store.close for store in opened)):
            return max((store.checkpoint() for store in stores), default=0)
    return 0
