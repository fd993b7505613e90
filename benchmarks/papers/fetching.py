"""Records of a WARC file found by offset and verified, beside FastWARC and warcio that read them in their order."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.comparison import Comparison
from windrow.collections.papers.file_meta import file_meta
from windrow.engine.captures.foreign_records import RecordJob
from windrow.model import CdxLine, Limits

RECORDS, SIZE = 3_000, 30_000
"""Records, and bytes of the body of each."""
MEBIBYTES, ROUNDS = 64, 3


def library(path: Path, records: int = RECORDS) -> list[CdxLine]:
    """Write a WARC file of bodies that pack to about half, as those of PDFs do; return its index."""
    chance, lines, offset = random.Random(3), [], 0
    with path.open("wb") as file:
        for number in range(records):
            body = chance.randbytes(SIZE // 2) + bytes(SIZE // 2)
            digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: %d\r\n\r\n" % SIZE
            url = f"http://example.org/{number}.pdf"
            warc = (
                "WARC/1.0\r\nWARC-Type: response\r\n"
                f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\n"
                f"WARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Target-URI: {url}\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
                f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head) + SIZE}\r\n\r\n"
            ).encode()
            record = gzip.compress(warc + head + body + b"\r\n\r\n", 6, mtime=0)
            file.write(record)
            stamp = "20200102030405"
            lines.append(CdxLine("", stamp, url, "application/pdf", 200, digest, len(record), offset, path.name))
            offset += len(record)
    return lines


def fetching(records: int = RECORDS, mebibytes: int = MEBIBYTES, rounds: int = ROUNDS) -> Iterator[Comparison]:
    """Read all records, each from its offset as an index has it, and verify them; then the digests of a file alone.

    Each record is digested twice: by SHA-1, as its index says, and as the archive names it.
    """
    from fastwarc import ArchiveIterator, WarcRecordType  # noqa: PLC0415 of the group dev
    from warcio.archiveiterator import ArchiveIterator as WarcioIterator  # noqa: PLC0415 of the group dev

    limits = Limits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.warc.gz"
        lines = library(path, records)

        def ours() -> int:
            return sum(len(RecordJob(path, line).run(limits).imported.payload) > 0 for line in lines)

        def fastwarc() -> int:
            with path.open("rb") as file:
                responses = ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True)
                return sum(len(hashlib.sha1(record.reader.read()).digest()) > 0 for record in responses)

        def warcio() -> int:
            with path.open("rb") as file:
                responses = WarcioIterator(file)
                return sum(len(hashlib.sha1(record.content_stream().read()).digest()) > 0 for record in responses)

        assert ours() == fastwarc() == warcio() == records
        runs = {"ours": ours, "FastWARC and SHA-1, in order": fastwarc, "warcio and SHA-1, in order": warcio}
        took = {name: records / _seconds(run, rounds) for name, run in runs.items()}
    mine = took.pop("ours")
    for name, theirs in took.items():
        yield Comparison("WARC records found and verified", "records/s", mine, name, theirs, None)

    content = random.Random(4).randbytes(mebibytes << 20)
    meta = mebibytes / _seconds(lambda: file_meta(io.BytesIO(content), 1 << 30), rounds)
    alone = mebibytes / _seconds(lambda: [hashlib.new(name, content) for name in ("sha1", "md5", "sha256")], rounds)
    yield Comparison("file:meta in one pass", "MiB/s", meta, "hashlib, one digest after the other", alone, None)


def _seconds(run: Callable[[], object], rounds: int) -> float:
    """Return the best of some rounds, in seconds of a core."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return best
