"""Export what a workspace holds: an index of the archive, and what each collection can write."""

from __future__ import annotations

from collections.abc import Container
from contextlib import closing
from typing import TextIO

from windrow.adapters.adapter import Export, Exports, harvested_collections
from windrow.config import Workspace
from windrow.contract.registry import capable
from windrow.engine.check import index_lines
from windrow.errors import UsageError
from windrow.ledger import Ledger


def captures(workspace: Workspace, form: str, stream: TextIO) -> int:
    """Write a CDXJ line for every capture, in CDXJ order, with file names relative to the archive; return the count."""
    del form
    count = 0
    if not workspace.ledger.exists():
        return count
    with closing(Ledger(workspace.ledger)) as ledger:
        for line in index_lines(ledger, *ledger.captures.sessions()):
            stream.write(f"{line}\n")
            count += 1
    return count


def forms(collections: Container[str] | None = None) -> dict[str, Export]:
    """Return all exports, or those of some collections, by name."""
    exports = {"captures": Export("captures", ("cdxj",), "an index of the archive", captures)}
    return exports | {
        export.name: export for adapter in capable(Exports, collections).values() for export in adapter.EXPORTS
    }


def export(workspace: Workspace, name: str, form: str, stream: TextIO) -> tuple[int, str]:
    """Write an export to a UTF-8 stream; return how many units were written, and the name of the unit."""
    exports = forms(harvested_collections(workspace))
    if name not in exports:
        exports = forms()  # a collection that was never harvested exports no rows
    if name not in exports:
        raise UsageError(f"there is no {name!r} to export; there is {', '.join(sorted(exports))}")
    chosen = exports[name]
    if form not in chosen.forms:
        raise UsageError(f"{name} cannot be written as {form!r}; there is {', '.join(chosen.forms)}")
    return chosen.write(workspace, form, stream), chosen.unit
