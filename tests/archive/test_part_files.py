"""Part files and large files that somebody altered: none is waited for, and none becomes another document's bytes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from windrow.archive import repair_archive
from windrow.archive.part_file import PartFile
from windrow.formats.warc import END, format_header

INFO = format_header("warcinfo", [("WARC-Date", "2026-01-02T03:04:05Z")], 4) + b"info" + END
LENGTHS = [
    b"-1", b"-30", b"-100000", b"0x10", b"1_0", b"", b"99999999", b"9" * 18, b"9" * 19, b"9" * 40, b"9" * 5000,
    b"nan", b"1e3",
]  # fmt: skip


def record(kind: bytes, length: bytes, block: bytes = b"block") -> bytes:
    header = b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: 2026-01-02T03:04:05Z\r\nContent-Length: %s\r\n\r\n"
    return header % (kind, length) + block + END


@pytest.mark.parametrize("kind", [b"warcinfo", b"request"])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_part_file_with_a_wrong_length_is_emptied_at_once(tmp_path: Path, kind: bytes, length: bytes) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(record(kind, length) + record(b"response", b" " * 20))
    began = time.monotonic()
    part = PartFile(path)
    assert (part.body_size, part.has_begun, part.request) == (0, False, b"")
    part.close()
    assert time.monotonic() - began < 2


def test_a_request_is_not_read_into_memory_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    block = bytes(1 << 20)
    path.write_bytes(INFO + record(b"request", b"%d" % len(block), block) + record(b"resource", b" " * 20, b"body"))
    part = PartFile(path)
    assert part.has_begun
    assert len(part.request) <= 64 << 10
    part.close()


@pytest.mark.parametrize("date", ["yesterday", "9" * 40, "2026-13-01T00:00:00Z", "2026-01-02", "2026-01-02T03:04:05"])
def test_a_part_file_with_a_wrong_date_is_emptied(tmp_path: Path, date: str) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(INFO + record(b"resource", b" " * 20, b"body").replace(b"2026-01-02T03:04:05Z", date.encode()))
    part = PartFile(path)
    assert (part.body_size, part.date) == (0, None)
    part.close()


@pytest.mark.parametrize("length", LENGTHS)
def test_a_large_file_with_a_wrong_length_is_set_aside(tmp_path: Path, length: bytes) -> None:
    path = tmp_path / "large-1.warc"
    content = INFO + record(b"resource", length)
    path.write_bytes(content)
    (message,) = repair_archive(tmp_path, {})
    assert path.name in message
    assert not path.exists()
    kept = [*tmp_path.rglob("*.damaged"), *tmp_path.rglob("parts/*.warc")]
    assert len(kept) == 1
    assert kept[0].stat().st_size
