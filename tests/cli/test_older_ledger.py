"""An older copy of the ledger is restored: no run uses its numbers twice, cuts or removes what later sessions kept."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from windrow.engine.older_ledger import SESSION_MARK


def copy_ledger(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)


def archived(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / "archive").glob("[!.]*") if path.is_file()}


@pytest.fixture
def restored(crawled, windrow) -> Path:
    """A workspace whose ledger is the copy from before its last run."""
    copy_ledger(crawled / "ledger.sqlite", crawled / "copy")
    assert windrow("run", "pages", "--again").code in {0, 3}
    for path in crawled.glob("ledger.sqlite*"):
        path.unlink()
    (crawled / "copy").rename(crawled / "ledger.sqlite")
    return crawled


def test_a_run_with_an_older_copy_of_the_ledger_requests_and_removes_nothing(restored, small, windrow) -> None:
    kept, mark = archived(restored), small.mark()
    later = max(name for name in kept if ".warc" in name)
    for arguments in (["run", "one"], ["run", "pages"], ["replay"]):
        output = windrow(*arguments)
        assert output.code == 4
        for words in ("the ledger is an older copy", later, "nothing was touched", "Restore a ledger"):
            assert words in output.err
    assert small.asked(mark) == []
    assert archived(restored) == kept
    assert "the ledger is an older copy" in windrow("status").out
    assert "the ledger is an older copy" in windrow("check").out


def test_an_older_copy_is_known_by_the_last_session_alone(restored, windrow) -> None:
    for name in archived(restored):
        (restored / "archive" / name).rename(restored / name)
    output = windrow("run", "pages")
    assert output.code == 4
    assert "its last session was" in output.err


def assert_stores_are_named(windrow, small) -> None:
    mark = small.mark()
    for command in ("run one", "run pages", "replay", "retry --source one", "forget --yes --reason asked one"):
        output = windrow(*command.split())  # a refused command adds nothing to the ledger
        assert output.code == 4, command
        for store in ("summary.sqlite (up to", "crawler.sqlite (up to"):
            assert store in output.err
    assert small.asked(mark) == []
    for command in ("status", "check"):
        assert "these stores have later facts: summary.sqlite (up to" in windrow(command).out


@pytest.mark.parametrize("store", ["summary.sqlite", "crawler.sqlite"])
def test_the_databases_of_pages_of_another_workspace_are_refused(crawled, small, windrow, store: str) -> None:
    with closing(sqlite3.connect(crawled / store)) as database, database:
        changed = database.execute("UPDATE unobtanium_database_info SET value = '5' WHERE key = 'windrow.ledger'")
        assert changed.rowcount == 1
    mark = small.mark()
    output = windrow("run", "pages")
    assert output.code == 4
    assert f"these stores are of another workspace: {store}; nothing was touched" in output.err
    assert "name stores of this workspace's own" in output.err
    assert small.asked(mark) == []


def test_stores_that_are_later_than_a_restored_ledger_and_archive_are_named(crawled, small, windrow) -> None:
    """Both are from one backup, so they agree. The run would use the numbers of the later attempts again."""
    copy_ledger(crawled / "ledger.sqlite", crawled / "copy")
    shutil.copytree(crawled / "archive", crawled / "archive of the copy")
    assert windrow("run", "pages", "--again").code in {0, 3}
    for path in crawled.glob("ledger.sqlite*"):
        path.unlink()
    (crawled / "copy").rename(crawled / "ledger.sqlite")
    shutil.rmtree(crawled / "archive")
    (crawled / "archive of the copy").rename(crawled / "archive")
    assert_stores_are_named(windrow, small)


def test_after_a_restore_all_later_stores_are_named_and_then_the_captures_are_taken_back(
    restored, small, windrow
) -> None:
    """The steps of the manual: later files are moved away, stores are compared and rebuilt, captures are imported."""
    archive, later = restored / "archive", restored / "later"
    with closing(sqlite3.connect(restored / "ledger.sqlite")) as ledger:
        known = {number for (number,) in ledger.execute("SELECT seq FROM session")}
    later.mkdir()
    for name in archived(restored):
        if int(name[8:14]) not in known:
            (archive / name).rename(later / name)
    (archive / SESSION_MARK).unlink()
    assert_stores_are_named(windrow, small)
    for path in [*restored.glob("summary.sqlite*"), *restored.glob("crawler.sqlite*")]:
        path.unlink() if path.is_file() else shutil.rmtree(path)
    assert windrow("run", "pages").code in {0, 3}
    assert windrow("run", str(later)).code in {0, 3}
    assert windrow("check").code == 0
