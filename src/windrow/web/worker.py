"""Run queries in a few threads, each with a limit of time, on connections that cannot write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from windrow.caps import WEB_SECONDS
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.sqlite import reads_only
from windrow.stores.time_limit import time_limit

_PARALLEL_QUERIES = 4
"""The number of threads. A query beyond that waits; its time counts from when it was asked."""

_Value = TypeVar("_Value")


class Workers:
    """A pool of threads for queries. What takes too long is stopped at its next query of SQLite, and no one waits."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_PARALLEL_QUERIES, "windrow-web")

    async def run(self, query: Callable[[], _Value]) -> _Value:
        """Return the result of a query; raise WindrowError (TIME_LIMIT) if it is not there after WEB_SECONDS."""
        until = monotonic() + WEB_SECONDS.number

        def run_reading() -> _Value:
            with time_limit(until), reads_only():
                return query()

        future = asyncio.get_running_loop().run_in_executor(self._threads, run_reading)
        try:
            return await asyncio.wait_for(future, WEB_SECONDS.number)
        except TimeoutError:
            message = f"the page was not ready after {WEB_SECONDS.number} seconds"
            raise WindrowError(
                message, hint="ask for a shorter time or fewer sources", reason=Reason.TIME_LIMIT
            ) from None
