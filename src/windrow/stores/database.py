"""The database that books live in: named by default, and made on its server where it is missing."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.errors import ConfigError, StoreError
from windrow.reasons import Reason
from windrow.stores.connect import PAGE, connect, guarded, where


def named(url: str, database: str) -> str:
    """Return the URL of `database` on the server at `url`, unless the URL names one itself.

    >>> named("mariadb+pymysql://app@db.example.org", "phenodcc_tracker")
    'mariadb+pymysql://app@db.example.org/phenodcc_tracker'
    """
    try:
        parsed = sa.make_url(url)
    except exc.ArgumentError:
        raise ConfigError("the database's address is not a URL such as sqlite:///FILE") from None
    if parsed.get_backend_name() == "sqlite" or parsed.database or not database:
        return url
    return parsed.set(database=database).render_as_string(hide_password=False)


def reach(url: str, password: str | None = None, *, page: int = PAGE) -> sa.Engine:
    """Open a database, making it where it is missing and may be made.

    What is lost with the last seconds before a power cut is projected again, so SQLite need not
    wait for the disk at every batch. `page` is the size of its pages where SQLite makes the file.
    """
    engine = connect(url, password, durable=False, page=page)
    if engine.dialect.name == "sqlite":
        if engine.url.database:
            Path(engine.url.database).parent.mkdir(parents=True, exist_ok=True)
        return engine
    try:
        with guarded(engine):
            engine.connect().close()
    except StoreError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        _create(url, password, str(engine.url.database))
    return engine


def _create(url: str, password: str | None, name: str) -> None:
    parsed = sa.make_url(url)
    mysql = parsed.get_backend_name() != "postgresql"
    # PostgreSQL has no connection without a database; `postgres` is there to begin from.
    begin = parsed.set(database="" if mysql else "postgres").render_as_string(hide_password=False)
    server = connect(begin, password)
    quoted = server.dialect.identifier_preparer.quote(name)
    more = " CHARACTER SET utf8mb4" if mysql else ""
    try:
        with guarded(server), server.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
            link.exec_driver_sql(f"CREATE DATABASE {quoted}{more}")
    except StoreError as error:
        raise StoreError(
            f"the database {name} is not at {where(server)} and may not be made: {error}",
            reason=error.reason,
            hint=f"let an administrator make the database {name} and grant it to this user",
        ) from error
    finally:
        server.dispose()
