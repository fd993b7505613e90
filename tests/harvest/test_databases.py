"""The whole harvest into MariaDB and PostgreSQL: the same rows as in SQLite."""

from contextlib import closing
from datetime import date, datetime

import pytest
import sqlalchemy as sa

import windrow
from tests.crash.place import STORE, TRACKER, finish, kill_when, make, moved_to, tables
from windrow.app.check import check
from windrow.collections.drops.adapter.replay import replay
from windrow.engine.progress import Progress
from windrow.errors import UsageError
from windrow.model import Status
from windrow.stores.databases import connect


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    root = make(tmp_path_factory.mktemp("sqlite"), zips=2, documents=2)
    assert finish(root) == 0
    found = tables(root)
    return {name: plain(found[name]) for name in (*TRACKER, *STORE)}


def plain(rows):
    """Spell what the databases spell differently: truth, dates, order of texts."""

    def cell(value):
        if isinstance(value, datetime | date):
            return value.isoformat()
        return int(value) if isinstance(value, bool) else value

    return sorted((tuple(cell(value) for value in row) for row in rows), key=repr)


def read(url):
    engine = connect(url)
    with engine.connect() as connection:
        found = {name: plain(connection.execute(sa.text(text))) for name, text in {**TRACKER, **STORE}.items()}
    engine.dispose()
    return found


@pytest.fixture(params=["mariadb_url", "postgresql_url"])
def url(request):
    return request.getfixturevalue(request.param)


def place(tmp_path, url):
    root = make(tmp_path / "w", zips=2, documents=2)
    toml = (root / "windrow.toml").read_text()
    databases = f'[drops]\ntracker = "{url}"\nstore = "{url}"\n'
    (root / "windrow.toml").write_text(toml.replace("[[drops.centre]]", databases + "[[drops.centre]]", 1))
    return root


def faults(workspace):
    with closing(workspace.ledger()) as ledger:
        return check(workspace.config, ledger).faults


def test_replay_into_an_empty_database_gives_the_same_rows(tmp_path, url, expected):
    root = make(tmp_path / "w", zips=2, documents=2)
    assert finish(root) == 0
    toml = (root / "windrow.toml").read_text()
    elsewhere = f'[drops]\nstore = "{url}"\n[[drops.centre]]'
    (root / "windrow.toml").write_text(toml.replace("[[drops.centre]]", elsewhere, 1))
    workspace = windrow.open(root)
    assert "windrow replay" in faults(workspace)[0].hint
    assert replay(workspace.config, workspace.setup, Progress(quiet=True)).changes == ()
    assert faults(workspace) == []
    engine = connect(url)
    with engine.connect() as connection:
        for name, text in STORE.items():
            assert plain(connection.execute(sa.text(text))) == expected[name]
    engine.dispose()
    with pytest.raises(UsageError, match="it holds records"):
        replay(workspace.config, workspace.setup, Progress(quiet=True))


def test_the_same_rows(tmp_path, url, expected):
    root = place(tmp_path, url)
    assert finish(root) == 0
    assert read(url) == expected
    finish(root)
    assert read(url) == expected


def test_a_table_of_the_tracker_that_was_emptied_is_told(tmp_path, url):
    root = place(tmp_path, url)
    assert finish(root) == 0
    workspace = windrow.open(root)
    assert faults(workspace) == []
    engine = connect(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM session_task"))
    engine.dispose()
    assert [fault.where for fault in faults(workspace)] == ["tracker, session_task"]


@pytest.mark.parametrize("step", ["xsd", "upload", "data"])
def test_the_same_rows_after_kill_9(tmp_path, url, expected, step):
    root = place(tmp_path, url)
    kill_when(root, moved_to(step, Status.RUNNING))
    finish(root)
    assert read(url) == expected
