"""Papers end to end: from index lines and WARC files, and from what pages crawled, to rows of the table."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import tarfile
import time
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.collections.papers.library import Library, Shelf, pdf, record_id, sha1
from tests.engine.folder_crawl import FOLDER_CRAWL
from tests.engine.warc_intake import take_warcs
from tests.sessions import session_settings
from tests.toy_collection.site import Site, page
from windrow.app.takedowns import lift_takedowns, take_down
from windrow.collections.pages.collection import COLLECTION as PAGES
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter import rows as rows_module
from windrow.collections.papers.collection import COLLECTION
from windrow.collections.papers.columns import FAMILIES, Put, decode_row, make_cells
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.database.wide import open_table
from windrow.config import load
from windrow.contract.registry import adapter as adapter_of
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.formats.warc import END, format_header
from windrow.ledger import Ledger

GOOD = pdf("A careful measure of the whole thing", abstract="How the zyzzyva was found.")
OTHER = pdf("Another title that nobody knows")
RECORD = {
    "doi": "10.1000/m",
    "title": "A Careful Measure of the Whole Thing",
    "authors": ["A. Lee", "B. Berg"],
    "year": 2019,
}


def library(root: Path, section: str = "", *, slow: bool = False, like: Path | None = None) -> Library:
    """Make WARC files with good and bad papers, their index, and a catalogue; or take those of another library."""
    source = f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs"]\n'
    workspace = Library(root, f'catalogue = ["catalogue.json"]\n{section}', source)
    if like:
        for name in ("warcs", "one.cdx", "catalogue.json"):
            copy = shutil.copytree if (like / name).is_dir() else shutil.copy
            root.mkdir(exist_ok=True)
            copy(like / name, root / name)
        return workspace
    folder = root / "warcs" / "item-1"
    folder.mkdir(parents=True)
    shelf = Shelf(folder / "one.warc.gz")
    shelf.put("http://example.org/~ann/pubs/a.pdf", GOOD, at="2020-01-02T03:04:05Z")
    shelf.put("http://mirror.example.org/b.pdf", GOOD, at="2021-01-01T00:00:00Z")
    shelf.put("http://example.org/other.pdf", OTHER)
    shelf.put("http://example.org/lie.pdf", b"<html>not found</html>")
    shelf.put("http://example.org/cut.pdf", GOOD[:300])
    shelf.put("http://example.org/page.html", b"<html></html>", mime="text/html")
    shelf.put("http://example.org/changed.pdf", pdf("Of another digest"), digest=sha1(b"x"))
    if slow:
        content = b"BT /F1 1 Tf 1 1 Td " + b"(x) Tj " * 100_000 + b"ET"  # a page takes a tenth of a second, and 20 MB
        shelf.put("http://example.org/slow.pdf", pdf("slow", pages=300, stream=zlib.compress(content)))
    shelf.index(root / "one.cdx", "junk", f"org,example)/x 20200101000000 http://example.org/x application/pdf 200 {sha1(b'')} - - 1 2 w",
                "org,example)/y 20200101000000 http://example.org/y application/pdf 404 A - - 1 2 w")  # fmt: skip
    (root / "catalogue.json").write_text(json.dumps(RECORD) + "\noops\n")
    return workspace


@pytest.fixture(scope="module")
def harvested(tmp_path_factory) -> Library:
    workspace = library(tmp_path_factory.mktemp("library"), "thumbnails = true", slow=True)
    workspace.seconds = 1
    workspace.run()
    return workspace


def exported(workspace: Library, name: str, form: str) -> bytes:
    (export,) = [candidate for candidate in ADAPTER.EXPORTS if candidate.name == name]
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    export.write(workspace.workspace(), form, out)
    out.flush()
    return raw.getvalue()


def test_papers_of_an_index_become_rows_of_the_standard(harvested):
    rows = harvested.rows()
    key = f"sha1:{sha1(GOOD)}"
    assert {f"sha1:{sha1(content)}" for content in (GOOD, OTHER, GOOD[:300])} <= set(rows)
    slow = next(
        row for row in map(decode_row, rows.values()) if row.get("text0:tstatus", {}).get("reason") == "time_limit"
    )
    assert slow["text0:tstatus"]["description"] == "stopped after 1 seconds of CPU time"
    assert slow["file:meta"]["size"] == slow["file:size"]
    row = decode_row(rows[key])
    line = (harvested.root / "one.cdx").read_text().splitlines()[1]
    assert row["file:cdx"] == {
        "surt": "org,example)/~ann/pubs/a.pdf", "url": "http://example.org/~ann/pubs/a.pdf", "dt": "20200102030405",
        "warc": "item-1/one.warc.gz", "offset": "0", "c_size": line.split()[8]}  # fmt: skip
    assert row["f:c"] == {
        "u": "http://example.org/~ann/pubs/a.pdf",
        "d": "2020-01-02T03:04:05Z",
        "f": "one.warc.gz",
        "o": 0,
        "c": 2,
        "i": record_id("http://example.org/~ann/pubs/a.pdf", "2020-01-02T03:04:05Z"),
    }
    assert (row["file:size"], row["file:mime"], row["file:meta"]["size"]) == (len(GOOD), "application/pdf", len(GOOD))
    assert row["text0:tinfo"]["title"] == "A careful measure of the whole thing"
    assert row["text0:tinfo"]["authors"] == ["Ann Lee", "Bo Berg"]
    assert len(row["text0:tinfo"]["references"]) == 2
    assert (row["match0:mstatus"], row["match0:doi"]) == ("strong", "10.1000/m")
    assert row["match0:minfo"]["reasons"] == ["slug", "authors"]
    assert not any(name.startswith("grobid0:") for name in row)
    assert decode_row(rows[f"sha1:{sha1(OTHER)}"])["match0:mstatus"] == "different"
    assert decode_row(rows[f"sha1:{sha1(GOOD[:300])}"])["text0:tstatus"]["reason"] == "corrupt"


def test_a_body_in_chunks_as_heritrix_and_wget_keep_it_is_read_without_them_whichever_digest_its_index_has(tmp_path):
    first, second = pdf("Kept in chunks as they came"), pdf("Kept in chunks by another crawler")
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    shelf.put("http://example.org/first.pdf", first, chunked=True)
    framed = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (300, second[:300], len(second) - 300, second[300:])
    shelf.put("http://example.org/second.pdf", second, chunked=True, digest=sha1(framed))
    shelf.index(tmp_path / "one.cdx")
    workspace = Library(tmp_path, "", 'cdx = ["one.cdx"]\nwarc = ["warcs"]')
    workspace.run()
    rows = {key: decode_row(row) for key, row in workspace.rows().items()}
    assert set(rows) == {f"sha1:{sha1(first)}", f"sha1:{sha1(second)}"}
    for content in (first, second):
        row = rows[f"sha1:{sha1(content)}"]
        assert row["file:size"] == row["file:meta"]["size"] == len(content)
        assert row["file:meta"]["md5"] == hashlib.md5(content).hexdigest()


def test_the_index_that_wget_writes_whose_legend_names_no_key_is_read(tmp_path):
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    shelf.put("http://example.org/b/a.pdf?q=1", GOOD)
    _, at, url, mime, status, digest, _, _, _, offset, name = shelf.lines[0].split()
    line = f"{url} {at} {url} {mime} {status} {digest} - - {offset} {name} <urn:uuid:1>"
    (tmp_path / "one.cdx").write_text(f" CDX a b a m s k r M V g u\n{line}\n")
    workspace = Library(tmp_path, "", 'cdx = ["one.cdx"]\nwarc = ["warcs"]')
    workspace.run()
    ((key, row),) = workspace.rows().items()
    place = decode_row(row)["file:cdx"]
    assert (key, place["surt"], place["url"]) == (f"sha1:{sha1(GOOD)}", "org,example)/b/a.pdf?q=1", url)


def test_papers_of_warc_and_arc_files_without_digests_and_without_an_index_are_taken(tmp_path):
    names = ("none", "sha256", "md5", "arc")
    papers = {name: pdf(f"Found in a file of {name}") for name in names}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"
    (tmp_path / "warcs").mkdir()
    expected = {
        "none": [],
        "sha256": [("WARC-Payload-Digest", f"sha256:{hashlib.sha256(papers['sha256']).hexdigest()}")],
        "md5": [("WARC-Payload-Digest", f"md5:{hashlib.md5(papers['md5']).hexdigest()}")],
    }
    for name, digest in expected.items():
        fields = [("WARC-Date", "2020-01-02T03:04:05Z"), ("WARC-Target-URI", f"http://{name}.example/a.pdf"), *digest]
        block = head + papers[name]
        record = format_header(
            "response", [*fields, ("Content-Type", "application/http; msgtype=response")], len(block)
        )
        (tmp_path / "warcs" / f"{name}.warc").write_bytes(record + block + END)
    block = head + papers["arc"]
    line = b"http://arc.example/a.pdf 192.0.2.1 20200102030405 application/pdf %d\n" % len(block)
    begin = b"filedesc://x.arc 0.0.0.0 20200102030405 text/plain 9\n1 0 test\n\n\n"
    (tmp_path / "warcs" / "one.arc").write_bytes(begin + line + block + b"\n")
    for wanted, more in ((names, ""), (("arc", "none"), f"digests = {[sha1(papers[x]) for x in ('arc', 'none')]}")):
        root = tmp_path / str(len(wanted))
        root.mkdir()
        workspace = Library(root, "", f'warc = ["{tmp_path}/warcs"]\n{more}')
        workspace.run()
        assert set(workspace.rows()) == {f"sha1:{sha1(papers[name])}" for name in wanted}


def test_what_is_no_paper_has_a_reason_each(harvested):
    assert "not_wanted" in harvested.why(f"sha1:{sha1(b'<html>not found</html>')}")
    assert "not_wanted the file is text/html" in harvested.why("http://example.org/lie.pdf")
    assert "digest_mismatch" in harvested.why("http://example.org/changed.pdf")
    # By the digest that the index claims, however it is spelled, and by that of the bytes.
    claimed, real = sha1(b"x"), sha1(pdf("Of another digest"))
    for name in (f"sha1:{claimed}", claimed.lower(), hashlib.sha1(b"x").hexdigest(), f"sha1:{real}"):
        text = harvested.why(name)
        assert re.search(
            r"an index line for http://example.org/changed.pdf names the record at byte \d+ of \S*one\.warc\.gz, with",
            text,
        )
        assert "digest_mismatch: the record at " in text
        assert f"has sha1:{real}, but sha1:{claimed} is stated" in text
    assert "papers has no record with this digest" in harvested.why(f"sha1:{claimed}")
    assert harvested.why(f"sha1:{sha1(b'unknown')}") == ""
    taken = r"no request was made: it was taken from the record at byte [\d,]+ of .*/one\.warc\.gz\n"
    assert re.search(taken, harvested.why("http://example.org/lie.pdf"))
    rules = harvested.why("http://example.org/slow.pdf")
    assert re.search(
        r"skipped sha1:\w{32}: time_limit the extractor was stopped: stopped after 1 seconds of CPU time", rules
    )
    assert f"sha1:{sha1(b'<html>not found</html>')}" not in harvested.rows()
    ledger = Ledger(harvested.workspace().ledger)
    (index,) = ledger.captures.indexes("papers", "shelf")
    rules = {(str(rule.reason), rule.rule): rule.lines for rule in ledger.captures.left_out(index.id)}
    ledger.close()
    assert rules["not_wanted", "its media type is not wanted"] == 1
    assert rules["not_wanted", "the file is empty"] == 1
    assert rules["not_wanted", "its status is not 200"] == 1
    assert sum(lines for (reason, _), lines in rules.items() if reason == "bad_line") == 1


def test_why_tells_a_paper_by_any_spelling_of_its_digest_with_its_row(harvested):
    for name in (
        sha1(GOOD),
        sha1(GOOD).lower(),
        f"sha1:{sha1(GOOD)}",
        decode_row(harvested.rows()[f"sha1:{sha1(GOOD)}"])["file:meta"]["sha1"],
    ):
        text = harvested.why(name)
        assert "match0:doi: 10.1000/m" in text
        assert "row of wbgrp-journal-extract-0-prod" in text


def test_papers_are_found_by_their_text_with_their_titles(harvested):
    answer = ADAPTER.search(harvested.workspace(), "zyzzyva", offset=0, limit=5, explain=False)
    assert [hit.title[0][0] for hit in answer.results] == ["A careful measure of the whole thing"]


def test_running_again_and_replaying_change_nothing(harvested):
    before = harvested.rows()
    harvested.run()
    assert harvested.rows() == before
    workspace = harvested.workspace()
    ADAPTER.replay(workspace, harvested.setup(), Progress(None))
    assert harvested.rows() == before
    ledger = Ledger(workspace.ledger)
    assert list(ADAPTER.check(workspace, ledger)) == []
    ledger.close()


def test_dumps_and_counts_are_those_of_the_standard(harvested):
    key = f"sha1:{sha1(GOOD)}"
    lines = [line.split("\t") for line in exported(harvested, "paper-dump", "ungrobided").decode().splitlines()]
    assert {len(line) for line in lines} == {4}
    row = next(line for line in lines if line[0] == key)
    assert json.loads(row[1])["c"] == 2
    assert json.loads(row[3])["dt"] == "20200102030405"
    assert row[2] == "application/pdf"
    assert exported(harvested, "paper-dump", "grobid-status-code") == b""
    assert exported(harvested, "paper-count", "row") == b"rows\t4\n"
    assert exported(harvested, "paper-count", "mime") == b"application/pdf\t4\n"
    assert b"match0:doi\t1\n" in exported(harvested, "paper-count", "column")
    assert len(exported(harvested, "paper-keys-missing", "grobid0:status_code").splitlines()) == 4
    assert exported(harvested, "paper-count", "outcome").decode().splitlines() == [
        "no row: not_wanted\t1", "text0 error corrupt\t1", "text0 error time_limit\t1", "text0 success\t2"]  # fmt: skip
    assert exported(harvested, "paper-count", "text-status") == b"error\t2\nsuccess\t2\n"
    assert exported(harvested, "paper-count", "match-status") == b"different\t1\nstrong\t1\n"
    papers = [json.loads(line) for line in exported(harvested, "papers", "jsonl").splitlines()]
    assert {paper["key"] for paper in papers} == set(harvested.rows())
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(exported(harvested, "papers", "parquet")))
    assert (table.num_rows, table.column("file:size").to_pylist()[0] > 0) == (4, True)
    with tarfile.open(fileobj=io.BytesIO(exported(harvested, "paper-thumbnails", "tar"))) as archive:
        names = archive.getnames()
        assert len(names) == 2  # of what could be drawn
        assert archive.extractfile(names[0]).read(3) == b"\xff\xd8\xff"
        assert names[0].endswith(".180px.jpg")
        assert names[0].count("/") == 2


def test_first_pages_that_cannot_be_drawn_are_counted(harvested):
    settings = ADAPTER._paper_settings(harvested.workspace())
    key = f"sha1:{sha1(GOOD[:300])}"
    with closing(PaperStore(settings.store)) as store:
        assert store.paper(key).aside["thumbnail_problem"]
        store.mark_stale([key])
    message = rows_module.bring_up_to_date(settings, lambda: True).message
    assert f"1 row written, 0 removed; 1 first page not drawn, such as that of {key}: " in message


def test_try_reads_a_file_and_keeps_nothing(tmp_path):
    path = tmp_path / "paper.pdf"
    path.write_bytes(GOOD)
    fetched, record, report = ADAPTER.try_address(None, str(path))
    assert (fetched.size, record.identifier) == (len(GOOD), f"sha1:{sha1(GOOD)}")
    assert record.fields["title"] == "A careful measure of the whole thing"
    assert (report.reason, report.records) == (None, 1)
    path.write_bytes(b"<html>")
    assert [part.kind for part in list(ADAPTER.try_address(None, str(path)))[1:-1]] == ["not_wanted"]


def test_a_paper_taken_down_leaves_no_row(tmp_path):
    workspace = library(tmp_path)
    workspace.run()
    key = f"sha1:{sha1(OTHER)}"
    assert key in workspace.rows()
    take_down(workspace.workspace(), workspace.setup(), [sha1(OTHER)], "asked", {"papers": ADAPTER})
    assert key not in workspace.rows()
    assert b"nobody knows" not in (tmp_path / "papers.table.db").read_bytes()
    for name in (key, "http://example.org/other.pdf"):
        text = workspace.why(name)
        assert "http://example.org/other.pdf taken down by" in text
        assert "asked\n" in f"{text}\n"
    assert "taken for papers" in text
    url = "http://example.org/~ann/pubs/a.pdf"
    assert f"a record in it: sha1:{sha1(GOOD)}" in workspace.why(url)
    take_down(workspace.workspace(), workspace.setup(), [url], "asked", {"papers": ADAPTER})
    row = decode_row(workspace.rows()[f"sha1:{sha1(GOOD)}"])
    assert row["file:cdx"]["url"] == "http://mirror.example.org/b.pdf"
    assert row["f:c"]["c"] == 1
    workspace.run()
    assert key not in workspace.rows()
    ADAPTER.replay(workspace.workspace(), workspace.setup(), Progress())
    assert "other.pdf taken down by" in workspace.why(sha1(OTHER))
    assert sha1(OTHER).encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and ".db" in str(path)
    )
    assert lift_takedowns(workspace.workspace(), workspace.setup(), [key], {"papers": ADAPTER}) == 1
    assert "lifted" in workspace.why(key)


@pytest.mark.parametrize("database", ["papers.table.db", "papers.rows.db"])
def test_a_takedown_is_not_complete_while_another_process_reads_the_rows(tmp_path, monkeypatch, database):
    monkeypatch.setattr("windrow.stores.sqlite.LOCK_TIMEOUT", 0.3)
    workspace = library(tmp_path)
    workspace.run()
    with closing(sqlite3.connect(tmp_path / database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (taken_down,) = take_down(workspace.workspace(), workspace.setup(), [sha1(OTHER)], "asked", {"papers": ADAPTER})
        assert not taken_down.done
        assert [error for error in taken_down.errors if f"{database}-wal" in error]
    (taken_down,) = take_down(workspace.workspace(), workspace.setup(), [], "", {"papers": ADAPTER})
    assert (taken_down.done, taken_down.errors) == (True, ())


def test_rows_of_others_keep_where_their_file_was_first(tmp_path, hbase_gateway):
    """A crawler wrote `f:c` before; the same library in SQLite and in HBase has the same bytes."""
    seen = {"f:c": b'{"u": "http://first.example/", "d": "2012-02-23T08:27:10Z"}', "f:x": b"of the crawler"}
    tables = []
    for number, table in enumerate((f"{tmp_path}/rows.db", hbase_gateway)):
        root = tmp_path / str(number)
        first = tmp_path / "0" if number else None
        workspace = library(
            root, f'table = "{table}"\ntable_env = "t{os.getpid()}"\ntable_key_form = "raw"', like=first
        )
        where = ADAPTER._paper_settings(workspace.workspace())
        rows = open_table(where.table, where.table_name, FAMILIES)
        rows.put([Put(base64.b32decode(sha1(OTHER)), seen)])
        workspace.run()
        tables.append(list(rows.scan()))
        rows.close()
    assert tables[0] == tables[1]
    row = dict(tables[0])[base64.b32decode(sha1(OTHER))]
    assert {name: row[name] for name in seen} == seen
    assert json.loads(row["file:meta"])["size"] == len(OTHER)


def test_a_row_that_hbase_refuses_stops_no_other_and_is_reported_until_it_is_written(
    tmp_path, hbase_gateway, monkeypatch
):
    """The TEI of a paper is larger than the messages that the gateway accepts."""
    workspace = library(tmp_path, f'table = "{hbase_gateway}"\ntable_env = "l{os.getpid()}"')
    refused_key = f"sha1:{sha1(GOOD)}"

    def make_large_cells(value, *arguments):
        cells = make_cells(value, *arguments)
        return {**cells, "grobid0:tei_xml": b"x" * 3_000_000} if value["file"]["size"] == len(GOOD) else cells

    assert workspace.run().failed == 0
    row_count = len(workspace.rows())
    monkeypatch.setattr(rows_module, "make_cells", make_large_cells)
    monkeypatch.setattr(rows_module, "ROWS_VERSION", "changed")
    for _ in range(2):  # nothing changes before the second run
        session = workspace.run()
        assert session.failed == 1
        comments = failed_comments(workspace)
        assert len(comments) == 1
        assert f"the table refuses 1 row, such as that of {refused_key}: HBase at" in comments[0]
        assert "max_frame_size_in_mb" in comments[0]
    assert len(workspace.rows()) == row_count
    monkeypatch.undo()
    assert workspace.run().failed == 0
    assert failed_comments(workspace) == []


def failed_comments(workspace):
    """Return the comments of the failed tasks of the last session."""
    with closing(Ledger(workspace.workspace().ledger)) as ledger:
        last_session = max(ledger.sessions.numbers())
        return [task.comment for task in ledger.sessions.tasks((last_session, last_session + 10_000)) if task.failed]


RUN = """
import sys
from pathlib import Path
from tests.collections.papers.library import Library
Library(Path(sys.argv[1]), sys.argv[2], sys.argv[3]).run()
"""


@pytest.mark.parametrize("store", ["sqlite", "hbase"])
def test_a_run_that_is_killed_anywhere_goes_on_to_the_same_rows(tmp_path, store, request):
    whole = library(tmp_path / "whole")
    programs.wait_until_loaded()
    began = time.monotonic()
    assert programs.run("-c", RUN, whole.root, whole.section, whole.source).returncode == 0
    seconds = time.monotonic() - began
    wanted = whole.rows()
    section, waits = "", [share * seconds for share in (0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9)]
    if store == "hbase":
        waits = [0.1, 0.3, 0.5, 0.7, 1.0, 1.4, 2.4]  # its first table takes seconds
        section = f'table = "{request.getfixturevalue("hbase_gateway")}"\ntable_env = "k{os.getpid()}"'
    killed = library(tmp_path / "killed", section, like=tmp_path / "whole")
    codes = []
    for wait in waits:
        child = programs.start("-c", RUN, killed.root, killed.section, killed.source)
        time.sleep(wait)
        child.kill()
        codes.append(child.wait())
    assert -signal.SIGKILL in codes
    killed.run()
    assert killed.rows() == wanted
    ledger = Ledger(killed.workspace().ledger)
    assert list(ADAPTER.check(killed.workspace(), ledger)) == []
    with rows_module.open_rows(ADAPTER._paper_settings(killed.workspace())) as table:
        table.put([Put(min(wanted).encode(), {"file:size": b"12345678"}, ("file:mime",))])
    (fault,) = ADAPTER.check(killed.workspace(), ledger)
    assert fault.problem.endswith(f"such as that of {min(wanted)}: file:size, file:mime")
    ledger.close()


class PaperSite(Site):
    """A site with one paper."""

    def answer(self, path):
        return (200, GOOD, "application/pdf") if path == "/a.pdf" else super().answer(path)


def test_pdfs_that_pages_crawled_are_papers_without_a_further_request(tmp_path):
    site = PaperSite({"/": page("home", "/a.pdf")})
    (tmp_path / "windrow.toml").write_text(
        '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
        f'[source.web]\ncollection = "pages"\nurl = "{site.url}"\n[source.shelf]\ncollection = "papers"\nfrom = ["pages"]\n'
    )
    workspace = load(tmp_path, environ={}, collections={"pages": PAGES, "papers": COLLECTION})
    with Session(session_settings(workspace), "run") as session:
        session.run_harvest(adapter_of("pages").harvest(workspace))
        asked = len(site.asked)
        session.run_harvest(ADAPTER.harvest(workspace))
    assert len(site.asked) == asked
    library_ = Library(tmp_path)
    library_.workspace = lambda: workspace
    row = decode_row(library_.rows()[f"sha1:{sha1(GOOD)}"])
    assert row["file:cdx"]["url"] == f"{site.url}a.pdf"
    assert int(row["file:cdx"]["c_size"]) > 0
    assert row["file:cdx"]["warc"].startswith("windrow-")
    site.close()


def test_a_repeat_of_bytes_that_no_rule_accepted_is_a_paper_once(tmp_path):
    """Repeats of pages' captures were left out, uncounted, also if the first capture was not wanted."""
    shelf = Shelf(tmp_path / "pages.warc.gz")
    shelf.put("http://example.org/x.pdf", GOOD)
    for day in ("01", "02"):
        shelf.revisit("http://example.org/papers/x.pdf", GOOD, f"2021-05-{day}T00:00:00Z")
    (tmp_path / "windrow.toml").write_text(
        '[source.shelf]\ncollection = "papers"\nfrom = ["stroll"]\npatterns = ["url-words"]\n'
    )
    workspace = load(tmp_path, environ={}, collections={"stroll": FOLDER_CRAWL, "papers": COLLECTION})
    library_ = Library(tmp_path)
    library_.workspace = lambda: workspace
    assert take_warcs(tmp_path, shelf.path) == 0
    library_.run()
    row = decode_row(library_.rows()[f"sha1:{sha1(GOOD)}"])
    assert (row["f:c"]["c"], row["f:c"]["u"]) == (1, "http://example.org/papers/x.pdf")
    with closing(Ledger(library_.workspace().ledger)) as ledger:
        (index,) = ledger.captures.indexes("papers", "shelf")
        comments = [task.comment for task in ledger.sessions.tasks_of_source("shelf")]
    assert (index.seen, index.taken) == (3, 1)
    assert "left out: not_wanted 1; 1 were taken, or failed, before" in " ".join(comments)
