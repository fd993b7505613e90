"""The heads of HTTP requests and responses as they are kept, and what their fields say."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import datetime

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import HttpProxy, loopback
from windrow.fetch.path import at, shown
from windrow.fetch.secret import reveal
from windrow.formats.answer import AnswerHead
from windrow.formats.moment import moment
from windrow.model import Site
from windrow.reasons import Reason

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(?:(\d{1,18})|\*)", re.ASCII)
_LONGEST = 86_400.0  # seconds that a server may ask us to stay away
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})
_FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length)[ \t]*:", re.IGNORECASE)
_STATUS: dict[int, tuple[type[TransportError], Reason]] = {
    401: (TerminalFailure, Reason.WRONG_PASSWORD),
    403: (TerminalFailure, Reason.PERMISSION_DENIED),
    404: (TerminalFailure, Reason.NOT_FOUND),
    407: (TerminalFailure, Reason.WRONG_PASSWORD),
    408: (TransientFailure, Reason.TIMEOUT),
    410: (TerminalFailure, Reason.GONE),
    425: (TransientFailure, Reason.SERVER_ERROR),
    429: (TransientFailure, Reason.RATE_LIMITED),
    451: (TerminalFailure, Reason.PERMISSION_DENIED),
}


def field_lines(fields: Mapping[str, str]) -> str:
    r"""Spell fields; a value that would end its line is left out.

    >>> field_lines({"If-None-Match": '"x"', "Cookie": "a\r\nb"})
    'If-None-Match: "x"\r\n'
    """
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value.isprintable())


def public_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return fields without those that hold a secret: as they are kept."""
    return {name: value for name, value in fields.items() if name.lower() not in _SECRET}


def kept_head(head: AnswerHead) -> bytes:
    """Return a head as it is kept: as it came, unless the body's framing is gone or its lines end oddly."""
    text = head.text
    if text.count(b"\n") != text.count(b"\r\n"):
        text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if head.chunked:  # Since the chunks are gone, both would lie; a length beside chunks never counted.
        text = _FRAMING.sub(lambda found: b"\r\nx-orig-" + found[1].lower() + b":", text)
    return text


def total(content_range: str, start: int) -> tuple[bool, int | None]:
    """Read Content-Range (RFC 9110, section 14.4): whether it begins at `start`, and the whole size.

    >>> total("bytes 100-199/200", 100), total("bytes 0-199/200", 100), total("", 100)
    ((True, 200), (False, 200), (False, None))
    """
    found = _RANGE.fullmatch(content_range.strip())
    if not found:
        return False, None
    whole = int(found[3]) if found[3] else None
    fits = int(found[1]) == start and (whole is None or int(found[2]) == whole - 1)
    return fits, whole


def span(content_range: str) -> tuple[int, int] | tuple[None, None]:
    """Read the first and the last byte that Content-Range names (RFC 9110, section 14.4).

    >>> span("bytes 100-199/200"), span("bytes */200")
    ((100, 199), (None, None))
    """
    found = _RANGE.fullmatch(content_range.strip())
    return (int(found[1]), int(found[2])) if found else (None, None)


def refusal(status: int, reason: str, where: str, *, target: str, after: str, now: datetime) -> TransportError:
    """Return the error that a status other than success amounts to.

    `target` is its Location and `after` its Retry-After, empty where it has none.
    """
    text = f"{where}: {status} {shown(reason)}".rstrip()
    if 300 <= status < 400 and target:
        return TerminalFailure(f"{text}: points to {shown(target, 1000)}", Reason.REDIRECTED)
    wait = pause(after, now)
    if known := _STATUS.get(status):
        kind, why = known
        return kind(text, why, wait=wait)
    if status >= 500:
        return TransientFailure(text, Reason.SERVER_ERROR, wait=wait)
    return TerminalFailure(text, Reason.PROTOCOL_ERROR)


def pause(retry_after: str, now: datetime) -> float | None:
    """Read Retry-After (RFC 9110, section 10.2.3) as seconds from now, a day at most.

    >>> from datetime import UTC
    >>> pause("120", datetime.now(UTC)), pause("", datetime.now(UTC))
    (120.0, None)
    >>> pause("Sat, 21 Nov 2026 12:01:00 GMT", datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
    60.0
    """
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), _LONGEST)
    until = moment(text)
    return min(max((until - now).total_seconds(), 0.0), _LONGEST) if until else None


def target_prefix(site: Site) -> str:
    """Return what a request line has before the path: a proxy is asked for whole addresses (RFC 9112, section 3.2.2).

    >>> target_prefix(Site("http", "a.example", proxy="http://p")), target_prefix(Site("https", "a.example", proxy="http://p"))
    ('http://a.example', '')
    """
    return site.origin if site.proxy and site.scheme == "http" else ""


def fields_of(site: Site) -> dict[str, str]:
    """Return the fields that all requests have; a password goes out encrypted or not at all."""
    fields = {"User-Agent": site.agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    if target_prefix(site) and (authorization := HttpProxy.of(site).authorization):
        fields["Proxy-Authorization"] = authorization
    if not site.username:
        return fields
    if site.scheme != "https" and (site.proxy or not loopback(site.host)):
        raise TerminalFailure(
            f"{at(site)}: a password is sent over https only", Reason.POLICY_DENIED, hint="use scheme https"
        )
    word = f"{site.username}:{reveal(site.secret) if site.secret else ''}"
    return fields | {"Authorization": f"Basic {base64.b64encode(word.encode()).decode()}"}
