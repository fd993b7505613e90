"""One process's way into the archive: small bodies into memory, large ones into a part file."""

from __future__ import annotations

import fcntl
import hashlib
import mimetypes
import os
import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from isal import igzip

from windrow.archive.import_file import arc_record
from windrow.archive.part_file import PartFile
from windrow.archive.warc_writer import WarcWriter
from windrow.digest import digest, warc
from windrow.errors import DiskFull, TerminalFailure, TransientFailure
from windrow.formats.http import HttpHead, media_type, read_head, validator
from windrow.formats.warc import (
    END,
    NOT_MODIFIED,
    REVISIT,
    header,
    open_header,
    packed,
    record_id,
    stamp,
    target,
    warcinfo,
)
from windrow.model import ArchivePlace, FetchJob, KeptResponse, Limits
from windrow.reasons import Reason

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


SMALL = 1 << 20
"""Bodies up to this many bytes stay in memory until they are whole."""

PLAIN = 64 << 20
"""Bodies above this go to uncompressed WARC files, so that steps can seek in them."""


@lru_cache(maxsize=1024)
def _kind(endings: str) -> str:
    """Return the media type that the last endings of a file's name stand for."""
    return mimetypes.guess_type(f"x.{endings}", strict=False)[0] or "application/octet-stream"


def _dense(body: bytes) -> bool:
    """Tell from a piece of a body whether compressing it would save nothing."""
    piece = body[: 1 << 12]
    return len(piece) == 1 << 12 and len(igzip.compress(piece, 0)) > len(piece) * 0.95


class CaptureSink:
    """One transfer's sink (`windrow.fetch.Sink`), and then one record of the archive."""

    def __init__(self, archive: ArchiveWriter, job: FetchJob, at: datetime) -> None:
        """Take up the part that an earlier transfer left, if there is one."""
        self._archive = archive
        file = job.file
        self._part_name, self._last = file.part, job.last
        self._address = target(job.url)
        self._at = self._now = at
        self._id = record_id()
        self._head = b""
        self._request = b""
        self._announced: int | None = None
        self._memory = bytearray()
        self._stamped: tuple[datetime | None, str] = (None, "")
        self._whole = b""  # the memory as bytes, once somebody asked for all of it
        self._part: PartFile | None = None
        self.cut = False  # what is kept is the beginning of a longer body: true of one in memory only
        self.request_cut = False  # the request had a body that is not kept with its head
        self.modified = file.modified
        self.listed = file.size
        self.validator = ""
        if file.part and (file.size is None or file.size > SMALL):
            path = archive.part_path(file.part)
            self._part = PartFile(path) if path.exists() else None
        self.start = self._part.held if self._part else 0
        if self._part and self.start:
            # What was answered first is kept, not what an answer to a range says.
            self._head, self._request = self._part.head, self._part.request
            self._at = datetime.fromisoformat(self._part.date) if self._part.date else at
            self.validator = validator(read_head(self._head).fields)
        self.received = 0
        self.on_grown: Callable[[int], None] | None = None

    @property
    def size(self) -> int:
        """Bytes of the body that are here."""
        return self._part.held if self._part else len(self._memory)

    @property
    def answered(self) -> HttpHead:
        """What the server answered, or answered first if this transfer went on with an earlier one."""
        return read_head(self._head)

    @property
    def whole(self) -> bool:
        """Tell whether an earlier transfer brought everything that the listing announced."""
        return bool(self.start) and self.start == self.listed

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin the body: `size` is the whole document's, heads as they went over the line."""
        self._announced = size
        if not self.start:
            self._head, self._request = head, request
        expected = size if size is not None else self.listed
        self._refuse_above(expected or 0)
        self._archive.need_room((expected or 0) - self.start)
        if self._part is None and expected is not None and expected > SMALL:
            self._spill()
        elif self._part is not None and not self._part.begun:
            self._begin(self._part)

    def restart(self) -> None:
        """Forget what an earlier transfer brought."""
        if self._part:
            self._part.clear()
        self.start, self.validator, self._at = 0, "", self._now

    def write(self, block: bytes | memoryview) -> None:
        """Take the next bytes of the body."""
        self.received += len(block)
        if self._part is None and len(self._memory) + len(block) > SMALL:
            self._spill()
        if self._part is not None:
            self._part.write(block)
        else:
            self._memory += block
        self._refuse_above(self.size)
        if self.on_grown:
            self.on_grown(self.size)

    def content(self, limit: int) -> bytes:
        """Return the body's first `limit` bytes."""
        if self._part:
            return self._part.read(min(limit, self.size))
        return self._all() if len(self._memory) <= limit else bytes(self._memory[:limit])

    def _all(self) -> bytes:
        """Return what is in memory."""
        if len(self._whole) != len(self._memory):
            self._whole = bytes(self._memory)
        return self._whole

    def _refuse_above(self, size: int) -> None:
        if size > self._archive.limits.transfer:
            self.drop()
            limit = self._archive.limits.transfer
            raise TerminalFailure(f"{self._address} is larger than {limit} bytes", Reason.TOO_LARGE)

    def _spill(self) -> None:
        """Move from memory to a part file."""
        name = self._part_name or record_id()[10:-1]
        self._part = PartFile(self._archive.part_path(name))
        self._begin(self._part)
        if self._memory:
            self._part.write(bytes(self._memory))
            self._memory.clear()

    def _begin(self, part: PartFile) -> None:
        info, _ = warcinfo(self._archive.large_path(part.path.stem).name, self._archive.info, self._at)
        part.begin(
            info + (self._asked() if self._request else b""),
            open_header("response" if self._head else "resource", self._fields()),
            self._head,
        )

    def _mime(self) -> str:
        told = media_type(read_head(self._head).fields) if self._head else ""
        return told or _kind(".".join(self._address.rpartition("/")[2].split(".")[1:][-2:]))

    def _kept(self, name: str, size: int, place: ArchivePlace, *, revisit: bool = False) -> KeptResponse:
        return KeptResponse(name, size, place, revisit, self._at, self._mime())

    def _stamp(self) -> str:
        if self._at is not self._stamped[0]:
            self._stamped = (self._at, stamp(self._at))
        return self._stamped[1]

    def _fields(self, address: str = "") -> list[tuple[str, str]]:
        kind = "application/http;msgtype=response" if self._head else self._mime()
        fields = [("WARC-Record-ID", self._id), ("WARC-Date", self._stamp())]
        cut = [("WARC-Truncated", "length")] if self.cut else []
        return [*fields, ("WARC-Target-URI", address or self._address), ("Content-Type", kind), *cut]

    def check(self) -> None:
        """Compare the size with those that were announced, or raise; what ended early may be gone on with."""
        size = self.size
        if self._announced is not None and size < self._announced:
            raise TransientFailure(f"{self._address} ended after {size} of {self._announced} bytes", Reason.INTERRUPTED)
        for said, who in ((self._announced, "the server announced"), (self.listed, "the listing says")):
            if said is not None and size != said:
                self.drop()
                raise TransientFailure(f"{self._address} has {size} bytes, {who} {said}", Reason.SIZE_MISMATCH)

    def finish(self, *, unchanged: bool = False) -> KeptResponse:
        """Check the size and put the body into the archive as one record.

        What the server calls `unchanged` (304) is kept as metadata, the head alone: a revisit of that kind is shown
        as an empty page by what replays archives.
        """
        if unchanged:
            # Tools that index an archive would take metadata under the page's own address for a version of it.
            fields = self._fields(NOT_MODIFIED + self._address)
            told = header("metadata", fields, len(self._head)) + self._head + END
            return self._kept(self._last.digest, 0, self._write(told, plain=False), revisit=True)
        self.check()
        return self._finish_part(self._part) if self._part else self._finish_memory(self._all())

    def _finish_memory(self, body: bytes) -> KeptResponse:
        name = digest(body)
        return self._kept(name, len(body), self._append(body, name), revisit=name == self._last.digest)

    def _finish_part(self, part: PartFile) -> KeptResponse:
        name, size = part.digest(), part.held
        if name == self._last.digest:
            part.drop()
            return self._kept(name, size, self._append(b"", name), revisit=True)
        if size <= PLAIN and not packed(part.read(16)):
            place = self._append(part.read(), name)
            part.drop()
            return self._kept(name, size, place)
        into = self._archive.large_path(part.path.stem)
        offset, length = part.finish(name, into)
        return self._kept(name, size, ArchivePlace(into.name, offset, length))

    def _asked(self) -> bytes:
        """Write the request as a record of its own, tied to the response's."""
        fields = [("WARC-Record-ID", record_id()), ("WARC-Date", self._stamp())]
        fields += [("WARC-Target-URI", self._address), ("WARC-Concurrent-To", self._id)]
        fields += [("Content-Type", "application/http;msgtype=request")]
        fields += [("WARC-Truncated", "unspecified")] if self.request_cut else []
        return header("request", fields, len(self._request)) + self._request + END

    def _append(self, body: bytes, name: str) -> ArchivePlace:
        fields = [*self._fields(), ("WARC-Payload-Digest", warc(name))]
        last = self._last
        revisit = name == last.digest
        kind = "revisit" if revisit else "response" if self._head else "resource"
        block = b"" if revisit else body
        if revisit:
            fields += [("WARC-Profile", REVISIT), ("WARC-Refers-To-Target-URI", target(last.address))]
            fields += [("WARC-Refers-To-Date", last.date)]
        told = header(kind, fields, len(self._head) + len(block))
        record = b"".join((told, self._head, block, END))
        plain = len(body) > PLAIN or packed(body[:16]) or (not body[:64].isascii() and _dense(body))
        return self._write(record, plain=plain)

    def _write(self, record: bytes, *, plain: bool) -> ArchivePlace:
        """Append a record, and before it the request."""
        return self._archive.append(record, self._asked() if self._request else b"", plain=plain)

    def verify(self, checksum: str) -> None:
        """Compare the body with the checksum offered beside it (`md5:...`), or raise."""
        algorithm, _, value = checksum.partition(":")
        hasher = hashlib.new(algorithm, bytes(self._memory), usedforsecurity=False)
        if self._part:
            for start in range(0, self.size, SMALL):
                hasher.update(self._part.read(SMALL, start))
        if hasher.hexdigest() != value.lower():
            self.drop()
            raise TransientFailure(
                f"{self._address} has {algorithm} {hasher.hexdigest()}, the file beside it says {value}",
                Reason.DIGEST_MISMATCH,
            )

    def leave(self) -> None:
        """End a broken transfer: a part file stays for the next one."""
        if self._part:
            if self._part_name:
                self._part.close()
            else:
                self._part.drop()

    def drop(self) -> None:
        """End a transfer whose bytes are of no use."""
        if self._part:
            self._part.drop()
        self._memory.clear()
