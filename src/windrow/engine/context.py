"""How the engine starts its processes: forked from a server that has the slow imports behind it."""

from __future__ import annotations

import multiprocessing

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["windrow.engine.fetcher", "windrow.engine.worker"])
