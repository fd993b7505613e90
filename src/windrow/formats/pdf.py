"""The text, links and metadata of a PDF (ISO 32000-1), by PDFium, where the extra `pdf` is installed.

PDFium is C++: it is fast and was fuzzed by many, and what is worse than it can bear takes down the reader's process
alone, which has bounds of time and memory. Here are bounds of bytes, pages, characters and links.
"""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from windrow.errors import MissingExtra, StepError
from windrow.formats.text import clean
from windrow.reasons import Reason

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

PAGES = 1_000
"""Pages that are read; of the rest it is only known that they are there."""

_BYTES = 64 * 1024 * 1024
_CHARACTERS = 4 * 1024 * 1024
_LINKS = 10_000
_LINKS_PAGE = 500
_HEAD = 16  # lines from the largest on
_WORD = 4  # letters of a line that says something
_PIECES = 40  # pieces of the first page that are looked at for its title
_MARKS = 2_000  # headlines of the table of contents
_LONGEST = 2_048
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-])(\d\d)'?(\d\d)?'?)?", re.ASCII)
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_ACTION_URI = 3  # PDFACTION_URI
# PDFium puts one of these for a hyphen at a line's end
_HYPHEN = re.compile("[\x02\ufffe]\r?\n?")


# What it warns of, such as a table of contents that is too deep, is told by what is read.
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())


class PdfLink(NamedTuple):
    """An address that a page refers to, and the words that lie under it."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Pdf:
    """A document; what it does not say is empty. Times are UNIX seconds."""

    title: str
    subject: str
    language: str
    created: int | None
    modified: int | None
    pages: list[str]
    """The text of each page that was read, in lines."""
    contents: list[tuple[int, str]]
    """The table of contents: levels from 0, and titles."""
    links: list[PdfLink]
    cut: bool
    """Whether there is more than was read."""


class PdfLine(NamedTuple):
    """A line of a page, and how high its letters are, in points."""

    text: str
    size: float


class PdfPages(NamedTuple):
    """The text of a document by page; `head` are the upper lines of the first page, `number` the pages that there are.

    `cut` says that there is more text than this.
    """

    title: str
    created: int | None
    number: int
    pages: list[str]
    head: list[PdfLine]
    cut: bool


def known() -> bool:
    """Tell whether the extra is installed."""
    return find_spec("pypdfium2") is not None


def read(raw: bytes) -> Pdf:
    """Read a document, or raise `MissingExtra`, or `StepError` with a reason."""
    with _opened(raw) as document:
        return _read(document)


def read_pages(raw: bytes) -> PdfPages:
    """Read the text of a document by page, without links and contents; raises what `read` raises."""
    with _opened(raw) as document:
        pages: list[str] = []
        head: list[PdfLine] = []
        room = _CHARACTERS
        number = len(document)
        for at in range(min(number, PAGES)):
            text = _words(document, at, None if at else head)
            pages.append(text[:room])
            room -= len(text)
            if room <= 0:
                break
        title, created = _line(_metadata(document, b"Title")), moment(_metadata(document, b"CreationDate"))
        return PdfPages(title, created, number, pages, head, len(pages) < number or room <= 0)


def picture(raw: bytes, width: int, height: int) -> bytes:
    """Draw the first page as a JPEG that fits into so many points; raises what `read` raises."""
    if find_spec("PIL") is None:
        raise MissingExtra("drawing a page", "pictures")
    with _opened(raw) as document, closing(document[0]) as page:
        wide, high = page.get_size()
        scale = min(width / max(wide, 1), height / max(high, 1))
        with closing(page.render(scale=scale)) as bitmap:
            out = BytesIO()
            bitmap.to_pil().convert("RGB").save(out, "JPEG", quality=80)
    return out.getvalue()


@contextmanager
def _opened(raw: bytes) -> Iterator[PdfDocument]:
    if not known():
        raise MissingExtra("reading PDF", "pdf")
    if len(raw) > _BYTES:
        raise StepError(f"{len(raw)} bytes, at most {_BYTES} are read", Reason.TOO_LARGE)
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 an extra

    try:
        with closing(PdfDocument(raw)) as document:
            yield document
    except PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise StepError("it wants a password", Reason.ENCRYPTED) from None
        raise StepError(str(error)[:200], Reason.CORRUPT) from None
    except OverflowError as error:  # of pages as large as nobody can draw
        raise StepError(str(error)[:200], Reason.CORRUPT) from None


def _read(document: PdfDocument) -> Pdf:
    pages: list[str] = []
    links: list[PdfLink] = []
    number = len(document)
    room = _CHARACTERS
    for at in range(min(number, PAGES)):
        text = _page(document, at, links)
        pages.append(text[:room])
        room -= len(text)
        if room <= 0:
            break
    return Pdf(
        _line(_metadata(document, b"Title")),
        _line(_metadata(document, b"Subject")),
        _language(document),
        moment(_metadata(document, b"CreationDate")),
        moment(_metadata(document, b"ModDate")),
        pages,
        list(_contents(document)),
        links,
        len(pages) < number or room <= 0,
    )


def _page(document: PdfDocument, at: int, links: list[PdfLink]) -> str:
    """Return the text of a page, and add its links; a page that cannot be read is empty."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415 an extra

    try:
        with closing(document[at]) as page, closing(page.get_textpage()) as text:
            if len(links) < _LINKS:
                links.extend(_links(document, page, text))
            return _HYPHEN.sub("", text.get_text_bounded())
    except PdfiumError:
        return ""


def _words(document: PdfDocument, at: int, head: list[PdfLine] | None) -> str:
    """Return the text of a page, and put its first lines into a head; a page that cannot be read is empty."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415 an extra

    try:
        with closing(document[at]) as page, closing(page.get_textpage()) as text:
            if head is not None:
                head += _head(text)
            return _HYPHEN.sub("", text.get_text_bounded())
    except PdfiumError:
        return ""


def _head(text: PdfTextPage) -> list[PdfLine]:
    """Return the first line of a page in its largest letters, and those behind it, as they are in the file.

    To ask where lines are is cheap, to ask what they say is not: only these are asked.
    """
    from pypdfium2 import PdfiumError  # noqa: PLC0415 an extra

    lines: list[_Piece] = []
    try:
        for at in range(min(text.count_rects(), _PIECES)):
            found = _Piece(*text.get_rect(at))
            lines.append(lines.pop().joined(found) if lines and lines[-1].beside(found) else found)
        sizes = [round(line.high(), 1) for line in lines]
        for at in sorted(range(len(lines)), key=lambda at: (-sizes[at], at)):
            if sum(map(str.isalnum, _line(text.get_text_bounded(*lines[at][:4])))) >= _WORD:
                end = at + _HEAD
                said = (_line(text.get_text_bounded(*line[:4])) for line in lines[at:end])
                return [PdfLine(*one) for one in zip(said, sizes[at:end], strict=True) if one[0]]
    except PdfiumError:
        pass
    return []


class _Piece(NamedTuple):
    """Where a piece of a line stands on its page, in points; `size` is how high letters are in its widest part."""

    left: float
    bottom: float
    right: float
    top: float
    size: float = 0.0

    def high(self) -> float:
        return self.size or self.top - self.bottom

    def beside(self, other: _Piece) -> bool:
        """Tell whether both stand in one line."""
        apart = abs(self.bottom + self.top - other.bottom - other.top) / 2
        return apart < max(self.top - self.bottom, other.top - other.bottom) / 2

    def joined(self, other: _Piece) -> _Piece:
        wider = self if self.right - self.left >= other.right - other.left else other
        left, bottom = min(self.left, other.left), min(self.bottom, other.bottom)
        return _Piece(left, bottom, max(self.right, other.right), max(self.top, other.top), wider.high())


def _links(document: PdfDocument, page: PdfPage, text: PdfTextPage) -> Iterator[PdfLink]:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    place, link, area = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    for _ in range(_LINKS_PAGE):
        if not pdfium.FPDFLink_Enumerate(page.raw, place, link):
            return
        action = pdfium.FPDFLink_GetAction(link)
        if not action or pdfium.FPDFAction_GetType(action) != _ACTION_URI:
            continue
        size = pdfium.FPDFAction_GetURIPath(document.raw, action, None, 0)
        if not 1 < size <= _LONGEST:
            continue
        buffer = ctypes.create_string_buffer(size)
        pdfium.FPDFAction_GetURIPath(document.raw, action, buffer, size)
        words = ""
        if pdfium.FPDFLink_GetAnnotRect(link, area):
            edge = (area.top - area.bottom) / 4  # neighbouring lines reach into it
            words = _line(text.get_text_bounded(area.left, area.bottom + edge, area.right, area.top - edge))
        yield PdfLink(buffer.value.decode("utf-8", "replace"), words)


def _contents(document: PdfDocument) -> Iterator[tuple[int, str]]:
    """Yield the table of contents; one that runs in circles ends where it does."""
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    for at, mark in enumerate(document.get_toc(max_depth=6)):
        if at >= _MARKS:
            return
        title = _line(_text(pdfium.FPDFBookmark_GetTitle, mark.raw))
        if title:
            yield mark.level, title


def _metadata(document: PdfDocument, key: bytes) -> str:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    return _text(pdfium.FPDF_GetMetaText, document.raw, key)


def _text(get: Callable[..., int], *asked: object) -> str:
    """Return a text that PDFium gives in UTF-16 with a NUL behind it; pypdfium2 raises for half a surrogate pair."""
    size = get(*asked, None, 0)
    buffer = ctypes.create_string_buffer(size)
    get(*asked, buffer, size)
    return buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace")


def _language(document: PdfDocument) -> str:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    buffer = (ctypes.c_ushort * 40)()
    size = pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, ctypes.sizeof(buffer))
    return bytes(buffer).decode("utf-16-le", "ignore")[: size // 2 - 1] if 2 < size <= ctypes.sizeof(buffer) else ""


def _line(written: str) -> str:
    return " ".join(clean(written[:_LONGEST]).split())


def moment(written: str) -> int | None:
    """Return the UNIX time of a PDF date (ISO 32000-1, section 7.9.4); one without a zone is taken as UTC.

    >>> moment("D:20080817215520+01'00'"), moment("D:1970"), moment("today")
    (1219006520, 0, None)
    """
    found = _DATE.match(written.strip())
    if not found:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else least for part, least in zip(found.groups()[:6], (0, 1, 1, 0, 0, 0), strict=True)
    )
    away = timedelta(hours=int(found[8] or 0), minutes=int(found[9] or 0))
    try:
        zone = timezone(-away if found[7] == "-" else away) if away else UTC
        return int(datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        return None
