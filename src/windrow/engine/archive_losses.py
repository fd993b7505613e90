"""Find the WARC files of the archive that are missing or too short; the archive is not opened for it."""

from __future__ import annotations

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
    """Return a message for each WARC file on the ledger that is missing or too short, with what to do next.

    `read_recorded_ends` returns the recorded ends, which are explained at `repair_archive`. It is called again if a
    file is missing: a run may have removed a file of unarchived responses after the first call. There is no message for
    a file whose loss the user accepts.
    """
    losses = describe_lost_files(folder, read_recorded_ends())
    still_recorded = read_recorded_ends() if losses else {}
    return [message for name, message in losses.items() if name in still_recorded]
