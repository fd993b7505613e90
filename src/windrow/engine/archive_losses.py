"""Find the WARC files of the archive that are missing or too short; the archive is not opened for it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

ACCEPTED_LOSS_SUFFIX = ".lost"
"""The suffix of an empty file beside a WARC file, with which the user accepts the loss of the WARC file."""


def find_losses(folder: Path, read_recorded_ends: Callable[[], Mapping[str, int]]) -> list[str]:
    """Return a message for each WARC file on the ledger that is missing or too short, with what to do next.

    `read_recorded_ends` returns the recorded ends, which are explained at `repair_archive`. It is called again if a
    file is missing: a run may have removed a file of unarchived responses after the first call. There is no message for
    a file whose loss the user accepts.
    """
    losses: dict[str, str] = {}
    for name, end in sorted(read_recorded_ends().items()):
        path, accepted_path = folder / name, folder / f"{name}{ACCEPTED_LOSS_SUFFIX}"
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            problem = "is missing"
        else:
            problem = f"has {size:,} bytes, but the ledger expects {end:,}" if size < end else ""
        if problem and not accepted_path.exists():
            losses[name] = (
                f"{path} {problem}: captures in it are lost; restore it from a backup, or accept the loss: "
                f"touch {shlex.quote(str(accepted_path))}"
            )
    still_recorded = read_recorded_ends() if losses else {}
    return [message for name, message in losses.items() if name in still_recorded]
