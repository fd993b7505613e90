"""Signals, limits, garbage collection, and the server that child processes are forked from."""

from __future__ import annotations

import fcntl
import gc
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import forkserver, parent_process, resource_tracker, spawn
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

from windrow.fetch.transport import TRANSPORTS


@contextmanager
def signals_to(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Give SIGINT and SIGTERM to a handler, and back to whose they were; outside the main thread nobody hears."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


OBJECTS = 100_000
"""Objects that may be made before the young ones are looked through; Python's own is 700, from 3.13 on 2,000."""


@contextmanager
def rare_gc() -> Iterator[None]:
    """Look for circles seldom: rows by the ten thousand hold none, and looking through them again and again takes long.

    >>> with rare_gc():
    ...     gc.get_threshold()[0]
    100000
    """
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def lower_limit(kind: int, wanted: int) -> int:
    """Set a limit of this process (a `resource.RLIMIT_...`), and return it: never above the limits that it has."""
    limits = resource.getrlimit(kind)
    allowed = min([wanted, *(limit for limit in limits if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(kind, (allowed, limits[1]))
    return allowed


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, however that ends.

    The parent alone holds the other end of its sentinel, a pipe to which nothing is written any more. So its end is
    the only event there, and its signal ends a process that is in a library, too. What is forked from the server would
    else keep the server alive, which ends when no process of the run is left.
    """
    parent = parent_process()
    assert parent is not None
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, os.O_ASYNC)
    if wait([parent.sentinel], 0):  # it ended before
        os._exit(1)


CONTEXT = multiprocessing.get_context("forkserver")

PRELOADED = ("windrow.engine.fetchers.fetcher", "windrow.engine.steps.worker")
CONTEXT.set_forkserver_preload([*PRELOADED])


_needed: set[str] = set()
"""The modules that processes need: `__main__` among them only where a collection's functions are in the script."""

_starting = threading.Lock()


@contextmanager
def _script_unread() -> Iterator[None]:
    """Have processes that this thread starts leave the script of their parent unread.

    A process of multiprocessing runs that script once more, which would begin a second run where it has no
    `if __name__ == "__main__"`. There is no setting for this, so the function that says what a process does first is
    replaced as long as one is started. Other threads that start processes meanwhile get what they always did.
    """
    with _starting:
        prepare, thread = spawn.get_preparation_data, threading.get_ident()

        def prepare_without_script(name: str) -> dict[str, Any]:
            data = prepare(name)
            if threading.get_ident() != thread:
                return data
            return {key: value for key, value in data.items() if not key.startswith("init_main_")}

        spawn.get_preparation_data = prepare_without_script
        try:
            yield
        finally:
            spawn.get_preparation_data = prepare


PATIENCE = 10.0
"""Seconds for which a server of processes that does not answer is asked again."""


def start(process: BaseProcess) -> None:
    """Start a process without running the script that started this one, unless its steps are in that script.

    The server of processes may be killed while it is asked: then it is started anew, and asked again.
    """
    until = time.monotonic() + PATIENCE
    with nullcontext() if "__main__" in _needed else _script_unread():
        while process.pid is None:
            try:
                process.start()
            except (EOFError, ConnectionError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)  # until the server that was killed is gone


def warm_up(schemes: Iterable[str] = (), modules: Iterable[str] = ()) -> None:
    """Start the server, so that it imports while we do something else; nothing happens where it runs.

    The transports of `schemes` are imported once, in the server, and not in every fetcher. `modules` are those of a
    collection's functions, which readers and fetchers need.
    """
    _needed.update(modules := set(modules))
    needed = {TRANSPORTS[scheme].module for scheme in schemes if scheme in TRANSPORTS} | modules
    CONTEXT.set_forkserver_preload([*PRELOADED, *sorted(needed - {"__main__"})])
    # Ctrl-C goes to all processes of a terminal, and the one that began the run decides what it means. The server and
    # what is forked from it inherit the mask, so that none is ended while it still imports.
    resource_tracker.ensure_running()  # it would lift the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
