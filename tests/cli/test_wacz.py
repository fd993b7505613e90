"""The archive as a WACZ file: its parts agree, and another workspace takes the same captures from it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.archive.foreign_records import pack_records, revisit_record
from windrow.app import Windrow as App
from windrow.app.begin import prepare
from windrow.archive.wacz import write_wacz
from windrow.errors import ArchiveError

CAPTURE = "org,a)/ 20240301120000 http://a.org/ text/html 200 AAAA - - 9 0 "


def test_the_archive_as_wacz_has_every_capture_and_is_imported_elsewhere(
    crawled: Path, tmp_path: Path, windrow, monkeypatch
) -> None:
    wacz = tmp_path / "mine.wacz"
    lines = windrow("export", "captures", "--as", "cdxj").out.splitlines()
    assert App(crawled).export("captures", "wacz", wacz) == len(lines) > 5
    with ZipFile(wacz) as package:
        assert package.testzip() is None
        package_bytes = package.read("datapackage.json")
        described = json.loads(package_bytes)
        assert (described["profile"], described["wacz_version"]) == ("data-package", "1.1.1")
        resources = {resource["path"]: resource for resource in described["resources"]}
        assert {*resources} == {*package.namelist()} - {"datapackage.json", "datapackage-digest.json"}
        for path, resource in resources.items():
            content = package.read(path)
            assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            assert resource["bytes"] == len(content)
        digest = json.loads(package.read("datapackage-digest.json"))
        assert digest == {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package_bytes).hexdigest()}"}
        indexed = [line.split(" ", 2) for line in package.read("indexes/index.cdx").decode().splitlines()]
        assert [line[:2] for line in indexed] == [line.split(" ", 2)[:2] for line in lines]
        for _, _, text in indexed:
            fields = json.loads(text)
            offset, length = int(fields["offset"]), int(fields["length"])
            record = package.read(f"archive/{fields['filename']}")[offset : offset + length]
            record = gzip.decompress(record) if record.startswith(b"\x1f\x8b") else record
            assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in record
        pages = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()]
    assert pages[0]["format"] == "json-pages-1.0"
    assert {page["url"].rpartition("/")[2] for page in pages[1:]} > {"a.html", "b.html"}
    prepare(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    output = windrow("run", wacz)
    assert output.code == 0, output.err
    assert windrow("search", "a").out.count("a.html")


def test_a_wacz_file_of_revisits_alone_is_told_by_its_own_name(tmp_path: Path, windrow, monkeypatch) -> None:
    """The messages had the name of the folder, removed meanwhile, in which it had been unpacked."""
    with ZipFile(tmp_path / "few.wacz", "w") as package:
        package.writestr("archive/a.warc.gz", pack_records([revisit_record("http://a.example/", b"x")]))
    prepare(tmp_path / "workspace")
    monkeypatch.chdir(tmp_path / "workspace")
    output = windrow("run", "../few.wacz")
    assert output.code == 3
    problem = f"no capture was imported from {tmp_path}/few.wacz/archive/a.warc.gz: 1 revisit without an original"
    assert problem in output.err
    assert problem in windrow("status").out
    assert "the revisit at byte 0 waits for its original" in windrow("why", "few.wacz").out


def test_an_index_is_imported_elsewhere_by_the_files_that_it_names(
    crawled: Path, tmp_path: Path, windrow, monkeypatch
) -> None:
    index = windrow("export", "captures", "--as", "cdxj").out
    copy = tmp_path / "copy"
    shutil.copytree(crawled / "archive", copy)
    for path in copy.glob("*.cdxj"):
        path.unlink()
    (copy / "index.CDXJ.gz").write_bytes(gzip.compress(index.encode()))
    prepare(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    names = {json.loads(line.split(" ", 2)[2])["filename"] for line in index.splitlines()}
    planned = windrow("run", copy / "index.CDXJ.gz", "--dry-run").out
    assert all(name in planned for name in names)
    output = windrow("run", copy / "index.CDXJ.gz", "--source", "copied")
    assert output.code == 0, output.err
    assert windrow("search", "a").out.count("a.html")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "has no lines"),
        ("junk\n", "has a line that cannot be read: junk"),
        (f"{CAPTURE}-\n", "cannot be read: one without the name of a WARC file"),
        (f"{CAPTURE}away.warc.gz\n" * 9, "contains no file of this name, or several"),
    ],
)
def test_an_index_that_would_lose_captures_is_refused_before_anything_is_imported(
    tmp_path: Path, windrow, monkeypatch, lines: str, message: str
) -> None:
    prepare(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "index.cdx").write_text(lines)
    output = windrow("run", tmp_path / "index.cdx")
    assert output.code == 2
    assert message in output.err
    assert f"windrow run {tmp_path}" in output.err


def test_wacz_goes_through_a_pipe(crawled: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "windrow", "export", "captures", "--as", "wacz"]
    written = subprocess.run(command, cwd=crawled, capture_output=True, check=True)
    (tmp_path / "piped.wacz").write_bytes(written.stdout)
    with ZipFile(tmp_path / "piped.wacz") as package:
        assert package.testzip() is None
        assert "datapackage.json" in package.namelist()
    for form in ("wacz", "cdxj"):
        program = subprocess.Popen([*command[:-1], form], cwd=crawled, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert program.stdout is not None
        program.stdout.close()
        assert program.communicate()[1] == b""
        assert program.returncode == 0


class ClosedPipe(io.BytesIO):
    """A target that cannot be written."""

    def write(self, _block: object) -> int:
        raise BrokenPipeError


def test_an_error_of_the_target_is_not_one_of_the_archive(tmp_path: Path) -> None:
    fields = json.dumps({"url": "http://a.org/", "mime": "text/html", "status": "200", "filename": "a.warc"})
    lines = [f"org,a)/ 20240301120000 {fields}"]
    created = datetime(2026, 1, 2, tzinfo=UTC)
    with pytest.raises(ArchiveError, match=r"a\.warc cannot be read: No such file"):
        write_wacz(lines, tmp_path, io.BytesIO(), title="a", created=created)
    (tmp_path / "a.warc").write_bytes(b"WARC/1.1")
    with pytest.raises(BrokenPipeError):
        write_wacz(lines, tmp_path, ClosedPipe(), title="a", created=created)


def test_without_captures_there_is_no_wacz(tmp_path: Path, windrow, monkeypatch) -> None:
    prepare(tmp_path)
    (tmp_path / "ledger.sqlite").unlink()
    monkeypatch.chdir(tmp_path)
    output = windrow("export", "captures", "--as", "wacz")
    assert (output.code, output.out) == (2, "")
    assert "there are no captures yet" in output.err
