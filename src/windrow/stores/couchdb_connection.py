"""An HTTP connection to a CouchDB server, whose answers are limited in bytes and in time."""

from __future__ import annotations

import http.client
import io
import select
import ssl
from collections.abc import Mapping
from functools import partial
from socket import socket
from time import monotonic
from typing import Any, NamedTuple

from windrow.caps import COUCHDB_ANSWER_BYTES, COUCHDB_ANSWER_SECONDS
from windrow.errors import StoreError, StoreUnreachable
from windrow.stores.time_limit import limit_wait, may_wait

_SILENCE_SECONDS = 60.0  # for which a server may send nothing
_STEP_SECONDS = 0.5  # of a wait for bytes, after which is checked whether to wait further


class AnswerTooLarge(StoreError):
    """An answer of a CouchDB server has more bytes than may be read; fewer documents at a time may be requested."""

    hint = "check with another client what the address in events.documents answers, then: windrow run"


class ServerAddress(NamedTuple):
    """The host and port of a server (None: the usual port), and whether the connection is encrypted."""

    host: str
    port: int | None
    secure: bool


class CouchConnection:
    """A connection to a server, which is opened when a request is sent, and stays open for the next one."""

    def __init__(self, server: ServerAddress, headers: Mapping[str, str]) -> None:
        self._server = server
        self._headers = headers
        self._connection: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Send a request and return the status and the content of its answer.

        Raises AnswerTooLarge, StoreUnreachable if the whole answer takes too long or the run is stopped, and OSError or
        `http.client.HTTPException` if the connection fails or the server sends nothing for a minute.
        """
        if not may_wait():
            raise self._make_stop_error(method, path)
        seconds = limit_wait(COUCHDB_ANSWER_SECONDS.number)
        deadline = monotonic() + seconds
        connection = self._open(min(seconds, _SILENCE_SECONDS))
        # mypy knows it as a class
        connection.response_class = partial(_TimedResponse, deadline=deadline)  # type: ignore[assignment]
        try:
            connection.request(method, path, body, dict(self._headers))
            with connection.getresponse() as response:
                # One byte more, by which an answer above the limit is recognized.
                content = response.read(COUCHDB_ANSWER_BYTES.number + 1)
        except _StoppedError:
            self.close()
            raise self._make_stop_error(method, path) from None
        except _TooSlowError:
            self.close()
            message = f"{self._server.host}: {method} {path[:200]}: no whole answer within {seconds:.0f} seconds"
            raise StoreUnreachable(message, hint="check the server in events.documents, then: windrow run") from None
        if len(content) > COUCHDB_ANSWER_BYTES.number:
            self.close()  # the remainder is not read
            raise AnswerTooLarge(f"{self._server.host}: {method} {path[:200]}: {COUCHDB_ANSWER_BYTES.rule}")
        if response.length:  # `read` with a size does not say that the connection ended early
            raise http.client.IncompleteRead(content, response.length)
        return response.status, content

    def _make_stop_error(self, method: str, path: str) -> StoreUnreachable:
        message = f"{self._server.host}: {method} {path[:200]}: its answer is not awaited, since the run is stopped"
        return StoreUnreachable(message, hint="windrow run continues")

    def _open(self, timeout: float) -> http.client.HTTPConnection:
        host, port, secure = self._server
        if self._connection is None and secure:
            context = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        elif self._connection is None:
            self._connection = http.client.HTTPConnection(host, port, timeout=timeout)
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(timeout)
        return self._connection

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _TooSlowError(Exception):
    """The time for an answer is over. It is not an OSError, after which a request is sent again."""


class _StoppedError(_TooSlowError):
    """The run was stopped during an answer."""


class _TimedResponse(http.client.HTTPResponse):
    """A response of which every byte, also of its head, has to arrive before a deadline."""

    def __init__(self, sock: socket, *arguments: Any, deadline: float, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp: Any = io.BufferedReader(_TimedReader(self.fp.detach(), sock, deadline))


class _TimedReader(io.RawIOBase):
    """The bytes of a socket as they arrive: each wait ends at the deadline, after which `_TooSlowError` is raised."""

    def __init__(self, raw: io.RawIOBase, sock: socket, deadline: float) -> None:
        super().__init__()
        self._raw, self._socket, self._deadline = raw, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._await_bytes()
        # The bytes of a TLS record may still be incomplete.
        self._socket.settimeout(max(0.1, min(self._deadline - monotonic(), _SILENCE_SECONDS)))
        try:
            return self._raw.readinto(buffer)
        except TimeoutError:
            if monotonic() >= self._deadline:
                raise _TooSlowError from None
            raise

    def _await_bytes(self) -> None:
        """Wait for bytes in short steps, since the run may be stopped."""
        silence_end = monotonic() + _SILENCE_SECONDS
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while True:
            if not may_wait():
                raise _StoppedError
            if monotonic() >= self._deadline:
                raise _TooSlowError
            if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
                return
            milliseconds = 1000 * min(_STEP_SECONDS, max(0.0, self._deadline - monotonic()))
            if poller.poll(milliseconds):
                return
            if monotonic() >= silence_end:
                raise TimeoutError("the server sends nothing")

    def close(self) -> None:
        self._raw.close()
        super().close()
