"""What a file is and says: by its own bytes, by what is embedded in it, by GROBID.

The guesses go by size of letters, headings and patterns. They are told as what they are, in a family of their own.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from windrow.collections.papers.finding import HTML, JATS, PDF, POSTSCRIPT, UNKNOWN, XML, base32_of, wanted_types
from windrow.collections.papers.grobid import TRIES, Extracted, asked, asked_before, extracted, unread
from windrow.collections.papers.verdict import plain
from windrow.contract import Ask, Observation, Skip, Task
from windrow.errors import MissingExtra, StepError
from windrow.formats import pdf
from windrow.formats.pdf import PdfLine, PdfPages
from windrow.reasons import Reason

PRODUCER = "windrow text0 1"
MOST_PAGES = 4_000_000
"""Bytes of `text0:pages`."""
_REFERENCES, _LONGEST = 500, 1_000

_DOI = re.compile(r"\b(10\.\d{4,9}/[^\s\"<>{}|\\^`\[\]]{2,200})", re.IGNORECASE)
_ARXIV = re.compile(r"\barXiv:\s*(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?\b", re.IGNORECASE)
_LINES = re.IGNORECASE | re.MULTILINE
_ABSTRACT = re.compile(r"^\s*(?:abstract|summary|r[ée]sum[ée]|zusammenfassung)\b[\s.:\u2014\u2013-]*", _LINES)
_AFTER = re.compile(
    r"^\s*(?:(?:\d+|[ivx]+)\.?\s+introduction|introduction|key\s?words"
    r"|categories and subject|ccs concepts|index terms)\b",
    _LINES,
)
_BIBLIOGRAPHY = re.compile(
    r"^\s*(?:\d+\.?\s+)?(?:references(?: and notes)?|bibliography|literature cited|works cited|literatur"
    r"|r[ée]f[ée]rences)\s*:?\s*$",
    _LINES,
)
_ENTRY = re.compile(r"^\s*(?:\[\w{1,8}\]|\(?\d{1,3}[.)])\s+", re.MULTILINE)
_PLACE = re.compile(
    r"\S@\S|\b(?:university|department|institute|laborator|school|faculty|college|centre|center)", re.IGNORECASE
)
_NAME = re.compile(r"[^\W\d_a-zß-ÿ][\w.'\u2019-]*(?:\s+(?:[\w.'\u2019-]+)){1,4}")
_APART = re.compile(r",|;|\band\b|&|\u00b7|\*|†|‡|\d")
_POOR = re.compile(
    r"(?:untitled|microsoft word|document\d*|slide|paper|title|.*\.(?:docx?|dvi|tex|pdf|indd|qxd|rtf)$)", re.IGNORECASE
)


class Guessed(NamedTuple):
    """What was found: `status` for `text0:tstatus`, `info` for `text0:tinfo`, the pages apart by form feeds."""

    status: dict[str, Any]
    info: dict[str, Any]
    pages: str


def guessed(document: PdfPages) -> Guessed:
    """Guess what a document says of itself."""
    text = "\f".join(document.pages)
    whole = text.encode("utf-8", "replace")
    if len(whole) > MOST_PAGES:
        text = whole[:MOST_PAGES].decode("utf-8", "ignore")
    opening = "\n".join(document.pages[:2])
    title, after = _title(document)
    written = bool(text.strip())
    status = {"status": "success" if written else "no-text", "method": "heuristic", "producer": PRODUCER}
    if not written:
        status["reason"] = "NEEDS_OCR"
    elif document.cut or len(whole) > MOST_PAGES:
        status["reason"] = "CUT"
    info = {
        "title": title or None,
        "authors": list(_authors(after)),
        "abstract": _abstract(opening) or None,
        "doi": _doi(opening) or None,
        "arxiv_id": _arxiv(opening) or None,
        "references": list(_references(text)),
        "pages": document.number,
        "words": sum(len(page.split()) for page in document.pages),
        "created": document.created,
        "producer": PRODUCER,
    }
    return Guessed(status, info, text)


def _title(document: PdfPages) -> tuple[str, Sequence[PdfLine]]:
    """Return the title, the document's own or the first page's lines in the largest letters, and what follows."""
    said = " ".join(document.title.split())
    good = bool(said) and not _POOR.match(said) and len(plain(said)) >= 12 and " " in said
    lines = document.head
    sizes = [line.size for line in lines if len(plain(line.text)) >= 4]
    if not sizes:
        return (said if good else ""), lines
    largest = max(sizes)
    first = next(at for at, one in enumerate(lines) if one.size == largest and len(plain(one.text)) >= 4)
    last = first
    while last + 1 < len(lines) and lines[last + 1].size >= 0.85 * largest and last - first < 4:
        last += 1
    seen = " ".join(" ".join(line.text.split()) for line in lines[first : last + 1])
    return (said if good else seen[:_LONGEST]), lines[last + 1 :]


def _authors(lines: Sequence[PdfLine]) -> Iterator[str]:
    """Yield the names in the lines below the title, until a line that is of something else."""
    for line in lines[:4]:
        if _ABSTRACT.match(line.text) or _AFTER.match(line.text) or _PLACE.search(line.text):
            return
        names = [part.strip(" .") for part in _APART.split(line.text)]
        names = [part for part in names if part]
        if not names or not all(_NAME.fullmatch(part) for part in names):
            return
        yield from names


def _abstract(text: str) -> str:
    found = _ABSTRACT.search(text)
    if not found:
        return ""
    end = _AFTER.search(text, found.end())
    passage = text[found.end() : end.start() if end else found.end() + 3_000]
    return " ".join(passage.split())[:4_000]


def _doi(text: str) -> str:
    found = _DOI.search(text)
    return found[1].rstrip(".,;:)").lower() if found else ""


def _arxiv(text: str) -> str:
    found = _ARXIV.search(text)
    return found[1].lower() if found else ""


def _references(text: str) -> Iterator[str]:
    """Yield what follows the last heading of a bibliography, apart by its numbers, else by lines that end."""
    heads = list(_BIBLIOGRAPHY.finditer(text))
    if not heads:
        return
    rest = text[heads[-1].end() : heads[-1].end() + 200_000].replace("\f", "\n")
    starts = [one.start() for one in _ENTRY.finditer(rest)]
    if len(starts) > 1:
        parts = [rest[one:other] for one, other in zip(starts, [*starts[1:], len(rest)], strict=True)]
    else:
        parts = re.split(r"(?<=[.\]])\s*\n(?=[A-Z])", rest)
    for part in parts[:_REFERENCES]:
        line = " ".join(_ENTRY.sub("", part, count=1).split())
        if len(line) > 20:
            yield line[:_LONGEST]


_BLOCK = 1 << 16  # small enough to stay in the cache between two digests
_HEAD = 4096
_PDF = re.compile(rb"%PDF-(\d\.\d)")
_XHTML_TYPE = "application/xhtml+xml"
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b|(?:\xef\xbb\xbf)?\s*<(?:article|TEI|[a-z]+:)[\s>]")


def file_meta(view: BinaryIO, most: int) -> dict[str, Any]:
    """Return `file:meta` of a file; raises `StepError` for one that is empty or larger than `most` bytes."""
    sha1, md5, sha256 = (hashlib.new(name, usedforsecurity=False) for name in ("sha1", "md5", "sha256"))
    size, head = 0, b""
    view.seek(0)
    while block := view.read(_BLOCK):
        if not size:
            head = block[:_HEAD]
        size += len(block)
        if size > most:
            raise StepError(f"the file has more than {most} bytes", Reason.TOO_LARGE)
        for one in (sha1, md5, sha256):
            one.update(block)
    if not size:
        raise StepError("the file has no bytes", Reason.TRUNCATED)
    magic_mime, magic = sniffed(head)
    return {
        "size": size,
        "mime": _refined(magic_mime, head),
        "magic": magic,
        "magic_mime": magic_mime,
        "sha1": sha1.hexdigest(),
        "md5": md5.hexdigest(),
        "sha256": sha256.hexdigest(),
    }


def sniffed(head: bytes) -> tuple[str, str]:  # noqa: PLR0911 one kind after the other
    """Return the media type that a file's first bytes tell, and a description in words.

    >>> sniffed(b"%PDF-1.4 ...")
    ('application/pdf', 'PDF document, version 1.4')
    """
    if found := _PDF.search(head[:1024]):
        return PDF, f"PDF document, version {found[1].decode()}"
    if head.startswith((b"%!PS", b"\x04%!PS")):
        return POSTSCRIPT, "PostScript document text"
    if head.startswith(b"\x1f\x8b"):
        return "application/gzip", "gzip compressed data"
    if head.startswith(b"PK\x03\x04"):
        return "application/zip", "Zip archive data"
    if head.startswith((b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")):
        kind = {b"\x89": "png", b"\xff": "jpeg", b"G": "gif"}[head[:1]]
        return f"image/{kind}", f"{kind.upper()} image data"
    start = head[:1024].lower()
    if _XML_START.match(head):
        return XML, "XML document text"
    if any(tag in start for tag in (b"<!doctype html", b"<html", b"<head", b"<body", b"<title")):
        return HTML, "HTML document text"
    if b"\0" in head:
        return UNKNOWN, "data"
    try:
        head[:-3].decode()
    except UnicodeDecodeError:
        return UNKNOWN, "data"
    return "text/plain", "text"


def _refined(kind: str, head: bytes) -> str:
    """Tell apart what is written in XML."""
    start = head[:1024]
    if b"<htm" in start and b"http://www.w3.org/1999/xhtml" in start:
        return _XHTML_TYPE
    if kind == XML and b"<article " in start.replace(b"<article>", b"<article ") and b"<html" not in start:
        return JATS
    return kind


_XHTML = "application/xhtml+xml"
_MOST_TEXT = 1_000_000  # letters that are searched
_THUMBNAIL = (180, 300)

Results = list[Observation | Skip | Ask]


def extract(task: Task) -> Results:
    """Return a paper's record, or what GROBID is to be asked before.

    A paper over which this was ended once is taken again without the PDF library; one over which it was ended twice
    without reading TEI, either.
    """
    meta = file_meta(task.view, task.limits.member)
    key = f"sha1:{base32_of(meta['sha1'])}"
    if (HTML if meta["mime"] == _XHTML else meta["mime"]) not in _types(task):
        return [Skip(Reason.NOT_WANTED, key, f"the bytes are {meta['mime']}, whatever the index says")]
    value: dict[str, Any] = {"file": meta}
    aside: dict[str, Any] = {}
    text = ""
    if meta["mime"] == PDF:
        made: Extracted | None = None
        if task.options.get("grobid"):
            asks = _answered(task)
            if isinstance(asks, list):
                return [Observation(key, value), *asks]  # what the file is holds without an answer
            made = asks
            text = _take_grobid(made, value, aside) if made else ""
        if made is None or made.word != "success":
            text = _take_embedded(task, value, aside)
        if task.options.get("thumbnails") == "True" and not task.stopped:
            aside["thumbnail"] = _thumbnail(task)
    else:
        value["declined"] = "only PDFs are extracted"
    told: Results = [Observation(key, value, text[:_MOST_TEXT], aside=aside)]
    if task.stopped:
        told.append(Skip(_end_of(task), key, f"the extractor was ended: {_said(task)}"))
    return told


def _end_of(task: Task) -> Reason:
    return task.stopped[0].reason or Reason.STEP_FAILED


def _said(task: Task) -> str:
    """Return the words for why the step was ended."""
    findings = task.stopped[0].findings
    return findings[0].message if findings else _end_of(task).meaning


def _types(task: Task) -> frozenset[str]:
    """Return the media types that are kept: those that the source takes."""
    return wanted_types(task.source.options if task.source else {}) - {UNKNOWN}


def _answered(task: Task) -> Extracted | list[Ask] | None:
    """Return what GROBID said, or what it is asked; one that tells of the server is asked for some times a run.

    None where the table has what another extractor made of the document.
    """
    asks: list[Ask] = []
    made: Extracted | None = None
    before = asked_before(task.answers)
    for number in range(before + 1, before + TRIES + 1):
        asks.append(asked(number, coordinates=task.options.get("coordinates") == "True"))
        answer = task.answers.get(asks[-1].name)
        if answer is None:
            return asks
        if answer.reason is Reason.ALREADY_EXTRACTED:
            return None
        made = unread(answer, _end_of(task)) if len(task.stopped) > 1 else extracted(answer, task.limits)
        if not made.passing:
            break
    assert made is not None
    return made


def _take_grobid(made: Extracted, value: dict[str, Any], aside: dict[str, Any]) -> str:
    """Put what GROBID said into the record; return what is searched."""
    said = {"status_code": made.code, "status": made.status, "quality": made.quality, "passing": made.passing}
    value["grobid"] = said
    if made.tei:
        try:
            aside["tei"] = made.tei.decode()
        except UnicodeDecodeError:
            aside["tei_base64"] = b64encode(made.tei).decode()
    if made.table is None:
        return ""
    table = made.table
    value |= _known(table["title"], [one["name"] for one in table["authors"]], table["doi"])
    aside["tei_json"] = table
    aside["later_json"] = made.later
    return "\n".join(filter(None, (table["title"], *value["authors"], table["abstract"], table["body"])))


def _take_embedded(task: Task, value: dict[str, Any], aside: dict[str, Any]) -> str:
    """Put what the embedded extractor found into the record; return what is searched."""
    if task.stopped:
        status = {"status": "error", "reason": str(_end_of(task)), "description": _said(task)}
        value["text"] = {"status": status | {"producer": PRODUCER}}
        return ""
    task.view.seek(0)
    try:
        found = guessed(pdf.read_pages(task.view.read()))
    except MissingExtra as error:
        value["text"] = {"status": {"status": "declined", "reason": f"{error}: {error.hint}"}}
        return ""
    except StepError as error:
        value["text"] = {"status": {"status": "error", "reason": str(error.reason), "description": str(error)}}
        return ""
    value["text"] = {"status": found.status, "info": found.info}
    value |= _known(found.info["title"], found.info["authors"], found.info["doi"])
    aside["pages"] = found.pages
    return "\n".join(filter(None, (found.info["title"], *found.info["authors"], found.pages)))


def is_declined(value: Mapping[str, Any]) -> bool:
    """Tell whether the embedded extractor did not look at a paper, since its extra is not installed."""
    return bool((value.get("text") or {}).get("status", {}).get("status") == "declined")


def _known(title: str | None, authors: list[str], doi: str | None) -> dict[str, Any]:
    return {"title": title, "authors": [author for author in authors if author], "doi": doi}


def _thumbnail(task: Task) -> str:
    task.view.seek(0)
    try:
        return b64encode(pdf.picture(task.view.read(), *_THUMBNAIL)).decode()
    except (StepError, MissingExtra):
        return ""
