"""Write transfers to the archive. A small body is collected in memory, a large one in a part file."""

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

from windrow.archive.import_file import convert_arc_record
from windrow.archive.part_file import PartFile
from windrow.archive.warc_writer import WarcWriter
from windrow.clock import spell
from windrow.digest import digest, warc_digest
from windrow.errors import DiskFull, TerminalFailure, TransientFailure
from windrow.formats.http import HttpHead, find_validator, read_head, read_media_type
from windrow.formats.text import spell_size
from windrow.formats.warc import (
    END,
    NOT_MODIFIED_PREFIX,
    REVISIT,
    escape_target,
    format_header,
    format_open_header,
    format_warcinfo,
    is_compressed,
    new_record_id,
)
from windrow.model import ArchivePlace, FetchJob, KeptResponse, Limits
from windrow.reasons import Reason

PARTS_FOLDER = "parts"
LARGE_PREFIX = "large-"
"""The prefix of WARC files that contain one large transfer."""
UNARCHIVED_PREFIX = "unarchived-"
"""The prefix of files with responses that are not archived. A file is removed once no step needs its responses."""
LOCK_FILE = ".lock"


def _lock_as_writer(folder: Path) -> int:
    """Lock the archive as one of several writers, so that `lock_archive` waits. Return the lock's file descriptor."""
    lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


class ArchiveWriter:
    """Appends records to `.warc.gz` files, or to `.warc` files if they are not to be compressed."""

    def __init__(
        self, folder: Path, prefix: str, limits: Limits, rotate: int, agent: str, *, archived: bool = True
    ) -> None:
        """Lock the archive `folder` as a writer. File names begin with `prefix`, which no other process may use.

        A file that has `rotate` bytes or more is followed by another one. `agent` is the user agent for the warcinfo
        record. If `archived` is false, `UNARCHIVED_PREFIX` precedes `prefix`.
        """
        self._large_prefix = LARGE_PREFIX if archived else f"{UNARCHIVED_PREFIX}{LARGE_PREFIX}"
        prefix = prefix if archived else f"{UNARCHIVED_PREFIX}{prefix}"
        self.folder = folder
        self.limits = limits
        standard = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
        self.info = [("software", agent), ("format", "WARC File Format 1.1"), ("conformsTo", standard)]
        (folder / PARTS_FOLDER).mkdir(parents=True, exist_ok=True)
        self._lock = _lock_as_writer(folder)
        self._spare_bytes = 0  # the number of bytes that may be written before the free space is read again
        self._checked_at = 0.0  # when the free space was last read
        self._gzip = WarcWriter(folder, prefix, gzip=True, rotate=rotate, info=self.info)
        self._plain = WarcWriter(folder, prefix, gzip=False, rotate=rotate, info=self.info)

    def part_path(self, name: str) -> Path:
        """Return the path of the part file `name`."""
        return self.folder / PARTS_FOLDER / f"{name}.warc"

    def large_path(self, name: str) -> Path:
        """Return the path in the archive to which the part file `name` is moved when the transfer is complete."""
        return self.folder / f"{self._large_prefix}{name}.warc"

    def need_room(self, size: int) -> None:
        """Raise DiskFull if writing `size` bytes would leave fewer than about `limits.free_space` bytes free."""
        self._spare_bytes -= size
        if self._spare_bytes >= 0 and time.monotonic() - self._checked_at < 1.0:
            return
        disk = os.statvfs(self.folder)
        free = disk.f_bavail * disk.f_frsize
        self._spare_bytes, self._checked_at = (free - size - self.limits.free_space) // 16, time.monotonic()
        if free < size + self.limits.free_space:
            raise DiskFull(
                f"{spell_size(free)} are free on the disk of {self.folder}: {spell_size(size)} are needed, and"
                f" {spell_size(self.limits.free_space)} must stay free",
                hint="free some space or lower limits.free_space, then: windrow run",
            )

    def append(self, record: bytes, preceding: bytes, *, plain: bool) -> ArchivePlace:
        """Write `preceding` (if any) and then `record`, compressed unless `plain`; return the place of `record`."""
        return (self._plain if plain else self._gzip).append(record, preceding)

    def copy(self, path: Path, offset: int, length: int, *, packed: bool, arc: bool = False) -> ArchivePlace:
        """Copy a record from another file, and return its new place. `packed` is whether the record is a gzip member.

        If `arc` is true, the other file is an ARC file, and the record is converted to WARC.
        """
        self.need_room(length)
        if arc:
            return self._gzip.write(convert_arc_record(path, offset, length))
        return (self._gzip if packed else self._plain).copy(path, offset, length)

    def sync(self) -> None:
        """Flush everything written so far to the disk."""
        self._gzip.sync()
        self._plain.sync()

    def close(self) -> None:
        """Close the files and release the lock."""
        self._gzip.close()
        self._plain.close()
        os.close(self._lock)


OVERLAP_BYTES = 1 << 16
"""The bytes before the end of an unfinished transfer that are requested again, and compared."""
MAX_BODY_IN_MEMORY = 1 << 20
"""The maximum number of bytes of a body that is collected in memory."""

MAX_COMPRESSED_BODY = 64 << 20
"""The maximum number of bytes of a body that is compressed; larger bodies are not, so that steps can seek in them."""


@lru_cache(maxsize=1024)
def _guess_media_type(suffixes: str) -> str:
    return mimetypes.guess_type(f"x.{suffixes}", strict=False)[0] or "application/octet-stream"


def _is_dense(body: bytes) -> bool:
    """Return whether a body has at least 4,096 bytes and compression saves less than 5 % of the first 4,096."""
    start = body[: 1 << 12]
    return len(start) == 1 << 12 and len(igzip.compress(start, 0)) > len(start) * 0.95


class CaptureSink:
    """The sink of one transfer (`windrow.fetch.transport.Sink`), which becomes one record of the archive."""

    def __init__(self, archive: ArchiveWriter, job: FetchJob, started: datetime) -> None:
        """Prepare for a transfer that begins at `started`. If the file is not small, its part file is continued."""
        self._archive = archive
        file = job.file
        self._part_name, self._last = file.part, job.last
        self._address = escape_target(job.url)
        self._warc_time = self._started = started
        self._id = new_record_id()
        self._head = b""
        self._request = b""
        self._announced: int | None = None  # the size in bytes that the server announced
        self._memory = bytearray()
        self._cached_date: tuple[datetime | None, str] = (None, "")  # a time, and its text
        self._memory_bytes = b""  # a copy of `_memory`, made when all of it is read
        self._part: PartFile | None = None
        self.cut = False  # whether only the beginning of the body is kept; it is in memory
        self.request_cut = False  # whether the request had a body, which is not kept
        self.modified = file.modified
        self.listed_size = file.size
        self.validator = ""
        if file.part and (file.size is None or file.size > MAX_BODY_IN_MEMORY):
            path = archive.part_path(file.part)
            self._part = PartFile(path) if path.exists() else None
        self._overlap = b""  # the last bytes of an earlier transfer, which this one must begin with
        self.start = self._find_start()
        if self._part and self.start:
            # The head of the first response is archived, not that of a response to a range request.
            self._head, self._request = self._part.head, self._part.request
            self._warc_time = self._part.date or started
            self.validator = find_validator(read_head(self._head).fields)
        self.received = 0  # bytes that this transfer added to the body
        self.on_grown: Callable[[int], None] | None = None  # is called with `size` after each block

    @property
    def size(self) -> int:
        """The number of bytes of the body that this transfer and earlier ones received."""
        return self._part.body_size if self._part else len(self._memory)

    @property
    def first_head(self) -> HttpHead:
        """The head of the response, or of the first response if this transfer continues an earlier one."""
        return read_head(self._head)

    @property
    def is_complete(self) -> bool:
        """Whether earlier transfers received as many bytes as the listing states."""
        return bool(self._part and self._part.has_begun) and self.size == self.listed_size

    def _find_start(self) -> int:
        """Return the offset at which to continue an earlier transfer: somewhat before its end.

        So the bytes that the server sends can be compared with those that are there. They differ if the file has
        changed, if the server continues at another place, or if a power cut damaged the end of the part.
        """
        if self._part is None:
            return 0
        start = self._part.body_size - OVERLAP_BYTES
        if start <= 0:
            if not self.is_complete:
                self._part.clear()
            return 0
        self._overlap = self._part.read(OVERLAP_BYTES, start)
        return start

    def _compare_overlap(self, block: bytes | memoryview) -> bytes | memoryview:
        """Return what follows the overlap in a block; raise TransientFailure if the block begins with other bytes."""
        count = min(len(block), len(self._overlap))
        if bytes(block[:count]) != self._overlap[:count]:
            self.drop()
            message = f"{self._address} continues with other bytes than an earlier transfer had: it is fetched anew"
            raise TransientFailure(message, Reason.INTERRUPTED)
        self._overlap = self._overlap[count:]
        return block[count:]

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin the body of a document of `size` bytes (None: unknown).

        `head` is the HTTP head of the response, and `request` is the request, both as they are archived. Raises
        DiskFull, ArchiveError, and TerminalFailure if the document is larger than allowed.
        """
        self._announced = size
        if not self.start:
            self._head, self._request = head, request
        expected = size if size is not None else self.listed_size
        self._check_limit(expected or 0)
        self._archive.need_room((expected or 0) - self.start)
        if self._part is None and expected is not None and expected > MAX_BODY_IN_MEMORY:
            self._move_to_part()
        elif self._part is not None and not self._part.has_begun:
            self._begin_part(self._part)

    def restart(self) -> None:
        """Discard the bytes that an earlier transfer received."""
        if self._part:
            self._part.clear()
        self.start, self.validator, self._warc_time, self._overlap = 0, "", self._started, b""

    def write(self, block: bytes | memoryview) -> None:
        """Add the next bytes of the body; raise DiskFull, ArchiveError, or TerminalFailure if the body is too large."""
        if self._overlap:
            block = self._compare_overlap(block)
        self.received += len(block)
        if self._part is None and len(self._memory) + len(block) > MAX_BODY_IN_MEMORY:
            self._move_to_part()
        if self._part is not None:
            self._part.write(block)
        else:
            self._memory += block
        self._check_limit(self.size)
        if self.on_grown:
            self.on_grown(self.size)

    def content(self, limit: int) -> bytes:
        """Return the first `limit` bytes of the body, or all bytes received so far if they are fewer."""
        if self._part:
            return self._part.read(min(limit, self.size))
        return self._memory_content() if len(self._memory) <= limit else bytes(self._memory[:limit])

    def _memory_content(self) -> bytes:
        if len(self._memory_bytes) != len(self._memory):
            self._memory_bytes = bytes(self._memory)
        return self._memory_bytes

    def _check_limit(self, size: int) -> None:
        if size > self._archive.limits.transfer_size:
            self.drop()
            limit = self._archive.limits.transfer_size
            raise TerminalFailure(f"{self._address} has more than {limit} bytes", Reason.TOO_LARGE)

    def _move_to_part(self) -> None:
        name = self._part_name or new_record_id()[10:-1]
        self._part = PartFile(self._archive.part_path(name))
        self._begin_part(self._part)
        if self._memory:
            self._part.write(bytes(self._memory))
            self._memory.clear()

    def _begin_part(self, part: PartFile) -> None:
        info, _ = format_warcinfo(self._archive.large_path(part.path.stem).name, self._archive.info, self._warc_time)
        part.begin(
            info + (self._request_record() if self._request else b""),
            format_open_header("response" if self._head else "resource", self._headers()),
            self._head,
        )

    def _media_type(self) -> str:
        stated = read_media_type(read_head(self._head).fields) if self._head else ""
        return stated or _guess_media_type(".".join(self._address.rpartition("/")[2].split(".")[1:][-2:]))

    def _make_response(self, digest: str, size: int, place: ArchivePlace, *, revisit: bool = False) -> KeptResponse:
        return KeptResponse(digest, size, place, revisit, self._warc_time, self._media_type())

    def _warc_date(self) -> str:
        if self._warc_time is not self._cached_date[0]:
            self._cached_date = (self._warc_time, spell(self._warc_time))
        return self._cached_date[1]

    def _headers(self, address: str = "") -> list[tuple[str, str]]:
        content_type = "application/http;msgtype=response" if self._head else self._media_type()
        fields = [("WARC-Record-ID", self._id), ("WARC-Date", self._warc_date())]
        truncation = [("WARC-Truncated", "length")] if self.cut else []
        return [*fields, ("WARC-Target-URI", address or self._address), ("Content-Type", content_type), *truncation]

    def check(self) -> None:
        """Compare the size of the body with the sizes that the server and the listing state.

        If one differs, raises TransientFailure, and discards the body unless it is shorter than the server announced.
        """
        size = self.size
        if self._announced is not None and size < self._announced:
            raise TransientFailure(f"{self._address} ended after {size} of {self._announced} bytes", Reason.INTERRUPTED)
        statements = ((self._announced, "the server announced"), (self.listed_size, "the listing states"))
        for expected, statement in statements:
            if expected is not None and size != expected:
                self.drop()
                raise TransientFailure(
                    f"{self._address} has {size} bytes, but {statement} {expected}", Reason.SIZE_MISMATCH
                )

    def finish(self, *, unchanged: bool = False) -> KeptResponse:
        """Check the size, archive the body, and return the archived response.

        A body with the digest of the last capture is archived as a revisit. If the response is `unchanged` (status
        304), nothing is checked, and only its head is written, as a metadata record. Replay tools would show a revisit
        record of such a response as an empty page.
        """
        if unchanged:
            # Indexers would take a metadata record with the page's own address for a version of the page.
            fields = self._headers(NOT_MODIFIED_PREFIX + self._address)
            record = format_header("metadata", fields, len(self._head)) + self._head + END
            return self._make_response(self._last.digest, 0, self._write(record, plain=False), revisit=True)
        self.check()
        return self._finish_part(self._part) if self._part else self._finish_memory(self._memory_content())

    def _finish_memory(self, body: bytes) -> KeptResponse:
        body_digest = digest(body)
        return self._make_response(
            body_digest, len(body), self._append(body, body_digest), revisit=body_digest == self._last.digest
        )

    def _finish_part(self, part: PartFile) -> KeptResponse:
        """Archive a complete body, and return the archived response.

        If the body is unchanged, a revisit record is written. If it is not compressed already and has at most
        `MAX_COMPRESSED_BODY` bytes, a new record is written. Otherwise the part file is moved into the archive.
        """
        body_digest, size = part.digest(), part.body_size
        if body_digest == self._last.digest:
            part.drop()
            return self._make_response(body_digest, size, self._append(b"", body_digest), revisit=True)
        if size <= MAX_COMPRESSED_BODY and not is_compressed(part.read(16)):
            place = self._append(part.read(), body_digest)
            part.drop()
            return self._make_response(body_digest, size, place)
        path = self._archive.large_path(part.path.stem)
        offset, length = part.finish(body_digest, path)
        return self._make_response(body_digest, size, ArchivePlace(path.name, offset, length))

    def _request_record(self) -> bytes:
        fields = [("WARC-Record-ID", new_record_id()), ("WARC-Date", self._warc_date())]
        fields += [("WARC-Target-URI", self._address), ("WARC-Concurrent-To", self._id)]
        fields += [("Content-Type", "application/http;msgtype=request")]
        fields += [("WARC-Truncated", "unspecified")] if self.request_cut else []
        return format_header("request", fields, len(self._request)) + self._request + END

    def _append(self, body: bytes, body_digest: str) -> ArchivePlace:
        """Write a record of the body, or a revisit if the last capture has the same digest; return the new place."""
        fields = [*self._headers(), ("WARC-Payload-Digest", warc_digest(body_digest))]
        previous = self._last
        is_revisit = body_digest == previous.digest
        kind = "revisit" if is_revisit else "response" if self._head else "resource"
        block = b"" if is_revisit else body
        if is_revisit:
            fields += [("WARC-Profile", REVISIT), ("WARC-Refers-To-Target-URI", escape_target(previous.address))]
            fields += [("WARC-Refers-To-Date", previous.date)]
        warc_header = format_header(kind, fields, len(self._head) + len(block))
        record = b"".join((warc_header, self._head, block, END))
        plain = (
            len(body) > MAX_COMPRESSED_BODY or is_compressed(body[:16]) or (not body[:64].isascii() and _is_dense(body))
        )
        return self._write(record, plain=plain)

    def _write(self, record: bytes, *, plain: bool) -> ArchivePlace:
        return self._archive.append(record, self._request_record() if self._request else b"", plain=plain)

    def verify(self, checksum: str) -> None:
        """If the body does not have the checksum `ALGORITHM:HEX`, discard the body and raise TransientFailure."""
        algorithm, _, expected = checksum.partition(":")
        hasher = hashlib.new(algorithm, bytes(self._memory), usedforsecurity=False)
        if self._part:
            for start in range(0, self.size, MAX_BODY_IN_MEMORY):
                hasher.update(self._part.read(MAX_BODY_IN_MEMORY, start))
        if hasher.hexdigest() != expected.lower():
            self.drop()
            raise TransientFailure(
                f"{self._address} has {algorithm} {hasher.hexdigest()}, but its checksum file states {expected}",
                Reason.DIGEST_MISMATCH,
            )

    def leave(self) -> None:
        """End an interrupted transfer. The part file of a listed file is kept for the next transfer of the file."""
        if self._part:
            if self._part_name:
                self._part.close()
            else:
                self._part.drop()

    def drop(self) -> None:
        """End the transfer and discard its bytes, including those of earlier transfers."""
        if self._part:
            self._part.drop()
        self._memory.clear()
