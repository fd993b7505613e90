"""Where these tests keep their files: on a disk, since what a fall leaves there is what they are about."""

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
