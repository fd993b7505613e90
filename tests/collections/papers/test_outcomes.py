"""Whole runs over papers of all kinds, and over hostile files."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import threading
import zlib
from collections import Counter
from contextlib import closing

import grobid_tei_xml
import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from tests.collections.papers.test_grobid import TEI, XML
from tests.collections.papers.test_harvest import exported
from tests.requests.workshop import Server
from windrow.app import Windrow as App
from windrow.app.summary import summarise
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter.rows import read_settings
from windrow.collections.papers.columns import decode_row
from windrow.collections.papers.database.store import PaperStore
from windrow.contract.registry import phases
from windrow.engine.crawl import crawling
from windrow.engine.progress import Progress
from windrow.ledger import Ledger

JATS = b'<?xml version="1.0"?><article article-type="research-article"><front/></article>'
POSTSCRIPT = b"%!PS-Adobe-3.0\n%%Title: x\nshowpage\n"
HTML = b"<!doctype html><html><title>Fulltext</title><body>words</body></html>"


def shelf_of(root, papers: dict[str, bytes]) -> Shelf:
    (root / "warcs").mkdir(parents=True)
    shelf = Shelf(root / "warcs" / "one.warc.gz")
    for name, content in papers.items():
        shelf.put(f"http://example.org/{name}.pdf", content)
    return shelf


def library(root, section: str = "", more: str = "") -> Library:
    return Library(root, section, f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs"]\n{more}')


def test_fulltext_of_other_kinds_has_a_row_and_is_declined_by_the_extractor(tmp_path):
    shelf = shelf_of(tmp_path, {})
    kinds = {"application/postscript": POSTSCRIPT, "application/jats+xml": JATS, "text/html": HTML}
    for kind, content in kinds.items():
        shelf.put(f"http://example.org/{kind}", content, mime=kind)
    shelf.index(tmp_path / "one.cdx")
    workspace = library(tmp_path, "", f"media_types = {json.dumps([*kinds])}")
    workspace.run()
    rows = {key: decode_row(cells) for key, cells in workspace.rows().items()}
    assert {key: row["file:mime"] for key, row in rows.items()} == {
        f"sha1:{sha1(pdf)}": kind for kind, pdf in kinds.items()
    }
    for row in rows.values():
        is_read = row["file:mime"] == "application/jats+xml"
        assert bool([name for name in row if name.startswith(("grobid0:", "text0:"))]) == is_read
    assert "only PDF and JATS are extracted" in workspace.why(sha1(HTML)) + json.dumps(
        [json.loads(line) for line in exported(workspace, "paper-versions", "jsonl").splitlines()]
    )


@pytest.fixture(scope="module")
def damaged(tmp_path_factory) -> App:
    """Harvest a WARC file without an index, in which much is damaged, and an index without a line that can be read."""
    root = tmp_path_factory.mktemp("damaged")
    shelf = shelf_of(root, {"good": pdf("A careful measure of everything"), "cut": pdf("A measure that was cut")[:300]})
    shelf.put("http://example.org/blank.pdf", pdf("", stream=zlib.compress(b" ")))
    shelf.put("http://example.org/cut.xml", JATS[:-30], mime="application/jats+xml")
    shelf.put("http://example.org/a.ps", POSTSCRIPT, mime="application/postscript")
    shelf.put("http://example.org/a.png", b"\x89PNG", mime="image/png")
    shelf.put("http://example.org/undated.pdf", pdf("A measure without a day"), at="2020-13-02T03:04:05Z")
    start = shelf.path.stat().st_size
    shelf.put("http://example.org/broken.pdf", pdf("A measure that is broken"))
    shelf.path.write_bytes(
        shelf.path.read_bytes()[: start + 200] + b"\xff" * 60 + shelf.path.read_bytes()[start + 260 :]
    )
    for name in ("a.WARC.XZ", "b.wacz"):
        (root / "warcs" / name).write_bytes(b"")
    (root / "bad.cdx").write_text("junk\n" * 3)
    (root / "packed").mkdir()
    (root / "packed" / "c.cdx.zst").write_bytes(b"")
    index = f'[source.index]\ncollection = "papers"\ncdx = ["{root}/bad.cdx", "{root}/packed"]\n'
    Library(root, "", f'warc = ["{root}/warcs"]\n{index}').workspace()
    app = App(root)
    app.run()
    return app


def test_damaged_records_lines_and_papers_are_counted_as_failed_until_they_are_repaired(damaged):
    for _ in range(2):
        status = damaged.status()
        assert status.last is not None
        counts = {reason.reason: reason.items for reason in status.reasons}
        assert {"bad_date": 1, "bad_line": 3}.items() <= counts.items()
        assert "corrupt" in counts
        left_out = [(count.source, count.addresses) for count in status.left_out if "media type" in count.rule]
        assert left_out == [("shelf", 1)]
        failed = {source.source: source.failed for source in status.sources}
        assert failed == {"shelf": 2, "index": 3}
        assert status.last.exit_code == 3
        assert "bad.cdx: nothing in it can be read: bad_line" in " ".join(status.last.errors)
        damaged.run()  # reads nothing anew
    (damaged.config.root / "bad.cdx").unlink()
    damaged.run()
    assert {source.failed for source in damaged.status().sources} == {0, 2}, "a file that is gone has nothing damaged"


def test_the_run_reports_damage_and_papers_that_cannot_be_read(damaged):
    with closing(Ledger(damaged.config.ledger)) as ledger:
        summary = summarise(ledger, 1, phases())
    assert {"bad_date": 1, "bad_line": 3}.items() <= {count.reason: count.items for count in summary.reasons}.items()
    rules = {(count.reason, count.rule) for count in summary.left_out}
    reasons = {reason for reason, _ in rules}
    damage = {"corrupt", "not_well_formed", "no_text", "unsupported", "bad_date", "bad_line"}
    assert reasons == {*damage, "not_wanted"}
    assert ("not_wanted", "its media type is not wanted") in rules
    (unread,) = [count for count in summary.left_out if "WACZ" in count.rule]
    assert (unread.addresses, unread.example.rpartition("/")[2]) == (2, "a.WARC.XZ")
    (unread,) = [count for count in summary.left_out if "indexes" in count.rule]
    assert (unread.addresses, unread.example.rpartition("/")[2]) == (1, "c.cdx.zst")


def test_why_reports_what_was_left_out_of_warc_files_without_an_index(damaged):
    text = "\n".join(damaged.why("http://example.org/other.pdf").explained[0].lines)
    assert "shelf, in WARC files without an index: 1 capture left out, perhaps of this address: its media type" in text
    assert "such as http://example.org/a.png" in text


def test_captures_of_one_file_are_one_row_and_revisits_are_found_by_their_originals(tmp_path):
    good = pdf("A paper that many addresses have")
    shelf = shelf_of(tmp_path, {"first": good})
    shelf.revisit("http://mirror.example.org/again.pdf", good, "2021-05-06T07:08:09Z")
    shelf.put("http://third.example.org/x.pdf", good, at="2022-01-01T00:00:00Z")
    shelf.revisit("http://mirror.example.org/lost.pdf", b"of no original", "2021-05-06T07:08:10Z")
    shelf.index(tmp_path / "one.cdx")
    workspace = library(tmp_path)
    workspace.run()
    row = decode_row(workspace.rows()[f"sha1:{sha1(good)}"])
    assert (row["f:c"]["c"], row["f:c"]["u"]) == (3, "http://example.org/first.pdf")
    assert row["file:cdx"]["c_size"] == shelf.lines[0].split()[8]
    assert len(workspace.rows()) == 1
    assert "no_original" in workspace.why("http://mirror.example.org/lost.pdf")
    for url in ("http://mirror.example.org/again.pdf", "http://third.example.org/x.pdf"):
        assert "taken for papers" in workspace.why(url), "every capture is on the ledger"


def test_tei_is_kept_and_the_json_of_both_shapes_is_made_from_it_without_grobid(tmp_path):
    papers = {name: pdf(f"The paper called {name} by everybody") for name in ("good", "ocr")}
    names = {content: name for name, content in papers.items()}
    ocr = (500, b"[NO_BLOCKS] PDF parsing resulted in empty content", XML)
    server = Server(lambda asked: (200, TEI, XML) if names[asked.form()["input"][2]] == "good" else ocr)
    shelf_of(tmp_path, papers).index(tmp_path / "one.cdx")
    workspace = library(tmp_path, f'grobid = "{server.url}"')
    workspace.run()
    server.close()
    key = f"sha1:{sha1(papers['good'])}"
    first = decode_row(workspace.rows()[key])
    assert set(first["grobid0:tei_json"]) >= {"title", "authors", "journal", "date", "citations", "body", "annex"}
    dumped = {
        form: exported(workspace, "paper-dump", form).decode().splitlines() for form in ("grobid-xml", "scorable")
    }
    (line,) = dumped["grobid-xml"]
    dump = json.loads(line.split("\t")[1])
    assert (dump["pdf_hash"], dump["tei_xml"]) == (sha1(papers["good"]), TEI.decode())
    assert json.loads(dump["cdx_metadata"])["dt"] == "20200102030405"
    (line,) = dumped["scorable"]
    assert line.split("\t")[0] == "acarefulmeasureofthewholething"
    assert json.loads(line.split("\t")[1])["authors"] == ["Ann Lee"]
    assert exported(workspace, "paper-count", "status-code") == b"200\t1\n500\t1\n"
    assert exported(workspace, "paper-count", "status") == b"error\t1\nsuccess\t1\n"
    codes = exported(workspace, "paper-dump", "grobid-status-code").decode().splitlines()
    assert sorted(code.split("\t")[1] for code in codes) == ["200", "500"]
    (line,) = exported(workspace, "paper-dump", "grobid-meta-insertable").decode().splitlines()
    assert "body" not in json.loads(line.split("\t")[4])
    assert exported(workspace, "paper-dump", "ungrobided") == b""
    assert len(exported(workspace, "paper-dump", "file-meta").splitlines()) == 2
    with tarfile.open(fileobj=io.BytesIO(exported(workspace, "paper-tei", "tar"))) as archive:
        (member,) = archive.getmembers()
        assert member.name.endswith(".tei.xml")
        assert archive.extractfile(member).read() == TEI
    workspace.section += '\ntei_json = "later"'
    workspace.run()
    later = decode_row(workspace.rows()[key])
    assert later["grobid0:tei_json"] == grobid_tei_xml.parse_document_xml(TEI).to_legacy_dict()
    assert "body" not in later["grobid0:metadata"]
    assert later["grobid0:tei_xml"] == TEI
    before = workspace.rows()
    ADAPTER.replay(workspace.workspace(), workspace.setup(), Progress(None))
    assert workspace.rows() == before, "a replay takes the answers that are kept"


LOL = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
HEAD, TAIL = TEI.split(b"<p>short</p>")


def make_bombs():
    return {
        "entities": (200, f'<!DOCTYPE TEI [<!ENTITY a0 "ha">{LOL}]><TEI xmlns="http://www.tei-c.org/ns/1.0">&a9;</TEI>'.encode(), XML),
        "file": (200, b'<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]><TEI xmlns="http://www.tei-c.org/ns/1.0">&x;</TEI>', XML),
        "deep": (200, HEAD + b"<p>" * 200_000 + b"</p>" * 200_000 + TAIL, XML),
        "wide": (200, HEAD + b"<p/>" * 900_000 + TAIL, XML),
        "letters": (200, HEAD + b"\xff\xfe\x00" + TAIL, XML),
        "nul": (200, HEAD + b"\0" + TAIL, XML),
        "large": (200, HEAD + b"x" * 5_000_000 + TAIL, XML),
        "packed": (200, b"\x1f\x8b" + bytes(99), {**XML, "Content-Encoding": "gzip"}),
        "bomb": (200, gzip.compress(HEAD + bytes(64 << 20) + TAIL), {**XML, "Content-Encoding": "gzip"}),
        "bomb-error": (500, gzip.compress(b"[TAGGING_ERROR] " + bytes(64 << 20)), {**XML, "Content-Encoding": "gzip"}),
        "packed-error": (500, b"\x1f\x8b" + bytes(99), {**XML, "Content-Encoding": "gzip"}),
        "html": (200, b"<html><body>proxy error</body></html>", {"Content-Type": "text/html"}),
        "empty": (200, b"", XML),
        "error": (500, b"[TAGGING_ERROR] " + b"\x1b[31m\0" * 9_000, XML),
        "code": (500, b"[" + b"A" * 100_000, XML),
        "teapot": (418, b"short and stout", XML),
        "authors": (200, HEAD + TAIL.replace(b"<body>", b"<body>" + b"<figure><p>x</p></figure>" * 20_000), XML),
    }  # fmt: skip


def test_hostile_answers_of_grobid_end_in_a_reason_each_and_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(
        crawling, "MAX_SERVICE_WAIT", 1.0
    )  # what is unreadable each time is asked for with growing pauses
    bombs = make_bombs()
    papers = {name: pdf(f"The paper called {name} by everybody") for name in [*bombs, "good"]}
    names = {content: name for name, content in papers.items()}
    server = Server(lambda asked: bombs.get(names[asked.form()["input"][2]], (200, TEI, XML)))
    shelf_of(tmp_path, papers).index(tmp_path / "one.cdx")
    workspace = library(tmp_path, f'grobid = "{server.url}"')
    workspace.run()
    server.close()
    rows = {name: decode_row(workspace.rows().get(f"sha1:{sha1(content)}", {})) for name, content in papers.items()}
    assert rows["good"]["grobid0:status"] == {"status": "success"}
    for name in bombs:
        columns = [column for column in rows[name] if column.startswith(("grobid0:", "text0:"))]
        if not columns and name == "packed":  # it is requested again
            continue
        assert rows[name]["file:meta"]["mime"] == "application/pdf", name
        status = rows[name].get("grobid0:status", {"status": "passing"})
        assert status["status"] in {"fail", "error", "oversize", "passing", "success"}, name
        assert len(status.get("description", "")) <= 10_000
        assert "root:" not in json.dumps(rows[name], default=str)
        if status["status"] != "success":
            assert rows[name]["text0:tinfo"]["title"] == f"The paper called {name} by everybody"
    assert bombs["letters"][1] in rows["letters"].values(), "the bytes are kept as they came"
    assert rows["large"]["grobid0:status"]["status"] == "oversize"
    for name in ("bomb", "bomb-error"):
        assert rows[name]["grobid0:status"] == {"status": "oversize", "reason": "BOMB_RATIO"}
    for name in ("html", "teapot"):  # they may be answers of a proxy
        assert "grobid0:status_code" not in rows[name]
    for name in ("entities", "file"):
        assert rows[name]["grobid0:status"]["reason"] == "dtd_forbidden"
    ledger = Ledger(workspace.workspace().ledger)
    assert list(ADAPTER.check(workspace.workspace(), ledger)) == []
    ledger.close()


def test_lying_lines_of_an_index_end_in_one_outcome_each(tmp_path):
    good = pdf("The only honest paper of this shelf")
    shelf = shelf_of(tmp_path, {"good": good})
    fields = shelf.put("http://example.org/other.pdf", pdf("Of this one all lines lie")).split()
    shelf.lines.pop()

    def lie(**changed: str) -> str:
        places = {"url": 2, "mime": 3, "status": 4, "digest": 5, "length": 8, "offset": 9, "warc": 10}
        changed_fields = fields.copy()
        for name, text in changed.items():
            changed_fields[places[name]] = text
        return " ".join(changed_fields)

    changes = ({"offset": "7"}, {"offset": "999999999999"}, {"length": "1", "digest": sha1(b"q")}, {"warc": "../../etc/passwd"},
                    {"warc": "/etc/passwd"}, {"warc": "none.warc.gz"}, {"digest": "A" * 32}, {"digest": "z" * 32},
                    {"offset": "-"}, {"status": "404"}, {"mime": "image/png"}, {"url": "javascript:alert(1)"})  # fmt: skip
    lies = [lie(**{"url": f"http://example.org/{number}", **change}) for number, change in enumerate(changes)]
    lies += ["a b c", "\x00" * 50, "x" * 70_000, fields[0] + ' 20200101000000 {"url": [}']
    shelf.index(tmp_path / "one.cdx", *lies)
    workspace = library(tmp_path)
    session = workspace.run()
    rows = workspace.rows()
    assert set(rows) == {f"sha1:{sha1(good)}"}
    ledger = Ledger(workspace.workspace().ledger)
    (index,) = ledger.captures.indexes("papers", "shelf")
    left = sum(rule.lines for rule in ledger.captures.left_out(index.id))
    ledger.close()
    assert index.seen == 1 + len(lies)
    expected = Counter(reason for number in range(9) for reason in ("not_found", "digest_mismatch", "corrupt", "truncated", "not_wanted", "bad_line")
                   if reason in workspace.why(f"http://example.org/{number}"))  # fmt: skip
    assert expected["not_found"] >= 2
    assert expected["digest_mismatch"] >= 1
    assert left + index.taken <= index.seen
    assert session is not None


@pytest.mark.parametrize("name", ["err-user-password", "err-truncated", "err-image-only"])
def test_pdfs_that_are_broken_in_a_real_way_have_a_row_with_a_reason(shared, tmp_path, name):
    (path,) = (shared / "data" / "papers" / "grobid" / "pdf").rglob(f"{name}.pdf")
    content = path.read_bytes()
    shelf_of(tmp_path, {name: content}).index(tmp_path / "one.cdx")
    workspace = library(tmp_path)
    workspace.run()
    rows = workspace.rows()
    status = decode_row(rows[f"sha1:{sha1(content)}"])["text0:tstatus"] if rows else {}
    assert (rows and (status["status"] == "success" or status["reason"])) or "not_wanted" in workspace.why(
        sha1(content)
    )


@pytest.mark.parametrize("packed", [False, True])
def test_an_index_is_read_from_a_pipe_and_is_there_for_the_next_run(tmp_path, packed):
    good = pdf("A paper that is named on standard input")
    shelf = shelf_of(tmp_path, {"good": good})
    lines = shelf.index(tmp_path / "kept").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    workspace = Library(tmp_path, "", f'cdx = ["{tmp_path}/pipe"]\nwarc = ["{tmp_path}/warcs"]\n')
    for content in (gzip.compress(lines) if packed else lines, b""):
        writing = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
        writing.start()
        workspace.run()
        writing.join()
        assert set(workspace.rows()) == {f"sha1:{sha1(good)}"}
    assert len([*(tmp_path / "archive" / "indexes").iterdir()]) <= 2


@pytest.mark.parametrize("apart", [0, 300], ids=["beside it", "far before it"])
def test_a_line_that_lies_about_a_record_hides_no_honest_one_for_the_same_place(tmp_path, apart):
    good = pdf("A careful measure of the whole thing")
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    honest = shelf.put("http://example.org/a.pdf", good)
    lie = honest.replace(sha1(good), sha1(b"another"))
    between = [f"org,example)/{n} 20200101000000 http://example.org/{n} application/pdf 200 {sha1(good)} - - 1 {n} no.warc"
               for n in range(apart)]  # fmt: skip
    shelf.lines = [lie, *between, lie, honest, honest, lie]
    shelf.index(tmp_path / "one.cdx")
    library_ = library(tmp_path)
    library_.run()
    assert [*library_.rows()] == [f"sha1:{sha1(good)}"]
    library_.run()
    assert [*library_.rows()] == [f"sha1:{sha1(good)}"]


def test_the_table_has_its_version_and_environment_in_its_name(tmp_path):
    workspace = library(tmp_path, 'table_version = "7"\ntable_env = "qa"').workspace()
    settings = {setting.name.removeprefix("papers."): setting.value for setting in workspace.values}
    assert read_settings(workspace, tmp_path / "papers.db", settings, ()).table_name == "wbgrp-journal-extract-7-qa"


def test_an_attempt_that_was_skipped_for_two_reasons_counts_once(tmp_path):
    with closing(PaperStore(tmp_path / "papers.db")) as store:
        rows = [(1, "no_text", "a"), (1, "no_text", "b"), (1, "not_wanted", "c"), (2, "no_text", "a")]
        store._connection.executemany(
            "INSERT INTO skipped (attempt, key, reason, message, url) VALUES (?, '', ?, ?, '')", rows
        )
        assert store.skipped_without_record() == {"no_text": 2}
