"""What the tests of a whole harvest share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Place]:
    """Return what makes the workspace of a test."""
    return lambda settings="", run="": Place(tmp_path / "w", settings, run)
