"""The step `extract`: find the type, the digests and the metadata of a file.

The metadata of a PDF come from GROBID or from the embedded extractor, which guesses them from the PDF's own metadata,
the sizes of letters, headings and patterns. The metadata of a JATS article are read from its XML. The family of columns
`text0` has the guesses and what was read from JATS. Versions of a paper are compared by its `record`; `extra` has the
contents of further cells.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from windrow.caps import (
    BIBLIOGRAPHY,
    CELL_BYTES,
    PAPER_ABSTRACT,
    PAPER_REFERENCE,
    PAPER_REFERENCES,
    PAPER_TEXT_BYTES,
    SEARCHED_CHARACTERS,
    Excess,
)
from windrow.collections.papers.capture_rules import HTML, JATS, PDF, UNKNOWN, XML, wanted_digests, wanted_types
from windrow.collections.papers.collection import TABLE
from windrow.collections.papers.columns import oversized_columns
from windrow.collections.papers.file_meta import XHTML, file_meta
from windrow.collections.papers.grobid import (
    MAX_REQUESTS,
    TIMEOUT_STATUS,
    GrobidOutcome,
    count_earlier_requests,
    interpret_answer,
    interpret_unparsed,
    is_final_name,
    skip_failed,
    tei_request,
)
from windrow.collections.papers.matching import plain_title
from windrow.collections.papers.row_keys import base32_of
from windrow.contract import Answer, Ask, Observation, Skip, Task, skip_excess
from windrow.digest import digest
from windrow.errors import MissingExtra, StepError
from windrow.formats import pdf
from windrow.formats.jats import read_jats
from windrow.formats.pdf import PdfLine, PdfPages
from windrow.formats.text import counted
from windrow.reasons import OWN_FAULTS, Reason

PRODUCER = "windrow text0 2"
MAX_PAGES_SIZE = PAPER_TEXT_BYTES.number
"""The maximum size of `text0:pages`, in bytes; longer texts are cut."""

_MAX_TITLE_CHARACTERS, _MIN_REFERENCE_CHARACTERS = 1_000, 20
_MIN_TITLE_LETTERS, _MIN_LETTERS = 12, 4  # of a usable title, and of a line that may be a title
_SIZE_SHARE = 0.85  # the least size of letters in a further line of a title, as a share of the size in its first line

_DOI_PATTERN = re.compile(  # some of journals before 2005 have a part in angle brackets: 105:2<217::AID-X>3.0.CO;2-R
    r"\b(10\.\d{4,9}(?:\.\d{1,9})*/[^\s\"<>{}|\\^`\[\]]{2,200}+(?:<[^<>\s]{1,60}>[\d.]{1,8}CO;2(?:-[\w#@])?)?)",
    re.IGNORECASE,
)
_ARXIV_PATTERN = re.compile(r"\barXiv:\s*(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?\b", re.IGNORECASE)
_BY_LINE = re.IGNORECASE | re.MULTILINE
_ABSTRACT_HEADING = re.compile(r"^\s*(?:abstract|summary|r[ée]sum[ée]|zusammenfassung)\b[\s.:\u2014\u2013-]*", _BY_LINE)
_NEXT_HEADING = re.compile(
    r"^\s*(?:(?:\d+|[ivx]+)\.?\s+introduction|introduction|key\s?words"
    r"|categories and subject|ccs concepts|index terms)\b",
    _BY_LINE,
)
_BIBLIOGRAPHY_HEADING = re.compile(
    r"^\s*(?:\d+\.?\s+)?(?:references(?: and notes)?|bibliography|literature cited|works cited|literatur"
    r"|r[ée]f[ée]rences)\s*:?\s*$",
    _BY_LINE,
)
_ENTRY_NUMBER = re.compile(r"^\s*(?:\[\w{1,8}\]|\(?\d{1,3}[.)])\s+", re.MULTILINE)
_AFFILIATION = re.compile(
    r"\S@\S|\b(?:university|department|institute|laborator|school|faculty|college|centre|center)", re.IGNORECASE
)
_NAME = re.compile(r"[^\W\d_a-zß-ÿ][\w.'\u2019-]*(?:\s+(?:[\w.'\u2019-]+)){1,4}")
_NAME_SEPARATOR = re.compile(r",|;|\band\b|&|\u00b7|\*|†|‡|\d")
_USELESS_TITLE = re.compile(
    r"(?:untitled|microsoft word|document\d*|slide|paper|title|.*\.(?:docx?|dvi|tex|pdf|indd|qxd|rtf)$)", re.IGNORECASE
)


class Guess(NamedTuple):
    """The output of the embedded extractor.

    `status` is the content of `text0:tstatus`, and `info` is that of `text0:tinfo`. `pages` is the text of the pages,
    with form feeds between them. `left_out` describes what exceeds caps.
    """

    status: dict[str, Any]
    info: dict[str, Any]
    pages: str
    left_out: tuple[Excess, ...] = ()


def guess_metadata(document: PdfPages) -> Guess:
    """Guess the title, authors, abstract, identifiers and references of a PDF."""
    text = "\f".join(document.pages)
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > MAX_PAGES_SIZE:
        text = encoded[:MAX_PAGES_SIZE].decode("utf-8", "ignore")
    references, left_out = _guess_references(text)
    first_pages = "\n".join(document.pages[:2])
    abstract = _guess_abstract(first_pages)
    left_out = (*document.left_out, *PAPER_TEXT_BYTES.find_excess(len(encoded)), *left_out)
    left_out = (*left_out, *PAPER_ABSTRACT.find_excess(len(abstract)))
    title, lines_below = _guess_title(document)
    has_text = bool(text.strip())
    status = {"status": "success" if has_text else "no-text", "method": "heuristic", "producer": PRODUCER}
    if not has_text:
        status["reason"] = "PAGES_UNREADABLE" if document.unreadable else "NEEDS_OCR"
    elif document.unreadable:
        status["reason"] = "PAGES_UNREADABLE"
    elif left_out:
        status["reason"] = "CUT"
    info: dict[str, Any] = {
        "title": title or None,
        "authors": list(_guess_authors(lines_below)),
        "abstract": abstract[: PAPER_ABSTRACT.number] or None,
        "doi": _find_doi(first_pages) or None,
        "arxiv_id": _find_arxiv_id(first_pages) or None,
        "references": references,
        "pages": document.page_count,
        "words": sum(len(page.split()) for page in document.pages),
        "created": document.created,
        "producer": PRODUCER,
    }
    if document.unreadable:
        info["unreadable_pages"] = document.unreadable
    if document.pictured and has_text:
        info["pages_without_text"] = document.pictured
    if document.unread:
        info["unread"] = [*document.unread]
    return Guess(status, info, text, left_out)


def _guess_title(document: PdfPages) -> tuple[str, Sequence[PdfLine]]:
    """Return the title (empty if none is found), and the lines below the largest text on the first page.

    The title is the one in the document's metadata or, if that is not usable, the largest text on the first page. If no
    line has enough letters for a title, all lines in `document.head` are returned.
    """
    title = " ".join(document.title.split())
    if _USELESS_TITLE.match(title) or len(plain_title(title)) < _MIN_TITLE_LETTERS or " " not in title:
        title = ""
    lines = document.head
    sizes = {number: line.size for number, line in enumerate(lines) if len(plain_title(line.text)) >= _MIN_LETTERS}
    if not sizes:
        return title, lines
    largest = max(sizes.values())
    first = last = next(number for number, size in sizes.items() if size == largest)
    while last + 1 < len(lines) and lines[last + 1].size >= _SIZE_SHARE * largest and last - first < 4:
        last += 1
    largest_text = " ".join(" ".join(line.text.split()) for line in lines[first : last + 1])
    return title or largest_text[:_MAX_TITLE_CHARACTERS], lines[last + 1 :]


def _guess_authors(lines: Sequence[PdfLine]) -> Iterator[str]:
    for line in lines[:4]:
        is_heading = _ABSTRACT_HEADING.match(line.text) or _NEXT_HEADING.match(line.text)
        if is_heading or _AFFILIATION.search(line.text):
            return
        names = [name for part in _NAME_SEPARATOR.split(line.text) if (name := part.strip(" ."))]
        if not names or not all(map(_NAME.fullmatch, names)):
            return
        yield from names


def _guess_abstract(text: str) -> str:
    heading = _ABSTRACT_HEADING.search(text)
    if not heading:
        return ""
    end = _NEXT_HEADING.search(text, heading.end())
    passage = text[heading.end() : end.start() if end else heading.end() + 3_000]
    return " ".join(passage.split())


def _find_doi(text: str) -> str:
    match = _DOI_PATTERN.search(text)
    return match[1].rstrip(".,;:)").lower() if match else ""


def _find_arxiv_id(text: str) -> str:
    match = _ARXIV_PATTERN.search(text)
    return match[1].lower() if match else ""


def _guess_references(text: str) -> tuple[list[str], tuple[Excess, ...]]:
    """Return the entries below the last heading of a bibliography, and a description of what exceeds caps.

    An entry begins at a number such as [1]. If there are fewer than two numbers, it begins at a line that starts with a
    capital letter, after a line that ends in a full stop or a bracket. Entries of up to 20 characters are left out.
    """
    headings = list(_BIBLIOGRAPHY_HEADING.finditer(text))
    if not headings:
        return [], ()
    start_of_list = headings[-1].end()
    bibliography = text[start_of_list : start_of_list + BIBLIOGRAPHY.number].replace("\f", "\n")
    starts = [number.start() for number in _ENTRY_NUMBER.finditer(bibliography)]
    if len(starts) > 1:
        entries = [bibliography[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    else:
        entries = re.split(r"(?<=[.\]])\s*\n(?=[A-Z])", bibliography)
    lines = (" ".join(_ENTRY_NUMBER.sub("", entry, count=1).split()) for entry in entries)
    references, left_out = _cut_references([line for line in lines if len(line) > _MIN_REFERENCE_CHARACTERS])
    return references, (*BIBLIOGRAPHY.find_excess(len(text) - start_of_list), *left_out)


def _cut_references(references: Sequence[str]) -> tuple[list[str], tuple[Excess, ...]]:
    kept, most = references[: PAPER_REFERENCES.number], PAPER_REFERENCE.number
    further = sum(max(0, len(reference) - most) for reference in kept)
    left_out = (*PAPER_REFERENCES.find_excess(len(references)), *PAPER_REFERENCE.find_excess(most + further))
    return [reference[:most] for reference in kept], left_out


_THUMBNAIL_SIZE = (180, 300)  # the greatest width and height, in pixels

Results = list[Observation | Skip | Ask]


def extract(task: Task) -> Results:
    """Return the record of a paper, with a Skip for each thing that was left out of it.

    If GROBID must answer first, return an incomplete record and the requests. If the source does not want files of this
    type, return only a Skip. A Skip is for what exceeds a cap, for text that could not be read, and for a final failure
    of GROBID. There is also a Skip if the step was stopped for this paper in earlier runs: after one stop the PDF
    library is not used, after two the TEI is not parsed either. Raise StepError if the file is empty or too large.
    """
    meta = file_meta(task.view, task.limits.member_size)
    key = f"sha1:{base32_of(meta['sha1'])}"
    settings = task.source.options if task.source else {}
    kinds = {meta["mime"], *({HTML} if meta["mime"] == XHTML else {XML} if meta["mime"] == JATS else ())}
    if kinds.isdisjoint(wanted_types(settings) - {UNKNOWN}):
        return [Skip(Reason.NOT_WANTED, key, f"the file is {meta['mime']}, which its source does not want")]
    if (digests := wanted_digests(settings)) and digests.isdisjoint({base32_of(meta["sha1"]), *_sent_digests(task)}):
        return [Skip(Reason.NOT_WANTED, key, "its digest is not in `digests`")]
    record: dict[str, Any] = {"file": meta}
    extra: dict[str, Any] = {}
    text = ""
    left_out: list[Excess] = []
    if meta["mime"] == PDF:
        outcome: GrobidOutcome | None = None
        if task.options.get("grobid"):
            outcome_or_requests = _grobid_outcome(task, meta["md5"])
            if isinstance(outcome_or_requests, list):
                return [Observation(key, record), *outcome_or_requests]
            outcome = outcome_or_requests
            text = _add_grobid_outcome(outcome, record, extra) if outcome else ""
        if outcome is None or outcome.word != "success" or not _has_text(outcome):
            text = _add_guess(task, record, extra, left_out) or text
        if task.options.get("thumbnails") == "True" and not task.stopped:
            _add_thumbnail(task, extra)
    elif meta["mime"] == JATS:
        text = _add_jats(task, record, extra, left_out)
    else:
        record["declined"] = "only PDF and JATS are extracted"
    left_out += SEARCHED_CHARACTERS.find_excess(len(text))
    observations: Results = [Observation(key, record, text[: SEARCHED_CHARACTERS.number], aside=extra)]
    observations += [*map(skip_excess, left_out), *_unread_parts(key, record)]
    observations += [Skip(Reason.UNSUPPORTED, key, message) for message in _name_unread(task, record)]
    observations += skip_failed(key, record, repeated=any(map(is_final_name, task.answers)))
    tei_shape = task.options.get("tei_json", TABLE)
    observations += [
        Skip(Reason.TOO_LARGE, key, f"its row lacks {column}: {CELL_BYTES.rule}")
        for column in oversized_columns(record, extra, tei_shape)
    ]
    if task.stopped:
        observations.append(Skip(_stop_reason(task), key, f"the extractor was stopped: {_stop_message(task)}"))
    return observations


def _name_unread(task: Task, record: Mapping[str, Any]) -> Sequence[str]:
    """Return messages about what is never read of a PDF, such as attached files, as far as the PDF library can tell."""
    if "text" in record or "grobid" not in record or task.stopped:
        info: Mapping[str, Sequence[str]] = (record.get("text") or {}).get("info") or {}
        return info.get("unread", ())
    task.view.seek(0)
    try:
        return pdf.read_pages(task.view.read(), replace(task.limits, pages=0)).unread
    except (StepError, MissingExtra):
        return ()


def _unread_parts(key: str, record: Mapping[str, Any]) -> Iterator[Skip]:
    """Yield a Skip if a paper has no text, or its text or a page was not read, except for a reason in OWN_FAULTS."""
    if "declined" in record:
        yield Skip(Reason.UNSUPPORTED, key, record["declined"])
    text = record.get("text") or {}
    status, info = text.get("status", {}), text.get("info") or {}
    if status.get("status") == "success" and record.get("grobid", {}).get("status", {}).get("status") == "success":
        message = "GROBID's TEI has neither a title nor a body; `text0` has a guess; to send the paper again"
        yield Skip(Reason.NO_TEXT, key, f"{message}: windrow retry --service grobid {key}")
    unreadable_pages, bare_pages = info.get("unreadable_pages", 0), info.get("pages_without_text", 0)
    if status.get("status") == "error" and status["reason"] not in OWN_FAULTS:
        yield Skip(Reason(status["reason"]), key, status["description"])
    elif status.get("status") == "declined":
        yield Skip(Reason.UNSUPPORTED, key, status["reason"])
    elif unreadable_pages:
        yield Skip(Reason.CORRUPT, key, f"{counted(unreadable_pages, 'page')} cannot be read")
    if bare_pages:
        message = f"of {counted(info['pages'], 'page')}, {bare_pages} have pictures but no text, such as scanned pages"
        yield Skip(Reason.NO_TEXT, key, message)
    if status.get("status") == "no-text" and not bare_pages:
        yield Skip(Reason.NO_TEXT, key, "its pages have no text; scanned pages, for example, are pictures of text")


def _stop_reason(task: Task) -> Reason:
    return task.stopped[0].reason or Reason.STEP_FAILED


def _stop_message(task: Task) -> str:
    findings = task.stopped[0].findings
    return findings[0].message if findings else _stop_reason(task).meaning


def _grobid_outcome(task: Task, md5: str) -> GrobidOutcome | list[Ask] | None:
    """Return GROBID's outcome, or the requests to be answered first; None if another program filled the row.

    A document with a transient outcome other than a timeout is sent again, with at most MAX_REQUESTS requests in a run.
    An answer that the store made final (`final_name`) gives an outcome that is not transient. `md5` is the MD5 of the
    document.
    """
    for name, last_answer in task.answers.items():
        if is_final_name(name):
            return _interpret(task, last_answer, md5)._replace(is_transient=False)
    requests: list[Ask] = []
    outcome: GrobidOutcome | None = None
    earlier_count = count_earlier_requests(task.answers)
    for number in range(earlier_count + 1, earlier_count + MAX_REQUESTS + 1):
        requests.append(tei_request(number, with_coordinates=task.options.get("coordinates") == "True"))
        answer = task.answers.get(requests[-1].name)
        if answer is None:
            return requests
        if answer.reason is Reason.ALREADY_EXTRACTED:
            return None
        outcome = _interpret(task, answer, md5)
        if not outcome.is_transient or outcome.code == TIMEOUT_STATUS:
            break
    assert outcome is not None
    return outcome


def _has_text(outcome: GrobidOutcome) -> bool:
    """Return whether the TEI of a successful outcome has a title or a body."""
    paper = outcome.table_json or {}
    return bool(paper.get("title") or paper.get("body"))


def _interpret(task: Task, answer: Answer, md5: str) -> GrobidOutcome:
    if len(task.stopped) > 1:
        return interpret_unparsed(answer, _stop_reason(task))
    return interpret_answer(answer, task.limits, md5)


def _add_grobid_outcome(outcome: GrobidOutcome, record: dict[str, Any], extra: dict[str, Any]) -> str:
    """Add an outcome of GROBID to `record` and `extra`; return the text for the search, or "" without a parsed TEI."""
    record["grobid"] = {"status_code": outcome.code, "status": outcome.status, "quality": outcome.quality}
    record["grobid"]["passing"] = outcome.is_transient
    if outcome.tei:
        record["grobid"]["tei_digest"] = digest(outcome.tei)
        try:
            extra["tei"] = outcome.tei.decode()
        except UnicodeDecodeError:
            extra["tei_base64"] = b64encode(outcome.tei).decode()
    if outcome.table_json is None:
        return ""
    paper = outcome.table_json
    authors = [author["name"] for author in paper["authors"]]
    record |= _main_fields(paper["title"], authors, paper["doi"], paper["date"])
    extra["tei_json"] = paper
    extra["later_json"] = outcome.later_json
    texts = (paper["title"], *record["authors"], paper["abstract"], paper["body"], outcome.further_text)
    return "\n".join(filter(None, texts))


def _add_guess(task: Task, record: dict[str, Any], extra: dict[str, Any], left_out: list[Excess]) -> str:
    """Add the embedded extractor's guess to `record` and `extra`; return the text for the search.

    If there is no guess, add the reason to `record` and return an empty text. What exceeds caps is added to `left_out`.
    """
    if task.stopped:
        status = {"status": "error", "reason": str(_stop_reason(task)), "description": _stop_message(task)}
        record["text"] = {"status": status | {"producer": PRODUCER}}
        return ""
    task.view.seek(0)
    try:
        guess = guess_metadata(pdf.read_pages(task.view.read(), task.limits))
    except MissingExtra as error:
        record["text"] = {"status": {"status": "declined", "reason": f"{error}: {error.hint}"}}
        return ""
    except StepError as error:
        record["text"] = {"status": {"status": "error", "reason": str(error.reason), "description": str(error)}}
        return ""
    record["text"] = {"status": guess.status, "info": guess.info}
    record |= _main_fields(guess.info["title"], guess.info["authors"], guess.info["doi"])
    extra["pages"] = guess.pages
    left_out += guess.left_out
    return "\n".join(filter(None, (guess.info["title"], *guess.info["authors"], guess.pages)))


def _add_jats(task: Task, record: dict[str, Any], extra: dict[str, Any], left_out: list[Excess]) -> str:
    """Add the fields of a JATS article to `record` and its text to `extra`; return the text for the search.

    If the article is not valid, add the reason to `record` and return an empty text. What exceeds caps is added to
    `left_out`.
    """
    task.view.seek(0)
    try:
        article = read_jats(task.view.read(), task.limits)
    except StepError as error:
        record["text"] = {"status": {"status": "error", "reason": str(error.reason), "description": str(error)}}
        return ""
    body = article.body.encode("utf-8", "replace")
    status = {"status": "success", "method": "jats", "producer": PRODUCER}
    funding = [{"funder": funder or None, "award": award or None} for funder, award in article.funding]
    references, left_out_references = _cut_references([reference.text for reference in article.references])
    left_out += (*PAPER_TEXT_BYTES.find_excess(len(body)), *PAPER_ABSTRACT.find_excess(len(article.abstract)))
    left_out += left_out_references
    if left_out:
        status["reason"] = "CUT"
    info: dict[str, Any] = {
        "title": article.title or None, "authors": [*article.authors],
        "contributors": [{"name": name, "role": role} for name, role in article.contributors],
        "keywords": [*article.keywords], "doi": article.doi.lower() or None,
        "abstract": article.abstract[: PAPER_ABSTRACT.number] or None, "journal": article.journal or None,
        "date": article.date or None, **article.details,
        **({"other_titles": [*article.other_titles]} if article.other_titles else {}),
        **({"funding": funding} if funding else {}),
        "references": references,
        "citations": [
            cited.fields if len(cited.text) <= PAPER_REFERENCE.number else {}
            for cited in article.references[: PAPER_REFERENCES.number]
        ],
        "words": len(article.body.split()), "producer": PRODUCER,
    }  # fmt: skip
    record["text"] = {"status": status, "info": info}
    record |= _main_fields(info["title"], info["authors"], info["doi"], info["date"])
    extra["pages"] = body[:MAX_PAGES_SIZE].decode("utf-8", "ignore")
    return "\n".join(
        filter(
            None,
            (
                article.title,
                *article.other_titles,
                *article.authors,
                article.abstract,
                ", ".join(article.keywords),
                *(" ".join(filter(None, award)) for award in article.funding),
                extra["pages"],
            ),
        )
    )


def _sent_digests(task: Task) -> Iterator[str]:
    """Yield the digest of the bytes before a coding was removed from them, if there was one: indexes have that one."""
    if task.sent is not None:
        task.sent.seek(0)
        yield base32_of(hashlib.sha1(task.sent.read(), usedforsecurity=False).hexdigest())


def is_declined(record: Mapping[str, Any]) -> bool:
    """Return whether a paper was not read because the extra `pdf` is not installed."""
    return bool((record.get("text") or {}).get("status", {}).get("status") == "declined")


def _main_fields(title: str | None, authors: list[str], doi: str | None, date: Any = None) -> dict[str, Any]:
    """Return the fields by which papers are searched. Only the year of `date`, the date of publication, is used."""
    year_match = re.match(r"[12]\d{3}(?!\d)", str(date or ""))
    year = {"year": int(year_match[0])} if year_match else {}
    return {"title": title, "authors": [author for author in authors if author], "doi": doi} | year


def _add_thumbnail(task: Task, extra: dict[str, Any]) -> None:
    task.view.seek(0)
    try:
        extra["thumbnail"] = b64encode(pdf.draw_first_page(task.view.read(), *_THUMBNAIL_SIZE)).decode()
    except (StepError, MissingExtra) as error:
        extra["thumbnail_problem"] = f"{error}: {error.hint}" if error.hint else str(error)
