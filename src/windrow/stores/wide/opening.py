"""Opens a table of wide rows by its address: a file, or `hbase://HOST:PORT`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from windrow.errors import ConfigError
from windrow.stores.wide.hbase import Gateway, HbaseTable
from windrow.stores.wide.sqlite import SqliteTable
from windrow.stores.wide.table import Family

PORT = 9090
"""Where HBase's gateway listens unless it is told otherwise."""


def open_table(
    address: str, name: str, families: Sequence[Family], *, read_only: bool = False
) -> SqliteTable | HbaseTable:
    """Open the table, making what is missing; `read_only` makes nothing."""
    if not address.startswith("hbase:"):
        return SqliteTable(Path(address), name, families, read_only=read_only)
    return HbaseTable(gateway(address), name, families, read_only=read_only)


def gateway(address: str) -> Gateway:
    """Return where the gateway of an address listens.

    >>> gateway("hbase://gateway.example")
    Gateway(host='gateway.example', port=9090)
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise ConfigError(f"{address!r}: {error}") from None
    if not host or parts.path.strip("/") or parts.username:
        raise ConfigError(f"{address!r} is not like hbase://HOST:{PORT}")
    return Gateway(host, port)
