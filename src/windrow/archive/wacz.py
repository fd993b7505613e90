"""WACZ files (Web Archive Collection Zipped 1.1.1): zip files with WARC files, an index of records, and digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from windrow.archive.import_file import check_free_space
from windrow.archive.warc_reader import PACKED_SUFFIXES, WARC_SUFFIXES
from windrow.archive.warc_writer import map_read_errors, map_write_errors
from windrow.caps import WACZ_LIST_BYTES
from windrow.errors import StepError
from windrow.formats.zip import Gap, ZipMember, open_inflated, read_blocks, read_contents, read_directory
from windrow.model import Limits
from windrow.reasons import Reason

WACZ_SUFFIX = ".wacz"
_FOLDER = "archive/"
_LIST_NAME = "datapackage.json"
_MAX_NAME_LENGTH = 60  # the number of characters at the end of a name that an unpacked file keeps
_BLOCK_SIZE = 1 << 20  # bytes
_ALGORITHMS = ("sha256", "sha512", "sha384", "sha1", "md5")  # the algorithms of digests that are compared


class UnpackedWarc(NamedTuple):
    """A WARC file with the path `name` in a WACZ file, unpacked at `path`. `problem` is why it cannot be used, or "".

    With a problem, the file at `path` may be incomplete or missing. A problem may also be about a file that is not
    unpacked, or about the WACZ file, with an empty `name`; `path` is then that of the WACZ file.
    """

    name: str
    path: Path
    problem: str = ""


def is_wacz(path: Path) -> bool:
    """Return whether a file is a zip with a WARC file in its folder `archive`. The case of names does not matter."""
    try:
        with path.open("rb") as file:
            records, _ = read_directory(file, Limits())
    except (StepError, OSError):
        return False
    return any(_is_warc_name(record.name) and record.name.lower().startswith(_FOLDER) for record in records)


def unpack_wacz(path: Path, folder: Path, limits: Limits) -> Iterator[UnpackedWarc]:
    """Unpack the WARC files in all folders of a WACZ file into the folder `folder`, and yield each of them.

    A WARC file is yielded with a `problem` if it is damaged, exceeds the limits for members of zips, does not have the
    digest that datapackage.json states, or is listed there but missing. Files in the folder `archive` that are not WARC
    files, and packed WARC files and WACZ files in any folder, are yielded with a `problem` too. A WARC file whose
    digest is of an unknown kind is unpacked unchecked, and datapackage.json is yielded with a `problem` for it. If the
    WACZ file cannot be used or has no WARC file, it is yielded itself, with an empty name.

    Raises DiskFull unless `limits.free_space` bytes remain free on the folder's disk beside all WARC files, and
    ArchiveError if an unpacked file cannot be written.
    """
    try:
        with path.open("rb") as file:
            members, gaps = read_contents(file, limits, refuse_archives=False)
            digests = _read_digests(file, members)
            warc_members = [member for member in members if _is_warc_name(member.name)]
            yield from _find_omissions(path, members, digests)
            yield from _report_gaps(path, gaps)
            if not warc_members:
                yield UnpackedWarc("", path, f"it has no WARC file ({Reason.UNSUPPORTED})")
            size = sum(member.size for member in warc_members if member.reason is None)
            check_free_space(folder, size, limits.free_space)
            for number, member in enumerate(warc_members):
                unpacked_path = folder / f"{number}-{Path(member.name).name[-_MAX_NAME_LENGTH:]}"
                problem, surplus = _unpack_member(file, member, unpacked_path, digests.get(member.name, ""))
                yield UnpackedWarc(member.name, unpacked_path, problem)
                if surplus:
                    problem = f"{surplus:,} bytes follow the end of its deflate stream ({Reason.TRAILING_BYTES})"
                    yield UnpackedWarc(member.name, path, problem)
    except StepError as error:
        yield UnpackedWarc("", path, f"it cannot be unpacked: {error} ({error.reason})")
    except OSError as error:
        yield UnpackedWarc("", path, f"it cannot be read: {error.strerror} ({Reason.DISK_FAILED})")


def _is_warc_name(name: str) -> bool:
    return name.lower().endswith(WARC_SUFFIXES)


def _find_omissions(path: Path, members: Sequence[ZipMember], digests: Mapping[str, str]) -> Iterator[UnpackedWarc]:
    """Yield a problem for each missing WARC file, each digest of an unknown kind, and each file that is left out."""
    names = {member.name for member in members}
    for name, digest in digests.items():
        if _is_warc_name(name) and name not in names:
            yield UnpackedWarc(name, path, f"{_LIST_NAME} lists it, but the WACZ file lacks it ({Reason.NOT_FOUND})")
        elif _is_warc_name(name) and digest and digest.partition(":")[0].lower() not in _ALGORITHMS:
            problem = f"{name} is imported without a check, as its digest {digest[:40]!r} is of an unknown kind"
            yield UnpackedWarc(_LIST_NAME, path, f"{problem} ({Reason.UNSUPPORTED})")
    for name in dict.fromkeys(member.name for member in members):
        is_in_folder = name.lower().startswith(_FOLDER) and not name.endswith("/") and not _is_warc_name(name)
        if is_in_folder or name.lower().endswith((*PACKED_SUFFIXES, WACZ_SUFFIX)):
            yield UnpackedWarc(name, path, f"it does not have the name of a WARC file ({Reason.UNSUPPORTED})")


def _report_gaps(path: Path, gaps: Sequence[Gap]) -> Iterator[UnpackedWarc]:
    """Yield a problem for the bytes that belong to no member, where WARC records may be hidden."""
    if gaps:
        size = sum(gap.size for gap in gaps)
        problem = f"{size:,} bytes, the first of them at byte {gaps[0].offset:,}, belong to none of its members"
        yield UnpackedWarc("", path, f"{problem} ({Reason.TRAILING_BYTES})")


def _unpack_member(file: BinaryIO, member: ZipMember, target: Path, expected: str) -> tuple[str, int]:
    """Unpack a member into the new file `target`; return why it cannot be used, or "", and the bytes left in it.

    `expected` is the digest that the member should have, as `ALGORITHM:HEX`. It is not compared if its algorithm is not
    one of `_ALGORITHMS`.
    """
    algorithm, _, expected_hex = expected.lower().partition(":")
    hasher = hashlib.new(algorithm if algorithm in _ALGORITHMS else "sha256", usedforsecurity=False)
    try:
        inflated = open_inflated(file, member)  # refuses a member that has a `reason`, such as a bad name
        with map_write_errors(target), target.open("xb") as out:
            for block in inflated.blocks():
                hasher.update(block)
                out.write(block)
    except StepError as error:
        return f"{error} ({error.reason})", 0
    if algorithm in _ALGORITHMS and expected_hex != hasher.hexdigest():
        return f"it differs from its digest in {_LIST_NAME} ({Reason.DIGEST_MISMATCH})", inflated.surplus
    return "", inflated.surplus


def _read_digests(file: BinaryIO, members: Iterable[ZipMember]) -> dict[str, str]:
    """Return the digests that datapackage.json states (empty: none), by path of the file; {} without datapackage.json.

    Raises StepError if datapackage.json is damaged, too large or not valid.
    """
    member = next((member for member in members if member.name == _LIST_NAME), None)
    if member is None:
        return {}
    if member.size > WACZ_LIST_BYTES.number:
        raise StepError(f"its {_LIST_NAME} has {WACZ_LIST_BYTES.rule}", Reason.TOO_LARGE)
    content = b"".join(read_blocks(file, member))
    try:
        resources = json.loads(content)["resources"]
        return {str(resource["path"]): str(resource.get("hash", "")) for resource in resources}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise StepError(f"its {_LIST_NAME} is not a list of files with digests", Reason.CORRUPT) from None


_PAGES_HEAD = {"format": "json-pages-1.0", "id": "pages", "title": "All pages"}  # the first line of pages.jsonl


def write_wacz(lines: Iterable[str], folder: Path, target: BinaryIO, *, title: str, created: datetime) -> int:
    """Write a WACZ file of the captures in index lines, and return the number of captures.

    `lines` are sorted lines of CDXJ, whose file names are relative to `folder`. The whole WARC files are copied. Their
    names in the WACZ file have `-` instead of `/`. `target` need not be seekable. Raises ArchiveError if a WARC file
    cannot be read.
    """
    resources: list[dict[str, str | int]] = []
    with TemporaryFile() as index, TemporaryFile() as pages, ZipFile(target, "w") as package:
        member_names, count = _write_lists(lines, index, pages)
        for name in sorted(member_names):
            warc = _read_file(folder / name)
            resources.append(_add_member(package, f"{_FOLDER}{member_names[name]}", warc, ZIP_STORED))
        for path, content in (("indexes/index.cdx", index), ("pages/pages.jsonl", pages)):
            content.seek(0)
            resources.append(_add_member(package, path, _read_blocks(content), ZIP_DEFLATED))
        description = {
            "profile": "data-package", "wacz_version": "1.1.1", "title": title, "software": "windrow",
            "created": created.isoformat(timespec="seconds").replace("+00:00", "Z"), "resources": resources,
        }  # fmt: skip
        member = _add_member(package, _LIST_NAME, [json.dumps(description, indent=2).encode()], ZIP_STORED)
        digest = json.dumps({"path": member["path"], "hash": member["hash"]})
        _add_member(package, "datapackage-digest.json", [digest.encode()], ZIP_STORED)
    return count


def _write_lists(lines: Iterable[str], index: BinaryIO, pages: BinaryIO) -> tuple[dict[str, str], int]:
    """Write the index and the list of pages. Return the new names of WARC files by old name, and the count of lines."""
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


def _read_file(path: Path) -> Iterator[bytes]:
    with map_read_errors(path), path.open("rb") as file:
        yield from _read_blocks(file)


def _read_blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_SIZE):
        yield block


def _add_member(package: ZipFile, path: str, blocks: Iterable[bytes], method: int) -> dict[str, str | int]:
    information = ZipInfo(path)
    information.compress_type, information.external_attr = method, 0o644 << 16
    hasher, size = hashlib.sha256(), 0
    with package.open(information, "w", force_zip64=True) as member:
        for block in blocks:
            hasher.update(block)
            size += len(block)
            member.write(block)
    return {"name": path.rpartition("/")[2], "path": path, "hash": f"sha256:{hasher.hexdigest()}", "bytes": size}
