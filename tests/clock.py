"""The engine's clock: a test sets it ahead instead of waiting; it is reset after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import Any

import pytest

from windrow import clock
from windrow.engine.fetchers import fetcher_pool

_fetch = fetcher_pool._run_fetcher
_ahead = timedelta()
_resets = 0  # the number of fixtures that will reset the clock


class Clock:
    """Replaces the engine's `datetime`: its time is wrong by what a function returns; it still parses times."""

    fromisoformat = staticmethod(datetime.fromisoformat)
    fromtimestamp = staticmethod(datetime.fromtimestamp)

    def __init__(self, wrong: Callable[[], timedelta]) -> None:
        self.wrong = wrong

    def now(self, zone: tzinfo) -> datetime:
        """Return the present time plus the error."""
        return datetime.now(zone) + self.wrong()


def pass_time(seconds: float) -> None:
    """Advance the engine's clock in this process and in fetchers that it starts from now on.

    Only a test with `real_clock` may do so: otherwise the tests after it in this process would run in the future.
    """
    assert _resets, "import `real_clock` from tests.clock into this file or its conftest"
    _set(_ahead + timedelta(seconds=seconds))


def present() -> datetime:
    """Return the present time by the engine's clock."""
    return clock.now()


def _set(ahead: timedelta) -> None:
    global _ahead  # noqa: PLW0603
    _ahead = ahead
    clock.datetime = Clock(lambda: ahead) if ahead else datetime  # type: ignore[attr-defined, assignment]
    fetcher_pool._run_fetcher = partial(_fetch_ahead, ahead) if ahead else _fetch


def _fetch_ahead(ahead: timedelta, *words: Any) -> None:
    """Run a fetcher process whose clock is ahead."""
    _set(ahead)
    _fetch(*words)


@contextmanager
def _resetting() -> Iterator[None]:
    global _resets  # noqa: PLW0603
    _resets += 1
    try:
        yield
    finally:
        _resets -= 1
        _set(timedelta())


@pytest.fixture(autouse=True)
def real_clock() -> Iterator[None]:
    """Reset the clock after each test."""
    with _resetting():
        yield


@pytest.fixture(scope="module")
def real_clock_after_module() -> Iterator[None]:
    """Reset the clock after a module: for its own fixtures, which are set up before `real_clock`."""
    with _resetting():
        yield
