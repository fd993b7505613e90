"""Read the text, links and metadata of a PDF (ISO 32000-1) with PDFium; needs the extra `pdf`.

PDFium is C++, fast and well fuzzed. A document that crashes it ends only the process that reads documents, which has
limits of time and memory. This module limits bytes, pages, characters, links and bookmarks.
"""

from __future__ import annotations

import ctypes
import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from windrow.caps import (
    PDF_BOOKMARK_LEVELS,
    PDF_BOOKMARKS,
    PDF_BYTES,
    PDF_CHARACTERS,
    PDF_LINKS,
    PDF_PAGE_LINKS,
    PDF_PAGES,
    PDF_TITLE,
    URL_CHARACTERS,
    Cap,
    Excess,
)
from windrow.errors import MissingExtra, StepError
from windrow.formats.text import counted, replace_controls
from windrow.model import Limits
from windrow.reasons import Reason

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_MAX_BYTES = PDF_BYTES.number
_LIMITS = Limits()
_MAX_LINKS = PDF_LINKS.number
_MAX_PAGE_LINKS = PDF_PAGE_LINKS.number
_HEAD_LINES = 16  # lines, beginning with the one in the largest letters
_MIN_TITLE_LETTERS = 4  # the fewest letters and digits of a title
_MAX_PIECES = 40  # pieces of the first page that are searched for its title
_MAX_BOOKMARKS = PDF_BOOKMARKS.number  # entries of the table of contents
_MAX_BOOKMARK_LEVELS = PDF_BOOKMARK_LEVELS.number
_PDF_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-])(\d\d)'?(\d\d)?'?)?", re.ASCII)
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_ACTION_URI = 3  # PDFACTION_URI
# PDFium returns one of these characters for a hyphen at the end of a line
_LINE_END_HYPHEN = re.compile("[\x02\ufffe]\r?\n?")


# otherwise its warnings, for example of a table of contents that is too deep, would be printed
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())


class PdfLink(NamedTuple):
    """An address to which a page links, and the text of the link."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Pdf:
    """A document; missing texts are empty. Times are Unix seconds, or None if they are missing."""

    title: str
    subject: str
    language: str
    created: int | None
    modified: int | None
    pages: list[str]
    """The text of each page that was read, with its line ends, or "" for a page that cannot be read."""
    contents: list[tuple[int, str]]
    """The table of contents: the level, from 0, and the title of each entry."""
    links: list[PdfLink]
    left_out: tuple[Excess, ...]
    """For each cap that the document exceeds, how much is left out."""
    unreadable: int
    """The number of pages that cannot be read."""
    pictured: int
    """The number of pages that have pictures but no text, such as scanned pages."""
    unread: tuple[str, ...] = ()
    """Messages about what is never read: attached files, and a form whose pages a program would have to make (XFA)."""


class PdfLine(NamedTuple):
    """A line of a page, and the size of its letters in points."""

    text: str
    size: float


class PdfPages(NamedTuple):
    """The texts of the pages of a document.

    `head` has lines of the first page, beginning with the first line in the largest letters. `page_count` is the number
    of all pages. `left_out` has, for each cap that the document exceeds, how much is left out. `unreadable` is the
    number of pages that cannot be read; their texts are empty. `pictured` is the number of pages with pictures but
    without text, such as scanned pages. `unread` has messages about attached files and an XFA form, which are never
    read. `created` is in Unix seconds, None if it is missing.
    """

    title: str
    created: int | None
    page_count: int
    pages: list[str]
    head: list[PdfLine]
    left_out: tuple[Excess, ...]
    unreadable: int = 0
    pictured: int = 0
    unread: tuple[str, ...] = ()


def is_installed() -> bool:
    """Return whether the extra `pdf` is installed."""
    return find_spec("pypdfium2") is not None


def read_pdf(raw: bytes, limits: Limits = _LIMITS) -> Pdf:
    """Read a document within `limits`.

    Raise MissingExtra if the extra `pdf` is not installed, and StepError if the document cannot be read.
    """
    with _open_document(raw) as document:
        return _read_document(document, limits)


def read_pages(raw: bytes, limits: Limits = _LIMITS) -> PdfPages:
    """Read the text of each page of a document, but not its links or bookmarks; raise the errors of `read_pdf`."""
    with _open_document(raw) as document:
        head_lines: list[PdfLine] = []

        def add_head(index: int, _page: PdfPage, text_page: PdfTextPage) -> None:
            if index == 0:
                head_lines.extend(_find_head(text_page))

        pages, faults, left_out = _read_texts(document, limits, add_head)
        title = _read_metadata(document, b"Title")
        left_out = (*left_out, *PDF_TITLE.find_excess(len(title)))
        created = read_pdf_time(_read_metadata(document, b"CreationDate"))
        return PdfPages(
            _clean(title), created, len(document), pages, head_lines, left_out, *faults, _name_unread(document)
        )


def draw_first_page(raw: bytes, width: int, height: int) -> bytes:
    """Return the first page as a JPEG of at most `width` by `height` pixels.

    Raise the errors of `read_pdf`, and MissingExtra if the extra `pictures` is not installed.
    """
    if find_spec("PIL") is None:
        raise MissingExtra("drawing a page", "pictures")
    with _open_document(raw) as document, closing(document[0]) as page:
        page_width, page_height = page.get_size()
        scale = min(width / max(page_width, 1), height / max(page_height, 1))
        with closing(page.render(scale=scale)) as bitmap:
            jpeg = BytesIO()
            bitmap.to_pil().convert("RGB").save(jpeg, "JPEG", quality=80)
    return jpeg.getvalue()


@contextmanager
def _open_document(raw: bytes) -> Iterator[PdfDocument]:
    """Open a document for a block of code.

    Raise MissingExtra if the extra `pdf` is not installed, and StepError if the document cannot be opened, or if PDFium
    fails in the block.
    """
    if not is_installed():
        raise MissingExtra("reading PDF", "pdf")
    if len(raw) > _MAX_BYTES:
        raise StepError(f"the PDF has {len(raw)} bytes; the limit is {_MAX_BYTES}", Reason.TOO_LARGE)
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 an extra

    _reset_last_error()
    try:
        with closing(PdfDocument(raw)) as document:
            document.init_forms()  # does nothing for a document without a form
            yield document
    except PdfiumError as error:
        if error.err_code == _PASSWORD_ERROR:
            raise StepError("the PDF needs a password", Reason.ENCRYPTED) from None
        raise StepError(str(error)[:200], Reason.CORRUPT) from None
    except OverflowError as error:  # a page has an impossible size
        raise StepError(str(error)[:200], Reason.CORRUPT) from None


def _reset_last_error() -> None:
    """Set PDFium's last error to the one for a document that is not a PDF.

    PDFium does not set the error for every document that it cannot open; without the reset, the error of an earlier
    document would be reported.
    """
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    pdfium.FPDF_LoadMemDocument64(b"-", 1, None)


def _read_document(document: PdfDocument, limits: Limits) -> Pdf:
    links: list[PdfLink] = []
    left_out: Counter[Cap] = Counter()

    def add_links(_index: int, page: PdfPage, text_page: PdfTextPage) -> None:
        links_left = _MAX_LINKS - len(links)
        page_links = list(_find_links(document, page, text_page, min(links_left, _MAX_PAGE_LINKS)))
        links.extend(link for link in page_links if isinstance(link, PdfLink))
        left_out[PDF_LINKS if links_left < _MAX_PAGE_LINKS else PDF_PAGE_LINKS] += page_links.count(None)
        left_out[URL_CHARACTERS] += page_links.count(URL_CHARACTERS)

    pages, faults, excess = _read_texts(document, limits, add_links)
    contents, left_out[PDF_BOOKMARK_LEVELS] = _read_contents(document)
    left_out[PDF_BOOKMARKS] = max(0, len(contents) - _MAX_BOOKMARKS)
    title, subject = _read_metadata(document, b"Title"), _read_metadata(document, b"Subject")
    left_out[PDF_TITLE] = sum(excess.number for text in (title, subject) for excess in PDF_TITLE.find_excess(len(text)))
    return Pdf(
        title=_clean(title),
        subject=_clean(subject),
        language=_read_language(document),
        created=read_pdf_time(_read_metadata(document, b"CreationDate")),
        modified=read_pdf_time(_read_metadata(document, b"ModDate")),
        pages=pages,
        contents=contents[:_MAX_BOOKMARKS],
        links=links,
        left_out=(*excess, *(Excess(cap, number) for cap, number in left_out.items() if number)),
        unreadable=faults.unreadable,
        pictured=faults.pictured,
        unread=_name_unread(document),
    )


class _PageFaults(NamedTuple):
    unreadable: int
    pictured: int


def _read_texts(
    document: PdfDocument, limits: Limits, on_page: Callable[[int, PdfPage, PdfTextPage], None]
) -> tuple[list[str], _PageFaults, tuple[Excess, ...]]:
    """Return the texts of the first pages, how many have no text, and how much each exceeded cap leaves out.

    `on_page` is called with each page's index before its text is read. An unreadable page has an empty text.
    """
    from pypdfium2 import PdfiumError  # noqa: PLC0415 an extra

    texts: list[str] = []
    unreadable, pictured, characters_left = 0, 0, limits.characters
    for index in range(min(len(document), limits.pages)):
        text = ""
        try:
            with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
                on_page(index, page, text_page)
                text = _LINE_END_HYPHEN.sub("", text_page.get_text_bounded())
                pictured += not text.strip() and _has_pictures(page)
            if document.formenv:
                text = _read_filled_in(document, index) or text
        except PdfiumError:
            unreadable += 1
        texts.append(text[:characters_left])
        characters_left -= len(text)
        if characters_left <= 0:
            break
    unread_pages = min(len(document), limits.pages) - len(texts)  # each counts as one character
    character_count = limits.characters - characters_left + unread_pages
    characters = PDF_CHARACTERS._replace(number=limits.characters).find_excess(character_count)
    faults = _PageFaults(unreadable, pictured)
    return texts, faults, (*PDF_PAGES._replace(number=limits.pages).find_excess(len(document)), *characters)


def _read_filled_in(document: PdfDocument, index: int) -> str:
    """Return the text of a page of a form, with the values of its fields and the remarks on it. Its links are lost."""
    with closing(document[index]) as page:
        page.flatten()
    with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
        return _LINE_END_HYPHEN.sub("", text_page.get_text_bounded())


def _name_unread(document: PdfDocument) -> tuple[str, ...]:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    messages = []
    if files := document.count_attachments():
        messages.append(f"{counted(files, 'attached file')} of the PDF {'is' if files == 1 else 'are'} not read")
    if document.get_formtype() == pdfium.FORMTYPE_XFA_FULL:
        messages.append("the XFA form of the PDF is not read")
    return tuple(messages)


def _has_pictures(page: PdfPage) -> bool:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    return next(iter(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE])), None) is not None


def _find_head(text_page: PdfTextPage) -> list[PdfLine]:
    """Return at most `_HEAD_LINES` lines of a page: the first in the largest letters, and those after it in the file.

    A line with fewer than `_MIN_TITLE_LETTERS` letters and digits is not the first. The list is empty if no line can be
    first or the page cannot be read. PDFium finds lines fast, but reads texts slowly: only these lines are read.
    """
    from pypdfium2 import PdfiumError  # noqa: PLC0415 an extra

    lines: list[_Piece] = []
    try:
        for index in range(min(text_page.count_rects(), _MAX_PIECES)):
            box = _Piece(*text_page.get_rect(index))
            piece = box._replace(size=_font_size(text_page, box))
            lines.append(lines.pop().join(piece) if lines and lines[-1].is_beside(piece) else piece)
        sizes = [round(line.height(), 1) for line in lines]
        for index in sorted(range(len(lines)), key=lambda index: (-sizes[index], index)):
            if sum(map(str.isalnum, _clean(text_page.get_text_bounded(*lines[index].box())))) >= _MIN_TITLE_LETTERS:
                end = index + _HEAD_LINES
                texts = (_clean(text_page.get_text_bounded(*line.box())) for line in lines[index:end])
                return [PdfLine(line, size) for line, size in zip(texts, sizes[index:end], strict=True) if line]
    except PdfiumError:
        pass
    return []


def _font_size(text_page: PdfTextPage, piece: _Piece) -> float:
    """Return the font size in points of a piece's first letter, or the height of the box if the size is not known.

    The height of a box depends on its letters: without letters such as g or T, it is less than the font size.
    """
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    height, middle = piece.top - piece.bottom, (piece.top + piece.bottom) / 2
    index = pdfium.FPDFText_GetCharIndexAtPos(text_page.raw, piece.left, middle, 2.0, height)
    matrix = pdfium.FS_MATRIX()
    if index < 0 or not pdfium.FPDFText_GetMatrix(text_page.raw, index, matrix):
        return height
    return float(pdfium.FPDFText_GetFontSize(text_page.raw, index) * math.hypot(matrix.c, matrix.d)) or height


class _Piece(NamedTuple):
    """The box of a line, or of a part of a line, on its page, in points.

    `size` is the font size of the widest part, or else the height of its box; it is 0 until it is determined.
    """

    left: float
    bottom: float
    right: float
    top: float
    size: float = 0.0

    def box(self) -> tuple[float, float, float, float]:
        return self.left, self.bottom, self.right, self.top

    def height(self) -> float:
        return self.size or self.top - self.bottom

    def is_beside(self, other: _Piece) -> bool:
        """Return whether both pieces are on the same line of the page."""
        distance = abs(self.bottom + self.top - other.bottom - other.top) / 2
        return distance < max(self.top - self.bottom, other.top - other.bottom) / 2

    def join(self, other: _Piece) -> _Piece:
        wider = self if self.right - self.left >= other.right - other.left else other
        left, bottom = min(self.left, other.left), min(self.bottom, other.bottom)
        return _Piece(left, bottom, max(self.right, other.right), max(self.top, other.top), wider.height())


def _find_links(
    document: PdfDocument, page: PdfPage, text_page: PdfTextPage, max_links: int
) -> Iterator[PdfLink | Cap | None]:
    """Yield the addresses that a page links to, each with the text within the box of its link.

    Yield the cap URL_CHARACTERS for an address that exceeds it, in bytes. For each further link after the first
    `max_links`, yield None: PDFium finds links fast, but their texts slowly.
    """
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    position, link, area = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    link_count = 0
    while pdfium.FPDFLink_Enumerate(page.raw, position, link):
        action = pdfium.FPDFLink_GetAction(link)
        if not action or pdfium.FPDFAction_GetType(action) != _ACTION_URI:
            continue
        size = pdfium.FPDFAction_GetURIPath(document.raw, action, None, 0)  # with a NUL at the end
        if size <= 1:
            continue
        if size - 1 > URL_CHARACTERS.number:
            yield URL_CHARACTERS
            continue
        link_count += 1
        if link_count > max_links:
            yield None
            continue
        buffer = ctypes.create_string_buffer(size)
        pdfium.FPDFAction_GetURIPath(document.raw, action, buffer, size)
        link_text = ""
        if pdfium.FPDFLink_GetAnnotRect(link, area):
            inset = (area.top - area.bottom) / 4  # neighbouring lines overlap the link's box
            link_text = _clean(text_page.get_text_bounded(area.left, area.bottom + inset, area.right, area.top - inset))
        yield PdfLink(buffer.value.decode("utf-8", "replace"), link_text)


def _read_contents(document: PdfDocument) -> tuple[list[tuple[int, str]], int]:
    """Return the level and title of each entry in the table of contents, and the number of entries that are too deep.

    At most twice `_MAX_BOOKMARKS` entries are read. Of the levels that are too deep, only the first one is counted.
    """
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    contents, deeper = [], 0
    bookmarks = document.get_toc(max_depth=_MAX_BOOKMARK_LEVELS + 1)
    for bookmark in islice(bookmarks, 2 * _MAX_BOOKMARKS):  # the table may be circular
        title = _clean(_read_text(pdfium.FPDFBookmark_GetTitle, bookmark.raw))
        if bookmark.level >= _MAX_BOOKMARK_LEVELS:
            deeper += 1
        elif title:
            contents.append((bookmark.level, title))
    return contents, deeper


def _read_metadata(document: PdfDocument, key: bytes) -> str:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    return _read_text(pdfium.FPDF_GetMetaText, document.raw, key)


def _read_text(pdfium_function: Callable[..., int], *arguments: object) -> str:
    """Return a text from PDFium, which is UTF-16 with a NUL at its end; pypdfium2 itself fails on lone surrogates."""
    byte_count = pdfium_function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(byte_count)
    pdfium_function(*arguments, buffer, byte_count)
    return buffer.raw[: max(0, byte_count - 2)].decode("utf-16-le", "replace")


def _read_language(document: PdfDocument) -> str:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 an extra

    buffer = (ctypes.c_ushort * 40)()
    byte_count = pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, ctypes.sizeof(buffer))
    return (
        bytes(buffer).decode("utf-16-le", "ignore")[: byte_count // 2 - 1]
        if 2 < byte_count <= ctypes.sizeof(buffer)
        else ""
    )


def _clean(text: str) -> str:
    return " ".join(replace_controls(text[: PDF_TITLE.number]).split())


def read_pdf_time(text: str) -> int | None:
    """Convert a PDF date (ISO 32000-1, section 7.9.4) to Unix seconds; return None if it is not valid.

    A date without a zone is read as UTC.

    >>> read_pdf_time("D:20080817215520+01'00'"), read_pdf_time("D:1970"), read_pdf_time("today")
    (1219006520, 0, None)
    """
    date = _PDF_DATE.match(text.strip())
    if not date:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else default for part, default in zip(date.groups()[:6], (0, 1, 1, 0, 0, 0), strict=True)
    )
    offset = timedelta(hours=int(date[8] or 0), minutes=int(date[9] or 0))
    try:
        zone = timezone(-offset if date[7] == "-" else offset) if offset else UTC
        return int(datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        return None
