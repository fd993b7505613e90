"""Repair the archive after a crash: cut its files back to the last captures that are on the ledger."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep, time

from windrow.archive.capture_sink import LARGE, LOCK, PARTS, UNARCHIVED
from windrow.archive.part_file import find_document
from windrow.errors import ArchiveError, ConfigError

FORTNIGHT = 14 * 86400  # seconds
OWNER = ".ledger"
"""The file of an archive with the identity of its ledger."""
_OURS = re.compile(r"windrow-[0-9]+-[0-9]+-[0-9]{5}\.warc(?:\.gz)?|large-.+\.warc|unarchived-.+\.warc(?:\.gz)?")
"""The names of the WARC files that a session writes."""


_PATIENCE = 30.0
"""The seconds to wait for the processes of another run to end."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock the archive against all writers; ArchiveError if one still writes after 30 s.

    The fetchers of a killed run take a moment to end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        until = monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > until:
                    raise ArchiveError(f"another process still writes to {folder}") from None
                sleep(0.05)
        yield
    finally:
        os.close(lock)


def refuse_other_ledger(folder: Path, ledger: str, promised: Mapping[str, int]) -> None:
    """Raise ConfigError if an archive belongs to another ledger: repairing it by this one would remove its captures.

    `ledger` is the identity of this ledger, empty before its first session.
    """
    try:
        owner = (folder / OWNER).read_text()
    except FileNotFoundError:
        owner = ""
    files = [path.name for path in (*folder.glob("*.warc"), *folder.glob("*.warc.gz"))]
    if owner:
        is_foreign = owner != ledger
    elif not ledger:
        is_foreign = bool(files)
    else:  # the archive has no mark
        is_foreign = bool(files and promised) and not any(name in promised for name in files)
    if is_foreign:
        problem = "that this ledger did not write" if ledger else "and the ledger is new"
        holds = f"holds WARC files {problem}" if files else "belongs to another ledger"
        hint = "set ledger.path to the archive's own ledger, or archive.folder to another folder"
        hint += f"; if the archive is empty and not needed: rm {folder / OWNER}" if not files else ""
        raise ConfigError(f"the archive {folder} {holds}; nothing in it was touched", hint=hint)


def mark_ledger(folder: Path, ledger: str) -> None:
    """Write the identity of its ledger into an archive."""
    path = folder / OWNER
    if not path.exists() or path.read_text() != ledger:
        part = folder / f"{OWNER}.part"
        part.write_text(ledger)
        part.replace(path)


def mend(folder: Path, promised: Mapping[str, int]) -> list[str]:
    """Cut every file back to its last capture on the ledger; return a line for each repair.

    `promised` maps a file's name to the end of its last capture on the ledger. Bytes after that end
    were written but never recorded, so they will be fetched again; a large transfer that was
    complete but not recorded becomes a part file again, and need not be fetched. Files with names that
    windrow does not give are left alone.
    """
    messages = []
    for path in sorted([*folder.glob("*.warc"), *folder.glob("*.warc.gz")]):
        end, size = promised.get(path.name, 0), path.stat().st_size
        if size == end or not (end or _OURS.fullmatch(path.name)):
            continue
        if size < end:
            messages.append(f"{path.name} has {size} bytes, the ledger expects {end}: captures in it are lost")
        elif end:
            with path.open("r+b") as file:
                file.truncate(end)
            messages.append(f"{path.name} cut back from {size} to {end} bytes")
        elif path.name.startswith(LARGE):
            messages.append(_restore_part(folder, path))
        else:
            path.unlink()
            if not path.name.startswith(UNARCHIVED):  # its responses are not needed any more
                messages.append(f"{path.name} removed: nothing in it was recorded")
    missing_names = [name for name in promised if not (folder / name).exists()]
    return messages + [f"{name} is missing: captures in it are lost" for name in missing_names]


def _restore_part(folder: Path, path: Path) -> str:
    """Make a complete large capture a part file again, or remove it if it is broken; return a line about it."""
    with path.open("rb") as file:
        head = file.read(65536)
    try:
        at, record = find_document(head)
        end = at + record.length + int(record.fields["content-length"])
    except (ArchiveError, KeyError, ValueError):
        path.unlink()
        return f"{path.name} removed: it is not a WARC file"
    with path.open("r+b") as file:
        file.truncate(end)
    path.rename(folder / PARTS / path.name.removeprefix(LARGE))
    return f"{path.name} is a part file again: it was not recorded"


def sweep(folder: Path) -> None:
    """Remove part files that no transfer has touched for a fortnight: their documents have changed or were removed."""
    for path in (folder / PARTS).glob("*.warc"):
        if time() - path.stat().st_mtime > FORTNIGHT:
            path.unlink()
