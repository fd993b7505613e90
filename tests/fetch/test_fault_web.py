"""Statuses, redirects, ranges, and faults of web servers."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.fetch.memory_sink import MemorySink, get_file, list_entries, run_connected
from tests.fetch.test_fault_any import assert_fails
from tests.servers.script import env, http, listening, site
from tests.servers.tree import LARGE, SMALL, Served
from tests.servers.web import Web
from windrow.errors import TerminalFailure, TransientFailure
from windrow.model import Site
from windrow.reasons import Reason


def site_at(web: Web, base: str) -> Site:
    return replace(web.open, base=base)


@pytest.mark.parametrize(
    ("base", "kind", "reason"),
    [
        ("/gone/", TerminalFailure, Reason.GONE),
        ("/denied/", TerminalFailure, Reason.PERMISSION_DENIED),
        ("/nothing/", TerminalFailure, Reason.NOT_FOUND),
        ("/shut/", TerminalFailure, Reason.LOGIN_FAILED),
        ("/broken/", TransientFailure, Reason.SERVER_ERROR),
        ("/busy/", TransientFailure, Reason.RATE_LIMITED),
        ("/moved/", TerminalFailure, Reason.REDIRECTED),
    ],
)
def test_statuses(nginx: Web, base: str, kind: type, reason: Reason) -> None:
    failure = assert_fails(lambda: get_file(site_at(nginx, base), "x.zip"), kind, reason)
    assert failure.wait == (7.0 if base == "/busy/" else None)
    if base == "/moved/":
        assert "/drop/add/small.zip" in str(failure)


def test_listing_failures_are_not_empty_listings(nginx: Web) -> None:
    for base in ("/denied/", "/shut/", "/broken/", "/busy/", "/moved/"):
        with pytest.raises((TerminalFailure, TransientFailure)):
            list_entries(site_at(nginx, base), "add")


def test_heads_are_kept_but_no_password(nginx: Web) -> None:
    sink = get_file(nginx.shut, "add/small.zip")
    assert sink.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nContent-Length: 18000\r\n" in sink.head
    assert sink.head.endswith(b"\r\n\r\n")
    assert sink.request.startswith(b"GET /shut/add/small.zip HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"uthorization" not in sink.request
    assert base64.b64encode(b"windrow:open sesame") not in sink.request


def test_a_page_by_its_whole_address(nginx: Web) -> None:
    address = nginx.open.address("add/with%20space.zip?v=1")
    assert get_file(nginx.open, address).content == b"with space.zip"
    other_origin = "https://127.0.0.1:1/drop/add/small.zip"
    assert_fails(lambda: get_file(nginx.open, other_origin), TerminalFailure, Reason.POLICY_DENIED)


@pytest.mark.parametrize("path", ["add/with space.zip", "caf\u00e9", "a#b", "a\r\nX: y"])
def test_a_whole_address_must_be_as_a_request_has_it(path: str) -> None:
    seen: list[object] = []
    with listening(seen.append) as port:
        here = site("http", port)
        assert_fails(lambda: get_file(here, here.address("") + path), TerminalFailure, Reason.BAD_ADDRESS)
    assert seen == []


def test_a_head_is_kept_byte_for_byte() -> None:
    head = b"HTTP/1.1  200  All right\r\nserver:Odd  \r\nX: a\r\n\tb\r\ncontent-length:5\r\n\r\n"
    with listening(http(head + b"hello")) as port:
        sink = get_file(site("http", port), "x")
    assert (sink.head, sink.content, sink.size) == (head, b"hello", 5)


def test_a_long_head_is_read() -> None:
    head = b"HTTP/1.1 200 OK\r\nX: %s\r\n%sContent-Length: 5\r\n\r\n" % (b"y" * 10_000, b"Link: <a>\r\n" * 150)
    with listening(http(head + b"hello")) as port:
        assert get_file(site("http", port), "x").content == b"hello"


def test_a_host_in_other_letters_is_asked_for_in_punycode() -> None:
    seen = []

    def talk(connection: object) -> None:
        seen.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nby")

    with listening(talk) as port:
        get_file(Site("http", "b\u00fccher.example", proxy=f"http://127.0.0.1:{port}"), "x")
    assert seen[0].startswith(b"GET http://xn--bcher-kva.example/x HTTP/1.1\r\nHost: xn--bcher-kva.example\r\n")


def script(*answers: bytes, connections: list[list[bytes]]) -> object:
    """Answer requests in order, each connection while it lasts; `connections` gets the request lines of each."""
    answers_left = [*answers]

    def talk(connection: object) -> None:
        asked: list[bytes] = []
        connections.append(asked)
        while answers_left and (text := connection.recv(65536)):
            asked.append(text.partition(b"\r\n")[0])
            if not (answer := answers_left.pop(0)):
                return
            connection.sendall(answer)
        connection.recv(1)

    return talk


LOST = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nlost"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def get_all(port: int, *paths: str) -> list[object]:
    """Get files one after the other in one session; return the content of each, or the reason of its failure."""

    async def work(connection: object) -> list[object]:
        outcomes: list[object] = []
        for path in paths:
            sink = MemorySink()
            try:
                await connection.get(path, sink)
                outcomes.append(bytes(sink.content))
            except (TerminalFailure, TransientFailure) as error:
                outcomes.append(error.reason)
        return outcomes

    return run_connected(site("http", port), work)


def test_a_connection_is_used_again_also_behind_a_short_refusal() -> None:
    connections: list[list[bytes]] = []
    with listening(script(HELLO, LOST, HELLO, connections=connections)) as port:
        assert get_all(port, "a", "b", "c") == [b"hello", Reason.NOT_FOUND, b"hello"]
    assert connections == [[b"GET /a HTTP/1.1", b"GET /b HTTP/1.1", b"GET /c HTTP/1.1"]]


def test_the_body_of_a_long_refusal_is_not_waited_for() -> None:
    connections: list[list[bytes]] = []
    long = b"HTTP/1.1 404 Not Found\r\nContent-Length: 999999999\r\n\r\n"
    with listening(script(long, HELLO, connections=connections)) as port:
        assert get_all(port, "a", "b") == [Reason.NOT_FOUND, b"hello"]
    assert connections == [[b"GET /a HTTP/1.1"], [b"GET /b HTTP/1.1"]]


@pytest.mark.parametrize("linger", [False, True], ids=["cut", "silent"])
def test_a_refusal_whose_body_does_not_come_is_a_refusal(linger: bool) -> None:
    lost = b"HTTP/1.1 404 Not Found\r\nContent-Length: 500\r\n\r\nlost"
    with listening(http(lost, linger=linger)) as port:
        assert_fails(lambda: get_file(site("http", port, timeout=0.5), "x"), TerminalFailure, Reason.NOT_FOUND)


def test_a_refusal_whose_body_drips_is_not_waited_for() -> None:
    def talk(connection: object) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 60000\r\n\r\n")
        while True:
            time.sleep(0.1)
            connection.sendall(b"y")

    with listening(talk) as port:
        assert_fails(lambda: get_file(site("http", port, timeout=0.5), "x"), TerminalFailure, Reason.NOT_FOUND)


def test_a_server_that_closes_before_it_is_asked_is_not_waited_for() -> None:
    with listening(lambda _: None) as port:
        failure = assert_fails(
            lambda: get_file(site("http", port, timeout=300.0), "x"), TransientFailure, Reason.INTERRUPTED
        )
    assert "in time" not in str(failure)


def test_a_connection_that_was_closed_while_it_rested_is_opened_anew() -> None:
    connections: list[list[bytes]] = []
    with listening(script(HELLO, b"", HELLO, connections=connections)) as port:
        assert get_all(port, "a", "b") == [b"hello", b"hello"]
    assert connections == [[b"GET /a HTTP/1.1", b"GET /b HTTP/1.1"], [b"GET /b HTTP/1.1"]]


def test_a_body_may_take_longer_than_its_head_may() -> None:
    def talk(connection: object) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            time.sleep(0.4)
            connection.sendall(b"x")

    with listening(talk) as port:
        assert get_file(site("http", port, timeout=1.3), "x").content == b"xxxxxxxx"  # in 3.2 seconds, a head has 2.6


def test_a_head_that_drips_is_given_up() -> None:
    def talk(connection: object) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            time.sleep(0.1)
            connection.sendall(b"y")

    with listening(talk) as port:
        assert_fails(lambda: get_file(site("http", port, timeout=0.5), "x"), TransientFailure, Reason.TIMEOUT)


def test_what_is_under_way_ends_with_its_session() -> None:
    async def work(connection: object) -> None:
        getting = asyncio.create_task(connection.get("x", MemorySink()))
        while not connection._busy:  # noqa: ASYNC110 the request is on its way
            await asyncio.sleep(0.01)
        await connection.close()
        await getting

    with listening(http(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", linger=True)) as port:
        assert_fails(lambda: run_connected(site("http", port), work), TransientFailure, Reason.INTERRUPTED)


def test_a_password_goes_out_over_https_only(monkeypatch: pytest.MonkeyPatch, nginx: Web) -> None:
    monkeypatch.setenv("WORD", "open sesame")
    outside = Site("http", "example.invalid", username="windrow", secret=env("WORD"))
    failure = assert_fails(lambda: get_file(outside, "x"), TerminalFailure, Reason.POLICY_DENIED)
    assert "sesame" not in str(failure)
    here = replace(nginx.plain, base="/shut/", username="windrow", secret=env("WORD"))
    assert get_file(here, "add/small.zip").content == SMALL


def test_a_resume_of_the_same_file(nginx: Web) -> None:
    async def tag(connection: object) -> str:
        return (await connection.get("add/large.zip", MemorySink())).etag

    validator = run_connected(nginx.open, tag)
    sink = get_file(nginx.open, "add/large.zip", MemorySink(LARGE[:1000], validator))
    assert (sink.content, sink.restarted, sink.size) == (LARGE, 0, len(LARGE))
    assert b"\r\nContent-Range: bytes 1000-" in sink.head
    assert f"If-Range: {validator}".encode() in sink.request


def test_a_resume_of_a_file_that_changed_begins_again(nginx: Web) -> None:
    sink = get_file(nginx.open, "add/large.zip", MemorySink(b"other bytes", '"another"'))
    assert (sink.content, sink.restarted) == (LARGE, 1)


@pytest.mark.parametrize("answer", [b"bytes 3-8/9", b"bytes 4-7/9", b"bytes */9", b"nonsense"])
def test_a_part_that_does_not_fit_is_not_taken(answer: bytes) -> None:
    wrong = b"HTTP/1.1 206 Partial\r\nContent-Length: 5\r\nContent-Range: %s\r\n\r\nwrong" % answer
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nall of it"

    def talk(connection: object) -> None:
        asked = connection.recv(65536)
        connection.sendall(wrong if b"\r\nRange: bytes=4-" in asked else whole)

    with listening(talk) as port:
        sink = get_file(site("http", port), "x", MemorySink(b"all "))
        assert (sink.content, sink.restarted) == (b"all of it", 1)


def test_a_part_that_nobody_asked_for() -> None:
    answer = b"HTTP/1.1 206 Partial\r\nContent-Length: 5\r\nContent-Range: bytes 4-8/9\r\n\r\nof it"
    with listening(http(answer)) as port:
        assert_fails(lambda: get_file(site("http", port), "x"), TerminalFailure, Reason.PROTOCOL_ERROR)


def test_chunks_are_taken_apart_and_the_head_says_so() -> None:
    answer = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: W/"1"\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'
    with listening(http(answer)) as port:
        sink = get_file(site("http", port), "x")
    assert (sink.content, sink.size) == (b"abcde", None)
    assert b"\r\nx-orig-transfer-encoding: chunked\r\n" in sink.head
    assert b"\r\nTransfer-Encoding" not in sink.head


def test_what_is_compressed_stays_compressed() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8bxx"
    with listening(http(answer)) as port:
        assert get_file(site("http", port), "x").content == b"\x1f\x8bxx"
        assert_fails(lambda: list_entries(site("http", port), "add"), TerminalFailure, Reason.PROTOCOL_ERROR)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
)
def test_a_body_that_ends_too_early(answer: bytes) -> None:
    with listening(http(answer)) as port:
        sink = MemorySink()
        assert_fails(lambda: get_file(site("http", port), "x", sink), TransientFailure, Reason.INTERRUPTED)
        assert sink.content == b"half"


def test_a_body_that_stops() -> None:
    with listening(http(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", linger=True)) as port:
        assert_fails(lambda: get_file(site("http", port, timeout=1.0), "x"), TransientFailure, Reason.TIMEOUT)


def test_closed_without_a_word() -> None:
    with listening(http(b"")) as port:
        assert_fails(lambda: get_file(site("http", port), "x"), TransientFailure, Reason.INTERRUPTED)


@pytest.mark.parametrize(
    "answer",
    [b"220 this is FTP\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", b"\x00\x01\x02\r\n\r\n"],
)
def test_not_http_at_all(answer: bytes) -> None:
    with listening(http(answer)) as port:
        assert_fails(lambda: get_file(site("http", port), "x"), TerminalFailure, Reason.PROTOCOL_ERROR)


def test_a_listing_too_long() -> None:
    many = b"".join(b'<a href="%d">' % n for n in range(200_001))
    with listening(http(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(many) + many)) as port:
        assert_fails(lambda: list_entries(site("http", port), "add"), TerminalFailure, Reason.TOO_LARGE)


@pytest.mark.parametrize(("page", "kind", "reason"), [
    (b"<a>" * 1_400_000, TerminalFailure, Reason.TOO_LARGE),
    (b"<a href=x>" * 100_000, TransientFailure, Reason.TIMEOUT),
], ids=["too-many", "too-slow"])  # fmt: skip
def test_a_listing_of_links_alone_ends_in_time(page: bytes, kind: type, reason: Reason) -> None:
    with listening(http(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page) + page)) as port:
        limited = site("http", port, listing_timeout=0.1 if reason is Reason.TIMEOUT else 30.0)
        assert_fails(lambda: list_entries(limited, ""), kind, reason)


def test_a_page_that_is_no_index() -> None:
    with listening(http(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) as port:
        failure = assert_fails(lambda: list_entries(site("http", port), "add"), TerminalFailure, Reason.PROTOCOL_ERROR)
        assert "manifest" in failure.hint


def test_a_manifest(nginx: Web) -> None:
    text = "add/small.zip\nadd/with space.zip\r\n\nedit/b.zip\nadd/../x.zip\nadd/\nadding/y.zip\n./add/z.zip\n"
    path = nginx.root / "list.txt"
    path.write_text(text)
    listed = replace(nginx.open, manifest="list.txt")
    assert set(list_entries(listed, "add")) == {"small.zip", "with space.zip", "../x.zip", "z.zip"}
    assert set(list_entries(listed, "edit")) == {"b.zip"}
    assert list_entries(listed, "delete") == {}
    lost = replace(nginx.open, manifest="lost.txt")
    assert_fails(lambda: list_entries(lost, "add"), TerminalFailure, Reason.NOT_FOUND)


def test_a_proxy_is_used(nginx: Web) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nby proxy!"
    seen = []

    def talk(connection: object) -> None:
        seen.append(connection.recv(65536))
        connection.sendall(whole)

    with listening(talk) as port:
        through = Site("http", "example.invalid", base="/drop/", proxy=f"http://127.0.0.1:{port}")
        assert get_file(through, "x").content == b"by proxy!"
    assert seen[0].startswith(b"GET http://example.invalid/drop/x HTTP/1.1\r\n")


def test_time_of_an_index_is_utc(nginx_shut: Served) -> None:
    assert list_entries(nginx_shut.site, "add")["small.zip"].modified == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
