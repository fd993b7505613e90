"""The exports of a workspace: an index of the archive, and the exports of each collection."""

from __future__ import annotations

from collections.abc import Container
from contextlib import closing
from typing import TextIO

from windrow.adapters.adapter import Export, Exports, harvested_collections
from windrow.adapters.selection import EVERYTHING, ExportSelection
from windrow.config import Workspace
from windrow.contract.registry import capable
from windrow.engine.check import index_lines
from windrow.errors import UsageError
from windrow.ledger import Ledger


def write_captures(workspace: Workspace, form: str, stream: TextIO) -> int:
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


def exports_by_name(collections: Container[str] | None = None) -> dict[str, Export]:
    """Return the exports by name: those of all collections or of `collections`, and that of the archive."""
    exports = {"captures": Export("captures", ("cdxj",), "an index of the archive", write_captures)}
    return exports | {
        export.name: export for adapter in capable(Exports, collections).values() for export in adapter.EXPORTS
    }


def write_export(
    workspace: Workspace, name: str, form: str, stream: TextIO, selection: ExportSelection = EVERYTHING
) -> tuple[int, str]:
    """Write an export to a UTF-8 stream; return the number of units written, and the name of the unit, such as "rows".

    Raises UsageError for an unknown export, for a form that it does not have, and for a selection that it cannot make.
    """
    exports = exports_by_name(harvested_collections(workspace))
    if name not in exports:
        exports = exports_by_name()  # a collection that was never harvested exports no rows
    if name not in exports:
        raise UsageError(f"there is no export {name!r}; the exports are {', '.join(sorted(exports))}")
    export = exports[name]
    if form not in export.forms:
        raise UsageError(f"{name} cannot be written as {form!r}; its forms are {', '.join(export.forms)}")
    if selection == EVERYTHING:
        return export.write(workspace, form, stream), export.unit
    if export.write_selected is None:
        raise UsageError(f"{name} is exported whole: it has no times or fields to select by")
    return export.write_selected(workspace, form, stream, selection), export.unit
