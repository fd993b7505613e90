"""Import WARC files from other crawlers into the archive: as a copy, or repacked.

A hard link would not do: a program that writes its file anew under the same name would change the archive's, too.

A file is repacked if it is ARC, or if it is Zstandard or has several records in a gzip member, since reading cannot
begin at every record of such a file. The name of the new file begins with the digest of the original. WARC records are
unchanged. The header line of an ARC record is replaced by a WARC header. Broken records are copied, so that they are
reported as in any other file.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from isal import isal_zlib

from windrow.archive.warc_reader import GZIP, ZSTD, WarcForm, WarcRecord, detect_form, read_records
from windrow.archive.warc_writer import map_read_errors, map_write_errors
from windrow.digest import ALGORITHM, Hasher
from windrow.errors import ArchiveError, DiskFull
from windrow.formats.text import spell_size
from windrow.formats.warc import END, MAX_ARC_LINE_BYTES, escape_target, format_header, read_arc_line
from windrow.model import Limits
from windrow.private_files import write_whole
from windrow.reasons import Reason

_BLOCK_SIZE = 1 << 20  # bytes
_ZSTD_BLOCK_SIZE = 4 << 10  # bytes; four bytes of Zstandard may decompress to 128 KiB, so these to 128 MiB
_FREE_INFLATION = 64 << 20  # the number of bytes to which any file may inflate, at any ratio
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
_MAX_DICTIONARY = 16 << 20  # bytes
_GZIP_LEVEL = 6
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)
_FICLONE = 0x40049409  # the number of the ioctl that makes a file share the blocks of another
_MAX_ZSTD_WINDOW = 128 << 20  # the maximum number of bytes of a zstd window


def repack(source: Path, destination: Path, form: WarcForm, digest: str, limits: Limits) -> str:
    """Repack `source` as `destination`. Return a clause that says where `source` is broken, or "" if it is not.

    `digest` and `form` are the digest and the form of `source`. Raises DiskFull, and ArchiveError if `source` cannot be
    decompressed at all, inflates beyond the limits or is not WARC or ARC, or if a file cannot be read or written.
    """
    plain, problem = source, ""
    if not form.arc or _read_magic(source) == GZIP:
        plain = destination.with_name(f"{destination.name}.plain")
    try:
        if plain != source:
            problem = _decompress_file(source, plain, limits)
        with (
            map_read_errors(plain), plain.open("rb") as plain_file,
            map_write_errors(destination), destination.open("wb") as out,
        ):  # fmt: skip
            for record in read_records(plain, 0, limits):
                check_free_space(destination.parent, record.length, limits.free_space)
                for block in _compress(_record_pieces(plain_file, record, form, digest)):
                    out.write(block)
            out.flush()
            os.fsync(out.fileno())
    finally:
        if plain != source:
            plain.unlink(missing_ok=True)
    return problem


def _read_magic(path: Path) -> bytes:
    with map_read_errors(path), path.open("rb") as file:
        return file.read(len(GZIP))


def _record_pieces(file: BinaryIO, record: WarcRecord, form: WarcForm, digest: str) -> Iterator[bytes]:
    blocks = _read_blocks(file, record.offset, record.length)
    if form.arc and record.reason in {None, Reason.TOO_LARGE}:
        yield from arc_to_warc(blocks, f"{digest}/{record.offset}")
        return
    yield from blocks
    if form.arc:
        yield END


def _read_blocks(file: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    with map_read_errors(Path(file.name)):
        file.seek(offset)
        while length and (block := file.read(min(length, _BLOCK_SIZE))):
            length -= len(block)
            yield block


def convert_arc_record(path: Path, offset: int, length: int) -> Iterator[bytes]:
    """Convert a record of an ARC file to WARC, and yield it as the blocks of a gzip member.

    Raises ArchiveError if the file cannot be read.
    """
    with map_read_errors(path), path.open("rb") as file:
        is_gzip = file.read(len(GZIP)) == GZIP
        blocks = _read_blocks(file, offset, length)
        yield from _compress(arc_to_warc(_inflate(blocks) if is_gzip else blocks, f"{path.name}/{offset}"))


def _inflate(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Inflate a gzip member that is known to be complete."""
    stream = isal_zlib.decompressobj(wbits=31)
    for block in blocks:
        piece = stream.decompress(block, _BLOCK_SIZE)
        while piece:
            yield piece
            piece = stream.decompress(stream.unconsumed_tail, _BLOCK_SIZE) if not stream.eof else b""


def arc_to_warc(blocks: Iterator[bytes], identity: str) -> Iterator[bytes]:
    """Yield an ARC record with a WARC header instead of its header line. The record id is a hash of `identity`."""
    start = b""
    for block in blocks:
        start += block
        if len(start) >= MAX_ARC_LINE_BYTES:
            break
    arc_header = read_arc_line(start)
    remaining = int(arc_header.fields["content-length"])
    fields = {"warc-record-id": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, identity)}>"} | arc_header.fields
    fields["warc-target-uri"] = escape_target(fields["warc-target-uri"])
    fields.pop("content-length")
    spelled_fields = [(_FIELD_SPELLINGS.get(name, name), text) for name, text in fields.items()]
    yield format_header(arc_header.kind, spelled_fields, remaining)
    for block in chain([start[arc_header.length :]], blocks):
        yield block[:remaining]
        remaining -= min(remaining, len(block))
    yield END


_FIELD_SPELLINGS = {
    "warc-record-id": "WARC-Record-ID",
    "warc-target-uri": "WARC-Target-URI",
    "warc-ip-address": "WARC-IP-Address",
    "warc-date": "WARC-Date",
    "content-type": "Content-Type",
}


def _compress(pieces: Iterator[bytes]) -> Iterator[bytes]:
    stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)
    for piece in pieces:
        yield stream.compress(piece)
    yield stream.flush()


def _decompress_file(source: Path, plain: Path, limits: Limits) -> str:
    """Decompress `source` to `plain`. Return a clause that says where `source` is broken, or "" if it is not.

    Raises DiskFull, and ArchiveError if `source` cannot be decompressed at all or inflates beyond the limits, or if a
    file cannot be read or written.
    """
    limit = max(_FREE_INFLATION, limits.ratio * source.stat().st_size)
    written, problem = 0, ""
    with map_write_errors(plain), source.open("rb") as file, plain.open("wb") as out:
        is_zstd = _read_magic(source) in {magic[: len(GZIP)] for magic in ZSTD}
        blocks = _unzstd(file) if is_zstd else _ungzip(file)
        try:
            for block in blocks:
                written += len(block)
                if written > limit:
                    message = f"the file inflates to more than {limits.ratio} times its size"
                    raise ArchiveError(message, reason=Reason.BOMB_RATIO)
                check_free_space(plain.parent, len(block), limits.free_space)
                out.write(block)
        except _BrokenStream as error:
            problem = f"is broken after {written} decompressed bytes: {error}"
    if not written:
        raise ArchiveError(f"the file {problem or 'is empty'}", reason=Reason.CORRUPT)
    return problem


class _BrokenStream(Exception):
    """The compressed file is broken. This error is caught in this module."""


def _ungzip(file: BinaryIO) -> Iterator[bytes]:
    """Inflate all members of a gzip file (RFC 1952). Raises `_BrokenStream` where the file is broken or cut."""
    packed = _skip_zeros(file, b"")
    while packed:
        stream = isal_zlib.decompressobj(wbits=31)
        while not stream.eof:
            try:
                block = stream.decompress(packed, _BLOCK_SIZE)
            except _INFLATE_ERROR as error:
                raise _BrokenStream(f"it cannot be inflated: {error}"[:200]) from None
            if block:
                yield block
            packed = stream.unconsumed_tail
            if not packed and not stream.eof:
                packed = file.read(_BLOCK_SIZE)
                if not packed:
                    raise _BrokenStream("the file ends within its gzip stream")
        packed = _skip_zeros(file, stream.unused_data)


def _skip_zeros(file: BinaryIO, packed: bytes) -> bytes:
    """Skip zeros in `packed` and then in the file: tapes are padded with them. Return the bytes after them, or b""."""
    while not (packed := packed.lstrip(b"\0")) and (block := file.read(_BLOCK_SIZE)):
        packed = block
    return packed


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """Decompress a file of Zstandard frames (RFC 8878), which may begin with a dictionary for the frames.

    Raises `_BrokenStream` where the file is broken or ends within a frame, and ArchiveError if the extra `codings` is
    not installed.
    """
    try:
        import zstandard  # noqa: PLC0415 an optional part
    except ImportError:
        raise ArchiveError(
            "reading Zstandard needs the extra `codings`",
            hint="pip install 'windrow[codings]'",
            reason=Reason.UNSUPPORTED,
        ) from None
    try:
        dictionary = None
        if file.read(4) == _DICTIONARY_MAGIC:
            content = file.read(min(int.from_bytes(file.read(4), "little"), _MAX_DICTIONARY))
            if content.startswith(ZSTD[0]):
                content = zstandard.ZstdDecompressor().decompress(content, max_output_size=_MAX_DICTIONARY)
            dictionary = zstandard.ZstdCompressionDict(content)
        else:
            file.seek(0)
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_MAX_ZSTD_WINDOW)
        packed = file.read(_ZSTD_BLOCK_SIZE)
        while packed:
            frame = decompressor.decompressobj()
            while not frame.eof:  # unlike this object, a stream reader does not show whether the last frame is complete
                if not packed:
                    raise _BrokenStream("the file ends within a Zstandard frame")
                yield frame.decompress(packed)
                packed = frame.unused_data if frame.eof else file.read(_ZSTD_BLOCK_SIZE)
            packed = packed or file.read(_ZSTD_BLOCK_SIZE)
    except zstandard.ZstdError as error:
        raise _BrokenStream(f"it cannot be decompressed: {error}"[:200]) from None


def check_free_space(folder: Path, size: int, free_space: int) -> None:
    """Raise DiskFull if writing `size` bytes would leave less than `free_space` bytes of a folder's disk free."""
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < size + free_space:
        raise DiskFull(
            f"the disk of {folder} is full: {spell_size(size)} are needed, and {spell_size(free_space)} must stay free"
        )


IMPORTED_FOLDER = "foreign"
"""The folder in the archive for imported files, whose names begin with their digests, so each is stored once."""

_TEMPORARY = re.compile(r"\.[0-9a-f]{32}(?:\.warc\.gz(?:\.plain)?)?")
"""Matches the temporary names of a file that is being imported, of its decompressed bytes and its repacked form."""


class ImportedFile(NamedTuple):
    """An imported file. `warc` is its path below the archive's folder; `size` is its size there in bytes.

    `digest` is the digest of the original file. `problem` is a clause that says where decompressing the original
    failed. `problem` is empty if decompressing did not fail, or was not necessary.
    """

    warc: str
    digest: str
    size: int
    problem: str = ""


def import_warc_file(archive: Path, path: Path, limits: Limits) -> ImportedFile:
    """Import a file into an archive, unless it is there already, and describe the imported file.

    Raises DiskFull, and ArchiveError if the file cannot be read, is not WARC, ARC, gzip or Zstandard, or must be
    repacked and inflates beyond the limits.
    """
    form = detect_form(path)
    is_repacked = form.arc or form.must_repack
    folder = archive / IMPORTED_FOLDER
    with map_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{uuid.uuid4().hex}"
    try:
        imported = _describe_content(path)
        if is_repacked and (archive / _repacked_name(imported)).exists():
            return _describe_repacked(archive, imported)
        if not is_repacked and (archive / imported.warc).exists():
            return imported
        _copy(path, temporary, limits.free_space)
        imported = _describe_content(temporary)  # the file may have been changed meanwhile
        if is_repacked:
            return _import_repacked(archive, temporary, imported, form, limits)
        destination = archive / imported.warc
        if not destination.exists():
            with map_write_errors(destination):
                temporary.rename(destination)
                sync(folder)
        return imported
    finally:
        with suppress(OSError):
            for leftover in folder.glob(f"{temporary.name}*"):
                leftover.unlink(missing_ok=True)


def _import_repacked(
    archive: Path, temporary: Path, imported: ImportedFile, form: WarcForm, limits: Limits
) -> ImportedFile:
    destination = archive / _repacked_name(imported)
    if not destination.exists():
        repacked = temporary.with_name(f"{temporary.name}.warc.gz")
        problem = repack(temporary, repacked, form, imported.digest, limits)
        with map_write_errors(destination):
            if problem:  # before the file has its name: the problem cannot be found out again
                write_whole(_problem_file(destination), (problem,))
            repacked.rename(destination)
            sync(destination.parent)
    return _describe_repacked(archive, imported)


def _describe_repacked(archive: Path, imported: ImportedFile) -> ImportedFile:
    name = _repacked_name(imported)
    problem_file = _problem_file(archive / name)
    with map_read_errors(problem_file):
        problem = problem_file.read_text(encoding="utf-8") if problem_file.exists() else ""
    return ImportedFile(name, imported.digest, (archive / name).stat().st_size, problem)


def _problem_file(repacked: Path) -> Path:
    """Return the path of the file that says where the original of a repacked file is broken."""
    return repacked.with_name(f"{repacked.name.partition('.')[0]}.problem")


def _repacked_name(imported: ImportedFile) -> str:
    return f"{imported.warc.partition('.')[0]}.repacked.warc.gz"


def remove_leftovers(archive: Path) -> None:
    """Remove the temporary files of imports; no import may be under way."""
    for leftover in (archive / IMPORTED_FOLDER).glob(".*"):
        if _TEMPORARY.fullmatch(leftover.name):
            leftover.unlink(missing_ok=True)


def _copy(path: Path, temporary: Path, free_space: int) -> None:
    """Copy a file. On a disk whose file system can, the copy shares its blocks until one of the two is changed."""
    try:
        size = path.stat().st_size
        source = path.open("rb")
    except OSError as error:
        raise ArchiveError(f"the file cannot be read: {error.strerror}") from error
    with source, map_write_errors(temporary), temporary.open("wb") as target:
        try:
            fcntl.ioctl(target, _FICLONE, source.fileno())
        except OSError:
            check_free_space(temporary.parent, size, free_space)
            shutil.copyfileobj(source, target, _BLOCK_SIZE)
        target.flush()
        os.fsync(target.fileno())


def _describe_content(path: Path) -> ImportedFile:
    hasher = Hasher()
    with map_read_errors(path), path.open("rb") as file:
        magic = file.read(len(GZIP))
        hasher.update(magic)
        while block := file.read(_BLOCK_SIZE):
            hasher.update(block)
    ending = "warc.gz" if magic == GZIP else "warc"
    name = hasher.digest().removeprefix(f"{ALGORITHM}:")
    return ImportedFile(f"{IMPORTED_FOLDER}/{name}.{ending}", hasher.digest(), hasher.size)


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk, so that its content, or the names in it, survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
