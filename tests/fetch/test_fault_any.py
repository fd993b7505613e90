"""Faults that any server may have: silent, gone, in the dark, not the one it should be."""

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

from tests.fetch.bag import Bag, entries, got, on
from tests.servers.script import listening, silence, site
from tests.servers.tls import Papers
from tests.servers.tree import LARGE, SMALL, Served
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.http import read_head, validator
from windrow.model import Secret, Site
from windrow.reasons import Reason

SCHEMES = ["ftp", "ftps", "sftp", "http", "https"]


def fails(work: object, kind: type[TransportError], *reasons: Reason) -> TransportError:
    with pytest.raises(kind) as failure:
        work()
    assert failure.value.reason in reasons
    assert failure.value.retry is (kind is TransientFailure)
    return failure.value


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_silent_server_is_given_up(scheme: str) -> None:
    with listening(silence) as port:
        begun = time.monotonic()
        fails(lambda: got(site(scheme, port, timeout=1.0), "add/x.zip"), TransientFailure, Reason.TIMEOUT)
        assert time.monotonic() - begun < 30  # its timeout is 1, the usual one is 60


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_closed_port(scheme: str) -> None:
    fails(lambda: got(site(scheme, free_port()), "x"), TransientFailure, Reason.CONNECT_FAILED)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_name_that_nobody_knows(scheme: str) -> None:
    lost = Site(scheme, "no-such-host.invalid", timeout=5)
    fails(lambda: got(lost, "x"), TransientFailure, Reason.DNS_FAILED)


@contextmanager
def resolving(monkeypatch: pytest.MonkeyPatch, numbers: Sequence[str]) -> Iterator[tuple[int, list[int]]]:
    """Let a.example be at some numbers; yields the port of a silent server at 127.0.0.1, and a list of who connected."""
    connected: list[int] = []
    known = socket.getaddrinfo

    def resolve(host: str, port: int, *more: object, **named: object) -> list[object]:
        hosts = numbers if host == "a.example" else [host]
        return [row for number in hosts for row in known(number, port, *more, **named)]  # type: ignore[arg-type]

    def talk(line: socket.socket) -> None:
        connected.append(line.fileno())
        silence(line)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with listening(talk) as port:
        yield port, connected


PRIVATE = [["127.0.0.1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.1", "::1", "10.0.0.1"]]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("numbers", PRIVATE, ids=" ".join)
def test_private_numbers_are_not_dialled(scheme: str, numbers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with resolving(monkeypatch, numbers) as (port, connected):
        there = Site(scheme, "a.example", port, timeout=1.0)
        failure = fails(lambda: got(there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)
        assert 'private_hosts = ["a.example"]' in str(failure)
        there = replace(there, host="127.0.0.1")
        fails(lambda: got(there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)
        assert connected == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("numbers", [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "10.0.0.1", "127.0.0.1"]], ids=" ".join)
def test_a_private_number_beside_others_is_passed_over(
    scheme: str, numbers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with resolving(monkeypatch, numbers) as (port, connected):
        there = Site(scheme, "a.example", port, timeout=2.0, allowed=read_allowed(["127.0.0.1"]))
        fails(lambda: got(there, "x"), TransientFailure, Reason.TIMEOUT)
        assert connected


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_leads_to_a_private_number_later_is_refused_then(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = ["127.0.0.1"]

    async def get_twice(connection: Any) -> None:
        with pytest.raises(TransientFailure):
            await connection.get("x", Bag())
        numbers[:] = ["10.0.0.1"]
        await connection.get("x", Bag())

    with resolving(monkeypatch, numbers) as (port, _):
        there = Site(scheme, "a.example", port, timeout=2.0, allowed=read_allowed(["127.0.0.1"]))
        fails(lambda: on(there, get_twice), TerminalFailure, Reason.PRIVATE_ADDRESS)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_number_however_it_is_spelled_is_not_dialled(scheme: str) -> None:
    with listening(silence) as port:
        for host in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "::ffff:127.0.0.1", "localhost"):
            there = Site(scheme, host, port, timeout=1.0)
            fails(lambda there=there: got(there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.77", "::1", "2130706433", "localhost", "64:ff9b::a9fe:a9fe"])
def test_a_proxy_is_not_asked_to_connect_to_a_private_number(scheme: str, host: str) -> None:
    with listening(silence) as port:
        connected: list[socket.socket] = []
        with listening(connected.append) as proxy:
            there = Site(scheme, host, port, timeout=1.0, proxy=f"http://127.0.0.1:{proxy}")
            fails(lambda: got(there, "x"), TerminalFailure, Reason.PRIVATE_ADDRESS)
            fails(lambda: entries(there, ""), TerminalFailure, Reason.PRIVATE_ADDRESS)
        assert connected == []


@pytest.mark.parametrize("scheme", ["ftp", "ftps", "sftp"])
def test_no_way_through_a_web_proxy(scheme: str) -> None:
    through = site(scheme, 1, proxy="http://127.0.0.1:2")
    fails(lambda: got(through, "x"), TerminalFailure, Reason.NO_TRANSPORT)


@pytest.mark.parametrize("scheme", ["ftp", "sftp", "https"])
def test_a_secret_that_is_not_there(scheme: str, tmp_path: object) -> None:
    with listening(silence) as port:
        bare = site(scheme, port, username="u", secret=Secret(f"file:{tmp_path}/nothing"))
        failure = fails(lambda: got(bare, "x"), TerminalFailure, Reason.NO_SECRET)
        assert "nothing" in str(failure)


def test_a_wrong_authority(vsftpd_tls: Served, nginx_shut: Served, papers: Papers) -> None:
    for served in (vsftpd_tls, nginx_shut):
        for bundle in (str(papers.stranger), ""):
            other = replace(served.site, ca_bundle=bundle)
            failure = fails(lambda other=other: got(other, "add/small.zip"), TerminalFailure, Reason.TLS_FAILED)
            assert "ca_bundle" in failure.hint


def test_a_bundle_that_is_not_there(vsftpd_tls: Served, nginx_shut: Served, papers: Papers) -> None:
    for served in (vsftpd_tls, nginx_shut):
        for bundle in ("/nowhere/ca.pem", str(papers.key)):
            other = replace(served.site, ca_bundle=bundle)
            fails(lambda other=other: got(other, "add/small.zip"), TerminalFailure, Reason.TLS_FAILED)


@contextmanager
def cutting(target: int, after: int) -> Iterator[int]:
    """Pass bytes on to a real server, and cut the line after so many bytes of its answer."""

    def talk(line: socket.socket) -> None:
        asyncio.run(relay(line, target, after))

    with listening(talk) as port:
        yield port


async def relay(line: socket.socket, target: int, after: int) -> None:
    near_in, near_out = await asyncio.open_connection(sock=line)
    far_in, far_out = await asyncio.open_connection("127.0.0.1", target)

    async def there() -> None:
        while block := await near_in.read(65536):
            far_out.write(block)
        far_out.close()

    task = asyncio.ensure_future(there())
    passed = 0
    try:
        while passed < after and (block := await far_in.read(65536)):
            near_out.write(block)
            await near_out.drain()
            passed += len(block)
    except ConnectionError:
        pass  # who asked has gone
    finally:
        task.cancel()
        for one in (far_out, near_out):
            one.transport.abort()
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", ["sshd", "nginx_shut"])
def test_a_line_that_breaks_in_mid_transfer_is_resumed(name: str, request: pytest.FixtureRequest) -> None:
    served: Served = request.getfixturevalue(name)
    with cutting(served.site.port, 2 * 2**20) as port:
        bag = Bag()
        fails(lambda: got(replace(served.site, port=port), "add/large.zip", bag), TransientFailure, Reason.INTERRUPTED)
    assert 0 < len(bag.content) < len(LARGE)
    assert LARGE.startswith(bag.content)
    again = got(served.site, "add/large.zip", Bag(bytes(bag.content), validator(read_head(bag.head).fields)))
    assert again.content == LARGE
    assert again.restarted == 0


@pytest.mark.parametrize("name", ["sshd", "nginx_shut"])
def test_connection_comes_back_after_a_break(name: str, request: pytest.FixtureRequest) -> None:
    served: Served = request.getfixturevalue(name)

    async def work(connection: object) -> bytes:
        with pytest.raises(TransientFailure):
            await connection.get("add/large.zip", Bag())
        bag = Bag()
        await connection.get("add/small.zip", bag)
        return bytes(bag.content)

    with cutting(served.site.port, 2 * 2**20) as port:
        assert on(replace(served.site, port=port), work) == SMALL


def test_listing_over_ipv6_and_by_name(pyftpd_six: Served) -> None:
    assert "small.zip" in entries(pyftpd_six.site, "add")
    assert got(pyftpd_six.site, "add/small.zip").content == SMALL
    none = replace(pyftpd_six.site, address_family="ipv4")
    fails(lambda: entries(none, "add"), TransientFailure, Reason.DNS_FAILED, Reason.CONNECT_FAILED)
