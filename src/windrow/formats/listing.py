"""Read listings of folders: lines from FTP servers, index pages of web servers, manifests and checksum files.

A listing may have at most `MAX_ENTRIES` entries, `MAX_LINE_BYTES` bytes in a line, and `MAX_BYTES` bytes in total.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from urllib.parse import unquote, urljoin, urlsplit

from lxml import html
from lxml.etree import LxmlError

from windrow.caps import LISTING_BYTES, LISTING_ENTRIES, LISTING_LINE, LISTING_TAGS, MANIFEST_LINES, UNREADABLE_LINES
from windrow.errors import TerminalFailure
from windrow.formats.text import counted
from windrow.model import ListingEntry
from windrow.reasons import Reason

Entries = list[ListingEntry]

MAX_ENTRIES = LISTING_ENTRIES.number
"""The maximum number of entries of a listing."""

MAX_LINE_BYTES = LISTING_LINE.number
"""The maximum size of a line of a listing, in bytes."""

MAX_BYTES = LISTING_BYTES.number
"""The maximum size of a listing, in bytes."""

MAX_SHOWN_CHARACTERS = 1000
"""The maximum number of characters of an unreadable line that its entry contains."""

MAX_UNREADABLE_LINES = UNREADABLE_LINES.number
"""The maximum number of unreadable lines that get an entry each; a last entry has the number of the rest."""

_UNIX_LINE = re.compile(
    r"(?P<kind>[-dlbcpsD])[-rwxsStTlL+.@]{9,11}\s++(?:\S++\s++){1,7}?(?P<size>\d[\d,]*+|-)\s++"
    r"(?:(?:[^\W\d]{3,4}+\.?\s++\d{1,2}|\d{1,2}\.?\s++[^\W\d]{3,4}+\.?)\s++(?:\d{4}|\d{1,2}:\d{2})"
    r"|(?:\d{4}-)?\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: [+-]\d{4})?"
    r"|\d{4}-\d{2}-\d{2}) (?P<name>.+)"
)
_DOS_LINE = re.compile(
    r"(?:\d{2}-\d{2}-\d{2,4}|\d{4}-\d{2}-\d{2})\s++\d{2}:\d{2}(?:[AP]M)?"
    r"\s++(?:<\w+>|(?P<size>\d[\d,]*+|-))\s+(?P<name>.+)"
)
_MAX_SIZE_DIGITS = 100  # a longer number is not read as a size
_FULL_LINE = re.compile(rb"[^\n]++")
_TIME_STAMP = re.compile(r"(\d{14})(?:\.\d+)?\Z", re.ASCII)
_SELF_AND_PARENT = frozenset({".", ".."})

_DATE_FORMATS = (
    (re.compile(r"\b(\d{1,2}-[A-Z][a-z]{2}-\d{4} \d{2}:\d{2})\b"), "%d-%b-%Y %H:%M"),
    (re.compile(r"\b(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\b"), "%Y-%m-%d %H:%M"),
)
_INDEX_TITLE = re.compile(rb"<title>\s*(?:Index of\b|Directory listing for\b|[^<>\s]{1,300} - /)", re.IGNORECASE)
_WEB_PAGE = re.compile(r"\A[^.]*\Z|\.(?:[sx]?html?|php\d?|aspx?|jsp|do|cgi)\Z", re.IGNORECASE)
"""Matches the name of a file that may be a web page: with such an ending, or without one."""
_FURTHER_PAGE = re.compile(
    r"(?:[^#]*[&;])?(?:page|p|offset|start|skip|after|marker|cursor|continuation-token)=", re.IGNORECASE
)
"""Matches the query of a link to a further page of a listing."""
_SIZE_AT_END = re.compile(r"(?<=\s)(\d{1,18})\s*\Z", re.ASCII)
_LETTER = re.compile(r"[^\W\d_]")
_PAGE_START, _PAGE_END = re.compile(rb"<html\b", re.IGNORECASE), re.compile(rb"</html\s*>", re.IGNORECASE)
_ROW_START = re.compile(rb"<tr\b", re.IGNORECASE)
_LINK_START = re.compile(rb"<a\b", re.IGNORECASE)
_PIECE_BYTES = 256 * 2**10  # of an index page that are parsed together; their tree takes up to 70 times as many
_MAX_TEXT_CHARACTERS = 400  # of each text beside a link, which is searched for the file's size and time
_MAX_CELLS = 8  # cells of a row that are searched, after the one with the link


def read_time(text: str) -> datetime | None:
    """Read a time from MLSD or MDTM (RFC 3659, section 2.3); return None if it is not valid.

    >>> read_time("20261121113500.25")
    datetime.datetime(2026, 11, 21, 11, 35, tzinfo=datetime.timezone.utc)
    """
    stamp = _TIME_STAMP.match(text)
    if not stamp:
        return None
    try:
        return datetime.fromisoformat(f"{stamp[1][:8]}T{stamp[1][8:]}").replace(tzinfo=UTC)
    except ValueError:
        return None


def read_mlsd(folder: str, lines: Iterable[str]) -> Entries:
    """Read the lines of MLSD (RFC 3659, section 7), which have the form `fact=value;... name`.

    The folder itself and its parent are left out. A line in another form becomes an entry with the reason
    PROTOCOL_ERROR, up to `MAX_UNREADABLE_LINES`.

    >>> read_mlsd("add", ["type=file;size=3;modify=20260102030405; a b.zip", "type=cdir; ."])[0].name
    'a b.zip'
    """
    entries: Entries = []
    unreadable: Entries = []
    for line in lines:
        fact_text, _, name = line.partition(" ")
        if not name or (fact_text and "=" not in fact_text):
            if line.strip():
                unreadable.append(ListingEntry(folder, line[:MAX_SHOWN_CHARACTERS], reason=Reason.PROTOCOL_ERROR))
            continue
        facts_by_name = {key.lower(): value for key, _, value in (fact.partition("=") for fact in fact_text.split(";"))}
        entry_type = facts_by_name.get("type", "file").lower()
        if entry_type in {"cdir", "pdir"} or name in _SELF_AND_PARENT:
            continue
        size, modified = _read_size(facts_by_name.get("size", "")), read_time(facts_by_name.get("modify", ""))
        entries.append(ListingEntry(folder, name, size, modified, entry_type == "file"))
    return entries + _bound_unreadable(folder, unreadable)


def read_list(folder: str, lines: Iterable[str]) -> Entries:
    """Read the lines of LIST in the formats of Unix and DOS.

    Times are not read: LIST has neither their zone nor, for old files, the hour. A line in another format becomes an
    entry with the reason PROTOCOL_ERROR, up to `MAX_UNREADABLE_LINES`.

    >>> read_list("", ["total 4", "-rw-r--r-- 1 u g 20480 Nov 21 11:35 two  blanks.zip"])
    [ListingEntry(folder='', name='two  blanks.zip', size=20480, modified=None, is_file=True, reason=None)]
    """
    entries: Entries = []
    unreadable: Entries = []
    for line in lines:
        if unix := _UNIX_LINE.fullmatch(line):
            letter, name = unix["kind"], unix["name"]
            name = name.partition(" -> ")[0] if letter == "l" else name
            entry = ListingEntry(
                folder, name, _read_size(unix["size"]) if letter == "-" else None, is_file=letter == "-"
            )
        elif dos := _DOS_LINE.fullmatch(line):
            size = dos["size"]
            entry = ListingEntry(folder, dos["name"], _read_size(size or ""), is_file=size is not None)
        else:
            if line.strip() and not line.startswith("total "):
                unreadable.append(ListingEntry(folder, line[:MAX_SHOWN_CHARACTERS], reason=Reason.PROTOCOL_ERROR))
            continue
        if entry.name not in _SELF_AND_PARENT:
            entries.append(entry)
    return entries + _bound_unreadable(folder, unreadable)


def _bound_unreadable(folder: str, entries: Entries) -> Entries:
    further_count = len(entries) - MAX_UNREADABLE_LINES
    if further_count <= 0:
        return entries
    summary = ListingEntry(
        folder, f"and {counted(further_count, 'more line')} that cannot be read", reason=Reason.PROTOCOL_ERROR
    )
    return [*entries[:MAX_UNREADABLE_LINES], summary]


def read_nlst(lines: Iterable[str]) -> list[str]:
    """Return the names in lines of NLST, without a leading `./`; empty names, `.` and `..` are left out.

    >>> read_nlst([".", "..", "./a.zip", "b.zip"])
    ['a.zip', 'b.zip']
    """
    return [name for line in lines if (name := line.removeprefix("./")) and name not in _SELF_AND_PARENT]


class LineSplitter:
    r"""Splits blocks of bytes into lines, within the limits of a listing.

    >>> lines = LineSplitter("ftp://h/add"); lines.feed(b"a\r\nb"); lines.feed(b"c"); list(lines.end())
    ['a', 'bc']
    """

    def __init__(self, address: str) -> None:
        """`address` is named in errors."""
        self._address = address
        self._unfinished_line = b""
        self._size = 0  # bytes so far
        self._lines: list[bytes] = []

    def feed(self, block: bytes | memoryview) -> None:
        """Split the next bytes into lines; raise TerminalFailure with TOO_LARGE if a limit is exceeded."""
        *lines, self._unfinished_line = (self._unfinished_line + block).split(b"\n")
        self._lines += lines
        if len(self._unfinished_line) > MAX_LINE_BYTES or any(len(line) > MAX_LINE_BYTES for line in lines):
            message = f"{self._address}: a line of the listing has more than {MAX_LINE_BYTES:,} bytes"
            raise TerminalFailure(message, Reason.TOO_LARGE)
        self._size += len(block)
        refuse_too_many(len(self._lines), self._address)
        refuse_too_large(self._size, self._address)

    @property
    def is_unfinished(self) -> bool:
        """Whether the bytes so far end within a line."""
        return bool(self._unfinished_line)

    def end(self) -> Iterator[str]:
        """Return all lines as text; bytes that are not UTF-8 become lone surrogates."""
        if self._unfinished_line:
            self.feed(b"\n")
        return (line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in self._lines)


def read_index_page(folder: str, address: str, page: bytes | bytearray) -> Entries:
    """Read an index page as nginx, Apache and others generate it; `address` is the address of the folder.

    Only links to direct children are read, not those to other folders or for sorting. A link to another zip, to one
    with a query, or to a further page of the listing becomes an entry with the reason PROTOCOL_ERROR, up to
    `MAX_UNREADABLE_LINES`. A size is read only if it is exact (Apache's `20K` is not); times are read as UTC. A page
    with `<html>` that ends before `</html>` was cut: one more entry has the reason PROTOCOL_ERROR, as for a line that
    cannot be read. Raises TerminalFailure: PROTOCOL_ERROR for a page that cannot be parsed or is not an index (which
    has an index's title, or links to the parent folder or to a file that is no web page), TOO_LARGE for too many
    entries, links or tags.

    >>> page = b'<a href="../">../</a><a href="a%20b.zip">a b.zip</a>  21-Nov-2026 11:35   20480'
    >>> read_index_page("add", "https://h/drop/add/", page)[0][:3]
    ('add', 'a b.zip', 20480)
    """
    refuse_too_many((page.count(b"<a") + page.count(b"<A")) // 2, address)  # some servers link a file's icon as well
    if page.count(b"<") > LISTING_TAGS.number:
        raise TerminalFailure(f"{address}: the listing has more than {LISTING_TAGS.number:,} tags", Reason.TOO_LARGE)
    is_index = False
    entries: dict[str, ListingEntry] = {}
    unreadable: dict[str, ListingEntry] = {}
    for piece in _split_page(page):
        texts_by_cell: dict[html.HtmlElement, list[str]] = {}
        for link in _find_links(piece, address):
            href = (link.get("href") or "").strip()
            child = _direct_child(address, href)
            if child is None:
                is_index = is_index or _is_parent(address, href)
                path, _, query = href.partition("#")[0].partition("?")
                if path.lower().endswith(".zip") or (_FURTHER_PAGE.match(query) and _is_in_folder(address, path)):
                    name = href[:MAX_SHOWN_CHARACTERS]
                    unreadable[name] = ListingEntry(folder, name, reason=Reason.PROTOCOL_ERROR)
            elif child not in entries:
                is_file = not child.endswith("/")
                size, modified = _read_size_and_time(_texts_beside(link, texts_by_cell)) if is_file else (None, None)
                name = unquote(child.rstrip("/"), errors="surrogateescape")
                entries[child] = ListingEntry(folder, name, size, modified, is_file)
                is_listed = size is not None or modified is not None or (is_file and not _WEB_PAGE.search(name))
                is_index = is_index or is_listed
        refuse_too_many(len(entries), address)
    if not (is_index or unreadable or _INDEX_TITLE.search(page)):
        hint = "if this server does not show its folders, set `manifest` for the source"
        raise TerminalFailure(f"{address}: the page is not an index of a folder", Reason.PROTOCOL_ERROR, hint=hint)
    all_entries = [*entries.values(), *_bound_unreadable(folder, list(unreadable.values()))]
    if _PAGE_START.search(page) and not _PAGE_END.search(page, max(0, len(page) - _PIECE_BYTES)):
        cut = ListingEntry(folder, "the page ends before </html>", reason=Reason.PROTOCOL_ERROR)
        all_entries.append(cut)
    return all_entries


def read_manifest(folder: str, address: str, manifest: bytes | bytearray) -> Entries:
    r"""Read a manifest: each line is blank or a path below the source's base, such as `add/NAME`.

    Only files in the folder and its subfolders are returned, with their paths below the folder. Raise TerminalFailure
    with TOO_LARGE if a limit is exceeded, and with PROTOCOL_ERROR for a web page. The error names `address`.

    >>> read_manifest("add", "https://h/list.txt", b"add/a.zip\nedit/b.zip\n")
    [ListingEntry(folder='add', name='a.zip', size=None, modified=None, is_file=True, reason=None)]
    """
    if manifest[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise TerminalFailure(f"{address}: the manifest is a web page or XML", Reason.PROTOCOL_ERROR)
    if manifest.count(b"\n") > MANIFEST_LINES.number:
        message = f"{address}: the manifest has more than {MANIFEST_LINES.number:,} lines"
        raise TerminalFailure(message, Reason.TOO_LARGE)
    folder_prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
    entries: dict[str, ListingEntry] = {}
    for line in _FULL_LINE.finditer(manifest):
        path = line[0].strip(b"\r").removeprefix(b"./").decode("utf-8", "surrogateescape")
        if len(path) > MAX_LINE_BYTES:
            message = f"{address}: a line of the manifest has more than {MAX_LINE_BYTES:,} characters"
            raise TerminalFailure(message, Reason.TOO_LARGE)
        if path.strip() and path.startswith(folder_prefix) and path != folder_prefix:
            entries[path] = ListingEntry(folder, path[len(folder_prefix) :])
            refuse_too_many(len(entries), address)
    return list(entries.values())


def refuse_too_many(count: int, address: str) -> None:
    """Raise TerminalFailure with TOO_LARGE if a listing has more than `MAX_ENTRIES` entries."""
    if count > MAX_ENTRIES:
        raise TerminalFailure(f"{address}: the listing has more than {MAX_ENTRIES:,} entries", Reason.TOO_LARGE)


def refuse_too_large(size: int, address: str) -> None:
    """Raise TerminalFailure with TOO_LARGE if a listing has more than `MAX_BYTES` bytes."""
    if size > MAX_BYTES:
        raise TerminalFailure(f"{address}: the listing has more than {MAX_BYTES:,} bytes", Reason.TOO_LARGE)


def _read_size(text: str) -> int | None:
    digits = text.replace(",", "")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_SIZE_DIGITS else None


def _split_page(page: bytes | bytearray) -> Iterator[bytes]:
    """Yield a page in pieces, so that only a part of its tree is in memory.

    A piece ends before a link or a row of a table, or after twice `_PIECE_BYTES` bytes if there is none.
    """
    start = 0
    while start < len(page):
        least, most = start + _PIECE_BYTES, start + 2 * _PIECE_BYTES
        boundary = _ROW_START.search(page, least, most) or _LINK_START.search(page, least, most)
        end = boundary.start() if boundary else most
        yield bytes(page[start:end])
        start = end


def _find_links(piece: bytes, address: str) -> Iterator[html.HtmlElement]:
    """Yield the links in a piece of the index page at `address`; raise TerminalFailure if a part cannot be parsed.

    The parser stops at a depth of some 2,000 elements, which rows without end tags may reach; then each half of the
    piece is parsed by itself.
    """
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        links = list(html.document_fromstring(piece, parser=parser).iter("a"))
        is_whole = not any(entry.level_name == "FATAL" for entry in parser.error_log)
    except LxmlError:
        links, is_whole = [], b">" not in piece or _LINK_START.search(piece) is None  # a piece without tags is empty
    if is_whole:
        yield from links
        return
    boundary = _LINK_START.search(piece, len(piece) // 2)
    if boundary is None:
        raise TerminalFailure(f"{address}: a part of the page cannot be parsed", Reason.PROTOCOL_ERROR)
    for half in (piece[: boundary.start()], piece[boundary.start() :]):
        yield from _find_links(half, address)


def _direct_child(address: str, href: str) -> str | None:
    """Return a link's path below the folder's `address`, still escaped, or None if it is not a direct child."""
    if len(href) > MAX_LINE_BYTES or "?" in href or "#" in href:
        return None
    try:
        target = urljoin(address, href)
        if target.startswith(address):
            below = target[len(address) :]
        else:
            name_start = target.rfind("/", 0, -1) + 1
            below = target[name_start:] if _are_one_folder(target[:name_start], address) else ""
    except ValueError:
        return None
    return None if not below or below == "/" or "/" in below[:-1] or below in {"./", "../"} else below


def _is_parent(address: str, href: str) -> bool:
    """Return whether a link leads to the parent of the folder at `address`, as on most pages of an empty folder."""
    try:
        return bool(href) and _are_one_folder(urljoin(address, href), urljoin(address, ".."))
    except ValueError:
        return False


def _is_in_folder(address: str, path: str) -> bool:
    """Return whether a link's path, without a query, is that of the folder at `address` or of something in it."""
    folder = path[: path.rfind("/") + 1]
    try:
        return not folder or _are_one_folder(urljoin(address, folder), address)
    except ValueError:
        return False


def _are_one_folder(address: str, other: str) -> bool:
    """Return whether two addresses are spellings of one folder; False if one of them is not a web address.

    The scheme may differ, because behind a proxy for TLS some servers write http. Raises ValueError for an address that
    cannot be split.
    """
    spelling = _spell_folder(address)
    return spelling is not None and spelling == _spell_folder(other)


def _spell_folder(address: str) -> tuple[str | None, int | None, str] | None:
    address_parts = urlsplit(address)
    usual_port = {"http": 80, "https": 443}.get(address_parts.scheme)
    if usual_port is None:
        return None
    port = None if address_parts.port == usual_port else address_parts.port
    return address_parts.hostname, port, unquote(address_parts.path, errors="surrogateescape")


def _texts_beside(link: html.HtmlElement, texts_by_cell: dict[html.HtmlElement, list[str]]) -> Iterator[str]:
    """Yield the text after a link, and the texts of up to `_MAX_CELLS` following cells in its row.

    `texts_by_cell` caches the texts of the following cells by the cell that contains the link.
    """
    yield (link.tail or "")[:_MAX_TEXT_CHARACTERS]
    cell = link.getparent()
    if cell is not None and cell.tag == "td":
        if cell not in texts_by_cell:
            texts_by_cell[cell] = [
                f" {next_cell.text_content()}"[:_MAX_TEXT_CHARACTERS]
                for next_cell in islice(cell.itersiblings("td"), _MAX_CELLS)
            ]
        yield from texts_by_cell[cell]


def _read_size_and_time(texts: Iterator[str]) -> tuple[int | None, datetime | None]:
    size: int | None = None
    modified: datetime | None = None
    for text in texts:
        rest = text
        for pattern, date_format in _DATE_FORMATS:
            if modified is None and (date := pattern.search(text)):
                try:
                    modified = datetime.strptime(date[1], date_format).replace(tzinfo=UTC)
                except ValueError:
                    continue
                rest = text.replace(date[1], "")
        # A text with words is a description, and a number at its end is not a size.
        if size is None and (size_match := _SIZE_AT_END.search(rest)) and not _LETTER.search(rest):
            size = int(size_match[1])
    return size, modified


DIGEST_LENGTHS = {"md5": 32, "sha1": 40, "sha256": 64}
"""A dict from the algorithms of checksums to the number of hexadecimal digits in a checksum."""


def read_checksum(content: bytes, path: str) -> str:
    """Return `algorithm:hex` from the bytes of a checksum file, or "" if no checksum is certain.

    `path` is the path of the checksum file. Its extension must name the algorithm; without the extension it is the path
    of the checked file. Lines have the forms `HEX NAME` (md5sum) or `MD5 (NAME) = HEX` (BSD). A checksum is certain if
    it is the only one in the lines that name the checked file or, if no line names it, in all lines.

    >>> read_checksum(b"900150983cd24fb0d6963f7d28e17f72  a.zip", "add/a.zip.md5")
    'md5:900150983cd24fb0d6963f7d28e17f72'
    """
    file_path, _, algorithm = path.rpartition(".")
    algorithm, name = algorithm.lower(), file_path.rpartition("/")[2]
    length = DIGEST_LENGTHS.get(algorithm)
    if length is None:
        return ""
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as PowerShell writes by default
    text = content.decode("utf-16" if is_utf_16 else "utf-8", "replace")
    pattern = re.compile(rf"(?<![0-9A-Fa-f])[0-9A-Fa-f]{{{length}}}(?![0-9A-Fa-f])")
    lines = [(line, match[0].lower()) for line in text.splitlines() if (match := pattern.search(line))]
    digests_of_file = [digest for line, digest in lines if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", line)]
    digests = set(digests_of_file) if digests_of_file else {digest for _, digest in lines}
    return f"{algorithm}:{digests.pop()}" if len(digests) == 1 else ""
