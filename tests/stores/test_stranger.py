"""WARC files of other makers: read whole, from the middle, and broken."""

from __future__ import annotations

import gzip
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stores.letter import again, info, packed, page, record
from windrow.digest import digest
from windrow.errors import ArchiveError
from windrow.model import Limits, Place
from windrow.reasons import Reason
from windrow.stores.archive import open_capture
from windrow.stores.archive.stranger import met, vet
from windrow.stores.archive.taking import sweep, take

BODIES = [random.Random(at).randbytes(at * 700) for at in range(8)]
RECORDS = [info(), *(page(f"http://a.example/{at}", body) for at, body in enumerate(BODIES))]


@pytest.fixture(params=["plain", "gzip"])
def write(request, tmp_path):
    """Return a way to write records into a file."""

    def writing(records, name="x"):
        path = tmp_path / f"{name}.warc{'.gz' if request.param == 'gzip' else ''}"
        path.write_bytes(packed(records) if request.param == "gzip" else b"".join(records))
        return path

    return writing


def read(path, start=0, limits=None):
    return list(met(path, start, limits or Limits()))


def test_records_and_their_places(write):
    path = write(RECORDS)
    found = read(path)
    assert [one.kind for one in found] == ["warcinfo"] + ["response"] * 8
    assert [(one.digest, one.size) for one in found[1:]] == [(digest(body), len(body)) for body in BODIES]
    assert found[1].head.startswith(b"HTTP/1.1 200 OK")
    assert [one.offset for one in found[1:]] == [one.next for one in found[:-1]]
    assert found[-1].next == path.stat().st_size
    for one, body in zip(found[1:], BODIES, strict=True):
        with open_capture(path.parent, Place(path.name, one.offset, one.length)) as view:
            assert view.read() == body
        assert read(path, one.offset) == found[found.index(one) :]


def test_what_is_no_warc_file_is_refused(tmp_path):
    path = tmp_path / "x.warc"
    for content in (b"PK\x03\x04", b"WARC/0.18\r\n", b"hello", b"\x28\xb5\x2f\xfd...."):
        path.write_bytes(content)
        with pytest.raises(ArchiveError, match="no WARC file"):
            vet(path)
    with pytest.raises(ArchiveError):
        vet(tmp_path / "missing")
    path.write_bytes(b"")
    assert read(path) == []


def test_a_cut_file_gives_what_is_whole(write):
    path = write(RECORDS)
    whole = read(path)
    path.write_bytes(path.read_bytes()[:-40])
    found = read(path)
    assert found[:-1] == whole[:-1]
    assert found[-1].reason is Reason.TRUNCATED
    assert found[-1].next == path.stat().st_size


@pytest.mark.parametrize("length", [0, 5, 100_000, "x"])
def test_a_wrong_length_costs_one_record(write, length):
    wrong = page("http://a.example/", b"words " * 40)
    told = b"Content-Length: " + wrong.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
    wrong = wrong.replace(told, f"Content-Length: {length}".encode())
    found = read(write([RECORDS[1], wrong, *RECORDS[2:]]))
    assert [one.reason is None for one in found] == [True, False] + [True] * 7
    assert [one.digest for one in found if not one.reason] == [digest(body) for body in BODIES]


def test_a_broken_gzip_member_costs_one_record(tmp_path):
    members = [gzip.compress(one) for one in RECORDS]
    broken = bytearray(members[5])
    broken[60] ^= 0xFF
    path = tmp_path / "x.warc.gz"
    path.write_bytes(b"".join([*members[:5], bytes(broken), *members[6:]]))
    found = read(path)
    assert [one.reason for one in found] == [None] * 5 + [Reason.CORRUPT] + [None] * 3
    path.write_bytes(members[0] + b"\0" * 999 + members[1])
    assert [one.kind for one in read(path)] == ["warcinfo", "", "response"]


def test_one_gzip_stream_for_all_is_told(tmp_path):
    path = tmp_path / "x.warc.gz"
    path.write_bytes(gzip.compress(b"".join(RECORDS)))
    found = read(path)
    assert [one.reason for one in found] == [Reason.UNSUPPORTED]
    assert "warcio recompress" in found[0].message


def test_bombs_are_not_inflated(tmp_path):
    path = tmp_path / "x.warc.gz"
    path.write_bytes(packed([page("http://a.example/", bytes(200 << 20)), RECORDS[1]]))
    found = read(path, limits=Limits(ratio=100))
    assert [one.reason for one in found] == [Reason.BOMB_RATIO, None]


def test_a_payload_above_the_limit_is_passed_over(write):
    found = read(write([page("http://a.example/", bytes(9_000)), RECORDS[1]]), limits=Limits(transfer=5_000))
    assert [(one.reason, one.size) for one in found] == [(Reason.TOO_LARGE, 0), (None, 0)]
    assert found[0].head


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_never_stops_the_reading(tmp_path_factory, data):
    pack = data.draw(st.booleans())
    raw = bytearray(packed(RECORDS) if pack else b"".join(RECORDS))
    for at, value in data.draw(st.lists(st.tuples(st.integers(16, len(raw) - 1), st.integers(0, 255)), max_size=8)):
        raw[at] = value
    del raw[data.draw(st.integers(16, len(raw))) :]
    path = tmp_path_factory.mktemp("damage") / "x.warc"
    path.write_bytes(raw)
    found = read(path)
    assert [one.offset for one in found[1:]] == [one.next for one in found[:-1]]
    assert found[-1].next == len(raw)
    for at in range(len(found)):
        assert read(path, found[at].offset) == found[at:]


def test_a_file_is_taken_in_once(write, tmp_path):
    path, archive = write(RECORDS), tmp_path / "archive"
    taken = take(archive, path, 0)
    assert (archive / taken.warc).read_bytes() == path.read_bytes()
    assert taken.warc == f"foreign/{taken.digest[7:]}.warc{'.gz' if path.suffix == '.gz' else ''}"
    assert take(archive, write(RECORDS, "other"), 0) == taken
    (archive / "foreign/.left").write_bytes(b"x")
    sweep(archive)
    assert [one.name for one in (archive / "foreign").iterdir()] == [taken.warc.removeprefix("foreign/")]


def test_a_record_without_a_body(write):
    found = read(write([again("http://a.example/", b"x"), record("metadata", b"", content_type="x/y")]))
    assert [(one.kind, one.size, bool(one.head)) for one in found] == [("revisit", 0, True), ("metadata", 0, False)]
