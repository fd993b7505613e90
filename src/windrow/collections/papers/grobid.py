"""What is asked of a GROBID server, and what its answers mean for a row of the table.

Its errors are told by status 500 with plain text that begins with a code in brackets, whatever the content type says.
Some of them say something of the document, others of the server: only the first are stored as done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from windrow.collections.papers.collection import GROBID
from windrow.collections.papers.verdict import plain
from windrow.contract import Answer, Ask, DocumentPart, FormField
from windrow.errors import StepError
from windrow.formats.tei import later_shape, read, table_shape
from windrow.model import Limits
from windrow.reasons import OVERSIZE, Reason

MOST_TEI = 4_000_000
"""Bytes of an answer that are stored."""
MOST_TOLD = 10_000
"""Characters of an error that are stored."""
TRIES = 3
"""How often a run sends a document whose answers tell of the server, not of the document."""
TIMED_OUT = -4
"""The status of no answer in time, as crawlers number it."""

OPTIONS = (
    ("consolidateHeader", "0"),
    ("consolidateCitations", "0"),
    ("consolidateFunders", "0"),
    ("includeRawCitations", "1"),
    ("includeRawAffiliations", "1"),
)
"""Always sent: what servers do where they are missing differs between their versions."""
_COORDINATES = ("ref", "figure", "persName", "formula", "biblStruct")

_CODE = re.compile(r"\s*\[([A-Z_]+)\]")
_OF_DOCUMENT = {"BAD_INPUT_DATA", "NO_BLOCKS", "TOO_MANY_BLOCKS", "TOO_MANY_TOKENS", "TAGGING_ERROR", "PARSING_ERROR"}
_OCR = "NO_BLOCKS"
_NO_GROBID = frozenset({404, 405})
"""Statuses of a server that has no such service: the address is wrong, whatever the document is."""


def asked(number: int, *, coordinates: bool = False) -> Ask:
    """Return the request for the full text of the document at hand, numbered from 1; servers pass over the number."""
    fields = [FormField(name, value) for name, value in OPTIONS]
    fields += [FormField("teiCoordinates", coordinate) for coordinate in _COORDINATES if coordinates]
    return Ask(
        f"tei-{number}",
        GROBID,
        "api/processFulltextDocument" + (f"?try={number}" if number > 1 else ""),
        headers=(("Accept", "application/xml"),),
        form=(FormField("input", DocumentPart(), "paper.pdf", "application/pdf"), *fields),
    )


_EARLIER, _ASKED = "before", "tei"


def earlier(name: str) -> str:
    """Return the name by which the last answer of an earlier run is known.

    >>> earlier("tei-3")
    'before-3'
    """
    return f"{_EARLIER}-{name.rpartition('-')[2]}"


def asked_before(answers: Iterable[str]) -> int:
    """Return how often earlier runs sent a document, by the names of the answers that are there.

    >>> asked_before([]), asked_before(["tei-1"]), asked_before(["before-3"]), asked_before(["tei-4", "tei-5"])
    (0, 0, 3, 3)
    """
    found = [name.partition("-") for name in answers]
    before = [int(number) for kind, _, number in found if kind == _EARLIER]
    first = min((int(number) for kind, _, number in found if kind == _ASKED), default=1)
    return max([*before, (first - 1) // TRIES * TRIES])


class Extracted(NamedTuple):
    """What an answer means: what `grobid0:status` says, the TEI where it is stored, and what was read of it.

    `passing` is set where the answer tells of the server: asked again, it may be another.
    """

    code: int
    status: dict[str, Any]
    tei: bytes = b""
    table: dict[str, Any] | None = None
    later: dict[str, Any] | None = None
    quality: str = "bad"
    passing: bool = False

    @property
    def word(self) -> str:
        """The status in one word."""
        return str(self.status["status"])


def extracted(answer: Answer, limits: Limits) -> Extracted:  # noqa: PLR0911 one outcome after the other
    """Say what an answer means.

    `status` is success; oversize; error, for any status but 200; or fail, for what is no TEI. `reason` names the
    code of an error, and for pages that are pictures NEEDS_OCR.
    """
    if answer.reason is Reason.TIMEOUT:
        return Extracted(TIMED_OUT, {"status": "error", "reason": "TIMEOUT", "description": "no answer in time"})
    if answer.reason in OVERSIZE:
        return Extracted(answer.status, {"status": "oversize", "reason": answer.reason.name})
    if answer.status != 200:
        return _error(answer)
    content = answer.view.read(MOST_TEI + 1)
    if len(content) > MOST_TEI:
        return Extracted(200, {"status": "oversize", "reason": "TOO_LARGE"})
    if content[:64].lstrip()[:1] not in {b"<", b"\xef"}:
        status = {"status": "fail", "reason": "NOT_XML", "description": _text(content[:200])}
        return Extracted(200, status, passing=True)
    try:
        root = read(content, limits)
        table = table_shape(root)
    except StepError as error:
        # Half an answer is one that broke off; what has a root but is no TEI will be the same tomorrow.
        told = "non-TEI content" if error.reason is Reason.WRONG_ROOT else f"XML parse error: {error}"
        status = {"status": "fail", "reason": str(error.reason), "description": told[:MOST_TOLD]}
        return Extracted(200, status, content, passing=error.reason is Reason.NOT_WELL_FORMED)
    try:
        later = later_shape(root)
    except StepError:
        later = None
    return Extracted(200, {"status": "success"}, content, table, later, quality(table))


def unread(answer: Answer, reason: Reason) -> Extracted:
    """Say what an answer means over whose TEI the reader was ended: the bytes are kept, and nothing is made of them."""
    if answer.status != 200 or answer.reason is not None:
        return extracted(answer, Limits())
    content = answer.view.read(MOST_TEI + 1)
    if len(content) > MOST_TEI:
        return Extracted(200, {"status": "oversize", "reason": "TOO_LARGE"})
    return Extracted(
        200, {"status": "fail", "reason": str(reason), "description": "reading the TEI was ended"}, content
    )


def _error(answer: Answer) -> Extracted:
    told = _text(answer.view.read(4 * MOST_TOLD))[:MOST_TOLD]
    found = _CODE.match(told)
    code = found[1] if found else ""
    if answer.status == 204:
        return Extracted(204, {"status": "error", "reason": "NO_CONTENT", "description": "nothing was extracted"})
    status = {"status": "error", "reason": "NEEDS_OCR" if code == _OCR else code or f"HTTP_{answer.status}"}
    status["description"] = told
    return Extracted(
        answer.status,
        status,
        passing=answer.status in _NO_GROBID or (answer.status >= 500 and code not in _OF_DOCUMENT),
    )


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\0", " ").strip()


_TITLE, _BODY, _SOME_BODY = 8, 2_000, 200  # letters


def quality(table: dict[str, Any]) -> str:
    """Return good, marginal or bad, by what was extracted.

    Good is a title of 8 letters or more, an author with a surname, a body of 2,000 letters or more, and an abstract or
    a reference that has a title. Bad is neither title nor author, or a body below 200 letters without an abstract. All
    else is marginal.
    """
    title = len(plain(table["title"] or "")) >= _TITLE
    author = any(one["surname"] for one in table["authors"])
    body, abstract = len(table["body"] or ""), bool(table["abstract"])
    cites = any(one["title"] for one in table["citations"])
    if title and author and body >= _BODY and (abstract or cites):
        return "good"
    if not (title or author) or (body < _SOME_BODY and not abstract):
        return "bad"
    return "marginal"
