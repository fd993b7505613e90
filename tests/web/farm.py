"""A small workspace with hostile texts, made once, and a browser's requests to its web view without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

import windrow
from tests.cli.conftest import lay_out_partner

HOSTILE = '<script>document.title="pwned"</script>'
SITE = "http://town.example"
TEXT = "The ferry crosses the harbour every {} from eight to eighteen, and the crossing takes twenty minutes. " * 2


class Reply(NamedTuple):
    """A response: its status, its fields by name in lower case, and its body."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def get(
    view: ASGIApp, target: str, method: str = "GET", *, faulty: type[BaseException] = KeyboardInterrupt, **fields: str
) -> Reply:
    """Send one request to an ASGI application; `fields` are those of the request, with `_` for a dash.

    An error of the class `faulty` that the application raises is ignored.
    """
    scope = http_scope(target, method, **fields)
    messages: list[Message] = []
    requests: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if requests:
            return requests.pop()
        await asyncio.Event().wait()  # the client does not disconnect
        raise AssertionError

    async def send(message: Any) -> None:
        messages.append(message)

    with suppress(faulty):
        asyncio.run(_call(view, scope, receive, send))
    start = messages[0]
    received = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], received, b"".join(message.get("body", b"") for message in messages[1:]))


def http_scope(target: str, method: str = "GET", *, peer: str = "127.0.0.1", **fields: str) -> dict[str, Any]:
    """Return the scope of a request, as an ASGI server passes it to an application."""
    path, _, query = target.partition("?")
    headers = {"host": "localhost", **{name.replace("_", "-"): value for name, value in fields.items()}}
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(path), "raw_path": path.encode(), "root_path": "", "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (peer, 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip


async def _call(view: ASGIApp, *arguments: Any) -> None:
    await view(*arguments)


def make_farm(folder: Path) -> windrow.Windrow:
    """Make a workspace with files of a partner, and with pages that are imported twice and have hostile texts."""
    lay_out_partner(folder / "partner")
    farm = windrow.init(folder / "farm")
    farm.new_source("harwell", f"file://{folder / 'partner'}", collection="drops", centre="H")
    farm.new_source("town", f"{SITE}/", collection="pages")
    farm.run("harwell")
    for day, word in (("21", "hour"), ("22", "day")):
        pages = {
            f"{SITE}/ferry.html": f"<!doctype html><title>The ferry {HOSTILE.replace('<', '&lt;')}</title>"
            f"<h1>The ferry</h1><p>{TEXT.format(word, word)}</p>{HOSTILE}",
            f'{SITE}/a%22onload="alert(1)"': f"<!doctype html><title>\"'&lt;img src=x onerror=alert(1)&gt;</title>"
            f"<p>{'Hostile words of a museum. ' * 9}</p>",
        }
        warc = folder / f"{day}.warc"
        warc.write_bytes(b"".join(warc_record(url, page.encode(), day) for url, page in pages.items()))
        farm.run(str(warc), source="town")
    return windrow.open(folder / "farm")


def warc_record(url: str, body: bytes, day: str) -> bytes:
    """Return a WARC record of an answer from an address on a day of November 2026."""
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-11-{day}T10:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-0000000000{day}>\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


@contextmanager
def changed(path: Path) -> Iterator[None]:
    """Fail unless the files below a folder have the same bytes after the block."""
    before = read_files(path)
    yield
    assert read_files(path) == before


def read_files(path: Path) -> dict[str, bytes]:
    """Return the bytes of the files below a folder; SQLite's own files beside databases are left out."""
    files = (file for file in path.rglob("*") if file.is_file() and not file.name.endswith(("-shm", "-wal")))
    return {str(file): file.read_bytes() for file in files}
