"""What the fault tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Place]:
    """Return what makes the workspace of a test."""
    return lambda settings="", run="", **more: Place(tmp_path / "w", settings, run, **more)


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what makes a workspace that the tests of a module look at together."""
    return lambda settings="", run="": Place(tmp_path_factory.mktemp("faults") / "w", settings, run)
