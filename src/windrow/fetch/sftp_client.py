"""SFTP, version 3 (draft-ietf-secsh-filexfer-02), over a channel of asyncssh: listing and reading files.

asyncssh's own client does far more, but takes more processor time for small files than the encryption: then it limits
the rate, not the server.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import asyncssh

_INIT, _OPEN, _CLOSE, _READ, _FSTAT, _OPENDIR, _READDIR, _EXTENDED = 1, 3, 4, 5, 8, 11, 12, 200
_VERSION, _STATUS, _HANDLE, _DATA, _NAME, _ATTRS, _EXTENDED_REPLY = 2, 101, 102, 103, 104, 105, 201
_PROTOCOL_VERSION = 3
_LOST = -1  # the kind of a response that was lost with the connection

_MAX_PACKET = 4 * 2**20
"""Most bytes of a response; requests ask for far less."""

_MIN_BLOCK, _MAX_BLOCK = 32 * 2**10, 256 * 2**10
"""Bytes per read: every server supports the first number, OpenSSH at most the second."""

_LIMITS = b"limits@openssh.com"
_EOF = 1
_ERRORS: dict[int, Callable[[str], asyncssh.SFTPError]] = {
    2: asyncssh.SFTPNoSuchFile,
    3: asyncssh.SFTPPermissionDenied,
    5: asyncssh.SFTPBadMessage,
    6: asyncssh.SFTPNoConnection,
    7: asyncssh.SFTPConnectionLost,
    8: asyncssh.SFTPOpUnsupported,
    # codes of later versions, which servers send nevertheless
    10: asyncssh.SFTPNoSuchPath,
    19: asyncssh.SFTPNotADirectory,
    20: asyncssh.SFTPInvalidFilename,
    21: asyncssh.SFTPLinkLoop,
    24: asyncssh.SFTPFileIsADirectory,
}

Answer = tuple[int, memoryview]
"""The kind of a packet, and its content after the request number."""


class Attributes(NamedTuple):
    """A file's size in bytes, mode, and modification time (seconds since 1970); None for what the server leaves out."""

    size: int | None = None
    permissions: int | None = None
    mtime: int | None = None


class SftpClient(asyncssh.SSHClientSession[bytes]):
    """An SFTP session; many requests may be open at once.

    `block` is the size of a read in bytes. A refusal by the server is raised as an `asyncssh.SFTPError`.
    """

    def __init__(self) -> None:
        """Prepare a session; asyncssh calls `connection_made` with its channel."""
        self.block = _MIN_BLOCK
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._number = 0
        self._unsent: list[bytes] = []  # requests of this iteration of the event loop
        self._greeting: asyncio.Future[Answer] = self._loop.create_future()
        self._parts: list[bytes] = []  # of a packet that is not complete yet
        self._held = self._needed = 0  # their bytes, and how many are needed
        self._lost: Exception | None = None

    def connection_made(self, chan: Any) -> None:
        """Take the channel."""
        self.channel = chan

    def data_received(self, block: bytes, datatype: Any) -> None:
        """Collect received bytes, and set the future of each request whose response is complete."""
        del datatype
        if self._lost is not None:
            return
        self._parts.append(block)
        self._held += len(block)
        if self._held < self._needed:
            return
        block = b"".join(self._parts) if len(self._parts) > 1 else block
        view, offset, end = memoryview(block), 0, len(block)
        self._needed = 4
        while end - offset >= 4:
            size = int.from_bytes(view[offset : offset + 4], "big")
            if not 5 <= size <= _MAX_PACKET:
                self._fail(asyncssh.SFTPBadMessage(f"the server sent a packet of {size:,} bytes"))
                return
            if end - offset < size + 4:
                self._needed = size + 4
                break
            self._take(view[offset + 4 : offset + 4 + size])
            offset += size + 4
        self._parts, self._held = [block[offset:]] if offset < end else [], end - offset

    def _take(self, packet: memoryview) -> None:
        kind = packet[0]
        waiter = self._greeting if kind == _VERSION else self._waiting.pop(int.from_bytes(packet[1:5], "big"), None)
        if waiter is None:
            self._fail(asyncssh.SFTPBadMessage("the server answered a request that was not sent"))
        elif not waiter.done():
            waiter.set_result((kind, packet[1:] if kind == _VERSION else packet[5:]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all open requests."""
        self._fail(exc or asyncssh.SFTPConnectionLost("the server closed the connection"))

    def _fail(self, error: Exception) -> None:
        self._lost = self._lost or error
        waiting, self._waiting = [self._greeting, *self._waiting.values()], {}
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result((_LOST, memoryview(b"")))

    def _request(self, kind: int, content: bytes) -> asyncio.Future[Answer]:
        """Send a request; the future of its response never fails, so it need not be awaited."""
        self._number = number = (self._number + 1) & 0xFFFFFFFF
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        if self._lost is not None or self.channel.is_closing():
            waiter.set_result((_LOST, memoryview(b"")))
            return waiter
        self._waiting[number] = waiter
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(struct.pack(">IBI", len(content) + 5, kind, number) + content)
        return waiter

    def _send(self) -> None:
        """Send the requests of one iteration of the event loop together.

        asyncssh encrypts each write separately, with an empty packet before it: for a small file these would be six
        packets and six system calls, each of which may wake the server.
        """
        requests, self._unsent = b"".join(self._unsent), []
        if requests and not self.channel.is_closing():
            self.channel.write(requests)

    def _payload(self, answer: Answer, kind: int) -> memoryview:
        """Return the content of a response of kind `kind`; raise an `asyncssh.SFTPError` for any other response."""
        if answer[0] == kind:
            return answer[1]
        if answer[0] == _STATUS:
            code = int.from_bytes(answer[1][:4], "big")
            message = str(_text(answer[1], 4)[0], "utf-8", "replace") if len(answer[1]) > 4 else ""
            raise _ERRORS.get(code, asyncssh.SFTPFailure)(message or f"error {code}")
        if answer[0] == _LOST:
            raise self._lost or asyncssh.SFTPConnectionLost("the connection is closed")
        raise asyncssh.SFTPBadMessage(f"the server sent a packet of kind {answer[0]}, not {kind}")

    async def begin(self) -> None:
        """Negotiate the version and the size of reads."""
        self.channel.write(struct.pack(">IBI", 5, _INIT, _PROTOCOL_VERSION))
        greeting = self._payload(await self._greeting, _VERSION)
        version = int.from_bytes(greeting[:4], "big")
        if version != _PROTOCOL_VERSION:
            raise asyncssh.SFTPBadMessage(f"the server speaks version {version} of SFTP, not {_PROTOCOL_VERSION}")
        offset, extensions = 4, []
        while offset < len(greeting):
            name, offset = _text(greeting, offset)
            version_text, offset = _text(greeting, offset)
            extensions.append((bytes(name), bytes(version_text)))
        if (_LIMITS, b"1") in extensions:
            limits = self._payload(await self._request(_EXTENDED, _string(_LIMITS)), _EXTENDED_REPLY)
            self.block = min(max(int.from_bytes(limits[8:16], "big"), _MIN_BLOCK), _MAX_BLOCK)

    async def open(self, path: bytes) -> bytes:
        """Open a file for reading and return its handle."""
        return await self._handle(self._request(_OPEN, _string(path) + b"\0\0\0\1\0\0\0\0"))

    async def open_folder(self, path: bytes) -> bytes:
        """Open a folder for listing and return its handle."""
        return await self._handle(self._request(_OPENDIR, _string(path)))

    async def _handle(self, response: asyncio.Future[Answer]) -> bytes:
        """Return a handle in the form that requests need."""
        return _string(bytes(_text(self._payload(await response, _HANDLE), 0)[0]))

    def ask_read(self, handle: bytes, size: int, start: int) -> asyncio.Future[Answer]:
        """Request a block of a file; `read` returns it."""
        return self._request(_READ, handle + struct.pack(">QI", start, size))

    def read(self, answer: Answer) -> memoryview:
        """Return the bytes of a response to `ask_read`, none at the end of the file; raise the server's error."""
        if answer[0] == _STATUS and int.from_bytes(answer[1][:4], "big") == _EOF:
            return answer[1][:0]
        return _text(self._payload(answer, _DATA), 0)[0]

    async def stat(self, handle: bytes) -> Attributes:
        """Return the attributes of an open file."""
        return _attributes(self._payload(await self._request(_FSTAT, handle), _ATTRS), 0)[0]

    async def names(self, handle: bytes) -> list[tuple[bytes, Attributes]]:
        """Return the next names of a folder with their attributes; an empty list at its end."""
        answer = await self._request(_READDIR, handle)
        if answer[0] == _STATUS and int.from_bytes(answer[1][:4], "big") == _EOF:
            return []
        packet = self._payload(answer, _NAME)
        offset, names = 4, []
        for _ in range(int.from_bytes(packet[:4], "big")):
            name, offset = _text(packet, offset)
            _, offset = _text(packet, offset)  # the line for people
            attributes, offset = _attributes(packet, offset)
            names.append((bytes(name), attributes))
        return names

    def close(self, handle: bytes) -> None:
        """Close a file or a folder without waiting for the response."""
        self._request(_CLOSE, handle)

    def exit(self) -> None:
        """End the session."""
        self._send()
        self.channel.close()


def _string(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def _text(packet: memoryview, offset: int) -> tuple[memoryview, int]:
    """Return the string at an offset of a packet, and the offset of its end."""
    end = offset + 4 + int.from_bytes(packet[offset : offset + 4], "big")
    if end > len(packet):
        raise asyncssh.SFTPBadMessage("the packet ends too early")
    return packet[offset + 4 : end], end


def _attributes(packet: memoryview, offset: int) -> tuple[Attributes, int]:
    """Return the attributes at an offset of a packet, and the offset of their end."""
    try:
        (flags,) = struct.unpack_from(">I", packet, offset)
        offset += 4
        size = permissions = modified = None
        if flags & 1:
            (size,) = struct.unpack_from(">Q", packet, offset)
            offset += 8
        offset += 8 if flags & 2 else 0  # user and group
        if flags & 4:
            (permissions,) = struct.unpack_from(">I", packet, offset)
            offset += 4
        if flags & 8:
            _, modified = struct.unpack_from(">II", packet, offset)
            offset += 8
        if flags & 0x80000000:
            (count,) = struct.unpack_from(">I", packet, offset)
            offset += 4
            for _ in range(2 * count):
                _, offset = _text(packet, offset)
    except struct.error as error:
        raise asyncssh.SFTPBadMessage("the attributes end too early") from error
    return Attributes(size, permissions, modified), offset
