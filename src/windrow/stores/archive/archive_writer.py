"""The pen that writes bytes: one process's way into the archive."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from windrow.errors import DiskFull
from windrow.model import ArchivePlace, Limits
from windrow.stores.archive.repack import arc_record
from windrow.stores.archive.warc_writer import WarcWriter

PARTS = "parts"
LARGE = "large-"
UNARCHIVED = "unarchived-"
"""Files whose names begin so hold answers that are not archived; they are removed once no step waits for these."""
LOCK = ".lock"


def shared_lock(folder: Path) -> int:
    """Say that this process writes to the archive, until it ends; mending waits for it."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


class ArchiveWriter:
    """Append records: compressible bodies to `.warc.gz`, the others to `.warc`."""

    def __init__(
        self, folder: Path, prefix: str, limits: Limits, rotate: int, agent: str, *, archived: bool = True
    ) -> None:
        """Write below `folder`, in files named after `prefix`, which no other process uses.

        What is not to be `archived` goes into files that are removed when nobody needs them any more.
        """
        self._large = LARGE if archived else f"{UNARCHIVED}{LARGE}"
        prefix = prefix if archived else f"{UNARCHIVED}{prefix}"
        self.folder = folder
        self.limits = limits
        self.info = [("software", agent), ("format", "WARC File Format 1.1")]
        self.info.append(
            ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/")
        )
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        self._lock = shared_lock(folder)
        self._sure, self._looked = 0, 0.0  # bytes that fit though nobody looks at the disk, and when one looked
        self._gzip = WarcWriter(folder, prefix, gzip=True, rotate=rotate, info=self.info)
        self._plain = WarcWriter(folder, prefix, gzip=False, rotate=rotate, info=self.info)

    def part_path(self, name: str) -> Path:
        """Return where a large transfer grows."""
        return self.folder / PARTS / f"{name}.warc"

    def large_path(self, name: str) -> Path:
        """Return where it goes when it is whole."""
        return self.folder / f"{self._large}{name}.warc"

    def need_room(self, size: int) -> None:
        """Raise `DiskFull` unless `size` bytes and the spare room fit on the disk."""
        self._sure -= size
        if self._sure >= 0 and time.monotonic() - self._looked < 1.0:
            return
        disk = os.statvfs(self.folder)
        free = disk.f_bavail * disk.f_frsize
        self._sure, self._looked = (free - size - self.limits.spare) // 16, time.monotonic()
        if free < size + self.limits.spare:
            raise DiskFull(
                f"{free} bytes are free, {size} are coming and {self.limits.spare} must stay free",
                hint="make room or lower limits.spare, then: windrow run",
            )

    def append(self, record: bytes, before: bytes, *, plain: bool) -> ArchivePlace:
        """Write a record (and one before it) and return its place."""
        return (self._plain if plain else self._gzip).append(record, before)

    def copy(self, path: Path, offset: int, length: int, *, packed: bool, arc: bool = False) -> ArchivePlace:
        """Write a record of another file as it lies there and return its place; `packed`: it is a gzip member.

        One of an ARC file becomes the WARC record that says the same.
        """
        self.need_room(length)
        if arc:
            return self._gzip.write(arc_record(path, offset, length))
        return (self._gzip if packed else self._plain).copy(path, offset, length)

    def sync(self) -> None:
        """Make everything written so far survive a loss of power."""
        self._gzip.sync()
        self._plain.sync()

    def close(self) -> None:
        """Close the files."""
        self._gzip.close()
        self._plain.close()
        os.close(self._lock)
