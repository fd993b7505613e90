"""Read works from files in the formats of catalogues: lines of JSON, whole JSON documents, or PubMed XML.

Files may be plain or gzip, and may begin with a byte order mark.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from isal import igzip
from isal.igzip_lib import error as IsalError  # noqa: N812
from lxml import etree

from windrow.errors import StepError, UsageError
from windrow.reasons import Reason

RawWork = bytes | Mapping[str, Any]
"""A record, as a line of JSON or as a parsed object."""

_MAX_LINE_SIZE = 16 << 20  # bytes; a longer line is read in parts, which are refused
_MAX_DOCUMENT_SIZE = 1 << 30  # bytes of a file that is one document of JSON
_HEAD_SIZE = 1 << 16  # bytes that are searched for the first record
_LIST_NAMES = ("items", "data", "results")  # keys of the list of records: of Crossref, DataCite, and OpenAlex
_LINE_SUFFIXES = (".jsonl", ".ndjson", ".json", ".bibjson")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_open_gzip = cast("Any", igzip.open)


def read_works(path: Path) -> Iterator[RawWork]:
    """Yield the records of a file.

    Raise UsageError if the file cannot be read to its end, and StepError (UNSUPPORTED) if it has another format.
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
        if b"<PubmedArticleSet" not in head:
            raise StepError(f"{path} is XML, but not a list of PubMed articles", Reason.UNSUPPORTED)
        yield from _read_pubmed(file)
    elif head.startswith((b"{", b"[")) and (document := _read_document(head, file)) is not None:
        yield from _records_of(document)
    elif not head or file_name.endswith(_LINE_SUFFIXES) or head.startswith(b"{") or b"\n{" in head:
        file.seek(0)
        while line := file.readline(_MAX_LINE_SIZE):
            yield line.removeprefix(_BYTE_ORDER_MARK)
    else:
        raise StepError(f"{path} is neither JSON nor XML", Reason.UNSUPPORTED)


def _read_document(head: bytes, file: BinaryIO) -> Any:
    """Return the content of a file with one JSON document; None if it has lines of JSON, or is too large or invalid."""
    first_line = head.partition(b"\n")[0]
    if len(first_line) < len(head):
        try:
            parsed = json.loads(first_line)
        except ValueError:
            pass  # a document of several lines, or a broken line
        else:
            return parsed if isinstance(parsed, list) or _list_in(parsed) is not None else None
    elif not any(b'"%s"' % name.encode() in head[:200] for name in _LIST_NAMES) and head.startswith(b"{"):
        return None  # a long line
    content = file.read(_MAX_DOCUMENT_SIZE + 1)
    if len(content) > _MAX_DOCUMENT_SIZE:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _list_in(document: Any) -> list[Any] | None:
    if isinstance(document, dict):
        document = document.get("message", document)
    if isinstance(document, dict):
        document = next((records for name in _LIST_NAMES if isinstance(records := document.get(name), list)), None)
    return document if isinstance(document, list) else None


def _records_of(document: Any) -> Iterator[RawWork]:
    records = _list_in(document)
    for record in [document] if records is None else records:
        yield record if isinstance(record, dict) else json.dumps(record).encode()


def _read_pubmed(file: BinaryIO) -> Iterator[RawWork]:
    """Yield the articles of a PubMed file as objects with the keys of plain records."""
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False}
    for _, article in etree.iterparse(file, tag="PubmedArticle", **options):
        yield _read_article(article)
        article.clear()
        while article.getprevious() is not None:
            del article.getparent()[0]


def _read_article(article: Any) -> Mapping[str, Any]:
    authors = []
    for author in article.iterfind("MedlineCitation/Article/AuthorList/Author"):
        given = author.findtext("ForeName") or author.findtext("Initials") or ""
        authors.append(author.findtext("CollectiveName") or f"{given} {author.findtext('LastName') or ''}".strip())
    title = article.find("MedlineCitation/Article/ArticleTitle")
    issue_date = article.find("MedlineCitation/Article/Journal/JournalIssue/PubDate")
    date = "" if issue_date is None else issue_date.findtext("Year") or issue_date.findtext("MedlineDate") or ""
    identifiers = {
        element.get("IdType", element.get("EIdType")): element.text or ""
        for path in ("MedlineCitation/Article/ELocationID", "PubmedData/ArticleIdList/ArticleId")
        for element in article.iterfind(path)
    }
    pmid = article.findtext("MedlineCitation/PMID") or ""
    journal = article.findtext("MedlineCitation/Article/Journal/Title") or ""
    return {
        "id": f"pmid:{pmid}", "title": "" if title is None else "".join(title.itertext()).strip("[]. "),
        "authors": authors, "year": date[:4], "journal": journal,
        "type": "article", "doi": identifiers.get("doi", ""), "pmid": pmid,
    }  # fmt: skip
