"""Bad zips are refused with the reason, the others are loaded, and the exit code is 0."""

import struct
import zlib
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import pytest

from tests.faults.workspace import DAY, put
from windrow.app import Windrow
from windrow.demo.partner import drop, pack, specimens
from windrow.engine.check import Fault, check_archive
from windrow.ledger import Ledger

XML = f"H.{DAY}.1.specimen.impc.xml"
GOOD = specimens("H", 1, 3)
LIMITS = "[limits]\nmembers = 20\nmember_size = 300000\ntotal_size = 500000\nratio = 100\n"


def pack_stored(members):
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, content in members:
            archive.writestr(ZipInfo(name), content)
    return buffer.getvalue()


def encrypted_zip():
    """Return a zip that marks its only member as encrypted."""
    content = bytearray(pack({XML: GOOD}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = content.index(mark) + at
        content[position] |= 1
    return bytes(content)


def overlapping_zip():
    """Return a zip whose directory has the same member twice, under two names."""
    content = pack({XML: GOOD})
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry = content[start:end]
    second_entry = bytearray(entry)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(entry), start, 0)
    return content[:start] + entry + bytes(second_entry) + tail


def oversized_zip():
    """Return a zip whose member inflates to more than its headers say."""
    content = bytearray(pack({XML: GOOD}))
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        position = content.index(mark) + at
        content[position : position + 4] = struct.pack("<L", 100)
    return bytes(content)


def random_text(size):
    """Return bytes that deflate compresses by less than the ratio."""
    block = b"".join(b"<!--%08x-->" % zlib.crc32(b"%d" % number) for number in range(size // 15 + 1))
    return block[:size]


WHOLE = drop("H", DAY, 50)[1]
ZIPS = {
    "truncated": WHOLE[: len(WHOLE) * 2 // 3],
    "not_a_zip": b"<html>Service unavailable</html>",
    "nothing": b"",
    "empty_archive": b"PK\x05\x06" + bytes(18),
    "no_xml": pack({"readme.txt": b"nothing to see"}),
    "encrypted": encrypted_zip(),
    "nested": pack({XML: GOOD, "more.zip": WHOLE}),
    "hidden_nested": pack({XML: WHOLE}),
    "corrupt": pack_stored([(XML, GOOD)]).replace(b"specimenID", b"specimenXD", 1),
    "lying": oversized_zip(),
    "overlapping": overlapping_zip(),
    "slip": pack({"../../escape.xml": b"<x/>"}),
    "slip_back": pack_stored([("..\\..\\escape.xml", b"<x/>")]),
    "ratio": pack({XML: b" " * 200_000}),
    "count": pack({f"{number}.txt": b"x" for number in range(21)}),
    "total": pack_stored([(f"{number}.txt", random_text(200_000)) for number in range(3)]),
    "member": pack_stored([("big.txt", random_text(300_001))]),
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
def harvested(make_shared_workspace):
    workspace = make_shared_workspace(LIMITS)
    workspace.good = workspace.add_healthy()
    folder = workspace.add_folder("bad")
    workspace.keys = {
        name: put(folder, f"H.{DAY}.{number}.impc.zip", content) for number, (name, content) in enumerate(ZIPS.items())
    }
    mixed = {XML: GOOD, "../../escape.xml": b"<x/>", f"H.{DAY}.2.specimen.impc.xml": specimens("H", 2, 3)}
    workspace.mixed = put(folder, f"H.{DAY}.900.impc.zip", pack(mixed))
    workspace.outcome = workspace.run()
    workspace.before = sorted(path for path in workspace.root.parent.rglob("*") if "escape" in path.name)
    return workspace


@pytest.mark.parametrize("name", ZIPS)
def test_a_bad_zip_is_refused_with_its_reason(harvested, name):
    key = harvested.keys[name]
    assert harvested.item_state(key) == ("unzip", "failed", REASONS[name])
    assert harvested.action_state(key) == ("unzip", "failed")
    assert harvested.downloads(key) == [("unzip", "failed", len(ZIPS[name]))]
    kind, message = harvested.zip_log(key)[0]
    assert kind == CLASSES[name]
    assert message
    assert key.rpartition("/")[2] not in harvested.loaded_zips()


def test_what_partners_did_wrong_is_not_our_failure(harvested):
    assert harvested.outcome.code == 0
    assert harvested.session_status() == 0


def test_the_good_zips_are_whole(harvested):
    harvested.assert_complete(harvested.good, harvested.mixed)
    assert (
        "UnsafeName",
        "'../../escape.xml' is left out: the name contains a path separator, '..' or a control character",
    ) in (harvested.zip_log(harvested.mixed))


def test_nothing_was_written_outside(harvested):
    assert harvested.before == []


def test_every_bad_zip_is_kept_as_it_came(harvested):
    ledger = Ledger(harvested.root / "ledger.sqlite")
    checked = list(check_archive(ledger, harvested.root / "archive"))
    ledger.close()
    assert not [fault for fault in checked if isinstance(fault, Fault)]
    assert sum(checked) >= sum(map(len, ZIPS.values()))


def test_a_second_run_does_nothing_again(harvested):
    before = harvested.query_ledger(
        "SELECT (SELECT count(*) FROM attempt), (SELECT count(*) FROM reading), (SELECT count(*) FROM finding)"
    )
    assert harvested.run().code == 0
    after = harvested.query_ledger(
        "SELECT (SELECT count(*) FROM attempt), (SELECT count(*) FROM reading), (SELECT count(*) FROM finding)"
    )
    assert after == before


def test_a_zip_that_was_still_being_uploaded_is_fetched_again_when_it_has_changed(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    name, content = drop("H", DAY, 5)
    key = put(folder, name, content[:300])
    assert workspace.run().code == 0
    assert workspace.item_state(key) == ("unzip", "failed", "truncated")
    put(folder, name, content)
    assert workspace.run().code == 0
    workspace.assert_complete(key)
    assert workspace.status().differing == ()
    assert "ContentChanged" not in {kind for kind, _ in workspace.findings(key)}


def test_a_zip_whose_warc_file_is_lost_is_kept_when_it_is_fetched_again(make_workspace):
    """Its bytes were recorded as the same as those that were lost, and could not be read."""
    workspace = make_workspace()
    key = workspace.add_healthy()
    assert workspace.run().code == 0
    for path in (workspace.root / "archive").glob("*.warc*"):
        path.rename(path.with_name(f"{path.name}.lost"))
    workspace.retry(key)
    assert Windrow(workspace.root).run().exit_code == 0
    workspace.assert_complete(key)
    assert workspace.query_ledger("SELECT count(*), max(revisit) FROM attempt WHERE listed_file > 0") == [(2, 0)]
