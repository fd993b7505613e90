"""Signals, limits, shared memory and garbage collection of processes, and the server from which they are forked."""

from __future__ import annotations

import fcntl
import gc
import mmap
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import forkserver, parent_process, reduction, resource_tracker, spawn
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, Self

from windrow.errors import WindrowError
from windrow.fetch.transports import TRANSPORTS


@contextmanager
def signals_to(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM call `handler` in the block. Outside the main thread, nothing is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old_handlers = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old_handler in old_handlers.items():
            signal.signal(number, old_handler)


GC_THRESHOLD = 100_000
"""The number of new objects after which the garbage collector runs in `rare_gc`. Python's default is 700 or 2,000."""


class SharedNumbers:
    """Whole numbers in memory that this process shares with one other process, which may write anything to it.

    The other process cannot make the memory smaller: reading beyond its end would end this process.
    """

    def __init__(self, descriptor: int) -> None:
        """Use the memory of a descriptor, which is closed with this object."""
        self._descriptor = descriptor
        self.numbers = memoryview(mmap.mmap(descriptor, mmap.PAGESIZE)).cast("q")

    @classmethod
    def make(cls, *numbers: int) -> Self:
        """Make shared memory that begins with these numbers, of 64 bits each; all numbers after them are 0."""
        descriptor = os.memfd_create("windrow", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(descriptor, mmap.PAGESIZE)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        shared = cls(descriptor)
        for index, number in enumerate(numbers):
            shared.numbers[index] = number
        return shared

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the memory to a process that is being started."""
        return _open_numbers, (reduction.DupFd(self._descriptor),)

    def __del__(self) -> None:
        os.close(self._descriptor)


def _open_numbers(descriptor: Any) -> SharedNumbers:
    return SharedNumbers(descriptor.detach())


@contextmanager
def rare_gc() -> Iterator[None]:
    """Run the garbage collector rarely in the block: rows are not in cycles, and searching thousands of rows is slow.

    >>> with rare_gc():
    ...     gc.get_threshold()[0]
    100000
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def lower_limit(kind: int, limit: int) -> int:
    """Lower a limit of this process (a `resource.RLIMIT_...`), unless it is lower already. Return the new limit."""
    limits = resource.getrlimit(kind)
    allowed = min([limit, *(limit for limit in limits if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(kind, (allowed, limits[1]))
    return allowed


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent process ends, for whatever reason.

    The parent's sentinel is a pipe to which nothing is written and whose other end only the parent has open. So the end
    of the parent is the only event on it. The kernel's signal also ends a process that is running library code. Without
    this, processes forked from the fork server would keep the server alive after the run.
    """
    parent = parent_process()
    assert parent is not None
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, os.O_ASYNC)
    if wait([parent.sentinel], 0):  # the parent ended before the signal was set up
        os._exit(1)


CONTEXT = multiprocessing.get_context("forkserver")
"""The context of multiprocessing with which all processes and pipes are made."""

PRELOADED_MODULES = ("windrow.engine.fetchers.fetcher", "windrow.engine.steps.worker")
CONTEXT.set_forkserver_preload([*PRELOADED_MODULES])


_needed_modules: set[str] = set()
"""The names of the modules of the collections' functions: `__main__` too if a script defines such functions."""

_start_lock = threading.Lock()


@contextmanager
def _without_main_script() -> Iterator[None]:
    """In the block, start the processes of this thread without running the script of their parent.

    A process of multiprocessing runs that script again, which would begin a second harvest if the script has no `if
    __name__ == "__main__"`. There is no setting for this, so the block replaces multiprocessing's function that returns
    the data for a new process. Other threads that start processes meanwhile are not affected.
    """
    with _start_lock:
        prepare, this_thread = spawn.get_preparation_data, threading.get_ident()

        def prepare_without_script(name: str) -> dict[str, Any]:
            preparation = prepare(name)
            if threading.get_ident() != this_thread:
                return preparation
            return {key: value for key, value in preparation.items() if not key.startswith("init_main_")}

        spawn.get_preparation_data = prepare_without_script
        try:
            yield
        finally:
            spawn.get_preparation_data = prepare


START_RETRY_SECONDS = 10.0
"""The time for which starting a process is retried while the fork server does not answer, in seconds."""


def start_process(process: BaseProcess) -> None:
    """Start a process. It does not run the main script again, unless the script defines functions of a collection.

    Raises WindrowError if the fork server has not answered for START_RETRY_SECONDS.
    """
    deadline = time.monotonic() + START_RETRY_SECONDS
    with nullcontext() if "__main__" in _needed_modules else _without_main_script():
        while process.pid is None:
            try:
                process.start()
            except (EOFError, ConnectionError) as error:
                if time.monotonic() > deadline:
                    raise WindrowError(
                        "processes cannot be started: the fork server, which starts them, was ended repeatedly",
                        hint="look in the machine's log for what ended it, then: windrow run",
                    ) from error
                time.sleep(0.01)  # until the server that was killed is gone


def warm_up(schemes: Iterable[str] = (), modules: Iterable[str] = ()) -> None:
    """Start the fork server, so that it imports modules in the background.

    A server that is already running imports nothing more. The transports of the URL `schemes` are imported once, in the
    server, and not in every fetcher. `modules` are the modules that define a collection's functions, which readers and
    fetchers run.
    """
    _needed_modules.update(modules := set(modules))
    preloaded = {TRANSPORTS[scheme].module for scheme in schemes if scheme in TRANSPORTS} | modules
    CONTEXT.set_forkserver_preload([*PRELOADED_MODULES, *sorted(preloaded - {"__main__"})])
    # Ctrl-C goes to all processes of a terminal, and the one that began the run decides what it means. The server and
    # the processes forked from it inherit the mask, so that none is ended while it is still importing.
    resource_tracker.ensure_running()  # first, since starting it would unblock the signal
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
