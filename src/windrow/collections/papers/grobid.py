"""The request to a GROBID server, and the meaning of its answers for the row of a paper.

GROBID's errors have the status 500 and a plain text that begins with a code in brackets, whatever their content type.
Errors whose code is about the document are final, as are the status 204, answers that exceed a limit, and XML that is
refused although it is well-formed and TEI. Other failures are transient: timeouts, errors that a proxy may have sent,
and answers that are not the TEI of the document. If GROBID fails for a document in several runs, the store makes the
last answer final (`PaperStore.finish`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from windrow.caps import TEI_BYTES
from windrow.collections.papers.collection import GROBID
from windrow.collections.papers.matching import plain_title
from windrow.contract import Answer, Ask, DocumentPart, FormField, Skip
from windrow.errors import StepError
from windrow.formats.tei import further_text, legacy_shape, read_md5, read_tei, table_shape
from windrow.model import Limits
from windrow.reasons import OWN_FAULTS, TOO_LARGE_REASONS, Reason

MAX_TEI_SIZE = TEI_BYTES.number
"""The maximum size of an answer that is stored, in bytes."""
MAX_ERROR_CHARACTERS = 10_000
"""The maximum number of characters of an error's text that are stored."""
MAX_REQUESTS = 3
"""The maximum number of requests in one run for a document whose outcomes are transient."""
TIMEOUT_STATUS = -4
"""The status code for a timeout, as Heritrix numbers it."""

OPTIONS = (
    ("consolidateHeader", "0"), ("consolidateCitations", "0"), ("consolidateFunders", "0"),
    ("includeRawCitations", "1"), ("includeRawAffiliations", "1"),
)  # fmt: skip
"""Form fields that are always sent, because their defaults differ between versions of the server."""
_COORDINATE_ELEMENTS = ("ref", "figure", "persName", "formula", "biblStruct")

_ERROR_CODE = re.compile(r"\s*\[([A-Z_]+)\]")
_DOCUMENT_ERRORS = frozenset({
    "BAD_INPUT_DATA", "NO_BLOCKS", "TOO_MANY_BLOCKS", "TOO_MANY_TOKENS", "TAGGING_ERROR", "PARSING_ERROR",
})  # fmt: skip
_NO_TEXT_ERROR = "NO_BLOCKS"


def tei_request(number: int, *, with_coordinates: bool = False) -> Ask:
    """Return the request for the full text of a document as TEI. `number` (from 1) distinguishes repeated requests."""
    fields = [FormField(name, setting) for name, setting in OPTIONS]
    fields += [FormField("teiCoordinates", element) for element in _COORDINATE_ELEMENTS if with_coordinates]
    return Ask(
        f"tei-{number}",
        GROBID,
        "api/processFulltextDocument" + (f"?try={number}" if number > 1 else ""),
        headers=(("Accept", "application/xml"),),
        form=(FormField("input", DocumentPart(), "paper.pdf", "application/pdf"), *fields),
    )


_EARLIER_RUN, _FINAL, _THIS_RUN = "before", "final", "tei"  # prefixes of the names of answers


def earlier_name(name: str) -> str:
    """Return the name that an answer of this run has in later runs.

    >>> earlier_name("tei-3")
    'before-3'
    """
    return f"{_EARLIER_RUN}-{request_number(name)}"


def final_name(name: str) -> str:
    """Return the name that marks an answer as final, although another request might have a different outcome.

    >>> final_name("tei-9")
    'final-9'
    """
    return f"{_FINAL}-{request_number(name)}"


def is_final_name(name: str) -> bool:
    """Return whether a name was made by `final_name`."""
    return name.startswith(_FINAL)


def request_number(name: str) -> int:
    """Return the number of the request to which the answer with this name belongs."""
    return int(name.rpartition("-")[2])


def count_earlier_requests(answers: Iterable[str]) -> int:
    """Return how often earlier runs sent a document to GROBID, from the names of its answers.

    >>> count_earlier_requests([]), count_earlier_requests(["tei-1"]), count_earlier_requests(["before-3"])
    (0, 0, 3)
    >>> count_earlier_requests(["tei-4", "tei-5"])
    3
    """
    parts = [name.partition("-") for name in answers]
    earlier_numbers = [int(number) for prefix, _, number in parts if prefix == _EARLIER_RUN]
    first_number = min((int(number) for prefix, _, number in parts if prefix == _THIS_RUN), default=1)
    return max([*earlier_numbers, first_number - 1])


class GrobidOutcome(NamedTuple):
    """The outcome of a request: contents of the cells `grobid0:status_code` and `grobid0:status`, and the TEI.

    `table_json` and `later_json` are the TEI as JSON, with the keys of TABLE and of LATER (None: not converted).
    `quality` is the content of `grobid0:quality`. `is_transient` means that the server may be the cause of the failure,
    so that another request may have a different outcome. `further_text` is what the TEI has beside the body.
    """

    code: int
    status: dict[str, Any]
    tei: bytes = b""
    table_json: dict[str, Any] | None = None
    later_json: dict[str, Any] | None = None
    quality: str = "bad"
    is_transient: bool = False
    further_text: str = ""

    @property
    def word(self) -> str:
        """The word in `status`, such as `success`."""
        return str(self.status["status"])


def interpret_answer(answer: Answer, limits: Limits, md5: str = "") -> GrobidOutcome:  # noqa: PLR0911 one for each outcome
    """Return the outcome of a request from its answer. `md5` is the document's MD5 in hexadecimal, or empty.

    The word in the outcome's `status` is success, oversize, error or fail. It is error for a timeout and for an HTTP
    status other than 200, and fail if the answer is not the TEI of the document. The `reason` in `status` is the code
    of GROBID's error, NEEDS_OCR for pages without text, or a word for another failure, such as NOT_XML.
    """
    if answer.reason is Reason.TIMEOUT:
        status = {"status": "error", "reason": "TIMEOUT", "description": "no answer in time"}
        return GrobidOutcome(TIMEOUT_STATUS, status, is_transient=True)
    if answer.reason in TOO_LARGE_REASONS:
        return GrobidOutcome(answer.status, {"status": "oversize", "reason": answer.reason.name})
    if answer.status != 200:
        return _error_outcome(answer)
    content = answer.view.read(MAX_TEI_SIZE + 1)
    if len(content) > MAX_TEI_SIZE:
        return GrobidOutcome(200, {"status": "oversize", "reason": "TOO_LARGE"})
    if content[:64].lstrip()[:1] not in {b"<", b"\xef"}:
        status = {"status": "fail", "reason": "NOT_XML", "description": _text(content[:200])}
        return GrobidOutcome(200, status, is_transient=True)
    try:
        root = read_tei(content, limits)
        table_json = table_shape(root)
    except StepError as error:
        # XML that is not well-formed was cut off in transfer; another root element may be a page of a proxy.
        description = "non-TEI content" if error.reason is Reason.WRONG_ROOT else f"XML parse error: {error}"
        status = {"status": "fail", "reason": str(error.reason), "description": description[:MAX_ERROR_CHARACTERS]}
        is_transient = error.reason in {Reason.NOT_WELL_FORMED, Reason.WRONG_ROOT}
        return GrobidOutcome(200, status, content, is_transient=is_transient)
    if md5 and (md5_of_tei := read_md5(root)) and md5_of_tei != md5:
        description = f"the TEI is of another document, whose MD5 is {md5_of_tei[:64]}"
        status = {"status": "fail", "reason": "OTHER_DOCUMENT", "description": description}
        return GrobidOutcome(200, status, is_transient=True)
    try:
        later_json = legacy_shape(root)
    except StepError:
        later_json = None
    quality = rate_quality(table_json)
    return GrobidOutcome(
        200, {"status": "success"}, content, table_json, later_json, quality, further_text=further_text(root)
    )


def interpret_unparsed(answer: Answer, reason: Reason) -> GrobidOutcome:
    """Return the outcome of an answer without parsing its TEI; earlier runs of the step were stopped for `reason`."""
    if answer.status != 200 or answer.reason is not None:
        return interpret_answer(answer, Limits())
    content = answer.view.read(MAX_TEI_SIZE + 1)
    if len(content) > MAX_TEI_SIZE:
        return GrobidOutcome(200, {"status": "oversize", "reason": "TOO_LARGE"})
    return GrobidOutcome(
        200, {"status": "fail", "reason": str(reason), "description": "reading the TEI was stopped"}, content
    )


def _error_outcome(answer: Answer) -> GrobidOutcome:
    text = _text(answer.view.read(4 * MAX_ERROR_CHARACTERS))[:MAX_ERROR_CHARACTERS]
    error_code = _ERROR_CODE.match(text)
    code = error_code[1] if error_code else ""
    if answer.status == 204:
        return GrobidOutcome(204, {"status": "error", "reason": "NO_CONTENT", "description": "nothing was extracted"})
    status = {"status": "error", "reason": "NEEDS_OCR" if code == _NO_TEXT_ERROR else code or f"HTTP_{answer.status}"}
    status["description"] = text
    return GrobidOutcome(answer.status, status, is_transient=code not in _DOCUMENT_ERRORS)


def skip_failed(key: str, record: Mapping[str, Any], *, repeated: bool) -> Iterator[Skip]:
    """Yield a Skip if GROBID's outcome in a paper's record is a failure, so that the paper is not sent again.

    `repeated` means that the store made the outcome final after several runs. Nothing is yielded if another Skip says
    the same: that the step was stopped, or that the embedded extractor found no text either.
    """
    outcome = record.get("grobid")
    if outcome is None or outcome["passing"] or outcome["status"]["status"] == "success":
        return
    status = outcome["status"]
    word, cause = status["status"], status["reason"]
    has_no_text = (record.get("text") or {}).get("status", {}).get("status") == "no-text"
    if cause in OWN_FAULTS or (cause in {"NEEDS_OCR", "NO_CONTENT"} and has_no_text):
        return
    failure = f"status {outcome['status_code']}, {cause}"
    reason, message = Reason.SERVER_ERROR, f"GROBID failed for it{' in several runs' if repeated else ''} ({failure})"
    if word == "oversize":
        reason, message = Reason(cause.lower()), f"GROBID's answer is too large to be kept ({failure})"
    elif word == "fail" and not repeated:
        reason, message = Reason(cause), f"GROBID's TEI cannot be read ({failure})"
    yield Skip(reason, key, f"{message}; to send the paper again: windrow retry --service grobid {key}")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\0", " ").strip()


_MIN_TITLE, _GOOD_BODY, _MIN_BODY = 8, 2_000, 200  # characters


def rate_quality(paper: dict[str, Any]) -> str:
    """Return `good`, `marginal` or `bad` for `paper`, the JSON of a TEI with the keys of TABLE.

    Good: a title of at least 8 characters, an author with a surname, a body of at least 2,000 characters, and an
    abstract or a reference with a title. Bad: neither such a title nor such an author, or a body below 200
    characters without an abstract. Marginal: all other papers.
    """
    has_title = len(plain_title(paper["title"] or "")) >= _MIN_TITLE
    has_author = any(author["surname"] for author in paper["authors"])
    body_length, has_abstract = len(paper["body"] or ""), bool(paper["abstract"])
    has_cited_title = any(citation["title"] for citation in paper["citations"])
    if has_title and has_author and body_length >= _GOOD_BODY and (has_abstract or has_cited_title):
        return "good"
    if not (has_title or has_author) or (body_length < _MIN_BODY and not has_abstract):
        return "bad"
    return "marginal"
