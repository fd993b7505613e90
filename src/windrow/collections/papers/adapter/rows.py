"""The rows of the table: brought up to date with the records, and matched with the catalogue on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import record_id
from windrow.collections.papers import row
from windrow.collections.papers.collection import KeyForm
from windrow.collections.papers.columns import FAMILIES, Put, WideTable
from windrow.collections.papers.database.index import CatalogueIndex, read_lines
from windrow.collections.papers.database.store import PaperRecord, PaperStore, RowBook
from windrow.collections.papers.database.wide import open_table
from windrow.collections.papers.extract import is_declined
from windrow.collections.papers.finding import named, row_key
from windrow.collections.papers.verdict import STUBS, judge, matched_slug, paper
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
    """Where everything is, by the configuration."""

    store: Path
    table: str
    name: str
    form: KeyForm
    shape: str
    catalogue: tuple[Path, ...]
    catalogue_index: Path
    book: Path
    ledger: Path
    archive: Path
    roots: tuple[Path, ...]
    force: bool


def places(workspace: Workspace, store: Path, told: Mapping[str, Any], roots: tuple[Path, ...]) -> Places:
    """Read the settings of the table."""
    root = workspace.root
    table = str(told["table"])
    return Places(
        store,
        table if table.startswith("hbase:") else str(root / table),
        f"wbgrp-journal-extract-{told['table_version']}-{told['table_env']}",
        KeyForm(told["key"]), str(told["tei_json"]),
        tuple(root / one for one in told["catalogue"]),
        root / str(told["catalogue_index"]),
        store.with_suffix(".rows.db"),
        workspace.ledger, workspace.archive.folder, roots, bool(told["force_existing"]),
    )  # fmt: skip


@contextmanager
def opened(where: Places, *, read_only: bool = False) -> Iterator[WideTable]:
    """Open the table of rows."""
    with closing(open_table(where.table, where.name, FAMILIES, read_only=read_only)) as table:
        yield table


def bring_up_to_date(where: Places, pulse: Callable[[], bool]) -> str:
    """Take new files of the catalogue in, then write the rows of all papers that changed; say what was done."""
    with ExitStack() as stack:
        store = stack.enter_context(closing(PaperStore(where.store)))
        book = stack.enter_context(_open_book(where))
        index = _catalogue(stack, where, book, pulse)
        catalogue = index.version() if index else 0
        now = json.dumps([*_place(where), where.shape, catalogue, row.GENERATION, where.force])
        if book.meta("made") != now:
            store.touch()
            store.touch(book.keys())
            book.put_meta("made", now)
        if not store.waiting_rows():
            return "all rows are as they should be"
        table = stack.enter_context(opened(where))
        ledger = stack.enter_context(closing(Ledger(where.ledger)))
        written = removed = unread = 0
        while pulse() and (keys := store.unwritten(_PAGE)):
            made, gone, declined = _write(keys, where, _Open(store, book, table, index, ledger))
            store.written(keys)
            written, removed, unread = written + made, removed + gone, unread + declined
    told = f"; {counted(unread, 'PDF')} not read: pip install 'windrow[pdf]', then: windrow replay" if unread else ""
    return f"{counted(written, 'row')} written, {removed:,} removed{told}"


def _place(where: Places) -> list[str]:
    """Return what the keys of the book stand for: the table, its name and the form of its keys."""
    return [where.table, where.name, where.form]


@contextmanager
def _open_book(where: Places) -> Iterator[RowBook]:
    """Open the book of rows; what it has of another table is removed: rows of the same keys there are others'."""
    with closing(RowBook(where.book)) as book:
        made = book.meta("made")
        if made and json.loads(made)[:3] != _place(where):
            book.clear()
        yield book


class _Open(NamedTuple):
    """What is open while rows are written."""

    store: PaperStore
    book: RowBook
    table: WideTable
    catalogue: CatalogueIndex | None
    ledger: Ledger


def _write(keys: Sequence[str], where: Places, at: _Open) -> tuple[int, int, int]:
    """Write the rows of some papers; return how many, how many were removed, and of how many no text could be read."""
    store, book, table, index, ledger = at
    found = {key: store.paper(key) for key in keys}
    gone = [key for key, one in found.items() if one is None]
    present = {key: one for key, one in found.items() if one is not None}
    by_key = {key: row_key(named(key), where.form) for key in keys}
    owned = book.owns(keys)
    fresh = [key for key in present if key not in owned]
    there = _others(table, {key: by_key[key] for key in present if not owned.get(key, False)})
    owned |= {key: key not in there for key in fresh}
    written = book.written([key for key in (*present, *gone) if not owned.get(key, True)])
    found_at = _found(present.values(), where, ledger)
    puts, noted = [], []
    for key, one in present.items():
        cells = row.cells(one.value, one.aside, found_at[key], _match(one, index), where.shape)
        if owned[key]:
            puts.append(Put(by_key[key], cells, row.cleared(cells)))
            continue
        change = row.beside_others(cells, there.get(key, frozenset()) - written[key], written[key], force=where.force)
        puts.append(Put(by_key[key], *change))
        noted += [(key, column) for column in change[0]]
    book.note(((key, owned[key]) for key in fresh), noted)
    table.put(puts)
    dropped = [key for key in gone if key in owned]
    left = {key for key in dropped if not owned[key] and not store.taken_down(key)}
    table.put([Put(by_key[key], {}, tuple(sorted(written[key]))) for key in sorted(left)])
    table.delete([by_key[key] for key in dropped if key not in left])
    book.drop(dropped)
    return len(puts), len(dropped), sum(is_declined(one.value) for one in present.values())


def _others(table: WideTable, by_key: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    """Return the columns of rows that there are, but for the large ones."""
    found: dict[bytes, set[str]] = {}
    for columns in row.SMALL:
        for key, cells in table.get_many([*by_key.values()], columns).items():
            found.setdefault(key, set()).update(cells)
    return {key: frozenset(found[at]) for key, at in by_key.items() if at in found}


def extracted_by_others(where: Places, keys: Sequence[str]) -> set[str]:
    """Return the papers whose rows have what another extractor said: GROBID need not be asked about them."""
    by_key = {key: row_key(named(key), where.form) for key in keys}
    with _open_book(where) as book, opened(where) as table:
        rows = table.get_many([*by_key.values()], (row.EXTRACTED,))
        owned, written = book.owns(keys), book.written(keys)
    return {
        key for key, at in by_key.items()
        if at in rows and not owned.get(key, False) and row.EXTRACTED not in written[key]
    }  # fmt: skip


def _found(papers: Iterable[PaperRecord], where: Places, ledger: Ledger) -> dict[str, row.FoundCapture]:
    """Return where the first capture of each paper lies: of another maker's, where his index says, not our copy."""
    papers = list(papers)
    recorded = {one.seq: one for one in ledger.attempts.visits_named([paper.first for paper in papers])}
    found = {}
    for one in papers:
        place = dict(row.captured_at(recorded[one.first])) if one.first in recorded else {}
        taken = ledger.captures.captured(one.first)
        arc = taken is not None and taken.warc.lower().endswith((".arc", ".arc.gz"))
        if place and taken is not None and not taken.original:
            place |= {"warc": _file_name(taken, where.roots), "offset": taken.offset}
            if taken.line is not None:
                place |= row.indexed_at(taken.line, str(place["url"]))
            elif arc:  # its record was written anew
                place["c_size"] = None
        ident = "" if arc or not place else _record_id(where.archive, recorded[one.first].attempt.kept)
        found[one.key] = row.FoundCapture(place, one.seen, ident)
    return found


def _record_id(archive: Path, kept: KeptResponse | None) -> str:
    """Return the id of a capture's record, which our copy has of its original; empty where the archive lacks it."""
    if kept is None or not kept.place.warc:
        return ""
    with suppress(ArchiveError):
        ident = record_id(archive, kept.place)
        return ident if ident.isascii() and ident.isprintable() and len(ident) <= _LONGEST_ID else ""
    return ""


def _file_name(taken: CapturedRow, roots: Sequence[Path]) -> str:
    """Return a file's name as its index has it, with its item; else that below the folder that a source names."""
    path = Path(taken.warc)
    if taken.line and "/" in taken.line.warc:
        return taken.line.warc
    if not path.is_absolute():  # its file is on no disk here, and its name that of the index
        return str(path)
    root = next((root for root in roots if root != path and path.is_relative_to(root)), path.parent)
    return str(path.relative_to(root))


def _match(one: PaperRecord, index: CatalogueIndex | None) -> dict[str, Any] | None:
    if index is None:
        return None
    told = one.aside.get("tei_json") or (one.value.get("text") or {}).get("info")
    if not told:
        return None
    made = paper(told, matched_slug(told.get("title") or "", STUBS))
    verdict = judge(made, index.candidates(made))
    return {"match0:mstatus": verdict.status, "match0:doi": verdict.doi or None, "match0:minfo": verdict.info}


def _catalogue(stack: ExitStack, where: Places, book: RowBook, pulse: Callable[[], bool]) -> CatalogueIndex | None:
    """Open the catalogue, with what its files have that is not taken in yet; None where there is none."""
    files = sorted({file for path in where.catalogue for file in _files(path)})
    if not files and not where.catalogue_index.is_file():
        return None
    index = stack.enter_context(closing(CatalogueIndex(where.catalogue_index, stubs=STUBS)))
    for path in files:
        state = path.stat()
        stamp = f"{state.st_size} {state.st_mtime_ns}"
        if book.meta(f"file {path}") == stamp:
            continue
        lines = _until(read_lines(path), pulse)
        index.take(lines)
        if not pulse():
            break
        book.put_meta(f"file {path}", stamp)
    return index


def _until(lines: Iterator[bytes], pulse: Callable[[], bool]) -> Iterator[bytes]:
    """Yield lines until the run is to stop: what was taken stays, and the file is begun anew."""
    for number, line in enumerate(lines):
        if not number % _LINES and not pulse():
            return
        yield line


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [one for one in path.rglob("*") if one.is_file()]
    if path.is_file():
        return [path]
    raise UsageError(f"the catalogue {path} is not there", hint="windrow config papers.catalogue")


def scour(where: Places, pulse: Callable[[], object]) -> bool:
    """Leave nothing of removed rows in the table's file."""
    with suppress(FileNotFoundError), opened(where) as table:
        return table.scour(pulse)
    return True
