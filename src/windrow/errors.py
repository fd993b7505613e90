"""All errors of windrow.

    WindrowError
    ├── UsageError              the command line makes no sense                   exit 2
    ├── ConfigError             windrow.toml or the environment is wrong          exit 4
    │   └── NotAWorkspace       no windrow.toml here or above
    ├── Locked                  another run holds the workspace                   exit 5
    ├── Stopped                 the person stopped the run                        exit 130
    ├── MissingExtra            a part that is not installed is needed
    ├── LedgerError             the ledger cannot be read or written
    ├── ArchiveError            the archive cannot be read or written
    │   └── DiskFull            there is no room for the bytes
    ├── StoreError              a store refused the rows
    │   ├── StoreUnreachable    a store's server does not answer                  transient
    │   └── StoreDamaged        a store's file is not a database any more
    │       └── IndexDamaged    a search index is torn: it is made anew
    ├── StepError               a step cannot read what it was given
    ├── ReaderFailed            a process that reads documents ends before its first one
    └── TransportError          a fetch failed
        ├── TransientFailure    may succeed when tried again                      transient
        └── TerminalFailure     will fail again

Every error has a `reason` where the closed list has one, a `hint` that names what to do next, an
`exit_code`, and `retry`, which is true where trying again may help. An error message says what
happened, to which source and address. Foreign exceptions are mapped where they enter.
"""

from windrow.reasons import Reason


class WindrowError(Exception):
    """Root of the tree."""

    exit_code = 1
    retry = False
    reason: Reason | None = None
    hint = ""

    def __init__(self, message: str, *, hint: str = "", reason: Reason | None = None) -> None:
        """Keep the message and, where given, a better hint and reason than the class has."""
        super().__init__(message)
        self.hint = hint or self.hint
        self.reason = reason or self.reason


class UsageError(WindrowError):
    """The command line makes no sense."""

    exit_code = 2


class ConfigError(WindrowError):
    """The configuration is wrong."""

    exit_code = 4
    hint = "windrow config"


class NotAWorkspace(ConfigError):
    """There is no windrow.toml here or above."""

    hint = "windrow init"


class Locked(WindrowError):
    """Another run holds the workspace."""

    exit_code = 5
    hint = "windrow status"


class Stopped(WindrowError):
    """The person stopped the run."""

    exit_code = 130
    reason = Reason.STOPPED
    hint = "windrow run"


class MissingExtra(WindrowError):
    """A part that is not installed is needed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs the extra '{extra}'",
            hint=f"pip install 'windrow[{extra}]'",
            reason=Reason.NO_TRANSPORT,
        )


class LedgerError(WindrowError):
    """The ledger cannot be read or written."""

    hint = "put a copy of the ledger back, or look at its disk"


class ArchiveError(WindrowError):
    """The archive cannot be read or written."""

    reason = Reason.DISK_FAILED
    hint = "windrow check"


class DiskFull(ArchiveError):
    """There is no room for the bytes."""

    reason = Reason.DISK_FULL
    hint = "make room, then: windrow run"


class StoreError(WindrowError):
    """A store refused the rows."""

    reason = Reason.STORE_FAILED


class StoreUnreachable(StoreError):
    """A store's server does not answer."""

    retry = True
    hint = "start the database, then: windrow run"


class StoreDamaged(StoreError):
    """A store's file is not a database any more."""

    reason = Reason.DISK_FAILED
    hint = "move that file elsewhere, and those that begin with its name; then: windrow run, which makes it anew"


class IndexDamaged(StoreDamaged):
    """A search index is torn: it is made anew."""

    hint = "remove that folder; it is made again"


class StepError(WindrowError):
    """A step cannot read what it was given; raised with a reason, it fails that document only."""

    def __init__(
        self,
        message: str,
        reason: Reason = Reason.STEP_FAILED,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Keep the reason and, where it is known, the place in the document, counted from 1."""
        super().__init__(message, reason=reason)
        self.reason: Reason = reason
        self.line = line
        self.column = column


class ReaderFailed(WindrowError):
    """A process that reads documents ends before its first one: not the fault of a document."""

    hint = "let it have more memory (`ulimit -v`, the limit of its container), then: windrow run"


class TransportError(WindrowError):
    """A fetch failed; always has a reason."""

    def __init__(
        self, message: str, reason: Reason, *, hint: str = "", wait: float | None = None, target: str = ""
    ) -> None:
        """Keep the reason, the seconds after which the server wants to be asked again, and where a redirect leads."""
        super().__init__(message, hint=hint, reason=reason)
        self.reason: Reason = reason
        self.wait = wait
        self.target = target


class TransientFailure(TransportError):
    """May succeed when tried again."""

    retry = True


class TerminalFailure(TransportError):
    """Will fail again however often it is tried."""
