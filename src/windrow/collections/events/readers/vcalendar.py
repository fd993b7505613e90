"""Turn what vCalendar 1.0, the predecessor of iCalendar, writes in another way into iCalendar (RFC 5545)."""

from __future__ import annotations

import quopri
import re
from base64 import b64decode
from codecs import BOM_UTF8

from windrow.collections.events.readers.by_fields import decode_text
from windrow.collections.events.readers.calendar_heads import LINE_FOLD, PROPERTIES

_CHARSET_PROPERTY = re.compile(
    rb"^[A-Z.0-9-]+(?:;[^:\n]*)?;(CHARSET=\"?[\w.:-]{1,40})[^\n]*(?:\n[ \t][^\n]*)*", re.MULTILINE | re.IGNORECASE
)
"""Matches a property with the charset of its value."""
_GROUP = r"(?:[A-Z0-9-]{1,40}\.)?"
"""Matches the name of a group of properties, which says nothing about an event."""
_GROUPED_NAME = re.compile(rf"^{_GROUP}({'|'.join(PROPERTIES)})(?=[;:](?! ))", re.MULTILINE | re.IGNORECASE)
_LIST_PROPERTY = re.compile(
    r"^((?:CATEGORIES|RESOURCES|RDATE|EXDATE)(?:;[^:\n]*)?:)([^\n]*(?:\n[ \t][^\n]*)*)", re.MULTILINE | re.IGNORECASE
)
_SEMICOLON, _COMMA = re.compile(r"(?<!\\);"), re.compile(r"(?<!\\),")
_FOLDED_TEXT = re.compile(
    r"^(?:SUMMARY|DESCRIPTION|LOCATION)[;:][^\n]*(?:\n[ \t][^\n]*)+", re.MULTILINE | re.IGNORECASE
)
_FOLDED_ANYWHERE = range(72, 77)
"""The lengths of the lines that programs write which fold as iCalendar does, also within words."""

_EMPTY_DATES = re.compile(r"^(?:RDATE|EXDATE)(?:;[^:\n]*)?:[ \t]*\r?\n(?![ \t])", re.MULTILINE | re.IGNORECASE)
_RULE_PROPERTY = re.compile(
    r"^((?:RRULE|EXRULE)(?:;[^:\n]*)?:)([^\n]*(?:\n[ \t][^\n]*)*)", re.MULTILINE | re.IGNORECASE
)
"""Matches a rule of repetition: its name and parameters, and its value with folds."""

_RULE = re.compile(
    r"(D|W|MP|MD|YM|YD|M)([1-9]\d{0,3})((?: (?:[A-Z]{2}|\d{1,3}[+-]?))*) (?:#(\d{1,4})|(\d{8}(?:T\d{6}Z?)?))", re.ASCII
)
"""Matches a rule of vCalendar 1.0: its kind, its interval, its parts, and its number of intervals or its end."""
_FREQUENCIES = {
    "M": "MINUTELY", "D": "DAILY", "W": "WEEKLY", "MP": "MONTHLY", "MD": "MONTHLY", "YM": "YEARLY", "YD": "YEARLY",
}  # fmt: skip
_WEEKDAYS = frozenset({"SU", "MO", "TU", "WE", "TH", "FR", "SA"})


def decode_calendar(content: bytes, media: str) -> str:
    r"""Return the text of a calendar, of which each property may have a charset of its own.

    All others have that of `media`, a Content-Type, or else the first of those charsets; see `decode_text`.

    >>> decode_calendar("A;CHARSET=koi8-r:\u0427\u0430\u0439\nB;CHARSET=latin1:".encode("koi8-r") + b"caf\xe9", "")
    'A;CHARSET=koi8-r:\u0427\u0430\u0439\nB;CHARSET=latin1:caf\xe9'
    """
    properties = [] if content.startswith(BOM_UTF8) else list(_CHARSET_PROPERTY.finditer(content))
    if not properties:
        return decode_text(content, media)
    other = media if "charset" in media.lower() else properties[0][1].decode("ascii")
    texts, position = list[str](), 0
    for match in properties:
        texts += [
            decode_text(content[position : match.start()], other),
            decode_text(match[0], match[1].decode("ascii")),
        ]
        position = match.end()
    return "".join([*texts, decode_text(content[position:], other)])


def translate_event(event_text: str, is_version_1: bool) -> str:
    r"""Return a VEVENT as iCalendar writes it; `is_version_1` says whether its VCALENDAR is a vCalendar 1.0.

    >>> translate_event("A.SUMMARY;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9\nCATEGORIES:A;B, C\nRRULE:D1 #5", True)
    'SUMMARY:Caf\xe9\nCATEGORIES:A,B\\, C\nRRULE:FREQ=DAILY;INTERVAL=1;COUNT=5'
    """
    text = _GROUPED_NAME.sub(r"\1", _decode_values(event_text))
    if is_version_1:
        text = _LIST_PROPERTY.sub(_separate_by_commas, text)
        text = _FOLDED_TEXT.sub(_keep_spaces, text)
    return _RULE_PROPERTY.sub(_translate_property, _EMPTY_DATES.sub("", text))


def find_untranslated_rules(event_text: str) -> list[str]:
    """Return the values of the RRULEs and EXRULEs of a translated VEVENT that are not as iCalendar has them."""
    rules = (LINE_FOLD.sub("", match[2]).strip() for match in _RULE_PROPERTY.finditer(event_text))
    return [rule for rule in rules if not _is_of_icalendar(rule)]


def _separate_by_commas(listed: re.Match[str]) -> str:
    name, value = listed[1], listed[2]
    entries = _SEMICOLON.split(value)
    return name + ",".join(_COMMA.sub(r"\,", entry) for entry in entries) if len(entries) > 1 else listed[0]


def _keep_spaces(folded: re.Match[str]) -> str:
    """Return a text in which a second space follows each fold that stands for one, as in vCalendar 1.0."""
    lines = folded[0].split("\n")
    pieces = lines[:1]
    for line, previous in zip(lines[1:], map(str.rstrip, lines), strict=False):
        is_at_space = len(previous) not in _FOLDED_ANYWHERE and line.lstrip(" \t") == line[1:]
        pieces.append(f" {line}" if is_at_space else line)
    return "\n".join(pieces)


def _translate_property(rule: re.Match[str]) -> str:
    value = LINE_FOLD.sub("", rule[2])
    end = value[len(value.rstrip()) :]
    if _is_of_icalendar(value):
        return rule[1] + "".join(value.split()) + end  # the library takes a space for a part of a name
    if not value.strip():
        return end  # the library refuses it
    translated = translate_rule(value)
    return f"{rule[1]}{translated}{end}" if translated else rule[0]


def _is_of_icalendar(rule: str) -> bool:
    return "FREQ=" in rule.upper()


def translate_rule(rule: str) -> str:
    """Return a rule of vCalendar 1.0 as one of iCalendar; "" if iCalendar has none that certainly means the same.

    It has none for rules inside rules, for times of day, for marks of an end (`$`), for rules without an end, whose
    default programs read in different ways, and for a number of intervals each of which has several days.

    >>> translate_rule("MP2 1+ SU 1- SU #0"), translate_rule("W2 MO WE 20261224T000000Z"), translate_rule("W1 MO WE #5")
    ('FREQ=MONTHLY;INTERVAL=2;BYDAY=1SU,-1SU', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;UNTIL=20261224T000000Z', '')
    """
    match = _RULE.fullmatch(" ".join(rule.upper().split()))
    if match is None:
        return ""
    kind, interval, parts, number, until = match.groups()
    days = _translate_parts(kind, parts.split())
    is_counted = bool(number and int(number))
    if days is None or (is_counted and "," in days):
        return ""
    end = f"COUNT={int(number)}" if is_counted else f"UNTIL={until}" if until else ""
    return ";".join(filter(None, (f"FREQ={_FREQUENCIES[kind]}", f"INTERVAL={interval}", days, end)))


def _translate_parts(kind: str, parts: list[str]) -> str | None:
    """Return the part of a rule with the days or months of an interval; "" if it has none, None if it has no such."""
    if not parts:
        # Those of DTSTART, except that iCalendar has no day of the year, or day of a week in the month, by default.
        return None if kind in {"MP", "YD"} else ""
    names, numbers = [part for part in parts if part.isalpha()], [part for part in parts if not part.isalpha()]
    if kind == "MD":
        return _format_days("BYMONTHDAY", [_read_number(part) for part in parts], 31)
    if kind == "W" and not numbers and _WEEKDAYS.issuperset(names):
        return f"BYDAY={','.join(names)}"
    if kind == "MP":
        return _translate_positions(parts)
    if kind in {"YM", "YD"} and all(map(str.isdigit, parts)):
        name, last = ("BYMONTH", 12) if kind == "YM" else ("BYYEARDAY", 366)
        return _format_days(name, list(map(int, parts)), last)
    return None


def _translate_positions(parts: list[str]) -> str | None:
    """Return the weekdays of a month, such as `1+ 1- SU 2+ MO TU`; None if they are not valid."""
    positions, days, last_was_day = list[int](), list[str](), False
    for part in parts:
        if part in _WEEKDAYS and positions:
            days += [f"{position}{part}" for position in positions]
            last_was_day = True
        elif (position := _read_number(part)) and abs(position) <= 5 and part[-1] in "+-":
            positions, last_was_day = [*([] if last_was_day else positions), position], False
        else:
            return None
    return f"BYDAY={','.join(days)}" if last_was_day else None


def _read_number(part: str) -> int:
    """Return a number such as `2+`, or `2-`, which counts from the end, as does LD, the last day; 0 if it is none."""
    digits = part.rstrip("+-")
    return -1 if part == "LD" else 0 if not digits.isdigit() else -int(digits) if part.endswith("-") else int(digits)


def _format_days(name: str, numbers: list[int], last: int) -> str | None:
    return f"{name}={','.join(map(str, numbers))}" if all(0 < abs(number) <= last for number in numbers) else None


_QUOTED_PROPERTY = re.compile(
    rf"^{_GROUP}([A-Z][A-Z0-9-]*)((?:;[^:\n]{{0,200}})?;(?:ENCODING=)?\"?QUOTED-PRINTABLE\"?(?:;[^:\n]{{0,200}})?):"
    r"((?:[^\n]*=[ \t]*\r?\n(?!END:VEVENT))*[^\n]*(?:\n[ \t][^\n]*)*)",
    re.MULTILINE | re.IGNORECASE,
)
"""Matches a property of vCalendar 1.0 in quoted-printable: its name, its parameters, and its value with soft breaks."""

_BASE64_TEXT = re.compile(
    rf"^{_GROUP}(SUMMARY|DESCRIPTION|LOCATION|CATEGORIES)"
    r"((?:;[^:\n]{0,200})?;(?:ENCODING=)?\"?BASE64\"?(?:;[^:\n]{0,200})?):"
    r"([^\n]*(?:\n[ \t][^\n]*)*)",
    re.MULTILINE | re.IGNORECASE,
)
"""Matches a text of vCalendar 1.0 in Base64: its name, its parameters, and its value with folds."""

_ENCODING_PARAMETER = re.compile(
    r";(?:(?:ENCODING=)?\"?(?:QUOTED-PRINTABLE|BASE64)\"?|CHARSET=[^;:]*)(?=;|$)", re.IGNORECASE
)


def _decode_values(event_text: str) -> str:
    r"""Return a VEVENT with the values in quoted-printable, and texts in Base64, decoded.

    The charset is the one that each names, or else UTF-8. A text that is no valid Base64 stays as it is.

    >>> _decode_values("SUMMARY;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9 =\r\nund=0D=0ATee\r\nUID:1")
    'SUMMARY:Café und\\nTee\r\nUID:1'
    """
    return _BASE64_TEXT.sub(_decode_base64, _QUOTED_PROPERTY.sub(_decode_property, event_text))


def _decode_property(quoted: re.Match[str]) -> str:
    name, parameters, value = quoted.groups()
    end = "\r" if value.endswith("\r") else ""
    value = re.sub(r"(?<![=\r])\r?\n[ \t]", "", value)  # a fold, and no soft break
    return _format_property(name, parameters, quopri.decodestring(value.encode("utf-8"))) + end


def _decode_base64(encoded: re.Match[str]) -> str:
    name, parameters, value = encoded.groups()
    try:
        content = b64decode("".join(value.split()), validate=True)
    except ValueError:
        return encoded[0]
    return _format_property(name, parameters, content) + ("\r" if value.endswith("\r") else "")


def _format_property(name: str, parameters: str, content: bytes) -> str:
    text = re.sub(r"\r\n?|\n", r"\\n", decode_text(content, parameters).rstrip("\r\n"))
    return f"{name}{_ENCODING_PARAMETER.sub('', parameters)}:{text}"
