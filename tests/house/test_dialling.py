"""Only modules that ask the guard first open connections, and the stores, whose addresses are their owner's.

What is here by name is exact: a file that dials no more, or in another way, has to be taken out as well.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.tree import ROOT, parsed, python

DIALLING = {
    *(
        "getaddrinfo",
        "gethostbyname",
        "gethostbyname_ex",
        "connect_ex",
        "sock_connect",
        "create_connection",
        "start_tls",
    ),
    *("open_connection", "create_datagram_endpoint", "sendto", "urlopen", "HTTPConnection", "HTTPSConnection"),
    *("ClientSession", "TCPConnector", "transfercmd", "ntransfercmd", "happybase"),
}
"""Names of the standard library and of libraries that resolve a host or connect to it."""

CONNECTING = {"socket", "asyncssh"}
"""Where one of these is imported, `connect` opens a connection of the network."""

KNOWN = {
    "fetch/dial.py": {"getaddrinfo", "connect"},
    "fetch/http_connection.py": {"getaddrinfo", "sock_connect", "create_connection", "start_tls"},
    "fetch/ftp_session.py": {"connect"},  # the data line, to the very number of the control line
    "fetch/sftp.py": {"connect"},  # over a socket that is connected already
    "stores/couchdb_connection.py": {"HTTPConnection", "HTTPSConnection"},
    "collections/papers/database/hbase.py": {"happybase"},
}

GUARDED = {"allowed_addresses", "connect_socket", "refuse_behind_proxy"}
"""The ways to the guard, one of which each module of the transports that dials has to take."""


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, and what it takes of them."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(alias.name for alias in node.names)}
    return names


def dialled(path: Path) -> set[str]:
    """Return the names in a file that open connections."""
    imported = imports(path)
    wanted = DIALLING | ({"connect"} if imported & CONNECTING else set())
    used = {node.attr for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(parsed(path)) if isinstance(node, ast.Name)}
    return (used | imported) & wanted


def test_connections_are_opened_where_the_guard_is_asked_and_nowhere_else() -> None:
    room = ROOT / "src" / "windrow"
    files = {str(path.relative_to(room)): dialled(path) for path in python("src")}
    assert {name: names for name, names in files.items() if names} == KNOWN


def test_what_dials_asks_the_guard() -> None:
    for name in ("dial", "http_connection", "sftp", "ftp_session"):
        path = ROOT / "src" / "windrow" / "fetch" / f"{name}.py"
        assert GUARDED & {node.id for node in ast.walk(parsed(path)) if isinstance(node, ast.Name)}, path
