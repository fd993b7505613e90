"""Serve the web view over HTTP until the process is asked to stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from windrow.app import Windrow
from windrow.caps import WEB_STREAMS
from windrow.errors import MissingExtra, UsageError
from windrow.fetch.politeness.guard import is_loopback

_CONNECTIONS = WEB_STREAMS.number + 200
"""The number of connections that are served at a time; more are answered with 503. Streams of events leave 200."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KEPT_SECONDS, _STOP_SECONDS = 15, 5


class Address(NamedTuple):
    """Where the web view listens, and how it is protected beyond this machine.

    `proxy` is the name by which a proxy with TLS is reached, `certificate` and `key` are files for TLS of our own.
    """

    host: str
    port: int
    token: str = ""
    proxy: str = ""
    certificate: Path | None = None
    key: Path | None = None

    def require_safe(self) -> None:
        """Raise UsageError if others could reach the address without a token or without encryption."""
        if is_loopback(self.host) and not self.proxy:
            return
        if not self.token:
            message = f"{self.proxy or self.host} can be reached by others, so a token is needed"
            raise UsageError(message, hint="windrow serve --token-file FILE")
        if not self.certificate and not self.proxy:
            raise UsageError(
                f"{self.host} can be reached by others, so TLS is needed, or a proxy that has it",
                hint="windrow serve --certificate FILE --key FILE, or --proxy NAME",
            )


_LIBRARIES = ("jinja2", "markdown_it", "starlette", "uvicorn")


def serve(workspace: Windrow, address: Address, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `announce` is called with the address of the first page once it can be opened.

    It can be opened before the libraries are loaded: the first request waits for them. Raise UsageError if the address
    is not safe, or cannot be used, and MissingExtra if a library is not installed.
    """
    address.require_safe()
    if not all(map(find_spec, _LIBRARIES)):
        raise MissingExtra("the web view", "web")
    with closing(_listen(address)) as listener:
        stops: list[int] = []
        for number in _SIGNALS:
            signal.signal(number, lambda received, _frame: stops.append(received))
        port = listener.getsockname()[1]
        name = f"[{address.host}]" if ":" in address.host else address.host
        scheme = "https" if address.certificate else "http"
        announce(f"{scheme}://{name}:{port}/")
        import uvicorn  # noqa: PLC0415 the address can be used meanwhile

        from windrow.web.application import app  # noqa: PLC0415 the same

        def is_stopping() -> bool:
            return server.should_exit

        hosts = {name, *filter(None, [address.proxy])}
        view = app(workspace, hosts=hosts, token=address.token, is_stopping=is_stopping)
        config = uvicorn.Config(
            view, http="h11", ws="none", lifespan="off", log_level="warning", access_log=False, server_header=False,
            proxy_headers=False, limit_concurrency=_CONNECTIONS, timeout_keep_alive=_KEPT_SECONDS,
            timeout_graceful_shutdown=_STOP_SECONDS, ssl_certfile=address.certificate, ssl_keyfile=address.key,
        )  # fmt: skip
        server = uvicorn.Server(config)
        for number in _SIGNALS:  # uvicorn raises the signal again after it has stopped
            signal.signal(number, server.handle_exit)
        if not stops:
            server.run(sockets=[listener])


def _listen(address: Address) -> socket.socket:
    """Return a socket that connections can be made to; raise UsageError if the address cannot be used."""
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=128)
    except OSError as error:
        message = f"{address.host} port {address.port} cannot be used: {error.strerror or error}"
        raise UsageError(message, hint="windrow serve --port 0 takes a free port") from error
