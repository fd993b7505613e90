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
    mark = small.mark()
    for _ in range(2):  # a refused run adds nothing to the ledger
        output = windrow("run", "one")
        assert output.code == 1
        assert "the stores of pages (up to" in output.err
    assert small.asked(mark) == []
    for path in [*restored.glob("summary.sqlite*"), *restored.glob("crawler.sqlite*")]:
        path.unlink() if path.is_file() else shutil.rmtree(path)
    assert windrow("run", "pages").code in {0, 3}
    assert windrow("run", str(later)).code in {0, 3}
    assert windrow("check").code == 0
