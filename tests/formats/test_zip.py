import io
import random
import stat
import struct
import warnings
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import StepError
from windrow.formats import zip as archive
from windrow.model import Limits
from windrow.reasons import Reason

LIMITS = Limits()
CONTENT = random.Random(1).randbytes(3000) * 3


def packed(*members, method=zipfile.ZIP_DEFLATED, comment=b""):
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", method) as writer:
        for name, content in members:
            writer.writestr(name, content)
        writer.comment = comment
    return buffer.getvalue()


def check_zip(content, limits=LIMITS):
    return [(member.name, member.reason) for member in archive.read_members(io.BytesIO(content), limits)]


def refused(content, limits=LIMITS, name=None):
    with pytest.raises(StepError) as caught:
        view = io.BytesIO(content)
        members = archive.read_members(view, limits)
        for member in members:
            if name in (None, member.name):
                b"".join(archive.read_blocks(view, member))
    return caught.value.reason


@pytest.mark.parametrize("junk", [b"", b"J" * 60, b"PK\3\4" * 20, b"J" * (archive.BLOCK_BYTES - 10)])
def test_an_entry_in_a_gap_is_missed_nowhere(junk):
    content, hidden = packed(("a.xml", b"a")), packed(("b.xml", b"b"))
    start = int.from_bytes(content[-6:-2], "little")

    def with_gap(gap):
        end = content[start:-6] + (start + len(gap)).to_bytes(4, "little") + content[-2:]
        return content[:start] + gap + end

    assert refused(with_gap(junk + hidden[:40])) is Reason.CORRUPT
    view = io.BytesIO(with_gap(junk + content[:40]))  # an earlier version
    assert archive.read_contents(view, LIMITS)[1] == [(start, len(junk) + 40)]
    assert check_zip(view.getvalue()) == [("a.xml", None)]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("content", [b"", b"a", CONTENT, random.Random(2).randbytes(256 * 9) * 1000])
def test_what_was_packed_comes_out(method, content):
    view = io.BytesIO(packed(("other", b"x"), ("a.xml", content), method=method, comment=b"PK\5\6" + b"c" * 99))
    with archive.open_member(view, "a.xml", LIMITS) as file:
        assert file.read() == content
        assert file.seek(len(content) // 2) == len(content) // 2
        assert file.read(10) == content[len(content) // 2 :][:10]
        assert file.seek(-1, 2) == max(0, len(content) - 1)
        assert file.read() == content[-1:]
        assert file.seek(0) == 0
        assert b"".join(iter(lambda: file.read(7000), b"")) == content
    assert not view.closed


def test_two_members_may_be_open_at_once():
    view = io.BytesIO(packed(("a", CONTENT * 99), ("b", CONTENT[::-1] * 99)))
    first, second = archive.open_member(view, "a", LIMITS), archive.open_member(view, "b", LIMITS)
    pairs = list(zip(iter(lambda: first.read(500), b""), iter(lambda: second.read(500), b""), strict=True))
    assert b"".join(a for a, _ in pairs) == CONTENT * 99
    assert b"".join(b for _, b in pairs) == CONTENT[::-1] * 99


def test_bytes_before_the_archive_are_passed_over():
    assert check_zip(b"#!/bin/sh\n" + packed(("a", b"1"))) == [("a", None)]
    assert archive.open_member(io.BytesIO(b"junk" + packed(("a", b"1"))), "a", LIMITS).read() == b"1"


def test_zips_in_a_row_are_not_read_as_the_last_one():
    assert refused(packed(("a", b"1")) + packed(("b", b"2"))) is Reason.TRAILING_BYTES


def test_data_descriptors_and_64_bit_sizes():
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.parts = []

        def writable(self):
            return True

        def write(self, block):
            self.parts.append(bytes(block))
            return len(block)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as writer:
        with writer.open("a", "w", force_zip64=True) as file:
            file.write(CONTENT)
        writer.writestr("b", CONTENT)
    view = io.BytesIO(b"".join(pipe.parts))
    assert archive.open_member(view, "a", LIMITS).read() == CONTENT
    assert archive.open_member(view, "b", LIMITS).read() == CONTENT
    members, gaps = archive.read_contents(view, LIMITS)
    assert (len(members), gaps) == (2, [])


def test_many_members_by_the_64_bit_record():
    content = packed(*((f"{number}.xml", b"") for number in range(66_000)), method=zipfile.ZIP_STORED)
    assert len(check_zip(content, Limits(members=70_000))) == 66_000
    assert refused(content) is Reason.TOO_MANY_MEMBERS


def test_names_in_utf_8_and_in_the_old_code_page():
    assert check_zip(packed(("\u00fc\u4e2d.xml", b""))) == [("\u00fc\u4e2d.xml", None)]
    old = packed(("x.xml", b"")).replace(b"x.xml", b"\x81.xml")
    assert check_zip(old) == [("\u00fc.xml", None)]
    assert archive.open_member(io.BytesIO(old), "\u00fc.xml", LIMITS).read() == b""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/etc/passwd", Reason.UNSAFE_NAME),
        ("../a.xml", Reason.UNSAFE_NAME),
        ("b/../../a.xml", Reason.UNSAFE_NAME),
        ("C:a.xml", Reason.UNSAFE_NAME),
        ("..\\a.xml", Reason.UNSAFE_NAME),
        ("a\n.xml", Reason.UNSAFE_NAME),
        ("..", Reason.UNSAFE_NAME),
        ("folder/", Reason.NOT_A_FILE),
        ("more.zip", Reason.NESTED_ARCHIVE),
        ("more.TAR.GZ", Reason.NESTED_ARCHIVE),
        ("a..b.xml", None),
        ("folder/a.xml", None),
    ],
)
def test_names(name, reason):
    assert check_zip(packed((name, b""))) == [(name, reason)]


def test_a_name_with_a_nul_is_not_cut_there():
    assert check_zip(packed(("a_b.exe", b"")).replace(b"a_b.exe", b"a\0b.exe")) == [("a\0b.exe", Reason.UNSAFE_NAME)]


def test_links_and_devices():
    for kind, reason in ((stat.S_IFLNK, Reason.NOT_A_FILE), (stat.S_IFIFO, Reason.NOT_A_FILE), (stat.S_IFREG, None)):
        info = zipfile.ZipInfo("a.xml")
        info.create_system = 3
        info.external_attr = (kind | 0o644) << 16
        assert check_zip(packed((info, b"/etc/passwd"))) == [("a.xml", reason)]


def test_no_archive():
    assert refused(b"") is Reason.NOT_A_ZIP
    assert refused(b"<html>" * 100_000) is Reason.NOT_A_ZIP
    assert refused(packed(("a", CONTENT))[:-1]) is Reason.TRUNCATED
    assert refused(packed(("a", CONTENT))[:2000]) is Reason.TRUNCATED


@pytest.mark.parametrize("count", [1, 22, 70_000, 3_000_000])
def test_bytes_after_the_end_of_an_archive_are_not_called_truncated(count):
    assert refused(packed(("a", CONTENT)) + bytes(count)) is Reason.TRAILING_BYTES


def test_an_archive_that_is_cut_off_within_a_stored_one_is_truncated():
    inner = packed(("a", CONTENT))
    whole = packed(("inner", inner), ("b", CONTENT), method=zipfile.ZIP_STORED)
    assert refused(whole[: len(inner) + 300]) is Reason.TRUNCATED
    assert check_zip(packed()) == []


def test_encrypted():
    content = bytearray(packed(("a", b"1")))
    for place in (6, content.index(b"PK\1\2") + 8):
        content[place] |= 1
    assert check_zip(content) == [("a", Reason.ENCRYPTED)]
    assert refused(content) is Reason.ENCRYPTED


def test_methods_that_are_not_read():
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        content = packed(("a", b"1"), method=method)
        assert check_zip(content) == [("a", Reason.UNSUPPORTED)]
        (member,) = archive.read_members(io.BytesIO(content), LIMITS)
        assert member.refusal.endswith({zipfile.ZIP_BZIP2: ": BZIP2", zipfile.ZIP_LZMA: ": LZMA"}[method])


def test_two_of_one_name():
    with pytest.warns(UserWarning, match="Duplicate"):
        content = packed(("a", b"1"), ("a", b"2"))
    assert check_zip(content) == [("a", None), ("a", Reason.DUPLICATE_MEMBER)]
    with pytest.raises(StepError) as caught:
        archive.open_member(io.BytesIO(content), "a", LIMITS)
    assert caught.value.reason is Reason.DUPLICATE_MEMBER


def test_a_member_that_is_not_there():
    with pytest.raises(StepError) as caught:
        archive.open_member(io.BytesIO(packed(("a", b"1"))), "b", LIMITS)
    assert caught.value.reason is Reason.NOT_FOUND


def test_limits():
    content = packed(("a", CONTENT), ("b", CONTENT))
    assert refused(content, Limits(members=1)) is Reason.TOO_MANY_MEMBERS
    assert refused(content, Limits(total_size=len(CONTENT))) is Reason.BOMB_TOTAL
    assert check_zip(content, Limits(member_size=len(CONTENT) - 1))[0] == ("a", Reason.TOO_LARGE)
    assert check_zip(packed(("a", bytes(10**6))))[0] == ("a", Reason.BOMB_RATIO)
    assert check_zip(packed(("a", bytes(10**6))), Limits(ratio=2000))[0] == ("a", None)


def test_a_member_that_announces_less_than_it_inflates_to_is_stopped():
    content = packed(("a", bytes(50 * 10**6)))
    true, lie = struct.pack("<L", 50 * 10**6), struct.pack("<L", 1000)
    view = io.BytesIO(content.replace(true, lie))
    (member,) = archive.read_members(view, LIMITS)
    assert member.size == 1000
    received = 0
    with pytest.raises(StepError) as caught:
        for block in archive.read_blocks(view, member):
            received += len(block)
    assert caught.value.reason is Reason.CORRUPT
    assert received <= 1000


def test_a_member_that_announces_more():
    content = packed(("a", CONTENT))
    more = content.replace(struct.pack("<L", len(CONTENT)), struct.pack("<L", len(CONTENT) + 1))
    assert refused(more) is Reason.CORRUPT


def test_a_wrong_checksum():
    content = packed(("a", CONTENT))
    assert refused(content.replace(struct.pack("<L", zlib.crc32(CONTENT)), b"abcd")) is Reason.CORRUPT


def test_a_directory_that_differs_from_the_headers():
    content = packed(("a.xml", b"1"))
    assert refused(content.replace(b"a.xml", b"b.xml", 1)) is Reason.CORRUPT


def entry(name, packed, size, crc, offset):
    return (
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, packed, size, len(name), 0, 0, 0, 0, 0, offset)
        + name
    )


def test_members_that_share_their_bytes():
    body = zlib.compress(bytes(10**5), 9)[2:-4]
    crc = zlib.crc32(bytes(10**5))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(body), 10**5, 1, 0) + b"a" + body
    directory = entry(b"a", len(body), 10**5, crc, 0) * 50
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 50, 50, len(directory), len(local), 0)
    assert refused(local + directory + end, Limits(ratio=10**6)) is Reason.BOMB_OVERLAP


def test_headers_nested_in_one_another():
    """The quoted-header bomb: each member's packed bytes begin with the next member's header."""
    crc = zlib.crc32(b"1")
    inner = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, 3, 1, 1, 0) + b"b" + zlib.compress(b"1")[2:-4]
    quoted = struct.pack("<BHH", 0, len(inner), 0xFFFF ^ len(inner)) + inner + b"\3\0"
    outer = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(quoted), 40, 1, 0) + b"a"
    directory = entry(b"a", len(quoted), len(inner), zlib.crc32(inner), 0) + entry(b"b", 3, 1, crc, len(outer) + 5)
    body = outer + quoted
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(directory), len(body), 0)
    assert refused(body + directory + end) is Reason.BOMB_OVERLAP


@pytest.mark.parametrize(("place", "other"), [(0, "c"), (1, "c"), (2, "c"), (1, "a")])
def test_a_member_that_the_directory_does_not_name_is_told(place, other):
    names = ["a", "b"]
    names.insert(place, other)
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as writer, warnings.catch_warnings(action="ignore"):
        for name in names:
            writer.writestr(name, b"1")
        del writer.filelist[place]
    if other == "a":  # an earlier version of a member
        assert check_zip(buffer.getvalue()) == [("a", None), ("b", None)]
    else:
        assert refused(buffer.getvalue()) is Reason.CORRUPT


def test_a_huge_directory_is_not_read():
    class HugeView(io.RawIOBase):
        """A view of 4 GiB whose directory claims all of it."""

        size = 1 << 32
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, (1 << 32) - 23, 0, 0)
        place = most = 0

        def seek(self, offset, whence=0):
            self.place = offset + (0, self.place, self.size)[whence]
            return self.place

        def read(self, count=-1):
            assert 0 <= count < 100_000
            start, self.place = self.place, self.place + count
            tail = max(0, self.place - (self.size - 22))
            return bytes(count - tail) + self.end[22 - (self.size - start) if self.size - start < 22 else 0 :][:tail]

    with pytest.raises(StepError) as caught:
        archive.read_members(HugeView(), LIMITS)
    assert caught.value.reason is Reason.TOO_MANY_MEMBERS


SEEDS = [
    packed(("a.xml", b"<a/>"), ("b/c.xml", CONTENT), ("d.xml", b"x" * 500), comment=b"comment"),
    packed(("a.xml", b"<a/>" * 30), method=zipfile.ZIP_STORED),
    packed(("a", b"1"), ("b", b"2"), method=zipfile.ZIP_LZMA),
]


def survives(content):
    """Assert that every method of an archive returns, or refuses with a reason."""
    view = io.BytesIO(content)
    limits = Limits(member_size=10**6, total_size=10**7, members=100)
    try:
        members = archive.read_members(view, limits)
    except StepError as error:
        assert error.reason is not Reason.STEP_FAILED
        return
    for member in members:
        try:
            size = sum(map(len, archive.read_blocks(view, member)))
            assert size == member.size <= limits.member_size
            assert archive.open_member(view, member.name, limits).read(10) is not None
        except StepError as error:
            assert error.reason is not Reason.STEP_FAILED


@settings(max_examples=500)
@given(
    st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(-200, 10**4), st.binary(max_size=9)), min_size=1, max_size=5)
)
def test_mutated_archives(seed, changes):
    content = bytearray(seed)
    for place, patch in changes:
        start = place % (len(content) + 1)
        content[start : start + len(patch)] = patch
    survives(bytes(content))


@settings(max_examples=300)
@given(st.sampled_from(SEEDS), st.integers(0, 10**4), st.integers(0, 10**4), st.binary(max_size=30))
def test_spliced_archives(seed, first, second, patch):
    first, second = first % (len(seed) + 1), second % (len(seed) + 1)
    survives(seed[:first] + patch + seed[second:])


@settings(max_examples=300)
@given(st.binary(max_size=300), st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6))
def test_invented_ends(content, numbers):
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, numbers[0], numbers[0], numbers[1], numbers[2])
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, numbers[3], 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *(number % 4 for number in numbers[:2]), numbers[4] % 400, 0, 0)
    survives(content + end64 + locator + end)
    survives(content + end)


def test_the_directory_of_ten_thousand_members_is_read_once_and_not_for_each():
    class CountingView(io.BytesIO):
        count = 0

        def read(self, *size):
            part = super().read(*size)
            self.count += len(part)
            return part

    content = packed(*((f"{number}.xml", b"") for number in range(10_000)), method=zipfile.ZIP_STORED)
    view = CountingView(content)
    for number in range(0, 10_000, 50):
        assert archive.open_member(view, f"{number}.xml", LIMITS).read() == b""
    assert view.count < 2 * len(content)
