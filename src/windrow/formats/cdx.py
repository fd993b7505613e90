"""Index lines of web archives as values: CDX with 11 or 9 fields, other orders that a legend names, and CDXJ.

Each line is parsed by itself and never raises: the result is a capture, a legend, or a fault with its reason. What a
collection requires of captures (a status, a media type, a digest of 32 letters) is not checked here.

The keys are made by the Sort-friendly URI Reordering Transform (SURT). pywb, cdxj-indexer and the Wayback Machine all
compute them by the same rules, and so must we: host labels reversed, `www` and default ports left out, lower case,
percent escapes in their shortest form, `.`, `..` and empty segments of the path resolved, no slash at its end, query
sorted, no session ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import repeat
from json.encoder import encode_basestring_ascii as dumps
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from windrow.digest import warc_digest as spell
from windrow.model import CdxLine
from windrow.reasons import Reason

_PLAIN = re.compile(r"(https?|s?ftps?)://([A-Za-z0-9.-]++)(:[1-9]\d{0,4})?((?:/[\w~-][\w.~-]*+)*+)/?", re.ASCII)
"""Most addresses: a host, perhaps a port, and a path in which nothing must be resolved."""

_ADDRESS = re.compile(rb"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_ODD = re.compile(rb"[\x00-\x20#%\x7f-\xff]")  # must be escaped in a key
_WWW = re.compile(rb"www\d*\.")
_SAFE = bytes(code for code in range(0x21, 0x7F) if code not in b"#%")
_USUAL = {b"http": b"80", b"https": b"443"}
_DEEP = 16  # nested percent escapes that are undone

_PATH_SESSIONS = [
    re.compile(rb"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$"),
    re.compile(rb"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$"),
]
_QUERY_SESSIONS = [
    *(re.compile(rb"^(.*)%s=[0-9a-z]{32}(?:&(.*))?$" % name) for name in (b"jsessionid", b"phpsessid", b"sid")),
    re.compile(rb"^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$"),
    re.compile(rb"^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$"),
]


def surt(address: str) -> str:
    """Return the SURT key of an address.

    >>> surt("https://www.Example.org:8443/A//b.html?q=2&a=1")
    'org,example:8443)/a/b.html?a=1&q=2'
    >>> surt("http://example.org/posts/")
    'org,example)/posts'
    >>> surt("sftp://drops.example.org/add/x.zip")
    'org,example,drops)/add/x.zip'
    """
    if (plain := _PLAIN.fullmatch(address)) and plain[3] not in {":80", ":443"}:
        return f"{_reverse_host(plain[2])}{plain[3] or ''}){plain[4].lower() or '/'}"
    return _surt(address.encode("utf-8", "surrogateescape"))


@lru_cache(maxsize=1024)
def _reverse_host(host: str) -> str:
    return _reverse_labels(host.encode()).decode()


def _surt(address: bytes) -> str:
    """Return the key of any address."""
    match = _ADDRESS.fullmatch(address.strip().translate(None, b"\r\n\t"))
    if match is None or not (match[1] or match[2]):
        return address.decode("utf-8", "replace")
    scheme, netloc, path, query = (match[1] or b"").lower(), match[2], match[3], match[4]
    key = scheme + b":"
    if netloc:
        host, port = _host_and_port(netloc)
        key = _reverse_labels(host) + (b":" + port if port and port != _USUAL.get(scheme) else b"") + b")"
        path = _resolve_segments(_unescape(path))
    else:
        path = _unescape(path)
    path = _escape(path).lower()
    if b".aspx" in path:
        for pattern in _PATH_SESSIONS:
            path = pattern.sub(rb"\1\2", path)
    key += path[:-1] if len(path) > 1 and path.endswith(b"/") else path
    query = _sort_query(_escape(_unescape(query or b"")).lower())
    return (key + (b"?" + query if query else b"")).decode("ascii", "replace")


def _host_and_port(netloc: bytes) -> tuple[bytes, bytes]:
    """Return host and port, without credentials and the brackets of an IPv6 address."""
    authority = netloc.rpartition(b"@")[2]
    if authority.startswith(b"["):
        host, _, rest = authority[1:].partition(b"]")
        port = rest.removeprefix(b":")
    else:
        host, _, port = authority.partition(b":")
    host = _unescape(host)
    if not host.isascii():
        try:
            host = host.decode().encode("idna")
        except UnicodeError:
            host = _escape(host)
    return host, port.lstrip(b"0") if port.isdigit() else b""


def _reverse_labels(host: bytes) -> bytes:
    """Reverse a host's labels and join them with commas; a plain number is read as an IPv4 address."""
    host = _escape(host.replace(b"..", b".").strip(b".")).lower()
    if host.isdigit() and len(host) < 20:
        number = int(host)
        host = b".".join(str(number >> shift & 255).encode() for shift in (24, 16, 8, 0))
    if www := _WWW.match(host):
        host = host[www.end() :]
    return b",".join(host.split(b".")[::-1])


def _unescape(text: bytes) -> bytes:
    if b"%" not in text:
        return text
    for _ in range(_DEEP):
        plain = unquote_to_bytes(text)
        if plain == text:
            break
        text = plain
    return text


def _escape(text: bytes) -> bytes:
    return quote_from_bytes(text, _SAFE).encode() if _ODD.search(text) else text


def _resolve_segments(path: bytes) -> bytes:
    """Resolve `.`, `..` and empty segments of a path."""
    kept: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            kept = kept[:-1] if kept else [segment]
        elif segment != b".":
            kept.append(segment)
    return b"/" + b"".join(segment + b"/" for segment in kept[:-1] if segment) + (kept[-1] if kept else b"")


def _sort_query(query: bytes) -> bytes:
    """Sort a query's fields and leave session ids out."""
    if b"=" not in query:
        return b"&".join(sorted(query.split(b"&")))
    for pattern in _QUERY_SESSIONS:
        query = pattern.sub(rb"\1\2", query)
    fields = query.split(b"&")
    fields.sort(key=_field_key)
    return b"&".join(fields)


def _field_key(field: bytes) -> tuple[bytes, bytes, bool]:
    name, mark, value = field.partition(b"=")
    return name, value, bool(mark)


LONGEST = 64 * 1024
"""The most bytes of a line; longer ones are refused."""

_MOMENT = re.compile(
    r"(?!0000)\d{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d", re.ASCII
).fullmatch
_LEGEND = re.compile(rb" ?CDX((?: [A-Za-z])+)[ \r]*")
_HALF = re.compile("[\ud800-\udfff]")
_NOTHING: dict[str, None] = {"": None, "-": None}
_STATUS = {"": None, "-": None} | {f"{code:03}": code for code in range(1000)}
_DIGITS = 19  # a number must have fewer
_decode = json.JSONDecoder().decode
_SAFE_DAY = "29"  # every month has the days before it


class CdxFault(NamedTuple):
    """Why a line is not a capture; `message` gives details, `line` the start of the line if it was one of many."""

    reason: Reason
    message: str
    line: str = ""


class Layout(NamedTuple):
    """The position of each field in a line, -1 if it is missing; `fields` is the least number of fields of a line."""

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
    """Parse a line by the `layout` of the legend before it, if any; None for a blank line or a comment.

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
    # Fields are separated by ASCII white space; `str.split` knows more kinds, which ASCII text cannot hold.
    fields = line.decode("ascii").split() if line.isascii() else [_text(field) for field in line.split()]
    count = len(fields)
    if count > 2 and fields[2][0] == "{":
        return _json_line(line)
    if layout is None:
        layout = _BY_COUNT.get(count, CDX_11)
    if count < layout.fields or line[0] in b" #" or line[:4] == b"CDX ":
        return _legend_or_fault(line, layout)
    if layout is CDX_11:
        key, timestamp, url, mime, status, digest, _, _, length, offset, warc = fields[:11]
        return _line((key, timestamp, url, mime, status, digest, length, offset, warc))
    return _line(tuple([fields[position] if position >= 0 else "-" for position in layout[1:]]))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


class CaptureColumns(NamedTuple):
    """The captures of some lines, column by column, as they are written; all of them are valid."""

    key: Sequence[str]
    timestamp: Sequence[str]
    url: Sequence[str]
    mime: Sequence[str]
    status: Sequence[str]
    digest: Sequence[str]
    length: Sequence[str]
    offset: Sequence[str]
    warc: Sequence[str]

    def lines(self, positions: Sequence[int]) -> list[CdxLine]:
        """Return the captures at these positions."""
        key, timestamp, url, mime, status, digest, length, offset, warc = [
            [column[position] for position in positions] for column in self
        ]
        columns = (
            _texts(key), timestamp, url, _texts(mime), map(_STATUS.__getitem__, status), _texts(digest),
            _numbers(length), _numbers(offset), _texts(warc),
        )  # fmt: skip
        # The same as calling `CdxLine`, without a Python call for each capture.
        return [*map(tuple.__new__, repeat(CdxLine), zip(*columns, strict=True))]


def _texts(texts: Sequence[str]) -> Iterable[str]:
    return ["" if text == "-" else text for text in texts] if "-" in texts else texts


def _numbers(texts: Sequence[str]) -> Iterable[int | None]:
    return [None if text == "-" else int(text) for text in texts] if "-" in texts else map(int, texts)


def parse_lines(
    lines: Sequence[bytes], layout: Layout | None = None
) -> Iterator[CaptureColumns | CdxLine | CdxFault | Layout]:
    """Parse lines in order, as `parse_line` does one by one; a legend applies to the lines after it.

    A run of valid lines is yielded as columns, which is several times as fast if few of them are wanted.

    >>> lines = [b" CDX N b a m s k r V g", b"org,example)/ 20240301120000 http://example.org/ a/b 200 A - 7 x.warc"]
    >>> [type(one).__name__ for one in parse_lines(lines)]
    ['Layout', 'CdxLine']
    """
    for start in range(0, len(lines), _BLOCK_LINES):
        for parsed in _parse_block(lines[start : start + _BLOCK_LINES], layout):
            if type(parsed) is Layout:
                layout = parsed
            yield parsed


_BLOCK_LINES = 256
_SHOWN = 200  # bytes of a faulty line that are kept
_FEW = 4  # so few lines are parsed one by one


def _parse_block(
    lines: Sequence[bytes], layout: Layout | None
) -> Iterator[CaptureColumns | CdxLine | CdxFault | Layout]:
    """Yield lines as columns; if one of them may not be a valid capture, parse each half by itself."""
    if len(lines) > _FEW:
        columns = _columns(lines, layout)
        if columns is not None:
            yield columns
            return
        half = len(lines) // 2
        for part in (lines[:half], lines[half:]):
            for entry in _parse_block(part, layout):
                if type(entry) is Layout:
                    layout = entry
                yield entry
        return
    for text in lines:
        parsed = parse_line(text, layout)
        if type(parsed) is Layout:
            layout = parsed
        elif type(parsed) is CdxFault:
            parsed = parsed._replace(line=text[:_SHOWN].decode("utf-8", "replace"))
        if parsed is not None:
            yield parsed


def _columns(lines: Sequence[bytes], layout: Layout | None) -> CaptureColumns | None:
    """Return the columns of lines that are all CDX captures; None if one may be something else.

    All lines are split at once, with a separator field between any two. If every separator follows after exactly as
    many fields as the layout has, then every line has that many.
    """
    layout = layout or _BY_COUNT.get(len(lines[0].split()), CDX_11)
    text = _SEPARATOR.join((b"", *lines, b""))
    if not text.isascii() or b"{" in text or len(max(lines, key=len)) > LONGEST:
        return None
    fields = text.decode("ascii").split()
    step, end = layout.fields + 1, len(fields) - 1
    if end != step * len(lines) or {*fields[::step]} != {_SEPARATOR.decode().strip()}:
        return None
    if "CDX" in fields[1::step] or min(lines)[:1] <= b"#":  # legends and comments begin so
        return None
    dashes = ["-"] * len(lines)
    columns = CaptureColumns(
        *[fields[position + 1 : end : step] if position >= 0 else dashes for position in layout[1:]]
    )
    if "-" in columns.url or not _STATUS.keys() >= {*columns.status} or not _are_moments(columns.timestamp):
        return None
    return columns if _are_numbers(columns.offset) and _are_numbers(columns.length) else None


_SEPARATOR = b" \0 "
_MINUTES = {f"{minute:02}{second:02}" for minute in range(60) for second in range(60)}
_hours: set[str] = set()
_HOURS = 500_000  # checked hours that are remembered: those of half a century


def _are_moments(timestamps: Sequence[str]) -> bool:
    """Return whether all texts are valid times of 14 digits."""
    if not {timestamp[10:] for timestamp in timestamps} <= _MINUTES:
        return False
    for hour in {timestamp[:10] for timestamp in timestamps} - _hours:
        if not _MOMENT(f"{hour}0000") or not _is_date(hour):
            return False
        if len(_hours) < _HOURS:
            _hours.add(hour)
    return True


def _are_numbers(texts: Sequence[str]) -> bool:
    """Return whether each text is a dash or a number of fewer than `_DIGITS` digits."""
    if "".join(texts).isdecimal() and len(max(texts, key=len)) < _DIGITS:
        return True
    return all(text == "-" or (text.isdecimal() and len(text) < _DIGITS) for text in {*texts})


def _line(fields: tuple[str, ...]) -> CdxLine | CdxFault:
    """Build a capture from its fields as they are written, in the order of `Layout`."""
    key, timestamp, url, mime, status, digest, length, offset, warc = fields
    if not _MOMENT(timestamp) or (timestamp[6:8] >= _SAFE_DAY and not _is_date(timestamp)):
        return CdxFault(Reason.BAD_DATE, f"{timestamp[:40]!r} is not a time of 14 digits")
    if url in _NOTHING:
        return CdxFault(Reason.BAD_ADDRESS, "the line has no address")
    try:
        code = _STATUS[status]
        size = int(length) if length.isdecimal() and len(length) < _DIGITS else _NOTHING[length]
        start = int(offset) if offset.isdecimal() and len(offset) < _DIGITS else _NOTHING[offset]
    except KeyError:
        return CdxFault(Reason.BAD_LINE, "status, length or offset is not a number")
    if mime == "-" or digest == "-" or warc == "-" or key == "-":
        key, mime, digest, warc = ("" if text == "-" else text for text in (key, mime, digest, warc))
    return CdxLine(key, timestamp, url, mime, code, digest, size, start, warc)


def _is_date(timestamp: str) -> bool:
    try:
        date(int(timestamp[:4]), int(timestamp[4:6]), int(timestamp[6:8]))
    except ValueError:
        return False
    return True


def _json_line(line: bytes) -> CdxLine | CdxFault:
    """Parse a line of CDXJ: key, time, and a JSON object whose values are strings or numbers."""
    key, timestamp, rest = line.split(None, 2)
    try:
        members = _decode(rest.decode("utf-8", "surrogateescape").rstrip())
    except (ValueError, RecursionError):
        return CdxFault(Reason.BAD_LINE, "what follows the time is not a JSON object")
    get = members.get
    values = (get("url"), get("mime"), get("status"), get("digest"), get("length"), get("offset"), get("filename"))
    written = [value if type(value) is str else _spell(value) for value in values]
    if "" in written and "" not in values:
        return CdxFault(Reason.BAD_LINE, "a value of the JSON object is neither a string nor a number")
    if b"\\u" in rest and _HALF.search("".join(written)):
        return CdxFault(Reason.BAD_LINE, "a value of the JSON object holds a lone surrogate")
    return _line((_text(key), _text(timestamp), *written))


def _spell(value: object) -> str:
    """Spell a JSON value that is not a string: null as `-`, a number in digits; anything else as an empty string."""
    if value is None:
        return "-"
    return str(value) if type(value) is int and abs(value) < 10**18 else ""


def _legend_or_fault(line: bytes, layout: Layout) -> CdxFault | Layout | None:
    """Return the layout of a legend, the fault of an invalid line, or None for a comment."""
    if legend := _LEGEND.fullmatch(line.rstrip(b"\r\n")):
        return _legend(legend[1].decode().split())
    if line[:1] == b" " or not line.strip() or line.startswith((b"#", b"filedesc:", b"!")):
        return None
    return CdxFault(Reason.BAD_LINE, f"the line has {len(line.split())} fields, not {layout.fields}")


def _legend(letters: list[str]) -> Layout | CdxFault:
    """Return the positions of a legend's fields, or a fault if it lacks a field; wget's legend has no key."""
    positions = {
        name: next((letters.index(letter) for letter in choices if letter in letters), -1)
        for name, choices in _LETTERS.items()
    }
    missing = [name for name, position in positions.items() if position < 0 and name not in {"key", "length"}]
    if missing:
        return CdxFault(Reason.UNSUPPORTED, f"the legend does not name {', '.join(missing)}")
    return Layout(len(letters), **positions)


def line(address: str, time: str, record: tuple[str, int, int], *, status: int | None, mime: str, digest: str) -> str:
    """Return one CDXJ line, without a line feed.

    `time` is as in WARC-Date, `record` the WARC file's name with the record's offset and length in bytes.
    """
    warc, offset, length = record
    status_member = f'"status": "{status}", ' if status else ""
    content = (
        f'{{"url": {dumps(address)}, "mime": {dumps(mime)}, {status_member}"digest": {dumps(spell(digest))}, '
        f'"length": "{length}", "offset": "{offset}", "filename": {dumps(warc)}}}'
    )
    return f"{surt(address)} {time[:4]}{time[5:7]}{time[8:10]}{time[11:13]}{time[14:16]}{time[17:19]} {content}"
