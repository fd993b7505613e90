"""The exports of papers with typed fields: their texts, and their references with matches in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from importlib.util import find_spec
from itertools import zip_longest
from typing import Any, BinaryIO, TextIO

from windrow.collections.papers.adapter.rows import PaperSettings, open_rows
from windrow.collections.papers.catalogue import doi_of
from windrow.collections.papers.columns import decode, decode_row
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.matching import STUBS, match_paper, matched_slug, read_paper
from windrow.collections.papers.row_keys import key_text
from windrow.errors import MissingExtra, StepError
from windrow.formats.tei import legacy_shape, read_tei
from windrow.formats.text import json_text
from windrow.model import Limits

_BATCH_SIZE, _BATCH_CHARACTERS = 500, 32 << 20  # rows that are written to Parquet at once, and what they have together
TEXT, NUMBER, TEXTS, BINARY = "text", "number", "texts", "binary"  # the types of fields

TEXT_FIELDS = {
    "key": TEXT, "url": TEXT, "captured": TEXT, "media_type": TEXT, "size": NUMBER, "title": TEXT,
    "authors": TEXTS, "year": NUMBER, "journal": TEXT, "doi": TEXT, "abstract": TEXT, "body": TEXT,
    "extractor": TEXT, "quality": TEXT, "match": TEXT, "match_doi": TEXT,
}  # fmt: skip
"""The fields of `paper-texts` and their types."""

REFERENCE_FIELDS = {
    "key": TEXT, "number": NUMBER, "text": TEXT, "title": TEXT, "authors": TEXTS, "year": NUMBER,
    "journal": TEXT, "doi": TEXT, "match": TEXT, "match_doi": TEXT, "problem": TEXT,
}  # fmt: skip
"""The fields of `paper-references` and their types; `problem` says why a paper's references cannot be read."""

TypedRow = dict[str, Any]

_TEI_PARTS = ("body", "acknowledgement", "annex")
"""The keys of the JSON of a TEI whose texts are `body` in `paper-texts`."""


def write_texts(settings: PaperSettings, form: str, output: TextIO) -> int:
    """Write a row with the metadata and text of each paper, as JSON lines or Parquet; return the number of rows."""
    return _write_rows(_text_rows(settings), TEXT_FIELDS, form, output)


def write_references(settings: PaperSettings, form: str, output: TextIO) -> int:
    """Write rows of references, matched with the catalogue, as JSON lines or Parquet; return the number of rows."""
    return _write_rows(_reference_rows(settings), REFERENCE_FIELDS, form, output)


def _write_rows(rows: Iterator[TypedRow], fields: Mapping[str, str], form: str, output: TextIO) -> int:
    if form == "parquet":
        return write_parquet(rows, fields, output.buffer)
    count = 0
    for row in rows:
        output.write(json_text(row) + "\n")
        count += 1
    return count


def write_parquet(rows: Iterator[TypedRow], fields: Mapping[str, str], output: BinaryIO) -> int:
    """Write rows with typed `fields` as Parquet; return their number. Raise MissingExtra if pyarrow is missing."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("writing Parquet", "parquet")
    import pyarrow as pa  # noqa: PLC0415 an extra
    from pyarrow import parquet  # noqa: PLC0415 an extra

    count = 0
    types = {TEXT: pa.string(), NUMBER: pa.int64(), TEXTS: pa.list_(pa.string()), BINARY: pa.binary()}
    schema = pa.schema([(name, types[field_type]) for name, field_type in fields.items()])
    with parquet.ParquetWriter(output, schema, compression="zstd") as writer:
        for batch in _batches(rows):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count


def _batches(rows: Iterable[TypedRow]) -> Iterator[list[TypedRow]]:
    """Yield rows in lists that fit in memory: a paper may have a TEI of many megabytes."""
    batch: list[TypedRow] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += sum(len(field) for field in row.values() if isinstance(field, str | bytes))
        if len(batch) == _BATCH_SIZE or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _text_rows(settings: PaperSettings) -> Iterator[TypedRow]:
    columns = ("f", "file:size", "file:mime", "grobid0:tei_json", "grobid0:quality", "match0:mstatus", "match0:doi",
               "text0:tinfo", "text0:pages")  # fmt: skip
    with open_rows(settings) as table:
        for key, stored in table.scan(columns):
            cells = decode_row(stored)
            capture, tei = cells.get("f:c") or {}, cells.get("grobid0:tei_json")
            metadata = tei or cells.get("text0:tinfo") or {}
            paper = read_paper(metadata, "")
            parts = [tei.get(name) for name in _TEI_PARTS] if tei else [cells.get("text0:pages")]
            doi = next((name[4:] for name in paper.identifiers if name.startswith("doi:")), None)
            yield {
                "key": key_text(key), "url": capture.get("u"), "captured": capture.get("d"),
                "media_type": cells.get("file:mime"), "size": cells.get("file:size"), "title": paper.title or None,
                "authors": [*paper.authors], "year": paper.year, "journal": paper.journal or None, "doi": doi,
                "abstract": metadata.get("abstract"),
                "body": "\n".join(part for part in parts if part and isinstance(part, str)) or None,
                "extractor": "grobid" if tei else metadata.get("producer"), "quality": cells.get("grobid0:quality"),
                "match": cells.get("match0:mstatus"), "match_doi": cells.get("match0:doi"),
            }  # fmt: skip


def _reference_rows(settings: PaperSettings) -> Iterator[TypedRow]:
    has_index = settings.catalogue_index.is_file()
    opened = closing(CatalogueIndex(settings.catalogue_index, stubs=STUBS)) if has_index else nullcontext()
    with open_rows(settings) as table, opened as index:
        for key, cells in table.scan(("grobid0:tei_xml", "text0:tinfo")):
            try:
                references = list(_references(cells))
            except StepError as error:
                yield dict.fromkeys(REFERENCE_FIELDS) | {"key": key_text(key), "authors": [], "problem": str(error)}
                continue
            for number, reference in enumerate(references, 1):
                yield {"key": key_text(key), "number": number, **_match_reference(reference, index), "problem": None}


def _references(cells: Mapping[str, bytes]) -> Iterator[Mapping[str, Any]]:
    if "grobid0:tei_xml" in cells:
        yield from legacy_shape(read_tei(cells["grobid0:tei_xml"], Limits())).get("citations") or ()
        return
    info = decode("text0:tinfo", cells.get("text0:tinfo", b"")) or {}
    for text, fields in zip_longest(info.get("references") or (), info.get("citations") or ()):
        yield {"doi": doi_of(text).rstrip(".,;)"), **(fields or {}), "unstructured": text}


def _match_reference(reference: Mapping[str, Any], index: CatalogueIndex | None) -> TypedRow:
    paper = read_paper(reference, matched_slug(reference.get("title") or "", STUBS))
    row: TypedRow = {
        "text": reference.get("unstructured"), "title": paper.title or None, "authors": [*paper.authors],
        "year": paper.year, "journal": paper.journal or None, "doi": doi_of(reference.get("doi") or "") or None,
        "match": None, "match_doi": None,
    }  # fmt: skip
    if index is not None and (paper.slug or paper.identifiers):
        verdict = match_paper(paper, index.candidates(paper))
        row |= {"match": verdict.status, "match_doi": verdict.doi or None}
    return row
