"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clock import real_clock  # noqa: F401
from tests.faults.workspace import DropsWorkspace


@pytest.fixture
def make_workspace(tmp_path: Path) -> Iterator[Callable[..., DropsWorkspace]]:
    """Return a function that makes the workspace of a test; runs that are still going are killed after the test."""
    with ExitStack() as ends:

        def make(settings: str = "", run: str = "") -> DropsWorkspace:
            workspace = DropsWorkspace(tmp_path / "w", settings, run)
            ends.callback(workspace.end)
            return workspace

        yield make


@pytest.fixture(scope="module")
def make_shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that makes a workspace which all tests of a module read."""
    return lambda settings="", run="": DropsWorkspace(tmp_path_factory.mktemp("faults") / "w", settings, run)
