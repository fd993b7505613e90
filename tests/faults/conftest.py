"""What the fault tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clock import real_clock  # noqa: F401
from tests.faults.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Return what makes the workspace of a test; the runs that it starts end with the test."""
    with ExitStack() as ends:

        def make(settings: str = "", run: str = "") -> Place:
            made = Place(tmp_path / "w", settings, run)
            ends.callback(made.end)
            return made

        yield make


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what makes a workspace that the tests of a module look at together."""
    return lambda settings="", run="": Place(tmp_path_factory.mktemp("faults") / "w", settings, run)
