"""Our HTTP client against faulty web servers, and what it must never send."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.fetch.memory_sink import MemorySink
from tests.servers.tls import Certificates
from windrow.errors import TransportError
from windrow.fetch import http_connection
from windrow.fetch.http_client import ClientResponse, HttpClient, ResponseLimits
from windrow.fetch.http_connection import HttpConnection
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.http import redecode_as_utf_8
from windrow.model import Allowed, Secret, Site
from windrow.reasons import Reason

HOST = "127.0.0.9"
HERE = Site("http", HOST, timeout=60.0, allowed=Allowed(everything=True))
BOUNDS = ResponseLimits(1 << 20, 10.0)
OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

Work = Callable[[Any, str], Awaitable[Any]]


class Server:
    """Answers the n-th request with the n-th text, on one connection if possible; an empty text closes the connection."""

    def __init__(self, answers: tuple[bytes, ...], *, close: bool = False, greeting: bytes = b"") -> None:
        self._answers, self._close, self._greeting = list(answers), close, greeting
        self.asked: list[bytes] = []
        self.connections = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.write(self._greeting)
        try:
            while self._answers:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self._answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if self._close or not answer:
                    break
            else:
                await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:  # also if the loop ends first
            writer.close()


def run_connected(server: Server, work: Work, site: Site = HERE, certificates: Certificates | None = None) -> Any:
    """Run the server, and work in a session with it."""

    async def connect_and_work() -> Any:
        context = None
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.certificate, certificates.key)
        listener = await asyncio.start_server(server.talk, site.host, 0, ssl=context)
        async with listener:
            site_there = replace(site, port=listener.sockets[0].getsockname()[1])
            async with HttpClient(site_there) as client:
                return await work(client, replace(site_there, base="").address())

    return asyncio.run(asyncio.wait_for(connect_and_work(), 30))


async def ask(client: HttpClient, url: str, bounds: ResponseLimits = BOUNDS) -> tuple[ClientResponse, MemorySink]:
    """Request one page."""
    sink = MemorySink()
    return await client.send(url, {}, sink, bounds), sink


def reply_to(answer: bytes, *, close: bool = False, **bounds: Any) -> tuple[ClientResponse, MemorySink]:
    """Return the reply and sink of a request with this answer."""

    async def work(client: HttpClient, origin: str) -> tuple[ClientResponse, MemorySink]:
        return await ask(client, f"{origin}/a", BOUNDS._replace(**bounds))

    exchange: tuple[ClientResponse, MemorySink] = run_connected(Server((answer,), close=close), work)
    return exchange


def refusal_reason(answer: bytes, *, close: bool = False, **bounds: Any) -> Reason:
    """Return the reason why an answer is refused."""
    with pytest.raises(TransportError) as caught:
        reply_to(answer, close=close, **bounds)
    return caught.value.reason


def test_of_a_length_and_chunks_the_chunks_count_and_the_line_is_not_used_again() -> None:
    both = OK + b"Content-Length: 500\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    server = Server((both, HELLO))

    async def work(client: HttpClient, origin: str) -> list[tuple[ClientResponse, MemorySink]]:
        return [await ask(client, f"{origin}/{name}") for name in "ab"]

    (_, first), (_, second) = run_connected(server, work)
    assert (bytes(first.content), bytes(second.content), first.size, server.connections) == (
        b"hello",
        b"hello",
        None,
        2,
    )
    assert first.head == OK + b"x-orig-content-length: 500\r\nx-orig-transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (OK + b"Content-Length: -5\r\n\r\nhello", Reason.PROTOCOL_ERROR),
        (OK + b"Content-Length: 99999999999999999999\r\n\r\nhello", Reason.PROTOCOL_ERROR),
        (OK + b"Content-Length: 999999999999999999\r\n\r\nhello", Reason.TOO_LARGE),
        (CHUNKED + b"-5\r\nhello", Reason.PROTOCOL_ERROR),
        (CHUNKED + b"ffffffffffffffffff\r\nhello", Reason.PROTOCOL_ERROR),
        (CHUNKED + b"ffffffff\r\n" + bytes(2 << 20), Reason.TOO_LARGE),
        (OK + b"\r\n" + bytes(2 << 20), Reason.TOO_LARGE),
        (b"SSH-2.0-OpenSSH_9\r\n", Reason.PROTOCOL_ERROR),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000, Reason.PROTOCOL_ERROR),
        (CHUNKED + b"5\r\nhello" + b"\r\n" * 100_000, Reason.PROTOCOL_ERROR),
    ],
)
def test_what_no_server_should_say_is_refused_while_the_line_is_open(answer: bytes, reason: Reason) -> None:
    assert refusal_reason(answer) is reason


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 20",
        OK,
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        OK + b"Content-Length: 5\r\n\r\n",
        OK + b"Content-Length: 5\r\n\r\nhell",
        CHUNKED,
        CHUNKED + b"5\r\nhe",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
def test_a_line_that_ends_too_early_is_told_from_a_whole_answer(answer: bytes) -> None:
    assert refusal_reason(answer, close=True) is Reason.INTERRUPTED


def test_a_folded_head_is_read_as_one_line_and_kept_as_it_came() -> None:
    head = (
        OK + b"Content-Type: text/html;\r\n\tcharset=utf-8\r\nX: a\r\n Content-Length: 3\r\nContent-Length: 5\r\n\r\n"
    )
    reply, sink = reply_to(head + b"hello")
    assert (sink.head, bytes(sink.content)) == (head, b"hello")
    assert (reply.fields["content-type"], reply.fields["x"]) == ("text/html; charset=utf-8", "a Content-Length: 3")


def test_a_folded_coding_is_kept_under_another_name_like_any_other() -> None:
    reply, sink = reply_to(OK + b"Transfer-Encoding:\r\n chunked\r\nX: a\r\n b\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    assert (reply.status, bytes(sink.content)) == (200, b"hello")
    assert sink.head == OK + b"x-orig-transfer-encoding:\r\n chunked\r\nX: a\r\n b\r\n\r\n"


def test_a_value_keeps_its_last_letter() -> None:
    reply, _ = reply_to(OK + "Location: /citt\u00e0 \r\nContent-Length: 5\r\n\r\nhello".encode())
    assert redecode_as_utf_8(reply.fields["location"]) == "/citt\u00e0"


def test_an_error_without_a_length_ends_with_its_line() -> None:
    server = Server((b"HTTP/1.1 404 Not Found\r\nConnection: keep-alive\r\n\r\nnothing here", HELLO), close=True)

    async def work(client: HttpClient, origin: str) -> list[tuple[ClientResponse, MemorySink]]:
        return [await ask(client, f"{origin}/{name}") for name in "ab"]

    (lost, page), (ok, second_page) = run_connected(server, work)
    assert (lost.status, bytes(page.content), ok.status, bytes(second_page.content)) == (
        404,
        b"nothing here",
        200,
        b"hello",
    )
    assert server.connections == 2


def test_a_line_is_used_again_and_one_that_went_stale_is_opened_anew() -> None:
    server = Server((HELLO, HELLO, b"", HELLO))

    async def work(client: HttpClient, origin: str) -> list[int]:
        return [(await ask(client, f"{origin}/{name}"))[0].status for name in "abc"]

    assert run_connected(server, work) == [200, 200, 200]
    assert [request.split(b" ")[1] for request in server.asked] == [b"/a", b"/b", b"/c", b"/c"]
    assert server.connections == 2


def test_what_comes_behind_an_answer_is_never_the_next_one() -> None:
    server = Server((HELLO + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", HELLO))

    async def work(client: HttpClient, origin: str) -> list[bytes]:
        return [bytes((await ask(client, f"{origin}/{name}"))[1].content) for name in "ab"]

    assert run_connected(server, work) == [b"hello", b"hello"]
    assert server.connections == 2


def test_a_server_that_speaks_first_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server((b"",), greeting=b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad")

    connect = http_connection._connect

    async def connect_and_hear(address: Any, seconds: float) -> HttpConnection:
        connection = await connect(address, seconds)
        while connection.is_usable:  # noqa: ASYNC110 what it says is on its way
            await asyncio.sleep(0.01)
        return connection

    async def work(client: HttpClient, origin: str) -> Any:
        return await ask(client, f"{origin}/a")

    monkeypatch.setattr(http_connection, "_connect", connect_and_hear)
    with pytest.raises(TransportError) as caught:
        run_connected(server, work)
    assert caught.value.reason is Reason.INTERRUPTED
    assert server.asked == []


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.9:9"])
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/a HTTP/1.1\r\nX-Evil: yes\r\n\r\nGET /b", Reason.BAD_ADDRESS),
        ("/a\nX-Evil: yes", Reason.BAD_ADDRESS),
        ("/a\rb", Reason.BAD_ADDRESS),
        ("/a b", Reason.BAD_ADDRESS),
        ("/a\tb", Reason.BAD_ADDRESS),
        ("/\x00", Reason.BAD_ADDRESS),
        ("/caf\u00e9", Reason.BAD_ADDRESS),
        ("/\udcff", Reason.BAD_ADDRESS),
        ("/a#b", Reason.BAD_ADDRESS),
        (".evil.example/", Reason.POLICY_DENIED),
        ("@evil.example/", Reason.POLICY_DENIED),
    ],
)
def test_an_address_cannot_say_more_than_its_path(path: str, reason: Reason, proxy: str) -> None:
    server = Server((HELLO,))

    async def work(client: HttpClient, origin: str) -> Any:
        return await ask(client, origin + path)

    with pytest.raises(TransportError) as caught:
        run_connected(server, work, replace(HERE, proxy=proxy))
    assert (caught.value.reason, server.asked, server.connections) == (reason, [], 0)


def test_a_field_cannot_say_more_than_its_value() -> None:
    server = Server((HELLO,))

    async def work(client: HttpClient, origin: str) -> Any:
        asked = {"If-None-Match": '"x"\r\nX-Evil: yes', "If-Modified-Since": "then"}
        return await client.send(f"{origin}/a", asked, MemorySink(), BOUNDS)

    assert run_connected(server, work).status == 200
    assert b"vil" not in server.asked[0]
    assert b"\r\nIf-Modified-Since: then\r\n" in server.asked[0]


def test_a_host_by_its_number_of_ipv6() -> None:
    server = Server((HELLO,))

    async def work(client: HttpClient, origin: str) -> tuple[ClientResponse, MemorySink]:
        return await ask(client, f"{origin}/a")

    here = Site("http", "::1", timeout=60.0, allowed=read_allowed(["[::1]"]))
    reply, sink = run_connected(server, work, here)
    assert (reply.status, bytes(sink.content)) == (200, b"hello")
    assert b"\r\nHost: [::1]:" in sink.request


def test_a_certificate_must_be_of_the_host(certificates: Certificates, tmp_path: Any) -> None:
    async def work(client: HttpClient, origin: str) -> int:
        return (await ask(client, f"{origin}/a"))[0].status

    trusting = Site("https", "127.0.0.1", timeout=60.0, ca_bundle=str(certificates.authority), allowed=HERE.allowed)
    assert run_connected(Server((HELLO,)), work, trusting, certificates) == 200
    strangers = (replace(trusting, host=HOST), replace(trusting, ca_bundle=str(certificates.stranger)))
    for site in strangers:
        server = Server((HELLO,))
        with pytest.raises(TransportError) as caught:
            run_connected(server, work, site, certificates)
        assert (caught.value.reason, caught.value.retry, server.asked) == (Reason.TLS_FAILED, False, [])


def test_a_password_is_sent_and_not_kept(certificates: Certificates, tmp_path: Any) -> None:
    (tmp_path / "word").write_text("open sesame")
    server = Server((HELLO,))

    async def work(client: HttpClient, origin: str) -> MemorySink:
        return (await ask(client, f"{origin}/a"))[1]

    secret = Secret(f"file:{tmp_path}/word")
    site = Site(
        "https",
        "127.0.0.1",
        username="u",
        secret=secret,
        timeout=60.0,
        ca_bundle=str(certificates.authority),
        allowed=HERE.allowed,
    )
    sink = run_connected(server, work, site, certificates)
    assert b"\r\nAuthorization: Basic " in server.asked[0]
    assert b"uthorization" not in sink.request
    assert sink.request == b"\r\n".join(line for line in server.asked[0].split(b"\r\n") if b"uthorization" not in line)
