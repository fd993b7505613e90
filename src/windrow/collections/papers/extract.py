"""The step `extract`: a file's type and digests, and its metadata by GROBID or by the embedded extractor.

The embedded extractor guesses by the size of letters, headings and patterns; its guesses are kept in a family of
their own (`text0`).
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from windrow.collections.papers.finding import HTML, JATS, PDF, POSTSCRIPT, UNKNOWN, XML, base32_of, wanted_types
from windrow.collections.papers.grobid import (
    TRIES,
    GrobidOutcome,
    count_earlier_requests,
    interpret_answer,
    interpret_unparsed,
    tei_request,
)
from windrow.collections.papers.verdict import plain
from windrow.contract import Ask, Observation, Skip, Task
from windrow.errors import MissingExtra, StepError
from windrow.formats import pdf
from windrow.formats.pdf import PdfLine, PdfPages
from windrow.reasons import Reason

PRODUCER = "windrow text0 1"
MOST_PAGES = 4_000_000
"""Bytes of `text0:pages`."""
_MOST_REFERENCES, _LONGEST = 500, 1_000

_DOI = re.compile(r"\b(10\.\d{4,9}/[^\s\"<>{}|\\^`\[\]]{2,200})", re.IGNORECASE)
_ARXIV = re.compile(r"\barXiv:\s*(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?\b", re.IGNORECASE)
_LINES = re.IGNORECASE | re.MULTILINE
_ABSTRACT = re.compile(r"^\s*(?:abstract|summary|r[ée]sum[ée]|zusammenfassung)\b[\s.:\u2014\u2013-]*", _LINES)
_AFTER_ABSTRACT = re.compile(
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
_AFFILIATION = re.compile(
    r"\S@\S|\b(?:university|department|institute|laborator|school|faculty|college|centre|center)", re.IGNORECASE
)
_NAME = re.compile(r"[^\W\d_a-zß-ÿ][\w.'\u2019-]*(?:\s+(?:[\w.'\u2019-]+)){1,4}")
_NAME_SEPARATOR = re.compile(r",|;|\band\b|&|\u00b7|\*|†|‡|\d")
_USELESS_TITLE = re.compile(
    r"(?:untitled|microsoft word|document\d*|slide|paper|title|.*\.(?:docx?|dvi|tex|pdf|indd|qxd|rtf)$)", re.IGNORECASE
)


class Guess(NamedTuple):
    """The embedded extractor's output: `text0:tstatus`, `text0:tinfo`, and the pages' text separated by form feeds."""

    status: dict[str, Any]
    info: dict[str, Any]
    pages: str


def guess_metadata(document: PdfPages) -> Guess:
    """Guess a document's title, authors, abstract, identifiers and references."""
    text = "\f".join(document.pages)
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > MOST_PAGES:
        text = encoded[:MOST_PAGES].decode("utf-8", "ignore")
    opening = "\n".join(document.pages[:2])
    title, lines_below = _guess_title(document)
    has_text = bool(text.strip())
    status = {"status": "success" if has_text else "no-text", "method": "heuristic", "producer": PRODUCER}
    if not has_text:
        status["reason"] = "NEEDS_OCR"
    elif document.cut or len(encoded) > MOST_PAGES:
        status["reason"] = "CUT"
    info = {
        "title": title or None,
        "authors": list(_guess_authors(lines_below)),
        "abstract": _abstract(opening) or None,
        "doi": _doi(opening) or None,
        "arxiv_id": _arxiv(opening) or None,
        "references": list(_guess_references(text)),
        "pages": document.number,
        "words": sum(len(page.split()) for page in document.pages),
        "created": document.created,
        "producer": PRODUCER,
    }
    return Guess(status, info, text)


def _guess_title(document: PdfPages) -> tuple[str, Sequence[PdfLine]]:
    """Return the title (the metadata's, or the first page's text in the largest letters) and the lines below it."""
    own_title = " ".join(document.title.split())
    usable = (
        bool(own_title) and not _USELESS_TITLE.match(own_title) and len(plain(own_title)) >= 12 and " " in own_title
    )
    lines = document.head
    sizes = [line.size for line in lines if len(plain(line.text)) >= 4]
    if not sizes:
        return (own_title if usable else ""), lines
    largest = max(sizes)
    first_line = next(
        number for number, line in enumerate(lines) if line.size == largest and len(plain(line.text)) >= 4
    )
    last = first_line
    while last + 1 < len(lines) and lines[last + 1].size >= 0.85 * largest and last - first_line < 4:
        last += 1
    largest_text = " ".join(" ".join(line.text.split()) for line in lines[first_line : last + 1])
    return (own_title if usable else largest_text[:_LONGEST]), lines[last + 1 :]


def _guess_authors(lines: Sequence[PdfLine]) -> Iterator[str]:
    """Yield the names in the lines below the title, up to the first line with other text."""
    for line in lines[:4]:
        if _ABSTRACT.match(line.text) or _AFTER_ABSTRACT.match(line.text) or _AFFILIATION.search(line.text):
            return
        names = [part.strip(" .") for part in _NAME_SEPARATOR.split(line.text)]
        names = [part for part in names if part]
        if not names or not all(_NAME.fullmatch(part) for part in names):
            return
        yield from names


def _abstract(text: str) -> str:
    heading = _ABSTRACT.search(text)
    if not heading:
        return ""
    end = _AFTER_ABSTRACT.search(text, heading.end())
    passage = text[heading.end() : end.start() if end else heading.end() + 3_000]
    return " ".join(passage.split())[:4_000]


def _doi(text: str) -> str:
    match = _DOI.search(text)
    return match[1].rstrip(".,;:)").lower() if match else ""


def _arxiv(text: str) -> str:
    match = _ARXIV.search(text)
    return match[1].lower() if match else ""


def _guess_references(text: str) -> Iterator[str]:
    """Yield the entries below the last heading of a bibliography, split at their numbers or else at line ends."""
    heads = list(_BIBLIOGRAPHY.finditer(text))
    if not heads:
        return
    rest = text[heads[-1].end() : heads[-1].end() + 200_000].replace("\f", "\n")
    starts = [entry.start() for entry in _ENTRY.finditer(rest)]
    if len(starts) > 1:
        parts = [rest[start:end] for start, end in zip(starts, [*starts[1:], len(rest)], strict=True)]
    else:
        parts = re.split(r"(?<=[.\]])\s*\n(?=[A-Z])", rest)
    for part in parts[:_MOST_REFERENCES]:
        line = " ".join(_ENTRY.sub("", part, count=1).split())
        if len(line) > 20:
            yield line[:_LONGEST]


_BLOCK = 1 << 16  # small enough to stay in the cache between two digests
_HEAD = 4096
_PDF = re.compile(rb"%PDF-(\d\.\d)")
_XHTML_TYPE = "application/xhtml+xml"
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b|(?:\xef\xbb\xbf)?\s*<(?:article|TEI|[a-z]+:)[\s>]")


def file_meta(view: BinaryIO, most: int) -> dict[str, Any]:
    """Return `file:meta` of a file; raise `StepError` if it is empty or has more than `most` bytes."""
    sha1, md5, sha256 = (hashlib.new(name, usedforsecurity=False) for name in ("sha1", "md5", "sha256"))
    size, head = 0, b""
    view.seek(0)
    while block := view.read(_BLOCK):
        if not size:
            head = block[:_HEAD]
        size += len(block)
        if size > most:
            raise StepError(f"the file has more than {most} bytes", Reason.TOO_LARGE)
        for hash_ in (sha1, md5, sha256):
            hash_.update(block)
    if not size:
        raise StepError("the file is empty", Reason.TRUNCATED)
    magic_mime, magic = sniff_type(head)
    return {
        "size": size,
        "mime": _refine_type(magic_mime, head),
        "magic": magic,
        "magic_mime": magic_mime,
        "sha1": sha1.hexdigest(),
        "md5": md5.hexdigest(),
        "sha256": sha256.hexdigest(),
    }


def sniff_type(head: bytes) -> tuple[str, str]:  # noqa: PLR0911 one return for each type
    """Return the media type of a file by its first bytes, and a description in words.

    >>> sniff_type(b"%PDF-1.4 ...")
    ('application/pdf', 'PDF document, version 1.4')
    """
    if match := _PDF.search(head[:1024]):
        return PDF, f"PDF document, version {match[1].decode()}"
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


def _refine_type(kind: str, head: bytes) -> str:
    """Return the media type of XHTML and JATS instead of HTML's or XML's."""
    start = head[:1024]
    if b"<htm" in start and b"http://www.w3.org/1999/xhtml" in start:
        return _XHTML_TYPE
    if kind == XML and b"<article " in start.replace(b"<article>", b"<article ") and b"<html" not in start:
        return JATS
    return kind


_MOST_TEXT = 1_000_000  # characters that are indexed for search
_THUMBNAIL = (180, 300)

Results = list[Observation | Skip | Ask]


def extract(task: Task) -> Results:
    """Return a paper's record, or the requests to GROBID that it needs first.

    If the step was killed once on a paper, it is run without the PDF library; if it was killed twice, also without
    parsing the TEI.
    """
    meta = file_meta(task.view, task.limits.member_size)
    key = f"sha1:{base32_of(meta['sha1'])}"
    if (HTML if meta["mime"] == _XHTML_TYPE else meta["mime"]) not in _wanted_types(task):
        return [Skip(Reason.NOT_WANTED, key, f"the bytes are {meta['mime']}, whatever the index says")]
    record: dict[str, Any] = {"file": meta}
    extra: dict[str, Any] = {}
    text = ""
    if meta["mime"] == PDF:
        outcome: GrobidOutcome | None = None
        if task.options.get("grobid"):
            outcome_or_requests = _grobid_outcome(task)
            if isinstance(outcome_or_requests, list):
                return [Observation(key, record), *outcome_or_requests]  # the file's type is known without an answer
            outcome = outcome_or_requests
            text = _add_grobid(outcome, record, extra) if outcome else ""
        if outcome is None or outcome.word != "success":
            text = _add_embedded(task, record, extra)
        if task.options.get("thumbnails") == "True" and not task.stopped:
            extra["thumbnail"] = _thumbnail(task)
    else:
        record["declined"] = "only PDFs are extracted"
    observations: Results = [Observation(key, record, text[:_MOST_TEXT], aside=extra)]
    if task.stopped:
        observations.append(Skip(_stop_reason(task), key, f"the extractor was stopped: {_stop_message(task)}"))
    return observations


def _stop_reason(task: Task) -> Reason:
    return task.stopped[0].reason or Reason.STEP_FAILED


def _stop_message(task: Task) -> str:
    findings = task.stopped[0].findings
    return findings[0].message if findings else _stop_reason(task).meaning


def _wanted_types(task: Task) -> frozenset[str]:
    """Return the media types to keep: those that the source's settings select, except unknown ones."""
    return wanted_types(task.source.options if task.source else {}) - {UNKNOWN}


def _grobid_outcome(task: Task) -> GrobidOutcome | list[Ask] | None:
    """Return GROBID's outcome, or the requests to send first; None if another extractor filled the row.

    A request that failed for a fault of the server is repeated, `TRIES` times in a run.
    """
    requests: list[Ask] = []
    outcome: GrobidOutcome | None = None
    earlier = count_earlier_requests(task.answers)
    for number in range(earlier + 1, earlier + TRIES + 1):
        requests.append(tei_request(number, coordinates=task.options.get("coordinates") == "True"))
        answer = task.answers.get(requests[-1].name)
        if answer is None:
            return requests
        if answer.reason is Reason.ALREADY_EXTRACTED:
            return None
        if len(task.stopped) > 1:
            outcome = interpret_unparsed(answer, _stop_reason(task))
        else:
            outcome = interpret_answer(answer, task.limits)
        if not outcome.transient:
            break
    assert outcome is not None
    return outcome


def _add_grobid(outcome: GrobidOutcome, record: dict[str, Any], extra: dict[str, Any]) -> str:
    """Add GROBID's outcome to the record; return the text to index for search."""
    record["grobid"] = {
        "status_code": outcome.code,
        "status": outcome.status,
        "quality": outcome.quality,
        "passing": outcome.transient,
    }
    if outcome.tei:
        try:
            extra["tei"] = outcome.tei.decode()
        except UnicodeDecodeError:
            extra["tei_base64"] = b64encode(outcome.tei).decode()
    if outcome.table is None:
        return ""
    table = outcome.table
    record |= _known(table["title"], [author["name"] for author in table["authors"]], table["doi"])
    extra["tei_json"] = table
    extra["later_json"] = outcome.legacy
    return "\n".join(filter(None, (table["title"], *record["authors"], table["abstract"], table["body"])))


def _add_embedded(task: Task, record: dict[str, Any], extra: dict[str, Any]) -> str:
    """Add the embedded extractor's guess to the record; return the text to index for search."""
    if task.stopped:
        status = {"status": "error", "reason": str(_stop_reason(task)), "description": _stop_message(task)}
        record["text"] = {"status": status | {"producer": PRODUCER}}
        return ""
    task.view.seek(0)
    try:
        guessed = guess_metadata(pdf.read_pages(task.view.read()))
    except MissingExtra as error:
        record["text"] = {"status": {"status": "declined", "reason": f"{error}: {error.hint}"}}
        return ""
    except StepError as error:
        record["text"] = {"status": {"status": "error", "reason": str(error.reason), "description": str(error)}}
        return ""
    record["text"] = {"status": guessed.status, "info": guessed.info}
    record |= _known(guessed.info["title"], guessed.info["authors"], guessed.info["doi"])
    extra["pages"] = guessed.pages
    return "\n".join(filter(None, (guessed.info["title"], *guessed.info["authors"], guessed.pages)))


def is_declined(record: Mapping[str, Any]) -> bool:
    """Return whether the embedded extractor did not read a paper because its extra is not installed."""
    return bool((record.get("text") or {}).get("status", {}).get("status") == "declined")


def _known(title: str | None, authors: list[str], doi: str | None) -> dict[str, Any]:
    return {"title": title, "authors": [author for author in authors if author], "doi": doi}


def _thumbnail(task: Task) -> str:
    task.view.seek(0)
    try:
        return b64encode(pdf.draw_first_page(task.view.read(), *_THUMBNAIL)).decode()
    except (StepError, MissingExtra):
        return ""
