"""Where a row says that its file lies: as the index spells it, and as the standard wants it, field by field."""

from __future__ import annotations

import gzip

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from windrow.collections.papers.columns import decoded

GOOD = pdf("A careful measure of the whole thing")


def only_row(made: Library) -> dict:
    (row,) = made.rows().values()
    return decoded(row)


def indexed(root, line: str) -> Library:
    (root / "one.cdx").write_text(f" CDX N b a m s k r M S V g\n{line}\n")
    return Library(root, "", f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs"]\n')


def test_f_and_file_say_address_key_and_item_as_the_index_line_spells_them(tmp_path):
    (tmp_path / "warcs").mkdir()
    fields = Shelf(tmp_path / "warcs" / "one.warc.gz").put("http://www.example.org/~Ann/A%20b.pdf", GOOD).split()
    fields[0], fields[2] = "org,example,www)/~Ann/A%20b.pdf", "HTTP://WWW.example.org:80/%7EAnn/A%20b.pdf"
    fields[10] = "ITEM-2020/one.warc.gz"
    made = indexed(tmp_path, " ".join(fields))
    made.run()
    row = only_row(made)
    assert row["file:cdx"] == {
        "surt": fields[0], "url": fields[2], "dt": "20200102030405", "warc": "ITEM-2020/one.warc.gz", "offset": "0",
        "c_size": fields[8]}  # fmt: skip
    assert row["f:c"] == {"u": fields[2], "d": "2020-01-02T03:04:05Z", "f": "one.warc.gz", "o": 0, "c": 1}


@pytest.mark.parametrize("lie", ["http://elsewhere.example/", "http://www.example.org/a\u2028b.pdf"])
def test_f_and_file_say_the_record_s_own_address_where_the_index_line_lies(tmp_path, lie):
    (tmp_path / "warcs").mkdir()
    fields = Shelf(tmp_path / "warcs" / "one.warc.gz").put("http://www.example.org/a.pdf", GOOD).split()
    fields[2] = lie
    made = indexed(tmp_path, " ".join(fields))
    made.run()
    row = only_row(made)
    assert (row["f:c"]["u"], row["file:cdx"]["surt"]) == ("http://www.example.org/a.pdf", "org,example)/a.pdf")


def test_file_says_the_packed_size_of_a_record_of_an_arc_file(tmp_path):
    block = b"HTTP/1.0 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + GOOD
    head = f"http://example.org/a.pdf 192.0.2.1 20040131120000 application/pdf {len(block)}\n".encode()
    note = b"filedesc://old.arc 0.0.0.0 20040131120000 text/plain 76\n1 0 Someone\nURL IP-address Archive-date Content-type Archive-length\n"
    first, second = gzip.compress(note.ljust(76 + 57) + b"\n"), gzip.compress(head + block + b"\n")
    line = f"org,example)/a.pdf 20040131120000 http://example.org/a.pdf application/pdf 200 {sha1(GOOD)} - - {{}} {len(first)} old.arc.gz"
    for number, said in enumerate((str(len(second)), "-")):
        root = tmp_path / str(number)
        (root / "warcs").mkdir(parents=True)
        (root / "warcs" / "old.arc.gz").write_bytes(first + second)
        made = indexed(root, line.format(said))
        made.source = f'cdx = ["{root}/one.cdx"]\nwarc = ["{root}/warcs/old.arc.gz"]\n'
        made.run()
        told = only_row(made)["file:cdx"]
        assert (told["c_size"], told["offset"], told["warc"]) == (str(len(second)), str(len(first)), "old.arc.gz")


def test_patterns_choose_by_address_also_where_no_index_has_a_key(tmp_path):
    (tmp_path / "warcs" / "item-3").mkdir(parents=True)
    shelf = Shelf(tmp_path / "warcs" / "item-3" / "one.warc.gz")
    shelf.put("http://www.example.org/pubs/a.pdf", GOOD)
    shelf.put("http://www.example.org/shop/b.pdf", pdf("Not to be taken by the pattern"))
    made = Library(tmp_path, "", f'warc = ["{tmp_path}/warcs"]\npatterns = ["url-words"]\n')
    made.run()
    row = only_row(made)
    assert (row["file:cdx"]["url"], row["file:cdx"]["surt"]) == (
        "http://www.example.org/pubs/a.pdf",
        "org,example)/pubs/a.pdf",
    )
    assert row["file:cdx"]["warc"] == "item-3/one.warc.gz"
