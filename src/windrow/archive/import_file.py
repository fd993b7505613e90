"""WARC files of other makers taken in, under a second name or as a copy; what cannot be read is packed anew.

One that cannot be read from any record on is written anew (`repack`), and named by what it was before.

Those are files that are one gzip stream, or Zstandard, and ARC. The bytes of WARC records stay as they are; those of
ARC get a WARC header in place of their line. What is broken is copied, so that it is told like in any other file.
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

from windrow.archive.warc_reader import GZIP, ZSTD, WarcForm, WarcRecord, met, vet
from windrow.archive.warc_writer import guarded
from windrow.digest import ALGORITHM, Hasher
from windrow.errors import ArchiveError, DiskFull
from windrow.formats.warc import END, LONGEST, header, read_line, target
from windrow.model import Limits
from windrow.reasons import Reason

_PACKED_BLOCK = 1 << 20
_FREE = 64 << 20  # bytes that any file may inflate to
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_MOST_DICTIONARY = 16 << 20
_LEVEL = 6
_UNREADABLE = cast("type[Exception]", isal_zlib.error)
_WINDOW = 128 << 20  # bytes that zstd may look back


def repack(source: Path, made: Path, form: WarcForm, name: str, limits: Limits) -> str:
    """Write `source`, whose content is called `name`, anew as `made`; say in a line what is missing of it.

    Raises `ArchiveError` where nothing can be made of it, and `DiskFull`.
    """
    plain, trouble = source, ""
    if not form.arc or _magic(source) == GZIP:
        plain = made.with_name(f"{made.name}.plain")
    try:
        if plain != source:
            trouble = _unpack(source, plain, limits)
        with guarded(made), made.open("wb") as out, plain.open("rb") as records:
            for one in met(plain, 0, limits):
                _need_room(made.parent, one.length, limits)
                for block in _packed(_pieces(records, one, form, name)):
                    out.write(block)
            out.flush()
            os.fsync(out.fileno())
    finally:
        if plain != source:
            plain.unlink(missing_ok=True)
    return trouble


def _magic(path: Path) -> bytes:
    with guarded(path), path.open("rb") as file:
        return file.read(len(GZIP))


def _pieces(records: BinaryIO, one: WarcRecord, form: WarcForm, name: str) -> Iterator[bytes]:
    """Yield one record's bytes."""
    blocks = _blocks(records, one.offset, one.length)
    if form.arc and one.reason in {None, Reason.TOO_LARGE}:
        yield from as_warc(blocks, f"{name}/{one.offset}")
        return
    yield from blocks
    if form.arc:
        yield END


def _blocks(file: BinaryIO, offset: int, length: int) -> Iterator[bytes]:
    file.seek(offset)
    while length and (block := file.read(min(length, _PACKED_BLOCK))):
        length -= len(block)
        yield block


def arc_record(path: Path, offset: int, length: int) -> Iterator[bytes]:
    """Yield one record of an ARC file as a gzip member with the WARC record that says the same."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
        blocks = _blocks(file, offset, length)
        yield from _packed(as_warc(_inflated(blocks) if packed else blocks, f"{path.name}/{offset}"))


def _inflated(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Inflate one gzip member, which was read to its end before."""
    stream = isal_zlib.decompressobj(wbits=31)
    for block in blocks:
        piece = stream.decompress(block, _PACKED_BLOCK)
        while piece:
            yield piece
            piece = stream.decompress(stream.unconsumed_tail, _PACKED_BLOCK) if not stream.eof else b""


def as_warc(blocks: Iterator[bytes], identity: str) -> Iterator[bytes]:
    """Put a WARC header in place of the line of an ARC record; `identity` makes the record's name."""
    begun = b""
    for block in blocks:
        begun += block
        if len(begun) >= LONGEST:
            break
    found = read_line(begun)
    left = int(found.fields["content-length"])
    told = {"warc-record-id": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, identity)}>"} | found.fields
    told["warc-target-uri"] = target(told["warc-target-uri"])
    told.pop("content-length")
    yield header(found.kind, [(_SPELLED.get(field, field), value) for field, value in told.items()], left)
    for block in chain([begun[found.length :]], blocks):
        yield block[:left]
        left -= min(left, len(block))
    yield END


_SPELLED = {
    "warc-record-id": "WARC-Record-ID",
    "warc-target-uri": "WARC-Target-URI",
    "warc-ip-address": "WARC-IP-Address",
    "warc-date": "WARC-Date",
    "content-type": "Content-Type",
}


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a gzip member."""
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
    for piece in pieces:
        yield stream.compress(piece)
    yield stream.flush()


def _unpack(source: Path, plain: Path, limits: Limits) -> str:
    """Write a compressed file plain; say in a line where it ends too early."""
    most = max(_FREE, limits.ratio * source.stat().st_size)
    made, trouble = 0, ""
    with guarded(plain), source.open("rb") as file, plain.open("wb") as out:
        blocks = _unzstd(file) if _magic(source) == ZSTD[0][:3] or _magic(source) == ZSTD[1][:3] else _ungzip(file)
        try:
            for block in blocks:
                made += len(block)
                if made > most:
                    raise ArchiveError(f"it inflates beyond {limits.ratio} times its size", reason=Reason.BOMB_RATIO)
                _need_room(plain.parent, len(block), limits)
                out.write(block)
        except _Broken as error:
            trouble = f"after {made} bytes: {error}"
    if not made:
        raise ArchiveError(trouble or "it holds nothing", reason=Reason.CORRUPT)
    return trouble


class _Broken(Exception):
    """Never leaves this module."""


def _ungzip(file: BinaryIO) -> Iterator[bytes]:
    """Inflate all members of a gzip file (RFC 1952), one after the other."""
    given = file.read(_PACKED_BLOCK)
    while given.strip(b"\0"):
        stream = isal_zlib.decompressobj(wbits=31)
        while not stream.eof:
            try:
                block = stream.decompress(given, _PACKED_BLOCK)
            except _UNREADABLE as error:
                raise _Broken(f"it cannot be inflated: {error}"[:200]) from None
            if block:
                yield block
            given = stream.unconsumed_tail
            if not given and not stream.eof:
                given = file.read(_PACKED_BLOCK)
                if not given:
                    raise _Broken("the file ends within its gzip stream")
        given = stream.unused_data or file.read(_PACKED_BLOCK)


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """Expand Zstandard frames (RFC 8878), with the dictionary that may stand before them."""
    try:
        import zstandard  # noqa: PLC0415 an optional part
    except ImportError:
        raise ArchiveError(
            "it is Zstandard", hint="pip install 'windrow[codings]'", reason=Reason.UNSUPPORTED
        ) from None
    try:
        words = None
        if file.read(4) == _DICTIONARY:
            raw = file.read(min(int.from_bytes(file.read(4), "little"), _MOST_DICTIONARY))
            if raw.startswith(ZSTD[0]):
                raw = zstandard.ZstdDecompressor().decompress(raw, max_output_size=_MOST_DICTIONARY)
            words = zstandard.ZstdCompressionDict(raw)
        else:
            file.seek(0)
        opener = zstandard.ZstdDecompressor(dict_data=words, max_window_size=_WINDOW)
        with opener.stream_reader(file, read_across_frames=True, closefd=False) as stream:
            while block := stream.read(_PACKED_BLOCK):
                yield block
    except zstandard.ZstdError as error:
        raise _Broken(f"it cannot be expanded: {error}"[:200]) from None


def _need_room(folder: Path, size: int, limits: Limits) -> None:
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < size + limits.spare:
        raise DiskFull(f"{limits.spare} bytes must stay free on the disk of {folder}")


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
