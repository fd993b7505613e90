"""Serve the web view over HTTP until the process is asked to stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Sequence

import uvicorn

from windrow.app import Windrow
from windrow.app.listening import Address
from windrow.caps import WEB_STREAMS
from windrow.web.application import app

_CONNECTIONS = WEB_STREAMS.number + 200
"""The number of connections that are served at a time; more are answered with 503. Streams of events leave 200."""
_KEPT_SECONDS, _STOP_SECONDS = 15, 5


def serve(workspace: Windrow, address: Address, listener: socket.socket, stops: Sequence[int]) -> None:
    """Serve at a socket that listens until SIGINT or SIGTERM; `stops` are those of them that came before."""

    def is_stopping() -> bool:
        return server.should_exit

    hosts = {address.name, *filter(None, [address.proxy])}
    view = app(workspace, hosts=hosts, token=address.token, behind_tls=bool(address.proxy), is_stopping=is_stopping)
    config = uvicorn.Config(
        view, http="h11", ws="none", lifespan="off", log_level="warning", access_log=False, server_header=False,
        proxy_headers=False, limit_concurrency=_CONNECTIONS, timeout_keep_alive=_KEPT_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS, ssl_certfile=address.certificate, ssl_keyfile=address.key,
    )  # fmt: skip
    server = uvicorn.Server(config)
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises the signal again after it has stopped
        signal.signal(number, server.handle_exit)
    if not stops:
        server.run(sockets=[listener])
