"""Read the address of a source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from windrow.errors import ConfigError

SCHEMES = ("file", "ftp", "ftps", "http", "https", "sftp")


class AddressParts(NamedTuple):
    """An address in its parts; `base` is decoded and begins with a slash."""

    scheme: str
    host: str
    port: int | None
    username: str
    base: str


def place(url: str, root: Path) -> AddressParts:
    """Take an address apart.

    A password in it is refused and not repeated in the message. A `file:` address may be relative
    to the workspace.

    >>> place("sftp://harvest@drop.example.org:2222/out/", Path("/w"))
    AddressParts(scheme='sftp', host='drop.example.org', port=2222, username='harvest', base='/out/')
    >>> place("file:partner", Path("/w")).base
    '/w/partner'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"this is not an address: {_plain(error)}") from None
    if parts.password is not None or "@" in parts.path + parts.query + parts.fragment:
        raise ConfigError(
            'an address may not hold a password; name its place: secret = "env:NAME" or "file:PATH"'
            " (and spell @ in a folder's name %40)"
        )
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"wanted an address that begins with one of {', '.join(SCHEMES)}")
    if parts.query or parts.fragment:
        raise ConfigError("an address of a base folder has no ? or #; spell them %3F and %23 in a name")
    base = unquote(parts.path)
    if ".." in base.split("/") or re.search(r"[\x00-\x1f\x7f]", base):
        raise ConfigError("the base folder may not hold '..' or control characters")
    if parts.scheme == "file":
        return _folder(parts, base, root)
    if not parts.hostname:
        raise ConfigError("wanted a host in the address")
    return AddressParts(parts.scheme, parts.hostname, port, unquote(parts.username or ""), base or "/")


def _folder(parts: SplitResult, base: str, root: Path) -> AddressParts:
    if parts.hostname not in {None, "localhost"} or parts.username:
        raise ConfigError("a file: address has no host or user")
    if not base:
        raise ConfigError("wanted a folder in the address")
    return AddressParts("file", "", None, "", str(root / base))


def _plain(error: ValueError) -> str:
    """Keep only what is surely not a part of the address."""
    return "its port is not a number up to 65535" if str(error).startswith("Port") else "its host is not one"
