"""Parse index lines of web archives: CDX with 11 or 9 fields, or with the fields that a legend names, and CDXJ.

Parsing a line never raises: the result is a capture, a legend, a fault with its reason, or None for a blank line or a
comment. What a collection requires of captures (a status, a media type, a digest of 32 letters) is not checked here.

Keys are made by the Sort-friendly URI Reordering Transform (SURT), with the rules of pywb, cdxj-indexer and the Wayback
Machine, so that indexes can be joined. The labels of the host name are in reverse order; `www`, default ports and
session ids are left out. Letters are in lower case, and nested percent escapes are undone. In the path, `.` and `..`
are resolved; empty segments and a slash at the end are removed. The fields of the query are sorted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import repeat
from json.encoder import encode_basestring_ascii as json_string
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from windrow.caps import CDX_LINE_BYTES
from windrow.digest import warc_digest as spell_digest
from windrow.model import CdxLine
from windrow.reasons import Reason

_SIMPLE = re.compile(r"(https?|s?ftps?)://([A-Za-z0-9.-]++)(:[1-9]\d{0,4})?((?>(?:/[\w~-][\w.~-]*+)*))/?", re.ASCII)
"""Matches most addresses: a host name, optionally a port, and a path that needs no resolving."""

_ADDRESS = re.compile(rb"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_ESCAPED_BYTE = re.compile(rb"[\x00-\x20#%\x7f-\xff]")  # must be escaped in a key
_WWW = re.compile(rb"www\d*\.")
_SAFE_BYTES = bytes(code for code in range(0x21, 0x7F) if code not in b"#%")
_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_MAX_NESTED_ESCAPES = 16  # levels of nested percent escapes that are undone

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
    """Return the SURT key of an address, or the address unchanged if it has neither scheme nor host name.

    >>> surt("https://www.Example.org:8443/A//b.html?q=2&a=1")
    'org,example:8443)/a/b.html?a=1&q=2'
    >>> surt("http://example.org/posts/")
    'org,example)/posts'
    >>> surt("sftp://drops.example.org/add/x.zip")
    'org,example,drops)/add/x.zip'
    """
    if (plain := _SIMPLE.fullmatch(address)) and plain[3] not in {":80", ":443"}:
        return f"{_reverse_host_name(plain[2])}{plain[3] or ''}){plain[4].lower() or '/'}"
    return _surt_of_bytes(address.encode("utf-8", "surrogateescape"))


@lru_cache(maxsize=1024)
def _reverse_host_name(host_name: str) -> str:
    return _reverse_labels(host_name.encode()).decode()


def _surt_of_bytes(address: bytes) -> str:
    match = _ADDRESS.fullmatch(address.strip().translate(None, b"\r\n\t"))
    if match is None or not (match[1] or match[2]):
        return address.decode("utf-8", "replace")
    scheme, authority, path, query = (match[1] or b"").lower(), match[2], match[3], match[4]
    key = scheme + b":"
    if authority:
        host_name, port = _host_and_port(authority)
        key = _reverse_labels(host_name) + (b":" + port if port and port != _DEFAULT_PORTS.get(scheme) else b"") + b")"
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


def _host_and_port(authority: bytes) -> tuple[bytes, bytes]:
    """Return the host name and port of an authority, without credentials or the brackets of an IPv6 address.

    The host name is in ASCII. The port is empty if it is missing, 0 or not a number.
    """
    host_with_port = authority.rpartition(b"@")[2]
    if host_with_port.startswith(b"["):
        host_name, _, colon_and_port = host_with_port[1:].partition(b"]")
        port = colon_and_port.removeprefix(b":")
    else:
        host_name, _, port = host_with_port.partition(b":")
    host_name = _unescape(host_name)
    if not host_name.isascii():
        try:
            host_name = host_name.decode().encode("idna")
        except UnicodeError:
            host_name = _escape(host_name)
    return host_name, port.lstrip(b"0") if port.isdigit() else b""


def _reverse_labels(host_name: bytes) -> bytes:
    """Return a host name's labels, reversed and joined by commas, without `www`; read a number as an IPv4 address."""
    host_name = _escape(host_name.replace(b"..", b".").strip(b".")).lower()
    if host_name.isdigit() and len(host_name) < 20:
        number = int(host_name)
        host_name = b".".join(str(number >> shift & 255).encode() for shift in (24, 16, 8, 0))
    if www := _WWW.match(host_name):
        host_name = host_name[www.end() :]
    return b",".join(host_name.split(b".")[::-1])


def _unescape(text: bytes) -> bytes:
    if b"%" not in text:
        return text
    for _ in range(_MAX_NESTED_ESCAPES):
        plain = unquote_to_bytes(text)
        if plain == text:
            break
        text = plain
    return text


def _escape(text: bytes) -> bytes:
    return quote_from_bytes(text, _SAFE_BYTES).encode() if _ESCAPED_BYTE.search(text) else text


def _resolve_segments(path: bytes) -> bytes:
    resolved: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            resolved = resolved[:-1] if resolved else [segment]
        elif segment != b".":
            resolved.append(segment)
    return b"/" + b"".join(segment + b"/" for segment in resolved[:-1] if segment) + (resolved[-1] if resolved else b"")


def _sort_query(query: bytes) -> bytes:
    if b"=" not in query:
        return b"&".join(sorted(query.split(b"&")))
    for pattern in _QUERY_SESSIONS:
        query = pattern.sub(rb"\1\2", query)
    fields = query.split(b"&")
    fields.sort(key=_field_key)
    return b"&".join(fields)


def _field_key(field: bytes) -> tuple[bytes, bytes, bool]:
    name, equals_sign, value = field.partition(b"=")
    return name, value, bool(equals_sign)


MAX_LINE_BYTES = CDX_LINE_BYTES.number
"""The maximum size of a line, in bytes; a longer line is a fault."""

_match_timestamp = re.compile(
    r"(?!0000)\d{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d", re.ASCII
).fullmatch
_LEGEND = re.compile(rb" ?CDX((?: [A-Za-z])+)[ \r]*")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING: dict[str, None] = {"": None, "-": None}
_STATUS_CODES = {"": None, "-": None} | {f"{code:03}": code for code in range(1000)}
_MAX_DIGITS = 19  # a number must have fewer digits
_decode_json = json.JSONDecoder().decode
_FIRST_UNSAFE_DAY = "29"  # every month has all days before this one


class CdxFault(NamedTuple):
    """Why a line is not a capture. `line` is the start of the line; it is empty in faults that `parse_line` returns."""

    reason: Reason
    message: str
    line: str = ""


class Layout(NamedTuple):
    """The index of each field in a line, or -1 if lines do not have it. A line has at least `fields` fields."""

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


CDX_11 = Layout(11, key=0, timestamp=1, url=2, mime=3, status=4, digest=5, length=8, offset=9, warc=10)
"""The fields of the legend `CDX N b a m s k r M S V g`."""

CDX_9 = Layout(9, key=0, timestamp=1, url=2, mime=3, status=4, digest=5, length=-1, offset=7, warc=8)
"""The fields of the legend `CDX N b a m s k r V g`, which lacks the length."""

_LAYOUT_BY_FIELD_COUNT = {9: CDX_9}
_LEGEND_LETTERS = {"key": "NA", "timestamp": "b", "url": "a", "mime": "m", "status": "s", "digest": "k", "length": "S",
            "offset": "V", "warc": "g"}  # fmt: skip
_FILE_HEADER = b"filedesc:"  # begins the line of the first record of an ARC file
_HEADERS = (b"!", b"#", _FILE_HEADER)  # lines that begin so are not about captures, however many fields they have


def parse_line(line: bytes, layout: Layout | None = None) -> CdxLine | CdxFault | Layout | None:
    """Parse a line of an index.

    Return a capture, a fault, the layout that a legend defines, or None for a blank line or a line that begins
    with `#`, `!` or `filedesc:`. `layout` is that of the last legend before the line, or None without a legend.

    >>> parse_line(b"org,example)/ 20240301120000 http://example.org/ text/html 200 A - - 99 7 x.warc.gz").offset
    7
    >>> parse_line(b'org,example)/ 20240301120000 {"url": "http://example.org/", "status": "200"}').status
    200
    >>> parse_line(b" CDX N b a m s k r V g") == CDX_9
    True
    >>> parse_line(b"org,example)/ 20240230120000 http://example.org/ text/html 200 A - - 99 7 x.warc.gz").reason
    <Reason.BAD_DATE: 'bad_date'>
    """
    if len(line) > MAX_LINE_BYTES:
        return CdxFault(Reason.TOO_LARGE, f"the line has {len(line)} bytes; the limit is {MAX_LINE_BYTES}")
    if line and line[0] in b"!#f" and line.startswith(_HEADERS):
        return None
    # Fields are separated by ASCII white space. `str.split` also splits at U+001C to U+001F.
    is_split_alike = line.isascii() and not _has_separator_controls(line)
    fields = line.decode("ascii").split() if is_split_alike else [_decode_field(field) for field in line.split()]
    field_count = len(fields)
    if field_count > 2 and fields[2][0] == "{":
        return _parse_json_line(line)
    if layout is None:
        layout = _LAYOUT_BY_FIELD_COUNT.get(field_count, CDX_11)
    if field_count < layout.fields or fields[0] == "CDX" or fields[0][0] == "#":
        return _legend_or_fault(line, layout)
    if layout is CDX_11:
        key, timestamp, url, mime, status, digest, _, _, length, offset, warc = fields[:11]
        return _build_capture((key, timestamp, url, mime, status, digest, length, offset, warc))
    return _build_capture(tuple([fields[position] if position >= 0 else "-" for position in layout[1:]]))


def _has_separator_controls(text: bytes) -> bool:
    """Return whether a text has a character from U+001C to U+001F."""
    return b"\x1c" in text or b"\x1d" in text or b"\x1e" in text or b"\x1f" in text


def _decode_field(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


class CaptureColumns(NamedTuple):
    """The fields of valid captures as they are written: a column for each field, with a value for each capture."""

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
        """Return the captures whose values are at these positions in the columns."""
        key, timestamp, url, mime, status, digest, length, offset, warc = [
            [column[position] for position in positions] for column in self
        ]
        columns = (
            _replace_dashes(key), timestamp, url, _replace_dashes(mime), map(_STATUS_CODES.__getitem__, status),
            _replace_dashes(digest), _read_numbers(length), _read_numbers(offset), _replace_dashes(warc),
        )  # fmt: skip
        # The same as calling `CdxLine`, without a Python call for each capture.
        return [*map(tuple.__new__, repeat(CdxLine), zip(*columns, strict=True))]


def _replace_dashes(texts: Sequence[str]) -> Iterable[str]:
    return ["" if text == "-" else text for text in texts] if "-" in texts else texts


def _read_numbers(texts: Sequence[str]) -> Iterable[int | None]:
    return [None if text == "-" else int(text) for text in texts] if "-" in texts else map(int, texts)


def parse_lines(
    lines: Sequence[bytes], layout: Layout | None = None
) -> Iterator[CaptureColumns | CdxLine | CdxFault | Layout]:
    """Yield what `parse_line` returns for each line, except None; a legend applies to the lines after it.

    A fault contains the start of its line. Five or more valid CDX lines in a row may be yielded together as columns,
    which is several times as fast if few captures are used.

    >>> lines = [b" CDX N b a m s k r V g", b"org,example)/ 20240301120000 http://example.org/ a/b 200 A - 7 x.warc"]
    >>> [type(result).__name__ for result in parse_lines(lines)]
    ['Layout', 'CdxLine']
    """
    for start in range(0, len(lines), _BLOCK_LINES):
        for parsed in _parse_block(lines[start : start + _BLOCK_LINES], layout):
            if type(parsed) is Layout:
                layout = parsed
            yield parsed


_BLOCK_LINES = 256  # lines that are parsed together
_MAX_SHOWN_BYTES = 200  # bytes of a faulty line that are kept
_MAX_LINES_ONE_BY_ONE = 4  # up to this number, lines are parsed one by one and not as columns


def _parse_block(
    lines: Sequence[bytes], layout: Layout | None
) -> Iterator[CaptureColumns | CdxLine | CdxFault | Layout]:
    """Yield the lines as columns if all are valid CDX lines; otherwise do the same with each half.

    Up to `_MAX_LINES_ONE_BY_ONE` lines are parsed one by one.
    """
    if len(lines) > _MAX_LINES_ONE_BY_ONE:
        columns = _parse_columns(lines, layout)
        if columns is not None:
            yield columns
            return
        half = len(lines) // 2
        for half_of_lines in (lines[:half], lines[half:]):
            for result in _parse_block(half_of_lines, layout):
                if type(result) is Layout:
                    layout = result
                yield result
        return
    for text in lines:
        parsed = parse_line(text, layout)
        if type(parsed) is Layout:
            layout = parsed
        elif type(parsed) is CdxFault:
            parsed = parsed._replace(line=text[:_MAX_SHOWN_BYTES].decode("utf-8", "replace"))
        if parsed is not None:
            yield parsed


def _parse_columns(lines: Sequence[bytes], layout: Layout | None) -> CaptureColumns | None:
    """Return lines as columns, or None if a line is not, or may not be, a valid CDX line.

    The lines are joined with a separator field between them, and split together. If a separator follows every
    `layout.fields` fields, each line has the right number of fields.
    """
    layout = layout or _LAYOUT_BY_FIELD_COUNT.get(len(lines[0].split()), CDX_11)
    text = _SEPARATOR.join((b"", *lines, b""))
    if not text.isascii() or b"{" in text or len(max(lines, key=len)) > MAX_LINE_BYTES or _has_separator_controls(text):
        return None
    fields = text.decode("ascii").split()
    fields_per_line, end = layout.fields + 1, len(fields) - 1
    if end != fields_per_line * len(lines) or {*fields[::fields_per_line]} != {_SEPARATOR.decode().strip()}:
        return None
    first = min(lines)
    if "CDX" in fields[1::fields_per_line] or first[:1] <= b"#":  # legends and comments begin so
        return None
    if first[: len(_FILE_HEADER)] <= _FILE_HEADER <= max(lines) and _SEPARATOR + _FILE_HEADER in text:
        return None
    dashes = ["-"] * len(lines)
    columns = CaptureColumns(
        *[fields[position + 1 : end : fields_per_line] if position >= 0 else dashes for position in layout[1:]]
    )
    if "-" in columns.url or not _STATUS_CODES.keys() >= {*columns.status} or not _are_timestamps(columns.timestamp):
        return None
    return columns if _are_numbers(columns.offset) and _are_numbers(columns.length) else None


_SEPARATOR = b" \0 "
_MINUTES_AND_SECONDS = {f"{minute:02}{second:02}" for minute in range(60) for second in range(60)}
_checked_hours: set[str] = set()  # valid hours, in ten digits
_MAX_CHECKED_HOURS = 500_000  # hours that are cached: those of half a century


def _are_timestamps(timestamps: Sequence[str]) -> bool:
    if not {timestamp[10:] for timestamp in timestamps} <= _MINUTES_AND_SECONDS:
        return False
    for hour in {timestamp[:10] for timestamp in timestamps} - _checked_hours:
        if not _match_timestamp(f"{hour}0000") or not _is_date(hour):
            return False
        if len(_checked_hours) < _MAX_CHECKED_HOURS:
            _checked_hours.add(hour)
    return True


def _are_numbers(texts: Sequence[str]) -> bool:
    if "".join(texts).isdecimal() and len(max(texts, key=len)) < _MAX_DIGITS:
        return True
    return all(text == "-" or (text.isdecimal() and len(text) < _MAX_DIGITS) for text in {*texts})


def _build_capture(fields: tuple[str, ...]) -> CdxLine | CdxFault:
    """Return a capture from its fields as written, in the order of `Layout`; return a fault if a field is not valid."""
    key, timestamp, url, mime, status, digest, length, offset, warc = fields
    if not _match_timestamp(timestamp) or (timestamp[6:8] >= _FIRST_UNSAFE_DAY and not _is_date(timestamp)):
        return CdxFault(Reason.BAD_DATE, f"{timestamp[:40]!r} is not a valid time of 14 digits")
    if url in _MISSING:
        return CdxFault(Reason.BAD_ADDRESS, "the line has no address")
    try:
        status_code = _STATUS_CODES[status]
        record_length = int(length) if length.isdecimal() and len(length) < _MAX_DIGITS else _MISSING[length]
        record_offset = int(offset) if offset.isdecimal() and len(offset) < _MAX_DIGITS else _MISSING[offset]
    except KeyError:
        return CdxFault(Reason.BAD_LINE, "the status must have 3 digits, and length and offset at most 18 digits each")
    if mime == "-" or digest == "-" or warc == "-" or key == "-":
        key, mime, digest, warc = ("" if text == "-" else text for text in (key, mime, digest, warc))
    return CdxLine(key, timestamp, url, mime, status_code, digest, record_length, record_offset, warc)


def _is_date(timestamp: str) -> bool:
    try:
        date(int(timestamp[:4]), int(timestamp[4:6]), int(timestamp[6:8]))
    except ValueError:
        return False
    return True


def _parse_json_line(line: bytes) -> CdxLine | CdxFault:
    key, timestamp, json_text = line.split(None, 2)
    try:
        members = _decode_json(json_text.decode("utf-8", "surrogateescape").rstrip())
    except (ValueError, RecursionError):
        return CdxFault(Reason.BAD_LINE, "the text after the time is not a JSON object")
    get = members.get
    values = (get("url"), get("mime"), get("status"), get("digest"), get("length"), get("offset"), get("filename"))
    fields = [value if type(value) is str else _spell_json_value(value) for value in values]
    if "" in fields and "" not in values:
        return CdxFault(Reason.BAD_LINE, "a value of the JSON is not a string or an integer of up to 18 digits")
    if b"\\u" in json_text and _LONE_SURROGATE.search("".join(fields)):
        return CdxFault(Reason.BAD_LINE, "a value of the JSON object contains a lone surrogate")
    return _build_capture((_decode_field(key), _decode_field(timestamp), *fields))


def _spell_json_value(value: object) -> str:
    """Return a JSON value other than a text as a CDX field.

    The field is `-` for null, the digits of an integer of up to 18 digits, or "" for any other value.
    """
    if value is None:
        return "-"
    return str(value) if type(value) is int and abs(value) < 10**18 else ""


def _legend_or_fault(line: bytes, layout: Layout) -> CdxFault | Layout | None:
    if legend := _LEGEND.fullmatch(line.rstrip(b"\r\n")):
        return _read_legend(legend[1].decode().split())
    words = line.lstrip()
    if not words or words.startswith((b"#", b"filedesc:", b"!")):
        return None
    if words.startswith(b"CDX "):
        return CdxFault(Reason.BAD_LINE, "the line begins like a legend, but does not name fields by single letters")
    return CdxFault(Reason.BAD_LINE, f"the line has {len(line.split())} fields; it must have at least {layout.fields}")


def _read_legend(letters: list[str]) -> Layout | CdxFault:
    positions = {
        name: next((letters.index(letter) for letter in choices if letter in letters), -1)
        for name, choices in _LEGEND_LETTERS.items()
    }
    missing = [name for name, position in positions.items() if position < 0 and name not in {"key", "length"}]
    if missing:
        return CdxFault(Reason.UNSUPPORTED, f"the legend does not name {', '.join(missing)}")
    return Layout(len(letters), **positions)


def format_cdxj_line(
    address: str, time: str, record: tuple[str, int, int], *, status: int | None, mime: str, digest: str
) -> str:
    """Return a CDXJ line without a line feed.

    `time` is spelt as in WARC-Date; `digest` is spelt as in `windrow.digest`. A `status` of None or 0 is left out.
    `record` has the WARC file's name, and the offset and length of the record in bytes.
    """
    warc, offset, length = record
    status_member = f'"status": "{status}", ' if status else ""
    json_text = (
        f'{{"url": {json_string(address)}, "mime": {json_string(mime)}, {status_member}'
        f'"digest": {json_string(spell_digest(digest))}, "length": "{length}", "offset": "{offset}", '
        f'"filename": {json_string(warc)}}}'
    )
    return f"{surt(address)} {time[:4]}{time[5:7]}{time[8:10]}{time[11:13]}{time[14:16]}{time[17:19]} {json_text}"
