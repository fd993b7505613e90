"""A user's last look at the changes of a workspace, stored as the last fact of the sessions that were listed.

The last look is stored outside the workspace, in the user's own folder, so that each user has a last look, even a user
who may not write in the workspace.
"""

from __future__ import annotations

import os
from pathlib import Path

from windrow.config import Workspace
from windrow.digest import hash64
from windrow.errors import WindrowError
from windrow.ledger import Ledger


def look_file(workspace: Workspace, ledger: Ledger, source: str, kind: str) -> Path:
    """Return the file with this user's last look at changes of a source and a kind. An empty name means all."""
    state_folder = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = hash64("\0".join((str(workspace.root), ledger.sessions.first(), source, kind)))
    return Path(state_folder, "windrow", f"looked-{name % 2**64:016x}")


def read_look(path: Path) -> int:
    """Return the number of the last fact seen, or 0 without a last look; raise WindrowError for an unreadable file."""
    try:
        return int(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        raise WindrowError(
            f"the last look in {path} cannot be used: {error}",
            hint=f"remove {path}: the next look then lists the changes of all sessions",
        ) from error


def write_look(path: Path, fact: int) -> None:
    """Record the number of the last fact that was seen; raise WindrowError if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        draft.write_text(f"{fact}\n", encoding="ascii")
        draft.replace(path)
    except OSError as error:
        raise WindrowError(
            f"the last look cannot be recorded in {path}: {error.strerror}; the next look lists these changes again",
            hint="set XDG_STATE_HOME to a folder that you may write",
        ) from error
