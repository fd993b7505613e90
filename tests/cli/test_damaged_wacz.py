"""Damaged and hostile WACZ files: each is reported with its reason, and the other files of the run are imported."""

from __future__ import annotations

import hashlib
import json
import re
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


def hide_bytes(path: Path) -> None:
    """Put a WARC record that no member has before the directory of a WACZ file."""
    content = path.read_bytes()
    start = content.index(b"PK\x01\x02")
    hidden = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    end = content.rindex(b"PK\x05\x06") + 16
    moved = (start + len(hidden)).to_bytes(4, "little")
    path.write_bytes(content[:start] + hidden + content[start:end] + moved + content[end + 4 :])


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


def write_package(path: Path, members: dict[str, bytes], resources: dict[str, str]) -> None:
    """Write a WACZ file; `resources` has the digests of its list, by path."""
    with zipfile.ZipFile(path, "w") as package:
        for name, content in members.items():
            package.writestr(name, content)
        listed = [{"path": name, "hash": digest} for name, digest in resources.items()]
        package.writestr(LIST, json.dumps({"resources": listed}))


def test_nothing_in_a_wacz_file_is_passed_over(tmp_path):
    content = b"WARC/1.1"
    digests = {name: f"{name}:{hashlib.new(name, content).hexdigest()}" for name in ("md5", "sha512")}
    members = {
        f"archive/{name}": content for name in ("a.warc", "b.WARC.GZ", "c.warc", "d.warc", "e.warc", "f.xz", "g/")
    }
    members |= {"Archive/h.warc": content, "warcs/i.warc": content, "pages/pages.jsonl": content}
    members |= {"warcs/j.warc.xz": content, "parts/k.wacz": content, "archive/l?.warc": content}
    resources = {"archive/a.warc": digests["md5"], "archive/b.WARC.GZ": digests["sha512"].upper(), "archive/lost.warc": "",
                 "archive/c.warc": "md5:" + "0" * 32, "archive/d.warc": "SHA256:" + "0" * 64, "archive/e.warc": "crc:0",
                 "pages/lost.jsonl": ""}  # fmt: skip
    write_package(tmp_path / "a.wacz", members, resources)
    path = tmp_path / "a.wacz"  # a NUL in a name ended the run with a traceback
    path.write_bytes(path.read_bytes().replace(b"archive/l?.warc", b"archive/l\0.warc"))
    unpacked = [*unpack_wacz(tmp_path / "a.wacz", new_folder(tmp_path), Limits())]
    problems = {warc.name: warc.problem.rpartition("(")[2].rstrip(")") for warc in unpacked}
    assert problems == {
        "archive/a.warc": "", "archive/b.WARC.GZ": "", "archive/c.warc": "digest_mismatch", "archive/d.warc": "digest_mismatch",
        "archive/e.warc": "", LIST: "unsupported", "archive/f.xz": "unsupported", "archive/lost.warc": "not_found",
        "Archive/h.warc": "", "warcs/i.warc": "",
        "warcs/j.warc.xz": "unsupported", "parts/k.wacz": "unsupported", "archive/l\0.warc": "unsafe_name",
    }  # fmt: skip


def test_a_wacz_file_that_lacks_a_listed_file_is_an_error_and_the_others_are_imported(root, held, windrow):  # noqa: F811
    folder = root / "mixed"
    (folder / "below").mkdir(parents=True)
    warc = (held / "more/two.warc").read_bytes()
    write_package(
        folder / "below/part.WACZ", {"archive/two.WARC": warc}, {"archive/two.WARC": "", "archive/lost.warc": ""}
    )
    (folder / "ONE.WARC.GZ").write_bytes((held / "one.warc.gz").read_bytes())
    (folder / "c.warc.xz").write_bytes(b"\xfd7zXZ\0")
    output = windrow("run", folder)
    assert output.code == 3
    assert "archive/lost.warc: datapackage.json lists it, but the WACZ file lacks it (not_found)" in output.err
    assert "c.warc.xz: files packed or named like this are not read (unsupported)" in output.err
    assert len(summary(root, URLS)) > 1
    assert ("http://b.example/cup",) in summary(root, URLS)


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


def test_bytes_that_belong_to_no_member_are_reported_and_the_members_are_imported(root, held, windrow):  # noqa: F811
    hide_bytes(pack_wacz(root / "odd.wacz", held / "one.warc.gz"))
    output = windrow("run", "odd.wacz")
    assert output.code == 3, output.err
    assert re.search(
        r"odd\.wacz: 56 bytes, the first of them at byte [\d,]+, belong to none of its members \(trailing_bytes\)",
        output.err,
    )
    assert summary(root, URLS) == [("http://a.example/more",), ("http://a.example/tea",)]
