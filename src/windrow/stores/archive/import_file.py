"""Take a WARC file of another maker into the archive: a second name of it where the disk allows, or a copy.

One that cannot be read from any record on is written anew (`repack`), and named by what it was before.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from windrow.digest import ALGORITHM, Hasher
from windrow.errors import ArchiveError, DiskFull
from windrow.model import Limits
from windrow.stores.archive.repack import repack
from windrow.stores.archive.warc_reader import GZIP, WarcForm, vet
from windrow.stores.archive.warc_writer import guarded

FOREIGN = "foreign"
"""The folder below the archive's that holds them; they are named by their digest, so that twice is once."""

_BLOCK = 1 << 20
_BEGUN = re.compile(r"\.[0-9a-f]{32}(?:\.warc\.gz(?:\.plain)?)?")
"""The names of a file until its digest is known, and of what it is written anew as."""


class ImportedFile(NamedTuple):
    """A file of the archive: its name below the archive's folder, the digest it came with, and its size.

    `trouble` says in a line what could not be unpacked of it.
    """

    warc: str
    digest: str
    size: int
    trouble: str = ""


def take(archive: Path, path: Path, limits: Limits) -> ImportedFile:
    """Take a file in; raises `ArchiveError` where it is no WARC file or cannot be read, and `DiskFull`."""
    form = vet(path)
    folder = archive / FOREIGN
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
    mine = folder / f".{uuid.uuid4().hex}"
    try:
        _bring(path, mine, limits.spare)
        taken = _named(mine)
        if form.arc or form.whole:
            return _repacked(archive, mine, taken, form, limits)
        place = archive / taken.warc
        if not place.exists():
            with guarded(place):
                mine.rename(place)
                _settle(folder)
        return taken
    finally:
        with suppress(OSError):
            for left in folder.glob(f"{mine.name}*"):
                left.unlink(missing_ok=True)


def _repacked(archive: Path, mine: Path, taken: ImportedFile, form: WarcForm, limits: Limits) -> ImportedFile:
    """Put what a file is written anew as in its place."""
    name, trouble = f"{taken.warc.partition('.')[0]}.repacked.warc.gz", ""
    place = archive / name
    if not place.exists():
        made = mine.with_name(f"{mine.name}.warc.gz")
        trouble = repack(mine, made, form, taken.digest, limits)
        with guarded(place):
            made.rename(place)
            _settle(place.parent)
    return ImportedFile(name, taken.digest, place.stat().st_size, trouble)


def sweep(archive: Path) -> None:
    """Remove what a crash left while a file was taken in."""
    for left in (archive / FOREIGN).glob(".*"):
        if _BEGUN.fullmatch(left.name):
            left.unlink(missing_ok=True)


def _bring(path: Path, mine: Path, spare: int) -> None:
    with suppress(OSError):
        os.link(path.resolve(), mine)  # on another disk, or where this is not allowed, it is copied
        return
    try:
        size = path.stat().st_size
        source = path.open("rb")
    except OSError as error:
        raise ArchiveError(f"it cannot be read: {error.strerror}") from error
    disk = os.statvfs(mine.parent)
    if disk.f_bavail * disk.f_frsize < size + spare:
        raise DiskFull(f"{path.name} has {size} bytes, and {spare} must stay free")
    with source, guarded(mine), mine.open("wb") as target:
        shutil.copyfileobj(source, target, _BLOCK)
        target.flush()
        os.fsync(target.fileno())


def _named(mine: Path) -> ImportedFile:
    """Name a file by its content."""
    hasher = Hasher()
    with guarded(mine), mine.open("rb") as file:
        begin = file.read(len(GZIP))
        hasher.update(begin)
        while block := file.read(_BLOCK):
            hasher.update(block)
    ending = "warc.gz" if begin == GZIP else "warc"
    name = hasher.digest().removeprefix(f"{ALGORITHM}:")
    return ImportedFile(f"{FOREIGN}/{name}.{ending}", hasher.digest(), hasher.size)


def _settle(folder: Path) -> None:
    """Make a new name survive a loss of power."""
    there = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
