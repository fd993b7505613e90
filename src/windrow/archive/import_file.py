"""Import WARC files of other crawlers into the archive: as a hard link, as a copy, or repacked.

A file is repacked if reading cannot begin at any of its records: if it is a single gzip stream, Zstandard, or ARC. The
new file is named after the digest of the original. WARC records are not changed; the header line of an ARC record is
replaced by a WARC header. Broken records are copied, so that they are reported as in any other file.
"""

from __future__ import annotations

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
from windrow.archive.warc_writer import guarded
from windrow.digest import ALGORITHM, Hasher
from windrow.errors import ArchiveError, DiskFull
from windrow.formats.warc import END, MAX_ARC_LINE_BYTES, escape_target, format_header, read_arc_line
from windrow.model import Limits
from windrow.reasons import Reason

_PACKED_BLOCK_SIZE = 1 << 20
_FREE_INFLATION = 64 << 20  # bytes that any file may inflate to
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
_MAX_DICTIONARY = 16 << 20
_GZIP_LEVEL = 6
_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)
_MAX_ZSTD_WINDOW = 128 << 20  # bytes of the largest zstd window


def repack(source: Path, destination: Path, form: WarcForm, digest: str, limits: Limits) -> str:
    """Repack `source` as `destination`; return a message on what could not be unpacked, or an empty text.

    `digest` is that of the source. Raises ArchiveError if nothing can be unpacked, and DiskFull.
    """
    plain, problem = source, ""
    if not form.arc or _read_magic(source) == GZIP:
        plain = destination.with_name(f"{destination.name}.plain")
    try:
        if plain != source:
            problem = _decompress_file(source, plain, limits)
        with guarded(destination), destination.open("wb") as out, plain.open("rb") as plain_file:
            for record in read_records(plain, 0, limits):
                _check_free_space(destination.parent, record.length, limits)
                for block in _compress(_record_pieces(plain_file, record, form, digest)):
                    out.write(block)
            out.flush()
            os.fsync(out.fileno())
    finally:
        if plain != source:
            plain.unlink(missing_ok=True)
    return problem


def _read_magic(path: Path) -> bytes:
    with guarded(path), path.open("rb") as file:
        return file.read(len(GZIP))


def _record_pieces(file: BinaryIO, record: WarcRecord, form: WarcForm, digest: str) -> Iterator[bytes]:
    """Yield a record of a file as WARC; `digest` is that of the original file."""
    blocks = _read_blocks(file, record.offset, record.length)
    if form.arc and record.reason in {None, Reason.TOO_LARGE}:
        yield from arc_to_warc(blocks, f"{digest}/{record.offset}")
        return
    yield from blocks
    if form.arc:
        yield END


def _read_blocks(file: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    file.seek(offset)
    while length and (block := file.read(min(length, _PACKED_BLOCK_SIZE))):
        length -= len(block)
        yield block


def convert_arc_record(path: Path, offset: int, length: int) -> Iterator[bytes]:
    """Convert a record of an ARC file to WARC, and yield it as the blocks of a gzip member."""
    with path.open("rb") as file:
        is_gzip = file.read(len(GZIP)) == GZIP
        blocks = _read_blocks(file, offset, length)
        yield from _compress(arc_to_warc(_inflate(blocks) if is_gzip else blocks, f"{path.name}/{offset}"))


def _inflate(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Inflate a gzip member, which is known to be complete."""
    stream = isal_zlib.decompressobj(wbits=31)
    for block in blocks:
        piece = stream.decompress(block, _PACKED_BLOCK_SIZE)
        while piece:
            yield piece
            piece = stream.decompress(stream.unconsumed_tail, _PACKED_BLOCK_SIZE) if not stream.eof else b""


def arc_to_warc(blocks: Iterator[bytes], identity: str) -> Iterator[bytes]:
    """Replace the header line of an ARC record by a WARC header, with a record id that is derived from `identity`."""
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
    """Compress pieces to a gzip member."""
    stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)
    for piece in pieces:
        yield stream.compress(piece)
    yield stream.flush()


def _decompress_file(source: Path, plain: Path, limits: Limits) -> str:
    """Decompress a file; return a message on where it is broken, or an empty text if it is complete.

    Raises ArchiveError if it inflates too much, or if nothing can be decompressed.
    """
    limit = max(_FREE_INFLATION, limits.ratio * source.stat().st_size)
    written, problem = 0, ""
    with guarded(plain), source.open("rb") as file, plain.open("wb") as out:
        is_zstd = _read_magic(source) in {magic[: len(GZIP)] for magic in ZSTD}
        blocks = _unzstd(file) if is_zstd else _ungzip(file)
        try:
            for block in blocks:
                written += len(block)
                if written > limit:
                    raise ArchiveError(
                        f"the file inflates beyond {limits.ratio} times its size", reason=Reason.BOMB_RATIO
                    )
                _check_free_space(plain.parent, len(block), limits)
                out.write(block)
        except _BrokenStream as error:
            problem = f"after {written} bytes: {error}"
    if not written:
        raise ArchiveError(problem or "the file is empty", reason=Reason.CORRUPT)
    return problem


class _BrokenStream(Exception):
    """The compressed file is broken; it is caught in this module."""


def _ungzip(file: BinaryIO) -> Iterator[bytes]:
    """Inflate all members of a gzip file (RFC 1952), one after the other."""
    packed = file.read(_PACKED_BLOCK_SIZE)
    while packed.strip(b"\0"):
        stream = isal_zlib.decompressobj(wbits=31)
        while not stream.eof:
            try:
                block = stream.decompress(packed, _PACKED_BLOCK_SIZE)
            except _INFLATE_ERROR as error:
                raise _BrokenStream(f"it cannot be inflated: {error}"[:200]) from None
            if block:
                yield block
            packed = stream.unconsumed_tail
            if not packed and not stream.eof:
                packed = file.read(_PACKED_BLOCK_SIZE)
                if not packed:
                    raise _BrokenStream("the file ends within its gzip stream")
        packed = stream.unused_data or file.read(_PACKED_BLOCK_SIZE)


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """Decompress Zstandard frames (RFC 8878), with the dictionary that may precede them."""
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
        with decompressor.stream_reader(file, read_across_frames=True, closefd=False) as stream:
            while block := stream.read(_PACKED_BLOCK_SIZE):
                yield block
    except zstandard.ZstdError as error:
        raise _BrokenStream(f"it cannot be decompressed: {error}"[:200]) from None


def _check_free_space(folder: Path, size: int, limits: Limits) -> None:
    """Raise DiskFull unless `size` bytes and `limits.free_space` fit on the disk of a folder."""
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < size + limits.free_space:
        raise DiskFull(f"the disk of {folder} is full: {limits.free_space} bytes must stay free")


IMPORTED_FOLDER = "foreign"
"""The folder of the archive for imported files, which are named by digest, so that each is stored once."""

_BLOCK_SIZE = 1 << 20
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}(?:\.warc\.gz(?:\.plain)?)?")
"""The temporary names of a file until its digest is known, and of its repacked form."""


class ImportedFile(NamedTuple):
    """An imported file: its name below the archive's folder, the digest of the original, and its size.

    `trouble` is a message on what could not be unpacked, or an empty text.
    """

    warc: str
    digest: str
    size: int
    trouble: str = ""


def import_warc_file(archive: Path, path: Path, limits: Limits) -> ImportedFile:
    """Import a file into an archive; raise ArchiveError if it is not a WARC file or cannot be read, and DiskFull."""
    form = detect_form(path)
    folder = archive / IMPORTED_FOLDER
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{uuid.uuid4().hex}"
    try:
        _link_or_copy(path, temporary, limits.free_space)
        imported = _describe_content(temporary)
        if form.arc or form.must_repack:
            return _import_repacked(archive, temporary, imported, form, limits)
        destination = archive / imported.warc
        if not destination.exists():
            with guarded(destination):
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
    """Repack a file and move the result into the archive, unless it is there already."""
    name, problem = f"{imported.warc.partition('.')[0]}.repacked.warc.gz", ""
    destination = archive / name
    if not destination.exists():
        repacked = temporary.with_name(f"{temporary.name}.warc.gz")
        problem = repack(temporary, repacked, form, imported.digest, limits)
        with guarded(destination):
            repacked.rename(destination)
            sync(destination.parent)
    return ImportedFile(name, imported.digest, destination.stat().st_size, problem)


def remove_leftovers(archive: Path) -> None:
    """Remove temporary files that a crash left during an import."""
    for leftover in (archive / IMPORTED_FOLDER).glob(".*"):
        if _TEMPORARY.fullmatch(leftover.name):
            leftover.unlink(missing_ok=True)


def _link_or_copy(path: Path, temporary: Path, free_space: int) -> None:
    """Make `temporary` a hard link to a file, or a copy if `free_space` bytes stay free on the disk."""
    with suppress(OSError):
        os.link(path.resolve(), temporary)  # fails on another disk, or without permission: then it is copied
        return
    try:
        size = path.stat().st_size
        source = path.open("rb")
    except OSError as error:
        raise ArchiveError(f"the file cannot be read: {error.strerror}") from error
    disk = os.statvfs(temporary.parent)
    if disk.f_bavail * disk.f_frsize < size + free_space:
        raise DiskFull(f"the disk is full: {path.name} has {size} bytes, and {free_space} must stay free")
    with source, guarded(temporary), temporary.open("wb") as target:
        shutil.copyfileobj(source, target, _BLOCK_SIZE)
        target.flush()
        os.fsync(target.fileno())


def _describe_content(temporary: Path) -> ImportedFile:
    """Return the name that a file gets in the archive, with its digest and size."""
    hasher = Hasher()
    with guarded(temporary), temporary.open("rb") as file:
        magic = file.read(len(GZIP))
        hasher.update(magic)
        while block := file.read(_BLOCK_SIZE):
            hasher.update(block)
    ending = "warc.gz" if magic == GZIP else "warc"
    name = hasher.digest().removeprefix(f"{ALGORITHM}:")
    return ImportedFile(f"{IMPORTED_FOLDER}/{name}.{ending}", hasher.digest(), hasher.size)


def sync(path: Path) -> None:
    """Flush a file, or a folder's entries, to the disk, so that a new name survives a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
