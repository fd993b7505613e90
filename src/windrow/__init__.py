"""Harvest other people's documents, keep every byte, and answer for each of them.

    import windrow

    print(windrow.open("farm").run().exit_code)

`windrow.open(folder)` has a method for every command of the command line: docs/reference/python.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.app import Windrow
    from windrow.app import Windrow as open  # noqa: A004, N813 `windrow.open(dir)` reads as it should
    from windrow.errors import (
        ArchiveError,
        ConfigError,
        DiskFull,
        IndexDamaged,
        LedgerError,
        Locked,
        MissingExtra,
        NotAWorkspace,
        ReaderFailed,
        StepError,
        Stopped,
        StoreDamaged,
        StoreError,
        StoreUnreachable,
        TerminalFailure,
        TransientFailure,
        TransportError,
        UsageError,
        WindrowError,
    )
    from windrow.reasons import Reason

    init = Windrow.init

__all__ = [
    "ArchiveError",
    "ConfigError",
    "DiskFull",
    "IndexDamaged",
    "LedgerError",
    "Locked",
    "MissingExtra",
    "NotAWorkspace",
    "ReaderFailed",
    "Reason",
    "StepError",
    "Stopped",
    "StoreDamaged",
    "StoreError",
    "StoreUnreachable",
    "TerminalFailure",
    "TransientFailure",
    "TransportError",
    "UsageError",
    "Windrow",
    "WindrowError",
    "init",
    "open",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for: whoever wants one room of windrow, such as `windrow.content`, loads no other."""
    if name not in __all__:
        raise AttributeError(f"module 'windrow' has no attribute {name!r}")
    if name in {"Windrow", "init", "open"}:
        opener = import_module("windrow.app").Windrow
        value = opener.init if name == "init" else opener
    else:
        value = getattr(import_module("windrow.reasons" if name == "Reason" else "windrow.errors"), name)
    globals()[name] = value
    return value
