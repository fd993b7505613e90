"""A MariaDB server for the tests: one per session, an empty database per test."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.daemon import free_port

from tests.servers.daemon import driver, drop_root, find, home, running

SYSTEM = {"mysql", "information_schema", "performance_schema", "sys"}


def connect(port: int) -> Any:
    """Open a connection as root, in no database."""
    return driver("pymysql").connect(
        host="127.0.0.1", port=port, user="root", autocommit=True, charset="utf8mb4", ssl_disabled=True
    )


def answers(port: int) -> bool:
    """Return whether the server accepts connections."""
    try:
        connect(port).close()
    except driver("pymysql").err.OperationalError:
        return False
    return True


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[int]:
    """Start the server; yields its port on 127.0.0.1 (user root, no password)."""
    driver("pymysql")
    install, server, port = find("mariadb-install-db"), find("mariadbd"), free_port()
    with home("mysql") as folder:
        subprocess.run(
            [
                *(*drop_root("mysql"), install, "--no-defaults", f"--datadir={folder}/data"),
                *(f"--tmpdir={folder}", "--auth-root-authentication-method=normal", "--skip-test-db"),
                "--skip-name-resolve",
            ],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        command = [
            *(*drop_root("mysql"), server, "--no-defaults", f"--datadir={folder}/data"),
            # a folder of its own: at its start a server removes the temporary tables of others
            f"--tmpdir={folder}",
            *(f"--socket={folder}/s", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid"),
            *("--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"),
            *("--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin"),
        ]
        with running(command, folder / "log", lambda: answers(port)):
            yield port


@pytest.fixture
def mariadb_url(mariadb_server: int) -> Iterator[str]:
    """Make an empty database; yields its URL. All databases on the server are dropped afterwards."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with connect(mariadb_server) as link, link.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        yield f"mariadb+pymysql://root@127.0.0.1:{mariadb_server}/{name}?charset=utf8mb4&ssl_disabled=true"
        cursor.execute("SHOW DATABASES")
        for (left,) in cursor.fetchall():
            if left not in SYSTEM:
                cursor.execute(f"DROP DATABASE `{left}`")
