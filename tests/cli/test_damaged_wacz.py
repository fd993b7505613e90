"""Damaged and hostile WACZ files: each is reported with its reason, and the other files of the run are imported."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.cli.test_held import held, pack_wacz, root, summary  # noqa: F401
from windrow.archive.wacz import unpack_wacz
from windrow.model import Limits

URLS = "SELECT str_url FROM entity_generation JOIN url USING (url_id) ORDER BY 1"
LIST = "datapackage.json"


def change_bytes(old: bytes, new: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new, 1))


def replace_list(text: str) -> Callable[[Path], None]:
    """Return a function that replaces the list of files in a WACZ file."""

    def replace(path: Path) -> None:
        with zipfile.ZipFile(path) as package:
            members = {name: package.read(name) for name in package.namelist() if name != LIST}
        with zipfile.ZipFile(path, "w") as package:
            for name, content in members.items():
                package.writestr(name, content)
            package.writestr(LIST, text)

    return replace


def new_folder(parent: Path) -> Path:
    return Path(mkdtemp(dir=parent))


def write_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("archive/bomb.warc", bytes(20 << 20))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "it is empty"),
    "text": (lambda path: path.write_bytes(b"<html>Sorry</html>"), "(not_a_zip)"),
    "torn": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "(truncated)"),
    "directory": (change_bytes(b"PK\x01\x02", b"PK\x01\x09"), "(corrupt)"),
    "end": (change_bytes(b"PK\x05\x06\0\0\0\0\x03\0\x03\0", b"PK\x05\x06\0\0\0\0\x09\0\x09\0"), "(corrupt)"),
    "header": (change_bytes(b"PK\x03\x04", b"PK\x03\x09"), "(corrupt)"),
    "list of another form": (replace_list("[1, 2]"), "(corrupt)"),
    "list of numbers": (replace_list('{"resources": [1]}'), "(corrupt)"),
    "list that is not JSON": (replace_list('{"resources": ['), "(corrupt)"),
    "deep list": (replace_list("[" * 100_000), "(corrupt)"),
    "large list": (replace_list(json.dumps({"resources": [], "title": "x" * (9 << 20)})), "(too_large)"),
    "member": (change_bytes(b"\x1f\x8b\x08", b"\x1f\x8b\x09"), "(corrupt)"),
    "bomb": (write_bomb, "(bomb_ratio)"),
    "no WARC file": (pack_wacz, "(unsupported)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_wacz_file_is_reported_and_the_others_are_imported(root, held, windrow, damage):  # noqa: F811
    damage_file, reason = DAMAGES[damage]
    damage_file(pack_wacz(root / "bad.wacz", held / "one.warc.gz"))
    output = windrow("run", "bad.wacz", held / "more/two.warc")
    assert output.code == 3, output.err
    (line,) = [line for line in output.err.splitlines() if "bad.wacz" in line]
    assert reason in line
    assert summary(root, URLS) == [("http://b.example/cup",)]
    assert "bad.wacz" in windrow("status").out + windrow("why", "1").out


def test_a_damaged_member_does_not_keep_the_others_from_being_imported(root, held, windrow):  # noqa: F811
    pack_wacz(root / "bad.wacz", held / "one.warc.gz", held / "more/two.warc")
    change_bytes(b"\x1f\x8b\x08", b"\x1f\x8b\x09")(root / "bad.wacz")
    output = windrow("run", "bad.wacz")
    assert output.code == 3, output.err
    assert "bad.wacz/archive/one.warc.gz: the member does not match its checksum (corrupt)" in output.err
    assert summary(root, URLS) == [("http://b.example/cup",)]


def test_the_limits_of_zips_bound_what_is_unpacked(tmp_path):
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for number in range(3):
            package.writestr(f"archive/{number}.warc", bytes([number]) * 3000 + b"y")
    found = {
        limits: [
            (warc.name, warc.problem.rpartition("(")[2]) for warc in unpack_wacz(path, new_folder(tmp_path), limits)
        ]
        for limits in (Limits(members=2), Limits(total_size=5000), Limits(member_size=2000), Limits(ratio=10))
    }
    names = ["archive/0.warc", "archive/1.warc", "archive/2.warc"]
    assert [*found.values()] == [
        [("", "too_many_members)")],
        [("", "bomb_total)")],
        [(name, "too_large)") for name in names],
        [(name, "bomb_ratio)") for name in names],
    ]
    assert all(not file.stat().st_size for file in tmp_path.rglob("*.warc"))


def test_a_long_name_in_a_wacz_file_is_no_long_name_on_the_disk(root, held, windrow):  # noqa: F811
    with zipfile.ZipFile(root / "a.wacz", "w") as package:
        package.write(held / "one.warc.gz", f"archive/{'ä' * 300}.warc.gz")
    output = windrow("run", "a.wacz")
    assert output.code == 0, output.err
