"""A PostgreSQL server for the tests: one per session, an empty database per test."""

from __future__ import annotations

import signal
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.daemon import free_port

from tests.servers.daemon import driver, drop_root, find, home, running

FOLDERS = tuple(f"/usr/lib/postgresql/{version}/bin" for version in range(20, 12, -1))
UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB")
"""Fast and not durable: for tests only."""


def connect(port: int) -> Any:
    """Open a connection as the owner, in the maintenance database."""
    return driver("psycopg").connect(host="127.0.0.1", port=port, user="app", dbname="postgres", autocommit=True)


def answers(port: int) -> bool:
    """Return whether the server accepts connections."""
    try:
        connect(port).close()
    except driver("psycopg").OperationalError:
        return False
    return True


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[int]:
    """Start the server; yields its port on 127.0.0.1 (user app, no password)."""
    driver("psycopg")
    initdb, server, port = find("initdb", *FOLDERS), find("postgres", *FOLDERS), free_port()
    with home("postgres") as folder:
        subprocess.run(
            [
                *(*drop_root("postgres"), initdb, "-D", f"{folder}/data", "-A", "trust", "-U", "app"),
                *("-E", "UTF8", "--locale=C.UTF-8", "-N"),
            ],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        command = [
            *(*drop_root("postgres"), server, "-D", f"{folder}/data", "-k", str(folder), "-p", str(port)),
            *("-c", "listen_addresses=127.0.0.1", *(word for pair in UNSAFE for word in ("-c", pair))),
        ]
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients that a failed test left.
        with running(command, folder / "log", lambda: answers(port), end=signal.SIGINT):
            yield port


@pytest.fixture
def postgresql_url(postgresql_server: int) -> Iterator[str]:
    """Make an empty database; yields its URL. It is dropped afterwards, whoever is connected."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with connect(postgresql_server) as link:
        link.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        yield f"postgresql+psycopg://app@127.0.0.1:{postgresql_server}/{name}"
        link.execute(f"DROP DATABASE {name} WITH (FORCE)")
