"""A user's last look at the changes of a workspace: the number of the newest fact whose changes were listed.

It is stored outside the workspace, in the user's own folder, so that each user has a last look, even a user who may not
write to the workspace.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from windrow.config import Workspace
from windrow.digest import hash64
from windrow.errors import WindrowError
from windrow.ledger import Ledger
from windrow.private_files import write_whole

_MAX_DIGITS = 24  # including a line end


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: opening a pipe for reading would otherwise wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def look_file(workspace: Workspace, ledger: Ledger, source: str, kind: str) -> Path:
    """Return the file with this user's last look at the changes of one kind at a source; empty texts mean all."""
    state_folder = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = hash64("\0".join((str(workspace.root), str(ledger.sessions.identity()), source, kind)))
    return Path(state_folder, "windrow", f"looked-{name % 2**64:016x}")


def read_look(path: Path, last_fact: int) -> int:
    """Return the number of the last fact seen, or 0 if there is no last look.

    Raises WindrowError if the file cannot be read or does not contain a number from 0 to `last_fact`.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            fact = int(file.read(_MAX_DIGITS)) if is_file else -1
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        raise _unusable_look(path, str(error)) from error
    if not 0 <= fact <= last_fact:
        raise _unusable_look(path, f"it does not contain a number from 0 to {last_fact} (the ledger's last fact)")
    return fact


def _unusable_look(path: Path, problem: str) -> WindrowError:
    return WindrowError(
        f"the last look in {path} cannot be used: {problem}",
        hint=f"remove {path}: the next look then lists the changes of all sessions",
    )


def write_look(path: Path, fact: int) -> None:
    """Record the number of the last fact that was seen; raise WindrowError if the file cannot be written."""
    try:
        write_whole(path, (f"{fact}\n",))
    except OSError as error:
        raise WindrowError(
            f"the last look cannot be recorded in {path}: {error.strerror}; the next look lists these changes again",
            hint="set XDG_STATE_HOME to a folder that you may write to",
        ) from error
