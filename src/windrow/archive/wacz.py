"""WACZ files (Web Archive Collection Zipped 1.1.1): zip files of WARC files, with their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

from windrow.archive.import_file import check_free_space
from windrow.archive.warc_reader import WARC_SUFFIXES
from windrow.caps import WACZ_LIST_BYTES
from windrow.errors import ArchiveError

WACZ_SUFFIX = ".wacz"
_FOLDER = "archive/"
_MAX_PACKAGE_SIZE = WACZ_LIST_BYTES.number  # bytes of datapackage.json
_BLOCK_SIZE = 1 << 20  # bytes


class UnpackedWarc(NamedTuple):
    """A WARC file that was unpacked: its name in the WACZ file, and the path of the unpacked file."""

    name: str
    path: Path


def is_wacz(path: Path) -> bool:
    """Return whether a file is a zip with WARC files in its folder `archive`."""
    try:
        with ZipFile(path) as package:
            return any(_warc_members(package))
    except (BadZipFile, OSError, NotImplementedError):
        return False


def unpack_wacz(path: Path, folder: Path, free_space: int) -> Iterator[UnpackedWarc]:
    """Unpack the WARC files of a WACZ file into a folder, and yield each.

    Raises ArchiveError if the WACZ file is damaged, or if a WARC file does not have its digest in datapackage.json, and
    DiskFull unless `free_space` bytes of the folder's disk stay free beside all WARC files.
    """
    try:
        with ZipFile(path) as package:
            members, digests = [*_warc_members(package)], _read_digests(package)
            size = sum(member.file_size for member in members)
            check_free_space(folder, size, free_space)
            for number, member in enumerate(members):
                unpacked_path = folder / f"{number}-{Path(member.filename).name}"
                hasher = hashlib.sha256()
                with package.open(member) as source, unpacked_path.open("xb") as target:
                    while block := source.read(_BLOCK_SIZE):
                        hasher.update(block)
                        target.write(block)
                expected = digests.get(member.filename, "")
                if expected.startswith("sha256:") and expected != f"sha256:{hasher.hexdigest()}":
                    raise ArchiveError(
                        f"{path}: {member.filename} differs from its digest in datapackage.json",
                        hint=f"copy the file again, or unpack it and import {member.filename} alone",
                    )
                yield UnpackedWarc(member.filename, unpacked_path)
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ArchiveError(f"{path} cannot be unpacked: {error}", hint=f"python3 -m zipfile -t {path}") from error


def _warc_members(package: ZipFile) -> Iterator[ZipInfo]:
    return (
        member
        for member in package.infolist()
        if member.filename.startswith(_FOLDER) and member.filename.endswith(WARC_SUFFIXES)
    )


def _read_digests(package: ZipFile) -> dict[str, str]:
    """Return the digests in datapackage.json by file name; an empty dict if it is missing or not valid."""
    try:
        with package.open("datapackage.json") as file:
            resources = json.loads(file.read(_MAX_PACKAGE_SIZE))["resources"]
        return {str(resource["path"]): str(resource["hash"]) for resource in resources}
    except (KeyError, TypeError, ValueError, RecursionError):
        return {}
