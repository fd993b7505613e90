"""Read-only folders, and programs that cannot write there although their user is root."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unwritable(place: Path) -> Iterator[None]:
    """Make everything in a folder read-only for its owner."""
    paths = [place, *place.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths if not path.is_symlink()}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def become_ordinary() -> None:
    """Drop root's capabilities: this process then writes only where file permissions allow it."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.capset(ctypes.byref(_Header(0x20080522, 0)), (_Capabilities * 2)()):
        raise OSError(ctypes.get_errno(), "capset")
