"""WARC files of other programs on the command line: run, search, why, check, forget."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sqlite3
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.archive.foreign_records import make_record, pack_records, response_record, revisit_record, warcinfo_record
from windrow.app import run
from windrow.app.begin import prepare

TEA = b"<!doctype html><title>Tea</title><main><h1>Tea</h1><p>Pour hot water over leaves, and wait.</main>"
CUP = b"<!doctype html><title>Cup</title><main><h1>Cup</h1><p>A vessel of porcelain, to drink from.</main>"
MORE = b"<!doctype html><title>More</title><p>More of it."
URL = "http://a.example/tea"
ASKED = b"GET /tea HTTP/1.1\r\nHost: a.example\r\nCookie: secret-cookie\r\n\r\n"


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """Make a workspace without sources; it is the current folder."""
    folder = tmp_path / "workspace"
    prepare(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def held(tmp_path) -> Path:
    """Write a folder with two files, one below the other."""
    folder = tmp_path / "held"
    (folder / "more").mkdir(parents=True)
    request = make_record("request", ASKED, target_uri=URL, content_type="application/http; msgtype=request")
    (folder / "one.warc.gz").write_bytes(
        pack_records(
            [
                warcinfo_record(),
                response_record(URL, TEA),
                request,
                response_record("http://a.example/more", MORE, truncated="time"),
            ]
        )
    )
    (folder / "more/two.warc").write_bytes(
        response_record("http://b.example/cup", CUP)
        + revisit_record("http://b.example/tea", TEA, date="2024-04-01T00:00:00Z")
        + response_record("http://b.example/broken", b"x", date="never")
    )
    return folder


def summary(root, sql):
    link = sqlite3.connect(root / "summary.sqlite")
    try:
        return link.execute(sql).fetchall()
    finally:
        link.close()


def test_a_folder_is_taken_in_and_found(root, held, windrow):
    output = windrow("run", held, "--source", "elsewhere")
    assert output.code == 0, output.err
    assert "BadDate" in output.err
    urls = [row[0] for row in summary(root, "SELECT str_url FROM entity_generation JOIN url USING (url_id) ORDER BY 1")]
    assert urls == ["http://a.example/more", URL, "http://b.example/cup", "http://b.example/tea"]
    search = windrow("search", "porcelain", "--json")
    assert search.code == 0, search.err
    assert "http://b.example/cup" in search.out
    why = windrow("why", URL)
    assert why.code == 0, why.err
    assert "elsewhere" in why.out + why.err
    assert "state: open; " in why.out
    assert "  it is known from WARC files from other tools\n" in why.out
    assert "a seed" not in why.out
    assert "200, requested by another tool; " in why.out
    part = "200, requested by another tool; it has only a part of the body (WARC-Truncated: time); "
    assert part in windrow("why", "http://a.example/more").out
    file = windrow("why", "two.warc")
    assert file.code == 0, file.err
    assert "BadDate" in file.out
    assert str(held / "more/two.warc") in file.out
    assert windrow("why", held / "more/two.warc").out == file.out
    assert windrow("check").code == 0
    again_ = windrow("run", "pages", held / "one.warc.gz", "--json")
    assert again_.code == 0
    assert len(summary(root, "SELECT * FROM crawl_summary")) == 4
    status = windrow("status")
    assert status.code == 0, status.err
    row = next(line.split() for line in status.out.splitlines() if line.startswith("elsewhere "))
    assert "held" in row
    assert json.loads(windrow("status", "--json").out)["sources"][0]["items"] == 4


def test_records_with_faults_are_in_status_until_the_file_is_imported_without_them(root, held, windrow):
    """Only a task's line said that records of a file were lost; the run said that all was well."""

    def lost() -> tuple[int, set[str], set[str]]:
        (status,) = windrow("status", "--json").of("status")
        rules = {f"{rule['reason']} {rule['addresses']} {Path(rule['example']).name}" for rule in status["left_out"]}
        return (
            sum(source["failed"] for source in status["sources"]),
            rules,
            {row["reason"] for row in status["reasons"]},
        )

    output = windrow("run", held, "--source", "elsewhere", "--json")
    (summary_,) = output.of("summary")
    assert {reason["reason"] for reason in summary_["reasons"]} == {"bad_date", "truncated"}
    assert summary_["warnings"] == 0
    assert lost() == (2, {"bad_date 1 two.warc", "truncated 1 one.warc.gz"}, {"bad_date", "truncated"})
    assert windrow("run", "pages", held / "one.warc.gz", "--source", "elsewhere").code == 0
    assert lost()[0] == 2, "the counts remain, as nothing was repaired"
    (held / "one.warc.gz").write_bytes(response_record("http://a.example/more", MORE))
    (held / "more/two.warc").write_bytes(revisit_record("http://b.example/none", b"none", date="2024-04-01T00:00:00Z"))
    windrow("run", held, "--source", "elsewhere")
    assert lost() == (0, {"no_original 1 "}, set())


def test_a_file_that_is_imported_again_keeps_its_source_and_says_so(root, held, windrow):
    file = held / "one.warc.gz"
    assert "already imported" not in windrow("run", file, "--source", "first").err
    assert "already imported" not in windrow("run", file, "--source", "first").err
    output = windrow("run", file, "--source", "second")
    assert output.code == 0, output.err
    assert "second: 1 file, 0 captures; 1 file imported before; 1 file already imported for source first" in output.err


def test_a_collection_without_a_declared_source_says_what_to_do(root, held, windrow):
    assert windrow("run", held / "one.warc.gz", "--to", "crawl").code == 0
    output = windrow("run", "--from", "summarise", "pages")
    assert "nothing is done for pages: no source is declared for it" in output.err
    assert "for imported WARC files: windrow run FILE" in output.err
    assert windrow("run", held / "one.warc.gz").code == 0
    assert urls_of(root) == {URL, "http://a.example/more"}


def test_a_name_of_any_bytes(root, held, windrow):
    odd = held / os.fsdecode(b"\xff'%.warc.gz")
    (held / "one.warc.gz").rename(odd)
    assert windrow("run", odd).code == 0
    assert urls_of(root) == {URL, "http://a.example/more"}
    assert windrow("why", "\\udcff'%.warc.gz").code == 0


def test_a_list_and_names(root, held, windrow):
    (held / "more").rename(held / "more\u2028")
    (held / "all.txt").write_text("# what we have\none.warc.gz\nmore\u2028/two.warc\n\n")
    plan = windrow("run", held / "all.txt", "--dry-run")
    assert plan.code == 0, plan.err
    assert "two.warc" in plan.out
    assert not (root / "ledger.sqlite").exists() or not (root / "archive/foreign").exists()
    assert windrow("run", held / "all.txt").code == 0
    link = sqlite3.connect(root / "ledger.sqlite")
    assert link.execute("SELECT source FROM intake ORDER BY 1").fetchall() == [("one",), ("two",)]
    link.close()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nothing.warc.gz"], "there is no file"),
        (["wrong.txt"], "neither a WARC file nor a list"),
        (["held", "--again"], "--again"),
        (["held", "--source", "a b"], "--source"),
        (["--source", "name"], "no file is named"),
        (["empty"], "is a folder and not a source"),
    ],
)
def test_what_makes_no_sense_is_told(root, held, windrow, monkeypatch, words, why):
    monkeypatch.chdir(root)
    held.rename(root / "held")
    (root / "wrong.txt").write_text("this is\nnot a list")
    (root / "empty").mkdir()
    output = windrow("run", *words)
    assert output.code == 2
    assert why in output.err
    assert not (root / "archive/foreign").exists()


def urls_of(root):
    return {row[0] for row in summary(root, "SELECT str_url FROM entity_generation JOIN url USING (url_id)")}


def test_what_is_taken_down_is_gone_here_and_untouched_where_it_came_from(root, held, windrow):
    assert windrow("run", held).code == 0
    before = {path.name: path.read_bytes() for path in held.rglob("*.warc*")}
    lent = windrow("forget", URL, "--yes")
    assert "1 capture cannot be removed, since captures of other addresses refer to their bytes" in lent.err
    assert windrow("forget", "http://b.example/tea", "--yes").code == 0
    output = windrow("forget", "http://b.example/cup", "http://a.example/more", "--reason", "asked to", "--yes")
    assert output.code == 0, output.err
    assert {path.name: path.read_bytes() for path in held.rglob("*.warc*")} == before
    assert urls_of(root) == set()
    assert windrow("check").code == 0
    kept = b"".join(map(_plain, (root / "archive/foreign").iterdir()))
    assert b"porcelain" not in kept
    assert b"More of it" not in kept
    (held / "three.warc.gz").write_bytes(
        pack_records([response_record("http://a.example/more", MORE), response_record("http://a.example/x", CUP)])
    )
    assert windrow("run", held / "three.warc.gz").code == 0
    assert urls_of(root) == {"http://a.example/x"}
    kept = b"".join(map(_plain, (root / "archive/foreign").iterdir()))
    assert b"porcelain" in kept
    assert b"More of it" not in kept
    assert b"More of it" in _plain(held / "three.warc.gz")


def test_what_else_a_file_tells_of_an_address_goes_too(root, held, windrow):
    assert windrow("run", held / "one.warc.gz").code == 0
    kept = next((root / "archive/foreign").iterdir())
    assert b"secret-cookie" in _plain(kept)
    assert windrow("forget", URL, "--yes").code == 0
    assert b"secret-cookie" not in _plain(kept)
    assert b"More of it" in _plain(kept)


def _plain(path):
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def pack_wacz(path, *members, digests=None):
    """Write a WACZ file with WARC files, and their digests by name instead of the right ones."""
    names = {f"archive/{member.name}": member for member in members}
    hashes = {name: f"sha256:{hashlib.sha256(member.read_bytes()).hexdigest()}" for name, member in names.items()}
    resources = [{"path": name, "hash": text} for name, text in (hashes | (digests or {})).items()]
    with zipfile.ZipFile(path, "w") as packed:
        for name, member in names.items():
            packed.write(member, name)
        packed.writestr("pages/pages.jsonl", "{}")
        packed.writestr("datapackage.json", json.dumps({"wacz_version": "1.1.1", "resources": resources}))
    return path


def test_a_wacz_file_is_imported_once(root, held, windrow, monkeypatch):
    monkeypatch.chdir(root)
    folders = []
    monkeypatch.setattr(
        run, "TemporaryDirectory", lambda prefix: folders.append(TemporaryDirectory(prefix=prefix)) or folders[-1]
    )
    pack_wacz(root / "all.wacz", held / "one.warc.gz")
    assert windrow("run", "all.wacz", "--dry-run").code == 0
    for _ in range(2):
        output = windrow("run", "all.wacz")
        assert output.code == 0, output.err
    link = sqlite3.connect(root / "ledger.sqlite")
    assert link.execute("SELECT source FROM intake").fetchall() == [("all",)]
    (name,) = link.execute("SELECT name FROM intake_name").fetchone()
    link.close()
    assert name == f"{root}/all.wacz/archive/one.warc.gz"
    assert folders
    assert not any(Path(folder.name).exists() for folder in folders)


def test_a_wacz_file_is_unpacked_only_if_the_free_space_stays_free(root, held, windrow, monkeypatch):
    monkeypatch.chdir(root)
    pack_wacz(root / "all.wacz", held / "one.warc.gz")
    monkeypatch.setenv("WINDROW_LIMITS_FREE_SPACE", "1000000 TiB")
    output = windrow("run", "all.wacz")
    assert output.code == 1
    assert "must stay free" in output.err


def test_a_wacz_file_that_is_damaged_is_refused_by_name(root, held, windrow, monkeypatch):
    monkeypatch.chdir(root)
    pack_wacz(root / "other.wacz", held / "one.warc.gz", digests={"archive/one.warc.gz": f"sha256:{'0' * 64}"})
    output = windrow("run", "other.wacz")
    assert output.code == 3
    problem = "it differs from its digest in datapackage.json (digest_mismatch)"
    assert f"other.wacz/archive/one.warc.gz: {problem}" in output.err
    with zipfile.ZipFile(root / "plain.zip", "w") as packed:
        packed.writestr("readme.txt", "no archive")
    output = windrow("run", "plain.zip")
    assert output.code == 2
    assert "not a WACZ file" in output.err


def test_a_source_of_imports_that_was_taken_down_is_not_in_status(root, held, windrow):
    """Its faults, and the advice to forget it, stayed for ever."""
    windrow("run", held, "--source", "elsewhere")
    assert windrow("forget", "elsewhere", "--yes").code == 0
    (status,) = windrow("status", "--json").of("status")
    assert (status["left_out"], status["undeclared"]) == ([], [])
    assert [reason["reason"] for reason in status["reasons"]] == []
    assert status["sources"] == []
    assert windrow("forget", "elsewhere", "--lift").code == 0
    (status,) = windrow("status", "--json").of("status")
    assert [rule["reason"] for rule in status["left_out"]] == ["bad_date", "truncated"], "they were not repaired"
