"""What is refused before any page is made, and the fields that every response has."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windrow.app.listening import ProxyHeader

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The names by which a browser on this machine reaches the web view."""

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of pages: no script, no inline style, and nothing from elsewhere."""

LIVE_POLICY = f"{PAGE_POLICY}; script-src 'self'; connect-src 'self'"
"""The Content-Security-Policy of a page with the progress of a session under way, which a script of ours updates."""

CAPTURE_POLICY = "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of captures, which strangers wrote: nothing of them runs or loads anything."""

_FIELDS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache, private",
}
_NAME_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::(\d+))?", re.IGNORECASE)


def host_name(field: str) -> str:
    """Return the name in a Host field, in lower case and without the port; "" if the field is not valid.

    >>> host_name("Harvest.Example:8470"), host_name("[::1]:80"), host_name("a.example:80:80")
    ('harvest.example', '[::1]', '')
    """
    match = _NAME_AND_PORT.fullmatch(field.strip())
    return match[1].lower() if match else ""


def stated_token(field: str) -> str:
    """Return the token in an Authorization field: a bearer token, or the password of a browser's login.

    >>> stated_token("Bearer abc"), stated_token("Basic " + base64.b64encode(b"me:abc").decode())
    ('abc', 'abc')
    >>> stated_token("Basic ?"), stated_token("")
    ('', '')
    """
    scheme, _, value = field.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2] if scheme.lower() == "basic" else ""
    except (binascii.Error, ValueError):
        return ""


class Guard:
    """An ASGI application that refuses what may not reach `application`, and adds security fields to all responses.

    It refuses all methods but GET and HEAD, a Host that is not in `hosts` (so that no page of another site can read
    the workspace through a name that it makes point here), and, if there is a `token` or a `header` of a proxy,
    requests that have neither.
    """

    def __init__(
        self, application: ASGIApp, hosts: Iterable[str], token: str = "", header: ProxyHeader | None = None
    ) -> None:
        self._application = application
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token
        self._header = header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket: closing it before it is accepted refuses it
            await send({"type": "websocket.close"})
            return

        async def send_with_fields(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _FIELDS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._refuse(scope) or self._application)(scope, receive, send_with_fields)

    def _refuse(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("the web view only reads: use GET or HEAD\n", 405, {"allow": "GET, HEAD"})
        if len(headers.getlist("host")) != 1 or host_name(headers["host"]) not in self._hosts:
            return PlainTextResponse("this name is not one of the web view's: see windrow serve --help\n", 421)
        if (self._token or self._header) and not (self._is_from_proxy(scope, headers) or self._has_token(headers)):
            challenge = {"www-authenticate": 'Basic realm="windrow", charset="UTF-8"'}
            return PlainTextResponse("the token is needed: as a bearer token, or as the password\n", 401, challenge)
        return None

    def _has_token(self, headers: Headers) -> bool:
        stated = stated_token(headers.get("authorization", ""))
        return bool(self._token) and hmac.compare_digest(stated.encode(), self._token.encode())

    def _is_from_proxy(self, scope: Scope, headers: Headers) -> bool:
        """Return whether the proxy itself says, in its header field, that it let the user in."""
        header, peer = self._header, scope.get("client")
        if header is None or not peer or not header.is_from(peer[0]):
            return False
        values = headers.getlist(header.name)
        return len(values) == 1 and bool(values[0]) and header.value in {"", values[0]}
