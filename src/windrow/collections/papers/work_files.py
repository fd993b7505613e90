"""Read works from files in the formats of catalogues: lines of JSON, whole JSON documents, or PubMed XML.

Files may be plain or gzipped, and may begin with a byte order mark.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from isal import igzip
from isal.igzip_lib import error as IsalError  # noqa: N812
from lxml import etree

from windrow.caps import CATALOGUE_BYTES
from windrow.errors import StepError, UsageError
from windrow.formats.json_page import load_json
from windrow.reasons import Reason


class DeletedWork(NamedTuple):
    """The name of a work that a catalogue published and later deleted."""

    name: str


RawWork = bytes | Mapping[str, Any] | DeletedWork
"""The record of a work (a parsed object, or bytes that may not be a JSON object), or the name of a deleted work."""

_MAX_LINE_SIZE = 16 << 20  # bytes; a longer line is read in parts, which are refused
_MAX_DOCUMENT_SIZE = CATALOGUE_BYTES.number
_HEAD_SIZE = 1 << 16  # bytes by which the format is recognised
_LIST_NAMES = ("items", "data", "results")  # keys of the list of records: of Crossref, DataCite, and OpenAlex
_RECORD_NAMES = {"title", "titles", "display_name", "DOI", "doi"}
"""Keys that a record has, and a page of an API with a list of records does not."""
_LINE_SUFFIXES = (".jsonl", ".ndjson", ".json", ".bibjson")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PUBMED_ROOTS = (b"<PubmedArticleSet", b"<PubmedBookArticleSet")
_YEAR_SEARCH = re.compile(r"\b[12]\d{3}\b").search
_open_gzip = cast("Any", igzip.open)


def read_works(path: Path) -> Iterator[RawWork]:
    """Yield the records of a file, and the works that it declares as deleted.

    Raise UsageError if the file cannot be read to its end, which may happen after some records were yielded. Raise
    StepError (UNSUPPORTED) if the file has none of the formats.
    """
    try:
        with path.open("rb") as raw_file:
            is_gzip = raw_file.read(2) == b"\x1f\x8b"
        with cast("BinaryIO", _open_gzip(path) if is_gzip else path.open("rb")) as file:
            head = file.read(_HEAD_SIZE).removeprefix(_BYTE_ORDER_MARK).lstrip()
            file.seek(0)
            yield from _read_stream(path, head, file)
    except (OSError, EOFError, zlib.error, IsalError, etree.XMLSyntaxError) as error:  # type: ignore[misc]
        raise UsageError(f"{path} cannot be read: {error}") from None


def _read_stream(path: Path, head: bytes, file: BinaryIO) -> Iterator[RawWork]:
    file_name = path.name.lower().removesuffix(".gz")
    if head.startswith(b"<"):
        if not any(root in head for root in _PUBMED_ROOTS):
            raise StepError(f"{path} is XML, but not a list of PubMed articles", Reason.UNSUPPORTED)
        yield from _read_pubmed(path, file)
    elif not head or head.startswith((b"{", b"[")) or file_name.endswith(_LINE_SUFFIXES) or b"\n{" in head:
        yield from _read_json(path, file)
    else:
        raise StepError(f"{path} is neither JSON nor XML", Reason.UNSUPPORTED)


def _read_json(path: Path, file: BinaryIO) -> Iterator[RawWork]:
    """Yield the records of a file that is a single JSON document, or has a document on each line.

    A document is a record, a list of records, or a page of an API with such a list. A line that is not a document is
    yielded as it is. Raise UsageError if the file ends within a record, or is a single document that is not valid JSON
    or has more than `_MAX_DOCUMENT_SIZE` bytes.
    """
    first_line = file.readline(_MAX_DOCUMENT_SIZE + 1).removeprefix(_BYTE_ORDER_MARK)
    document = _parse_json(first_line)
    if document is None and first_line.lstrip().startswith((b"{", b"[")):
        rest = file.read(_MAX_DOCUMENT_SIZE + 1 - len(first_line))
        is_too_large = len(first_line) + len(rest) > _MAX_DOCUMENT_SIZE
        document = None if is_too_large else _parse_json(first_line + rest)
        if document is None and (not rest.strip() or _is_start_of_document(first_line)):
            problem = f"a document with {CATALOGUE_BYTES.rule}" if is_too_large else "not a whole JSON document"
            raise UsageError(f"{path} cannot be read: it is {problem}")
    if document is None:
        file.seek(0)
    else:
        yield from _records_of(document)
    while line := file.readline(_MAX_LINE_SIZE):
        document = _parse_json(line.removeprefix(_BYTE_ORDER_MARK))
        if document is not None:
            yield from _records_of(document)
        elif line.startswith(b"{") and not line.endswith(b"\n") and len(line) < _MAX_LINE_SIZE:
            raise UsageError(f"{path} cannot be read: it ends within a record")
        else:
            yield line


def _parse_json(content: bytes) -> Any:
    try:
        document = load_json(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict | list) else None


def _is_start_of_document(first_line: bytes) -> bool:
    """Return whether a line that is not valid JSON is the first line of a document, rather than a broken record.

    >>> _is_start_of_document(b'{"items": ['), _is_start_of_document(b'{"title": "A ti')
    (True, False)
    """
    return first_line.startswith(b"[") or first_line.rstrip().endswith((b"{", b"[", b",", b":"))


def _list_in(document: Any) -> list[Any] | None:
    if isinstance(document, dict):
        document = document.get("message", document)
    if isinstance(document, dict) and not _RECORD_NAMES & document.keys():
        lists = [records for name in _LIST_NAMES if isinstance(records := document.get(name), list)]
        return list(chain.from_iterable(lists)) if lists else None
    return document if isinstance(document, list) else None


def _records_of(document: Any) -> Iterator[RawWork]:
    records = _list_in(document)
    for record in [document] if records is None else records:
        yield record if isinstance(record, dict) else json.dumps(record).encode()


def _read_pubmed(path: Path, file: BinaryIO) -> Iterator[RawWork]:
    """Yield the articles and books of a PubMed file, as objects with windrow's own keys, and the deleted works.

    Raise StepError (UNSUPPORTED) if it has none.
    """
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False}
    tags = [f"{{*}}{name}" for name in (*_PUBMED_READERS, *_PUBMED_DELETIONS)]  # in a namespace or in none
    is_empty = True
    for _, element in etree.iterparse(file, tag=tags, **options):
        is_empty = False
        for part in element.iter("{*}*"):
            part.tag = etree.QName(part).localname
        if element.tag in _PUBMED_DELETIONS:
            yield from (DeletedWork(name) for pmid in element.iterfind("PMID") if (name := _pmid_name(pmid.text)))
        else:
            yield _PUBMED_READERS[element.tag](element)
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    if is_empty:
        raise StepError(f"{path} is XML without articles or books of PubMed", Reason.UNSUPPORTED)


def _read_article(article: Any) -> Mapping[str, Any]:
    citation = article.find("MedlineCitation/Article")
    issue_date = article.find("MedlineCitation/Article/Journal/JournalIssue/PubDate")
    title = _title_text(article.find("MedlineCitation/Article/ArticleTitle"))
    own_title = _title_text(article.find("MedlineCitation/Article/VernacularTitle"))
    if title.casefold() in {"", "not available"}:  # what PubMed writes if nobody translated the title
        title = own_title
    doi = _find_doi(article, "MedlineCitation/Article/ELocationID", "PubmedData/ArticleIdList/ArticleId")
    pmid = article.findtext("MedlineCitation/PMID") or ""
    journal = article.findtext("MedlineCitation/Article/Journal/Title") or ""
    return {
        "id": _pmid_name(pmid), "title": title, "other_titles": [own_title],
        "authors": [] if citation is None else _read_authors(citation),
        "year": _year_of(issue_date), "journal": journal,
        "type": "article", "doi": doi, "pmid": pmid,
    }  # fmt: skip


def _read_book(article: Any) -> Mapping[str, Any]:
    """Return the record of a chapter or, if none is named, of a book; an empty one if there is neither.

    A chapter's journal is the title of its book.
    """
    book = article.find("BookDocument")
    if book is None:
        return {}
    book_title, chapter = _title_text(book.find("Book/BookTitle")), _title_text(book.find("ArticleTitle"))
    authors = _read_authors(book) or ([] if book.find("Book") is None else _read_authors(book.find("Book")))
    pmid = book.findtext("PMID") or ""
    return {
        "id": _pmid_name(pmid), "title": chapter or book_title, "authors": authors,
        "year": _year_of(book.find("Book/PubDate")), "journal": book_title if chapter else "",
        "type": "book-chapter" if chapter else "book",
        "doi": _find_doi(article, "BookDocument/ArticleIdList/ArticleId", "PubmedBookData/ArticleIdList/ArticleId"),
        "pmid": pmid,
    }  # fmt: skip


_PUBMED_READERS = {"PubmedArticle": _read_article, "PubmedBookArticle": _read_book}
_PUBMED_DELETIONS = ("DeleteCitation", "DeleteDocument")


def _pmid_name(pmid: str | None) -> str:
    return f"pmid:{pmid.strip()}" if pmid and pmid.strip() else ""


def _read_authors(parent: Any) -> list[str]:
    """Return the names in the first list of authors among an element's children. Lists of editors are skipped."""
    authors = parent.xpath("AuthorList[not(@Type = 'editors')][1]/Author[not(@ValidYN = 'N')]")
    names = []
    for author in authors:
        given = author.findtext("ForeName") or author.findtext("Initials") or ""
        names.append(author.findtext("CollectiveName") or f"{given} {author.findtext('LastName') or ''}".strip())
    return names


def _year_of(date: Any) -> str:
    """Return the first year of a date, which may be a text such as `Winter 2015-2016`; empty if it has none."""
    match = None if date is None else _YEAR_SEARCH(date.findtext("Year") or date.findtext("MedlineDate") or "")
    return match[0] if match else ""


def _title_text(title: Any) -> str:
    return "" if title is None else "".join(title.itertext()).strip("[]. ")


def _find_doi(article: Any, *paths: str) -> str:
    """Return the last DOI in the elements at the paths that are not marked as wrong, or an empty text."""
    identifiers = {
        element.get("IdType", element.get("EIdType")): element.text or ""
        for path in paths
        for element in article.iterfind(path)
        if element.get("ValidYN") != "N"
    }
    return identifiers.get("doi", "")
