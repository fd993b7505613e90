"""The engine's end of a pipe to a process that may have been taken over.

Reading never waits for the process, and sending waits for it only for a limited time.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Iterator
from multiprocessing.connection import Connection

from windrow.engine.plain_values import MessageRefused

_LENGTH, _LONG_LENGTH = struct.Struct("!i"), struct.Struct("!Q")  # as `Connection` writes them before a message
_IS_LONG = -1  # the first length of a message whose real length follows as _LONG_LENGTH
_READ_BYTES = 1 << 16
_PAUSE = 0.1  # seconds

SEND_SECONDS = 10.0
"""The longest wait for a process to read a message, in seconds. Time when the machine is asleep hardly counts."""


class MessagePipe:
    """One end of a pipe whose other end is a `Connection`. The function `wait` of multiprocessing accepts it too."""

    def __init__(self, connection: Connection, max_bytes: int) -> None:
        """Messages of more than `max_bytes` bytes are refused."""
        self.connection = connection
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._max_bytes = max_bytes
        self._unread = bytearray()

    def fileno(self) -> int:
        """Return the descriptor that can be read when a message arrives."""
        return self._socket.fileno()

    @property
    def has_part(self) -> bool:
        """Whether a part of a message has arrived, and the remainder has not."""
        return bool(self._unread)

    def receive(self) -> Iterator[bytes]:
        """Read up to _READ_BYTES bytes of what has arrived, and yield the messages that are complete, without waiting.

        Raises EOFError or OSError if the other end is closed, and MessageRefused if the length of a message
        is negative or too large.
        """
        try:
            arrived = self._socket.recv(_READ_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not arrived:
            raise EOFError
        self._unread += arrived
        while (message := self._take_message()) is not None:
            yield message

    def _take_message(self) -> bytes | None:
        if len(self._unread) < _LENGTH.size:
            return None
        (length,), start = _LENGTH.unpack_from(self._unread), _LENGTH.size
        if length == _IS_LONG:
            start += _LONG_LENGTH.size
            if len(self._unread) < start:
                return None
            (length,) = _LONG_LENGTH.unpack_from(self._unread, _LENGTH.size)
        if not 0 <= length <= self._max_bytes:
            raise MessageRefused(f"a process sent a message of {length:,} bytes; {self._max_bytes:,} are allowed")
        if len(self._unread) < start + length:
            return None
        message = bytes(memoryview(self._unread)[start : start + length])
        del self._unread[: start + length]
        return message

    def send(self, message: bytes) -> None:
        """Send a message. Raises TimeoutError if the process does not read it, and OSError if the other end is closed.

        After an error, a part of the message may have been sent, so the process must be ended.
        """
        is_long = len(message) >> 31
        head = _LENGTH.pack(_IS_LONG) + _LONG_LENGTH.pack(len(message)) if is_long else _LENGTH.pack(len(message))
        unsent, pauses = memoryview(head + message), int(SEND_SECONDS / _PAUSE)
        room = select.poll()
        room.register(self._socket, select.POLLOUT)
        while unsent:
            try:
                unsent = unsent[self._socket.send(unsent, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                if not pauses:
                    raise TimeoutError("a process did not read its message") from None
                pauses -= 1
                room.poll(_PAUSE * 1000)

    def close(self) -> None:
        """Close this end, so that the process sees the end of the pipe."""
        self._socket.close()
        self.connection.close()
