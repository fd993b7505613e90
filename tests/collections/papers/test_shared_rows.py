"""Rows in which windrow and other programs write: each keeps its cells, and what the table loses is written again."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.collections.papers.library import Shelf, pdf, sha1
from tests.collections.papers.test_existing import EARLIER, NEW, OLD, TEI, Grobid, Shop
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter.rows import bring_up_to_date
from windrow.collections.papers.columns import Put, WideTable
from windrow.collections.papers.database.wide import SqliteTable, open_table
from windrow.ledger import Ledger

LATER = {
    **{name: cell for name, cell in EARLIER.items() if name.startswith(("grobid0:", "match0:"))},
    "f:other": b"of a crawler",
    "file:other": b"of a tool",
}
"""What other programs write in a row that windrow made, with its extractor: none of these columns is windrow's."""


def key_of(content: bytes) -> bytes:
    return base64.b32decode(sha1(content))


@pytest.fixture(params=["sqlite", "hbase"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """Open a workspace with two papers; the table is emptied before and afterwards: all tests share one HBase."""
    table = request.getfixturevalue("hbase_gateway") if request.param == "hbase" else f"{tmp_path}/rows.db"
    new_shop = Shop(tmp_path / "library", table)
    with opened(new_shop) as rows:
        rows.delete([key_of(OLD)])
    yield new_shop
    with opened(new_shop) as rows:
        rows.delete([key for key, _ in rows.scan()])


@pytest.fixture
def grobid() -> Iterator[Grobid]:
    server = Grobid()
    yield server
    server.server.close()


def opened(shop: Shop) -> closing[WideTable]:
    return closing(open_table(*shop.place))


def write(shop: Shop, content: bytes, cells: dict[str, bytes]) -> None:
    with opened(shop) as rows:
        rows.put([Put(key_of(content), cells)])


def bring(shop: Shop) -> str:
    return bring_up_to_date(ADAPTER._paper_settings(shop.library.workspace()), lambda: True).message


def cells_in(shop: Shop, content: bytes, columns: dict[str, bytes]) -> dict[str, bytes | None]:
    row = shop.row(content)
    return {name: row.get(name) for name in columns}


def withdraw(shop: Shop) -> None:
    """Let no file be a paper any longer, without a takedown."""
    shop.library.source += 'media_types = ["text/html"]\n'
    shop.configure('tei_json = "later"')
    shop.replay()


def test_cells_that_others_write_later_stay_when_the_row_is_written_again_and_removed(
    shop: Shop, grobid: Grobid
) -> None:
    """They were deleted by the next write, and the whole row with a paper that is no longer one."""
    shop.library.run()
    own = shop.row(NEW)
    write(shop, NEW, LATER)
    shop.configure('catalogue = ["catalogue.json"]\ntei_json = "later"')
    shop.library.run()
    assert shop.row(NEW) == {**own, **LATER}
    shop.configure(f'grobid = "{grobid.server.url}"')
    shop.replay()
    shop.library.run()
    assert grobid.sent == [OLD], "another program extracted the other one"
    assert cells_in(shop, NEW, LATER) == LATER
    withdraw(shop)
    assert shop.rows() == {key_of(NEW): LATER}


def test_an_outcome_of_others_stays_after_windrows_own_was_cleared(shop: Shop, grobid: Grobid) -> None:
    shop.configure(f'grobid = "{grobid.server.url}"')
    shop.library.run()
    assert shop.row(NEW)["grobid0:tei_xml"] == TEI
    shop.configure()
    shop.replay()
    assert not any(name.startswith("grobid0:") for name in shop.row(NEW))
    write(shop, NEW, LATER)
    shop.replay()
    assert cells_in(shop, NEW, LATER) == LATER


def test_a_verdict_is_kept_up_to_date_beside_a_doi_of_others(shop: Shop) -> None:
    shop.configure('catalogue = ["catalogue.json"]')
    shop.library.run()
    assert (shop.row(NEW)["match0:mstatus"], shop.row(NEW).get("match0:doi")) == (b"different", None)
    write(shop, NEW, {"match0:doi": b"10.1000/theirs"})
    shop.configure('catalogue = ["catalogue.json"]\nforce_existing = true')
    shop.library.run()
    assert shop.row(NEW)["match0:mstatus"] == b"different"
    assert "match0:doi" not in shop.row(NEW), "replaced as that was asked for"
    write(shop, NEW, {"match0:doi": b"10.1000/theirs"})
    shop.configure('catalogue = ["catalogue.json"]')
    shop.library.run()
    row = shop.row(NEW)
    assert (row["match0:mstatus"], row["match0:doi"]) == (b"different", b"10.1000/theirs")


@pytest.mark.parametrize("cells", [{"grobid0:tei_xml": b"<TEI>theirs</TEI>"}, {"grobid0:other": b"x"}])
def test_a_row_without_small_cells_is_one_of_others(shop: Shop, grobid: Grobid, cells: dict[str, bytes]) -> None:
    """It counted as missing, so its cells were replaced, and were removed with the paper."""
    write(shop, OLD, cells)
    shop.configure(f'grobid = "{grobid.server.url}"')
    shop.library.run()
    assert sorted(grobid.sent) == sorted([OLD, NEW])
    row = shop.row()
    assert {"grobid0:status_code", "grobid0:tei_json", "file:meta"} < row.keys()
    assert cells_in(shop, OLD, cells) == cells
    assert shop.row(NEW)["grobid0:tei_xml"] == TEI
    shop.replay()
    assert shop.row() == row
    withdraw(shop)
    assert shop.rows() == {key_of(OLD): cells}


def test_rows_and_cells_that_the_table_lost_are_written_again_and_told(shop: Shop) -> None:
    """Of 12 rows, 11 could be missing: a run noticed it only if all were gone."""
    shelf = Shelf(shop.library.root / "warcs" / "more.warc.gz")
    papers = [pdf(f"The measure of thing {number}") for number in range(12)]
    for number, content in enumerate(papers):
        shelf.put(f"http://example.org/{number}.pdf", content)
    shelf.index(shop.library.root / "one.cdx")
    shop.library.run()
    rows = shop.rows()
    assert len(rows) == 12
    with opened(shop) as table:
        table.delete([key_of(paper) for paper in papers[1:]])
        table.put([Put(key_of(papers[0]), {}, ("file:mime", "file:meta"))])
    assert len(shop.rows()) == 1
    with closing(Ledger(shop.library.workspace().ledger)) as ledger:
        problems = [fault.problem for fault in ADAPTER.check(shop.library.workspace(), ledger)]
    altered = f"1 row with altered cells, such as that of sha1:{sha1(papers[0])}: file:mime, file:meta"
    assert problems == ["11 papers without a row", altered]
    lost = "the table had lost 12 rows of earlier runs, or cells of them, which are written again"
    assert bring(shop) == f"12 rows written, 0 removed; {lost}"
    assert shop.rows() == rows
    assert bring(shop) == "all rows are up to date"
    with opened(shop) as table:
        table.delete([key_of(papers[5]), key_of(papers[7])])
    shop.configure("looked_up_rows = 3")
    notices = [bring(shop) for _ in range(4)]
    assert any("the table had lost 2 rows of earlier runs" in notice for notice in notices)
    assert shop.rows() == rows
    assert bring(shop) == "all rows are up to date; 3 of 12 rows of earlier runs were looked up"


def test_a_removal_that_the_table_refuses_is_told_and_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path / "library", f"{tmp_path}/rows.db", {})
    shop.library.run()
    rows = shop.rows()
    put = SqliteTable.put

    def refuse(table: SqliteTable, puts: Any) -> dict[bytes, str]:
        puts = [*puts]
        put(table, [row for row in puts if row.key != key_of(NEW)])
        return {row.key: "not today" for row in puts if row.key == key_of(NEW)}

    with monkeypatch.context() as patch:
        patch.setattr(SqliteTable, "put", refuse)
        withdraw(shop)
    assert shop.rows() == {key_of(NEW): rows[key_of(NEW)]}
    assert bring(shop) == "0 rows written, 1 removed"
    assert shop.rows() == {}


def test_cells_that_a_table_refused_are_not_windrows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path / "library", f"{tmp_path}/rows.db", {})
    with monkeypatch.context() as patch:
        patch.setattr(SqliteTable, "put", lambda _table, puts: {row.key: "not today" for row in puts})
        shop.library.run()
    assert shop.rows() == {}
    write(shop, NEW, EARLIER)
    assert bring(shop) == "2 rows written, 0 removed"
    assert cells_in(shop, NEW, EARLIER) == EARLIER
