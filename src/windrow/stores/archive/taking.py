"""Take a WARC file of another maker into the archive, as it is: a second name of it where the disk allows, else a copy."""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from windrow.digest import ALGORITHM, Hasher
from windrow.errors import ArchiveError
from windrow.stores.archive.stranger import GZIP
from windrow.stores.archive.writer import NO_ROOM, guarded

FOREIGN = "foreign"
"""The folder below the archive's that holds them; they are named by their digest, so that twice is once."""

_BLOCK = 1 << 20


class Taken(NamedTuple):
    """A file of the archive: its name below the archive's folder, its digest and size."""

    warc: str
    digest: str
    size: int


def take(archive: Path, path: Path, spare: int) -> Taken:
    """Take a file in; `spare` bytes must stay free on the disk. Raises `ArchiveError`, `DiskFull`."""
    folder = archive / FOREIGN
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
    mine = folder / f".{uuid.uuid4().hex}"
    try:
        _bring(path, mine, spare)
        taken = _named(mine)
        place = archive / taken.warc
        if not place.exists():
            with guarded(place):
                mine.rename(place)
                _settle(folder)
        return taken
    finally:
        with suppress(OSError):
            mine.unlink(missing_ok=True)


def sweep(archive: Path) -> None:
    """Remove what a crash left while a file was taken in."""
    for left in (archive / FOREIGN).glob(".*"):
        left.unlink(missing_ok=True)


def _bring(path: Path, mine: Path, spare: int) -> None:
    try:
        size = path.stat().st_size
        with suppress(OSError):
            os.link(path.resolve(), mine)  # on another disk, or where this is not allowed, it is copied
            return
        disk = os.statvfs(mine.parent)
        if disk.f_bavail * disk.f_frsize < size + spare:
            raise OSError(next(iter(NO_ROOM)), "no room")
        with path.open("rb") as source, guarded(mine), mine.open("wb") as target:
            shutil.copyfileobj(source, target, _BLOCK)
            target.flush()
            os.fsync(target.fileno())
    except OSError as error:
        with guarded(mine):
            if error.errno in NO_ROOM:
                raise
        raise ArchiveError(f"{path} cannot be taken into the archive: {error.strerror}", hint="look at it") from error


def _named(mine: Path) -> Taken:
    """Name a file by its content."""
    hasher = Hasher()
    with guarded(mine), mine.open("rb") as file:
        begin = file.read(len(GZIP))
        hasher.update(begin)
        while block := file.read(_BLOCK):
            hasher.update(block)
    ending = "warc.gz" if begin == GZIP else "warc"
    name = hasher.digest().removeprefix(f"{ALGORITHM}:")
    return Taken(f"{FOREIGN}/{name}.{ending}", hasher.digest(), hasher.size)


def _settle(folder: Path) -> None:
    """Make a new name survive a loss of power."""
    there = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
