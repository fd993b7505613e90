"""Open SQL databases: SQLite, PostgreSQL and MariaDB.

`connect` makes an engine; `map_errors` maps the errors of the engine and its driver to windrow's own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.errors import ConfigError, MissingExtra, StoreDamaged, StoreError, StoreUnreachable, WindrowError
from windrow.reasons import Reason
from windrow.settings.kinds import file_of
from windrow.stores.sqlite import DISK_FULL_ERRORS, close_on_failure, is_damaged, open_or_read

DRIVER_EXTRAS = {"postgresql": "postgresql", "mariadb": "mariadb", "mysql": "mariadb"}
"""The extra that installs the driver of a backend, by the backend's name in SQLAlchemy."""

READ_ONLY = {"windrow_reads": True}
"""Execution options for a connection that only reads. It does not wait for writers of an SQLite file."""

_SQL_MODE = (
    "ANSI_QUOTES,STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
)
_LOCK_TIMEOUT = 30.0
"""The time in seconds that a server waits for a lock, such as that of a reader's open transaction on a view."""
_REFUSAL = "refusal"
"""The key in a connection's `info` for the error that prevents writing to its SQLite file."""
_BUSY_TIMEOUT = 30_000  # milliseconds that SQLite waits for another writer
_MAX_MESSAGE_LENGTH = 300  # characters of a driver's message that are kept


def connect(url: str, password: str | None = None, *, durable: bool = True) -> sa.Engine:
    """Make an SQLAlchemy engine for a database; no connection is opened yet.

    `url` is an SQLAlchemy URL: `sqlite:///FILE`, `postgresql+psycopg://USER@HOST/NAME`,
    `mariadb+pymysql://USER@HOST/NAME`. If `password` is None, the password in the URL is used. If `durable` is true,
    transactions that SQLite has committed survive a power cut, otherwise only a crash of the program. Raises
    ConfigError for an invalid URL, and MissingExtra if the driver is not installed.
    """
    try:
        parsed = sa.make_url(url)
        if password is not None:
            parsed = parsed.set(password=password)
        backend = parsed.get_backend_name()
        if backend == "sqlite":
            return _sqlite_engine(parsed, durable=durable)
        arguments: dict[str, Any] = {"connect_timeout": 10}
        if backend in {"mariadb", "mysql"}:
            arguments |= _mariadb_arguments(parsed)
            parsed = parsed.set(query={})
        elif backend == "postgresql":
            arguments["client_encoding"] = "utf8"
        engine = sa.create_engine(parsed, pool_pre_ping=True, connect_args=arguments, hide_parameters=True)
        return _set_up_sessions(engine) if backend == "postgresql" else engine
    except exc.NoSuchModuleError:
        problem = f"databases of the kind {parsed.drivername[:80]!r} are not supported"
        raise ConfigError(f"{problem}: use sqlite, postgresql+psycopg or mariadb+pymysql") from None
    except exc.ArgumentError:
        raise ConfigError("the database's address is not a URL such as sqlite:///FILE") from None
    except ImportError:
        raise MissingExtra(f"a {backend} database", DRIVER_EXTRAS.get(backend, backend)) from None


def _mariadb_arguments(url: sa.URL) -> dict[str, str]:
    """Return the driver's arguments: windrow's own and the options of the URL. Raise ConfigError for `init_command`."""
    options = {name: str(text) for name, text in url.query.items()}
    if "init_command" in options or options.get("charset", "utf8mb4") != "utf8mb4":
        raise ConfigError(
            "the address of a MariaDB database must have no init_command and no charset other than utf8mb4",
            hint="remove them from the address; windrow config shows where it is set",
        )
    settings = f"sql_mode = '{_SQL_MODE}', time_zone = '+00:00', lock_wait_timeout = {int(_LOCK_TIMEOUT)}"
    return {"charset": "utf8mb4", "init_command": f"SET SESSION {settings}", **options}


def _set_up_sessions(engine: sa.Engine) -> sa.Engine:
    """Have each connection to PostgreSQL write times in ISO form and UTC, and refuse a database that is not UTF-8.

    Settings of the database or the user may differ: psycopg cannot read times in other forms, and in a database with
    another encoding one character of a document stops the run.
    """
    settings = f"SET DateStyle = 'ISO'; SET TimeZone = 'UTC'; SET lock_timeout = '{round(_LOCK_TIMEOUT * 1000)} ms'"

    @sa.event.listens_for(engine, "do_connect")
    def open_connection(dialect: sa.Dialect, _record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        connection: Any = dialect.connect(*arguments, **options)
        with close_on_failure(connection.close):
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise ConfigError(
                    f"{describe_database(engine)}: the encoding of the database is {encoding}, not UTF8",
                    hint="name a database that was made with: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
                )
            connection.execute(settings)
            connection.commit()
        return connection

    return engine


def _sqlite_engine(url: sa.URL, *, durable: bool) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT / 1000}, hide_parameters=True)
    pragmas = (
        "foreign_keys = ON",
        f"busy_timeout = {_BUSY_TIMEOUT}",
        "cache_size = -16384",  # in KiB, whatever the size of the database
        "temp_store = MEMORY",
    )

    @sa.event.listens_for(engine, "do_connect")
    def open_file(_dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> sqlite3.Connection:
        def open_for_writing(path: Path) -> sqlite3.Connection:
            # With None, transactions begin only with our BEGIN, even before DDL.
            connection: sqlite3.Connection = sqlite3.connect(path, isolation_level=None, **options)
            with close_on_failure(connection.close):
                for pragma in (
                    "page_size = 4096",
                    "journal_mode = WAL",
                    f"synchronous = {'FULL' if durable else 'NORMAL'}",
                ):
                    connection.execute(f"PRAGMA {pragma}").close()
            return connection

        connection, refusal = open_or_read(Path(arguments[0]), open_for_writing)
        record.info[_REFUSAL] = refusal
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()
        return connection

    last_writers: list[Any] = []  # the driver's connection that began the last transaction that writes

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("windrow_reads"):
            connection.exec_driver_sql("BEGIN")
            return
        if refusal := connection.info.get(_REFUSAL):
            raise refusal
        # Ctrl-C within SQLAlchemy may leave a transaction open and the file locked. An engine has one writer at a time.
        for writer in last_writers:
            with suppress(sqlite3.ProgrammingError):  # it is closed
                writer.rollback()
        last_writers[:] = [connection.connection.dbapi_connection]
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @sa.event.listens_for(engine, "close")
    def roll_back(connection: sqlite3.Connection, _record: Any) -> None:
        # After Ctrl-C, SQLAlchemy closes a connection at once. SQLite then keeps it until its cursors are collected.
        with suppress(sqlite3.Error):
            connection.rollback()

    return engine


@contextmanager
def map_errors(engine: sa.Engine) -> Iterator[None]:
    """Raise a StoreError in place of an error of SQLAlchemy or of the database's driver in the block."""
    try:
        yield
    except WindrowError:
        raise
    except (exc.SQLAlchemyError, engine.dialect.loaded_dbapi.Error, OverflowError, UnicodeError) as error:
        raise map_error(error, describe_database(engine)) from error


def sqlite_file(engine: sa.Engine) -> Path:
    """Return the path of an SQLite database's file."""
    return Path(engine.url.database or "")


def describe_database(engine: sa.Engine) -> str:
    """Return the backend, server and name of a database, for messages; user, password and options are left out."""
    url = engine.url
    port = f":{url.port}" if url.port else ""
    server = f"{url.host}{port}/" if url.host else ""
    return f"{url.get_backend_name()} {server}{url.database or ''}"


def map_error(error: BaseException, database: str) -> StoreError:
    """Return the StoreError for an error of SQLAlchemy or of a driver; the message begins with `database`."""
    while_connecting = isinstance(error, exc.DBAPIError) and error.statement is None
    is_lost = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    driver_error = error.orig if isinstance(error, exc.DBAPIError) and error.orig else error
    code, text = _error_code(driver_error), " ".join(str(driver_error).split())[:_MAX_MESSAGE_LENGTH]
    if is_damaged(driver_error):
        return StoreDamaged(f"{database}: {text}")
    for codes, phrase, reason in _REASONS_BY_CODE:
        if code.startswith(codes) or (while_connecting and phrase and phrase in text):
            message = f"the disk is full: {text}" if reason is Reason.DISK_FULL else text
            hint = _CREATION_HINT if reason is Reason.NOT_FOUND else ""
            return StoreError(f"{database}: {message}", reason=reason, hint=hint)
    is_temporary = is_lost or code.startswith("08") or code in _TEMPORARY_CODES
    if is_temporary or (while_connecting and _is_operational(driver_error)):
        return StoreUnreachable(f"{database}: {text}")
    return StoreError(f"{database}: {text}")


def _error_code(error: BaseException) -> str:
    """Return a driver's error code: an SQLSTATE, MariaDB's number or SQLite's name for the error; "" if it has none."""
    code = error.args[0] if error.args else ""
    if isinstance(code, int):
        return str(code)
    return str(getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None) or "")


def _is_operational(error: BaseException) -> bool:
    return any(cls.__name__ in {"OperationalError", "InterfaceError"} for cls in type(error).__mro__)


_REASONS_BY_CODE: tuple[tuple[tuple[str, ...], str, Reason], ...] = (
    (("28P01", "28000", "1045", "1044", "1698"), "authentication failed", Reason.LOGIN_FAILED),
    (("3D000", "1049"), '" does not exist', Reason.NOT_FOUND),
    (("53100", "1021", "1114", *DISK_FULL_ERRORS), "", Reason.DISK_FULL),
    (("42501", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM"), "", Reason.PERMISSION_DENIED),
    (("SQLITE_IOERR",), "", Reason.DISK_FAILED),
)
"""The beginnings of error codes, a phrase in psycopg's message for the same error while connecting, and the reason."""

_CREATION_HINT = (
    "create the database: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0 on PostgreSQL,"
    " CREATE DATABASE ... CHARACTER SET utf8mb4 on MariaDB; then: windrow run"
)

_TEMPORARY_CODES = {
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_BUSY_SNAPSHOT"),
    *("1040", "1205", "1213", "2002", "2003", "2006", "2013", "1053", "1927"),
    *("40001", "40P01", "53300", "57P01", "57P02", "57P03", "55P03"),
}


def is_missing_file(url: str) -> bool:
    """Return whether `url` names an SQLite file that does not exist; connecting to it would create it.

    >>> is_missing_file("sqlite:////nowhere/a.sqlite"), is_missing_file("postgresql+psycopg://db.example.org/a")
    (True, False)
    """
    path = file_of(url)
    return path is not None and not path.exists()


def with_database(url: str, database: str) -> str:
    """Return `url` with the database name `database`, unless `url` has a database name or is an SQLite URL.

    >>> with_database("mariadb+pymysql://app@db.example.org", "phenodcc_tracker")
    'mariadb+pymysql://app@db.example.org/phenodcc_tracker'
    """
    try:
        parsed = sa.make_url(url)
    except exc.ArgumentError:
        raise ConfigError("the database's address is not a URL such as sqlite:///FILE") from None
    if parsed.get_backend_name() == "sqlite" or parsed.database or not database:
        return url
    return parsed.set(database=database).render_as_string(hide_password=False)


def open_or_create(url: str, password: str | None) -> sa.Engine:
    """Make an engine for a database, and create the database, or the folder of an SQLite file, if it is missing.

    SQLite does not wait for the disk at each commit: the transactions of the last seconds before a power cut may be
    lost, and are projected again. Raises what `connect` raises, and StoreError if a server fails or refuses.
    """
    engine = connect(url, password, durable=False)
    if engine.dialect.name == "sqlite":
        if engine.url.database:
            Path(engine.url.database).parent.mkdir(parents=True, exist_ok=True)
        return engine
    try:
        with map_errors(engine):
            engine.connect().close()
    except StoreError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        _create_database(url, password, str(engine.url.database))
    return engine


def refuse_other_texts(
    connection: sa.Connection, tables: Iterable[str], collation: str, *, only_encoding: bool = False
) -> None:
    """Raise StoreError if texts in one of these tables on MariaDB have another encoding or collation than `collation`.

    With another encoding, one character of a document stops each run; with another collation, other records may be
    taken for the same. If `only_encoding`, collations are not compared.
    """
    if connection.dialect.name not in {"mariadb", "mysql"}:
        return
    query = (
        "SELECT DISTINCT table_name, collation_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND collation_name IS NOT NULL ORDER BY 1, 2"
    )
    wanted = "utf8mb4_" if only_encoding else collation
    table_names = set(tables)
    for name, present in connection.exec_driver_sql(query):
        if name in table_names and not present.startswith(wanted):
            raise StoreError(
                f"{describe_database(connection.engine)}: texts of the table {name} have the collation {present}",
                hint=f"let an administrator run: ALTER TABLE {name} CONVERT TO CHARACTER SET utf8mb4"
                f" COLLATE {collation}; then: windrow run",
            )


def _create_database(url: str, password: str | None, name: str) -> None:
    parsed = sa.make_url(url)
    is_mariadb = parsed.get_backend_name() != "postgresql"
    # PostgreSQL needs a database to connect to; `postgres` always exists.
    server_url = parsed.set(database="" if is_mariadb else "postgres").render_as_string(hide_password=False)
    server = connect(server_url, password)
    quoted_name = server.dialect.identifier_preparer.quote(name)
    options = " CHARACTER SET utf8mb4" if is_mariadb else " ENCODING 'UTF8' TEMPLATE template0"
    try:
        with map_errors(server), server.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {quoted_name}{options}")
    except StoreError as error:
        user = f"the user {parsed.username}" if parsed.username else "your user"
        raise StoreError(
            f"the database {name} is missing at {describe_database(server)} and cannot be created: {error}",
            reason=error.reason,
            hint=f"ask an administrator to create the database {name} and to give {user} all rights on it",
        ) from error
    finally:
        server.dispose()
