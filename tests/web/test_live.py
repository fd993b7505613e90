"""A session under way: its pages are complete without a script, and a stream of events tells what is new."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner
from lxml import html

import windrow
from tests.web.farm import get, http_scope
from windrow.app import session_progress
from windrow.app.listening import Address, listen
from windrow.app.session_progress import read_progress
from windrow.cli.serve import serve_command
from windrow.clock import now
from windrow.errors import StoreError
from windrow.ledger import Ledger
from windrow.ledger.lease import Lease, name_this_process
from windrow.web import app, live, server
from windrow.web.worker import Workers


class UnderWay:
    """A workspace whose ledger has a session that runs in this process."""

    def __init__(self, folder: Path) -> None:
        self.farm = windrow.init(folder)
        self.farm.new_source("town", "http://town.example/", collection="pages")
        self.farm = windrow.open(folder)
        self.ledger = Ledger(self.farm.config.ledger)
        self.lease = Lease(self.ledger)
        with self.ledger.writing() as writer:
            self.session = writer.sessions.open(name_this_process(), "run")
            self.task = writer.sessions.open_task(self.session, "pages", "town", 1)

    def end(self) -> None:
        with self.ledger.writing() as writer:
            writer.sessions.close_task(self.task, None, "", failed=False)
            writer.sessions.close(self.session, 0)


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[UnderWay]:
    made = UnderWay(tmp_path / "farm")
    yield made
    made.lease.release()
    made.ledger.close()


def test_pages_show_a_session_under_way_without_a_script(under_way: UnderWay) -> None:
    view = app(under_way.farm)
    for path in ("/", "/sessions/1"):
        reply = get(view, path)
        page = html.fromstring(reply.text)
        assert page.xpath("//dd[@data-text='under way']/text()") == ["town: crawl"], path
        assert page.xpath("//*/@data-events") == ["/sessions/1/events"]
        assert "script-src 'self'" in reply.fields["content-security-policy"]
        assert "unsafe-inline" not in reply.fields["content-security-policy"]
        (script,) = page.xpath("//script/@src")
        assert get(view, script).fields["content-type"].startswith("text/javascript")
    under_way.end()
    reply = get(view, "/sessions/1")
    assert "data-events" not in reply.text
    assert get(view, "/sessions/1").fields["etag"] == reply.fields["etag"]
    with under_way.ledger.writing() as writer:
        writer.sessions.close(writer.sessions.open("another", "run"), 0)
    assert get(view, "/sessions/1").fields["etag"] != reply.fields["etag"]
    assert "script-src" not in reply.fields["content-security-policy"]


def test_the_course_of_a_session_under_way_reaches_to_the_present(under_way: UnderWay, monkeypatch) -> None:
    monkeypatch.setattr(session_progress, "now", lambda: now() + timedelta(minutes=9, seconds=30))
    page = html.fromstring(get(app(under_way.farm), "/sessions/1").text)
    assert page.xpath("//ol[@class='timeline']/li/span[@class='meta']/text()") == ["9 min 30 s"]
    assert float(page.xpath("//ol[@class='timeline']//*[local-name()='rect']/@width")[0]) > 900


def test_a_stream_tells_what_is_new_and_ends_with_the_session(under_way: UnderWay, monkeypatch) -> None:
    monkeypatch.setattr(live, "_INTERVAL_SECONDS", 0.01)
    received: list[bytes] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        received.append(message.get("body", b""))
        if len(received) == 3:  # after the start and the first event
            under_way.end()

    asyncio.run(app(under_way.farm)(http_scope("/sessions/1/events"), receive, send))
    events = b"".join(received).decode().strip().split("\n\n")
    assert events[-1] == "event: end\ndata: {}"
    first, last = (json.loads(event.removeprefix("data: ")) for event in (events[0], events[-2]))
    assert (first["running"], first["texts"]["under way"]) == (True, "town: crawl")
    assert (last["running"], last["ended_phases"]) == (False, 1)


def test_streams_end_when_the_server_stops_and_more_than_the_cap_are_refused(under_way: UnderWay, monkeypatch) -> None:
    stopping = app(under_way.farm, is_stopping=lambda: True)
    reply = get(stopping, "/sessions/1/events")
    assert (reply.text.count("data: "), reply.fields["content-type"]) == (1, "text/event-stream; charset=utf-8")
    assert get(stopping, "/sessions/9/events").status == 404
    assert get(stopping, "/sessions/1/events", "HEAD").body == b""
    monkeypatch.setattr(live, "WEB_STREAMS", live.WEB_STREAMS._replace(number=0))
    assert get(stopping, "/sessions/1/events").status == 503


def test_streams_that_are_asked_for_at_one_moment_are_counted_one_by_one(under_way, monkeypatch) -> None:
    monkeypatch.setattr(live, "WEB_STREAMS", live.WEB_STREAMS._replace(number=3))

    async def ask_at_once() -> int:
        sessions = live.LiveSessions(under_way.farm, Workers(), lambda: False)
        opened = await asyncio.gather(*(sessions.open(1) for _ in range(9)), return_exceptions=True)
        are_open = [not isinstance(stream, StoreError) for stream in opened]
        for stream in opened:
            if not isinstance(stream, BaseException):
                await anext(stream)
                await stream.aclose()
        again = await sessions.open(1)
        await anext(again)
        await again.aclose()
        return sum(are_open)

    assert asyncio.run(ask_at_once()) == 3


def test_the_address_can_be_opened_before_the_libraries_are_loaded() -> None:
    code = "import sys, windrow.app.listening, windrow.cli.serve as s; print(*({*s.LIBRARIES} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_connections_send_a_body_at_once() -> None:
    with (
        closing(listen(Address("127.0.0.1", 0))) as listener,
        closing(socket.create_connection(listener.getsockname())),
        closing(listener.accept()[0]) as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_connection_without_a_whole_request_is_closed_in_time(view, monkeypatch) -> None:
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.05)
    monkeypatch.setattr(server, "_KEPT_SECONDS", 0)
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"

    async def talk(port: int, *parts: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        received = b""
        for part in parts:
            writer.write(part)
            if part.endswith(b"\r\n\r\n"):
                received += await reader.readuntil(b"}")
        received += await asyncio.wait_for(reader.read(), 20)  # until the server closes it
        writer.close()
        return received

    async def serve_and_talk() -> list[bytes]:
        serving = uvicorn.Server(uvicorn.Config(view, http=server.ServedConnection, lifespan="off", log_level="error"))
        with closing(listen(Address("127.0.0.1", 0))) as listener:
            task = asyncio.create_task(serving.serve([listener]))
            port = listener.getsockname()[1]
            clients = [(b"",), (request,), (request + b"\r\n", request)]
            replies = await asyncio.gather(*(talk(port, *parts) for parts in clients))
            serving.should_exit = True
            await task
        return replies

    replies = asyncio.run(serve_and_talk())
    assert replies[:2] == [b"", b""]
    assert replies[2].count(b"HTTP/1.1 200 OK") == 1


def test_a_command_that_lacks_a_library_says_which_extra_has_it(monkeypatch) -> None:
    monkeypatch.setattr("windrow.cli.serve.LIBRARIES", ("no_such_library",))
    result = CliRunner().invoke(serve_command, [])
    assert result.exit_code != 0
    assert "windrow[web]" in f"{result.output}{getattr(result.exception, 'hint', '')}"


def test_what_would_not_let_anyone_in_is_refused_before_it_listens(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef\n0123456789abcdef\n")
    for options, text in (
        (["--token-file", str(tmp_path / "token")], "one line"),
        (["--proxy", "a.example", "--proxy-address", "192.0.2.7"], "for its header field"),
        (["--proxy", "a.example", "--proxy-header", "Remote User"], "NAME: VALUE"),
        (["--proxy-header", "Remote-User", "--workspace", str(windrow.init(tmp_path / "farm").config.root)], "a proxy"),
    ):
        result = CliRunner().invoke(serve_command, options)
        assert result.exit_code != 0
        assert text in f"{result.output}{result.exception}", options


def test_a_later_reading_adds_only_what_came_since(farm) -> None:
    with closing(farm.ledger()) as ledger:
        progress = read_progress(ledger, 1)
        assert (progress.attempts, progress.running, progress.under_way) == (3, False, ())
        assert read_progress(ledger, 1, progress._replace(attempts=10)).attempts == 10
