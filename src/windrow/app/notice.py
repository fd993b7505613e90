"""Hand every session's summary to the command that the workspace names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds that the command may take."""


def notify(command: Sequence[str], told: Mapping[str, Any], folder: Path) -> str:
    """Start `command` in `folder` with `told` as JSON on its input; return what went wrong, or nothing.

    What it prints goes to our standard error. Its failure is told but changes no session.

    >>> notify(["false"], {"session": 1}, Path("."))
    'the command of run.notify, false, ended with 1'
    """
    text = json.dumps(told) + "\n"
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 it is the operator's own setting, and no shell reads it
            list(command), input=text.encode(), stdout=_talk(), cwd=folder, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the command of run.notify, {name}, took more than {PATIENCE:g} seconds and was ended"
    except OSError as error:
        return f"the command of run.notify, {name}, cannot be started: {error.strerror}"
    return f"the command of run.notify, {name}, ended with {done.returncode}" if done.returncode else ""


def _talk() -> int:
    """Return where talk goes: our standard error, or nowhere if it is not a real file."""
    try:
        return sys.stderr.fileno()
    except (OSError, AttributeError):
        return subprocess.DEVNULL
