"""Find the WARC files of the archive that are missing, too short or not readable; they are not opened for it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

ACCEPTED_LOSS_SUFFIX = ".lost"
"""The suffix of an empty file beside a WARC file, with which the user accepts the loss of the WARC file."""


def find_lost_files(folder: Path, recorded_ends: Mapping[str, int]) -> dict[str, str]:
    """Return a dict from the name of each WARC file that is missing or too short to what is wrong with it."""
    lost_files = {}
    for name, end in sorted(recorded_ends.items()):
        try:
            size = (folder / name).stat().st_size
        except FileNotFoundError:
            lost_files[name] = "is missing"
        else:
            if size < end:
                lost_files[name] = f"has {size:,} bytes, but the ledger expects {end:,}"
    return lost_files


def describe_lost_files(folder: Path, recorded_ends: Mapping[str, int]) -> dict[str, str]:
    """Return a dict from file to message for what `find_lost_files` returns, without losses that the user accepted."""
    losses: dict[str, str] = {}
    for name, problem in find_lost_files(folder, recorded_ends).items():
        accepted_path = folder / f"{name}{ACCEPTED_LOSS_SUFFIX}"
        if not accepted_path.exists():
            losses[name] = (
                f"{folder / name} {problem}: captures in it are lost; restore it from a backup, or accept the loss: "
                f"touch {shlex.quote(str(accepted_path))}"
            )
    return losses


def find_losses(folder: Path, read_recorded_ends: Callable[[], Mapping[str, int]]) -> list[str]:
    """Return a message, with what to do, for each WARC file on the ledger that is missing, too short or not readable.

    `read_recorded_ends` returns the recorded ends, which are explained at `repair_archive`. It is called again if a
    file is missing: a run may have removed a file of unarchived responses after the first call. There is no message for
    a file whose loss the user accepts.
    """
    recorded_ends = read_recorded_ends()
    losses = describe_lost_files(folder, recorded_ends)
    still_recorded = read_recorded_ends() if losses else {}
    return [
        *(message for name, message in losses.items() if name in still_recorded),
        *(f"{path}: {UNREADABLE_FILE}" for name in sorted(recorded_ends) if is_unreadable(path := folder / name)),
    ]


UNREADABLE_FILE = "this user may not read the file; let its owner give the right to read it: chmod u+r, chown or chgrp"


def is_unreadable(path: Path) -> bool:
    """Return whether a file exists, and this user may not read it."""
    return path.exists() and not os.access(path, os.R_OK)
