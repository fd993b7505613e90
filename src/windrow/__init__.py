"""Harvest other people's documents, keep every byte, and answer for each of them.

    import windrow

    print(windrow.open("farm").run().exit_code)

`windrow.open(folder)` has a method for every command of the command line: docs/reference/python.md.
"""

from windrow.app import Windrow
from windrow.app import Windrow as open  # noqa: A004, N813 `windrow.open(dir)` reads as it should
from windrow.errors import (
    ArchiveError,
    ConfigError,
    DiskFull,
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
