"""`windrow try`: reads one thing, writes nothing."""

from __future__ import annotations

import re

import pytest
from tools.command import MESSAGES, shape

from tests.cli.conftest import put
from tests.cli.test_begin import tree
from windrow.demo.partner import drop, experiments, pack, specimens

ZIP = "H.2026-01-12.1.impc.zip"


def test_a_zip_shows_members_findings_and_records(workspace, partner, windrow) -> None:
    before = tree(workspace)
    output = windrow("try", partner / "add" / ZIP, "--collection", "drops")
    assert output.code == 0
    assert "H.2026-01-12.1.specimen.impc.xml: 6,322 bytes, 20 records, good up to data" in output.out
    assert re.search(r"specimen H_M0101-000 +specimen_id=M0101-000", output.out)
    assert "experiment H_E0101-000_M0101-000" in output.out
    assert tree(workspace) == before


def test_json_is_as_documented(workspace, partner, windrow) -> None:
    output = windrow("try", partner / "add" / ZIP, "--collection", "drops", "--json")
    assert {message["type"] for message in output.messages} == {"fetched", "finding", "record", "document"}
    for message in output.messages:
        assert set(message) - {"type"} <= set(shape(MESSAGES[message["type"]].shape))
    assert len(output.of("record")) == 28
    assert output.of("document")[0]["kind"] == "specimen"  # in the order in which they would be loaded


def test_a_source_of_the_workspace_lends_its_access(workspace, partner, windrow) -> None:
    output = windrow("try", f"file://{partner}/add/{ZIP}", "--collection", "drops", "--json")
    assert output.code == 0
    assert output.of("fetched")[0]["key"] == f"add/{ZIP}"


def test_a_document_by_itself(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    path = put(tmp_path, "Abc.2026-01-12.1.experiment.impc.xml", experiments("H", 1))
    output = windrow("try", path.name, "--collection", "drops", "--json")
    assert output.code == 0
    assert output.of("document")[0]["records"] == 8


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("H.2026-01-12.1.impc.zip", b"not a zip", "refused at unzip: the bytes are not a zip archive"),
        ("H.2026-02-30.1.impc.zip", drop("H", "2026-01-12", 1)[1], "its name would be refused: the date is not a day"),
        ("H.2026-01-12.1.specimen.impc.xml", b"<a>", "refused at xsd: the document is not well-formed XML or JSON"),
        (
            "H.2026-01-12.1.specimen.impc.xml",
            experiments("H", 1),
            "refused at xsd: the document is not of the expected kind",
        ),
        ("H.2026-01-12.1.specimen.impc.xml", b"", "refused at xsd"),
        (
            "H.2026-01-12.1.specimen.impc.xml",
            specimens("H", 1).replace(b'gender="male"', b'gender="?"', 1),
            "refused at xsd: the document is not valid against its schema or format",
        ),
    ],
)
def test_what_is_refused_gives_1(name, content, message, tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, name, content)
    before = tree(tmp_path)
    output = windrow("try", name, "--collection", "drops")
    assert output.code == 1
    assert message in output.out
    assert tree(tmp_path) == before


def test_findings_have_their_place(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    broken = specimens("H", 1).replace(b'gender="male"', b'gender="?"')
    put(tmp_path, "H.2026-01-12.1.impc.zip", pack({"H.2026-01-12.1.specimen.impc.xml": broken}))
    notes = windrow("try", "H.2026-01-12.1.impc.zip", "--collection", "drops", "--json").of("finding")
    errors = [note for note in notes if note["level"] == "error"]
    assert errors
    for error in errors:
        assert b'gender="?"' in broken.splitlines()[error["line"] - 1]
    output = windrow("try", "H.2026-01-12.1.impc.zip", "--collection", "drops", "--limit", "1")
    assert f"... {len(notes) - 1} more findings" in output.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nofile", "--collection", "drops"], 2, "/nofile is not a file; an address begins with one of"),
        (["nofile"], 2, "missing option '--collection'"),
        (["x", "--collection", "nosuch"], 2, "collection 'nosuch' is not installed; installed are: drops"),
        (["ftp://u:hunter2@h/x.zip", "--collection", "drops"], 2, "may not contain a password"),
        (["gopher://h/x.zip", "--collection", "drops"], 2, "expected an address that begins with"),
        (["file:///nowhere/x.zip", "--collection", "drops"], 1, "/nowhere"),
        (["http://127.0.0.1:1/x.zip", "--collection", "drops"], 1, "127.0.0.1"),
    ],
)
def test_wrong_wishes(words, code, message, tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    output = windrow("try", *words)
    assert output.code == code
    assert message in output.err
    assert "hunter2" not in output.err
    assert tree(tmp_path) == {}
