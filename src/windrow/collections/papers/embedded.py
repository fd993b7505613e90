"""What a PDF says of itself, without GROBID: its text by page, and a guess at title, authors, abstract and references.

The guesses go by size of letters, headings and patterns. They are told as what they are, in a family of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.slug import plain
from windrow.formats.pdf import PdfLine, PdfPages

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
    sizes = [one.size for one in lines if len(plain(one.text)) >= 4]
    if not sizes:
        return (said if good else ""), lines
    largest = max(sizes)
    first = next(at for at, one in enumerate(lines) if one.size == largest and len(plain(one.text)) >= 4)
    last = first
    while last + 1 < len(lines) and lines[last + 1].size >= 0.85 * largest and last - first < 4:
        last += 1
    seen = " ".join(" ".join(one.text.split()) for one in lines[first : last + 1])
    return (said if good else seen[:_LONGEST]), lines[last + 1 :]


def _authors(lines: Sequence[PdfLine]) -> Iterator[str]:
    """Yield the names in the lines below the title, until a line that is of something else."""
    for one in lines[:4]:
        if _ABSTRACT.match(one.text) or _AFTER.match(one.text) or _PLACE.search(one.text):
            return
        names = [part.strip(" .") for part in _APART.split(one.text)]
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
