"""What a web view that stays open costs: its memory after many requests, and how much it slows a run beside it."""

from __future__ import annotations

import http.client
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path

import windrow
from benchmarks.comparison import Comparison
from benchmarks.cpu import Meter, Taken
from benchmarks.daemon import free_port, running, scratch
from benchmarks.memory import size
from benchmarks.pipeline import drop, workspace
from benchmarks.web_view.measured import COUNT, list_pages, open_workspace

_WARMING, _REQUESTS = 2_000, 10_000
_FLAT = 1 / 1.02
"""Ten thousand requests may add two hundredths to the memory."""
_PAIRS, _ZIPS = int(os.environ.get("WINDROW_PAIRS", "7")), int(os.environ.get("WINDROW_ZIPS", "150"))
_PER_SECOND, _STREAMS = 20, 50
_SLOWER = 1 / 1.1
"""A run may take a tenth longer."""
_ASKED_IN_RUNS = (
    "/", "/changes", "/sessions", "/sessions/1", "/search?q=ferry", "/collections?collection=drops",
    "/collections?collection=drops&view=zips", "/why?name=h", "/healthz", "/metrics",
)  # fmt: skip


def memory(count: int = COUNT, requests: int = _REQUESTS, warming: int = _WARMING) -> Iterator[Comparison]:
    """Compare the memory of a server's own after its requests with that after those that warm it.

    The pages of index files that it maps are not part of it: their number grows until each part of an index was read.
    """
    with open_workspace(count) as farm:
        port, chance, pages = free_port(), random.Random(5), list_pages(farm, count)
        with (
            running(_serve(farm.config.root, port), farm.config.root.parent / "serve.log", port) as server,
            closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection,
        ):
            sizes, mapped = [], []
            for number in (warming, requests):
                for place in range(number):
                    _ask(connection, pages[place % len(pages)].target(chance.random()))
                sizes.append(size(server.pid, "Pss_Anon") / 1e6)
                mapped.append(size(server.pid, "Pss_File") / 1e6)
    work, peer = f"web view, memory after {requests:,} requests", f"after {warming:,} requests"
    note = f"all pages in turns, {count:,} records; mapped files {mapped[0]:.0f}, then {mapped[1]:.0f} MB"
    yield Comparison(work, "MB", sizes[1], peer, sizes[0], _FLAT, "less", note)


def runs(pairs: int = _PAIRS, zips: int = _ZIPS) -> Iterator[Comparison]:
    """Compare runs beside a web view that gets 20 requests a second, and has streams of events, with runs alone."""
    meter = Meter()
    taken: dict[bool, list[Taken]] = {False: [], True: []}
    with scratch() as folder:
        drop(folder / "drop", zips)
        for number in range(2 * pairs):
            root, is_asked = folder / f"farm{number}", bool((number + number // 2) % 2)  # in turns, each first as often
            workspace(root, f"file://{folder / 'drop'}/")
            windrow.init(root)
            with _asked(root) if is_asked else nullcontext():
                began, before = time.monotonic(), meter.seconds
                with meter:
                    command = [sys.executable, "-m", "benchmarks.pipeline", str(root)]
                    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                taken[is_asked].append(Taken(time.monotonic() - began, meter.seconds - before))
    note = f"medians of {pairs} pairs, {zips:,} zips; {_PER_SECOND} requests a second and {_STREAMS} streams of events"
    for name in Taken._fields:
        beside, alone = (
            statistics.median(getattr(each, name) for each in taken[is_asked]) for is_asked in (True, False)
        )
        work = f"a run beside the web view, {name}"
        yield Comparison(work, "s", beside, "alone", alone, _SLOWER, "less", note)


@contextmanager
def _asked(root: Path) -> Iterator[None]:
    """In the block, serve a workspace, and send requests to its web view, steadily; streams of events stay open."""
    port, ended = free_port(), threading.Event()
    with running(_serve(root, port), root.parent / "serve.log", port), ExitStack() as stack:
        connection = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)))
        _ask(connection, "/")

        def ask_steadily() -> None:
            began, streams = time.monotonic(), 0
            for number in range(10**9):
                if ended.wait(max(0.0, began + number / _PER_SECOND - time.monotonic())):
                    return
                _ask(connection, _ASKED_IN_RUNS[number % len(_ASKED_IN_RUNS)])
                if streams < _STREAMS and number > _PER_SECOND:  # the session is there
                    stream = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)))
                    stream.request("GET", "/sessions/1/events")
                    streams += 1

        asking = threading.Thread(target=ask_steadily)
        asking.start()
        try:
            yield
        finally:
            ended.set()
            asking.join()


def _serve(root: Path, port: int) -> list[str]:
    return [sys.executable, "-m", "windrow", "serve", "--port", str(port), "--workspace", str(root)]


def _ask(connection: http.client.HTTPConnection, target: str) -> None:
    connection.request("GET", target)
    answer = connection.getresponse()
    answer.read()
    if answer.status >= http.client.INTERNAL_SERVER_ERROR:
        raise RuntimeError(f"{target}: status {answer.status}")
