"""Takedowns in all collections: the origins that a name stands for, and lines that describe takedowns."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.config import Workspace
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import HostState


def named_origins(
    workspace: Workspace, ledger: Ledger, collection: str, name: str, host: str
) -> Iterator[tuple[HostState, str]]:
    """Yield a collection's origins, with the name: those of the source `name`, or with an empty one those of a host."""
    source = workspace.source(name)
    mine = name if source and source.collection == collection else ""
    at = "" if mine else host.lower()
    for origin in ledger.addresses.host_states(mine, at, 0) if mine or (at and "/" not in at) else ():
        if origin.collection == collection:
            yield origin, mine


def takedown_line(target: str, holder: str, reason: str) -> str:
    """Return a sentence about what was taken down, by whom, and why."""
    return f"{target} taken down by {holder}" + (f": {reason}" if reason else "")


def unfinished_line(target: str) -> str:
    """Return a sentence about an unfinished takedown and how to finish it."""
    return f"the takedown of {target} was interrupted: windrow forget finishes it"
