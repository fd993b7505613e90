"""Takedowns in all collections: find the hosts of a source or host name, and describe takedowns for people."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.config import Workspace
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import HostState


def named_origins(
    workspace: Workspace, ledger: Ledger, collection: str, name: str, *, host_name: str
) -> Iterator[tuple[HostState, str]]:
    """Yield (host, source name) for each host of the source `name` of a collection, which may be no longer declared.

    If the collection has no source of this name, its hosts with the name `host_name` are yielded, each with "". An
    empty `host_name`, or one that contains a slash, yields nothing.
    """
    source = workspace.source(name)
    if name and (source is None or source.collection == collection):
        hosts = [host for host in ledger.addresses.host_states(name, "", 0) if host.collection == collection]
        yield from ((host, name) for host in hosts)
        if hosts or source is not None:
            return
    if host_name and "/" not in host_name:
        for host in ledger.addresses.host_states("", host_name.lower(), 0):
            if host.collection == collection:
                yield host, ""


def sources_at(ledger: Ledger, origin: str) -> Iterator[HostState]:
    """Yield the hosts with this origin, one for each source that has it."""
    for host in ledger.addresses.host_states("", origin.partition("://")[2], 0):
        if host.origin == origin:
            yield host


def takedown_line(target: str, process: str, reason: str) -> str:
    """Return a line that says what was taken down, by which process and why. An empty `reason` is left out."""
    return f"{target} taken down by {process}" + (f": {reason}" if reason else "")


def unfinished_line(target: str) -> str:
    """Return a line that says that a takedown was interrupted, and which command finishes it."""
    return f"the takedown of {target} was interrupted: windrow forget finishes it"
