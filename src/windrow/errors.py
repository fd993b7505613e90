"""The errors of windrow.

    WindrowError
    ├── UsageError              a command or an argument is not valid             exit 2
    ├── ConfigError             the configuration is wrong                        exit 4
    │   └── NotAWorkspace       no windrow.toml was found
    ├── Locked                  another run uses the workspace                    exit 5
    ├── Stopped                 the user stopped the run                          exit 130
    ├── MissingExtra            an extra of windrow is needed and not installed
    ├── LedgerError             the ledger cannot be read or written
    ├── ArchiveError            the archive cannot be read or written
    │   └── DiskFull            the disk has no room for the bytes
    ├── StoreError              a store refused rows, or cannot be read or written
    │   ├── StoreUnreachable    a store's server does not answer                  transient
    │   └── StoreDamaged        a store's file is no longer a valid database
    │       └── IndexDamaged    a search index is damaged, and must be built again
    ├── StepError               a document cannot be read
    ├── ReaderFailed            a reader process ended before its first document
    └── TransportError          a fetch failed
        ├── TransientFailure    may succeed when tried again                      transient
        └── TerminalFailure     is expected to fail again

Every error has an `exit_code` (1 unless the error or its base class has another one above), a `reason` if the closed
list has one for the error, a `hint` that says what to do next (empty: none), and `retry`, which is true if trying again
may help. Exceptions of libraries are mapped to these errors where they occur.
"""

import errno

from windrow.reasons import Reason

SOURCES_FAILED = 3
"""The exit code of a session in which sources failed."""

EXIT_CODES = {
    0: "all well",
    1: "failed",
    2: "wrong usage",
    SOURCES_FAILED: "some or all sources failed",
    4: "wrong configuration",
    5: "locked by another run",
    130: "stopped",
}
"""The exit codes and their meaning, the same for every command."""

DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The `errno` values that mean that a disk is full, a quota is used up, or a file has reached its maximum size."""


class WindrowError(Exception):
    """Base class of all errors of windrow."""

    exit_code = 1
    retry = False
    reason: Reason | None = None
    hint = ""

    def __init__(self, message: str, *, hint: str = "", reason: Reason | None = None) -> None:
        """Store the message. Without a hint or reason, the error has the hint or reason of its class."""
        super().__init__(message)
        self.hint = hint or self.hint
        self.reason = reason or self.reason


class UsageError(WindrowError):
    """A command or an argument is not valid."""

    exit_code = 2


class ConfigError(WindrowError):
    """The configuration is wrong."""

    exit_code = 4
    hint = "windrow config"


class NotAWorkspace(ConfigError):
    """No windrow.toml was found."""

    hint = "windrow init"


class Locked(WindrowError):
    """Another run uses the workspace."""

    exit_code = 5
    hint = "windrow status"


class Stopped(WindrowError):
    """The user stopped the run."""

    exit_code = 130
    reason = Reason.STOPPED
    hint = "windrow run"


class MissingExtra(WindrowError):
    """An extra of windrow is needed and not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        """Make the message `PURPOSE needs the extra 'EXTRA'`, with a hint that says how to install the extra."""
        super().__init__(
            f"{purpose} needs the extra '{extra}'", hint=f"pip install 'windrow[{extra}]'", reason=Reason.NO_TRANSPORT
        )


class LedgerError(WindrowError):
    """The ledger cannot be read or written."""

    hint = "restore a copy of the ledger, or check its disk"


class ArchiveError(WindrowError):
    """The archive cannot be read or written."""

    reason = Reason.DISK_FAILED
    hint = "windrow check"


class DiskFull(ArchiveError):
    """The disk has no room for the bytes."""

    reason = Reason.DISK_FULL
    hint = "free some space, then: windrow run"


class StoreError(WindrowError):
    """A store refused rows, or cannot be read or written."""

    reason = Reason.STORE_FAILED


class StoreUnreachable(StoreError):
    """A store's server does not answer."""

    retry = True
    hint = "start the database, then: windrow run"


class StoreDamaged(StoreError):
    """A store's file is no longer a valid database."""

    reason = Reason.DISK_FAILED
    hint = "if the file is another program's, correct the setting that names it; otherwise move away all files whose"
    hint += " names begin with the name of this file: windrow run makes a new one"


class IndexDamaged(StoreDamaged):
    """A search index is damaged, and must be built again."""

    hint = "remove this folder: windrow builds the index again"


class StepError(WindrowError):
    """A document cannot be read. A step that raises this error fails for this document only, with the given reason."""

    def __init__(
        self, message: str, reason: Reason = Reason.STEP_FAILED, *, line: int | None = None, column: int | None = None
    ) -> None:
        """Store the reason, and the line and column in the document, counted from 1 (None: unknown)."""
        super().__init__(message, reason=reason)
        self.reason: Reason = reason
        self.line = line
        self.column = column


class ReaderFailed(WindrowError):
    """A reader process ended before its first document, so a document cannot be the cause."""

    hint = "give it more memory (`ulimit -v`, the limit of its container), then: windrow run"


class TransportError(WindrowError):
    """A fetch failed; `reason` is never None."""

    def __init__(
        self, message: str, reason: Reason, *, hint: str = "", wait: float | None = None, target: str = ""
    ) -> None:
        """Store the reason, the seconds that the server asked to wait (None: it did not), and a redirect's target."""
        super().__init__(message, hint=hint, reason=reason)
        self.reason: Reason = reason
        self.wait = wait
        self.target = target


class TransientFailure(TransportError):
    """A fetch failed and may succeed when tried again."""

    retry = True


class TerminalFailure(TransportError):
    """A fetch failed and is expected to fail again if it is tried again at once."""
