"""How the engine starts its processes: forked from a server that has the slow imports behind it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable
from multiprocessing import forkserver

CONTEXT = multiprocessing.get_context("forkserver")

ALWAYS = ("windrow.engine.fetcher", "windrow.engine.worker")
_WEB = "windrow.transports.request"
SOMETIMES = {"sftp": "windrow.transports.remote", "http": _WEB, "https": _WEB}
"""What a scheme needs beside: imported once, in the server, and not in every fetcher."""

CONTEXT.set_forkserver_preload([*ALWAYS])


def warm(schemes: Iterable[str] = (), modules: Iterable[str] = ()) -> None:
    """Start the server, so that it imports while we do something else; nothing happens where it runs.

    `modules` are those of a collection's functions, which readers and fetchers need.
    """
    needed = {SOMETIMES[one] for one in schemes if one in SOMETIMES} | set(modules)
    CONTEXT.set_forkserver_preload([*ALWAYS, *sorted(needed - {"__main__"})])
    forkserver.ensure_running()
