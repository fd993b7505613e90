"""A fetcher process: it runs lanes, keeps what comes, and reports in batches."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from multiprocessing.connection import Connection as Pipe

from windrow.engine.lane import run_lane
from windrow.engine.message import Event, Keep, Lane
from windrow.stores.archive import Keeper
from windrow.transports.registry import transport_for

PAUSE = 0.05
"""Seconds between two reports."""


class Fetcher:
    """Lanes in, events out, over one pipe to the engine."""

    def __init__(self, pipe: Pipe, keeper: Keeper) -> None:
        """Report to `pipe` what goes into `keeper`."""
        self._pipe = pipe
        self._keeper = keeper
        self._events: list[Event] = []
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def report(self, event: Event) -> None:
        """Note an event for the next report; called from any thread."""
        with self._lock:
            self._events.append(event)

    def send(self) -> None:
        """Report: what it says was kept is on the disk before it is said."""
        with self._lock:
            events, self._events = self._events, []
        if events:
            self._keeper.sync()
            try:
                self._pipe.send(events)
            except (BrokenPipeError, ConnectionResetError):
                os._exit(1)

    async def serve(self) -> None:
        """Run lanes until the pipe says to end or breaks."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._pipe.fileno(), self._receive, ended)
        while not ended.is_set():
            self.send()
            await asyncio.sleep(PAUSE)
        loop.remove_reader(self._pipe.fileno())
        self.send()

    def _receive(self, ended: asyncio.Event) -> None:
        try:
            while self._pipe.poll():
                lane = self._pipe.recv()
                if lane is None:
                    ended.set()
                    return
                self._start(lane)
        except (EOFError, OSError):
            # The engine is gone: what it was not told, it will ask for again.
            os._exit(1)

    def _start(self, lane: Lane) -> None:
        transport = transport_for(lane.site.scheme)
        work = run_lane(lane, transport, self._keeper, self.report)
        if transport.blocking:
            threading.Thread(target=lambda: asyncio.run(work), daemon=True).start()
        else:
            task = asyncio.get_running_loop().create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


def main(pipe: Pipe, prefix: str, keep: Keep) -> None:
    """Run a fetcher; the engine starts this in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = Keeper(keep.folder, prefix, keep.limits, keep.rotate, keep.agent)
    asyncio.run(Fetcher(pipe, keeper).serve())
    keeper.close()
    pipe.close()
    # A lane that hangs in a thread must not keep the process alive.
    os._exit(0)
