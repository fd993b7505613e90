"""A workspace that cannot be written: its reading commands answer as before, and no message is about a lost ledger."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests import programs
from tests.unwritable import unwritable
from windrow.collections.events.adapter.databases import EVENT_VIEWS
from windrow.collections.papers.columns import Family
from windrow.collections.papers.database.wide import SqliteTable
from windrow.errors import DiskFull, StoreError
from windrow.ledger.database import schema
from windrow.stores.documents import DocumentDatabase
from windrow.stores.records import RecordStore
from windrow.stores.sqlite_documents import SqliteDocuments

SHARED_MEMORY_SIZE = 32_768
"""The size in bytes of the file that SQLite makes beside a database in order to write it, and to read its log."""

AS_STRANGER = """
import resource, sys
from tests.unwritable import become_ordinary
from windrow.cli import main
if sys.argv[1] == "full":
    limit = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
else:
    become_ordinary()
sys.argv = ["windrow", *sys.argv[3:]]
main()
"""
READING = [
    ["status"],
    ["why", "1"],
    ["check"],
    ["export", "captures", "--as", "cdxj"],
    ["changes"],
    ["changes", "--since", "2020-01-01"],
    ["run", "--dry-run"],
]


@contextmanager
def without_room(folder: Path, state: str) -> Iterator[None]:
    """Make a folder read-only for the block, unless `state` is "full": then the program limits itself."""
    if state == "full":
        yield
        return
    with unwritable(folder):
        yield


def run_command(state: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return programs.run("-c", AS_STRANGER, state, str(SHARED_MEMORY_SIZE - 1), *words, cwd=folder)


@pytest.mark.parametrize("state", ["read-only", "full"])
@pytest.mark.parametrize("collection", ["pages", "drops"])
def test_reading_commands_answer_as_before(
    request: pytest.FixtureRequest, windrow, tmp_path: Path, collection: str, state: str
) -> None:
    root = request.getfixturevalue({"pages": "crawled", "drops": "harvested"}[collection])
    words = [*READING, ["export", "pages", "--as", "jsonl"], ["search", "home"]]
    if collection == "drops":
        words = words[:-2]
    elif state == "full":  # the limit holds for temporary files too, which the search index needs
        words = [command for command in words if command[0] not in {"check", "search"}]
    expected = [windrow(*command) for command in words]
    names = {path.name for path in root.rglob("*")}
    with without_room(root, state):
        outputs = [run_command(state, root, *command) for command in words]
    for command, output, answer in zip(words, outputs, expected, strict=True):
        assert (command, output.returncode, output.stdout) == (command, answer.code, answer.out), output.stderr
    left = {path.name for path in root.rglob("*")} - names  # SQLite's empty log stays if it got no room beside it
    assert all(name.endswith(("-wal", "-shm")) and state == "full" for name in left)


@pytest.mark.parametrize(("state", "phrase"), [("read-only", "cannot be written"), ("full", "disk is full")])
def test_a_command_that_writes_names_the_cause(harvested: Path, state: str, phrase: str) -> None:
    before = schema(harvested / "ledger.sqlite")
    with without_room(harvested, state):
        output = run_command(state, harvested, "retry", "--source", "harwell")
        begun = run_command(state, harvested, "init")
    assert output.returncode == 1
    assert phrase in output.stderr
    assert "restore" not in output.stderr
    assert "upgraded" not in begun.stdout + begun.stderr
    assert schema(harvested / "ledger.sqlite") == before


def test_a_log_that_cannot_be_read_is_named(harvested: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect("ledger.sqlite", isolation_level=None)) as writer:
        writer.execute("CREATE TABLE probe (x)")
        shutil.copytree(harvested, tmp_path / "copy")  # as a kill would leave it
    (tmp_path / "copy" / "ledger.sqlite-shm").unlink()
    with unwritable(tmp_path / "copy"):
        output = run_command("read-only", tmp_path / "copy", "status")
    assert output.returncode == 1
    assert "left a log beside it" in output.stderr
    assert "restore" not in output.stderr


def test_a_file_of_the_archive_that_this_user_may_not_read_is_named(harvested: Path) -> None:
    """It is not lost, so it is neither restored nor received again."""
    warc = next((harvested / "archive").glob("*.warc*"))
    mode = warc.stat().st_mode
    warc.chmod(0)
    try:
        outputs = {word: run_command("stranger", harvested, word) for word in ("status", "check", "run")}
    finally:
        warc.chmod(mode)
    for output in outputs.values():
        assert "this user may not read the file" in output.stdout + output.stderr
        assert "backup" not in output.stdout + output.stderr
    assert outputs["run"].returncode == 3


def open_documents(path: Path) -> SqliteDocuments:
    return SqliteDocuments(path, (DocumentDatabase("vd_events", EVENT_VIEWS, texts=("title",), newest="datetime"),))


def open_table(path: Path) -> SqliteTable:
    return SqliteTable(path, "sandcrawler", [Family("f")])


@pytest.mark.parametrize("open_store", [open_documents, open_table, RecordStore])
def test_each_store_on_a_full_disk_is_read_and_refuses_writes(tmp_path: Path, open_store) -> None:
    open_store(tmp_path / "store.db").close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SHARED_MEMORY_SIZE - 1, before[1]))
    try:
        with closing(open_store(tmp_path / "store.db")) as store:
            assert list(store.scan() if isinstance(store, SqliteTable) else store.faults()) == []
            with pytest.raises((DiskFull, StoreError)) as refused, store._writing():
                pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert isinstance(refused.value, DiskFull)
