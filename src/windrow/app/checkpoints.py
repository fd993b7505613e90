"""Read how far each store of a workspace goes, to be compared with a ledger that may be an older copy."""

from __future__ import annotations

from contextlib import suppress

from windrow.adapters.adapter import harvested_collections
from windrow.config import Workspace
from windrow.contract.registry import adapter, installed
from windrow.errors import WindrowError
from windrow.ledger import Ledger


def read_checkpoints(workspace: Workspace, ledger: Ledger) -> dict[str, int]:
    """Return a dict from each store and projection to the number of the last fact that it has.

    A store that cannot be read is left out: the harvest of its collection fails.
    """
    checkpoints: dict[str, int] = {}
    for collection in sorted(harvested_collections(workspace, ledger) & {*installed()}):
        with suppress(WindrowError):
            for store, read_checkpoint in adapter(collection).checkpoints(workspace, ledger).items():
                with suppress(WindrowError):
                    checkpoints[store] = read_checkpoint()
    return checkpoints
