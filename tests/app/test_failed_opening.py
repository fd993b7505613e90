"""A database that cannot be prepared is closed again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

import windrow
from tests.crash.workspace import make_workspace, open_files
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.news.adapter.tree_index import TreeIndex
from windrow.collections.pages.adapter.crawler_projection import CrawlerProjection
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.database.store import PaperStore, RowRegister
from windrow.collections.papers.database.wide import SqliteTable
from windrow.contract.registry import adapter
from windrow.errors import StoreDamaged, WindrowError
from windrow.ledger import Ledger
from windrow.stores.documented_records import DocumentedRecords
from windrow.stores.index.manifest import IndexManifest
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import open_database
from windrow.stores.sqlite_documents import SqliteDocuments

BOOKS = sa.MetaData()
sa.Table("book", BOOKS, sa.Column("id", sa.Integer, primary_key=True))

OPENERS: dict[str, Callable[[Path], object]] = {
    "any": open_database,
    "catalogue": lambda path: CatalogueIndex(path, stubs=frozenset()),
    "crawler": CrawlerProjection,
    "documents": lambda path: SqliteDocuments(path, []),
    "late attempts": LateAttemptStore,
    "documented records": DocumentedRecords,
    "ledger": Ledger,
    "manifest": IndexManifest,
    "papers": PaperStore,
    "projection": lambda path: ProjectionTables(f"sqlite:///{path}", BOOKS, "books"),
    "records": RecordStore,
    "rows": RowRegister,
    "summary": SummaryStore,
    "trees": TreeIndex,
    "wide": lambda path: SqliteTable(path, "papers", ()),
}


@pytest.mark.parametrize("name", OPENERS)
def test_a_file_that_is_no_database_is_closed_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.sqlite"
    path.write_text("this is no database, but long enough to be taken for one" * 20)
    with pytest.raises((WindrowError, sqlite3.DatabaseError)) as caught:
        OPENERS[name](path)
    assert open_files(tmp_path) == [], caught.value


@pytest.mark.parametrize(
    "name", ["catalogue", "documents", "late attempts", "papers", "records", "rows", "trees", "wide"]
)
def test_a_store_that_is_no_database_is_named_as_a_damaged_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.sqlite"
    path.write_text("this is no database, but long enough to be taken for one" * 20)
    with pytest.raises(StoreDamaged, match=str(path)):
        OPENERS[name](path)


LAST_TABLES = {
    "crawler": "crawl_candidate",
    "late attempts": "late_statement",
    "papers": "asked",
    "projection": "book",
    "summary": "windrow_near_duplicate",
}
"""The last table that each store makes: an index of this name makes it fail."""


@pytest.mark.parametrize("name", LAST_TABLES)
def test_a_store_whose_tables_cannot_be_made_is_closed_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as link:
        link.execute("CREATE TABLE other (key)")
        link.execute(f"CREATE INDEX {LAST_TABLES[name]} ON other (key)")
    with pytest.raises((WindrowError, sqlite3.DatabaseError)) as caught:
        OPENERS[name](path)
    assert open_files(tmp_path) == [], caught.value


@pytest.mark.parametrize(
    ("collection", "damaged"), [("drops", "drops"), ("drops", "tracker"), ("pages", "crawler"), ("pages", "summary")]
)
def test_a_harvest_that_cannot_be_made_leaves_no_store_open(tmp_path: Path, collection: str, damaged: str) -> None:
    root = make_workspace(tmp_path / "w", zips=1, documents=1)
    (root / f"{damaged}.sqlite").write_text("this is no database, but long enough to be taken for one" * 20)
    with pytest.raises(WindrowError) as caught:
        adapter(collection).harvest(windrow.open(root).config)
    assert open_files(root) == [], caught.value
