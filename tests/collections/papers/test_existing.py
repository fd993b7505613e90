"""Cells that another extractor or matcher wrote are kept, and not extracted again unless forced."""

from __future__ import annotations

import base64
import json
import os
import struct
from pathlib import Path

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from tests.engine.unsteady_steps import stop_all_steps
from tests.requests.workshop import Server
from windrow.app.takedowns import take_down
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.columns import FAMILIES, Put, decode_row
from windrow.collections.papers.database.wide import open_table
from windrow.engine.progress import Progress
from windrow.engine.steps import settled_batches

TITLE = "A careful measure of the whole thing"
OLD, NEW = pdf(TITLE), pdf("Another paper that nobody extracted")
TEI = b"""<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Ours</title></titleStmt>
<sourceDesc><biblStruct><analytic><title level="a">Ours</title></analytic></biblStruct></sourceDesc></fileDesc>
</teiHeader></TEI>"""
XML = {"Content-Type": "application/xml"}
EARLIER = {
    "f:c": b'{"u": "http://first.example/", "d": "2012-02-23T08:27:10Z"}',
    "file:size": struct.pack("!q", 7),
    "grobid0:status_code": struct.pack("!q", 200),
    "grobid0:status": b'{"status": "success"}',
    "grobid0:tei_xml": b"<TEI>theirs</TEI>",
    "grobid0:tei_json": b'{"title": "Theirs", "body": "text"}',
    "grobid0:metadata": b'{"title": "Theirs"}',
    "grobid0:other": b"of a later version",
    "match0:doi": b"10.1000/theirs",
    "match0:minfo": b'{"score": 1}',
}
MATCHED = {"doi": "10.1000/m", "title": TITLE, "authors": ["A. Lee", "B. Berg"], "year": 2019}


class Shop:
    """A workspace with two papers, for one of which others wrote a row in the table."""

    def __init__(self, root: Path, table: str, cells: dict[str, bytes] = EARLIER) -> None:
        (root / "warcs").mkdir(parents=True)
        shelf = Shelf(root / "warcs" / "one.warc.gz")
        shelf.put("http://example.org/old.pdf", OLD)
        shelf.put("http://example.org/new.pdf", NEW)
        shelf.index(root / "one.cdx")
        (root / "catalogue.json").write_text(json.dumps(MATCHED) + "\n")
        self.base = f'table = "{table}"\ntable_env = "t{os.getpid()}"\ntable_key_form = "raw"\n'
        self.library = Library(root, self.base, f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs"]\n')
        where = ADAPTER._paper_settings(self.library.workspace())
        self.place = where.table, where.table_name, FAMILIES
        self.put(cells)

    def put(self, cells: dict[str, bytes]) -> None:
        rows = open_table(*self.place)
        rows.put([Put(base64.b32decode(sha1(OLD)), cells)])
        rows.close()

    def rows(self) -> dict[bytes, dict[str, bytes]]:
        rows = open_table(*self.place)
        cells_by_key = {key: dict(cells) for key, cells in rows.scan()}
        rows.close()
        return cells_by_key

    def row(self, content: bytes = OLD) -> dict[str, bytes]:
        return self.rows()[base64.b32decode(sha1(content))]

    def configure(self, section: str = "") -> None:
        self.library.section = self.base + section

    def replay(self) -> None:
        ADAPTER.replay(self.library.workspace(), self.library.setup(), Progress(quiet=True))


@pytest.fixture(params=["sqlite", "hbase"])
def shop(request, tmp_path):
    """Open such a workspace; the table is emptied afterwards, since all tests share one HBase."""
    table = request.getfixturevalue("hbase_gateway") if request.param == "hbase" else f"{tmp_path}/rows.db"
    new_shop = Shop(tmp_path / "library", table)
    yield new_shop
    rows = open_table(*new_shop.place)
    rows.delete(new_shop.rows())
    rows.close()


class Grobid:
    """A server whose answer a test sets, and the documents that it was sent."""

    def __init__(self) -> None:
        self.answer = (200, TEI, XML)
        self.sent: list[bytes] = []
        self.server = Server(self)

    def __call__(self, asked):
        self.sent.append(asked.form()["input"][2])
        return self.answer


@pytest.fixture
def grobid():
    server = Grobid()
    yield server
    server.server.close()


def stays(row: dict[str, bytes]) -> bool:
    return {name: row.get(name) for name in EARLIER} == EARLIER


def test_what_others_extracted_and_matched_stays_without_grobid_and_without_a_catalogue(shop):
    shop.library.run()
    row = shop.row()
    assert stays(row)
    assert {name for name in row if name.startswith("match0:")} == {"match0:doi", "match0:minfo"}
    assert decode_row(row)["file:meta"]["size"] == len(OLD), "what nobody had said is added"
    assert decode_row(row)["text0:tinfo"]["title"] == TITLE
    shop.configure('catalogue = ["catalogue.json"]')
    shop.library.run()
    assert stays(shop.row())
    assert "match0:mstatus" not in shop.row(), "one verdict is not mixed with another"
    shop.replay()
    assert stays(shop.row())


def test_a_pdf_whose_row_has_a_status_is_not_sent_again_unless_that_is_forced(shop, grobid):
    shop.configure(f'grobid = "{grobid.server.url}"\ncatalogue = ["catalogue.json"]')
    shop.library.run()
    assert grobid.sent == [NEW]
    assert stays(shop.row())
    assert shop.row(NEW)["grobid0:tei_xml"] == TEI
    assert decode_row(shop.row())["text0:tinfo"]["title"] == TITLE
    shop.replay()
    shop.library.run()
    assert grobid.sent == [NEW]
    assert stays(shop.row())
    grobid.answer = (500, b"[BAD_INPUT_DATA] PDF to XML conversion failed", XML)
    shop.library.section += "\nforce_existing = true"
    shop.library.run()
    forced = shop.row()
    assert (forced["match0:mstatus"], forced["match0:doi"]) == (b"strong", b"10.1000/m"), "its verdict is there already"
    assert forced["grobid0:tei_xml"] == EARLIER["grobid0:tei_xml"], "nothing is there to take its place"
    shop.replay()
    shop.library.run()
    assert grobid.sent == [NEW, OLD]
    forced = shop.row()
    assert decode_row(forced)["grobid0:status_code"] == 500
    assert {name for name in forced if name.startswith("grobid0:")} == {
        "grobid0:status_code", "grobid0:status", "grobid0:quality", "grobid0:other"
    }  # fmt: skip
    assert (forced["match0:mstatus"], forced["match0:doi"]) == (b"strong", b"10.1000/m")
    assert forced["f:c"] == EARLIER["f:c"], "where a file was first stays"
    assert shop.row(NEW)["grobid0:tei_xml"] == TEI


@pytest.mark.parametrize("late", [False, True])
def test_of_many_pdfs_only_those_are_sent_whose_rows_have_no_status(tmp_path, grobid, monkeypatch, late):
    """The step is repeated for the other papers, also if an earlier run could not take it."""
    monkeypatch.setattr(settled_batches, "BATCH_SIZE", 8)
    shop = Shop(tmp_path / "library", f"{tmp_path}/rows.db")
    shelf = Shelf(tmp_path / "library" / "warcs" / "more.warc.gz")
    more = [pdf(f"A paper with the number {number} of them all") for number in range(150)]
    for number, content in enumerate(more):
        shelf.put(f"http://example.org/{number}.pdf", content)
    shelf.index(tmp_path / "library" / "one.cdx")
    theirs = more[2:6] + more[90:92]
    rows = open_table(*shop.place)
    rows.put([Put(base64.b32decode(sha1(paper)), EARLIER) for paper in theirs])
    rows.close()
    shop.configure(f'grobid = "{grobid.server.url}"')
    if late:
        with stop_all_steps(monkeypatch):
            shop.library.run()
        assert grobid.sent == []
    shop.library.run()
    assert sorted(grobid.sent) == sorted({*more} - {*theirs})
    assert all(stays(shop.row(paper)) for paper in theirs)
    assert {shop.row(paper)["grobid0:tei_xml"] for paper in {*more} - {*theirs}} == {TEI}


@pytest.mark.parametrize("answer", [(503, b"", XML), (500, b"[GENERAL] Could not get an engine from the pool", XML)])
def test_what_others_extracted_stays_where_grobid_fails_though_it_is_forced(tmp_path, grobid, answer):
    shop = Shop(tmp_path / "library", f"{tmp_path}/rows.db")
    grobid.answer = answer
    shop.configure(f'grobid = "{grobid.server.url}"\nforce_existing = true')
    shop.library.run()
    assert OLD in grobid.sent
    assert stays(shop.row())


def test_of_a_row_of_others_only_the_cells_that_were_written_from_here_are_removed(shop, grobid):
    theirs = {name: EARLIER[name] for name in ("f:c", "match0:doi")}
    rows = open_table(*shop.place)
    rows.delete([base64.b32decode(sha1(OLD))])
    rows.close()
    shop.put(theirs)
    shop.configure(f'grobid = "{grobid.server.url}"')
    shop.library.run()
    assert sorted(grobid.sent) == sorted([OLD, NEW])
    assert decode_row(shop.row())["grobid0:status_code"] == 200
    shop.configure()
    shop.replay()
    row = shop.row()
    assert not any(name.startswith("grobid0:") for name in row)
    assert {name: row[name] for name in theirs} == theirs
    shop.library.source += 'media_types = ["text/html"]\n'  # it is no longer a paper, but was not taken down
    shop.configure('tei_json = "later"')  # all rows are made anew
    shop.replay()
    assert shop.rows() == {base64.b32decode(sha1(OLD)): theirs}


@pytest.mark.parametrize(("file", "form"), [("mine.db", "raw"), ("theirs.db", "base32")])
def test_what_others_left_stays_where_the_settings_led_to_another_table_before(tmp_path, grobid, file, form):
    shop = Shop(tmp_path / "library", f"{tmp_path}/theirs.db")
    section = f'grobid = "{grobid.server.url}"\n'
    theirs = shop.base
    shop.base = theirs.replace("theirs.db", file).replace('"raw"', f'"{form}"')
    shop.configure(section)
    shop.library.run()
    assert sorted(grobid.sent) == sorted([OLD, NEW]), "nobody had a row of either there"
    shop.base = theirs
    shop.configure(section)
    shop.library.run()
    assert stays(shop.row())
    shop.replay()
    assert stays(shop.row())
    assert shop.row(NEW)["grobid0:tei_xml"] == TEI


def test_rows_stay_own_where_only_the_shape_or_the_catalogue_changes(tmp_path, grobid):
    shop = Shop(tmp_path / "library", f"{tmp_path}/rows.db")
    shop.configure(f'grobid = "{grobid.server.url}"')
    shop.library.run()
    shop.configure('catalogue = ["catalogue.json"]\ntei_json = "later"')
    shop.replay()
    assert not any(name.startswith("grobid0:") for name in shop.row(NEW)), "what is no more is removed"


def test_a_takedown_removes_what_others_left_too(shop):
    shop.library.run()
    take_down(shop.library.workspace(), shop.library.setup(), [sha1(OLD)], "asked", {"papers": ADAPTER})
    assert set(shop.rows()) == {base64.b32decode(sha1(NEW))}
