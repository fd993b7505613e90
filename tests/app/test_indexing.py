"""The index phase: only changed pages are written again, and the result equals an index made at once."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.collections.pages.place import Page, fill, schema
from tests.unwritable import unwritable
from windrow.collections.pages.adapter import search_index
from windrow.collections.pages.adapter.search import TEMPORARY_INDEX_NOTE, Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.database import fulltext_table
from windrow.collections.pages.database.fulltext_table import recount
from windrow.collections.pages.search.index_query import FIELDS, VERSION
from windrow.query.word import count_words
from windrow.stores.index.folder import remove_index
from windrow.stores.index.fulltext_index import FullTextIndex
from windrow.stores.index.manifest import IndexManifest, manifest_path

PAGES = [
    Page("https://a.example/1", "red", "One"),
    Page("https://a.example/2", "green", "Two", links=(("https://a.example/1", "first page"),)),
    Page("https://a.example/3", "blue", "Three"),
]


def urls(search: Search, text: str) -> list[str]:
    return [hit.url for hit in search(text, now=10_000).results]


def test_changes_are_followed(tmp_path: Path) -> None:
    path, folder = tmp_path / "summary.sqlite", tmp_path / "index"
    link = sqlite3.connect(path, isolation_level=None)
    link.executescript(schema())
    fill(link, PAGES)
    assert index_pages(path, folder)[1:] == (3, 0)
    assert index_pages(path, folder)[1:] == (0, 0)

    fill(link, [Page("https://a.example/4", "x", links=(("https://a.example/3", "harbour"),))])
    assert index_pages(path, folder)[1:] == (2, 0)  # the new page, and the page that it links to

    link.execute("UPDATE entity_generation SET last_seen_unix_utc = 9000")
    assert index_pages(path, folder)[1:] == (0, 0)
    link.execute("UPDATE entity_generation SET confirmed_end_unix_utc = 9000 WHERE entity_generation_id = 4")
    assert index_pages(path, folder)[1:] == (2, 0)  # its link text no longer counts for the other page

    search = Search(path, folder)
    assert urls(search, "harbour") == []
    assert urls(search, '"first page"') == ["https://a.example/1"]
    search.close()

    link.execute("DELETE FROM document_description WHERE entity_generation_id = 3")
    link.execute("DELETE FROM file_summary WHERE entity_generation_id = 3")
    link.execute("DELETE FROM entity_generation WHERE entity_generation_id = 3")
    assert index_pages(path, folder)[1:] == (0, 1)
    with IndexManifest(manifest_path(folder)) as manifest:
        after = manifest.read_entries([1, 2, 3, 4])
    shutil.rmtree(folder)
    assert index_pages(path, folder)[1:] == (3, 0)
    with IndexManifest(manifest_path(folder)) as manifest:
        assert manifest.read_entries([1, 2, 3, 4]) == after
    link.close()


def test_many_batches_are_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.sqlite"
    with closing(sqlite3.connect(path)) as link, link:
        link.executescript(schema())
        fill(link, [Page(f"https://a.example/{number}", f"red word{number}", f"Page {number}") for number in range(23)])
    link.close()
    index_pages(path, tmp_path / "one")
    monkeypatch.setattr(search_index, "PAGES_PER_BATCH", 3)
    monkeypatch.setattr(search_index, "BATCHES_PER_COMMIT", 2)
    assert index_pages(path, tmp_path / "many").written == 23
    answers = []
    for name in ("one", "many"):
        search = Search(path, tmp_path / name)
        answers.append({hit.url for hit in search("red", now=1, limit=50).results})
        search.close()
    assert answers[0] == answers[1]
    assert len(answers[0]) == 23


def make_database(folder: Path, pages: list[Page]) -> Path:
    """Make a Summary Database of some pages, and return its path."""
    path = folder / "summary.sqlite"
    with closing(sqlite3.connect(path)) as link, link:
        link.executescript(schema())
        fill(link, pages)
    link.close()
    return path


def test_an_index_of_another_version_or_none_is_made_anew_by_a_search(tmp_path: Path) -> None:
    path, folder = make_database(tmp_path, PAGES), tmp_path / "index"
    for _ in range(2):
        with closing(Search(path, folder)) as search:
            assert urls(search, "red") == ["https://a.example/1"]
            assert urls(search, '"first page"') == ["https://a.example/1"]
            assert search("red", now=1).notes == ()
        note = folder / "index.json"
        note.write_text(note.read_text().replace('"version": "', '"version": "older-'))
    assert "older-" in note.read_text()
    assert index_pages(path, folder).written == 3
    assert "older-" not in note.read_text()


@pytest.mark.parametrize("damage", ["meta.json", "*.term", "*.pos", "other bytes", "entries.sqlite", "no manifest"])
def test_a_torn_index_is_made_anew_by_a_search_and_by_a_run(tmp_path: Path, damage: str) -> None:
    path, folder = make_database(tmp_path, PAGES), tmp_path / "index"

    def tear() -> None:
        if damage == "entries.sqlite":
            (folder / damage).write_bytes(b"this is no database, but long enough to be taken for one" * 20)
        elif damage == "no manifest":
            (folder / "entries.sqlite").unlink()
        elif damage == "other bytes":
            for file in (folder / "text").glob("*.pos"):
                file.write_bytes(b"\x55" * 60 + file.read_bytes()[60:])
        else:
            for file in (folder / "text").glob(damage):
                file.unlink()

    index_pages(path, folder)
    tear()
    with closing(Search(path, folder)) as search:
        assert urls(search, '"first page"') == ["https://a.example/1"]
        assert len(search("a.example", now=1).results) == 3
    assert list(search_index.find_index_faults(path, folder)) == []
    tear()
    index_pages(path, folder)
    with closing(Search(path, folder)) as search:
        assert urls(search, '"first page"') == ["https://a.example/1"]
    assert list(search_index.find_index_faults(path, folder)) == []


def test_a_lock_file_that_tantivy_writes_at_that_moment_does_not_prevent_a_new_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of an index that was opened just before may write one; under load, it did so within `rmdir`."""
    path, folder = make_database(tmp_path, PAGES), tmp_path / "index"
    index_pages(path, folder)
    (folder / "entries.sqlite").write_bytes(b"this is no database, but long enough to be taken for one" * 20)
    rmdir = Path.rmdir

    def write_lock_and_remove(removed: Path) -> None:
        if removed.name == "text":
            (removed / ".tantivy-meta.lock").touch()
        rmdir(removed)

    monkeypatch.setattr(Path, "rmdir", write_lock_and_remove)
    with closing(Search(path, folder)) as search:
        assert search("red", now=1).notes == ()
    assert list(search_index.find_index_faults(path, folder)) == []
    remove_index(folder)
    assert index_pages(path, folder).written == 3


UNWRITABLE = """
import sys
from contextlib import closing
from pathlib import Path
from tests.unwritable import become_ordinary
from windrow.collections.pages.adapter.search import Search

become_ordinary()
with closing(Search(Path(sys.argv[1]), Path(sys.argv[2]))) as search:
    answer = search(sys.argv[3], now=1)
    print(*(result.url for result in answer.results))
    print(*answer.notes, sep="\\n")
"""


@pytest.mark.parametrize("index_state", ["whole", "gone", "torn"])
def test_pages_in_a_place_that_cannot_be_written_are_searched(tmp_path: Path, index_state: str) -> None:
    path, folder = make_database(tmp_path, PAGES), tmp_path / "index"
    index_pages(path, folder)
    if index_state == "gone":
        shutil.rmtree(folder)
    if index_state == "torn":
        next((folder / "text").glob("*.idx")).write_bytes(b"")
    before = {str(file): file.stat() for file in tmp_path.rglob("*")}
    with unwritable(tmp_path):
        process = programs.run("-c", UNWRITABLE, path, folder, '"first page" links-to:a.example OR red')
    assert process.returncode == 0, process.stderr
    lines, *notes = process.stdout.splitlines()
    assert lines == "https://a.example/1"
    assert notes == ([""] if index_state == "whole" else [TEMPORARY_INDEX_NOTE])
    assert {str(file) for file in tmp_path.rglob("*")} == set(before)


KILLED = """
import os, signal, sys
from pathlib import Path
from windrow.collections.pages.adapter import search_index
from windrow.collections.pages.database import fulltext_table
fulltext_table.PILES_PER_TRANSACTION, search_index.PAGES_PER_BATCH, search_index.BATCHES_PER_COMMIT, left = 4, 3, 2, int(sys.argv[3])
def pulse():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return True
print(search_index.make_index_phase(Path(sys.argv[1]), Path(sys.argv[2]))(pulse))
"""


def test_after_a_kill_at_any_batch_the_next_run_mends_it(tmp_path: Path) -> None:
    path, folder = tmp_path / "summary.sqlite", tmp_path / "index"
    pages = [
        Page(
            f"https://a.example/{number}", f"red word{number}", f"Page {number}", links=(("https://a.example/0", "x"),)
        )
        for number in range(20)
    ]
    with closing(sqlite3.connect(path)) as link, link:
        link.executescript(schema())
        fill(link, pages)
    link.close()
    whole = tmp_path / "whole.sqlite"
    shutil.copyfile(path, whole)
    killed = 0
    for number in range(40):
        process = programs.run("-c", KILLED, path, folder, number % 6)
        killed += process.returncode == -signal.SIGKILL
        if process.returncode == 0 and "0 added" in process.stdout and " 0 put" in process.stdout:
            break
    assert killed > 3
    search_index.make_index_phase(whole, tmp_path / "other")(lambda: True)
    assert contents(path) == contents(whole)
    with IndexManifest(manifest_path(folder)) as manifest, IndexManifest(manifest_path(tmp_path / "other")) as copied:
        assert list(manifest.stamps()) == list(copied.stamps())
        assert len(list(manifest.stamps())) == 20
    assert len(FullTextIndex(folder, FIELDS, VERSION)) == 20
    assert recount(path, count_words) == []
    search = Search(path, folder)
    assert len(search("red", now=1, limit=50).results) == 20
    search.close()


def contents(path: Path) -> list[list[tuple]]:
    tables = ("full_text_entity_index", "token", "token_statistics JOIN token USING (token_id)")
    columns = ("rowid, *", "token_text", "token_text, text_pile_id, occurances")
    with closing(sqlite3.connect(path)) as link, link:
        rows = [
            sorted(link.execute(f"SELECT {names} FROM {table}").fetchall(), key=repr)
            for names, table in zip(columns, tables, strict=True)
        ]
    link.close()
    return rows


def test_work_stops_where_the_pulse_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = tmp_path / "summary.sqlite", tmp_path / "index"
    with closing(sqlite3.connect(path)) as link, link:
        link.executescript(schema())
        fill(link, PAGES)
    link.close()
    monkeypatch.setattr(fulltext_table, "PILES_PER_TRANSACTION", 1)
    beats = iter([True, False, False])
    assert search_index.make_index_phase(path, folder)(lambda: next(beats)).startswith("texts: 1 added")
    assert search_index.make_index_phase(path, folder)(lambda: True) == (
        "texts: 2 added, 0 changed, 0 removed; pages: 3 written to the index, 0 removed"
    )
    assert search_index.make_index_phase(tmp_path / "none.sqlite", folder)(lambda: True) == ""
