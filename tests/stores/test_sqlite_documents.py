"""Files of documents that are of another version of windrow, or of another program."""

import sqlite3
from contextlib import closing

import pytest

from tests.stores.test_documents import VIEWS, document
from windrow.errors import StoreError
from windrow.stores.documents import DocumentDatabase
from windrow.stores.sqlite_documents import SqliteDocuments


def test_sqlite_gives_up_the_tables_of_another_version_and_begins_at_checkpoint_0(tmp_path):
    declared = [DocumentDatabase("a", VIEWS, texts=("title",))]
    store = SqliteDocuments(tmp_path / "a.db", declared)
    store.write("a", [document(1)])
    store.set_checkpoint(5, 17)
    store._connection.execute("PRAGMA user_version = 1")
    store.close()
    store = SqliteDocuments(tmp_path / "a.db", declared)
    assert (store.checkpoints(), store.count("a")) == ((0, 0), 0)
    store.write("a", [document(1)])
    store.set_checkpoint(5, 17)
    store.close()
    store = SqliteDocuments(tmp_path / "a.db", declared)
    assert (store.checkpoints(), store.count("a")) == ((5, 5), 1)
    store.close()


def test_an_sqlite_file_of_another_program_is_refused_and_stays(tmp_path):
    path = tmp_path / "mine.sqlite"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, title TEXT)")
        other.execute("INSERT INTO a VALUES (1, 'own')")
    content = path.read_bytes()
    with pytest.raises(StoreError, match="it has other tables"):
        SqliteDocuments(path, [DocumentDatabase("a", VIEWS)])
    assert path.read_bytes() == content
