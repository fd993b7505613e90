"""The request to a GROBID server, and what its answers mean for a row of the table.

Its errors have status 500 and plain text that begins with a code in brackets, whatever the content type says.
Some are about the document, others about the server: only the first are final, the others are transient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from windrow.collections.papers.collection import GROBID
from windrow.collections.papers.verdict import plain
from windrow.contract import Answer, Ask, DocumentPart, FormField
from windrow.errors import StepError
from windrow.formats.tei import legacy_shape, read_tei, table_shape
from windrow.model import Limits
from windrow.reasons import TOO_LARGE_REASONS, Reason

MOST_TEI = 4_000_000
"""Bytes of an answer that are stored."""
MOST_ERROR = 10_000
"""Characters of an error that are stored."""
TRIES = 3
"""How often a run sends a document if the answers are transient."""
TIMED_OUT = -4
"""The status code for a timeout, as Heritrix numbers it."""

OPTIONS = (
    ("consolidateHeader", "0"),
    ("consolidateCitations", "0"),
    ("consolidateFunders", "0"),
    ("includeRawCitations", "1"),
    ("includeRawAffiliations", "1"),
)
"""Always sent: their defaults differ between versions of the server."""
_COORDINATES = ("ref", "figure", "persName", "formula", "biblStruct")

_CODE = re.compile(r"\s*\[([A-Z_]+)\]")
_OF_DOCUMENT = {"BAD_INPUT_DATA", "NO_BLOCKS", "TOO_MANY_BLOCKS", "TOO_MANY_TOKENS", "TAGGING_ERROR", "PARSING_ERROR"}
_OCR = "NO_BLOCKS"
_NOT_GROBID = frozenset({404, 405})
"""Statuses of a server without this service: the address is wrong, not the document."""


def tei_request(number: int, *, coordinates: bool = False) -> Ask:
    """Return the request for a document's full text as TEI, numbered from 1; servers ignore the number."""
    fields = [FormField(name, setting) for name, setting in OPTIONS]
    fields += [FormField("teiCoordinates", coordinate) for coordinate in _COORDINATES if coordinates]
    return Ask(
        f"tei-{number}",
        GROBID,
        "api/processFulltextDocument" + (f"?try={number}" if number > 1 else ""),
        headers=(("Accept", "application/xml"),),
        form=(FormField("input", DocumentPart(), "paper.pdf", "application/pdf"), *fields),
    )


_EARLIER_RUN, _THIS_RUN = "before", "tei"


def earlier_name(name: str) -> str:
    """Return the name of an answer in later runs.

    >>> earlier_name("tei-3")
    'before-3'
    """
    return f"{_EARLIER_RUN}-{name.rpartition('-')[2]}"


def count_earlier_requests(answers: Iterable[str]) -> int:
    """Return how often earlier runs sent a document, by the names of its answers.

    >>> count_earlier_requests([]), count_earlier_requests(["tei-1"]), count_earlier_requests(["before-3"])
    (0, 0, 3)
    >>> count_earlier_requests(["tei-4", "tei-5"])
    3
    """
    parts = [name.partition("-") for name in answers]
    earlier_numbers = [int(number) for kind, _, number in parts if kind == _EARLIER_RUN]
    first_number = min((int(number) for kind, _, number in parts if kind == _THIS_RUN), default=1)
    return max([*earlier_numbers, (first_number - 1) // TRIES * TRIES])


class GrobidOutcome(NamedTuple):
    """The outcome of a request: `grobid0:status`, the TEI if it is stored, and its JSON in two shapes.

    `transient` is set if the server is at fault: another request may have another outcome.
    """

    code: int
    status: dict[str, Any]
    tei: bytes = b""
    table: dict[str, Any] | None = None
    legacy: dict[str, Any] | None = None
    quality: str = "bad"
    transient: bool = False

    @property
    def word(self) -> str:
        """The status in one word."""
        return str(self.status["status"])


def interpret_answer(answer: Answer, limits: Limits) -> GrobidOutcome:  # noqa: PLR0911 one return for each outcome
    """Return the outcome of a request from its answer.

    `status` is success; oversize; error, for any HTTP status but 200; or fail, if the answer is not TEI. `reason` is
    the code of an error; NEEDS_OCR for pages without text.
    """
    if answer.reason is Reason.TIMEOUT:
        return GrobidOutcome(TIMED_OUT, {"status": "error", "reason": "TIMEOUT", "description": "no answer in time"})
    if answer.reason in TOO_LARGE_REASONS:
        return GrobidOutcome(answer.status, {"status": "oversize", "reason": answer.reason.name})
    if answer.status != 200:
        return _error(answer)
    content = answer.view.read(MOST_TEI + 1)
    if len(content) > MOST_TEI:
        return GrobidOutcome(200, {"status": "oversize", "reason": "TOO_LARGE"})
    if content[:64].lstrip()[:1] not in {b"<", b"\xef"}:
        status = {"status": "fail", "reason": "NOT_XML", "description": _text(content[:200])}
        return GrobidOutcome(200, status, transient=True)
    try:
        root = read_tei(content, limits)
        table = table_shape(root)
    except StepError as error:
        # A document that is not well-formed was cut off in transfer; another root element will be the same next time.
        description = "non-TEI content" if error.reason is Reason.WRONG_ROOT else f"XML parse error: {error}"
        status = {"status": "fail", "reason": str(error.reason), "description": description[:MOST_ERROR]}
        return GrobidOutcome(200, status, content, transient=error.reason is Reason.NOT_WELL_FORMED)
    try:
        legacy = legacy_shape(root)
    except StepError:
        legacy = None
    return GrobidOutcome(200, {"status": "success"}, content, table, legacy, quality(table))


def interpret_unparsed(answer: Answer, reason: Reason) -> GrobidOutcome:
    """Return the outcome of an answer whose TEI killed the parser: the bytes are kept, but not parsed."""
    if answer.status != 200 or answer.reason is not None:
        return interpret_answer(answer, Limits())
    content = answer.view.read(MOST_TEI + 1)
    if len(content) > MOST_TEI:
        return GrobidOutcome(200, {"status": "oversize", "reason": "TOO_LARGE"})
    return GrobidOutcome(
        200, {"status": "fail", "reason": str(reason), "description": "reading the TEI was stopped"}, content
    )


def _error(answer: Answer) -> GrobidOutcome:
    text = _text(answer.view.read(4 * MOST_ERROR))[:MOST_ERROR]
    match = _CODE.match(text)
    code = match[1] if match else ""
    if answer.status == 204:
        return GrobidOutcome(204, {"status": "error", "reason": "NO_CONTENT", "description": "nothing was extracted"})
    status = {"status": "error", "reason": "NEEDS_OCR" if code == _OCR else code or f"HTTP_{answer.status}"}
    status["description"] = text
    return GrobidOutcome(
        answer.status,
        status,
        transient=answer.status in _NOT_GROBID or (answer.status >= 500 and code not in _OF_DOCUMENT),
    )


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\0", " ").strip()


_TITLE, _BODY, _SHORT_BODY = 8, 2_000, 200  # characters


def quality(table: dict[str, Any]) -> str:
    """Return good, marginal or bad, by what was extracted.

    Good: a title of at least 8 characters, an author with a surname, a body of at least 2,000 characters, and an
    abstract or a reference with a title. Bad: neither title nor author, or a body below 200 characters without an
    abstract. Everything else is marginal.
    """
    title = len(plain(table["title"] or "")) >= _TITLE
    has_author = any(author["surname"] for author in table["authors"])
    body, abstract = len(table["body"] or ""), bool(table["abstract"])
    has_cited_title = any(citation["title"] for citation in table["citations"])
    if title and has_author and body >= _BODY and (abstract or has_cited_title):
        return "good"
    if not (title or has_author) or (body < _SHORT_BODY and not abstract):
        return "bad"
    return "marginal"
