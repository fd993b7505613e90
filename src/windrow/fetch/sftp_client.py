"""SFTP, version 3 (draft-ietf-secsh-filexfer-02), over a channel of asyncssh: listing folders and reading files.

asyncssh's own client can do more, but for small files it takes more CPU time than the encryption, and would limit the
transfer rate.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import asyncssh

# The kinds of packets: requests in the first line, responses in the second.
_INIT, _OPEN, _CLOSE, _READ, _FSTAT, _OPENDIR, _READDIR, _EXTENDED = 1, 3, 4, 5, 8, 11, 12, 200
_VERSION, _STATUS, _HANDLE, _DATA, _NAME, _ATTRS, _EXTENDED_REPLY = 2, 101, 102, 103, 104, 105, 201
_PROTOCOL_VERSION = 3
_LOST_KIND = -1  # our own kind for a response that was lost with the connection

_MAX_PACKET_SIZE = 4 * 2**20  # the maximum number of bytes of a response; requests need far less

_MIN_BLOCK, _MAX_BLOCK = 32 * 2**10, 256 * 2**10
"""The limits of `block_size`. Every server supports the smaller number; the larger one is the maximum of OpenSSH."""

_LIMITS_EXTENSION = b"limits@openssh.com"
_EOF_STATUS = 1  # the status code for the end of a file or folder
_ERRORS_BY_STATUS: dict[int, Callable[[str], asyncssh.SFTPError]] = {
    2: asyncssh.SFTPNoSuchFile,
    3: asyncssh.SFTPPermissionDenied,
    5: asyncssh.SFTPBadMessage,
    6: asyncssh.SFTPNoConnection,
    7: asyncssh.SFTPConnectionLost,
    8: asyncssh.SFTPOpUnsupported,
    # status codes of later versions of SFTP, which some servers send all the same
    10: asyncssh.SFTPNoSuchPath,
    19: asyncssh.SFTPNotADirectory,
    20: asyncssh.SFTPInvalidFilename,
    21: asyncssh.SFTPLinkLoop,
    24: asyncssh.SFTPFileIsADirectory,
}

Response = tuple[int, memoryview]
"""The kind of a packet, and its content after the number of the request. The greeting has no such number."""


class Attributes(NamedTuple):
    """A file's size in bytes, mode, and modification time (UNIX time). What the server leaves out is None."""

    size: int | None = None
    permissions: int | None = None
    mtime: int | None = None


class SftpClient(asyncssh.SSHClientSession[bytes]):
    """An SFTP session. Many requests may be sent before their responses arrive.

    `block_size` is the number of bytes per read. If the server refuses a request, an `asyncssh.SFTPError` is raised.
    """

    def __init__(self) -> None:
        """Prepare a session. Then asyncssh calls `connection_made` with its channel."""
        self.block_size = _MIN_BLOCK
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Response]] = {}
        self._number = 0  # the number of the last request
        self._unsent: list[bytes] = []  # requests of this iteration of the event loop
        self._greeting: asyncio.Future[Response] = self._loop.create_future()
        self._parts: list[bytes] = []  # the received blocks of an incomplete packet
        self._held_size = self._needed_size = 0  # bytes in these blocks, and bytes that the packet has
        self._lost: Exception | None = None

    def connection_made(self, chan: Any) -> None:
        """Store the channel. It is called by asyncssh."""
        self.channel = chan

    def data_received(self, block: bytes, datatype: Any) -> None:
        """Collect received bytes, and set the future of each request whose response is complete."""
        del datatype
        if self._lost is not None:
            return
        self._parts.append(block)
        self._held_size += len(block)
        if self._held_size < self._needed_size:
            return
        block = b"".join(self._parts) if len(self._parts) > 1 else block
        block_view, offset, block_end = memoryview(block), 0, len(block)
        self._needed_size = 4
        while block_end - offset >= 4:
            packet_size = int.from_bytes(block_view[offset : offset + 4], "big")
            if not 5 <= packet_size <= _MAX_PACKET_SIZE:
                self._fail(asyncssh.SFTPBadMessage(f"a packet has {packet_size:,} bytes, not 5 to {_MAX_PACKET_SIZE}"))
                return
            if block_end - offset < packet_size + 4:
                self._needed_size = packet_size + 4
                break
            self._take(block_view[offset + 4 : offset + 4 + packet_size])
            offset += packet_size + 4
        self._parts, self._held_size = [block[offset:]] if offset < block_end else [], block_end - offset

    def _take(self, packet: memoryview) -> None:
        kind = packet[0]
        waiter = self._greeting if kind == _VERSION else self._waiting.pop(int.from_bytes(packet[1:5], "big"), None)
        if waiter is None:
            self._fail(asyncssh.SFTPBadMessage("the server sent a response to a request that was not sent"))
        elif not waiter.done():
            waiter.set_result((kind, packet[1:] if kind == _VERSION else packet[5:]))

    def connection_lost(self, exc: Exception | None) -> None:
        """End all open requests with an error. It is called by asyncssh."""
        self._fail(exc or asyncssh.SFTPConnectionLost("the server closed the connection"))

    def _fail(self, error: Exception) -> None:
        """End the session with an error: every open request gets a response of kind `_LOST_KIND`."""
        self._lost = self._lost or error
        waiting, self._waiting = [self._greeting, *self._waiting.values()], {}
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result((_LOST_KIND, memoryview(b"")))

    def _request(self, kind: int, content: bytes) -> asyncio.Future[Response]:
        """Queue a request, and return the future of its response, which never fails and so need not be awaited."""
        self._number = number = (self._number + 1) & 0xFFFFFFFF
        waiter: asyncio.Future[Response] = self._loop.create_future()
        if self._lost is not None or self.channel.is_closing():
            waiter.set_result((_LOST_KIND, memoryview(b"")))
            return waiter
        self._waiting[number] = waiter
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(struct.pack(">IBI", len(content) + 5, kind, number) + content)
        return waiter

    def _send(self) -> None:
        """Send the requests of one iteration of the event loop together.

        asyncssh encrypts each write separately, with an empty packet before it. Without this, a small file would take
        six packets and six system calls.
        """
        requests, self._unsent = b"".join(self._unsent), []
        if requests and not self.channel.is_closing():
            self.channel.write(requests)

    def _payload(self, response: Response, kind: int) -> memoryview:
        if response[0] == kind:
            return response[1]
        if response[0] == _STATUS:
            code = int.from_bytes(response[1][:4], "big")
            message = str(_read_string(response[1], 4)[0], "utf-8", "replace") if len(response[1]) > 4 else ""
            raise _ERRORS_BY_STATUS.get(code, asyncssh.SFTPFailure)(message or f"error {code}")
        if response[0] == _LOST_KIND:
            raise self._lost or asyncssh.SFTPConnectionLost("the connection is closed")
        raise asyncssh.SFTPBadMessage(f"the server sent a packet of kind {response[0]}, not {kind}")

    async def begin(self) -> None:
        """Agree with the server on version 3 of SFTP. Raises SFTPBadMessage if the server uses another version.

        If the server states how many bytes a read may return, adapt `block_size`.
        """
        self.channel.write(struct.pack(">IBI", 5, _INIT, _PROTOCOL_VERSION))
        greeting = self._payload(await self._greeting, _VERSION)
        version = int.from_bytes(greeting[:4], "big")
        if version != _PROTOCOL_VERSION:
            raise asyncssh.SFTPBadMessage(f"the server uses version {version} of SFTP, not {_PROTOCOL_VERSION}")
        offset, extensions = 4, []
        while offset < len(greeting):
            name, offset = _read_string(greeting, offset)
            version_text, offset = _read_string(greeting, offset)
            extensions.append((bytes(name), bytes(version_text)))
        if (_LIMITS_EXTENSION, b"1") in extensions:
            limits = self._payload(await self._request(_EXTENDED, _encode_string(_LIMITS_EXTENSION)), _EXTENDED_REPLY)
            self.block_size = min(max(int.from_bytes(limits[8:16], "big"), _MIN_BLOCK), _MAX_BLOCK)

    async def open(self, path: bytes) -> bytes:
        """Open a file for reading and return its handle."""
        return await self._handle(self._request(_OPEN, _encode_string(path) + b"\0\0\0\1\0\0\0\0"))

    async def open_folder(self, path: bytes) -> bytes:
        """Open a folder for listing and return its handle."""
        return await self._handle(self._request(_OPENDIR, _encode_string(path)))

    async def _handle(self, response: asyncio.Future[Response]) -> bytes:
        """Return the handle in a response, with its length before it, so that requests can contain it unchanged."""
        return _encode_string(bytes(_read_string(self._payload(await response, _HANDLE), 0)[0]))

    def ask_read(self, handle: bytes, size: int, start: int) -> asyncio.Future[Response]:
        """Request `size` bytes of an open file from `start` on. Return the future of the response, for `read`."""
        return self._request(_READ, handle + struct.pack(">QI", start, size))

    def read(self, response: Response) -> memoryview:
        """Return the bytes in a response to `ask_read`, empty at the end of the file, or raise the server's error."""
        if response[0] == _STATUS and int.from_bytes(response[1][:4], "big") == _EOF_STATUS:
            return response[1][:0]
        return _read_string(self._payload(response, _DATA), 0)[0]

    async def stat(self, handle: bytes) -> Attributes:
        """Return the attributes of an open file."""
        return _read_attributes(self._payload(await self._request(_FSTAT, handle), _ATTRS), 0)[0]

    async def names(self, handle: bytes) -> list[tuple[bytes, Attributes]] | None:
        """Return the next names in an open folder, with their attributes, or None after the last name.

        An empty list is not the end, which only the status SSH_FX_EOF is (draft-ietf-secsh-filexfer-02, section 6.7).
        """
        response = await self._request(_READDIR, handle)
        if response[0] == _STATUS and int.from_bytes(response[1][:4], "big") == _EOF_STATUS:
            return None
        packet = self._payload(response, _NAME)
        offset, names = 4, []
        for _ in range(int.from_bytes(packet[:4], "big")):
            name, offset = _read_string(packet, offset)
            _, offset = _read_string(packet, offset)  # the entry as a line for people
            attributes, offset = _read_attributes(packet, offset)
            names.append((bytes(name), attributes))
        return names

    def close(self, handle: bytes) -> None:
        """Close a file or a folder without waiting for the response."""
        self._request(_CLOSE, handle)

    def exit(self) -> None:
        """End the session."""
        self._send()
        self.channel.close()


def _encode_string(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def _read_string(packet: memoryview, offset: int) -> tuple[memoryview, int]:
    end = offset + 4 + int.from_bytes(packet[offset : offset + 4], "big")
    if end > len(packet):
        raise asyncssh.SFTPBadMessage("the packet ends too early")
    return packet[offset + 4 : end], end


def _read_attributes(packet: memoryview, offset: int) -> tuple[Attributes, int]:
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
                _, offset = _read_string(packet, offset)
    except struct.error as error:
        raise asyncssh.SFTPBadMessage("the attributes end too early") from error
    return Attributes(size, permissions, modified), offset
