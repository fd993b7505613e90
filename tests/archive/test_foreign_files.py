"""WARC files of other programs: read whole, from the middle, and damaged."""

from __future__ import annotations

import gzip
import io
import random

import pytest
from fastwarc.warc import ArchiveIterator as FastWarc
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from tests.archive.foreign_records import (
    HTML,
    make_record,
    pack_records,
    response_record,
    revisit_record,
    warcinfo_record,
)
from tests.cpu import cpu_seconds
from windrow.archive import open_capture
from windrow.archive.import_file import _read_blocks, import_warc_file, remove_leftovers
from windrow.archive.warc_reader import detect_form, read_records
from windrow.archive.warc_writer import map_write_errors
from windrow.digest import digest
from windrow.errors import ArchiveError
from windrow.model import ArchivePlace, Limits
from windrow.reasons import Reason

BODIES = [random.Random(at).randbytes(at * 700) for at in range(8)]
RECORDS = [warcinfo_record(), *(response_record(f"http://a.example/{at}", body) for at, body in enumerate(BODIES))]


@pytest.fixture(params=["plain", "gzip"])
def write(request, tmp_path):
    """Return a function that writes records into a file."""

    def writing(records, name="x"):
        path = tmp_path / f"{name}.warc{'.gz' if request.param == 'gzip' else ''}"
        path.write_bytes(pack_records(records) if request.param == "gzip" else b"".join(records))
        return path

    return writing


def read(path, start=0, limits=None):
    return list(read_records(path, start, limits or Limits()))


def test_records_and_their_places(write):
    path = write(RECORDS)
    records = read(path)
    assert [record_.kind for record_ in records] == ["warcinfo"] + ["response"] * 8
    assert [(record_.digest, record_.size) for record_ in records[1:]] == [(digest(body), len(body)) for body in BODIES]
    assert records[1].head.startswith(b"HTTP/1.1 200 OK")
    assert [record_.offset for record_ in records[1:]] == [record_.next for record_ in records[:-1]]
    assert records[-1].next == path.stat().st_size
    for record_, body in zip(records[1:], BODIES, strict=True):
        with open_capture(path.parent, ArchivePlace(path.name, record_.offset, record_.length)) as view:
            assert view.read() == body
        assert read(path, record_.offset) == records[records.index(record_) :]


def test_what_is_no_warc_file_is_refused(tmp_path):
    path = tmp_path / "x.warc"
    for content in (b"PK\x03\x04", b"WARC/0.9\r\n", b"hello", b"http://a/ 1.2.3.4 20040101000000 text/html 5\nhello"):
        path.write_bytes(content)
        with pytest.raises(ArchiveError, match="not a WARC or ARC file"):
            detect_form(path)
    with pytest.raises(ArchiveError):
        detect_form(tmp_path / "missing")
    path.write_bytes(b"")
    assert read(path) == []


def test_a_cut_file_gives_what_is_whole(write):
    path = write(RECORDS)
    whole = read(path)
    path.write_bytes(path.read_bytes()[:-40])
    records = read(path)
    assert records[:-1] == whole[:-1]
    assert records[-1].reason is Reason.TRUNCATED
    assert records[-1].next == path.stat().st_size


@pytest.mark.parametrize("length", [0, 5, 100_000, "x"])
def test_a_wrong_length_costs_one_record(write, length):
    wrong = response_record("http://a.example/", b"words " * 40)
    length_line = b"Content-Length: " + wrong.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
    wrong = wrong.replace(length_line, f"Content-Length: {length}".encode())
    records = read(write([RECORDS[1], wrong, *RECORDS[2:]]))
    assert [record_.reason is None for record_ in records] == [True, False] + [True] * 7
    assert [record_.digest for record_ in records if not record_.reason] == [digest(body) for body in BODIES]


@pytest.mark.parametrize("foreign", [b"\0" * 40_000, b"JUNK line\r\n\r\n"])
def test_bytes_that_do_not_belong_to_the_file_cost_no_record(write, foreign):
    """As after a power cut, if the file was preallocated: the record before them is whole."""
    for place in (4, len(RECORDS)):
        path = write([*RECORDS[:place], *RECORDS[place:]])
        end_of_record = read(path)[place - 1].next
        content = path.read_bytes()
        path.write_bytes(content[:end_of_record] + foreign + content[end_of_record:])
        records = read(path)
        assert [record_.digest for record_ in records if record_.kind == "response"] == [*map(digest, BODIES)]
        assert [(record_.offset, record_.reason) for record_ in records if record_.reason] == [
            (end_of_record, Reason.CORRUPT)
        ]


def test_nul_bytes_at_the_end_of_an_arc_file_cost_no_record(tmp_path):
    path = tmp_path / "x.arc"
    path.write_bytes(b"".join(ARC) + b"\0" * 4096)
    assert [record_.reason for record_ in read(path)] == [None] * len(ARC) + [Reason.CORRUPT]


def test_an_empty_gzip_member_is_no_record(tmp_path):
    """As at the end of a file that bgzip packed."""
    empty = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
    members = [gzip.compress(record_) for record_ in RECORDS]
    path = tmp_path / "x.warc.gz"
    path.write_bytes(b"".join([*members[:3], gzip.compress(b""), *members[3:], empty]))
    records = read(path)
    assert [record_.reason for record_ in records] == [None] * len(RECORDS)
    assert [record_.digest for record_ in records[1:]] == [*map(digest, BODIES)]


def test_a_broken_gzip_member_costs_one_record(tmp_path):
    members = [gzip.compress(record_) for record_ in RECORDS]
    broken = bytearray(members[5])
    broken[60] ^= 0xFF
    path = tmp_path / "x.warc.gz"
    path.write_bytes(b"".join([*members[:5], bytes(broken), *members[6:]]))
    records = read(path)
    assert [record_.reason for record_ in records] == [None] * 5 + [Reason.CORRUPT] + [None] * 3
    path.write_bytes(members[0] + b"\0" * 999 + members[1])
    assert [record_.kind for record_ in read(path)] == ["warcinfo", "", "response"]


def test_one_gzip_stream_for_all_is_told(tmp_path):
    path = tmp_path / "x.warc.gz"
    path.write_bytes(gzip.compress(b"".join(RECORDS)))
    records = read(path)
    assert [record_.reason for record_ in records] == [Reason.UNSUPPORTED]
    assert detect_form(path).must_repack


def test_bombs_are_not_inflated(tmp_path):
    path = tmp_path / "x.warc.gz"
    path.write_bytes(pack_records([response_record("http://a.example/", bytes(20 << 20)), RECORDS[1]]))
    records = read(path, limits=Limits(ratio=100))
    assert [record_.reason for record_ in records] == [Reason.BOMB_RATIO, None]


def test_a_payload_above_the_limit_is_passed_over(write):
    records = read(
        write([response_record("http://a.example/", bytes(9_000)), RECORDS[1]]), limits=Limits(transfer_size=5_000)
    )
    assert [(record_.reason, record_.size) for record_ in records] == [(Reason.TOO_LARGE, 0), (None, 0)]
    assert records[0].head


@settings(max_examples=60)
@given(st.data())
def test_damage_never_stops_the_reading(tmp_path_factory, data):
    pack = data.draw(st.booleans())
    raw = bytearray(pack_records(RECORDS) if pack else b"".join(RECORDS))
    for at, value in data.draw(st.lists(st.tuples(st.integers(16, len(raw) - 1), st.integers(0, 255)), max_size=8)):
        raw[at] = value
    del raw[data.draw(st.integers(16, len(raw))) :]
    path = tmp_path_factory.mktemp("damage") / "x.warc"
    path.write_bytes(raw)
    records = read(path)
    assert [record_.offset for record_ in records[1:]] == [record_.next for record_ in records[:-1]]
    assert records[-1].next == len(raw)
    for at in range(len(records)):
        assert read(path, records[at].offset) == records[at:]


def test_a_file_is_taken_in_once(write, tmp_path):
    path, archive = write(RECORDS), tmp_path / "archive"
    taken = import_warc_file(archive, path, Limits(free_space=0))
    assert (archive / taken.warc).read_bytes() == path.read_bytes()
    assert taken.warc == f"foreign/{taken.digest[7:]}.warc{'.gz' if path.suffix == '.gz' else ''}"
    assert import_warc_file(archive, write(RECORDS, "other"), Limits(free_space=0)) == taken
    for ending in ("", ".warc.gz", ".warc.gz.plain"):
        (archive / f"foreign/.{'0' * 32}{ending}").write_bytes(b"x")
    remove_leftovers(archive)
    assert [record_.name for record_ in (archive / "foreign").iterdir()] == [taken.warc.removeprefix("foreign/")]
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.write(b"the next day's")
    assert (archive / taken.warc).read_bytes() == content, "a file that is written anew changes nothing in the archive"


def record_of(record_, path):
    with open_capture(path.parent, ArchivePlace(path.name, record_.offset, record_.length)) as view:
        return view.read()


def arc_line(url, block, kind="text/html", more=""):
    return f"{url} 192.0.2.1 20040131120000 {kind}{more} {len(block)}\n".encode() + block + b"\n"


NOTE = b"1 0 Someone\nURL IP-address Archive-date Content-type Archive-length\n"
ARC = [
    arc_line("filedesc://x.arc", NOTE, "text/plain"),
    *(arc_line(f"http://a.example/{at} b", b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n" + body)
      for at, body in enumerate(BODIES)),
    arc_line("dns:a.example", b"20040131120000\na.example. 3600 IN A 192.0.2.1\n", "text/dns"),
]  # fmt: skip


def arc_two(record_):
    """Return an ARC record in version 2, its media type with a parameter."""
    line, _, rest = record_.partition(b"\n")
    begun, length = line.rsplit(b" ", 1)
    begun = begun.replace(b"text/html", b"text/html; charset=utf-8")
    return begun + b" 200 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - 1234 x.arc " + length + b"\n" + rest


def zstd(content, words=b""):
    zstandard = pytest.importorskip("zstandard")
    if not words:
        return zstandard.ZstdCompressor().compress(content)
    known = zstandard.ZstdCompressionDict(words)
    frames = zstandard.ZstdCompressor(dict_data=known).compress(content)
    return b"\x5d\x2a\x4d\x18" + len(words).to_bytes(4, "little") + words + frames


@pytest.mark.parametrize(
    "content",
    [
        lambda: gzip.compress(b"".join(RECORDS)),
        lambda: gzip.compress(RECORDS[0]) + gzip.compress(b"".join(RECORDS[1:])),
        lambda: gzip.compress(RECORDS[0]) + bytes(3 << 20) + gzip.compress(b"".join(RECORDS[1:])) + bytes(9),
        lambda: zstd(b"".join(RECORDS)),
        lambda: b"".join(map(zstd, RECORDS)),
        lambda: zstd(b"".join(RECORDS), bytes(range(256)) * 4),
        lambda: b"".join(ARC),
        lambda: gzip.compress(b"".join(ARC)),
        lambda: pack_records(ARC),
        lambda: b"".join(RECORDS).replace(b"WARC/1.0", b"WARC/0.18"),
        lambda: pack_records([record_.replace(b"WARC/1.0", b"WARC/0.17") for record_ in RECORDS]),
        lambda: b"".join(map(arc_two, ARC)),
        lambda: pack_records(map(arc_two, ARC)),
    ],
    ids=["one-gzip", "two-gzip", "gzip-zeros", "zstd", "zstd-frames", "zstd-dictionary", "arc", "arc-one-gzip", "arc-gzip",
         "warc-0.18", "warc-0.17-gzip", "arc-2", "arc-2-gzip"],
)  # fmt: skip
def test_arc_old_warc_one_gzip_stream_and_zstandard_are_read(tmp_path, content):
    path, archive = tmp_path / "x.bin", tmp_path / "archive"
    path.write_bytes(content())
    taken = import_warc_file(archive, path, Limits(free_space=0))
    assert import_warc_file(archive, path, Limits(free_space=0)).warc == taken.warc
    assert len(list((archive / "foreign").iterdir())) == 1
    kept = archive / taken.warc
    records = read(kept)
    pages = [record_ for record_ in records if record_.kind == "response"]
    assert [record_.reason for record_ in records] == [None] * len(records)
    assert [record_of(record_, kept) for record_ in pages] == BODIES
    assert [record_.fields["warc-target-uri"].removesuffix("%20b") for record_ in pages] == [
        f"http://a.example/{at}" for at in range(8)
    ]
    assert all(record_.head.startswith(b"HTTP/1.") for record_ in pages)


@pytest.mark.parametrize("content", [lambda: b"".join(ARC), lambda: pack_records(ARC)])
def test_an_arc_file_written_anew_is_what_warcio_reads_in_the_original(tmp_path, content):
    path, archive = tmp_path / "x.bin", tmp_path / "archive"
    path.write_bytes(content())
    kept = archive / import_warc_file(archive, path, Limits(free_space=0)).warc

    def fields_and_content(file):
        with file.open("rb") as opened:
            for record_ in ArchiveIterator(opened, arc2warc=True):
                if record_.rec_type == "response" and record_.http_headers:
                    head = record_.rec_headers
                    yield head["WARC-Target-URI"], head["WARC-Date"], record_.content_stream().read()

    assert list(fields_and_content(kept)) == list(fields_and_content(path))
    assert len(list(fields_and_content(kept))) == 8


def test_one_gzip_stream_written_anew_is_what_fastwarc_reads_in_the_original(tmp_path):
    path, archive = tmp_path / "x.warc.gz", tmp_path / "archive"
    path.write_bytes(gzip.compress(b"".join(RECORDS)))
    kept = archive / import_warc_file(archive, path, Limits(free_space=0)).warc

    def fields_and_content(file):
        with file.open("rb") as opened:
            for record_ in FastWarc(opened, parse_http=False):
                yield dict(record_.headers), record_.reader.read()

    assert list(fields_and_content(kept)) == list(fields_and_content(path))
    assert len(list(fields_and_content(kept))) == len(RECORDS)


def test_one_gzip_stream_that_is_cut_gives_what_is_whole_and_says_so(tmp_path):
    path, archive = tmp_path / "x.warc.gz", tmp_path / "archive"
    path.write_bytes(gzip.compress(b"".join(RECORDS))[:-2_000])
    taken = import_warc_file(archive, path, Limits(free_space=0))
    assert "ends within its gzip stream" in taken.problem
    records = read(archive / taken.warc)
    assert [record_.reason for record_ in records][-1] is not None
    assert [record_.digest for record_ in records if record_.kind == "response" and not record_.reason] == list(
        map(digest, BODIES[:7])
    )


@pytest.mark.parametrize("rest", [3, 2_000])
def test_zstandard_that_is_cut_within_its_last_frame_says_so(tmp_path, rest):
    """The record in the frame was lost without a word if the frame was cut before its first block was complete."""
    path, archive = tmp_path / "x.warc.zst", tmp_path / "archive"
    path.write_bytes(b"".join(map(zstd, RECORDS[:-1])) + zstd(RECORDS[-1])[:rest])
    taken = import_warc_file(archive, path, Limits(free_space=0))
    assert "ends within a Zstandard frame" in taken.problem
    records = read(archive / taken.warc)
    assert [record_.digest for record_ in records[1:] if not record_.reason] == list(map(digest, BODIES[:7]))


def test_a_bomb_is_not_unpacked(tmp_path):
    path, archive = tmp_path / "x.warc.gz", tmp_path / "archive"
    path.write_bytes(gzip.compress(b"".join([*RECORDS, response_record("http://a.example/", bytes(80 << 20))])))
    with pytest.raises(ArchiveError, match="inflates to more than"):
        import_warc_file(archive, path, Limits(free_space=0, ratio=100))
    assert list((archive / "foreign").iterdir()) == []


def test_folded_lines_and_leading_blank_lines_pass(write):
    odd = (
        response_record("http://a.example/", b"body")
        .replace(b"WARC-Date: ", b"WARC-Date:\r\n\t")
        .replace(b"WARC/1.0", b"\r\nWARC/1.0")
    )
    folded = response_record("http://a.example/", b"body", b"HTTP/1.1 200 OK\r\nDate: Sat,\r\n 21 Nov 2026\r\n\r\n")
    path = write([odd, odd, b"\r\n" * 400 + folded, RECORDS[1]])
    records = read(path)
    assert [record_.reason for record_ in records] == [None] * 4
    assert records[0].fields["warc-date"] == "2024-03-01T12:00:00Z"
    assert [record_of(record_, path) for record_ in records[:3]] == [b"body"] * 3


def test_lengths_that_lie_do_not_make_reading_quadratic(write, tmp_path):
    def seconds(count):
        body = b"x" * 400
        lying = [response_record("http://a.example/", body, length=(count - at) * 600) for at in range(count)]
        path = write(lying, f"lying-{count}")
        records = []
        spent = cpu_seconds(lambda: records.extend(read(path)))
        assert sum(record.reason is None for record in records) <= 1
        return spent

    few, many = seconds(2_000), seconds(8_000)
    assert many < 10 * few + 0.5


def test_records_within_records_that_lie_are_given_up(tmp_path):
    inner = b""
    for _ in range(60):  # each contains all that follow, and ends with a wrong checksum
        inner = (
            gzip.compress(response_record("http://a.example/", inner + random.Random(1).randbytes(30_000)), 0)[:-8]
            + b"\0" * 8
        )
    path = tmp_path / "x.warc.gz"
    path.write_bytes(inner)
    records = []
    assert cpu_seconds(lambda: records.extend(read(path, limits=Limits(ratio=10_000)))) < 20
    assert all(record.reason for record in records)


def test_a_record_without_a_body(write):
    records = read(write([revisit_record("http://a.example/", b"x"), make_record("metadata", b"", content_type="x/y")]))
    assert [(record_.kind, record_.size, bool(record_.head)) for record_ in records] == [
        ("revisit", 0, True),
        ("metadata", 0, False),
    ]


def test_headers_whose_lines_end_in_a_line_feed_alone_are_read(write):
    bare = []
    for record_ in RECORDS:
        head, _, block = record_.partition(b"\r\n\r\n")
        folded = head.replace(b"WARC-Date: ", b"WARC-Date:\r\n ")
        bare.append(folded.replace(b"\r\n", b"\n") + b"\n\n" + block[:-4] + b"\n\n")
    path = write(bare)
    records = read(path)
    assert [parsed.reason for parsed in records] == [None] * 9
    assert [record_of(parsed, path) for parsed in records[1:]] == BODIES
    assert records[1].fields["warc-date"] == "2024-03-01T12:00:00Z"
    assert [parsed.digest for parsed in read(write([*bare[:3], RECORDS[3]], "both"))] == [
        parsed.digest for parsed in records[:4]
    ]


@pytest.mark.parametrize("content_type", [None, "text/html", "message/http"])
def test_an_answer_of_http_is_told_by_how_it_begins_where_its_type_does_not_say_so(write, content_type):
    headers = {"target_uri": "http://a.example/"} | ({"content_type": content_type} if content_type else {})
    path = write(
        [
            make_record("response", HTML + b"body", **headers),
            make_record("Response", HTML + b"body", **headers),
            make_record("resource", HTML + b"body", **headers),
            make_record("response", b"no head", **headers),
            make_record("response", **headers),
        ]
    )
    records = read(path)
    assert [(record_.kind, record_.head, record_.reason) for record_ in records] == [
        ("response", HTML, None), ("response", HTML, None), ("resource", b"", None), ("response", b"", None),
        ("response", b"", None),
    ]  # fmt: skip
    assert [record_of(record_, path) for record_ in records] == [b"body", b"body", HTML + b"body", b"no head", b""]


def test_an_error_of_the_file_that_is_repacked_is_not_one_of_its_target(tmp_path):
    class FailingFile(io.BytesIO):
        name = str(tmp_path / "x.arc")

        def read(self, *_):
            raise OSError(5, "Input/output error")

    with pytest.raises(ArchiveError, match=r"x\.arc cannot be read: Input/output error"), map_write_errors(tmp_path):
        list(_read_blocks(FailingFile(), 0, 9))
