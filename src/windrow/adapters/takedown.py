"""Takedowns in all collections: find the hosts of a source or host name, and describe takedowns for people."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.config import Workspace
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import HostState


def named_origins(
    workspace: Workspace, ledger: Ledger, collection: str, name: str, *, host_name: str
) -> Iterator[tuple[HostState, str]]:
    """Yield (host, source name) for each host of the source `name` of a collection.

    If the collection has no source of this name, its hosts with the name `host_name` are yielded, each with "". An
    empty `host_name`, or one that contains a slash, yields nothing.
    """
    source = workspace.source(name)
    source_name = name if source and source.collection == collection else ""
    wanted_name = "" if source_name else host_name.lower()
    is_valid = source_name or (wanted_name and "/" not in wanted_name)
    for host in ledger.addresses.host_states(source_name, wanted_name, 0) if is_valid else ():
        if host.collection == collection:
            yield host, source_name


def takedown_line(target: str, process: str, reason: str) -> str:
    """Return a line that says what was taken down, by which process and why. An empty `reason` is left out."""
    return f"{target} taken down by {process}" + (f": {reason}" if reason else "")


def unfinished_line(target: str) -> str:
    """Return a line that says that a takedown was interrupted, and which command finishes it."""
    return f"the takedown of {target} was interrupted: windrow forget finishes it"
