"""Format values as JSON and as text that is safe for a terminal; split texts into paragraphs."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters, such as line ends and escapes
    "\u2028\u2029"  # line and paragraph separators
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    "\u206a-\u206f\ufff9-\ufffb"  # deprecated format controls, annotations
    "\U000e0000-\U000e007f\ud800-\udfff]"  # tags, which are invisible; lone surrogates
)

_MAX_KINDS_NAMED = 8  # in the result of `join_counts`

_SHOWN_CHARACTERS = 1_000  # of a value in a line for people; --json has all

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_BREAKING_TAG = re.compile(
    r"</?(?:article|blockquote|br|dd|div|dl|dt|footer|h[1-6]|header|hr|li|ol|p|section|table|td|th|tr|ul)(?![\w-])[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-zA-Z][\w:.-]*(?:[\s/][^<>]*)?>")


def remove_tags(html: str) -> str:
    """Return a piece of HTML without its tags, also of MathML; those that begin a line or a cell leave a space.

    >>> remove_tags("Council votes<br />on H<sub>2</sub>O"), remove_tags("The product <u,v>")
    ('Council votes on H2O', 'The product <u,v>')
    """
    return _TAG.sub("", _BREAKING_TAG.sub(" ", html)) if "<" in html else html


def escape(text: str) -> str:
    r"""Escape line ends, lone surrogates, and control and format characters that may change what is displayed.

    >>> escape("red \x1b[31m name\nof a file" + chr(0x200f))
    'red \\x1b[31m name\\nof a file\\u200f'
    """
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shorten(text: str) -> str:
    """Return the text or, if it is too long for a line of a terminal, its beginning with an ellipsis.

    >>> shorten("tea"), len(shorten("tea" * 1_000_000)), shorten("tea" * 1_000_000)[-4:]
    ('tea', 1000, 'tea…')
    """
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def xml_text(text: str) -> str:
    r"""Escape a text for XML and HTML, also within quotes; U+FFFD replaces characters that XML does not allow.

    >>> xml_text("a < \"b\" \0")
    'a &lt; &quot;b&quot; \ufffd'
    """
    from html import escape as escape_markup  # noqa: PLC0415 `--help` needs no markup

    return escape_markup(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def escape_json(text: str) -> str:
    r"""Return a line of JSON with JSON's own escapes for the characters that `escape` escapes; its value is the same.

    >>> escape_json('"a\x9bb\U000e0041"')
    '"a\\u009bb\\udb40\\udc41"'
    """
    return _UNSAFE.sub(lambda match: "".join(f"\\u{unit:04x}" for unit in _utf_16_units(match[0])), text)


def json_text(value: Any, *, sort_keys: bool = False) -> str:
    """Return a value as one line of JSON that is safe for a terminal; letters beyond ASCII are not escaped.

    >>> json_text({"b": "caf\u00e9", "a": 1}, sort_keys=True)
    '{"a": 1, "b": "café"}'
    """
    return escape_json(dump_json(value, sort_keys=sort_keys))


def dump_json(value: Any, *, sort_keys: bool = False, separators: tuple[str, str] | None = None) -> str:
    """Return a value as JSON; NaN and infinity, which JSON does not have, become null.

    >>> dump_json({"a": [float("nan"), 1.5]})
    '{"a": [null, 1.5]}'
    """
    options: dict[str, Any] = {"ensure_ascii": False, "sort_keys": sort_keys, "separators": separators}
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_without_nan(value), allow_nan=False, **options)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _utf_16_units(character: str) -> list[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(encoded[offset : offset + 2], "big") for offset in range(0, len(encoded), 2)]


_CONTROL_TO_SPACE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), " ")
_LINE_END = re.compile(r"\r\n|[\n\r\x85\u2028\u2029\f]")
_LIST_ITEM = re.compile(r"\s|[-*+\u2022\xb7\u2013#>|=~_]|\(?[0-9A-Za-z]{1,3}[.)]\s")
_RULE_LINE = re.compile(r"[\W_]+")
_MIN_USUAL_WIDTH = 30  # characters; shorter lines are those of a list, not of a wrapped paragraph
_SHORT_LINE_SHARE = 0.65  # of the usual width; a shorter line ends a paragraph
_MAX_TITLE_CHARACTERS = 120  # of a first paragraph


def paragraphs(text: str) -> list[str]:
    r"""Return the paragraphs of a text, each in one line with single spaces.

    A paragraph ends at an empty line, after a line that is much shorter than the usual width, and before a line that is
    indented or begins like an item of a list.

    >>> paragraphs("A line that was broken to fit into the width\nof its page, and goes on in another.\n\n- one\n- two")
    ['A line that was broken to fit into the width of its page, and goes on in another.', '- one', '- two']
    """
    lines = _LINE_END.split(text)
    lengths = sorted(len(line.rstrip()) for line in lines if line.strip())
    usual_width = max(lengths[len(lengths) * 4 // 5], _MIN_USUAL_WIDTH) if lengths else 0
    complete: list[str] = []
    current: list[str] = []
    for line in lines:
        if current and (not line.strip() or _LIST_ITEM.match(line)):
            complete.append(" ".join(current))
            current = []
        words = replace_controls(line).split()
        current += words
        if words and len(line.rstrip()) < usual_width * _SHORT_LINE_SHARE:
            complete.append(" ".join(current))
            current = []
    if current:
        complete.append(" ".join(current))
    return [paragraph for paragraph in complete if paragraph]


def replace_controls(text: str) -> str:
    r"""Return a text with spaces for lone surrogates, U+FFFE, U+FFFF, and ASCII controls except tabs and line ends.

    >>> replace_controls("a\x00b\ud800")
    'a b '
    """
    return text.translate(_CONTROL_TO_SPACE)


def first_paragraph(paragraphs: list[str]) -> str:
    """Return the first paragraph that is not a rule such as `=====`, or "" if it is missing or too long for a title.

    >>> first_paragraph(["=====", "Release notes", "What is new"])
    'Release notes'
    """
    paragraph = next((line for line in paragraphs if not _RULE_LINE.fullmatch(line)), "")
    return paragraph if len(paragraph) <= _MAX_TITLE_CHARACTERS else ""


class Table(str):
    """The text that `table` returns; its cells contain no line ends."""

    __slots__ = ()


def table(head: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "") -> Table:
    """Lay out rows in columns under a head; `indent` begins each line. Columns of integers (or None) are right-aligned.

    Cells are shortened.

    >>> print(table(["source", "new"], [["h", 12], ["jax", 3]]))
    source  new
    h        12
    jax       3
    """
    rows = list(rows)
    cell_rows = [[shorten(show(cell)) for cell in row] for row in rows]
    is_number_column = [
        bool(rows) and all(isinstance(row[column], int) or row[column] is None for row in rows)
        for column in range(len(head))
    ]
    widths = [max(len(row_cells[column]) for row_cells in (list(head), *cell_rows)) for column in range(len(head))]
    lines = []
    for row_cells in (list(head), *cell_rows):
        cells = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row_cells, widths, is_number_column, strict=True)
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return Table("\n".join(lines))


def join_with_blank_lines(parts: Iterable[str]) -> list[str]:
    """Return the parts as lines, with an empty line between any two.

    >>> join_with_blank_lines(["a", "b"])
    ['a', '', 'b']
    """
    return [line for part in parts for line in ("", part)][1:]


def show(value: object) -> str:
    """Return a value as text in one line for people.

    A time is shown to the second, and an integer is shown with commas. None and an empty text become a dash; a boolean
    becomes yes or no.

    >>> show(12345), show(None), show("")
    ('12,345', '-', '-')
    """
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None or value == "" else " ".join(str(value).split())


def spell_size(count: float) -> str:
    """Return a number of bytes as text for people, in units that are powers of 1000.

    >>> spell_size(0), spell_size(1234), spell_size(5_600_000)
    ('0 B', '1.2 kB', '5.6 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def spell_duration(seconds: float) -> str:
    """Return a duration in seconds as text for people.

    >>> spell_duration(3.21), spell_duration(75), spell_duration(7300)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    >>> spell_duration(86_400)
    '24 h'
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds_left = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds_left} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def replace_lone_surrogates(text: str, errors: str = "replace") -> str:
    r"""Return a text with question marks in place of lone surrogates, which cannot be encoded: databases refuse them.

    With `backslashreplace` as `errors`, they become escapes, so that different names stay different.

    >>> replace_lone_surrogates("\ud800 caf\u00e9"), replace_lone_surrogates("caf\udce9", "backslashreplace")
    ('? caf\xe9', 'caf\\udce9')
    """
    return text if text.isascii() else text.encode("utf-8", errors).decode()


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which is in the plural unless the count is 1.

    >>> counted(1, "crawl"), counted(0, "address"), counted(1200, "link")
    ('1 crawl', '0 addresses', '1,200 links')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "es" if noun.endswith("s") else "s")


def are(count: int) -> str:
    """Return a count with the verb of what is counted.

    >>> are(1), are(0), are(1200)
    ('1 is', '0 are', '1,200 are')
    """
    return f"{count:,} {'is' if count == 1 else 'are'}"


def join_counts(counts: Counter[Any]) -> str:
    """Return a text with the eight most frequent names and their counts, and the sum of all other counts.

    >>> join_counts(Counter({str(number): 9 - number for number in range(9)} | {"x": 0}))
    '0 9, 1 8, 2 7, 3 6, 4 5, 5 4, 6 3, 7 2, of other kinds 1'
    """
    named = counts.most_common(_MAX_KINDS_NAMED)
    other_count = counts.total() - sum(count for _, count in named)
    clauses = [f"{name} {count}" for name, count in named]
    return ", ".join([*clauses, f"of other kinds {other_count}"] if other_count else clauses)


def prefix_name(name: str, text: str) -> str:
    """Return a message that begins with a name and a colon; add these if `text` does not begin with them.

    >>> prefix_name("jax", "no answer"), prefix_name("jax", "jax: no answer")
    ('jax: no answer', 'jax: no answer')
    """
    return text if text.startswith(f"{name}: ") else f"{name}: {text}"


def to_json_value(value: Any) -> Any:
    """Convert a value to JSON types: a time to ISO 8601, a member of an IntEnum to its name in lower case.

    >>> from windrow.model import Finding, Status
    >>> to_json_value((Status.DONE, Path("/a"), Finding("SchemaError", "no", line=3)))[:2]
    ['done', '/a']
    """
    match value:
        case IntEnum():
            json_value: Any = value.name.lower()
        case Enum():
            json_value = value.value
        case datetime() | date():
            json_value = value.isoformat().replace("+00:00", "Z")
        case Path():
            json_value = str(value)
        case Mapping():
            json_value = {str(name): to_json_value(member) for name, member in value.items()}
        case list() | tuple() | set() | frozenset():
            names = getattr(value, "_fields", None)
            json_value = (
                {name: to_json_value(getattr(value, name)) for name in names}
                if names
                else [to_json_value(member) for member in value]
            )
        case _ if is_dataclass(value):
            json_value = {field.name: to_json_value(getattr(value, field.name)) for field in fields(value)}
        case _:
            json_value = value
    return json_value


_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)", re.ASCII)


def spell_value(value: Any) -> str:
    """Return a JSON value for people, without members of objects that are null or empty. Times in UTC are shortened.

    >>> spell_value(["a", {"b": 1, "c": None}]), spell_value(True), spell_value("2026-01-02T03:04:05.678Z")
    ('a; b 1', 'yes', '2026-01-02 03:04:05')
    """
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(spell_value, value))
        case dict():
            kept = {name: member for name, member in value.items() if member not in (None, "", [], {})}
            return ", ".join(f"{name.replace('_', ' ')} {spell_value(member)}" for name, member in kept.items())
        case str() if _UTC_TIME.fullmatch(value):
            return value[:19].replace("T", " ")
        case _:
            return str(value)


def json_message(kind: str, value: Any, *, omit_empty: bool = False) -> dict[str, Any]:
    """Return a dict of JSON values: `kind` as `type`, and the fields of `value`.

    With `omit_empty`, fields that are null, an empty text or an empty list are left out.

    >>> json_message("gone", {"name": "a", "why": None}, omit_empty=True)
    {'type': 'gone', 'name': 'a'}
    """
    members = to_json_value(value)
    if omit_empty:
        members = {name: member for name, member in members.items() if member is not None and member not in ("", [])}
    return {"type": kind, **members}


_MAX_SHOWN_CHARACTERS, _CONTEXT_CHARACTERS = 60, 20  # of a text with a difference, and before the difference


def cut_around_difference(old: str, new: str) -> tuple[str, str]:
    """Return two texts; if one is longer than 60 characters, cut both to 60 or fewer around the first difference.

    At most 20 characters before the difference are kept. An ellipsis shows where a text is cut.

    >>> cut_around_difference("The old pump. " * 9 + "It works.", "The old pump. " * 9 + "It leaks.")
    ('…p. The old pump. It works.', '…p. The old pump. It leaks.')
    """
    shared_length = next(
        (index for index, (before, after) in enumerate(zip(old, new, strict=False)) if before != after),
        min(len(old), len(new)),
    )
    is_cut = max(len(old), len(new)) > _MAX_SHOWN_CHARACTERS and shared_length > _CONTEXT_CHARACTERS
    start = shared_length - _CONTEXT_CHARACTERS if is_cut else 0
    return _cut(old, start), _cut(new, start)


def _cut(text: str, start: int) -> str:
    end = start + _MAX_SHOWN_CHARACTERS
    return ("\u2026" if start else "") + (text[start:] if len(text) <= end else f"{text[start:end]}\u2026")
