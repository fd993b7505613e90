"""Harvest documents that others publish, archive every byte, and record where each document came from.

    import windrow

    print(windrow.open("farm").run().exit_code)

`windrow.open(folder)` returns an object with a method for each command that works in a workspace;
docs/reference/python.md lists the methods.
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
    """Import a public name when it is first used, so that `import windrow.content` does not import all of windrow."""
    if name not in __all__:
        raise AttributeError(f"module 'windrow' has no attribute {name!r}")
    if name in {"Windrow", "init", "open"}:
        windrow_class = import_module("windrow.app").Windrow
        attribute = windrow_class.init if name == "init" else windrow_class
    else:
        attribute = getattr(import_module("windrow.reasons" if name == "Reason" else "windrow.errors"), name)
    globals()[name] = attribute
    return attribute
