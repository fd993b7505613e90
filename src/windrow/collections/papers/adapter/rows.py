"""Brings the rows of the table up to date with the records, and matches papers with the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import record_id
from windrow.collections.papers.collection import KeyForm
from windrow.collections.papers.columns import (
    EXTRACTED,
    FAMILIES,
    GENERATION,
    SMALL,
    FoundCapture,
    Put,
    WideTable,
    absent_columns,
    capture_location,
    indexed_location,
    make_cells,
    merge_with_foreign,
)
from windrow.collections.papers.database.index import CatalogueIndex, read_lines
from windrow.collections.papers.database.store import PaperRecord, PaperStore, RowRegister
from windrow.collections.papers.database.wide import open_table
from windrow.collections.papers.extract import is_declined
from windrow.collections.papers.finding import parse_digest, row_key
from windrow.collections.papers.verdict import STUBS, judge, matched_slug, read_paper
from windrow.config import Workspace
from windrow.errors import ArchiveError, UsageError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.rows import CapturedRow
from windrow.model import KeptResponse

_PAGE = 64
_LINES = 50_000
_LONGEST_ID = 256


class Places(NamedTuple):
    """The paths, names and settings of a workspace's papers."""

    store: Path
    table: str
    name: str
    form: KeyForm
    shape: str
    catalogue: tuple[Path, ...]
    catalogue_index: Path
    register: Path
    ledger: Path
    archive: Path
    roots: tuple[Path, ...]
    force: bool


def places(workspace: Workspace, store: Path, options: Mapping[str, Any], roots: tuple[Path, ...]) -> Places:
    """Read the settings of the table."""
    root = workspace.root
    table = str(options["table"])
    return Places(
        store,
        table if table.startswith("hbase:") else str(root / table),
        f"wbgrp-journal-extract-{options['table_version']}-{options['table_env']}",
        KeyForm(options["table_key_form"]), str(options["tei_json"]),
        tuple(root / path for path in options["catalogue"]),
        root / str(options["catalogue_index"]),
        store.with_suffix(".rows.db"),
        workspace.ledger, workspace.archive.folder, roots, bool(options["force_existing"]),
    )  # fmt: skip


@contextmanager
def open_rows(settings: Places, *, read_only: bool = False) -> Iterator[WideTable]:
    """Open the table of rows."""
    with closing(open_table(settings.table, settings.name, FAMILIES, read_only=read_only)) as table:
        yield table


def bring_up_to_date(settings: Places, pulse: Callable[[], bool]) -> str:
    """Import new files of the catalogue and write the rows of all changed papers; return a summary as text."""
    with ExitStack() as stack:
        store = stack.enter_context(closing(PaperStore(settings.store)))
        register = stack.enter_context(_open_register(settings))
        index = _open_catalogue(stack, settings, register, pulse)
        catalogue = index.version() if index else 0
        inputs = json.dumps([*_key_settings(settings), settings.shape, catalogue, GENERATION, settings.force])
        if register.meta("made") != inputs:
            store.mark_stale()
            store.mark_stale(register.keys())
            register.put_meta("made", inputs)
        if not store.count_stale():
            return "all rows are up to date"
        table = stack.enter_context(open_rows(settings))
        ledger = stack.enter_context(closing(Ledger(settings.ledger)))
        written = removed = unread_count = 0
        while pulse() and (keys := store.stale_keys(_PAGE)):
            added, deleted, declined = _write_rows(keys, settings, _OpenStores(store, register, table, index, ledger))
            store.mark_written(keys)
            written, removed, unread_count = written + added, removed + deleted, unread_count + declined
    note = (
        f"; {counted(unread_count, 'PDF')} not read: pip install 'windrow[pdf]', then: windrow replay"
        if unread_count
        else ""
    )
    return f"{counted(written, 'row')} written, {removed:,} removed{note}"


def _key_settings(settings: Places) -> list[str]:
    """Return the values that the register's keys depend on: the table, its name and the form of its keys."""
    return [settings.table, settings.name, settings.form]


@contextmanager
def _open_register(settings: Places) -> Iterator[RowRegister]:
    """Open the register of rows; clear it if it was written for another table."""
    with closing(RowRegister(settings.register)) as register:
        written_for = register.meta("made")
        if written_for and json.loads(written_for)[:3] != _key_settings(settings):
            register.clear()
        yield register


class _OpenStores(NamedTuple):
    """The stores that are open while rows are written."""

    store: PaperStore
    register: RowRegister
    table: WideTable
    catalogue: CatalogueIndex | None
    ledger: Ledger


def _write_rows(keys: Sequence[str], settings: Places, stores: _OpenStores) -> tuple[int, int, int]:
    """Write the rows of papers; return how many were written and removed, and how many PDFs could not be read."""
    store, register, table, index, ledger = stores
    papers = {key: store.paper(key) for key in keys}
    missing = [key for key, paper in papers.items() if paper is None]
    present = {key: paper for key, paper in papers.items() if paper is not None}
    by_key = {key: row_key(parse_digest(key), settings.form) for key in keys}
    made_here = register.owns(keys)
    fresh = [key for key in present if key not in made_here]
    other_columns = _read_other_columns(table, {key: by_key[key] for key in present if not made_here.get(key, False)})
    made_here |= {key: key not in other_columns for key in fresh}
    written_columns = register.written_columns([key for key in (*present, *missing) if not made_here.get(key, True)])
    found_at = _first_captures(present.values(), settings, ledger)
    puts, registered_columns = [], []
    for key, paper in present.items():
        cells = make_cells(paper.value, paper.aside, found_at[key], _match(paper, index), settings.shape)
        if made_here[key]:
            puts.append(Put(by_key[key], cells, absent_columns(cells)))
            continue
        change = merge_with_foreign(
            cells,
            other_columns.get(key, frozenset()) - written_columns[key],
            written_columns[key],
            force=settings.force,
        )
        puts.append(Put(by_key[key], *change))
        registered_columns += [(key, column) for column in change[0]]
    register.add(((key, made_here[key]) for key in fresh), registered_columns)
    table.put(puts)
    dropped = [key for key in missing if key in made_here]
    kept_keys = {key for key in dropped if not made_here[key] and not store.taken_down(key)}
    table.put([Put(by_key[key], {}, tuple(sorted(written_columns[key]))) for key in sorted(kept_keys)])
    table.delete([by_key[key] for key in dropped if key not in kept_keys])
    register.remove(dropped)
    return len(puts), len(dropped), sum(is_declined(paper.value) for paper in present.values())


def _read_other_columns(table: WideTable, by_key: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    """Return the columns of the rows that exist, except the large ones."""
    columns_by_key: dict[bytes, set[str]] = {}
    for columns in SMALL:
        for key, cells in table.get_many([*by_key.values()], columns).items():
            columns_by_key.setdefault(key, set()).update(cells)
    return {
        key: frozenset(columns_by_key[table_key]) for key, table_key in by_key.items() if table_key in columns_by_key
    }


def extracted_by_others(settings: Places, keys: Sequence[str]) -> set[str]:
    """Return the papers whose rows have another extractor's outcome: they need not be sent to GROBID."""
    by_key = {key: row_key(parse_digest(key), settings.form) for key in keys}
    with _open_register(settings) as register, open_rows(settings) as table:
        rows = table.get_many([*by_key.values()], (EXTRACTED,))
        made_here, written_columns = register.owns(keys), register.written_columns(keys)
    return {
        key for key, table_key in by_key.items()
        if table_key in rows and not made_here.get(key, False) and EXTRACTED not in written_columns[key]
    }  # fmt: skip


def _first_captures(papers: Iterable[PaperRecord], settings: Places, ledger: Ledger) -> dict[str, FoundCapture]:
    """Return each paper's first capture; if it is from a foreign WARC file, with its location in that file."""
    papers = list(papers)
    recorded = {attempt.seq: attempt for attempt in ledger.attempts.by_numbers([paper.first for paper in papers])}
    captures = {}
    for paper in papers:
        place = dict(capture_location(recorded[paper.first])) if paper.first in recorded else {}
        capture = ledger.captures.captured(paper.first)
        arc = capture is not None and capture.warc.lower().endswith((".arc", ".arc.gz"))
        if place and capture is not None and not capture.original:
            place |= {"warc": _file_name(capture, settings.roots), "offset": capture.offset}
            if capture.line is not None:
                place |= indexed_location(capture.line, str(place["url"]))
            elif arc:  # its record was written anew
                place["c_size"] = None
        ident = "" if arc or not place else _record_id(settings.archive, recorded[paper.first].attempt.kept)
        captures[paper.key] = FoundCapture(place, paper.seen, ident)
    return captures


def _record_id(archive: Path, response: KeptResponse | None) -> str:
    """Return the id of a capture's record, which is that of its original; empty if the archive lacks the record."""
    if response is None or not response.place.warc:
        return ""
    with suppress(ArchiveError):
        ident = record_id(archive, response.place)
        return ident if ident.isascii() and ident.isprintable() and len(ident) <= _LONGEST_ID else ""
    return ""


def _file_name(capture: CapturedRow, roots: Sequence[Path]) -> str:
    """Return a file's name with its folder as in its index; if it has none, its path below the source's folder."""
    path = Path(capture.warc)
    if capture.line and "/" in capture.line.warc:
        return capture.line.warc
    if not path.is_absolute():  # its file is on no disk here, and its name that of the index
        return str(path)
    root = next((root for root in roots if root != path and path.is_relative_to(root)), path.parent)
    return str(path.relative_to(root))


def _match(paper: PaperRecord, index: CatalogueIndex | None) -> dict[str, Any] | None:
    if index is None:
        return None
    metadata = paper.aside.get("tei_json") or (paper.value.get("text") or {}).get("info")
    if not metadata:
        return None
    subject = read_paper(metadata, matched_slug(metadata.get("title") or "", STUBS))
    verdict = judge(subject, index.candidates(subject))
    return {"match0:mstatus": verdict.status, "match0:doi": verdict.doi or None, "match0:minfo": verdict.info}


def _open_catalogue(
    stack: ExitStack, settings: Places, register: RowRegister, pulse: Callable[[], bool]
) -> CatalogueIndex | None:
    """Open the catalogue's index, and import files that are new or changed; return None if there is no catalogue."""
    files = sorted({file for path in settings.catalogue for file in _files(path)})
    if not files and not settings.catalogue_index.is_file():
        return None
    index = stack.enter_context(closing(CatalogueIndex(settings.catalogue_index, stubs=STUBS)))
    for path in files:
        state = path.stat()
        stamp = f"{state.st_size} {state.st_mtime_ns}"
        if register.meta(f"file {path}") == stamp:
            continue
        lines = _yield_until_stopped(read_lines(path), pulse)
        index.take(lines)
        if not pulse():
            break
        register.put_meta(f"file {path}", stamp)
    return index


def _yield_until_stopped(lines: Iterator[bytes], pulse: Callable[[], bool]) -> Iterator[bytes]:
    """Yield lines until the run is stopped: imported works stay, and the next run starts the file again."""
    for number, line in enumerate(lines):
        if not number % _LINES and not pulse():
            return
        yield line


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in path.rglob("*") if file.is_file()]
    if path.is_file():
        return [path]
    raise UsageError(f"the catalogue {path} does not exist", hint="windrow config papers.catalogue")


def erase_deleted(settings: Places, pulse: Callable[[], object]) -> bool:
    """Erase removed rows from the table's file; return False if another process prevents that."""
    with suppress(FileNotFoundError), open_rows(settings) as table:
        return table.erase_deleted(pulse)
    return True
