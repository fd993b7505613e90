"""The heads of HTTP requests and responses as they are kept, and what their fields say."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.formats.moment import moment
from windrow.model import Site
from windrow.reasons import Reason
from windrow.transports.dial import HttpProxy, loopback
from windrow.transports.path import at, shown
from windrow.transports.secret import reveal

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(?:(\d{1,18})|\*)", re.ASCII)
_LONGEST = 86_400.0  # seconds that a server may ask us to stay away
_SECRET = frozenset({b"authorization", b"proxy-authorization", b"cookie"})
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


def response_head(version: tuple[int, int], status: int, reason: str, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    r"""Spell a response's head as it came, for a body that is kept without its chunks.

    Since the chunks are gone, Transfer-Encoding would lie: it is kept as `x-orig-transfer-encoding`.

    >>> response_head((1, 1), 200, "OK", [(b"ETag", b'"x"'), (b"Transfer-Encoding", b"chunked")])
    b'HTTP/1.1 200 OK\r\nETag: "x"\r\nx-orig-transfer-encoding: chunked\r\n\r\n'
    """
    lines = [b"HTTP/%d.%d %d %s" % (*version, status, reason.encode("latin-1", "replace"))]
    for name, value in fields:
        kept = b"x-orig-transfer-encoding" if name.lower() == b"transfer-encoding" else name
        lines.append(kept + b": " + value)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def request_head(target: str, fields: Mapping[str, str], method: str = "GET") -> bytes:
    r"""Spell a request's head as it was sent, but for what is secret in it.

    >>> request_head("/a?b", {"Host": "h", "Authorization": "Basic eDp5"})
    b'GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n'
    """
    lines = [f"{method} {target} HTTP/1.1".encode()]
    for name, value in fields.items():
        spelt = name.encode()
        if spelt.lower() not in _SECRET:
            lines.append(spelt + b": " + value.encode("utf-8", "surrogateescape"))
    return b"\r\n".join(lines) + b"\r\n\r\n"


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
