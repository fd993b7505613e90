"""Serve the web view over HTTP until the process is asked to stop."""

from __future__ import annotations

import asyncio
import ctypes
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from windrow.app import Windrow
from windrow.app.listening import Address
from windrow.caps import WEB_STREAMS
from windrow.web.application import app

_ARENAS = -8
"""The number of mallopt for arenas of memory: if each thread has its own, each keeps what its largest page took."""
_CONNECTIONS = WEB_STREAMS.number + 200
"""The number of connections that are served at a time; more are answered with 503. Streams of events leave 200."""
_KEPT_SECONDS, _STOP_SECONDS = 15, 5
_REQUEST_SECONDS = 10
"""The seconds within which a client must send a whole request, from its connection or the end of `_KEPT_SECONDS` on."""


class ServedConnection(H11Protocol):
    """A connection that is closed if no whole request comes in time, so that idle clients do not keep others out."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_request(_REQUEST_SECONDS)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._await_request(_KEPT_SECONDS + _REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _await_request(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def serve(workspace: Windrow, address: Address, listener: socket.socket, stops: Sequence[int]) -> None:
    """Serve at a socket that listens until SIGINT or SIGTERM; `stops` are those of them that came before."""

    def is_stopping() -> bool:
        return server.should_exit

    hosts = {address.name, *filter(None, [address.proxy])}
    view = app(
        workspace, hosts=hosts, token=address.token, behind_tls=bool(address.proxy), header=address.header,
        is_stopping=is_stopping,
    )  # fmt: skip
    config = uvicorn.Config(
        view, http=ServedConnection, ws="none", lifespan="off", log_level="warning", access_log=False,
        server_header=False, proxy_headers=False, limit_concurrency=_CONNECTIONS, timeout_keep_alive=_KEPT_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS, ssl_certfile=address.certificate, ssl_keyfile=address.key,
    )  # fmt: skip
    server = uvicorn.Server(config)
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises the signal again after it has stopped
        signal.signal(number, server.handle_exit)
    with suppress(OSError, AttributeError):  # another C library has no such setting
        ctypes.CDLL(None).mallopt(_ARENAS, 1)
    if not stops:
        server.run(sockets=[listener])
