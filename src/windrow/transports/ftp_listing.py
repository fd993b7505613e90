"""Read the listings that FTP servers give: MLSD lines, and what `ls` and DOS would print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from windrow.errors import TerminalFailure
from windrow.model import ListingEntry
from windrow.reasons import Reason

ENTRIES = 200_000
"""The most entries that a listing may have."""

LINE = 8 * 2**10
"""The most bytes that a line of a listing may have."""

WHOLE = 64 * 2**20
"""The most bytes that a listing may have."""

_UNIX = re.compile(
    r"(?P<kind>[-dlbcpsD])[-rwxsStTlL+.@]{9,11}\s++(?:\S++\s++){1,7}?(?P<size>\d[\d,]*+|-)\s++"
    r"(?:(?:[^\W\d]{3,4}+\.?\s++\d{1,2}|\d{1,2}\.?\s++[^\W\d]{3,4}+\.?)\s++(?:\d{4}|\d{1,2}:\d{2})"
    r"|(?:\d{4}-)?\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: [+-]\d{4})?"
    r"|\d{4}-\d{2}-\d{2}) (?P<name>.+)"
)
_DOS = re.compile(
    r"(?:\d{2}-\d{2}-\d{2,4}|\d{4}-\d{2}-\d{2})\s++\d{2}:\d{2}(?:[AP]M)?"
    r"\s++(?:<\w+>|(?P<size>\d[\d,]*+|-))\s+(?P<name>.+)"
)
SHOWN = 1000
"""Characters of a line that is shown since it could not be read."""

STRANGE = 100
"""The most such lines of one listing that are told."""

_DIGITS = 100
_STAMP = re.compile(r"(\d{14})(?:\.\d+)?\Z", re.ASCII)
_FOLDERS = frozenset({".", ".."})


def stamp(text: str) -> datetime | None:
    """Read a time of MLSD or MDTM (RFC 3659, section 2.3); None where it is not one.

    >>> stamp("20261121113500.25")
    datetime.datetime(2026, 11, 21, 11, 35, tzinfo=datetime.timezone.utc)
    """
    found = _STAMP.match(text)
    if not found:
        return None
    try:
        return datetime.fromisoformat(f"{found[1][:8]}T{found[1][8:]}").replace(tzinfo=UTC)
    except ValueError:
        return None


def facts(folder: str, lines: Iterable[str]) -> list[ListingEntry]:
    """Read the lines of MLSD (RFC 3659, section 7): `fact=value;... name`.

    A line that is none, such as the rest of a name with a line feed, is an entry with the reason PROTOCOL_ERROR.

    >>> facts("add", ["type=file;size=3;modify=20260102030405; a b.zip", "type=cdir; ."])[0].name
    'a b.zip'
    """
    found: list[ListingEntry] = []
    strange: list[ListingEntry] = []
    for line in lines:
        told, _, name = line.partition(" ")
        if not name or (told and "=" not in told):
            if line.strip():
                strange.append(ListingEntry(folder, line[:SHOWN], reason=Reason.PROTOCOL_ERROR))
            continue
        fact = {key.lower(): value for key, _, value in (one.partition("=") for one in told.split(";"))}
        kind = fact.get("type", "file").lower()
        if kind in {"cdir", "pdir"} or name in _FOLDERS:
            continue
        size = fact.get("size", "")
        found.append(ListingEntry(folder, name, _number(size), stamp(fact.get("modify", "")), kind == "file"))
    return found + strange[:STRANGE]


def columns(folder: str, lines: Iterable[str]) -> list[ListingEntry] | None:
    """Read the lines of LIST as Unix or DOS print them; None where no line looks like either.

    Times are left out: LIST tells neither their zone nor, for old files, the hour. A line that looks
    like neither, among others that do, is an entry with the reason PROTOCOL_ERROR.

    >>> columns("", ["total 4", "-rw-r--r-- 1 u g 20480 Nov 21 11:35 two  blanks.zip"])
    [ListingEntry(folder='', name='two  blanks.zip', size=20480, modified=None, is_file=True, reason=None)]
    """
    found: list[ListingEntry] = []
    strange: list[ListingEntry] = []
    for line in lines:
        if unix := _UNIX.fullmatch(line):
            kind, name = unix["kind"], unix["name"]
            name = name.partition(" -> ")[0] if kind == "l" else name
            entry = ListingEntry(folder, name, _number(unix["size"]) if kind == "-" else None, None, kind == "-")
        elif dos := _DOS.fullmatch(line):
            size = dos["size"]
            entry = ListingEntry(folder, dos["name"], _number(size or ""), None, size is not None)
        else:
            if line.strip() and not line.startswith("total "):
                strange.append(ListingEntry(folder, line[:SHOWN], reason=Reason.PROTOCOL_ERROR))
            continue
        if entry.name not in _FOLDERS:
            found.append(entry)
    return None if strange and not found else found + strange[:STRANGE]


def names(lines: Iterable[str]) -> list[str]:
    """Read the lines of NLST: names, of which some servers write the folder before each.

    >>> names([".", "..", "./a.zip", "b.zip"])
    ['a.zip', 'b.zip']
    """
    return [name for line in lines if (name := line.removeprefix("./")) and name not in _FOLDERS]


class LineSplitter:
    r"""Cut blocks of bytes into lines, within the bounds of a listing.

    >>> lines = LineSplitter("ftp://h/add"); lines.feed(b"a\r\nb"); lines.feed(b"c"); list(lines.end())
    ['a', 'bc']
    """

    def __init__(self, where: str) -> None:
        """Begin; `where` is for the message of the refusal."""
        self._where = where
        self._rest = b""
        self._size = 0
        self._lines: list[bytes] = []

    def feed(self, block: bytes | memoryview) -> None:
        """Take the next bytes; TerminalFailure with TOO_LARGE when a bound is passed."""
        *lines, self._rest = (self._rest + block).split(b"\n")
        self._lines += lines
        if len(self._rest) > LINE or any(len(line) > LINE for line in lines):
            raise TerminalFailure(f"{self._where}: a line of the listing is longer than 8 kB", Reason.TOO_LARGE)
        self._size += len(block)
        if len(self._lines) > ENTRIES or self._size > WHOLE:
            raise TerminalFailure(f"{self._where}: more than {ENTRIES:,} entries", Reason.TOO_LARGE)

    def end(self) -> Iterator[str]:
        """Return the lines as text; bytes that are not UTF-8 become lone surrogates."""
        if self._rest:
            self.feed(b"\n")
        return (line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in self._lines)


def _number(text: str) -> int | None:
    """Read a size, with or without commas between its thousands; it may be larger than any database holds."""
    digits = text.replace(",", "")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else None
