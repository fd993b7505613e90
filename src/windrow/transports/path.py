"""Paths as they go to a server, and as they are shown to people."""

from __future__ import annotations

import re

from windrow.errors import TerminalFailure
from windrow.model import Site, join
from windrow.reasons import Reason

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def shown(text: str, most: int = 200) -> str:
    r"""Make foreign text fit for a message: one line, printable, not endless.

    >>> shown("no\r\nway")
    'no\\x0d\\x0away'
    """
    visible = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text[: most + 1])
    visible = visible.encode("utf-8", "backslashreplace").decode()
    return visible if len(visible) <= most else visible[:most] + "..."


def wire(site: Site, path: str) -> str:
    r"""Return the whole path of `path` below the site's base, safe to be put in a command.

    A control character would end the command and begin another one, and `..` would leave the
    base: both are refused as UNSAFE_NAME. Quotes, spaces and non-ASCII letters pass.

    >>> wire(Site("ftp", base="/data/"), "add/x y.zip")
    '/data/add/x y.zip'
    >>> wire(Site("ftp"), "add/x\r\nDELE y")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: unsafe path: ftp:///add/x\x0d\x0aDELE y
    """
    full = join(site.base, path)
    if _CONTROL.search(full) or ".." in path.split("/"):
        raise TerminalFailure(f"unsafe path: {at(site, path)}", Reason.UNSAFE_NAME)
    return full


def at(site: Site, path: str = "") -> str:
    """Return the public address of a path, fit for a message."""
    return shown(site.address(path), 1000)
