"""Records are erased in place: the file stays valid, other records unchanged, and no byte of the erased is left."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from isal import isal_zlib

from windrow.archive import ArchiveWriter, CaptureSink, open_capture
from windrow.archive.erase import ErasedSpan, _fill_member, _fill_record, erase, related_records
from windrow.errors import ArchiveError
from windrow.formats.warc import END, read_header
from windrow.model import ArchivePlace, FetchJob, Limits

AT = datetime(2026, 1, 2, tzinfo=UTC)
BODIES = [b"one " * 50, b"the secret of two " * 400, bytes(range(256)) * 3_000, b"x", b"five " * 200_000]


def keep(folder: Path) -> list[ArchivePlace]:
    """Write bodies with their requests, as a crawl does; incompressible ones go to a plain file."""
    keeper = ArchiveWriter(folder, "windrow-000001-1", Limits(), 1 << 30, "test")
    places = []
    for number, body in enumerate([*BODIES, *(b"PK\x03\x04" + body for body in BODIES)]):
        deposit = CaptureSink(keeper, FetchJob(number, f"https://secret.example/{number}"), AT)
        deposit.open(None, b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", f"GET /secret/{number} HTTP/1.1\r\n\r\n".encode())
        deposit.write(body)
        places.append(deposit.finish().place)
    keeper.close()
    return places


def records(path: Path) -> list[tuple[str, bytes]]:
    """Yield all records of a file, read by code of the test alone."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        members = b""
        while content:
            reader = zlib.decompressobj(31)
            members += reader.decompress(content)
            assert reader.eof
            content = reader.unused_data
        content = members
    spans_found = []
    while content:
        head = read_header(content)
        end = head.length + int(head.fields["content-length"])
        assert content[end : end + 4] == END
        spans_found.append((head.kind, content[: end + 4]))
        content = content[end + 4 :]
    return spans_found


def floor(places: list[ArchivePlace], place: ArchivePlace) -> int:
    return max(
        (span.offset + span.length for span in places if span[0] == place.warc and span.offset < place.offset),
        default=0,
    )


def spans(folder: Path, places: list[ArchivePlace], number: int) -> list[ErasedSpan]:
    """Return the spans of a capture's record and of its request."""
    place = places[number]
    bounds = (floor(places, place), place.offset)
    spans_found = list(
        related_records(folder / place.warc, bounds, Limits(), f"https://secret.example/{number}".__eq__)
    )
    assert len(spans_found) == 1
    return [*spans_found, ErasedSpan(place.offset, place.length)]


@pytest.mark.parametrize("chosen", [[0], [1, 2], [5, 9], range(10), [3, 8]])
def test_others_stay_and_nothing_is_left(tmp_path: Path, chosen: list[int]) -> None:
    places = keep(tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.warc*")}
    for number in chosen:
        place = places[number]
        spans_found = spans(tmp_path, places, number)
        assert erase(tmp_path, place.warc, spans_found, AT) == sum(span.length for span in spans_found)
    assert {path.name: path.stat().st_size for path in tmp_path.glob("*.warc*")} == sizes
    text = b"".join(record for path in tmp_path.glob("*.warc*") for _, record in records(path))
    for number, place in enumerate(places):
        gone = number in chosen
        assert (f"secret.example/{number}".encode() in text) is not gone
        assert (f"/secret/{number} ".encode() in text) is not gone
        with open_capture(tmp_path, place) as view:
            body = view.read()
        whole = [*BODIES, *(b"PK\x03\x04" + content for content in BODIES)][number]
        assert (body == whole) is not gone
        assert not gone or body.strip() == b"This record was taken down."[: len(body.strip())]
    kinds = [kind for path in sorted(tmp_path.glob("*.warc*")) for kind, _ in records(path)]
    assert kinds.count("metadata") == 2 * len(chosen)
    assert kinds.count("warcinfo") == 2


@pytest.mark.parametrize("cut", [1, 10, 100, 0.5, 0.999])
@pytest.mark.parametrize("number", [1, 4, 6])
def test_a_crash_in_the_middle_is_finished_by_erasing_again(tmp_path: Path, number: int, cut: float) -> None:
    places = keep(tmp_path)
    place = places[number]
    path = tmp_path / place.warc
    before = path.read_bytes()
    spans_found = spans(tmp_path, places, number)
    erase(tmp_path, place.warc, spans_found, AT)
    after = path.read_bytes()
    start = floor(places, place)
    end = place.offset + place.length
    at = start + int(cut if cut >= 1 else (end - start) * cut)
    path.write_bytes(after[:at] + before[at:])  # the disk stored only the first bytes
    erase(tmp_path, place.warc, spans_found, AT)
    assert f"secret.example/{number}".encode() not in b"".join(record for _, record in records(path))
    assert path.stat().st_size == len(before)
    for place_ in places:
        if place_ != place and place_.warc == place.warc:
            with open_capture(tmp_path, place_) as view:
                assert view.read()


@given(st.integers(190, 300_000))
@example(197_000)
@example(1_310_720)
def test_every_length_can_be_filled(length: int) -> None:
    plain, packed = _fill_record(length, AT), _fill_member(length, AT)
    assert (len(plain), len(packed)) == (length, length)
    for content in (plain, gzip.decompress(packed), isal_zlib.decompress(packed, 31)):
        head = read_header(content)
        assert head.length + int(head.fields["content-length"]) + len(END) == len(content)


@pytest.mark.parametrize("length", [20, 100, 170])
def test_what_is_too_short_for_a_record_becomes_nothing(length: int) -> None:
    assert _fill_record(length, AT).strip() == b""
    assert len(_fill_member(length, AT)) == length
    assert gzip.decompress(_fill_member(length, AT)) == b""


def test_only_files_of_the_archive_are_touched(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    other_path = tmp_path / "other.warc"
    other_path.write_bytes(b"WARC/1.1 " * 100)
    for name in ("../other.warc", "none.warc", str(other_path)):
        with pytest.raises(ArchiveError, match="not a file of the archive"):
            erase(tmp_path / "archive", name, [ErasedSpan(0, 500)], AT)
    assert other_path.read_bytes() == b"WARC/1.1 " * 100


def test_a_file_with_another_name_elsewhere_is_parted_from_it(tmp_path: Path) -> None:
    places = keep(tmp_path)
    path, original = tmp_path / places[0].warc, tmp_path / "given.warc.gz"
    original.hardlink_to(path)
    before = original.read_bytes()
    erase(tmp_path, places[0].warc, spans(tmp_path, places, 0), AT)
    assert original.read_bytes() == before
    assert path.read_bytes() != before
    assert list(tmp_path.glob(".*.part")) == []
