"""Index lines of web archives as values: CDX with 11 or 9 fields, other orders that a legend names, and CDXJ.

A line is parsed by itself, and nothing in it is fatal: it is a capture, a legend, or a fault with its reason. What a
collection wants of captures (a status, a media type, a digest of 32 letters) is not asked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import repeat
from json.encoder import encode_basestring_ascii as dumps
from typing import NamedTuple

from windrow.digest import warc as spell
from windrow.formats.surt import surt
from windrow.model import CdxLine
from windrow.reasons import Reason

LONGEST = 64 * 1024
"""Bytes of a line; longer ones are refused."""

_MOMENT = re.compile(
    r"(?!0000)\d{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d", re.ASCII
).fullmatch
_LEGEND = re.compile(rb" ?CDX((?: [A-Za-z])+)[ \r]*")
_HALF = re.compile("[\ud800-\udfff]")
_NOTHING: dict[str, None] = {"": None, "-": None}
_STATUS = {"": None, "-": None} | {f"{code:03}": code for code in range(1000)}
_DIGITS = 19  # that a number has fewer of
_decode = json.JSONDecoder().decode
_SAFE_DAY = "29"  # days before it are in every month


class CdxFault(NamedTuple):
    """Why a line is no capture; `message` says more, `line` is how the line begins, where it was one of many."""

    reason: Reason
    message: str
    line: str = ""


class Layout(NamedTuple):
    """At which place of a line each field stands; -1 for none. `fields` is how many a line has at least."""

    fields: int
    key: int
    timestamp: int
    url: int
    mime: int
    status: int
    digest: int
    length: int
    offset: int
    warc: int


CDX_11 = Layout(11, 0, 1, 2, 3, 4, 5, 8, 9, 10)
"""`CDX N b a m s k r M S V g`."""

CDX_9 = Layout(9, 0, 1, 2, 3, 4, 5, -1, 7, 8)
"""`CDX N b a m s k r V g`, without the length."""

_BY_COUNT = {9: CDX_9}
_LETTERS = {"key": "NA", "timestamp": "b", "url": "a", "mime": "m", "status": "s", "digest": "k", "length": "S",
            "offset": "V", "warc": "g"}  # fmt: skip


def parse_line(line: bytes, layout: Layout | None = None) -> CdxLine | CdxFault | Layout | None:
    """Parse a line, by the legend that came before it where there was one; None for a blank line or a comment.

    >>> parse_line(b"org,example)/ 20240301120000 http://example.org/ text/html 200 A - - 99 7 x.warc.gz").offset
    7
    >>> parse_line(b'org,example)/ 20240301120000 {"url": "http://example.org/", "status": "200"}').status
    200
    >>> parse_line(b" CDX N b a m s k r V g") == CDX_9
    True
    >>> parse_line(b"org,example)/ 20240230120000 http://example.org/ text/html 200 A - - 99 7 x.warc.gz").reason
    <Reason.BAD_DATE: 'bad_date'>
    """
    if len(line) > LONGEST:
        return CdxFault(Reason.TOO_LARGE, f"the line has {len(line)} bytes")
    # The field's separators are those of ASCII; text parts at others too, but no text of ASCII does so by chance.
    fields = line.decode("ascii").split() if line.isascii() else [_text(field) for field in line.split()]
    count = len(fields)
    if count > 2 and fields[2][0] == "{":
        return _json_line(line)
    if layout is None:
        layout = _BY_COUNT.get(count, CDX_11)
    if count < layout.fields or line[0] in b" #" or line[:4] == b"CDX ":
        return _other(line, layout)
    if layout is CDX_11:
        key, timestamp, url, mime, status, digest, _, _, length, offset, warc = fields[:11]
        return _line((key, timestamp, url, mime, status, digest, length, offset, warc))
    return _line(tuple([fields[place] if place >= 0 else "-" for place in layout[1:]]))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


class CaptureColumns(NamedTuple):
    """The captures of some lines, column by column, as they are written; all of them are good."""

    key: Sequence[str]
    timestamp: Sequence[str]
    url: Sequence[str]
    mime: Sequence[str]
    status: Sequence[str]
    digest: Sequence[str]
    length: Sequence[str]
    offset: Sequence[str]
    warc: Sequence[str]

    def lines(self, places: Sequence[int]) -> list[CdxLine]:
        """Return some of the captures."""
        key, timestamp, url, mime, status, digest, length, offset, warc = [
            [column[at] for at in places] for column in self
        ]
        said = (
            _texts(key), timestamp, url, _texts(mime), map(_STATUS.__getitem__, status), _texts(digest),
            _numbers(length), _numbers(offset), _texts(warc),
        )  # fmt: skip
        # As `CdxLine` does it, without a call of Python's for each.
        return [*map(tuple.__new__, repeat(CdxLine), zip(*said, strict=True))]


def _texts(written: Sequence[str]) -> Iterable[str]:
    return ["" if one == "-" else one for one in written] if "-" in written else written


def _numbers(written: Sequence[str]) -> Iterable[int | None]:
    return [None if one == "-" else int(one) for one in written] if "-" in written else map(int, written)


def parse_lines(
    lines: Sequence[bytes], layout: Layout | None = None
) -> Iterator[CaptureColumns | CdxLine | CdxFault | Layout]:
    """Parse lines in their order, as `parse_line` would one by one, a legend being in force for those behind it.

    What a row of good lines says comes as columns: several times as fast where few of them are wanted.

    >>> lines = [b" CDX N b a m s k r V g", b"org,example)/ 20240301120000 http://example.org/ a/b 200 A - 7 x.warc"]
    >>> [type(one).__name__ for one in parse_lines(lines)]
    ['Layout', 'CdxLine']
    """
    for start in range(0, len(lines), _TOGETHER):
        for found in _parted(lines[start : start + _TOGETHER], layout):
            if type(found) is Layout:
                layout = found
            yield found


_TOGETHER = 256
_SHOWN = 200  # bytes of a line that is no capture
_ALONE = 4  # lines that are not worth being read together


def _parted(lines: Sequence[bytes], layout: Layout | None) -> Iterator[CaptureColumns | CdxLine | CdxFault | Layout]:
    """Parse lines together, or each half of them where one is not simply good."""
    if len(lines) > _ALONE:
        columns = _columns(lines, layout)
        if columns is not None:
            yield columns
            return
        half = len(lines) // 2
        for part in (lines[:half], lines[half:]):
            for found in _parted(part, layout):
                if type(found) is Layout:
                    layout = found
                yield found
        return
    for one in lines:
        parsed = parse_line(one, layout)
        if type(parsed) is Layout:
            layout = parsed
        elif type(parsed) is CdxFault:
            parsed = parsed._replace(line=one[:_SHOWN].decode("utf-8", "replace"))
        if parsed is not None:
            yield parsed


def _columns(lines: Sequence[bytes], layout: Layout | None) -> CaptureColumns | None:
    """Return the columns of lines that are all captures of CDX; None where one may be something else.

    All lines are split at once, with a field of its own between two lines: where that is what stands behind as many
    other fields as a layout has, every line has just these.
    """
    layout = layout or _BY_COUNT.get(len(lines[0].split()), CDX_11)
    text = _BETWEEN.join((b"", *lines, b""))
    if not text.isascii() or b"{" in text or len(max(lines, key=len)) > LONGEST:
        return None
    fields = text.decode("ascii").split()
    step, end = layout.fields + 1, len(fields) - 1
    if end != step * len(lines) or {*fields[::step]} != {_BETWEEN.decode().strip()}:
        return None
    if "CDX" in fields[1::step] or min(lines)[:1] <= b"#":  # which legends and comments begin with
        return None
    nothing = ["-"] * len(lines)
    found = CaptureColumns(*[fields[place + 1 : end : step] if place >= 0 else nothing for place in layout[1:]])
    if "-" in found.url or not _STATUS.keys() >= {*found.status} or not _are_moments(found.timestamp):
        return None
    return found if _are_numbers(found.offset) and _are_numbers(found.length) else None


_BETWEEN = b" \0 "
_MINUTES = {f"{minute:02}{second:02}" for minute in range(60) for second in range(60)}
_hours: set[str] = set()
_HOURS = 500_000  # that are remembered: those of half a century


def _are_moments(timestamps: Sequence[str]) -> bool:
    """Tell whether all are times of 14 digits, of the calendar."""
    if not {timestamp[10:] for timestamp in timestamps} <= _MINUTES:
        return False
    for hour in {timestamp[:10] for timestamp in timestamps} - _hours:
        if not _MOMENT(f"{hour}0000") or not _of_the_calendar(hour):
            return False
        if len(_hours) < _HOURS:
            _hours.add(hour)
    return True


def _are_numbers(written: Sequence[str]) -> bool:
    """Tell whether all are numbers of few enough digits, or none."""
    if "".join(written).isdecimal() and len(max(written, key=len)) < _DIGITS:
        return True
    return all(one == "-" or (one.isdecimal() and len(one) < _DIGITS) for one in {*written})


def _line(written: tuple[str, ...]) -> CdxLine | CdxFault:
    """Make a capture of its fields as they are written, in their order."""
    key, timestamp, url, mime, status, digest, length, offset, warc = written
    if not _MOMENT(timestamp) or (timestamp[6:8] >= _SAFE_DAY and not _of_the_calendar(timestamp)):
        return CdxFault(Reason.BAD_DATE, f"{timestamp[:40]!r} is no time of 14 digits")
    if url in _NOTHING:
        return CdxFault(Reason.BAD_ADDRESS, "the line names no address")
    try:
        code = _STATUS[status]
        size = int(length) if length.isdecimal() and len(length) < _DIGITS else _NOTHING[length]
        place = int(offset) if offset.isdecimal() and len(offset) < _DIGITS else _NOTHING[offset]
    except KeyError:
        return CdxFault(Reason.BAD_LINE, "status, length or offset is no number")
    if mime == "-" or digest == "-" or warc == "-" or key == "-":
        key, mime, digest, warc = ("" if text == "-" else text for text in (key, mime, digest, warc))
    return CdxLine(key, timestamp, url, mime, code, digest, size, place, warc)


def _of_the_calendar(timestamp: str) -> bool:
    try:
        date(int(timestamp[:4]), int(timestamp[4:6]), int(timestamp[6:8]))
    except ValueError:
        return False
    return True


def _json_line(line: bytes) -> CdxLine | CdxFault:
    """Parse a line of CDXJ: key, time, and an object whose values are texts or numbers."""
    key, timestamp, rest = line.split(None, 2)
    try:
        told = _decode(rest.decode("utf-8", "surrogateescape").rstrip())
    except (ValueError, RecursionError):
        return CdxFault(Reason.BAD_LINE, "the object behind the time is not JSON")
    get = told.get
    values = (get("url"), get("mime"), get("status"), get("digest"), get("length"), get("offset"), get("filename"))
    written = [value if type(value) is str else _spelled(value) for value in values]
    if "" in written and "" not in values:
        return CdxFault(Reason.BAD_LINE, "a value of the object is neither text nor number")
    if b"\\u" in rest and _HALF.search("".join(written)):
        return CdxFault(Reason.BAD_LINE, "a value of the object holds half a character")
    return _line((_text(key), _text(timestamp), *written))


def _spelled(value: object) -> str:
    """Spell what is no text: nothing as `-`, a number; all else is empty."""
    if value is None:
        return "-"
    return str(value) if type(value) is int and abs(value) < 10**18 else ""


def _other(line: bytes, layout: Layout) -> CdxFault | Layout | None:
    """Say what a line is that is no capture."""
    if found := _LEGEND.fullmatch(line.rstrip(b"\r\n")):
        return _legend(found[1].decode().split())
    begun = line[:1] == b" " or not line.strip() or line.startswith((b"#", b"filedesc:", b"!"))
    if begun:
        return None
    return CdxFault(Reason.BAD_LINE, f"the line has {len(line.split())} fields, not {layout.fields}")


def _legend(letters: list[str]) -> Layout | CdxFault:
    """Return where a legend's fields stand; that of wget names no key."""
    places = {
        name: next((letters.index(letter) for letter in wanted if letter in letters), -1)
        for name, wanted in _LETTERS.items()
    }
    missing = [name for name, place in places.items() if place < 0 and name not in {"key", "length"}]
    if missing:
        return CdxFault(Reason.UNSUPPORTED, f"the legend names no {', '.join(missing)}")
    return Layout(len(letters), **places)


def line(address: str, at: str, place: tuple[str, int, int], *, status: int | None, mime: str, digest: str) -> str:
    """Write one index line, without its line feed; `at` is a time as WARC-Date has it."""
    warc, offset, length = place
    told = f'"status": "{status}", ' if status else ""
    content = (
        f'{{"url": {dumps(address)}, "mime": {dumps(mime)}, {told}"digest": {dumps(spell(digest))}, '
        f'"length": "{length}", "offset": "{offset}", "filename": {dumps(warc)}}}'
    )
    return f"{surt(address)} {at[:4]}{at[5:7]}{at[8:10]}{at[11:13]}{at[14:16]}{at[17:19]} {content}"
