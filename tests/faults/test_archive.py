"""Zips that are not what a zip should be: refused for what they are, the others loaded, exit code 0."""

import struct
import zlib
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import pytest

from tests.faults.place import DAY, put
from windrow.demo.partner import drop, pack, specimens
from windrow.engine.check import Fault, check_archive
from windrow.ledger import Ledger

XML = f"H.{DAY}.1.specimen.impc.xml"
GOOD = specimens("H", 1, 3)
LIMITS = "[limits]\nmembers = 20\nmember_size = 300000\ntotal_size = 500000\nratio = 100\n"


def stored(members):
    into = BytesIO()
    with ZipFile(into, "w", ZIP_STORED) as archive:
        for name, content in members:
            archive.writestr(ZipInfo(name), content)
    return into.getvalue()


def encrypted():
    """A zip that says of its one member that it is encrypted."""
    made = bytearray(pack({XML: GOOD}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = made.index(mark) + at
        made[place] |= 1
    return bytes(made)


def overlapping():
    """A zip whose directory names one member's bytes twice, under two names."""
    made = pack({XML: GOOD})
    start = made.index(b"PK\x01\x02")
    end = made.index(b"PK\x05\x06")
    one = made[start:end]
    other = bytearray(one)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(one), start, 0)
    return made[:start] + one + bytes(other) + tail


def lying():
    """A zip whose member inflates to more than it announces."""
    made = bytearray(pack({XML: GOOD}))
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = made.index(mark) + at
        made[place : place + 4] = struct.pack("<L", 100)
    return bytes(made)


def random_text(size):
    """Bytes that deflate does not press beyond the ratio."""
    block = b"".join(b"<!--%08x-->" % zlib.crc32(b"%d" % number) for number in range(size // 15 + 1))
    return block[:size]


WHOLE = drop("H", DAY, 50)[1]
ZIPS = {
    "truncated": WHOLE[: len(WHOLE) * 2 // 3],
    "not_a_zip": b"<html>Service unavailable</html>",
    "nothing": b"",
    "empty_archive": b"PK\x05\x06" + bytes(18),
    "no_xml": pack({"readme.txt": b"nothing to see"}),
    "encrypted": encrypted(),
    "nested": pack({XML: GOOD, "more.zip": WHOLE}),
    "hidden_nested": pack({XML: WHOLE}),
    "corrupt": stored([(XML, GOOD)]).replace(b"specimenID", b"specimenXD", 1),
    "lying": lying(),
    "overlapping": overlapping(),
    "slip": pack({"../../escape.xml": b"<x/>"}),
    "slip_back": stored([("..\\..\\escape.xml", b"<x/>")]),
    "ratio": pack({XML: b" " * 200_000}),
    "count": pack({f"{number}.txt": b"x" for number in range(21)}),
    "total": stored([(f"{number}.txt", random_text(200_000)) for number in range(3)]),
    "member": stored([("big.txt", random_text(300_001))]),
}
REASONS = {
    "truncated": "truncated", "not_a_zip": "not_a_zip", "nothing": "not_a_zip", "empty_archive": "empty_archive",
    "no_xml": "empty_archive", "encrypted": "encrypted", "nested": "nested_archive",
    "hidden_nested": "nested_archive", "corrupt": "corrupt", "lying": "corrupt", "overlapping": "bomb_overlap",
    "slip": "empty_archive", "slip_back": "empty_archive", "ratio": "bomb_ratio", "count": "too_many_members",
    "total": "bomb_total", "member": "too_large",
}  # fmt: skip
CLASSES = {name: "".join(word.capitalize() for word in reason.split("_")) for name, reason in REASONS.items()}


@pytest.fixture(scope="module")
def harvested(shared_place):
    made = shared_place(LIMITS)
    made.good = made.healthy()
    folder = made.folder("bad")
    made.keys = {
        name: put(folder, f"H.{DAY}.{number}.impc.zip", content) for number, (name, content) in enumerate(ZIPS.items())
    }
    mixed = {XML: GOOD, "../../escape.xml": b"<x/>", f"H.{DAY}.2.specimen.impc.xml": specimens("H", 2, 3)}
    made.mixed = put(folder, f"H.{DAY}.900.impc.zip", pack(mixed))
    made.went = made.run()
    made.before = sorted(path for path in made.root.parent.rglob("*") if "escape" in path.name)
    return made


@pytest.mark.parametrize("name", ZIPS)
def test_a_bad_zip_is_refused_with_its_reason(harvested, name):
    key = harvested.keys[name]
    assert harvested.item(key) == ("unzip", "failed", REASONS[name])
    assert harvested.action(key) == ("unzip", "failed")
    assert harvested.downloads(key) == [("unzip", "failed", len(ZIPS[name]))]
    kind, message = harvested.zip_log(key)[0]
    assert kind == CLASSES[name]
    assert message
    assert key.rpartition("/")[2] not in harvested.loaded()


def test_what_partners_did_wrong_is_not_our_failure(harvested):
    assert harvested.went.code == 0
    assert harvested.session() == 0


def test_the_good_zips_are_whole(harvested):
    harvested.whole(harvested.good, harvested.mixed)
    assert (
        "UnsafeName",
        "'../../escape.xml' is left out: the name holds a path separator, '..' or a control character",
    ) in (harvested.zip_log(harvested.mixed))


def test_nothing_was_written_outside(harvested):
    assert harvested.before == []


def test_every_bad_zip_is_kept_as_it_came(harvested):
    ledger = Ledger(harvested.root / "ledger.sqlite")
    found = list(check_archive(ledger, harvested.root / "archive"))
    ledger.close()
    assert not [one for one in found if isinstance(one, Fault)]
    assert sum(found) >= sum(map(len, ZIPS.values()))


def test_a_second_run_does_nothing_again(harvested):
    before = harvested.ask(
        "SELECT (SELECT count(*) FROM attempt), (SELECT count(*) FROM reading), (SELECT count(*) FROM finding)"
    )
    assert harvested.run().code == 0
    after = harvested.ask(
        "SELECT (SELECT count(*) FROM attempt), (SELECT count(*) FROM reading), (SELECT count(*) FROM finding)"
    )
    assert after == before
