"""WACZ files (Web Archive Collection Zipped 1.1.1): zip files of WARC files, with an index and their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

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
    """Unpack the WARC files of a WACZ file into a folder, and yield each of them.

    Raises ArchiveError if the WACZ file is damaged, or if a WARC file does not have its digest in datapackage.json.
    Raises DiskFull unless `free_space` bytes of the folder's disk stay free beside all WARC files.
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
    try:
        with package.open("datapackage.json") as file:
            resources = json.loads(file.read(_MAX_PACKAGE_SIZE))["resources"]
        return {str(resource["path"]): str(resource["hash"]) for resource in resources}
    except (KeyError, TypeError, ValueError, RecursionError):
        return {}


_PAGES_HEAD = {"format": "json-pages-1.0", "id": "pages", "title": "All pages"}  # the first line of pages.jsonl


def write_wacz(lines: Iterable[str], folder: Path, target: BinaryIO, *, title: str, created: datetime) -> int:
    """Write a WACZ file of the captures in index lines, and return their number.

    `lines` are sorted lines of CDXJ, whose file names are relative to `folder`. The whole WARC files are copied. Their
    names in the WACZ file have `-` instead of `/`. `target` need not be seekable. Raises ArchiveError if a WARC file
    cannot be read.
    """
    resources: list[dict[str, str | int]] = []
    with TemporaryFile() as index, TemporaryFile() as pages, ZipFile(target, "w") as package:
        member_names, count = _write_lists(lines, index, pages)
        for name in sorted(member_names):
            try:
                with (folder / name).open("rb") as warc:
                    resources.append(_add_member(package, f"{_FOLDER}{member_names[name]}", warc, ZIP_STORED))
            except OSError as error:
                raise ArchiveError(f"{folder / name} cannot be read: {error.strerror}") from error
        for path, content in (("indexes/index.cdx", index), ("pages/pages.jsonl", pages)):
            content.seek(0)
            resources.append(_add_member(package, path, content, ZIP_DEFLATED))
        description = {
            "profile": "data-package", "wacz_version": "1.1.1", "title": title, "software": "windrow",
            "created": created.isoformat(timespec="seconds").replace("+00:00", "Z"), "resources": resources,
        }  # fmt: skip
        member = _add_member(
            package, "datapackage.json", BytesIO(json.dumps(description, indent=2).encode()), ZIP_STORED
        )
        digest = json.dumps({"path": member["path"], "hash": member["hash"]})
        _add_member(package, "datapackage-digest.json", BytesIO(digest.encode()), ZIP_STORED)
    return count


def _write_lists(lines: Iterable[str], index: BinaryIO, pages: BinaryIO) -> tuple[dict[str, str], int]:
    """Write the index and the list of pages. Return the new names of WARC files by name, and the number of lines."""
    member_names: dict[str, str] = {}
    count = 0
    pages.write(json.dumps(_PAGES_HEAD).encode() + b"\n")
    for line in lines:
        key, stamp, fields_text = line.split(" ", 2)
        fields = json.loads(fields_text)
        fields["filename"] = member_names.setdefault(fields["filename"], fields["filename"].replace("/", "-"))
        index.write(f"{key} {stamp} {json.dumps(fields)}\n".encode())
        count += 1
        if fields.get("status") == "200" and fields.get("mime") in {"text/html", "application/xhtml+xml"}:
            captured_at = datetime.strptime(f"{stamp}+0000", "%Y%m%d%H%M%S%z").isoformat().replace("+00:00", "Z")
            pages.write(json.dumps({"url": fields["url"], "title": fields["url"], "ts": captured_at}).encode() + b"\n")
    return member_names, count


def _add_member(package: ZipFile, path: str, source: BinaryIO, method: int) -> dict[str, str | int]:
    information = ZipInfo(path)
    information.compress_type, information.external_attr = method, 0o644 << 16
    hasher, size = hashlib.sha256(), 0
    with package.open(information, "w", force_zip64=True) as member:
        while block := source.read(_BLOCK_SIZE):
            hasher.update(block)
            size += len(block)
            member.write(block)
    return {"name": path.rpartition("/")[2], "path": path, "hash": f"sha256:{hasher.hexdigest()}", "bytes": size}
