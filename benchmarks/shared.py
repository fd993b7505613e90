"""The folder of shared data, which the repository does not hold: WINDROW_SHARED names it, else it lies beside it."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.daemon import Missing


def shared(name: str) -> Path:
    """Return a folder of the shared data: `data/NAME`; raise `Missing` if it is not there."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("WINDROW_SHARED") or beside) / "data" / name
    if not folder.is_dir():
        raise Missing(f"{folder} is not here: WINDROW_SHARED names the folder of shared data")
    return folder
