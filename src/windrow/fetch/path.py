"""Paths as they go to a server, and as they are shown to people."""

from __future__ import annotations

import re

from windrow.errors import TerminalFailure
from windrow.model import Site, join
from windrow.reasons import Reason

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TARGET = re.compile(r"/[!-\"$-~]*")  # what a request line may ask for (RFC 9112, section 3.2.1), and what is seen


def shown(text: str, most: int = 200) -> str:
    r"""Make foreign text fit for a message: one line, printable, not endless.

    >>> shown("no\r\nway")
    'no\\x0d\\x0away'
    """
    if text.isascii() and text.isprintable() and len(text) <= most:
        return text
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


def behind(origin: str, url: str) -> str:
    r"""Return what a request line asks for: the URL behind its origin.

    A URL of another origin is refused with POLICY_DENIED; one with a fragment, a space, a control
    character or a letter beyond ASCII, which could end the line and begin another, with BAD_ADDRESS.

    >>> behind("http://h", "http://h/a?b=c")
    '/a?b=c'
    >>> behind("http://h", "http://h/ HTTP/1.1\r\nX: y")
    Traceback (most recent call last):
    ...
    windrow.errors.TerminalFailure: not an address as a request has it: http://h/ HTTP/1.1\x0d\x0aX: y
    """
    if not url.startswith(f"{origin}/"):
        raise TerminalFailure(f"{shown(url, 1000)} is not at {origin}", Reason.POLICY_DENIED)
    if not _TARGET.fullmatch(url, len(origin)):
        raise TerminalFailure(f"not an address as a request has it: {shown(url, 1000)}", Reason.BAD_ADDRESS)
    return url[len(origin) :]


def at(site: Site, path: str = "") -> str:
    """Return the public address of a path, fit for a message."""
    return shown(site.address(path), 1000)
