"""SFTP packets in pieces, in any order, too long, too short or missing."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.servers.daemon import driver

STATUS, HANDLE, DATA, NAME, ATTRS, EXTENDED_REPLY = 101, 102, 103, 104, 105, 201
HELLO = struct.pack(">IBI", 5, 2, 3)


def text(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


class Channel:
    """A channel that answers requests by their kind: each answer once, then always the last."""

    def __init__(self, answers: dict[int, list[tuple[int, bytes]]], size: int = 1 << 20) -> None:
        self.asked: list[tuple[int, bytes]] = []
        self.closed = False
        self.writes = 0
        self._answers = answers
        self._size = size
        self.client: Any = None

    def write(self, packets: bytes) -> None:
        self.writes += 1
        while packets:
            size = 4 + int.from_bytes(packets[:4], "big")
            self._take(packets[:size])
            packets = packets[size:]

    def _take(self, packet: bytes) -> None:
        kind, number, content = packet[4], packet[5:9], packet[9:]
        self.asked.append((kind, content))
        if kind == 1:
            self.send(HELLO)
        elif kind in self._answers:
            row = self._answers[kind]
            answer, reply_content = row.pop(0) if len(row) > 1 else row[0]
            self.send(text(bytes([answer]) + number + reply_content))

    def send(self, packet: bytes) -> None:
        for at in range(0, len(packet), self._size):
            asyncio.get_running_loop().call_soon(self.client.data_received, packet[at : at + self._size], None)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def run_session(channel: Channel, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Open a session and run work in it, for at most 20 seconds."""
    client_of = driver("windrow.fetch.sftp_client").SftpClient

    async def connect_and_work() -> Any:
        async with asyncio.timeout(20):
            channel.client = client = client_of()
            client.connection_made(channel)
            await client.begin()
            return await work(client)

    return asyncio.run(connect_and_work())


async def read_all(client: Any) -> bytes:
    handle = await client.open(b"x")
    asked = [client.ask_read(handle, 4, 0), client.ask_read(handle, 4, 4), client.ask_read(handle, 4, 8)]
    content = b"".join([bytes(client.read(await read)) for read in asked])
    client.close(handle)
    return content


def test_what_is_asked_in_one_moment_is_sent_with_one_call_and_before_the_end() -> None:
    channel = Channel({3: [(HANDLE, text(b"h"))]})

    async def work(client: Any) -> None:
        before = channel.writes
        await asyncio.gather(client.open(b"x"), client.open(b"y"))
        client.close(text(b"h"))
        client.exit()
        assert channel.writes == before + 2
        assert [kind for kind, _ in channel.asked[1:]] == [3, 3, 4]
        await asyncio.sleep(0)
        assert channel.writes == before + 2

    run_session(channel, work)
    assert channel.closed


@pytest.mark.parametrize("size", [1, 3, 7, 1 << 20])
def test_packets_come_in_pieces_of_any_size(size: int) -> None:
    reads = [(DATA, text(b"abcd")), (DATA, text(b"ef")), (STATUS, struct.pack(">I", 1))]
    channel = Channel({3: [(HANDLE, text(b"h"))], 5: reads}, size)
    assert run_session(channel, read_all) == b"abcdef"
    assert [kind for kind, _ in channel.asked] == [1, 3, 5, 5, 5, 4]
    assert channel.asked[3] == (5, text(b"h") + struct.pack(">QI", 4, 4))


def test_names_come_with_what_is_told_of_them() -> None:
    named = [
        (b"a", struct.pack(">IQIIIII", 1 | 2 | 4 | 8, 2**63, 7, 7, 0o100644, 5, 6), (2**63, 0o100644, 6)),
        (b"\xff", struct.pack(">II", 0x80000000, 1) + text(b"kind") + text(b"value"), (None, None, None)),
        (b"c", struct.pack(">II", 4, 0o40755), (None, 0o40755, None)),
    ]
    packet = struct.pack(">I", 3) + b"".join(
        text(name) + text(b"for people") + attributes for name, attributes, _ in named
    )
    none, end = (NAME, struct.pack(">I", 0)), (STATUS, struct.pack(">I", 1))
    channel = Channel({11: [(HANDLE, text(b"h"))], 12: [(NAME, packet), none, end]})

    async def work(client: Any) -> Any:
        handle = await client.open_folder(b"f")
        return [await client.names(handle) for _ in range(3)]

    assert run_session(channel, work) == [[(name, attributes) for name, _, attributes in named], [], None]


@pytest.mark.parametrize(
    "packet",
    [
        struct.pack(">I", 1),
        struct.pack(">II", 1, 9) + b"short",
        struct.pack(">I", 2**32 - 1) + text(b"a") + text(b"") + struct.pack(">I", 0),
        struct.pack(">I", 1) + text(b"a") + text(b"") + struct.pack(">II", 1, 7),
        struct.pack(">I", 1) + text(b"a") + text(b"") + struct.pack(">II", 0x80000000, 2**32 - 1),
        struct.pack(">I", 1) + text(b"a") + text(b""),
    ],
)
def test_a_list_of_names_that_ends_too_early_is_refused(packet: bytes) -> None:
    channel = Channel({12: [(NAME, packet)]})
    with pytest.raises(driver("asyncssh").SFTPBadMessage):
        run_session(channel, lambda client: client.names(b""))


@pytest.mark.parametrize(
    ("status", "name", "message"),
    [
        (struct.pack(">I", 2) + text(b"gone") + text(b"en"), "SFTPNoSuchFile", "gone"),
        (struct.pack(">I", 3) + text(b"\xff") + text(b""), "SFTPPermissionDenied", "\ufffd"),
        (struct.pack(">I", 24) + text(b"") + text(b""), "SFTPFileIsADirectory", "error 24"),
        (struct.pack(">I", 4711), "SFTPFailure", "error 4711"),
        (struct.pack(">II", 2, 99) + b"short", "SFTPBadMessage", "too early"),
        (b"", "SFTPFailure", "error 0"),
    ],
)
def test_a_refusal_is_raised_as_what_it_says(status: bytes, name: str, message: str) -> None:
    with pytest.raises(getattr(driver("asyncssh"), name), match=message):
        run_session(Channel({3: [(STATUS, status)]}), lambda client: client.open(b"x"))


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (struct.pack(">IBI", 2**31, DATA, 1), "bytes"),
        (struct.pack(">IB", 1, STATUS) + bytes(8), "bytes"),
        (struct.pack(">IBI", 5, DATA, 4711), "a request that was not sent"),
    ],
)
def test_after_a_packet_against_the_protocol_every_request_fails(packet: bytes, message: str) -> None:
    channel = Channel({})

    async def work(client: Any) -> None:
        waiting = [asyncio.ensure_future(client.open(b"x")) for _ in range(2)]
        await asyncio.sleep(0)
        channel.send(packet + packet)
        for request in [*waiting, client.open(b"y")]:
            with pytest.raises(driver("asyncssh").SFTPBadMessage, match=message):
                await request
        client.close(text(b"h"))

    run_session(channel, work)


def test_an_answer_of_another_kind_is_refused() -> None:
    with pytest.raises(driver("asyncssh").SFTPBadMessage, match="kind 103"):
        run_session(Channel({3: [(DATA, text(b"h"))]}), lambda client: client.open(b"x"))


def test_who_waits_is_told_that_the_connection_is_lost() -> None:
    async def work(client: Any) -> None:
        cancelled = client.ask_read(text(b"h"), 4, 0)  # nothing waits for it
        cancelled.cancel()
        waiting = asyncio.ensure_future(client.open(b"x"))
        await asyncio.sleep(0)
        client.connection_lost(None)
        for request in (waiting, client.open(b"y"), client.stat(text(b"h"))):
            with pytest.raises(driver("asyncssh").SFTPConnectionLost):
                await request

    run_session(Channel({}), work)


def test_a_read_asks_for_what_the_server_allows_and_never_for_less_than_all_servers_give() -> None:
    async def block(client: Any) -> int:
        return int(client.block_size)

    for most, asked in ((1, 1 << 15), (261_120, 261_120), (2**63, 1 << 18)):
        channel = Channel({200: [(EXTENDED_REPLY, struct.pack(">QQQQ", 1 << 18, most, 1, 1))]})
        limited = struct.pack(">IBI", 5 + 4 + 18 + 4 + 1, 2, 3) + text(b"limits@openssh.com") + text(b"1")
        channel.send = _send_with_hello(channel, limited)  # type: ignore[method-assign]
        assert run_session(channel, block) == asked
    assert run_session(Channel({}), block) == 1 << 15


def _send_with_hello(channel: Channel, hello: bytes) -> Callable[[bytes], None]:
    send = channel.send
    return lambda packet: send(hello if packet == HELLO else packet)


def test_another_version_of_the_protocol_is_refused() -> None:
    channel = Channel({})
    channel.send = _send_with_hello(channel, struct.pack(">IBI", 5, 2, 2))  # type: ignore[method-assign]
    with pytest.raises(driver("asyncssh").SFTPBadMessage, match="version 2"):
        run_session(channel, read_all)
