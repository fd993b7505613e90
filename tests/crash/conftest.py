"""These tests keep their files on a disk, not in memory: they check what a crash leaves there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Make a folder that is not in memory."""
    folder = Path(tempfile.mkdtemp(prefix="windrow-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)
