"""How long the web view takes for its pages, and beside Datasette on the same SQLite files."""

from __future__ import annotations

import asyncio
import http.client
import os
import random
import shutil
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import windrow
from benchmarks.comparison import Comparison
from benchmarks.daemon import free_port, running, scratch
from benchmarks.pages.corpus import word
from benchmarks.web_view.workspace import make_workspace
from windrow.adapters.home import HomeList, HomeView
from windrow.collections.events.adapter.databases import location_of
from windrow.web import app

COUNT = int(os.environ.get("WINDROW_DOCUMENTS", "100000"))
_ASKED = 300  # requests for each page: of fewer, the 99th of a hundred is one accident
_PAGE_LIMIT, _SEARCH_LIMIT, _SIZE_LIMIT = 150.0, 50.0, 100.0  # milliseconds, milliseconds, kB without pictures


Target = Callable[[float], str]
"""A function from a random number below 1 to an address."""


class AskedPage(NamedTuple):
    """A page: its name, its address for a random number below 1, and the limit of milliseconds."""

    name: str
    target: Target
    limit: float = _PAGE_LIMIT


class Taken(NamedTuple):
    """What requests for a page took: milliseconds of each, and the bytes of the longest answer."""

    times: list[float]
    longest: int


def list_pages(farm: windrow.Windrow, count: int) -> list[AskedPage]:
    """Return the pages that are asked for; those about one thing choose another one each time."""
    home = "/collections?collection"
    urls = _first_urls(farm)
    return [
        AskedPage("today", lambda _: "/?since=2026-01-01"),  # all records are changes since then
        AskedPage("changes", lambda at: f"/changes?since=2026-01-01&kind={('', 'new')[int(at * 2)]}"),
        AskedPage("sessions", lambda _: "/sessions"),
        AskedPage("a session", lambda at: f"/sessions/{1 + int(at * 29)}"),
        AskedPage("search", lambda at: f"/search?q={word(int(at * 3_000))}", _SEARCH_LIMIT),
        AskedPage("agenda", lambda at: f"{home}=events&day={2020 + int(at * 9)}-0{1 + int(at * 8)}-01"),
        AskedPage("month", lambda at: f"{home}=events&view=month&day={2020 + int(at * 9)}-03-01"),
        AskedPage("an event", lambda at: f"{home}=events&name=bench/{int(at * count)}"),
        AskedPage("events with a word", lambda at: f"{home}=events&q=budget+{int(at * count)}"),
        AskedPage("reading list", lambda at: f"{home}=news&start={1 + int(at * count)}"),
        AskedPage("an article", lambda at: f"{home}=news&name=https://gazette.example/{int(at * count)}"),
        AskedPage("sites", lambda _: f"{home}=pages"),
        AskedPage("a site", lambda at: f"{home}=pages&name=town&start={quote(urls[int(at * len(urls))], safe='')}"),
        AskedPage("a page", lambda at: f"{home}=pages&name={quote(urls[int(at * len(urls))], safe='')}"),
        AskedPage("tracker", lambda _: f"{home}=drops"),
        AskedPage("zips of a state", lambda _: f"{home}=drops&view=zips&group=xsd:failed"),
        AskedPage("a zip", lambda at: f"{home}=drops&name=H.2026-01-01.{int(at * count / 10)}.impc.zip"),
        AskedPage("papers", lambda at: f"{home}=papers&start={2 + int(at * count / 10)}"),
        AskedPage("story of a page", lambda at: f"/why?name={quote(urls[int(at * len(urls))], safe='')}"),
        AskedPage("manual", lambda _: "/help/howto/look-in-a-browser"),
    ]


def _first_urls(farm: windrow.Windrow) -> list[str]:
    """Return the addresses of the first pages of the site."""
    home = farm.home("pages", HomeView(name="town"))
    entries = [entry for part in home.parts if isinstance(part, HomeList) for entry in part.entries]
    return [entry.title.view.name for entry in entries if entry.title.view]


@contextmanager
def open_workspace(count: int) -> Iterator[windrow.Windrow]:
    """Make the workspace, or open the one that was made before and is kept."""
    if kept := os.environ.get("WINDROW_WORKSPACE_FOLDER"):
        folder = Path(kept)
        yield windrow.open(folder) if (folder / "windrow.toml").exists() else make_workspace(folder, count)
        return
    with scratch() as folder:
        yield make_workspace(folder / "farm", count)


def pages(count: int = COUNT, asked: int = _ASKED) -> Iterator[Comparison]:
    """Compare the milliseconds in which 99 of 100 requests for each page are answered, and the longest page."""
    with open_workspace(count) as farm:
        view, longest = app(farm), 0
        for page in list_pages(farm, count):
            taken = asyncio.run(_ask(view, page, asked))
            longest = max(longest, taken.longest)
            p99 = sorted(taken.times)[(asked * 99 - 1) // 100]
            note = f"median {statistics.median(taken.times):.1f}, {taken.longest / 1000:.0f} kB, {count:,} records"
            work, limit = f"web view, {page.name}, p99", f"a limit of {page.limit:.0f} ms"
            yield Comparison(work, "ms", p99, limit, page.limit, 1.0, "less", note)
        limit = f"a limit of {_SIZE_LIMIT:.0f} kB"
        yield Comparison("web view, longest page", "kB", longest / 1000, limit, _SIZE_LIMIT, 1.0, "less")


async def _ask(view: Any, page: AskedPage, asked: int) -> Taken:
    chance, times, longest = random.Random(5), [], 0
    for number in range(asked + 2):
        target = page.target(chance.random())
        began = time.perf_counter()
        status, length = await _request(view, target)
        if number > 1:  # the first ones load what the others have
            times.append((time.perf_counter() - began) * 1000)
        if status not in {200, 404}:
            raise RuntimeError(f"{target}: status {status}")
        longest = max(longest, length)
    return Taken(times, longest)


async def _request(view: Any, target: str) -> tuple[int, int]:
    """Send a request to an ASGI application; return its status and the length of its body."""
    path, _, query = target.partition("?")
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "root_path": "", "query_string": query.encode(),
        "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    await view(scope, receive, send)
    return messages[0]["status"], sum(len(message.get("body", b"")) for message in messages[1:])


def beside(count: int = COUNT, asked: int = 100) -> Iterator[Comparison]:
    """Compare our pages of events with Datasette's of the same file: a list of rows, one row, and a full text.

    Without Datasette, only ours are measured.
    """
    datasette = shutil.which("datasette")
    with open_workspace(count) as farm:
        file = farm.config.root / location_of(farm.config)
        our_port, their_port = free_port(), free_port()
        ours = [sys.executable, "-m", "windrow", "serve", "--port", str(our_port), "--workspace", str(farm.config.root)]
        theirs = [datasette or "", "serve", str(file), "--port", str(their_port)]
        theirs += ["--setting", "default_page_size", "50", "--setting", "sql_time_limit_ms", "20000"]
        home, table = "/collections?collection=events", f"/{file.stem}/vd_events"
        with closing(sqlite3.connect(file)) as opened:
            rows = [row for (row,) in opened.execute("SELECT number FROM vd_events LIMIT 1000")]

        def row(at: float) -> int:
            return int(rows[int(at * len(rows))])

        pairs: dict[str, tuple[Target, Target]] = {
            "list of rows": (lambda at: f"{home}&day=202{int(at * 9)}-03-01", lambda at: f"{table}?_next={row(at)}"),
            "one row": (lambda at: f"{home}&name=bench/{int(at * count)}", lambda at: f"{table}/{row(at)}"),
            "full text": (lambda _: f"{home}&q=budget", lambda _: f"{table}_search?_search=budget"),
        }
        log = farm.config.root.parent
        ports = (our_port, their_port) if datasette else (our_port,)
        with running(ours, log / "ours.log", our_port), ExitStack() as stack:
            if datasette:
                stack.enter_context(running(theirs, log / "theirs.log", their_port))
            for name, targets in pairs.items():
                medians: list[float | None] = [*map(statistics.median, _ask_in_turns(ports, targets, asked)), None]
                note = f"medians of {asked} requests, in turns; {count:,} events"
                yield Comparison(
                    f"web view, {name}", "ms", medians[0] or 0.0, "Datasette", medians[1], 1.0, "less", note
                )


def _ask_in_turns(ports: Sequence[int], targets: tuple[Target, Target], asked: int) -> list[list[float]]:
    """Return the milliseconds of `asked` requests to each server, the first with the first of the `targets`."""
    chance = random.Random(5)
    times: list[list[float]] = [[] for _ in ports]
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(_connection(port))) for port in ports]
        for number in range(asked + 2):
            at = chance.random()
            for target, connection, of_server in zip(targets, connections, times, strict=False):
                began = time.perf_counter()
                connection.request("GET", target(at))
                answer = connection.getresponse()
                answer.read()
                if answer.status != http.client.OK:
                    raise RuntimeError(f"{target(at)}: status {answer.status}")
                if number > 1:
                    of_server.append((time.perf_counter() - began) * 1000)
    return times


def _connection(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)
