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
    """Handle SIGINT and SIGTERM with `handler` in the block; outside the main thread this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old_handlers = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler_ in old_handlers.items():
            signal.signal(number, handler_)


OBJECTS = 100_000
"""New objects before the garbage collector runs; Python's own default is 700, and 2,000 from 3.13 on."""


@contextmanager
def rare_gc() -> Iterator[None]:
    """Run the garbage collector rarely in the block: rows have no cycles, and searching thousands of them is slow.

    >>> with rare_gc():
    ...     gc.get_threshold()[0]
    100000
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def lower_limit(kind: int, limit: int) -> int:
    """Lower a limit of this process (a `resource.RLIMIT_...`); return it, which is at most the present limit."""
    limits = resource.getrlimit(kind)
    allowed = min([limit, *(limit for limit in limits if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(kind, (allowed, limits[1]))
    return allowed


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, however that ends.

    Only the parent holds the other end of its sentinel, a pipe to which nothing is written. So the parent's end is
    the only event on it, and its signal also ends a process that is in a library. Otherwise processes forked from the
    server would keep it alive, since it ends when no process of the run is left.
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
"""The modules that processes need; `__main__` only if a collection's functions are in the script."""

_starting = threading.Lock()


@contextmanager
def _script_unread() -> Iterator[None]:
    """Start the processes of this thread without running the script of their parent.

    A process of multiprocessing runs that script again, which would begin a second run if it has no
    `if __name__ == "__main__"`. There is no setting for this, so the function that returns a process's preparation is
    replaced while one is started. Other threads that start processes meanwhile are not affected.
    """
    with _starting:
        prepare, thread = spawn.get_preparation_data, threading.get_ident()

        def prepare_without_script(name: str) -> dict[str, Any]:
            preparation = prepare(name)
            if threading.get_ident() != thread:
                return preparation
            return {key: value for key, value in preparation.items() if not key.startswith("init_main_")}

        spawn.get_preparation_data = prepare_without_script
        try:
            yield
        finally:
            spawn.get_preparation_data = prepare


PATIENCE = 10.0
"""Seconds for which starting is retried while the server of processes does not answer."""


def start(process: BaseProcess) -> None:
    """Start a process without running the script that started this one, unless its steps are in that script.

    If the server of processes is killed meanwhile, it is started anew, and the start is repeated.
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
    """Start the server, so that it imports in the background; does nothing if it runs already.

    The transports of `schemes` are imported once, in the server, and not in every fetcher. `modules` are those of a
    collection's functions, which readers and fetchers need.
    """
    _needed.update(modules := set(modules))
    needed = {TRANSPORTS[scheme].module for scheme in schemes if scheme in TRANSPORTS} | modules
    CONTEXT.set_forkserver_preload([*PRELOADED, *sorted(needed - {"__main__"})])
    # Ctrl-C goes to all processes of a terminal, and the one that began the run decides what it means. The server and
    # what is forked from it inherit the mask, so that none is ended while it still imports.
    resource_tracker.ensure_running()  # it would lift the mask
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
