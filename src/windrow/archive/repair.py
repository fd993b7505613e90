"""Lock the archive, check which ledger it belongs to, and make it agree with the ledger after a crash."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep, time

from windrow.archive.capture_sink import LARGE_PREFIX, LOCK_FILE, PARTS_FOLDER, UNARCHIVED_PREFIX
from windrow.archive.part_file import read_first_records
from windrow.errors import ArchiveError, ConfigError
from windrow.private_files import write_whole

MAX_PART_AGE = 14 * 86400  # seconds
LEDGER_MARK = ".ledger"
"""The name of the file in an archive that contains the identity of the archive's ledger."""
DAMAGED_SUFFIX = ".damaged"
"""The suffix that replaces `.warc` in the name of a broken large file. windrow neither reads nor removes such files."""
_SESSION_FILE = re.compile(r"windrow-[0-9]+-[0-9]+-[0-9]{5}\.warc(?:\.gz)?|large-.+\.warc|unarchived-.+\.warc(?:\.gz)?")
"""Matches the names of the WARC files that a session writes."""

_LOCK_TIMEOUT = 30.0
"""The time to wait for the processes of another run to end, in seconds. Fetchers end soon after their run."""


@contextmanager
def lock_archive(folder: Path) -> Iterator[None]:
    """Keep all writers out of the archive in the block; raise ArchiveError if one is still writing after 30 seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        deadline = monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > deadline:
                    raise ArchiveError(f"{folder} cannot be locked: another process writes to it") from None
                sleep(0.05)
        yield
    finally:
        os.close(lock)


def refuse_other_ledger(folder: Path, ledger: int, recorded_ends: Mapping[str, int]) -> None:
    """Raise ConfigError if an archive belongs to another ledger, whose captures `repair_archive` would remove.

    `ledger` is the identity of this ledger, or 0 before its first session. Without a number as a mark in the archive,
    the names of its files are compared with `recorded_ends`, which is explained at `repair_archive`.
    """
    marked_ledger = _read_mark(folder)
    files = [path.name for path in (*folder.glob("*.warc"), *folder.glob("*.warc.gz"))]
    if marked_ledger is not None:
        is_foreign = marked_ledger != ledger
    elif not ledger:
        is_foreign = bool(files)
    else:  # the archive does not have the file `LEDGER_MARK`
        is_foreign = bool(files and recorded_ends) and not any(name in recorded_ends for name in files)
    if is_foreign:
        contrast = "that this ledger did not write" if ledger else "and the ledger is new"
        problem = f"contains WARC files {contrast}" if files else "belongs to another ledger"
        hint = "set ledger.path to the archive's own ledger, or archive.folder to another folder"
        hint += f"; if the archive is empty and not needed: rm {folder / LEDGER_MARK}" if not files else ""
        raise ConfigError(f"the archive {folder} {problem}; nothing in it was touched", hint=hint)


def _read_mark(folder: Path) -> int | None:
    """Return the identity of the ledger that is marked in an archive, or None if there is no number."""
    with suppress(FileNotFoundError, ValueError):  # an unreadable mark protects as little as none
        return int((folder / LEDGER_MARK).read_text())
    return None


def mark_ledger(folder: Path, ledger: int) -> None:
    """Write the identity of the archive's ledger into the archive, unless it is there already."""
    if _read_mark(folder) != ledger:
        write_whole(folder / LEDGER_MARK, (str(ledger),))


def repair_archive(folder: Path, recorded_ends: Mapping[str, int]) -> list[str]:
    """Truncate each WARC file in the folder after its last capture on the ledger, and return messages on what changed.

    `recorded_ends` maps a file's name to the offset where its last capture on the ledger ends. Bytes after that were
    written but not recorded, so they will be fetched again. A session's file without a recorded capture is removed or,
    if it is of a large transfer, becomes a part file again; it is renamed if it is broken. There is a message for each
    file that was changed, but not for removed files of unarchived responses.
    """
    messages = []
    for path in sorted([*folder.glob("*.warc"), *folder.glob("*.warc.gz")]):
        if path.is_symlink():  # the session that was killed did not create it, and its target may be anywhere
            continue
        end, size = recorded_ends.get(path.name, 0), path.stat().st_size
        if size <= end or not (end or _SESSION_FILE.fullmatch(path.name)):
            continue
        if end:
            with path.open("r+b") as file:
                file.truncate(end)
            messages.append(f"{path.name} was cut from {size} to {end} bytes, after its last recorded capture")
        elif path.name.startswith(LARGE_PREFIX):
            messages.append(_restore_part(folder, path))
        else:
            path.unlink()
            if not path.name.startswith(UNARCHIVED_PREFIX):  # its responses are not needed any more
                messages.append(f"{path.name} was removed: the ledger has none of its captures")
    return messages


def _restore_part(folder: Path, path: Path) -> str:
    """Make the file of a large transfer a part file again, or rename it if it is broken. Return a message."""
    with path.open("r+b") as file:
        try:
            offset, header, _ = read_first_records(file.fileno())
            end = offset + header.length + max(0, int(header.fields["content-length"]))
        except (ArchiveError, KeyError, ValueError):
            kept_path = path.with_suffix(DAMAGED_SUFFIX)
            path.rename(kept_path)
            return f"{path.name} is not a WARC file, and its capture is not on the ledger: renamed to {kept_path.name}"
        file.truncate(min(end, path.stat().st_size))
    (folder / PARTS_FOLDER).mkdir(exist_ok=True)
    path.rename(folder / PARTS_FOLDER / path.name.removeprefix(LARGE_PREFIX))
    return f"{path.name} is a part file again: the ledger does not have its capture"


def remove_old_parts(folder: Path) -> None:
    """Remove part files that have not changed for 14 days, since their documents have probably changed or gone."""
    for path in (folder / PARTS_FOLDER).glob("*.warc"):
        if time() - path.stat().st_mtime > MAX_PART_AGE:
            path.unlink()
