"""While one file is stored, its connection is told to expect the next, if that is small and there is no pace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

from windrow.archive import ArchiveWriter
from windrow.archive.capture_sink import MAX_BODY_IN_MEMORY
from windrow.engine.fetchers.message import AttemptEnded, Event, TransferBatch
from windrow.engine.listed.connection_pool import ConnectionPool
from windrow.engine.listed.transfer import run_batch
from windrow.fetch.transport import Connection, Sink, TransferEnd
from windrow.model import FetchJob, Limits, ListedFile, ListingEntry, Site


class LoggingConnection(Connection):
    """A connection that logs its calls; it halts its pool after the file `halt`."""

    def __init__(self, pool: ConnectionPool) -> None:
        self.calls: list[str] = []
        self._pool = pool

    async def list(self, folder: str) -> list[ListingEntry] | None:
        raise AssertionError(folder)

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        self.calls.append(f"get {path}")
        sink.open(sink.listed_size)
        sink.write(bytes(1 if sink.listed_size is None else sink.listed_size))
        if path == "halt":
            self._pool.halt()
        return TransferEnd()

    def expect(self, path: str) -> None:
        self.calls.append(f"expect {path}")

    async def close(self) -> None:
        self.calls.append("close")


class OneConnectionTransport:
    """A transport with that one connection."""

    schemes: ClassVar[frozenset[str]] = frozenset({"toy"})
    blocking: ClassVar[bool] = False
    parallel: ClassVar[int] = 1

    def __init__(self, connection: LoggingConnection) -> None:
        self.connection = connection

    async def connect(self, site: Site) -> LoggingConnection:
        del site
        return self.connection


def listed(target: int, path: str, size: int | None, *, compared: bool = False) -> FetchJob:
    return FetchJob(target, f"toy://host/{path}", file=ListedFile(path, size, compared=compared))


def calls_of_batch(folder: Path, *jobs: FetchJob, pace: float = 0.0) -> list[str]:
    """Return the calls of a connection in a batch."""
    pool, events = ConnectionPool(), list[Event]()
    transport = OneConnectionTransport(LoggingConnection(pool))
    archive = ArchiveWriter(folder, "toy", Limits(), 1 << 30, "toy")
    batch = TransferBatch(1, Site("toy", "host"), jobs, pace=pace)
    asyncio.run(run_batch(batch, transport, archive, pool, events.append))
    archive.close()
    assert not [event for event in events if isinstance(event, AttemptEnded) and event.attempt.reason]
    return transport.connection.calls


def test_the_next_small_file_is_expected_before_the_last_is_kept(tmp_path: Path) -> None:
    jobs = [listed(number, f"{number}", size) for number, size in enumerate((5, MAX_BODY_IN_MEMORY, 0))]
    assert calls_of_batch(tmp_path, *jobs) == ["get 0", "expect 1", "get 1", "expect 2", "get 2"]


@pytest.mark.parametrize("second", [listed(2, "b", None), listed(2, "b", MAX_BODY_IN_MEMORY + 1)])
def test_what_may_be_large_is_not_expected(second: FetchJob, tmp_path: Path) -> None:
    assert calls_of_batch(tmp_path, listed(1, "a", 5), second) == ["get a", "get b"]


def test_what_is_only_compared_is_not_expected(tmp_path: Path) -> None:
    compared = listed(2, "b", 5, compared=True)
    assert calls_of_batch(tmp_path, listed(1, "a", 5), compared) == ["get a", "get b"]


def test_nothing_is_expected_over_a_connection_with_a_pace(tmp_path: Path) -> None:
    jobs = [listed(number, f"{number}", 5) for number in range(2)]
    assert calls_of_batch(tmp_path, *jobs, pace=0.001) == ["get 0", "get 1"]


def test_nothing_is_expected_once_the_batch_is_halted(tmp_path: Path) -> None:
    assert calls_of_batch(tmp_path, listed(1, "halt", 5), listed(2, "b", 5)) == ["get halt"]
