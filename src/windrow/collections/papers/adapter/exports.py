"""The exports of papers: the dumps and counts of the standard, and papers as JSON, Parquet, TEI and pictures."""

from __future__ import annotations

import io
import json
import tarfile
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TextIO

from windrow.adapters.adapter import Export
from windrow.collections.papers.adapter.catalogue_files import describe_losses
from windrow.collections.papers.adapter.rows import PaperSettings, open_rows
from windrow.collections.papers.adapter.texts import BINARY, NUMBER, TEXT, write_parquet, write_references, write_texts
from windrow.collections.papers.capture_rules import PDF
from windrow.collections.papers.columns import BYTES, ENCODINGS, INT64, Cells, decode, decode_row
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.matching import MAX_TITLE_CHARACTERS, STUBS, slug
from windrow.collections.papers.row_keys import digest_of, hex_of, key_text
from windrow.config import Workspace
from windrow.formats.text import json_text

ReadSettings = Callable[[Workspace], PaperSettings]
ExportWriter = Callable[[Workspace, str, TextIO], int]
"""A function that writes an export in a given form to a stream, and returns the number of lines, rows or files."""

DUMPS: Mapping[str, tuple[str, ...]] = {
    "ungrobided": ("f:c", "file:mime", "file:cdx"),
    "file-meta": ("file:cdx", "file:mime", "file:size"),
    "grobid-status-code": ("grobid0:status_code",),
    "grobid-meta-insertable": ("file:cdx", "file:mime", "file:size", "grobid0:metadata"),
}
"""The columns that follow the key in each form of a dump. Rows that lack one of these columns are left out."""

_COUNTED_COLUMNS = {
    "row": "f:c", "status": "grobid0:status", "status-code": "grobid0:status_code", "text-status": "text0:tstatus",
    "match-status": "match0:mstatus", "mime": "file:mime",
}  # fmt: skip

_UNDECODED = "undecoded"
"""The field of a row of `papers` for the cells that cannot be decoded: a dict from column to base64."""
_OUTCOME_COLUMNS = ("file:mime", "grobid0:status", "text0:tstatus")


def make_exports(read_settings: ReadSettings, write_versions: ExportWriter) -> tuple[Export, ...]:
    """Return the exports of papers; `write_versions` writes the export of the records' versions."""

    def bind(write: Callable[[PaperSettings, str, TextIO], int]) -> ExportWriter:
        return lambda workspace, form, output: write(read_settings(workspace), form, output)

    return (
        Export("papers", ("jsonl", "parquet"), "a line for each paper, with its whole row", bind(_write_papers)),
        Export("paper-versions", ("jsonl",), "a line for each version of each paper's record", write_versions),
        Export("paper-texts", ("parquet", "jsonl"), "the text of each paper, with typed fields", bind(write_texts)),
        Export("paper-references", ("jsonl", "parquet"), "each reference of each paper, with DOI and match",
               bind(write_references)),
        Export("paper-dump", (*DUMPS, "grobid-xml", "scorable"), "a dump, with tabs between fields", bind(_write_dump)),
        Export("paper-count", ("outcome", *_COUNTED_COLUMNS, "column"), "counts of rows", bind(_write_counts)),
        Export("paper-catalogue", ("tsv",), "the files of the catalogue, with works and refused records",
               bind(_write_catalogue), "files"),
        Export("paper-keys-missing", (*ENCODINGS,), "keys of rows that have f:c and lack a column", bind(_write_keys)),
        Export("paper-tei", ("tar",), "the TEI of each paper, in folders by digest", bind(_write_tei), "files"),
        Export("paper-thumbnails", ("tar",), "the first page of each paper as JPEG", bind(_write_thumbnails), "files"),
    )  # fmt: skip


def _write_papers(settings: PaperSettings, form: str, output: TextIO) -> int:
    """Write all rows, with decoded cells; return the number of rows.

    In JSON, bytes are a text or, if they are not UTF-8, base64 under the name of their column and `_base64`. So are
    cells of other programs that cannot be decoded; in Parquet, these are in the field `undecoded`.
    """
    if form == "parquet":
        types = {INT64: NUMBER, BYTES: BINARY}
        fields = {name: types.get(encoding, TEXT) for name, encoding in ENCODINGS.items()} | {_UNDECODED: TEXT}
        rows = (
            {name: json.dumps(cell) if isinstance(cell, dict) else cell for name, cell in row.items()}
            for row in _decoded_rows(settings)
        )
        return write_parquet(rows, {"key": TEXT, **fields}, output.buffer)
    count = 0
    for row in _decoded_rows(settings):
        undecoded = {f"{name}_base64": cell for name, cell in row.pop(_UNDECODED, {}).items()}
        texts = undecoded | dict(
            _text_of_bytes(name, cell) if isinstance(cell, bytes) else (name, cell) for name, cell in row.items()
        )
        output.write(json_text(texts, sort_keys=True) + "\n")
        count += 1
    return count


def _text_of_bytes(name: str, cell: bytes) -> tuple[str, str]:
    try:
        return name, cell.decode()
    except UnicodeDecodeError:
        return f"{name}_base64", b64encode(cell).decode()


def _decoded_rows(settings: PaperSettings) -> Iterator[dict[str, Any]]:
    """Yield the decoded cells of each row; cells that cannot be decoded are in `_UNDECODED`, in base64."""
    with open_rows(settings) as table:
        for key, cells in table.scan(tuple(ENCODINGS)):
            row = decode_row(cells)
            undecoded = {name: b64encode(cells[name]).decode() for name, content in row.items() if content is None}
            decoded = {name: content for name, content in row.items() if content is not None}
            yield {"key": key_text(key), **decoded} | ({_UNDECODED: undecoded} if undecoded else {})


def _write_dump(settings: PaperSettings, form: str, output: TextIO) -> int:
    count = 0
    for fields in _SPECIAL_DUMPS.get(form, _column_fields)(settings, form):
        output.write("\t".join(fields) + "\n")
        count += 1
    return count


def _column_fields(settings: PaperSettings, form: str) -> Iterator[Sequence[str]]:
    """Yield key and cells of each row that has all columns of `form`; `ungrobided` skips rows with a status code."""
    columns = DUMPS[form]
    scanned = (*columns, "grobid0:status_code") if form == "ungrobided" else columns
    with open_rows(settings) as table:
        for key, cells in table.scan(scanned):
            if all(name in cells for name in columns) and (form != "ungrobided" or "grobid0:status_code" not in cells):
                yield key_text(key), *(_cell_text(name, cells) for name in columns)


def _tei_fields(settings: PaperSettings, form: str) -> Iterator[Sequence[str]]:
    del form
    with open_rows(settings) as table:
        for key, cells in table.scan(("file:cdx", "grobid0:tei_xml")):
            if "grobid0:tei_xml" in cells and "file:cdx" in cells:
                dump = {
                    "pdf_hash": digest_of(key),
                    "cdx_metadata": cells["file:cdx"].decode("utf-8", "replace"),
                    "tei_xml": cells["grobid0:tei_xml"].decode("utf-8", "replace"),
                }
                yield key_text(key), json.dumps(dump)


def _match_fields(settings: PaperSettings, form: str) -> Iterator[Sequence[str]]:
    """Yield (slug, properties for matching as JSON) for each row with a usable title and GROBID's status 200."""
    del form
    with open_rows(settings) as table:
        for key, cells in table.scan(("grobid0:metadata", "grobid0:status_code")):
            metadata = decode("grobid0:metadata", cells.get("grobid0:metadata", b""))
            title = (metadata or {}).get("title") or ""
            title_slug = slug(title, STUBS) if len(title) <= MAX_TITLE_CHARACTERS else ""
            if metadata and title_slug and decode("grobid0:status_code", cells.get("grobid0:status_code", b"")) == 200:
                authors = [author.get("name") for author in metadata.get("authors") or ()]
                features = {"title": metadata["title"], "authors": authors, "year": 0, "sha1": key_text(key)}
                yield title_slug, json.dumps(features)


_SPECIAL_DUMPS: Mapping[str, Callable[[PaperSettings, str], Iterator[Sequence[str]]]] = {
    "grobid-xml": _tei_fields, "scorable": _match_fields,
}  # fmt: skip
"""For each form of a dump that is not in DUMPS, the function that yields the fields of its lines."""


def _write_counts(settings: PaperSettings, form: str, output: TextIO) -> int:
    """Write a line with a name, a tab and a number for each thing that `form` counts; return the number of lines."""
    counts = Counter[str]()
    columns = {"column": tuple(ENCODINGS), "outcome": _OUTCOME_COLUMNS}
    with open_rows(settings) as table:
        for _, cells in table.scan(columns.get(form) or (_COUNTED_COLUMNS[form],)):
            if form == "column":
                counts.update(cells.keys())
            elif form == "outcome":
                counts.update(_outcomes(cells))
            elif form == "row":
                counts["rows"] += 1
            else:
                content = decode(_COUNTED_COLUMNS[form], cells[_COUNTED_COLUMNS[form]])
                word = content.get("status") if isinstance(content, dict) else content
                counts["not decoded" if content is None else str(word)] += 1
    if form == "outcome" and settings.store.is_file():
        with closing(PaperStore(settings.store, read_only=True)) as store:
            counts.update({f"no row: {reason}": count for reason, count in store.skipped_without_record().items()})
    output.writelines(f"{name}\t{count}\n" for name, count in sorted(counts.items()))
    return len(counts)


def _outcomes(cells: Cells) -> Iterator[str]:
    has_outcome = False
    for column in ("grobid0:status", "text0:tstatus"):
        if column in cells:
            has_outcome = True
            status = decode(column, cells[column])
            words = ("not decoded",) if status is None else (status.get("status"), status.get("reason"))
            yield " ".join(str(word) for word in (column.partition(":")[0], *words) if word)
    if not has_outcome:
        media_type = decode("file:mime", cells.get("file:mime", b""))
        yield "waits for GROBID" if media_type == PDF else f"not extracted: {media_type}"


def _write_catalogue(settings: PaperSettings, form: str, output: TextIO) -> int:
    del form
    if not settings.catalogue_index.is_file():
        return 0
    with closing(CatalogueIndex(settings.catalogue_index, stubs=STUBS)) as index:
        files = index.files()
    for file in files:
        losses = describe_losses(file).removeprefix(", ") or "none refused"
        output.write("\t".join((file.path, str(file.works), losses, " ".join(file.problem.split()))) + "\n")
    return len(files)


def _write_keys(settings: PaperSettings, column: str, output: TextIO) -> int:
    count = 0
    with open_rows(settings) as table:
        for key, cells in table.scan(("f:c", column)):
            if "f:c" in cells and column not in cells:
                output.write(key_text(key) + "\n")
                count += 1
    return count


def _write_tei(settings: PaperSettings, form: str, output: TextIO) -> int:
    del form

    def files() -> Iterator[tuple[str, bytes]]:
        with open_rows(settings) as table:
            for key, cells in table.scan(("grobid0:tei_xml",)):
                yield f"{_path_in_tar(digest_of(key))}.tei.xml", cells["grobid0:tei_xml"]

    return _write_tar(files(), output)


def _write_thumbnails(settings: PaperSettings, form: str, output: TextIO) -> int:
    del form

    def files() -> Iterator[tuple[str, bytes]]:
        if not settings.store.is_file():
            return
        with closing(PaperStore(settings.store, read_only=True)) as store:
            for key in store.papers():
                paper = store.paper(key)
                if paper and paper.aside.get("thumbnail"):
                    yield f"{_path_in_tar(key.removeprefix('sha1:'))}.180px.jpg", b64decode(paper.aside["thumbnail"])

    return _write_tar(files(), output)


def _write_tar(files: Iterator[tuple[str, bytes]], output: TextIO) -> int:
    count = 0
    with tarfile.TarFile.open(mode="w|", fileobj=output.buffer) as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
            count += 1
    return count


def _path_in_tar(base32: str) -> str:
    name = hex_of(base32)
    return f"{name[:2]}/{name[2:4]}/{name}"


def _cell_text(column: str, cells: Cells) -> str:
    """Return the content of a cell as a text on one line; of a cell that cannot be decoded, the bytes as UTF-8."""
    content = decode(column, cells[column])
    content = cells[column].decode("utf-8", "replace") if content is None else content
    return json.dumps(content, sort_keys=True) if isinstance(content, dict) else " ".join(str(content).split())
