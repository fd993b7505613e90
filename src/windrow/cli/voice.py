"""What a command says, and where: data on standard output, talk on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from windrow.app import Windrow

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    r"""Make foreign text harmless to a terminal; line ends stay.

    >>> clean("red \x1b[31m name")
    'red \\x1b[31m name'
    """
    harmless = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return harmless.encode("utf-8", "backslashreplace").decode()


class Unspoken(WindrowError):
    """What was asked for could not be printed."""

    hint = "make room there, or name another file, and ask again"


@dataclass
class Voice:
    """How the person wants to be spoken to: the options that every command has."""

    json: bool = False
    verbose: bool = False
    quiet: bool = False
    workspace: Path | None = None

    def open(self, flags: Mapping[str, Any] | None = None) -> Windrow:
        """Open the workspace that is meant."""
        from windrow.app import Windrow  # noqa: PLC0415 `--help` needs no workspace

        return Windrow(".", flags, named=self.workspace)

    def data(self, text: str) -> None:
        """Print what was asked for."""
        _write(sys.stdout, clean(text))

    @property
    def lively(self) -> bool:
        """Tell whether a person reads standard output, at a terminal that shows bold text."""
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")

    def drawn(self, text: str) -> None:
        """Print what was asked for and is clean already, apart from our own marks for the terminal."""
        _write(sys.stdout, text)

    def talk(self, text: str) -> None:
        """Print what is said beside it; nothing when `--quiet`."""
        if not self.quiet:
            _write(sys.stderr, clean(text))

    def message(self, kind: str, value: Any, *, spare: bool = False) -> None:
        """Print one line of JSON with its type."""
        from windrow.app.form import message  # noqa: PLC0415

        _write(sys.stdout, json.dumps(message(kind, value, spare=spare)))
        sys.stdout.flush()

    def error(self, text: str, hint: str, code: int, reason: str = "") -> None:
        """Say what went wrong and what to try, whatever else is quiet."""
        if self.json:
            told = {"type": "error", "message": text, "hint": hint, "exit_code": code, "reason": reason}
            _write(sys.stderr, json.dumps(told))
            return
        lines = [f"windrow: {' '.join(text.split())}", *([f"try: {hint}"] if hint else [])]
        _write(sys.stderr, clean("\n".join(lines)))


def _write(stream: Any, text: str) -> None:
    try:
        stream.write(text + "\n")
    except BrokenPipeError:
        raise  # the reader has what it wanted; click ends in silence
    except OSError as error:
        raise Unspoken(f"standard output cannot be written: {error.strerror}") from error
