"""Stores that belong to another ledger, were lost, or pretend to be further than the ledger: no run says "all well"."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.clock import pass_time, real_clock  # noqa: F401
from tests.collections.events.place import Site, calendar, configured, event, events, run, serving
from tests.collections.news.press import Press
from tests.collections.news.workspace import configured as configured_news
from tests.collections.papers.library import Library, Shelf, pdf
from tests.crash.workspace import finish_run, make_workspace, read_tables
from tests.servers.couch import Couch, serving_couch
from tests.sessions import session_settings
from windrow.app import Windrow
from windrow.collections.events.adapter import ADAPTER
from windrow.collections.events.adapter.databases import location_of, open_databases
from windrow.collections.pages.adapter.crawler_projection import CrawlerProjection
from windrow.collections.pages.database.writer import read_mark
from windrow.config import Workspace
from windrow.demo.partner import drop
from windrow.engine.progress import Progress
from windrow.errors import ConfigError, StoreError
from windrow.ledger import Ledger

PLACES = [event(f"{number}@x", f":2027011{number}T150000Z") for number in range(3)]
CHECKPOINT = "_local/windrow"


def set_checkpoint(couch: Couch, database: str, checkpoint: object) -> None:
    couch.databases[database][CHECKPOINT]["checkpoint"] = checkpoint


def change_checkpoints(couch: Couch, checkpoint: object) -> None:
    """Have the server answer with this checkpoint, whatever is written."""
    couch.change = lambda method, path, answer: (
        (200, {"_id": CHECKPOINT, "_rev": "1-a", "checkpoint": checkpoint})
        if method == "GET" and CHECKPOINT in path else answer
    )  # fmt: skip


def faults(workspace: Workspace) -> list[str]:
    with closing(Ledger(workspace.ledger)) as ledger:
        return [fault.problem for fault in ADAPTER.check(workspace, ledger)]


@pytest.mark.parametrize("checkpoint", [999_999, 2**63, 2**70, -3, "7", 1.5, True])
def test_a_couchdb_that_pretends_to_have_all_documents_is_refused(tmp_path: Path, checkpoint: object) -> None:
    with serving_couch() as couch, serving() as site:
        change_checkpoints(couch, checkpoint)
        site.put("/a.ics", calendar(*PLACES))
        workspace = configured(tmp_path, f"{site.url}/a.ics", f'documents = "{couch.url}"\n')
        with pytest.raises(StoreError, match=r"other records: they go up to|not from CouchDB"):
            run(workspace)
        with closing(sqlite3.connect(workspace.ledger)) as ledger:
            assert ledger.execute("SELECT count(*) FROM task_end WHERE failed").fetchone()[0] >= 1
        couch.change = lambda _method, _path, answer: answer
        run(workspace)
        assert [couch.count(name) for name in ("vd_events", "vd_log")] == [3, 1]


@pytest.mark.parametrize("database", ["vd_events", "vd_log"])
def test_one_database_of_another_workspace_is_refused_and_replay_fills_it(tmp_path: Path, database: str) -> None:
    with serving_couch() as couch, serving() as site:
        site.put("/a.ics", calendar(*PLACES))
        workspace = configured(tmp_path, f"{site.url}/a.ics", f'documents = "{couch.url}"\n')
        run(workspace)
        wanted = {
            name: {key: dict(document) for key, document in couch.databases[name].items()} for name in couch.databases
        }
        for key in [key for key in couch.databases[database] if not key.startswith("_")]:
            del couch.databases[database][key]
        set_checkpoint(couch, database, 10_000)
        with pytest.raises(StoreError, match="they go up to attempt 10000, but the records only up to") as caught:
            run(workspace)
        assert "windrow replay events" in caught.value.hint
        assert any("they go up to attempt 10000" in problem for problem in faults(workspace))
        ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
        assert faults(workspace) == []
        for name, documents in wanted.items():
            assert {*couch.databases[name]} == {*documents}


def test_documents_in_sqlite_that_are_ahead_are_refused(tmp_path: Path) -> None:
    with serving() as site:
        site.put("/a.ics", calendar(*PLACES[:2]))
        workspace = configured(tmp_path, f"{site.url}/a.ics")
        run(workspace)
        path = next(path for path in tmp_path.rglob("*") if is_table_of(path, "windrow_meta"))
        with closing(sqlite3.connect(path)) as store, store:
            store.execute("UPDATE windrow_meta SET value = 5000")
        site.put("/a.ics", calendar(*PLACES))
        pass_time(1.05)
        with pytest.raises(StoreError, match="they go up to attempt 5000"):
            run(workspace)
        assert len(events(workspace)) == 2


def run_theirs(folder: Path, site: Site) -> Workspace:
    """Serve a calendar for each of two workspaces; make and run the one of the others."""
    site.put("/a.ics", calendar(PLACES[0]))
    site.put("/b.ics", calendar(*PLACES[1:]))
    (folder / "theirs").mkdir()
    theirs = configured(folder / "theirs", f"{site.url}/a.ics")
    run(theirs)
    return theirs


def test_documents_of_another_workspace_are_not_taken_for_ones_own_and_stay(tmp_path: Path) -> None:
    """Both had as many attempts, so nothing was written, and the run said that all is well."""
    with serving() as site:
        theirs = run_theirs(tmp_path, site)
        documents = f'documents = "{theirs.root / location_of(theirs)}"\n'
        (tmp_path / "own").mkdir()
        own = configured(tmp_path / "own", f"{site.url}/b.ics", documents)
        with pytest.raises(StoreError, match="the file of the records is another one"):
            run(own)
        assert "made from other records" in ADAPTER.clean_stores(own, lambda: None)[-1]
        assert len(events(theirs)) == 1
        with ADAPTER._store(theirs) as records, open_databases(theirs) as databases:
            assert databases.store.identities() == {records.identity()}
            databases.store._connection.execute("DELETE FROM windrow_meta")  # as an earlier windrow left it
            databases.store._connection.commit()
        run(theirs)
        assert faults(theirs) == []


def is_table_of(path: Path, table: str) -> bool:
    if not path.is_file() or not path.read_bytes()[:16].startswith(b"SQLite format 3"):
        return False
    with closing(sqlite3.connect(path)) as store:
        return store.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def test_a_store_of_another_workspace_is_refused_and_unchanged(tmp_path: Path) -> None:
    ours, theirs = (make_workspace(tmp_path / name, zips=1, documents=1) for name in ("ours", "theirs"))
    for root in (ours, theirs):
        finish_run(root)
    settings = (ours / "windrow.toml").read_text()
    store = f'[drops]\nstore = "sqlite:///{theirs}/drops.sqlite"\n'
    (ours / "windrow.toml").write_text(settings + store)
    before = read_tables(theirs)
    for command in (Windrow(ours).run, Windrow(ours).replay):
        with pytest.raises(ConfigError, match=r"stores are of another workspace: drops.store; nothing was touched"):
            command()
    (ours / "ledger.sqlite").rename(ours / "kept")
    (ours / "archive").rename(ours / "kept archive")
    with pytest.raises(ConfigError, match="stores are of another workspace"):
        Windrow(ours).replay()
    shutil.rmtree(ours / "archive")
    (ours / "kept archive").rename(ours / "archive")
    (ours / "kept").rename(ours / "ledger.sqlite")
    assert read_tables(theirs) == before
    assert [fault.problem for fault in Windrow(ours).check().faults] == [
        "these stores are of another workspace: drops.store"
    ]
    assert "stores are of another workspace: drops.store" in Windrow(ours).status().problems[0]
    (ours / "windrow.toml").write_text(settings + f'[drops]\ntracker = "sqlite:///{theirs}/tracker.sqlite"\n')
    with pytest.raises(ConfigError, match=r"stores are of another workspace: drops\.tracker"):
        Windrow(ours).run()
    assert [fault.problem for fault in Windrow(ours).check().faults] == [
        "these stores are of another workspace: drops.tracker"
    ]
    assert read_tables(theirs) == before
    assert Windrow(theirs).check().faults == []


def test_records_of_another_workspace_are_refused_although_they_are_not_ahead(tmp_path: Path) -> None:
    with serving() as site:
        theirs = run_theirs(tmp_path, site)
        (tmp_path / "own").mkdir()
        own = configured(tmp_path / "own", f"{site.url}/b.ics", f'store = "{theirs.root / "events.db"}"\n')
        asked = len(site.asked)
        for command in (Windrow(own.root).run, Windrow(own.root).replay):
            with pytest.raises(ConfigError, match=r"stores are of another workspace: events.db"):
                command()
        assert len(site.asked) == asked
        with pytest.raises(StoreError, match="a store is of another workspace"):
            run(own)  # as after a server that was away when the stores were compared
        run(theirs)
        assert faults(theirs) == []
        assert len(events(theirs)) == 1


def test_a_tracker_without_its_checkpoint_or_the_last_session_is_told(tmp_path: Path) -> None:
    root = make_workspace(tmp_path / "w", zips=1, documents=1)
    finish_run(root)
    before = read_tables(root)
    with closing(sqlite3.connect(root / "tracker.sqlite")) as tracker, tracker:
        for table in ("windrow_link", "windrow_checkpoint"):  # on a server, they are in another database
            tracker.execute(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}")
            tracker.execute(f"DELETE FROM {table}")
    with pytest.raises(StoreError, match="the tracker has rows of this workspace, but no checkpoint") as caught:
        Windrow(root).run()
    assert "delete all their rows" in caught.value.hint
    assert read_tables(root)["zip_action"] == before["zip_action"]
    with closing(sqlite3.connect(root / "tracker.sqlite")) as tracker, tracker:
        for table in ("windrow_link", "windrow_checkpoint"):
            tracker.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")
        tracker.execute("DELETE FROM crawling_session WHERE id = (SELECT max(id) FROM crawling_session)")
    with pytest.raises(StoreError, match="the tracker is an older copy: it lacks the last session") as caught:
        Windrow(root).run()
    assert "delete all their rows" in caught.value.hint
    (root / "tracker.sqlite").unlink()
    finish_run(root)
    assert read_tables(root)["zip_action"] == before["zip_action"]


def test_a_tracker_of_another_ledger_is_refused(tmp_path: Path) -> None:
    root = make_workspace(tmp_path / "w", zips=1, documents=1)
    finish_run(root)
    path = next(path for path in root.rglob("*") if is_table_of(path, "windrow_checkpoint"))
    with closing(sqlite3.connect(path)) as tracker, tracker:
        assert tracker.execute("UPDATE windrow_checkpoint SET seq = seq + 1000000").rowcount
    with pytest.raises(ConfigError, match=r"stores are of another workspace: drops\.tracker"):
        Windrow(root).run()


@pytest.mark.parametrize("key", ["windrow.attempt", "windrow.described"])
def test_a_crawler_database_is_as_far_as_it_was_written_or_described(tmp_path: Path, key: str) -> None:
    path = tmp_path / "crawler.sqlite"
    CrawlerProjection(path).close()
    assert read_mark(path).last_fact == 0
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT OR REPLACE INTO unobtanium_database_info VALUES (?, '70')", (key,))
    assert read_mark(path).last_fact == 70


def put_back(backup: Path, root: Path, *names: str) -> None:
    """Restore files and folders from a backup of a workspace; those in it with other names stay as they are."""
    for name in names:
        for path in root.glob(f"{name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in backup.glob(f"{name}*"):
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, root / path.name)


@pytest.mark.parametrize("later_store", ["drops", "tracker"])
def test_a_store_of_drops_that_was_not_restored_is_named_before_anything_is_fetched(
    tmp_path: Path, later_store: str
) -> None:
    root = make_workspace(tmp_path / "w", zips=1, documents=1)
    finish_run(root)
    shutil.copytree(root, tmp_path / "backup")
    name, content = drop("H", "2026-01-14", 2, 1)
    (root / "drop/H/add" / name).write_bytes(content)
    finish_run(root)
    others = {"ledger.sqlite", "archive", "drops.sqlite", "tracker.sqlite"} - {f"{later_store}.sqlite"}
    put_back(tmp_path / "backup", root, *others)
    before = read_tables(root)
    setting = "drops.store" if later_store == "drops" else "drops.tracker"
    for command in (Windrow(root).run, Windrow(root).replay):
        with pytest.raises(ConfigError, match=rf"these stores have later facts: {setting} \(up to"):
            command()
    assert any(f"later facts: {setting} (up to" in fault.problem for fault in Windrow(root).check().faults)
    assert any(f"later facts: {setting} (up to" in problem for problem in Windrow(root).status().problems)
    assert read_tables(root) == before
    put_back(tmp_path / "backup", root, f"{later_store}.sqlite")
    finish_run(root)
    assert Windrow(root).check().faults == []


def test_documents_that_were_not_restored_with_their_records_are_named(tmp_path: Path) -> None:
    with serving() as site:
        site.put("/a.ics", calendar(*PLACES[:2]))
        (tmp_path / "w").mkdir()
        workspace = configured(tmp_path / "w", f"{site.url}/a.ics", every="1s")
        run(workspace)
        shutil.copytree(workspace.root, tmp_path / "backup")
        site.put("/a.ics", calendar(*PLACES))
        pass_time(1.05)
        run(workspace)
        assert len(events(workspace)) == 3
        put_back(tmp_path / "backup", workspace.root, "ledger.sqlite", "archive", "events.db")
        with pytest.raises(ConfigError, match=rf"these stores have later facts: {location_of(workspace)} \(up to"):
            Windrow(workspace.root).run()


def test_a_tree_of_articles_that_was_not_restored_with_its_records_is_named(tmp_path: Path) -> None:
    press = Press(posts=3)
    try:
        workspace = configured_news(tmp_path / "w", {"press": {"url": press.url, "kind": "wordpress", "overlap": "0s"}})
        root = workspace.root
        Windrow(root).run()
        shutil.copytree(root, tmp_path / "backup")
        press.post(4)
        Windrow(root).run(again=True)
        put_back(tmp_path / "backup", root, "ledger.sqlite", "archive", "news.db")
        with pytest.raises(ConfigError, match=r"these stores have later facts: normalized_news \(up to"):
            Windrow(root).run()
        mark = root / "normalized_news/_windrow_generation"
        mark.write_text(mark.read_text().partition(" ")[0])  # as an earlier windrow wrote it
        Windrow(root).run(again=True)
        assert Windrow(root).check().faults == []
    finally:
        press.close()


@pytest.mark.parametrize("later", ["papers.rows.db", "papers.table.db"])
def test_rows_of_papers_that_were_not_restored_with_their_records_are_named(tmp_path: Path, later: str) -> None:
    root, shelf = tmp_path / "w", Shelf(tmp_path / "one.warc.gz")
    root.mkdir()
    library = Library(root, source=f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}"]\n')
    for number in range(2):
        shelf.put(f"http://example.org/{number}.pdf", pdf(f"The measure of thing {number}"))
        shelf.index(tmp_path / "one.cdx")
        library.run()
        if not number:
            shutil.copytree(root, tmp_path / "backup")
    others = {"papers.db", "papers.rows.db", "papers.table.db"} - {later}
    put_back(tmp_path / "backup", root, "ledger.sqlite", "archive", *others)
    with pytest.raises(ConfigError, match=rf"these stores have later facts: {later} \(up to"):
        Windrow(root).run()


@pytest.mark.parametrize("loss", ["removed", "emptied", "of another"])
def test_rows_of_papers_that_the_table_lost_are_written_again(tmp_path: Path, loss: str) -> None:
    shelf = Shelf(tmp_path / "one.warc.gz")
    for number in range(3):
        shelf.put(f"http://example.org/{number}.pdf", pdf(f"The measure of thing {number}"))
    shelf.index(tmp_path / "one.cdx")
    library = Library(tmp_path, source=f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}"]\n')
    library.run()
    rows = library.rows()
    assert len(rows) == 3
    path = next(path for path in tmp_path.rglob("*") if is_table_of(path, "cell"))
    if loss == "removed":
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
    else:
        with closing(sqlite3.connect(path)) as table, table:
            table.execute("DELETE FROM cell")
            table.execute("DELETE FROM key")
            if loss == "of another":
                table.execute("INSERT INTO key VALUES (1, x'00')")
                table.execute("INSERT INTO cell VALUES (1, 'f:c', 0, x'7b7d')")
    session = library.run()
    assert {key: cells for key, cells in library.rows().items() if key != "\0"} == rows
    lost = "the table had lost 3 rows of earlier runs, or cells of them, which are written again"
    older = "the table of rows had been replaced by an older copy, so all are written again"
    message = f"3 rows written, 0 removed; {older if loss == 'removed' else lost}"
    assert message in comments(library.workspace(), session.number)
    session = library.run()
    assert "all rows are up to date" in comments(library.workspace(), session.number)


def comments(workspace: Workspace, session: int) -> str:
    """Return the comments of a session's tasks."""
    with closing(sqlite3.connect(workspace.ledger)) as ledger:
        rows: list[tuple[Any]] = ledger.execute("SELECT comment FROM task_end WHERE seq > ?", (session,)).fetchall()
    return "\n".join(str(comment) for (comment,) in rows)
