from __future__ import annotations

import builtins
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.collections.drops.sample import START
from windrow.collections.drops.database.table_store import VIEWS_MARK, TableStore
from windrow.collections.drops.elements import TABLES
from windrow.collections.news.adapter.tree_index import TreeIndex
from windrow.collections.pages.database.crawler import read_described_files
from windrow.collections.pages.database.store import SummaryStore
from windrow.errors import ConfigError, DiskFull, LedgerError, MissingExtra, StoreError, StoreUnreachable
from windrow.ledger.database import LedgerDatabase
from windrow.reasons import Reason
from windrow.stores.databases import connect, describe_database, map_errors, open_or_create
from windrow.stores.index.manifest import IndexManifest
from windrow.stores.sqlite import open_database, store_errors, transaction
from windrow.stores.sqlite_documents import SqliteDocuments


def connection_error(url: str, password: str | None = None) -> StoreError:
    engine = connect(url, password)
    try:
        with pytest.raises(StoreError) as caught, map_errors(engine), engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
    finally:
        engine.dispose()
    return caught.value


@pytest.mark.parametrize("url", ["postgresql+psycopg://app@127.0.0.1:1/x", "mariadb+pymysql://app@127.0.0.1:1/x"])
def test_a_server_that_does_not_answer_may_be_tried_again(url: str) -> None:
    error = connection_error(url, "hush-hush")
    assert isinstance(error, StoreUnreachable)
    assert error.retry
    assert "127.0.0.1:1" in str(error)
    assert "hush-hush" not in str(error) + repr(error)


def test_a_wrong_password_is_told_as_such(mariadb_url: str) -> None:
    url = mariadb_url.replace("root@", "nobody@")
    error = connection_error(url, "hush-hush")
    assert error.reason is Reason.LOGIN_FAILED
    assert not error.retry
    assert "hush-hush" not in str(error)


def test_a_database_that_is_not_there(postgresql_url: str, mariadb_url: str, tmp_path: Path) -> None:
    for url in (postgresql_url, mariadb_url):
        parsed = sa.make_url(url).set(database="nowhere")
        error = connection_error(parsed.render_as_string(hide_password=False))
        assert error.reason is Reason.NOT_FOUND
        assert not error.retry
        assert "CREATE DATABASE" in error.hint
    assert connection_error(f"sqlite:///{tmp_path}/no/such/folder/x.db").reason is Reason.PERMISSION_DENIED


FAILING_CALLS = {
    "erase_deleted": (SqliteDocuments, lambda store: store.erase_deleted(lambda: None)),
    "due": (IndexManifest, lambda store: store.due(1)),
    "clear_due": (IndexManifest, lambda store: store.clear_due([1])),
    "last_attempt": (TreeIndex, TreeIndex.last_attempt),
    "files": (TreeIndex, lambda store: [*store.files()]),
    "secure_delete": (LedgerDatabase, lambda database: database.overwrite_what_is_deleted()),
    "empty_log": (LedgerDatabase, lambda database: database.empty_log(lambda: None)),
    "copy": (LedgerDatabase, lambda database: database.copy(database.path.with_name("copy.db"))),
    "read_again": (SummaryStore, lambda store: read_described_files(store.path, 0, 9, 9)),
    "adopt_sessions": (SummaryStore, lambda store: store.adopt_sessions(store.path)),
}


@pytest.mark.parametrize("name", FAILING_CALLS)
def test_an_error_of_sqlite_is_an_error_of_windrow_whichever_method_meets_it(tmp_path: Path, name: str) -> None:
    """Methods that ran SQL without a guard ended the run with a traceback."""
    make, call = FAILING_CALLS[name]
    path = tmp_path / "a.db"
    store = make(path, ()) if make is SqliteDocuments else make(path)
    connection = store.connection if make is LedgerDatabase else store._connection
    connection.close()
    if make is SummaryStore:
        path.write_bytes(b"this is not a database " * 500)
    with pytest.raises((StoreError, LedgerError)):
        call(store)


def test_what_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is not a database, but long enough to be taken for one" * 20)
    error = connection_error(f"sqlite:///{tmp_path}/x.db")
    assert error.reason is Reason.DISK_FAILED
    assert error.hint is not None
    assert "windrow run" in error.hint, "status and replay would only say the same again"
    for url in ("nonsense", "oracle9+x://h/d", "sqlite+nothing:///x"):
        with pytest.raises(ConfigError):
            connect(url)


@pytest.mark.parametrize(
    ("url", "extra"), [("postgresql+psycopg://h/d", "postgresql"), ("mariadb+pymysql://h/d", "mariadb")]
)
def test_a_missing_driver_names_its_extra(url: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def import_without_drivers(name: str, *rest: Any, **more: Any) -> Any:
        if name in {"psycopg", "pymysql"}:
            raise ModuleNotFoundError(name)
        return real_import(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", import_without_drivers)
    with pytest.raises(MissingExtra) as caught:
        connect(url)
    assert f"windrow[{extra}]" in caught.value.hint


def test_a_place_is_named_without_its_secrets() -> None:
    engine = connect("postgresql+psycopg://me:first@h:5/d?sslpassword=second")
    assert describe_database(engine) == "postgresql h:5/d"


def test_a_locked_database_may_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.stores.databases._BUSY_TIMEOUT", 50)
    url = f"sqlite:///{tmp_path}/x.db"
    first, second = connect(url), connect(url)
    with first.begin(), pytest.raises(StoreUnreachable, match="locked"), map_errors(second), second.begin():
        pass
    first.dispose()
    second.dispose()


def test_an_engine_is_strict_everywhere(store_url: str) -> None:
    with TableStore(store_url, TABLES) as store, pytest.raises(StoreError):
        store.judge([], START)  # nothing is prepared
    engine = connect(store_url)
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE "order" (name varchar(3) CHECK (length(name) <= 3))')
    with pytest.raises(StoreError), map_errors(engine), engine.begin() as connection:
        connection.exec_driver_sql("""INSERT INTO "order" VALUES ('long')""")
    engine.dispose()


def test_a_full_database_is_a_full_disk_although_sqlite_has_rolled_back_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(open_database(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA max_page_count = 20").fetchall()
        with pytest.raises(DiskFull), store_errors(path), transaction(connection):
            connection.executemany("INSERT INTO t VALUES (zeroblob(?))", [(3000,)] * 1000)
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_server_s_own_encoding_dates_and_zone_do_not_matter(postgresql_url: str, mariadb_url: str) -> None:
    url = sa.make_url(postgresql_url)
    maintenance = url.set(database="postgres").render_as_string(hide_password=False)
    server = connect(maintenance)
    with server.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {url.database} SET datestyle = 'German'")
        connection.exec_driver_sql(f"ALTER DATABASE {url.database} SET timezone = 'America/New_York'")
        engine = connect(postgresql_url)
        with map_errors(engine), engine.connect() as reader:
            text = "SELECT date '2026-02-01', timestamptz '2026-02-01 03:00Z', timestamptz '2026-02-01 03:00Z'::text"
            assert [str(cell) for cell in reader.exec_driver_sql(text).one()] == [
                "2026-02-01", "2026-02-01 03:00:00+00:00", "2026-02-01 03:00:00+00",
            ]  # fmt: skip
        engine.dispose()
        for encoding in ("LATIN1", "SQL_ASCII"):
            name = f"{url.database}_{encoding.lower()}"
            make = f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
            connection.exec_driver_sql(make)
            with pytest.raises(ConfigError, match=f"the encoding of the database is {encoding}, not UTF8") as caught:
                open_or_create(url.set(database=name).render_as_string(hide_password=False), None)
            assert "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0" in str(caught.value.hint)
            connection.exec_driver_sql(f"DROP DATABASE {name}")
    server.dispose()
    for option in ("charset=latin1", "init_command=SELECT+1"):
        with pytest.raises(ConfigError, match="no init_command and no charset"):
            connect(f"{mariadb_url.partition('?')[0]}?{option}")


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_reader_s_open_transaction_does_not_stop_a_store(
    server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    reader = connect(url)
    monkeypatch.setattr("windrow.stores.databases._LOCK_TIMEOUT", 0.02)
    with TableStore(url, TABLES) as store:
        store.prepare()
        with reader.connect() as connection:
            connection.exec_driver_sql('SELECT * FROM "current_mouse"')
            store.prepare()
            store.set_mark(VIEWS_MARK, 1)
            with pytest.raises(StoreUnreachable, match=r"(?i)lock"):
                store.prepare()
        store.prepare()
        assert store.mark(VIEWS_MARK) != 1
    reader.dispose()
