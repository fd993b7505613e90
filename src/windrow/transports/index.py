"""Read what a web server shows for a folder: its index page, or a manifest beside the files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from urllib.parse import unquote, urljoin

from lxml import html
from lxml.etree import LxmlError

from windrow.errors import TerminalFailure
from windrow.model import ListingEntry
from windrow.reasons import Reason
from windrow.transports.ftp_listing import ENTRIES, LINE

_DATES = (
    (re.compile(r"\b(\d{1,2}-[A-Z][a-z]{2}-\d{4} \d{2}:\d{2})\b"), "%d-%b-%Y %H:%M"),
    (re.compile(r"\b(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\b"), "%Y-%m-%d %H:%M"),
)
_EMPTY = re.compile(rb"<title>\s*(Index of|Directory listing for)\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<=\s)(\d{1,18})\s*\Z", re.ASCII)
_TEXT = 400  # characters beside a link that are looked at for its size and time
_CELLS = 8  # of a row that are looked at behind the one with the name
Entries = list[ListingEntry]


def index(folder: str, address: str, page: bytes) -> Entries:
    """Read an index page as nginx, Apache and others make them; `address` is the folder's own.

    Only direct children count: links that leave the folder, sort it anew or go deeper are passed
    over. A size counts where it is exact (Apache's `20K` is not), a time is taken for UTC.

    >>> page = b'<a href="../">../</a><a href="a%20b.zip">a b.zip</a>  21-Nov-2026 11:35   20480'
    >>> index("add", "https://h/drop/add/", page)[0][:3]
    ('add', 'a b.zip', 20480)
    """
    links = _links(page)
    if not links and not _EMPTY.search(page):  # most show a link to the folder above even then
        hint = "if this server shows no index, name a manifest for the source"
        raise TerminalFailure(f"{address}: no index page", Reason.PROTOCOL_ERROR, hint=hint)
    found: dict[str, ListingEntry] = {}
    rows: dict[html.HtmlElement, list[str]] = {}
    for link in links:
        raw = _child(address, link.get("href") or "")
        if raw is None or raw in found:
            continue
        is_file = not raw.endswith("/")
        size, modified = _told(_beside(link, rows)) if is_file else (None, None)
        found[raw] = ListingEntry(folder, unquote(raw.rstrip("/"), errors="surrogateescape"), size, modified, is_file)
        bounded(len(found), address)
    return list(found.values())


def manifest(folder: str, address: str, text: str) -> Entries:
    r"""Read a manifest: one name a line, below the source's base, `add/NAME`; blank lines are passed over.

    >>> manifest("add", "https://h/list.txt", "add/a.zip\nedit/b.zip\n")
    [ListingEntry(folder='add', name='a.zip', size=None, modified=None, is_file=True, reason=None)]
    """
    start = f"{folder.strip('/')}/" if folder.strip("/") else ""
    entries: dict[str, ListingEntry] = {}
    for line in text.split("\n"):
        name = line.strip("\r").removeprefix("./")
        if len(name) > LINE:
            raise TerminalFailure(f"{address}: a line of the manifest is longer than 8 kB", Reason.TOO_LARGE)
        if name.strip() and name.startswith(start) and name != start:
            entries[name] = ListingEntry(folder, name[len(start) :])
            bounded(len(entries), address)
    return list(entries.values())


def bounded(count: int, address: str) -> None:
    """Refuse a listing that has more entries than any may have."""
    if count > ENTRIES:
        raise TerminalFailure(f"{address}: more than {ENTRIES:,} entries", Reason.TOO_LARGE)


def _links(page: bytes) -> list[html.HtmlElement]:
    try:
        return list(html.document_fromstring(page, parser=html.HTMLParser(encoding="utf-8")).iter("a"))
    except LxmlError:  # nothing in it, or nothing that could be read
        return []


def _child(address: str, href: str) -> str | None:
    """Return what a link adds to the folder's address, still encoded; None where it is no child."""
    if len(href) > LINE or "?" in href or "#" in href:
        return None
    try:
        there = urljoin(address, href.strip())
    except ValueError:
        return None
    if not there.startswith(address):
        return None
    rest = there[len(address) :]
    return None if not rest or rest == "/" or "/" in rest[:-1] or rest in {"./", "../"} else rest


def _beside(link: html.HtmlElement, rows: dict[html.HtmlElement, list[str]]) -> Iterator[str]:
    """Return the texts that stand beside a link: after it, or in the next cells of its row, read once for a cell."""
    yield (link.tail or "")[:_TEXT]
    cell = link.getparent()
    if cell is not None and cell.tag == "td":
        if cell not in rows:
            rows[cell] = [f" {other.text_content()}"[:_TEXT] for other in islice(cell.itersiblings("td"), _CELLS)]
        yield from rows[cell]


def _told(texts: Iterator[str]) -> tuple[int | None, datetime | None]:
    size: int | None = None
    modified: datetime | None = None
    for text in texts:
        for pattern, form in _DATES:
            if modified is None and (found := pattern.search(text)):
                try:
                    modified = datetime.strptime(found[1], form).replace(tzinfo=UTC)
                except ValueError:
                    continue
        if size is None and (number := _SIZE.search(text)):
            size = int(number[1])
    return size, modified
