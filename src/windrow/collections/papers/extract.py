"""The step that makes of a capture what the table has of a paper: what the file is, and what was extracted from it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from windrow.collections.papers.embedded import PRODUCER, guessed
from windrow.collections.papers.file_meta import file_meta
from windrow.collections.papers.finding import HTML, PDF, UNKNOWN, wanted_types
from windrow.collections.papers.grobid import TRIES, Extracted, asked, asked_before, extracted, unread
from windrow.collections.papers.key import base32_of
from windrow.contract import Ask, Observation, Skip, Task
from windrow.errors import MissingExtra, StepError
from windrow.formats import pdf
from windrow.reasons import Reason

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
    return {"title": title, "authors": [one for one in authors if one], "doi": doi}


def _thumbnail(task: Task) -> str:
    task.view.seek(0)
    try:
        return b64encode(pdf.picture(task.view.read(), *_THUMBNAIL)).decode()
    except (StepError, MissingExtra):
        return ""
