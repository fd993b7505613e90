"""The location of a file in its row, field by field: as the index has it, and as the standard requires it."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, record_id, sha1
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter.rows import open_rows
from windrow.collections.papers.columns import Put, decode_row

GOOD = pdf("A careful measure of the whole thing")


def only_row(workspace: Library) -> dict:
    (row,) = workspace.rows().values()
    return decode_row(row)


def indexed(root, line: str) -> Library:
    (root / "one.cdx").write_text(f" CDX N b a m s k r M S V g\n{line}\n")
    return Library(root, "", f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs"]\n')


def test_f_and_file_say_address_key_and_item_as_the_index_line_spells_them(tmp_path):
    (tmp_path / "warcs").mkdir()
    fields = Shelf(tmp_path / "warcs" / "one.warc.gz").put("http://www.example.org/~Ann/A%20b.pdf", GOOD).split()
    fields[0], fields[2] = "org,example,www)/~Ann/A%20b.pdf", "HTTP://WWW.example.org:80/%7EAnn/A%20b.pdf"
    fields[10] = "ITEM-2020/one.warc.gz"
    workspace = indexed(tmp_path, " ".join(fields))
    workspace.run()
    row = only_row(workspace)
    assert row["file:cdx"] == {
        "surt": fields[0], "url": fields[2], "dt": "20200102030405", "warc": "ITEM-2020/one.warc.gz", "offset": "0",
        "c_size": fields[8]}  # fmt: skip
    assert row["f:c"] == {"u": fields[2], "d": "2020-01-02T03:04:05Z", "f": "one.warc.gz", "o": 0, "c": 1,
                          "i": record_id("http://www.example.org/~Ann/A%20b.pdf", "2020-01-02T03:04:05Z")}  # fmt: skip


@pytest.mark.parametrize("lie", ["http://elsewhere.example/", "http://www.example.org/a\u2028b.pdf"])
def test_a_line_with_the_address_of_another_record_makes_no_row(tmp_path, lie):
    (tmp_path / "warcs").mkdir()
    fields = Shelf(tmp_path / "warcs" / "one.warc.gz").put("http://www.example.org/a.pdf", GOOD).split()
    fields[2] = lie
    workspace = indexed(tmp_path, " ".join(fields))
    workspace.run()
    assert workspace.rows() == {}
    assert "bad_line" in workspace.why(lie)


def test_f_and_file_say_the_record_s_own_address_where_the_index_line_has_another_scheme(tmp_path):
    (tmp_path / "warcs").mkdir()
    fields = Shelf(tmp_path / "warcs" / "one.warc.gz").put("http://www.example.org/a.pdf", GOOD).split()
    fields[2] = "https://example.org:443/a.pdf"
    workspace = indexed(tmp_path, " ".join(fields))
    workspace.run()
    row = only_row(workspace)
    assert (row["f:c"]["u"], row["file:cdx"]["surt"]) == ("http://www.example.org/a.pdf", "org,example)/a.pdf")


def test_file_says_the_packed_size_of_a_record_of_an_arc_file(tmp_path):
    block = b"HTTP/1.0 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + GOOD
    head = f"http://example.org/a.pdf 192.0.2.1 20040131120000 application/pdf {len(block)}\n".encode()
    note = b"filedesc://old.arc 0.0.0.0 20040131120000 text/plain 76\n1 0 Someone\nURL IP-address Archive-date Content-type Archive-length\n"
    first, second = gzip.compress(note.ljust(76 + 57) + b"\n"), gzip.compress(head + block + b"\n")
    line = f"org,example)/a.pdf 20040131120000 http://example.org/a.pdf application/pdf 200 {sha1(GOOD)} - - {{}} {len(first)} old.arc.gz"
    for number, size in enumerate((str(len(second)), "-")):
        root = tmp_path / str(number)
        (root / "warcs").mkdir(parents=True)
        (root / "warcs" / "old.arc.gz").write_bytes(first + second)
        workspace = indexed(root, line.format(size))
        workspace.source = f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs/old.arc.gz"]\n'
        workspace.run()
        place = only_row(workspace)["file:cdx"]
        assert (place["c_size"], place["offset"], place["warc"]) == (str(len(second)), str(len(first)), "old.arc.gz")
        assert "i" not in only_row(workspace)["f:c"]  # ARC records have no id; the id of our copy is ours alone


def test_patterns_choose_by_address_also_where_no_index_has_a_key(tmp_path):
    (tmp_path / "warcs" / "item-3").mkdir(parents=True)
    shelf = Shelf(tmp_path / "warcs" / "item-3" / "one.warc.gz")
    shelf.put("http://www.example.org/pubs/a.pdf", GOOD)
    shelf.put("http://www.example.org/shop/b.pdf", pdf("Not to be taken by the pattern"))
    workspace = Library(tmp_path, "", f'warc = ["{tmp_path}/warcs"]\npatterns = ["url-words"]\n')
    workspace.run()
    row = only_row(workspace)
    assert (row["file:cdx"]["url"], row["file:cdx"]["surt"]) == (
        "http://www.example.org/pubs/a.pdf",
        "org,example)/pubs/a.pdf",
    )
    assert row["file:cdx"]["warc"] == "item-3/one.warc.gz"


def test_f_names_the_id_of_the_first_record_also_where_no_index_is_and_where_an_earlier_version_wrote_the_row(tmp_path):
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    shelf.put("http://example.org/b.pdf", GOOD, at="2021-01-02T03:04:05Z")
    shelf.put("http://example.org/a.pdf", GOOD, at="2020-01-02T03:04:05Z")
    workspace = Library(tmp_path, "", f'warc = ["{tmp_path}/warcs"]\n')
    workspace.run()
    wanted = record_id("http://example.org/a.pdf", "2020-01-02T03:04:05Z")
    assert (only_row(workspace)["f:c"]["i"], only_row(workspace)["f:c"]["c"]) == (wanted, 2)
    where = ADAPTER._paper_settings(workspace.workspace())
    with closing(sqlite3.connect(where.register)) as book, book:  # as the version before this column noted it
        (text,) = book.execute("SELECT value FROM meta WHERE name = 'made'").fetchone()
        book.execute("UPDATE meta SET value = ? WHERE name = 'made'", (json.dumps(json.loads(text)[:5]),))
    (key,) = workspace.rows()
    with open_rows(where) as table:
        table.put([Put(key.encode(), {"f:c": b"{}"})])
    workspace.run()
    assert only_row(workspace)["f:c"]["i"] == wanted


@pytest.mark.parametrize("ident", ["", "<urn:\u00e9>", "<urn:\x7f>", f"<urn:{'x' * 300}>"])
def test_f_has_no_id_where_the_record_s_own_is_no_plain_one(tmp_path, ident):
    (tmp_path / "warcs").mkdir()
    Shelf(tmp_path / "warcs" / "one.warc.gz").put("http://example.org/a.pdf", GOOD, ident=ident)
    workspace = Library(tmp_path, "", f'warc = ["{tmp_path}/warcs"]\n')
    workspace.run()
    assert set(only_row(workspace)["f:c"]) == {"u", "d", "f", "o", "c"}


def test_why_names_the_rule_that_leaves_a_line_of_an_index_out(tmp_path):
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "shelf.warc.gz")
    shelf.put("http://www.example.org/taken.pdf", pdf("A paper that is taken"))
    shelf.put("http://example.org/page.html", b"<html>", mime="text/html")
    shelf.lines.append(shelf.lines[0].replace("taken", "other").replace(" 200 ", " 404 "))
    shelf.index(tmp_path / "shelf.cdx")
    library = Library(tmp_path, "", f'cdx = ["{tmp_path}/shelf.cdx"]\nwarc = ["{tmp_path}/warcs"]\n')
    library.run()
    assert "left out: its media type is not wanted (not_wanted)" in library.why("http://example.org/page.html")
    assert "status 200, text/html" in library.why("http://example.org/page.html#top")
    assert "status 404, application/pdf: left out: its status is not 200 (not_wanted)" in library.why(
        "http://www.example.org/other.pdf"
    )
    assert "left out" not in library.why("http://www.example.org/taken.pdf")
    assert library.why("http://example.org/none.pdf") == ""
    library.source += 'media_types = ["text/html"]\n'
    assert "wanted: the next run will take it" in library.why("http://example.org/page.html")
