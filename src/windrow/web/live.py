"""The progress of a session as a stream of events, read from the ledger once for all streams of the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress

from windrow.app import Windrow
from windrow.app.session_progress import SessionProgress, read_progress
from windrow.caps import WEB_STREAMS
from windrow.errors import StoreError, WindrowError
from windrow.formats.text import dump_json, to_json_value
from windrow.web.worker import Workers

_INTERVAL_SECONDS = 2.0
"""The time between two readings of the ledger, however many streams there are."""


class _Watch:
    """The latest progress of one session, for all of its streams."""

    def __init__(self, progress: SessionProgress) -> None:
        self.progress = progress
        self.streams = 0
        self.changed = asyncio.Event()
        self.reading: asyncio.Task[None] | None = None


class LiveSessions:
    """The streams of events of one web view. `is_stopping` says whether the server ends: then the streams end, too."""

    def __init__(self, workspace: Windrow, workers: Workers, is_stopping: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._workers = workers
        self._is_stopping = is_stopping
        self._watches: dict[int, _Watch] = {}

    async def open(self, number: int) -> AsyncIterator[str]:
        """Return a stream: the progress of a session whenever it changes, and the event `end` when it has ended.

        Raise StoreError if there are as many streams as there may be, and WindrowError for an unknown session.
        """
        watch = self._watches.get(number) or _Watch(await self._read(number, None))
        if sum(each.streams for each in self._watches.values()) >= WEB_STREAMS.number:
            message = f"{WEB_STREAMS.number} streams of events are open, and more are refused"
            raise StoreError(message, hint="load the page again to see how far the session is")
        events = self._events(number, self._watches.setdefault(number, watch))
        first = await anext(events)  # so that the stream is counted before another one is let in
        return _continue(first, events)

    async def _events(self, number: int, watch: _Watch) -> AsyncGenerator[str]:
        watch.streams += 1
        if watch.reading is None and watch.progress.running:
            watch.reading = asyncio.create_task(self._keep_reading(watch))
        try:
            while True:
                yield _spell_event(watch.progress)
                if not watch.progress.running or self._is_stopping():
                    break
                await watch.changed.wait()
            if not watch.progress.running:
                yield "event: end\ndata: {}\n\n"
        finally:
            watch.streams -= 1
            if not watch.streams:
                self._watches.pop(number, None)
                if watch.reading is not None:
                    watch.reading.cancel()

    async def _keep_reading(self, watch: _Watch) -> None:
        while watch.progress.running and not self._is_stopping():
            await asyncio.sleep(_INTERVAL_SECONDS)
            with suppress(WindrowError):  # the ledger may be busy; the next reading tells what this one could not
                watch.progress = await self._read(watch.progress.session, watch.progress)
            previous, watch.changed = watch.changed, asyncio.Event()
            previous.set()
        watch.changed.set()

    async def _read(self, number: int, earlier: SessionProgress | None) -> SessionProgress:
        def read() -> SessionProgress:
            with self._workspace.open_ledger() as ledger:
                return read_progress(ledger, number, earlier)

        return await self._workers.run(read)


async def _continue(first: str, events: AsyncGenerator[str]) -> AsyncIterator[str]:
    async with aclosing(events):
        yield first
        async for event in events:
            yield event


def _spell_event(progress: SessionProgress) -> str:
    value = {**to_json_value(progress), "texts": dict(progress.texts())}
    return f"data: {dump_json(value)}\n\n"
