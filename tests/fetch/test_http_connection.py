"""Connections to web sites: which address is dialled when, and requests to proxies."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.fetch.memory_sink import MemorySink
from tests.servers.tls import Certificates
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.http_client import ClientResponse, HttpClient, ResponseLimits
from windrow.fetch.http_connection import ATTEMPT_DELAY_SECONDS, connect_web
from windrow.formats.http_response import UNCLOSED_RULE
from windrow.model import ONLY_PUBLIC, Allowed, HttpRequest, Secret, Site
from windrow.reasons import Reason

ANYWHERE = Allowed(everything=True)
BOUNDS = ResponseLimits(1 << 20, 30.0)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
SITE = Site("https", "a.example", timeout=30.0)
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class _ClosableTransport(asyncio.Transport):
    """A transport without a peer."""

    closed = False

    def abort(self) -> None:
        self.closed = True


class ScriptedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while all wait, and whose addresses answer after so many seconds.

    An address with an error instead of seconds fails with it at once.
    """

    def __init__(self, addresses: Mapping[str, float | OSError]) -> None:
        super().__init__()
        self.now = 0.0
        self.addresses = addresses
        self.dialled: list[tuple[float, str]] = []
        self.sockets: list[socket.socket] = []
        self.lines: dict[str, _ClosableTransport] = {}
        select = self._selector.select  # type: ignore[attr-defined]

        def pass_time(timeout: float | None) -> Any:
            events = select(0)
            if not events:
                assert timeout is not None, "nothing can happen any more"
                self.now += timeout
            return events

        self._selector.select = pass_time  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
        return [
            (socket.AF_INET6 if ":" in number else socket.AF_INET, socket.SOCK_STREAM, 0, "", (number, port))
            for number in self.addresses
        ]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.dialled.append((round(self.now, 3), address[0]))
        self.sockets.append(sock)
        behaviour = self.addresses[address[0]]
        if isinstance(behaviour, OSError):
            raise behaviour
        await asyncio.sleep(behaviour)

    async def create_connection(self, factory: Any, *_: Any, sock: Any, **__: Any) -> Any:  # type: ignore[override]
        line = self.lines[self.dialled[self.sockets.index(sock)][1]] = _ClosableTransport()
        sock.close()
        protocol = factory()
        protocol.connection_made(line)
        return line, protocol


def race(addresses: Mapping[str, float | OSError], allowed: Allowed = ANYWHERE) -> tuple[ScriptedLoop, str]:
    """Connect to a name with these addresses; return the loop and the address used."""
    loop = ScriptedLoop(addresses)

    async def connect() -> str:
        site = Site("http", "a.example", timeout=60.0, allowed=allowed)
        connection = await connect_web(site)
        used = next(number for number, line in loop.lines.items() if line is connection._transport)
        await asyncio.sleep(0)  # unused connections are closed in the next turn
        await asyncio.sleep(0)
        return used

    try:
        used = loop.run_until_complete(connect())
    finally:
        assert all(line.fileno() == -1 for line in loop.sockets)
        loop.close()
    return loop, used


def test_the_next_address_is_tried_beside_one_that_is_silent() -> None:
    loop, used = race({"10.0.0.1": 1000.0, "10.0.0.2": 0.0})
    assert loop.dialled == [(0.0, "10.0.0.1"), (ATTEMPT_DELAY_SECONDS, "10.0.0.2")]
    assert (used, ATTEMPT_DELAY_SECONDS) == ("10.0.0.2", 0.25)


def test_a_first_address_that_is_slow_is_used_where_the_next_one_is_slower() -> None:
    loop, used = race({"10.0.0.1": 0.3, "10.0.0.2": 5.0})
    assert (used, len(loop.dialled), loop.now) == ("10.0.0.1", 2, 0.3)


def test_the_next_address_is_tried_at_once_where_one_refuses() -> None:
    loop, used = race({"10.0.0.1": ConnectionRefusedError(), "10.0.0.2": 0.0})
    assert (loop.dialled, used) == ([(0.0, "10.0.0.1"), (0.0, "10.0.0.2")], "10.0.0.2")


def test_of_two_connections_that_come_together_one_is_closed() -> None:
    loop, used = race({"10.0.0.1": 0.5, "10.0.0.2": 0.25})
    assert {number: line.closed for number, line in loop.lines.items()} == {
        number: number != used for number in ("10.0.0.1", "10.0.0.2")
    }


def test_both_families_are_tried_in_turn_and_all_may_be_silent() -> None:
    loop = ScriptedLoop(dict.fromkeys(("2001:4860::1", "2001:4860::2", "8.8.8.8"), 1000.0))
    with pytest.raises(TransientFailure) as caught:
        loop.run_until_complete(connect_web(Site("http", "a.example", timeout=60.0)))
    assert caught.value.reason is Reason.TIMEOUT
    assert loop.dialled == [(0.0, "2001:4860::1"), (0.25, "8.8.8.8"), (0.5, "2001:4860::2")]
    assert loop.now == 60.5
    assert all(line.fileno() == -1 for line in loop.sockets)
    loop.close()


def test_a_private_number_is_not_dialled_beside_a_public_one() -> None:
    loop, used = race({"10.0.0.1": 0.0, "8.8.8.8": 0.0, "::1": 0.0}, ONLY_PUBLIC)
    assert ([number for _, number in loop.dialled], used) == (["8.8.8.8"], "8.8.8.8")


def test_what_is_under_way_is_closed_where_nobody_waits_any_more() -> None:
    loop = ScriptedLoop({"10.0.0.1": 1000.0, "10.0.0.2": 1000.0})

    async def give_up() -> None:
        async with asyncio.timeout(1.0):
            await connect_web(Site("http", "a.example", timeout=60.0, allowed=ANYWHERE))

    with pytest.raises(TimeoutError):
        loop.run_until_complete(give_up())
    loop.run_until_complete(asyncio.sleep(0))
    assert len(loop.sockets) == 2
    assert all(line.fileno() == -1 for line in loop.sockets)
    loop.close()


class Proxy:
    """A proxy that answers CONNECT with a text, and relays to the target's port if proxied_site is one."""

    def __init__(self, answer: bytes = CONNECTED, target: int = 0) -> None:
        self._answer = answer
        self.target = target
        self.asked: list[bytes] = []
        self.ended = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            self.asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self._answer)
            await writer.drain()
            if self.target:
                target_reader, target_writer = await asyncio.open_connection("127.0.0.1", self.target)
                await asyncio.gather(pump(reader, target_writer), pump(target_reader, writer))
            while await reader.read(1000):
                pass
        self.ended += 1
        writer.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await reader.read(65536):
            writer.write(block)
            await writer.drain()
    writer.close()


class Target:
    """A site behind the proxy; `names` are the server names that clients sent."""

    def __init__(self, answers: list[bytes]) -> None:
        self._answers = answers
        self.asked: list[bytes] = []
        self.names: list[str | None] = []

    def tls(self, certificates: Certificates) -> ssl.SSLContext:
        context = tls_context(certificates)
        context.sni_callback = lambda _line, name, _context: self.names.append(name)
        return context

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            for answer in self._answers:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(answer)
                await writer.drain()
            await reader.read()
        writer.close()


def tls_context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    return context


def attempt_through(
    proxy: Proxy,
    certificates: Certificates,
    target: Target | None = None,
    *,
    site: Site = SITE,
    encrypted: bool = False,
    word: str = "",
    work: Callable[[HttpClient], Awaitable[Any]] | None = None,
) -> Any:
    """Ask a site through a proxy; return the work's result, by default the reply and its sink."""

    async def attempt(client: HttpClient) -> tuple[ClientResponse, MemorySink]:
        sink = MemorySink()
        return await client.send(f"{site.origin}/a", {}, sink, BOUNDS), sink

    async def connect() -> Any:
        tls = tls_context(certificates) if encrypted else None
        target_tls = target.tls(certificates) if target and site.scheme == "https" else None
        talk = target.talk if target else proxy.talk
        async with (
            await asyncio.start_server(proxy.talk, "127.0.0.1", 0, ssl=tls) as proxy_server,
            await asyncio.start_server(talk, "127.0.0.1", 0, ssl=target_tls) as target_server,
        ):
            if target:
                proxy.target = target_server.sockets[0].getsockname()[1]
            port = proxy_server.sockets[0].getsockname()[1]
            address = f"http{'s' if encrypted else ''}://{word}127.0.0.1:{port}"
            proxied_site = replace(site, proxy=address, ca_bundle=site.ca_bundle or str(certificates.authority))
            try:
                async with HttpClient(proxied_site) as client:
                    return await (work or attempt)(client)
            finally:
                while proxy.ended < len(proxy.asked):  # noqa: ASYNC110 the proxy is told that the line is closed
                    await asyncio.sleep(0.01)

    return asyncio.run(asyncio.wait_for(connect(), 60))


def proxy_error(proxy: Proxy, certificates: Certificates, target: Target | None = None, **more: Any) -> TransportError:
    """Return the error of an attempt through a proxy."""
    with pytest.raises(TransportError) as caught:
        attempt_through(proxy, certificates, target, **more)
    return caught.value


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain proxy", "TLS in TLS"])
def test_a_site_is_reached_through_a_proxy_by_its_name(certificates: Certificates, encrypted: bool) -> None:
    proxy, target = Proxy(), Target([HELLO, HELLO])

    async def attempt_twice(client: HttpClient) -> list[bytes]:
        sinks = [MemorySink(), MemorySink()]
        for sink in sinks:
            await client.send("https://a.example/a", {}, sink, BOUNDS)
        return [bytes(sink.content) for sink in sinks]

    assert attempt_through(proxy, certificates, target, encrypted=encrypted, work=attempt_twice) == [b"hello", b"hello"]
    assert proxy.asked == [b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"]
    assert target.names == ["a.example"]
    assert [request.partition(b"\r\n")[0] for request in target.asked] == [b"GET /a HTTP/1.1"] * 2


def test_a_proxy_may_say_that_it_closes_behind_its_answer(certificates: Certificates) -> None:
    answer = b"HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\n"
    reply, sink = attempt_through(Proxy(answer), certificates, Target([HELLO]))
    assert (reply.status, bytes(sink.content)) == (200, b"hello")


def test_large_answers_and_uploads_come_through_two_layers_of_tls(certificates: Certificates) -> None:
    body = bytes(range(256)) * 2000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    target = Target([answer])

    async def upload(client: HttpClient) -> bytes:
        sink = MemorySink()
        request = HttpRequest("POST", body=b"x" * 60_000)
        await client.send("https://a.example/a", {}, sink, BOUNDS, request)
        return bytes(sink.content)

    assert attempt_through(Proxy(), certificates, target, encrypted=True, work=upload) == body
    assert b"\r\nContent-Length: 60000\r\n" in target.asked[0]


def test_an_end_without_an_alert_leaves_a_doubt_where_only_the_end_tells_the_length(certificates: Certificates) -> None:
    async def fetch(end: str, answer: bytes) -> str:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            getattr(writer.transport, end)()

        async with await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls_context(certificates)) as server:
            port = server.sockets[0].getsockname()[1]
            site = Site(
                "https", "127.0.0.1", port, timeout=30.0, allowed=ANYWHERE, ca_bundle=str(certificates.authority)
            )
            async with HttpClient(site) as client:
                return (await client.send(f"{site.origin}/a", {}, MemorySink(), BOUNDS)).doubt

    cut = b"HTTP/1.1 200 OK\r\n\r\n<p>a part"
    doubts = [asyncio.run(fetch(end, answer)) for end in ("close", "abort") for answer in (cut, HELLO)]
    assert doubts == ["", "", UNCLOSED_RULE, ""]


def test_the_certificate_must_be_of_the_site_and_not_of_the_proxy(certificates: Certificates) -> None:
    target = Target([HELLO])
    failure = proxy_error(Proxy(), certificates, target, site=Site("https", "b.example", timeout=30.0))
    assert (type(failure), failure.reason, target.names, target.asked) == (
        TerminalFailure,
        Reason.TLS_FAILED,
        ["b.example"],
        [],
    )


def test_a_proxy_that_is_encrypted_must_show_its_certificate(certificates: Certificates) -> None:
    proxy = Proxy()
    failure = proxy_error(
        proxy, certificates, site=Site("https", "a.example", ca_bundle=str(certificates.stranger)), encrypted=True
    )
    assert (failure.reason, proxy.asked) == (Reason.TLS_FAILED, [])


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (b"HTTP/1.1 407 Who?\r\nContent-Length: 5\r\n\r\nwho?\n", TerminalFailure, Reason.LOGIN_FAILED),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 500\r\n\r\n", TransientFailure, Reason.CONNECT_FAILED),
        (b"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", TransientFailure, Reason.CONNECT_FAILED),
        (CONNECTED + b"HTTP/1.1 200 OK\r\n\r\nI am a.example", TerminalFailure, Reason.PROTOCOL_ERROR),
        (CONNECTED + b"\x16", TerminalFailure, Reason.PROTOCOL_ERROR),
        (b"SSH-2.0-OpenSSH_9\r\n", TerminalFailure, Reason.PROTOCOL_ERROR),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", TerminalFailure, Reason.PROTOCOL_ERROR),
    ],
)
def test_a_proxy_that_does_not_connect_is_told_from_the_site(
    certificates: Certificates, answer: bytes, kind: type, reason: Reason
) -> None:
    proxy = Proxy(answer)
    failure = proxy_error(proxy, certificates)
    assert (type(failure), failure.reason, proxy.ended) == (kind, reason, 1)
    assert str(failure).startswith("https://a.example/: its proxy")


def test_a_proxy_that_speaks_within_the_handshake_or_says_nothing_is_given_up(certificates: Certificates) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            proxy.asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(CONNECTED)
            await reader.read(1)  # the handshake has begun
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nI am a.example")
            await reader.read()
        proxy.ended += 1
        writer.close()

    proxy = Proxy()
    proxy.talk = talk  # type: ignore[method-assign]
    assert proxy_error(proxy, certificates).reason is Reason.TLS_FAILED
    assert proxy.ended == 1
    for silent in (Proxy(b""), Proxy(CONNECTED)):
        failure = proxy_error(silent, certificates, site=Site("https", "a.example", timeout=0.5))
        assert (failure.reason, silent.ended) == (Reason.TIMEOUT, 1)


@pytest.mark.parametrize("host", ["127.0.0.77", "::1", "2130706433", "64:ff9b::a9fe:a9fe"])
def test_a_private_number_is_not_told_to_a_proxy(certificates: Certificates, host: str) -> None:
    proxy = Proxy()
    assert proxy_error(proxy, certificates, site=Site("https", host)).reason is Reason.PRIVATE_ADDRESS
    assert proxy.asked == []


def test_a_number_that_is_allowed_goes_to_the_proxy_in_brackets(certificates: Certificates) -> None:
    proxy = Proxy(b"HTTP/1.1 502 no\r\n\r\n")
    proxy_error(proxy, certificates, site=Site("https", "::1", 8443, allowed=ANYWHERE))
    assert proxy.asked == [b"CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\n\r\n"]


def test_the_password_of_a_proxy_goes_to_it_alone_and_that_of_a_site_through_it(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORD", "open sesame")
    proxy, target = Proxy(), Target([HELLO])
    site = Site("https", "a.example", username="u", secret=Secret("env:WORD"), timeout=30.0)
    _, sink = attempt_through(proxy, certificates, target, site=site, word="me:p%40ss@")
    word = base64.b64encode(b"me:p@ss")
    assert proxy.asked[0].endswith(b"\r\nProxy-Authorization: Basic " + word + b"\r\n\r\n")
    assert b"\r\nAuthorization" not in proxy.asked[0]
    assert b"\r\nAuthorization: Basic " + base64.b64encode(b"u:open sesame") in target.asked[0]
    assert b"Proxy-Authorization" not in target.asked[0]
    assert b"uthorization" not in sink.request


@pytest.mark.parametrize("site", [Site("http", "a.example"), Site("https", "a.example")], ids=["http", "https"])
def test_a_password_for_a_proxy_is_not_sent_in_clear_to_another_machine(site: Site) -> None:
    with pytest.raises(TransportError, match="a password may only be sent over https, even to its proxy") as refused:
        HttpClient(replace(site, proxy="http://token@proxy.example:3128"))
        asyncio.run(connect_web(replace(site, proxy="http://token@proxy.example:3128")))
    assert refused.value.reason is Reason.POLICY_DENIED
    assert "token" not in str(refused.value)
    for proxy in ("http://token@127.0.0.1:3128", "https://token@proxy.example", "http://proxy.example:3128"):
        HttpClient(replace(site, proxy=proxy))


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_proxy_is_asked_for_whole_addresses_and_the_path_is_kept(certificates: Certificates, encrypted: bool) -> None:
    proxy = Proxy(HELLO)
    reply, sink = attempt_through(
        proxy, certificates, site=Site("http", "a.example", 8080), encrypted=encrypted, word="token@"
    )
    assert (reply.status, bytes(sink.content)) == (200, b"hello")
    first, *fields = proxy.asked[0].split(b"\r\n")
    assert first == b"GET http://a.example:8080/a HTTP/1.1"
    assert b"Host: a.example:8080" in fields
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"token:") in fields
    assert sink.request.startswith(b"GET /a HTTP/1.1\r\nHost: a.example:8080\r\n")
    assert b"uthorization" not in sink.request


@pytest.mark.parametrize("status", [407, 502])
def test_what_a_proxy_answers_in_place_of_a_plain_site_is_an_answer(certificates: Certificates, status: int) -> None:
    proxy = Proxy(b"HTTP/1.1 %d No\r\nContent-Length: 2\r\n\r\nno" % status)
    reply, sink = attempt_through(proxy, certificates, site=Site("http", "a.example"))
    assert (reply.status, bytes(sink.content)) == (status, b"no")


@pytest.mark.parametrize("address", ["proxy:8080", "socks5://127.0.0.1:1", "http://", "http://h:port", "https://[::1"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_address_of_no_http_proxy_is_refused(scheme: str, address: str) -> None:
    async def connect() -> None:
        await connect_web(Site(scheme, "a.example", proxy=address))

    with pytest.raises(TerminalFailure) as caught:
        asyncio.run(connect())
    assert caught.value.reason is Reason.NO_TRANSPORT
