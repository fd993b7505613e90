"""Captures by their index: CDX lines and the records they point to."""

import base64
import gzip
import hashlib
import random
import resource

import pytest

from tests.archive.foreign_records import pack_records, response_record, revisit_record, warcinfo_record
from windrow.archive import read_blocks, verify_record
from windrow.digest import digest
from windrow.errors import ArchiveError
from windrow.formats.cdx import CdxFault, CdxLine, Layout, parse_line
from windrow.model import Limits
from windrow.reasons import Reason

SHA = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
BODY = b"%PDF-1.5 " + random.Random(3).randbytes(50_000)


def row(at):
    return f"org,example)/{at} 20180301120000 http://example.org/{at} application/pdf 200 {SHA} - - 9 {at} a/b.warc.gz"


def read_rows(path, after=0):
    """Return number and capture, or fault, of each line of an index after a line."""
    rows = []
    for block in read_blocks(path, after):
        layout = block.legend
        for number, line in enumerate(block.content.split(b"\n"), block.first):
            parsed = parse_line(line, layout)
            layout = parsed if isinstance(parsed, Layout) else layout
            rows += [(number, parsed)] if isinstance(parsed, CdxLine | CdxFault) else []
    return rows


@pytest.mark.parametrize("pack", [False, True])
def test_an_index_is_read_line_by_line_and_from_any_line_on(tmp_path, pack):
    lines = [" CDX N b a m s k r M S V g", *map(row, range(30_000)), "junk", "", "# note", row(7)]
    content = "\n".join(lines).encode()
    path = tmp_path / "x.cdx"
    path.write_bytes(gzip.compress(content[:99_999]) + gzip.compress(content[99_999:]) if pack else content)
    rows = read_rows(path)
    assert len(rows) == 30_002
    assert [number for number, _ in rows[:2]] == [2, 3]
    assert [type(line) for _, line in rows[-2:]] == [CdxFault, CdxLine]
    assert read_rows(path, after=29_999) == rows[29_998:]


def test_a_legend_holds_for_lines_read_later(tmp_path):
    path = tmp_path / "x.cdx"
    path.write_text(" CDX b N a m s k g V\n" + f"20180301120000 k http://a/ a/b 200 {SHA} x.warc 5\n" * 3)
    assert [line.offset for _, line in read_rows(path, after=2)] == [5, 5]
    row_text = f"20180301120000 k http://a/ a/b 200 {SHA} x.warc 5\n"
    path.write_text("\ufeffCDX b N a m s k g V\n" + row_text * 20_000)  # more than a block
    assert {line.offset for _, line in read_rows(path)} == {5}


def test_a_line_without_an_end_is_no_danger(tmp_path):
    path = tmp_path / "x.cdx.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b"a" * (1 << 20))
        file.write(b"\n" + row(1).encode())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = read_rows(path)
    assert [getattr(line, "reason", None) for _, line in rows] == [Reason.TOO_LARGE, None]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_a_gzip_file_that_breaks_off_ends_in_a_fault(tmp_path):
    path = tmp_path / "x.cdx.gz"
    path.write_bytes(gzip.compress("\n".join(map(row, range(5_000))).encode())[:-500])
    with pytest.raises(ArchiveError) as caught:
        list(read_blocks(path))
    assert caught.value.reason is Reason.TRUNCATED
    with pytest.raises(ArchiveError):
        list(read_blocks(tmp_path / "none"))


def sha1(body):
    return base64.b32encode(hashlib.sha1(body).digest()).decode()


@pytest.fixture(params=["plain", "gzip"])
def file(request, tmp_path):
    records = [
        warcinfo_record(),
        response_record("http://a.example/x.pdf", BODY),
        revisit_record("http://a.example/y.pdf", BODY),
    ]
    path = tmp_path / "x.warc"
    path.write_bytes(pack_records(records) if request.param == "gzip" else b"".join(records))
    sizes = [len(pack_records([each])) if request.param == "gzip" else len(each) for each in records]
    return path, [0, sizes[0], sizes[0] + sizes[1]]


@pytest.mark.parametrize("spelled", [sha1(BODY), f"sha1:{sha1(BODY).lower()}", digest(BODY), ""])
def test_a_record_is_read_and_verified(file, spelled):
    path, places = file
    record = verify_record(path, places[1], Limits(), digest=spelled)
    assert (record.size, record.digest) == (len(BODY), digest(BODY))
    assert record.fields["warc-target-uri"] == "http://a.example/x.pdf"


def test_a_revisit_says_that_it_is_one(file):
    path, places = file
    record = verify_record(path, places[2], Limits(), digest=sha1(BODY))
    assert (record.kind, record.size) == ("revisit", 0)


@pytest.mark.parametrize(
    ("shift", "digest", "limits", "reason"),
    [
        (0, "A" * 32, Limits(), Reason.DIGEST_MISMATCH),
        (3, "", Limits(), Reason.CORRUPT),
        (10**9, "", Limits(), Reason.TRUNCATED),
        (0, "", Limits(transfer_size=1_000), Reason.TOO_LARGE),
        (0, "crc32:1", Limits(), Reason.UNSUPPORTED),
    ],
)
def test_what_cannot_be_opened_has_its_reason(file, shift, digest, limits, reason):
    path, places = file
    with pytest.raises(ArchiveError) as caught:
        verify_record(path, places[1] + shift, limits, digest=digest)
    assert caught.value.reason is reason


def test_a_file_that_is_not_there_has_its_reason(tmp_path):
    with pytest.raises(ArchiveError) as caught:
        verify_record(tmp_path / "none.warc.gz", 0, Limits())
    assert caught.value.reason is Reason.NOT_FOUND


def test_a_digest_of_what_is_in_the_chunks_is_verified_too(tmp_path):
    chunked = b"5\r\nhello\r\n0\r\n\r\n"
    path = tmp_path / "x.warc"
    path.write_bytes(
        response_record("http://a.example/", chunked, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    )
    for body in (chunked, b"hello"):
        assert verify_record(path, 0, Limits(), digest=sha1(body)).digest == digest(chunked)


def test_real_lines_of_the_samples(shared):
    paths = sorted((shared / "data/papers/cdx").glob("*.cdx"))
    captures = [line for path in paths for _, line in read_rows(path) if isinstance(line, CdxLine)]
    assert len(captures) > 20
    assert all(each.offset is not None and each.warc and len(each.digest) == 32 for each in captures)
