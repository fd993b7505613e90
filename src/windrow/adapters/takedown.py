"""Takedowns in all collections: the origins with a name, and lines that describe takedowns."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.config import Workspace
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import HostState


def named_origins(
    workspace: Workspace, ledger: Ledger, collection: str, name: str, host: str
) -> Iterator[tuple[HostState, str]]:
    """Yield (origin, source name) for each origin of the source `name` of a collection.

    If the collection has no such source, the origins of `host` are yielded, each with an empty text.
    """
    source = workspace.source(name)
    source_name = name if source and source.collection == collection else ""
    host_name = "" if source_name else host.lower()
    is_valid = source_name or (host_name and "/" not in host_name)
    for origin in ledger.addresses.host_states(source_name, host_name, 0) if is_valid else ():
        if origin.collection == collection:
            yield origin, source_name


def takedown_line(target: str, holder: str, reason: str) -> str:
    """Return a line on what was taken down, by whom and why."""
    return f"{target} taken down by {holder}" + (f": {reason}" if reason else "")


def unfinished_line(target: str) -> str:
    """Return a line on an unfinished takedown and how to finish it."""
    return f"the takedown of {target} was interrupted: windrow forget finishes it"
