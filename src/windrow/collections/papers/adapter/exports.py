"""Exports of the table: the standard's dumps and counts, and papers as JSON, Parquet, TEI and pictures."""

from __future__ import annotations

import io
import json
import tarfile
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import Any, BinaryIO, TextIO

from windrow.adapters.adapter import Export
from windrow.collections.papers.adapter.rows import Places, open_rows
from windrow.collections.papers.columns import ENCODINGS, decode, decode_row
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.finding import PDF, digest_of, hex_of
from windrow.collections.papers.verdict import STUBS, matched_slug
from windrow.config import Workspace
from windrow.errors import MissingExtra
from windrow.formats.text import json_text

Where = Callable[[Workspace], Places]
Writer = Callable[[Workspace, str, TextIO], int]
Cells = Mapping[str, bytes]

DUMPS: Mapping[str, tuple[str, ...]] = {
    "ungrobided": ("f:c", "file:mime", "file:cdx"),
    "file-meta": ("file:cdx", "file:mime", "file:size"),
    "grobid-status-code": ("grobid0:status_code",),
    "grobid-meta-insertable": ("file:cdx", "file:mime", "file:size", "grobid0:metadata"),
}
"""Columns of a dump after the key; a row that lacks one is left out."""

_BATCH = 500
_COUNTED = {
    "row": "f:c",
    "status": "grobid0:status",
    "status-code": "grobid0:status_code",
    "text-status": "text0:tstatus",
    "match-status": "match0:mstatus",
    "mime": "file:mime",
}
"""The column whose values a count is of."""
_OUTCOMES = ("file:mime", "grobid0:status", "text0:tstatus")


def exports(where: Where, versions: Writer) -> tuple[Export, ...]:
    """Return the exports; `where` returns a workspace's settings of papers, `versions` writes the records' versions."""

    def at(write: Callable[[Places, str, TextIO], int]) -> Writer:
        return lambda workspace, form, output: write(where(workspace), form, output)

    return (
        Export("papers", ("jsonl", "parquet"), "a line for each paper, with all that its row says", at(_write_papers)),
        Export("paper-versions", ("jsonl",), "a line for each version of each paper's record", versions),
        Export("paper-dump", (*DUMPS, "grobid-xml", "scorable"), "a dump, fields apart by tabs", at(_write_dump)),
        Export("paper-count", ("outcome", *_COUNTED, "column"), "counts of rows", at(_write_counts)),
        Export("paper-keys-missing", (*ENCODINGS,), "keys of rows that have f:c and lack a column", at(_write_lacking)),
        Export("paper-tei", ("tar",), "the TEI of each paper, a file each, in folders by digest", at(_tei), "files"),
        Export("paper-thumbnails", ("tar",), "the first page of each paper as JPEG", at(_thumbnails), "files"),
    )  # fmt: skip


def _write_papers(settings: Places, form: str, output: TextIO) -> int:
    """Write all rows decoded, without the TEI, which `paper-tei` exports."""
    if form == "parquet":
        return _write_parquet(settings, output.buffer)
    count = 0
    for row in _decoded_rows(settings):
        output.write(json_text(row, sort_keys=True) + "\n")
        count += 1
    return count


def _decoded_rows(settings: Places) -> Iterator[dict[str, Any]]:
    columns = [name for name, kind in ENCODINGS.items() if kind != "bytes"]
    with open_rows(settings) as table:
        for key, cells in table.scan(columns):
            yield {"key": _name(key), **decode_row(cells)}


def _write_parquet(settings: Places, output: BinaryIO) -> int:
    if find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "parquet")
    import pyarrow as pa  # noqa: PLC0415 an extra
    from pyarrow import parquet  # noqa: PLC0415 an extra

    fields = [("key", pa.string())]
    columns = {name: kind for name, kind in ENCODINGS.items() if kind != "bytes"}
    fields += [(name, pa.int64() if kind == "int64" else pa.string()) for name, kind in columns.items()]
    schema = pa.schema(fields)
    count, waiting = 0, []
    with parquet.ParquetWriter(output, schema, compression="zstd") as writer:
        for row in _decoded_rows(settings):
            waiting.append(
                {name: json.dumps(content) if isinstance(content, dict) else content for name, content in row.items()}
            )
            count += 1
            if len(waiting) == _BATCH:
                writer.write_table(pa.Table.from_pylist(waiting, schema))
                waiting.clear()
        writer.write_table(pa.Table.from_pylist(waiting, schema))
    return count


def _write_dump(settings: Places, form: str, output: TextIO) -> int:
    count = 0
    for fields in _SPECIAL.get(form, _plain)(settings, form):
        output.write("\t".join(fields) + "\n")
        count += 1
    return count


def _plain(settings: Places, form: str) -> Iterator[Sequence[str]]:
    columns = DUMPS[form]
    scanned = (*columns, "grobid0:status_code") if form == "ungrobided" else columns
    with open_rows(settings) as table:
        for key, cells in table.scan(scanned):
            if all(name in cells for name in columns) and (form != "ungrobided" or "grobid0:status_code" not in cells):
                yield _name(key), *(_spelled(name, cells) for name in columns)


def _xml(settings: Places, form: str) -> Iterator[Sequence[str]]:
    del form
    with open_rows(settings) as table:
        for key, cells in table.scan(("file:cdx", "grobid0:tei_xml")):
            if "grobid0:tei_xml" in cells and "file:cdx" in cells:
                dump = {
                    "pdf_hash": digest_of(key),
                    "cdx_metadata": cells["file:cdx"].decode("utf-8", "replace"),
                    "tei_xml": cells["grobid0:tei_xml"].decode("utf-8", "replace"),
                }
                yield _name(key), json.dumps(dump)


def _scorable(settings: Places, form: str) -> Iterator[Sequence[str]]:
    del form
    with open_rows(settings) as table:
        for key, cells in table.scan(("grobid0:metadata", "grobid0:status_code")):
            metadata = decode("grobid0:metadata", cells.get("grobid0:metadata", b""))
            slug = matched_slug((metadata or {}).get("title") or "", STUBS)
            if metadata and slug and decode("grobid0:status_code", cells.get("grobid0:status_code", b"")) == 200:
                authors = [author.get("name") for author in metadata.get("authors") or ()]
                features = {"title": metadata["title"], "authors": authors, "year": 0, "sha1": _name(key)}
                yield slug, json.dumps(features)


_SPECIAL: Mapping[str, Callable[[Places, str], Iterator[Sequence[str]]]] = {"grobid-xml": _xml, "scorable": _scorable}


def _write_counts(settings: Places, form: str, output: TextIO) -> int:
    counted = Counter[str]()
    columns = {"column": tuple(ENCODINGS), "outcome": _OUTCOMES}
    with open_rows(settings) as table:
        for _, cells in table.scan(columns.get(form) or (_COUNTED[form],)):
            if form == "column":
                counted.update(cells.keys())
            elif form == "outcome":
                counted.update(_outcomes(cells))
            elif form == "row":
                counted["rows"] += 1
            else:
                content = decode(_COUNTED[form], cells[_COUNTED[form]])
                counted[str(content.get("status") if isinstance(content, dict) else content)] += 1
    if form == "outcome" and settings.store.is_file():
        with closing(PaperStore(settings.store, read_only=True)) as store:
            counted.update({f"no row: {reason}": count for reason, count in store.skipped_without_record().items()})
    output.writelines(f"{name}\t{number}\n" for name, number in sorted(counted.items()))
    return len(counted)


def _outcomes(cells: Cells) -> Iterator[str]:
    """Yield the outcomes of GROBID and of the embedded extractor for a paper, or that it has neither."""
    ended = False
    for column in ("grobid0:status", "text0:tstatus"):
        if status := decode(column, cells.get(column, b"")):
            ended = True
            yield " ".join(filter(None, (column.partition(":")[0], status.get("status"), status.get("reason"))))
    if not ended:
        kind = decode("file:mime", cells.get("file:mime", b""))
        yield "waits for GROBID" if kind == PDF else f"not extracted: {kind}"


def _write_lacking(settings: Places, form: str, output: TextIO) -> int:
    count = 0
    with open_rows(settings) as table:
        for key, cells in table.scan(("f:c", form)):
            if "f:c" in cells and form not in cells:
                output.write(_name(key) + "\n")
                count += 1
    return count


def _tei(settings: Places, form: str, output: TextIO) -> int:
    del form

    def found() -> Iterator[tuple[str, bytes]]:
        with open_rows(settings) as table:
            for key, cells in table.scan(("grobid0:tei_xml",)):
                yield f"{_folder(digest_of(key))}.tei.xml", cells["grobid0:tei_xml"]

    return _write_tar(found(), output)


def _thumbnails(settings: Places, form: str, output: TextIO) -> int:
    del form

    def found() -> Iterator[tuple[str, bytes]]:
        if not settings.store.is_file():
            return
        with closing(PaperStore(settings.store, read_only=True)) as store:
            for key in store.papers():
                paper = store.paper(key)
                if paper and paper.aside.get("thumbnail"):
                    yield f"{_folder(key.removeprefix('sha1:'))}.180px.jpg", b64decode(paper.aside["thumbnail"])

    return _write_tar(found(), output)


def _write_tar(files: Iterator[tuple[str, bytes]], output: TextIO) -> int:
    count = 0
    with tarfile.TarFile.open(mode="w|", fileobj=output.buffer) as archive:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
            count += 1
    return count


def _folder(base32: str) -> str:
    name = hex_of(base32)
    return f"{name[:2]}/{name[2:4]}/{name}"


def _name(key: bytes) -> str:
    return f"sha1:{digest_of(key)}" if digest_of(key) else key.hex()


def _spelled(column: str, cells: Cells) -> str:
    content = decode(column, cells[column])
    return json.dumps(content, sort_keys=True) if isinstance(content, dict) else " ".join(str(content).split())
