"""The exports of a workspace: the archive or its index, and the exports of each collection."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Container, Mapping
from contextlib import closing
from functools import partial
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TextIO, TypeVar

from windrow.adapters.adapter import Export, Exports, harvested_collections
from windrow.adapters.selection import EVERYTHING, ExportSelection
from windrow.archive.wacz import write_wacz
from windrow.caps import Excess
from windrow.clock import now
from windrow.config import Workspace
from windrow.contract.registry import capable
from windrow.engine.check import index_lines
from windrow.engine.returned_records import describe_returned
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.query.tree import is_time_prefix


def write_captures(workspace: Workspace, form: str, stream: TextIO) -> int:
    """Write a CDXJ line for each capture, or all captures as WACZ; return the number of captures.

    Lines are in the order of addresses and times. Raise UsageError for WACZ if there is no ledger, or if a WARC file
    has records again that were taken down.
    """
    if not workspace.ledger.exists():
        if form == "wacz":
            raise UsageError("there are no captures yet", hint="windrow run")
        return 0
    folder, count = workspace.archive.folder, 0
    with closing(Ledger(workspace.ledger)) as ledger:
        lines = index_lines(ledger, *ledger.captures.sessions())
        if form == "wacz":
            if returned := describe_returned(ledger, folder):
                raise UsageError(returned[0], hint="windrow run")
            return write_wacz(lines, folder, stream.buffer, title=workspace.name, created=now())
        for line in lines:  # each names its WARC file relative to the archive
            stream.write(f"{line}\n")
            count += 1
    return count


Written = TypeVar("Written", int, tuple[int, int, int])


def write_csv(
    write: Callable[..., Written], workspace: Workspace, form: str, stream: TextIO, *selection: ExportSelection
) -> Written:
    """Write an export as CSV (RFC 4180) if `form` is csv, otherwise as `write` does; return what `write` returns.

    The rows are made from the lines of JSON that `write` writes. The fields of an object are columns of their own, such
    as `value.title`; a list is written as JSON. An apostrophe is put before a text that a spreadsheet would take for a
    formula.
    """
    if form != "csv":
        return write(workspace, form, stream, *selection)
    with TemporaryFile("w+", encoding="utf-8") as lines:
        written = write(workspace, "jsonl", lines, *selection)
        lines.seek(0)
        columns = dict.fromkeys(column for line in lines for column in _flatten(json.loads(line)))
        lines.seek(0)
        writer = csv.DictWriter(stream, columns, restval="")
        writer.writeheader()
        writer.writerows(_flatten(json.loads(line)) for line in lines)
    return written


def _flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the fields of a record, and of the objects in it, by dotted name, as CSV values.

    A name that another field has already is followed by apostrophes.

    >>> _flatten({"key": "=1", "value": {"title": "T", "tags": ["a"]}, "value.title": "U"})
    {'key': "'=1", 'value.title': 'T', 'value.tags': '["a"]', "value.title'": 'U'}
    """
    cells: dict[str, Any] = {}
    for name, field in record.items():
        if isinstance(field, Mapping):
            nested = _flatten(field, f"{prefix}{name}.")
        elif isinstance(field, str):
            nested = {prefix + name: f"'{field}" if field.startswith(_FORMULA_STARTS) else field}
        else:
            nested = {prefix + name: "" if field is None else json.dumps(field, ensure_ascii=False)}
        for column, cell in nested.items():
            while column in cells:
                column += "'"  # noqa: PLW2901 the next free name
            cells[column] = cell
    return cells


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def exports_by_name(collections: Container[str] | None = None) -> dict[str, Export]:
    """Return a dict from name to export, of the archive and of `collections` (None means all)."""
    exports = {
        "captures": Export(
            "captures",
            ("cdxj", "wacz"),
            "an index of the archive, or the archive with its index",
            write_captures,
            "captures",
        )
    }
    return exports | {
        export.name: _with_csv(export)
        for adapter in capable(Exports, collections).values()
        for export in adapter.EXPORTS
    }


def _with_csv(export: Export) -> Export:
    if "jsonl" not in export.forms or "csv" in export.forms:
        return export
    write_selected = export.write_selected and partial(write_csv, export.write_selected)
    return export._replace(
        forms=(*export.forms, "csv"), write=partial(write_csv, export.write), write_selected=write_selected
    )


class ExportCounts(NamedTuple):
    """How many units an export wrote, left out because they are not valid, and left out because of the selection.

    `unit` is the name of the unit in the plural, such as "rows". `invalid_help` is that of the export. `excess` has
    what caps leave out.
    """

    unit: str
    written: int
    invalid: int = 0
    unselected: int = 0
    invalid_help: str = ""
    excess: tuple[Excess, ...] = ()


def write_export(
    workspace: Workspace, name: str, form: str, stream: TextIO, selection: ExportSelection = EVERYTHING
) -> ExportCounts:
    """Write an export to a UTF-8 stream; return how many units are written and left out.

    Raise UsageError for an unknown export, for a form that the export does not have, for a bound of `selection` that is
    not a time, and for a selection from an export that is always written whole.
    """
    exports = exports_by_name(harvested_collections(workspace))
    if name not in exports:
        exports = exports_by_name()  # a collection that was never harvested exports no rows
    if name not in exports:
        raise UsageError(f"there is no export {name!r}; the exports are {', '.join(sorted(exports))}")
    export = exports[name]
    if form not in export.forms:
        raise UsageError(f"{name} cannot be written as {form!r}; its forms are {', '.join(export.forms)}")
    if selection == EVERYTHING and export.write_selected is None:
        count = export.write(workspace, form, stream)
        invalid = export.count_left_out(workspace, form) if export.count_left_out else 0
        excess = export.find_excess(workspace, form) if export.find_excess else ()
        return ExportCounts(export.unit, count, invalid, invalid_help=export.invalid_help, excess=excess)
    for option, text in (("--start", selection.start), ("--end", selection.end)):
        if text and not is_time_prefix(text):
            raise UsageError(
                f"{option}: {text!r} is not a day, month, year or time", hint="2026-11-21, 2026-11 or 2026"
            )
    if export.write_selected is None:
        raise UsageError(f"{name} is exported whole", hint="leave out --start, --end and --only")
    counts = export.write_selected(workspace, form, stream, selection)
    return ExportCounts(export.unit, *counts, export.invalid_help)
