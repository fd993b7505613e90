"""The whole harvest into MariaDB and PostgreSQL: the same rows as in SQLite."""

from contextlib import closing
from datetime import date, datetime

import pytest
import sqlalchemy as sa

import windrow
from tests.crash.workspace import STORE, TRACKER, finish_run, kill_when, make_workspace, reached_query, read_tables
from windrow.app.check import check_workspace
from windrow.collections.drops.adapter.replay import replay
from windrow.engine.progress import Progress
from windrow.errors import UsageError
from windrow.model import Status
from windrow.stores.databases import connect


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    root = make_workspace(tmp_path_factory.mktemp("sqlite"), zips=2, documents=2)
    assert finish_run(root) == 0
    rows_by_table = read_tables(root)
    return {name: plain(rows_by_table[name]) for name in (*TRACKER, *STORE)}


def plain(rows):
    """Return rows in one form: the databases differ in booleans, dates and the order of texts."""

    def cell(cell_value):
        if isinstance(cell_value, datetime | date):
            return cell_value.isoformat()
        return int(cell_value) if isinstance(cell_value, bool) else cell_value

    return sorted((tuple(cell(cell_value) for cell_value in row) for row in rows), key=repr)


def read(url):
    engine = connect(url)
    with engine.connect() as connection:
        rows_by_table = {name: plain(connection.execute(sa.text(text))) for name, text in {**TRACKER, **STORE}.items()}
    engine.dispose()
    return rows_by_table


@pytest.fixture(params=["mariadb_url", "postgresql_url"])
def url(request):
    return request.getfixturevalue(request.param)


def make_with_databases(tmp_path, url):
    root = make_workspace(tmp_path / "w", zips=2, documents=2)
    toml = (root / "windrow.toml").read_text()
    databases = f'[drops]\ntracker = "{url}"\nstore = "{url}"\n'
    (root / "windrow.toml").write_text(toml.replace("[[drops.centre]]", databases + "[[drops.centre]]", 1))
    return root


def faults(workspace):
    with closing(workspace.ledger()) as ledger:
        return check_workspace(workspace.config, ledger).faults


def test_replay_into_an_empty_database_gives_the_same_rows(tmp_path, url, expected):
    root = make_workspace(tmp_path / "w", zips=2, documents=2)
    assert finish_run(root) == 0
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
    with pytest.raises(UsageError, match="replay does not replace it"):
        replay(workspace.config, workspace.setup, Progress(quiet=True))


def test_the_same_rows(tmp_path, url, expected):
    root = make_with_databases(tmp_path, url)
    assert finish_run(root) == 0
    assert read(url) == expected
    finish_run(root)
    assert read(url) == expected


def test_a_table_of_the_tracker_that_was_emptied_is_told(tmp_path, url):
    root = make_with_databases(tmp_path, url)
    assert finish_run(root) == 0
    workspace = windrow.open(root)
    assert faults(workspace) == []
    engine = connect(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM session_task"))
    engine.dispose()
    assert [fault.location for fault in faults(workspace)] == ["tracker, session_task"]


@pytest.mark.parametrize("step", ["xsd", "upload", "data"])
def test_the_same_rows_after_kill_9(tmp_path, url, expected, step):
    root = make_with_databases(tmp_path, url)
    kill_when(root, reached_query(step, Status.RUNNING))
    finish_run(root)
    assert read(url) == expected
