"""Update the rows of the table from the records, and match papers with the catalogue.

The key of a paper is `sha1:` and its digest in base 32; `row_key` makes the key of its row from the digest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import record_id
from windrow.collections.papers.adapter.catalogue_files import CatalogueState, update_index
from windrow.collections.papers.adapter.stored_rows import LookUp, find_foreign_columns, find_lost_rows
from windrow.collections.papers.capture_rules import PDF
from windrow.collections.papers.collection import KeyForm
from windrow.collections.papers.columns import (
    FAMILIES,
    ROWS_VERSION,
    STATUS_CODE_COLUMN,
    Cells,
    FoundCapture,
    Put,
    WideTable,
    capture_location,
    indexed_location,
    make_cells,
    merge_with_foreign,
)
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.database.store import PaperRecord, PaperStore, RowRegister
from windrow.collections.papers.database.wide import SqliteTable, open_table
from windrow.collections.papers.extract import is_declined
from windrow.collections.papers.matching import ACCEPTED, STUBS, match_paper, matched_slug, read_paper
from windrow.collections.papers.row_keys import parse_digest, row_key
from windrow.config import Workspace
from windrow.engine.run import Derived
from windrow.engine.takedown import kept_by_reader
from windrow.errors import ArchiveError, StoreError, WindrowError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.rows import CapturedRow
from windrow.model import KeptResponse
from windrow.stores.generations import begin_generation, is_older
from windrow.stores.store_mark import StoreMark, mark_written

_PAGE_SIZE = 64  # rows that are written at once
_MAX_RECORD_ID_CHARACTERS = 256


class PaperSettings(NamedTuple):
    """The paths and settings of a workspace's papers.

    `table` is the address of the table, a path or `hbase://HOST:PORT`, and `table_name` is the table's name.
    `tei_shape` is TABLE or LATER. `register` is the file of the RowRegister. `warc_folders` are the folders and WARC
    files of the sources. `looked_up_rows` is how many rows of earlier runs a run looks up in the table.
    """

    store: Path
    table: str
    table_name: str
    key_form: KeyForm
    tei_shape: str
    catalogue: tuple[Path, ...]
    catalogue_index: Path
    register: Path
    ledger: Path
    archive: Path
    warc_folders: tuple[Path, ...]
    force_existing: bool
    looked_up_rows: int


def read_settings(
    workspace: Workspace, store: Path, options: Mapping[str, Any], warc_folders: tuple[Path, ...]
) -> PaperSettings:
    """Return the settings of papers, with absolute paths; `options` are the collection's settings by name."""
    root = workspace.root
    table = str(options["table"])
    return PaperSettings(
        store,
        table if table.startswith("hbase:") else str(root / table),
        f"wbgrp-journal-extract-{options['table_version']}-{options['table_env']}",
        KeyForm(options["table_key_form"]), str(options["tei_json"]),
        tuple(root / path for path in options["catalogue"]),
        root / str(options["catalogue_index"]),
        store.with_suffix(".rows.db"),
        workspace.ledger, workspace.archive.folder, warc_folders, bool(options["force_existing"]),
        int(options["looked_up_rows"]),
    )  # fmt: skip


@contextmanager
def open_rows(settings: PaperSettings) -> Iterator[WideTable]:
    """Open the table of rows for a `with` block; create it if it does not exist."""
    with closing(open_table(settings.table, settings.table_name, FAMILIES)) as table:
        yield table


def read_marks(settings: PaperSettings, ledger: Ledger) -> dict[str, Callable[[], StoreMark]]:
    """Return how to read how far the table and its register go, if they are files.

    What another workspace wrote last is not compared, since a table may be shared.
    """
    owner = ledger.sessions.identity()

    def read_register() -> StoreMark:
        with closing(RowRegister(settings.register)) as register:
            return register.mark().within(owner)

    def read_table() -> StoreMark:
        with open_rows(settings) as table:
            return table.mark().within(owner) if isinstance(table, SqliteTable) else StoreMark()

    readers = {settings.register: read_register, Path(settings.table): read_table}
    return {path.name: read for path, read in readers.items() if path.is_file()}


def bring_up_to_date(settings: PaperSettings, pulse: Callable[[], bool]) -> Derived:
    """Update the catalogue's index, and write or remove the rows that are out of date, while `pulse` returns True.

    Return a summary, and errors by source. A row that the table refuses remains out of date; each run tries to write it
    again.
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(PaperStore(settings.store)))
        register = stack.enter_context(_open_register(settings))
        index = _open_catalogue(stack, settings)
        catalogue = update_index(index, settings.catalogue, pulse) if index else CatalogueState()
        catalogue_version = index.version() if index else ""
        inputs = _inputs(settings, catalogue_version)
        is_remade = register.meta("made") != inputs
        if is_remade:
            store.mark_stale()
            store.mark_stale(register.keys())
            register.put_meta("made", inputs)
        table = stack.enter_context(open_rows(settings))
        copies = [name for name, file in (("table", table), ("register", register)) if is_older(file, store)]
        look_up = LookUp(0, 0, ())
        if copies and not is_remade:
            store.mark_stale()
        elif not is_remade:
            look_up = find_lost_rows(
                store, register, table, settings.key_form, limit=settings.looked_up_rows, pulse=pulse
            )
            if look_up.lost:
                store.mark_stale(look_up.lost)
        if not store.count_stale():
            return _as_derived(_joined("all rows are up to date", look_up.describe()), catalogue, {})
        ledger = stack.enter_context(closing(Ledger(settings.ledger)))
        stores = _OpenStores(store, register, table, index, ledger, is_older_register="register" in copies)
        mark_written(StoreMark(ledger.sessions.identity(), store.checkpoint()), table, register)
        begin_generation(table, register, store)
        totals, refused, last_key, undrawn_example = Counter[str](), dict[str, str](), "", ""
        while pulse() and (keys := store.stale_keys(_PAGE_SIZE, last_key)):
            counts, refused_rows, undrawn = _write_rows(keys, settings, stores)
            totals.update(counts, undrawn=len(undrawn))
            refused |= refused_rows
            undrawn_example = undrawn_example or next((f"{key}: {problem}" for key, problem in undrawn.items()), "")
            store.mark_written([key for key in keys if key not in refused_rows])
            last_key = keys[-1]
        errors = _describe_refused(refused, store, ledger)
    unread = counted(totals["unread"], "PDF")
    note = f"; {unread} not read: pip install 'windrow[pdf]', then: windrow replay" if totals["unread"] else ""
    if copies and not is_remade:
        note += f"; the {' and the '.join(copies)} of rows had been replaced by an older copy, so all are written again"
    if undrawn_example:
        note += f"; {counted(totals['undrawn'], 'first page')} not drawn, such as that of {undrawn_example}"
    message = f"{counted(totals['written'], 'row')} written, {totals['removed']:,} removed{note}"
    return _as_derived(_joined(message, look_up.describe()), catalogue, errors)


def _joined(*messages: str) -> str:
    return "; ".join(filter(None, messages))


def _as_derived(message: str, catalogue: CatalogueState, errors: Mapping[str, str]) -> Derived:
    """Add the catalogue's changes to `message`, and its problems to `errors` as those of the source ""; return both."""
    problems = f"the catalogue: {catalogue.problems}; works imported earlier are kept" if catalogue.problems else ""
    no_source = _joined(errors.get("", ""), problems)
    return Derived(
        _joined(message, catalogue.changes),
        {**errors, **({"": no_source} if no_source else {})},
        left_out=catalogue.refused,
    )


def _describe_refused(refused: Mapping[str, str], store: PaperStore, ledger: Ledger) -> dict[str, str]:
    """Return a dict from source (empty: none) to a message about refused rows; `refused` is from paper to cause."""
    first_attempts = {key: paper.first_attempt if (paper := store.paper(key)) else 0 for key in refused}
    recorded = ledger.attempts.by_numbers([attempt for attempt in first_attempts.values() if attempt])
    source_of_attempt = {attempt.seq: attempt.source for attempt in recorded}
    keys_by_source: dict[str, list[str]] = {}
    for key, attempt in first_attempts.items():
        keys_by_source.setdefault(source_of_attempt.get(attempt, ""), []).append(key)
    return {
        source: f"the table refuses {counted(len(keys), 'row')}, such as that of {keys[0]}: {refused[keys[0]]}"
        "; each run tries to write them again"
        for source, keys in keys_by_source.items()
    }


def _inputs(settings: PaperSettings, catalogue_version: str) -> str:
    """Return as JSON what the rows depend on besides the records. If this JSON changes, all rows are written again."""
    options = [settings.tei_shape, catalogue_version, ROWS_VERSION, settings.force_existing]
    return json.dumps([*_key_settings(settings), *options])


def is_up_to_date(settings: PaperSettings) -> bool:
    """Return whether the rows were written with these settings and this catalogue, so that they can be compared."""
    with ExitStack() as stack:
        register = stack.enter_context(_open_register(settings))
        index = _open_catalogue(stack, settings)
        return register.meta("made") == _inputs(settings, index.version() if index else "")


def find_altered_rows(
    settings: PaperSettings, store: PaperStore, table: WideTable, ledger: Ledger
) -> Iterator[tuple[str, list[str]]]:
    """Yield (key, altered columns) for each paper whose row differs from what windrow writes.

    There are no columns if the table does not have the row. Cells of other programs are not compared.
    """
    with ExitStack() as stack:
        register = stack.enter_context(_open_register(settings))
        index = _open_catalogue(stack, settings)
        stores = _OpenStores(store, register, table, index, ledger)
        all_keys = store.papers()
        while keys := list(islice(all_keys, _PAGE_SIZE)):
            papers = {key: paper for key in keys if (paper := store.paper(key))}
            puts, _ = _make_puts(papers, register.own_columns(keys), settings, stores)
            stored_rows = table.get_many([put.key for put in puts.values()])
            for key, put in puts.items():
                cells = stored_rows.get(put.key, {})
                columns = [column for column, cell in put.cells.items() if cells.get(column) != cell]
                columns += [column for column in put.cleared if column in cells]
                if columns:
                    yield key, columns if cells else []


def _make_puts(
    papers: Mapping[str, PaperRecord],
    registered: Mapping[str, frozenset[str]],
    settings: PaperSettings,
    stores: _OpenStores,
) -> tuple[dict[str, Put], dict[str, frozenset[str]]]:
    """Return a dict from key to what to write for the paper, and a dict from key to the columns that windrow wrote.

    `registered` has the columns that windrow wrote according to the register. If the register is an older copy, windrow
    also wrote those families whose cells are in the table as it writes them. Cells of other programs are kept as
    `merge_with_foreign` explains.
    """
    row_keys = {key: row_key(parse_digest(key), settings.key_form) for key in papers}
    captures = _first_captures(papers.values(), settings, stores.ledger)
    new_cells = {
        key: make_cells(
            paper.value, paper.aside, captures[key], _match_cells(paper, stores.catalogue), settings.tei_shape
        )
        for key, paper in papers.items()
    }
    own_columns = {key: registered.get(key, frozenset()) for key in papers}
    if stores.is_older_register:
        rows = stores.table.get_many([*row_keys.values()])
        for key, cells in new_cells.items():
            own_columns[key] |= _families_as_written(cells, rows.get(row_keys[key], {}))
    foreign = find_foreign_columns(stores.table, row_keys, own_columns, new_cells)
    puts = {}
    for key, new in new_cells.items():
        cells, cleared = merge_with_foreign(
            new, foreign[key], own_columns[key], replace_foreign=settings.force_existing
        )
        puts[key] = Put(row_keys[key], cells, cleared)
    return puts, own_columns


def _families_as_written(new: Cells, stored: Cells) -> set[str]:
    """Return the columns of those families in which all new cells are stored."""
    differing = {name.partition(":")[0] for name, cell in new.items() if stored.get(name) != cell}
    return {name for name in new if name.partition(":")[0] not in differing}


def _key_settings(settings: PaperSettings) -> list[str]:
    """Return the settings for which the register is valid: the table and the form of its keys.

    The path of a table below the register's folder is relative to that folder, so that both can be moved.
    """
    folder, table = settings.register.parent, Path(settings.table)
    address = str(table.relative_to(folder)) if table.is_relative_to(folder) else settings.table
    return [address, settings.table_name, settings.key_form]


@contextmanager
def _open_register(settings: PaperSettings) -> Iterator[RowRegister]:
    """Open the register of rows for a `with` block, as that of the table and the form of keys in the settings."""
    with closing(RowRegister(settings.register)) as register:
        register.make_places_relative()
        written_for = json.loads(register.meta("made") or "[]")[:3]
        if written_for not in ([], _key_settings(settings)):
            register.use_place(json.dumps(written_for), json.dumps(_key_settings(settings)))
        yield register


class _OpenStores(NamedTuple):
    store: PaperStore
    register: RowRegister
    table: WideTable
    catalogue: CatalogueIndex | None
    ledger: Ledger
    is_older_register: bool = False


def _write_rows(
    keys: Sequence[str], settings: PaperSettings, stores: _OpenStores
) -> tuple[dict[str, int], dict[str, str], dict[str, str]]:
    """Write the rows of papers, and remove what windrow wrote for keys without a record.

    The row of a paper that was taken down is removed as a whole, even if other programs wrote in it. Return (counts,
    refused, undrawn). `counts` has the numbers of rows that were `written` and `removed`, and of PDFs that are
    `unread`. `refused` is a dict from the key of a paper to the reason why the table refuses its row, and `undrawn`
    from the key to the reason why its first page could not be drawn.
    """
    store, register, table, *_ = stores
    papers = {key: paper for key in keys if (paper := store.paper(key))}
    row_keys = {key: row_key(parse_digest(key), settings.key_form) for key in keys}
    registered = register.own_columns(keys)
    puts, own_columns = _make_puts(papers, registered, settings, stores)
    removed_keys = [key for key in keys if key in registered and key not in papers]
    taken_down = [key for key in removed_keys if store.taken_down(key)]
    removals = [Put(row_keys[key], {}, tuple(registered[key])) for key in removed_keys if key not in taken_down]
    # The register first has what may be written, in case this process is killed, and then what was written.
    before = {key: own_columns[key].union(put.cells) for key, put in puts.items()}
    register.put({key: columns for key, columns in before.items() if columns != registered.get(key)})
    refused_rows = table.put([*puts.values(), *removals])
    refused = {key: refused_rows[row_keys[key]] for key in keys if row_keys[key] in refused_rows}
    table.delete([row_keys[key] for key in taken_down])
    after = {
        key: own_columns[key] if key in refused else before[key].difference(put.cleared) for key, put in puts.items()
    }
    register.put({key: columns for key, columns in after.items() if columns != before[key]})
    register.remove([key for key in removed_keys if key not in refused])
    counts = {
        "written": sum(key not in refused for key in puts),
        "removed": sum(key not in refused for key in removed_keys),
        "unread": sum(is_declined(paper.value) for paper in papers.values()),
    }
    undrawn = {key: problem for key, paper in papers.items() if (problem := paper.aside.get("thumbnail_problem"))}
    return counts, refused, undrawn


def extracted_by_others(settings: PaperSettings, keys: Sequence[str]) -> set[str]:
    """Return the keys of papers whose rows have an outcome of GROBID that another program wrote."""
    row_keys = {key: row_key(parse_digest(key), settings.key_form) for key in keys}
    with _open_register(settings) as register, open_rows(settings) as table:
        rows = table.get_many([*row_keys.values()], (STATUS_CODE_COLUMN,))
        own_columns = register.own_columns(keys)
    return {
        key for key, table_key in row_keys.items()
        if table_key in rows and STATUS_CODE_COLUMN not in own_columns.get(key, ())
    }  # fmt: skip


def _first_captures(papers: Iterable[PaperRecord], settings: PaperSettings, ledger: Ledger) -> dict[str, FoundCapture]:
    """Return a dict from the key of each paper to its first capture.

    If the capture was copied into the archive from another WARC file, its location is that in the other file.
    """
    papers = list(papers)
    attempts = ledger.attempts.by_numbers([paper.first_attempt for paper in papers])
    recorded = {attempt.seq: attempt for attempt in attempts}
    captures = {}
    for paper in papers:
        first = recorded.get(paper.first_attempt)
        location = dict(capture_location(first)) if first else {}
        capture = ledger.captures.captured(paper.first_attempt)
        is_arc = capture is not None and capture.warc.lower().endswith((".arc", ".arc.gz"))
        if location and capture is not None and (capture.line or not capture.original):
            location |= {"warc": _file_name(capture, settings.warc_folders), "offset": capture.offset}
            if capture.line is not None:
                location |= indexed_location(capture.line, str(location["url"]))
            elif is_arc:  # the archive has the record in another format, so with another size
                location["c_size"] = None
        warc_record_id = _record_id(settings.archive, first.attempt.kept) if first and not is_arc else ""
        captures[paper.key] = FoundCapture(location, paper.capture_count, warc_record_id)
    return captures


def _record_id(archive: Path, response: KeptResponse | None) -> str:
    if response is None or not response.place.warc:
        return ""
    with suppress(ArchiveError):
        text = record_id(archive, response.place)
        return text if text.isascii() and text.isprintable() and len(text) <= _MAX_RECORD_ID_CHARACTERS else ""
    return ""


def _file_name(capture: CapturedRow, warc_folders: Sequence[Path]) -> str:
    """Return the name of a capture's WARC file, as it is written in rows.

    If the file is remote, or its name in the index has a folder, this is the name in the index. Otherwise, this is the
    path below the folder of the source, or only the file's name if the source does not name a folder that contains the
    file.
    """
    path = Path(capture.warc)
    if capture.line and "/" in capture.line.warc:
        return capture.line.warc
    if not path.is_absolute():  # the file is remote, so this is its name in the index
        return str(path)
    parents = (folder for folder in warc_folders if folder != path and path.is_relative_to(folder))
    return str(path.relative_to(next(parents, path.parent)))


def _match_cells(paper: PaperRecord, index: CatalogueIndex | None) -> dict[str, Any] | None:
    """Match a paper with the catalogue; return the contents of `match0`, or None without an index or metadata."""
    if index is None:
        return None
    tei, guess = paper.aside.get("tei_json") or {}, (paper.value.get("text") or {}).get("info")
    later = paper.aside.get("later_json") or {}  # has identifiers that the keys of the table do not have
    tei = {**{name: later[name] for name in ("arxiv_id", "pmid") if later.get(name)}, **tei}
    metadata = guess if guess and not tei.get("title") else tei
    if not metadata:
        return None
    verdicts = []
    for title in (metadata.get("title") or "", *metadata.get("other_titles", ())):
        subject = read_paper({**metadata, "title": title}, matched_slug(title, STUBS))
        subject = subject._replace(is_guessed=metadata is guess and paper.value["file"]["mime"] == PDF)
        verdicts.append(match_paper(subject, index.candidates(subject)))
    verdict = next((verdict for verdict in verdicts if verdict.status in ACCEPTED), verdicts[0])
    return {"match0:mstatus": verdict.status, "match0:doi": verdict.doi or None, "match0:minfo": verdict.info}


def _open_catalogue(stack: ExitStack, settings: PaperSettings) -> CatalogueIndex | None:
    if not settings.catalogue and not settings.catalogue_index.is_file():
        return None
    return stack.enter_context(closing(CatalogueIndex(settings.catalogue_index, stubs=STUBS)))


def clean_former_tables(settings: PaperSettings, pulse: Callable[[], object]) -> Iterator[str]:
    """Remove from former tables what windrow wrote there for papers that were taken down, and erase it from the files.

    Yield a message for each table in which such rows may remain. The row of a paper is removed as a whole, as in the
    present table.
    """
    with closing(PaperStore(settings.store)) as store, _open_register(settings) as register:
        keys_by_place: dict[str, list[str]] = {}
        for place, key in register.former_rows():
            pulse()
            if store.taken_down(key) and store.paper(key) is None:
                keys_by_place.setdefault(place, []).append(key)
        for place, keys in keys_by_place.items():
            address, name, key_form = json.loads(place)
            try:
                if not address.startswith("hbase:"):
                    address = str(settings.register.parent / address)
                    if not Path(address).is_file():
                        raise StoreError(f"{address} does not exist")
                with closing(open_table(address, name, FAMILIES)) as table:
                    table.delete([row_key(parse_digest(key), KeyForm(key_form)) for key in keys])
                    is_erased = table.erase_deleted(pulse)
            except WindrowError as error:
                yield (
                    f"not removed: {counted(len(keys), 'row')} in the former table {name}, which cannot be opened:"
                    f" {error}; make it available, then: windrow forget"
                )
                continue
            register.remove_former(place, keys)
            if not is_erased:
                yield kept_by_reader(Path(address))


def erase_deleted(settings: PaperSettings, pulse: Callable[[], object]) -> list[Path]:
    """Erase removed rows from the files of the table and the register; return the files that still contain any."""
    remaining = []
    with open_rows(settings) as table:
        if not table.erase_deleted(pulse):
            remaining.append(Path(settings.table))
    with _open_register(settings) as register:
        if not register.erase_deleted(pulse):
            remaining.append(settings.register)
    return remaining
