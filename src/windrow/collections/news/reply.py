"""What an interface answers: JSON, or why it is none; and plain texts from what it says in HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from math import isfinite
from typing import Any, NamedTuple

from windrow.reasons import Reason

LARGEST = 64 << 20
"""Bytes of an answer that are read as JSON."""

_STATUS = {
    401: Reason.PERMISSION_DENIED, 403: Reason.PERMISSION_DENIED, 404: Reason.NOT_FOUND, 410: Reason.GONE,
    429: Reason.RATE_LIMITED,
}  # fmt: skip
_SILENT = re.compile(r"(?is)<(script|style|template)\b[^<>]*+>.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")


class RefusedReply(NamedTuple):
    """Why an answer is of no use; `code` is the interface's own word for it."""

    reason: Reason
    message: str
    code: str = ""


def reply(status: int, fields: Mapping[str, str], body: bytes) -> Any:
    """Return an answer's JSON, taken out of an envelope; a `RefusedReply` where it is none, or tells of an error.

    >>> reply(200, {}, b"<html>Are you a robot?").reason
    <Reason.BOT_WALL: 'bot_wall'>
    >>> reply(200, {}, b'{"body": {"code": "rest_no_route"}, "status": 404, "headers": {}}')
    RefusedReply(reason=<Reason.NOT_FOUND: 'not_found'>, message='status 404: rest_no_route', code='rest_no_route')
    """
    if len(body) > LARGEST:
        return RefusedReply(Reason.TOO_LARGE, f"{len(body)} bytes, at most {LARGEST} are read")
    start = body[:2048].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"<") or (not start.startswith((b"{", b"[")) and "html" in fields.get("content-type", "")):
        return RefusedReply(Reason.BOT_WALL, f"status {status}: HTML where JSON is due")
    if not start:
        return RefusedReply(_STATUS.get(status, Reason.TRUNCATED), f"status {status}: an empty answer")
    told = _parsed(body)
    if isinstance(told, dict) and {"body", "status", "headers"} <= told.keys() and isinstance(told["status"], int):
        status, told = told["status"], told["body"]
    if status >= 400:
        code = str(told.get("code", ""))[:100] if isinstance(told, dict) else ""
        reason = _STATUS.get(status, Reason.PROTOCOL_ERROR)
        return RefusedReply(reason, f"status {status}: {code}".rstrip(": "), code)
    return told


def _parsed(body: bytes) -> Any:
    try:
        told = json.loads(body.decode("utf-8-sig"), parse_constant=_number, parse_float=_number)
    except UnicodeDecodeError:
        return RefusedReply(Reason.WRONG_ENCODING, "no UTF-8")
    except (ValueError, RecursionError) as error:
        return RefusedReply(Reason.NOT_WELL_FORMED, str(error)[:300])
    if _HALVES.search(body):  # half of a surrogate pair can be written nowhere
        return json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
    return told


def _number(told: str) -> float | None:
    """Return a number; None for one that JSON cannot say, such as NaN, which some servers write all the same."""
    found = float(told)
    return found if isfinite(found) else None


def plain(html: Any) -> str:
    """Return a text that is written as HTML: without tags and scripts, its entities decoded once.

    >>> plain("<i>Crabs</i> &#038; &#8220;quotes&#8221;<script>x()</script> &amp;lt;")
    'Crabs & \u201cquotes\u201d &lt;'
    """
    text = html if isinstance(html, str) else ""
    if "<" in text:
        text = _TAG.sub("", _SILENT.sub(" ", text))
    return " ".join(unescape(text).encode("utf-8", "replace").decode().split())


def texts(value: Any) -> list[str]:
    """Return the texts of a value that may be one, or a list or an object of them."""
    if isinstance(value, str):
        return [value] if value else []
    several = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in several if isinstance(one, str) and one]
