"""Faults that any server may have: it is silent, unreachable, unknown or has the wrong certificate."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.daemon import free_port

from tests.fetch.memory_sink import MemorySink, get_file, list_entries, run_connected
from tests.servers.script import listening, silence, site
from tests.servers.tls import Certificates
from tests.servers.tree import LARGE, SMALL, Served
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.http import find_validator, read_head
from windrow.model import Secret, Site
from windrow.reasons import Reason

SCHEMES = ["ftp", "ftps", "sftp", "http", "https"]


def assert_fails(work: object, kind: type[TransportError], *reasons: Reason) -> TransportError:
    with pytest.raises(kind) as failure:
        work()
    assert failure.value.reason in reasons
    assert failure.value.retry is (kind is TransientFailure)
    return failure.value


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_silent_server_is_given_up(scheme: str) -> None:
    with listening(silence) as port:
        begun = time.monotonic()
        assert_fails(lambda: get_file(site(scheme, port, timeout=1.0), "add/x.zip"), TransientFailure, Reason.TIMEOUT)
        assert time.monotonic() - begun < 30  # its timeout is 1, the usual one is 60


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_closed_port(scheme: str) -> None:
    assert_fails(lambda: get_file(site(scheme, free_port()), "x"), TransientFailure, Reason.CONNECT_FAILED)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_name_that_nobody_knows(scheme: str) -> None:
    lost = Site(scheme, "no-such-host.invalid", timeout=5)
    assert_fails(lambda: get_file(lost, "x"), TransientFailure, Reason.DNS_FAILED)


@contextmanager
def resolve_to(monkeypatch: pytest.MonkeyPatch, numbers: Sequence[str]) -> Iterator[tuple[int, list[int]]]:
    """Resolve a.example to these addresses; yield the port of a silent server at 127.0.0.1, and a list of connections."""
    connected: list[int] = []
    known = socket.getaddrinfo

    def resolve(host: str, port: int, *more: object, **named: object) -> list[object]:
        hosts = numbers if host == "a.example" else [host]
        return [row for number in hosts for row in known(number, port, *more, **named)]  # type: ignore[arg-type]

    def talk(connection: socket.socket) -> None:
        connected.append(connection.fileno())
        silence(connection)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with listening(talk) as port:
        yield port, connected


PRIVATE = [["127.0.0.1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.1", "::1", "10.0.0.1"]]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("numbers", PRIVATE, ids=" ".join)
def test_private_numbers_are_not_dialled(scheme: str, numbers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with resolve_to(monkeypatch, numbers) as (port, connected):
        site_there = Site(scheme, "a.example", port, timeout=1.0)
        failure = assert_fails(lambda: get_file(site_there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)
        assert 'private_hosts = ["a.example"]' in str(failure)
        site_there = replace(site_there, host="127.0.0.1")
        assert_fails(lambda: get_file(site_there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)
        assert connected == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("numbers", [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "10.0.0.1", "127.0.0.1"]], ids=" ".join)
def test_a_private_number_beside_others_is_passed_over(
    scheme: str, numbers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with resolve_to(monkeypatch, numbers) as (port, connected):
        site_there = Site(scheme, "a.example", port, timeout=2.0, allowed=read_allowed(["127.0.0.1"]))
        assert_fails(lambda: get_file(site_there, "x"), TransientFailure, Reason.TIMEOUT)
        assert connected


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_leads_to_a_private_number_later_is_refused_then(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = ["127.0.0.1"]

    async def get_twice(connection: Any) -> None:
        with pytest.raises(TransientFailure):
            await connection.get("x", MemorySink())
        numbers[:] = ["10.0.0.1"]
        await connection.get("x", MemorySink())

    with resolve_to(monkeypatch, numbers) as (port, _):
        site_there = Site(scheme, "a.example", port, timeout=2.0, allowed=read_allowed(["127.0.0.1"]))
        assert_fails(lambda: run_connected(site_there, get_twice), TerminalFailure, Reason.PRIVATE_ADDRESS)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_number_however_it_is_spelled_is_not_dialled(scheme: str) -> None:
    with listening(silence) as port:
        for host in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "::ffff:127.0.0.1", "localhost"):
            site_there = Site(scheme, host, port, timeout=1.0)
            assert_fails(
                lambda site_there=site_there: get_file(site_there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS
            )


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.77", "::1", "2130706433", "localhost", "64:ff9b::a9fe:a9fe"])
def test_a_proxy_is_not_asked_to_connect_to_a_private_number(scheme: str, host: str) -> None:
    with listening(silence) as port:
        connected: list[socket.socket] = []
        with listening(connected.append) as proxy:
            site_there = Site(scheme, host, port, timeout=1.0, proxy=f"http://127.0.0.1:{proxy}")
            assert_fails(lambda: get_file(site_there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)
            assert_fails(lambda: list_entries(site_there, ""), TerminalFailure, Reason.PRIVATE_ADDRESS)
        assert connected == []


@pytest.mark.parametrize("scheme", ["ftp", "ftps", "sftp"])
def test_no_way_through_a_web_proxy(scheme: str) -> None:
    through = site(scheme, 1, proxy="http://127.0.0.1:2")
    assert_fails(lambda: get_file(through, "x"), TerminalFailure, Reason.NO_TRANSPORT)


@pytest.mark.parametrize("scheme", ["ftp", "sftp", "https"])
def test_a_secret_that_is_not_there(scheme: str, tmp_path: object) -> None:
    with listening(silence) as port:
        bare = site(scheme, port, username="u", secret=Secret(f"file:{tmp_path}/nothing"))
        failure = assert_fails(lambda: get_file(bare, "x"), TerminalFailure, Reason.NO_SECRET)
        assert "nothing" in str(failure)


def test_a_wrong_authority(vsftpd_tls: Served, nginx_shut: Served, certificates: Certificates) -> None:
    for served in (vsftpd_tls, nginx_shut):
        for bundle in (str(certificates.stranger), ""):
            untrusting = replace(served.site, ca_bundle=bundle)
            failure = assert_fails(
                lambda untrusting=untrusting: get_file(untrusting, "add/small.zip"), TerminalFailure, Reason.TLS_FAILED
            )
            assert "ca_bundle" in failure.hint


def test_a_bundle_that_is_not_there(vsftpd_tls: Served, nginx_shut: Served, certificates: Certificates) -> None:
    for served in (vsftpd_tls, nginx_shut):
        for bundle in ("/nowhere/ca.pem", str(certificates.key)):
            untrusting = replace(served.site, ca_bundle=bundle)
            assert_fails(
                lambda untrusting=untrusting: get_file(untrusting, "add/small.zip"), TerminalFailure, Reason.TLS_FAILED
            )


@contextmanager
def cut_after(target: int, after: int) -> Iterator[int]:
    """Relay to a real server, and cut the connection after so many bytes of its answer."""

    def talk(connection: socket.socket) -> None:
        asyncio.run(relay(connection, target, after))

    with listening(talk) as port:
        yield port


async def relay(connection: socket.socket, target: int, after: int) -> None:
    near_in, near_out = await asyncio.open_connection(sock=connection)
    far_in, far_out = await asyncio.open_connection("127.0.0.1", target)

    async def relay_request() -> None:
        while block := await near_in.read(65536):
            far_out.write(block)
        far_out.close()

    task = asyncio.ensure_future(relay_request())
    passed = 0
    try:
        while passed < after and (block := await far_in.read(65536)):
            near_out.write(block)
            await near_out.drain()
            passed += len(block)
    except ConnectionError:
        pass  # the client has gone
    finally:
        task.cancel()
        for writer in (far_out, near_out):
            writer.transport.abort()
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", ["sshd", "nginx_shut"])
def test_a_line_that_breaks_in_mid_transfer_is_resumed(name: str, request: pytest.FixtureRequest) -> None:
    served: Served = request.getfixturevalue(name)
    with cut_after(served.site.port, 2 * 2**20) as port:
        sink = MemorySink()
        assert_fails(
            lambda: get_file(replace(served.site, port=port), "add/large.zip", sink),
            TransientFailure,
            Reason.INTERRUPTED,
        )
    assert 0 < len(sink.content) < len(LARGE)
    assert LARGE.startswith(sink.content)
    again = get_file(
        served.site, "add/large.zip", MemorySink(bytes(sink.content), find_validator(read_head(sink.head).fields))
    )
    assert again.content == LARGE
    assert again.restarted == 0


@pytest.mark.parametrize("name", ["sshd", "nginx_shut"])
def test_connection_comes_back_after_a_break(name: str, request: pytest.FixtureRequest) -> None:
    served: Served = request.getfixturevalue(name)

    async def work(connection: object) -> bytes:
        with pytest.raises(TransientFailure):
            await connection.get("add/large.zip", MemorySink())
        sink = MemorySink()
        await connection.get("add/small.zip", sink)
        return bytes(sink.content)

    with cut_after(served.site.port, 2 * 2**20) as port:
        assert run_connected(replace(served.site, port=port), work) == SMALL


def test_listing_over_ipv6_and_by_name(pyftpd_six: Served) -> None:
    assert "small.zip" in list_entries(pyftpd_six.site, "add")
    assert get_file(pyftpd_six.site, "add/small.zip").content == SMALL
    none = replace(pyftpd_six.site, address_family="ipv4")
    assert_fails(lambda: list_entries(none, "add"), TransientFailure, Reason.DNS_FAILED, Reason.CONNECT_FAILED)
