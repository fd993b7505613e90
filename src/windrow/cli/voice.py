"""What a command says, and where: data on standard output, talk on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.display import Table
from windrow.errors import WindrowError
from windrow.formats.terminal import escape, escape_json

if TYPE_CHECKING:
    from windrow.app import Windrow


def clean(text: str | Iterable[str]) -> str:
    r"""Make a line, or lines, harmless to a terminal: a line end within one is spelled, and makes no line of its own.

    >>> clean("red \x1b[31m name")
    'red \\x1b[31m name'
    >>> clean(["a\nb", "c"])
    'a\\nb\nc'
    """
    lines = [text] if isinstance(text, str) else text
    laid = (part for line in lines for part in (line.split("\n") if isinstance(line, Table) else [line]))
    return "\n".join(map(escape, laid))


class OutputFailed(WindrowError):
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

        return Windrow(flags=flags, named=self.workspace)

    def data(self, text: str | Iterable[str]) -> None:
        """Print what was asked for: a line, or lines, of which a table is one."""
        _write(sys.stdout, clean(text))

    @property
    def lively(self) -> bool:
        """Tell whether a person reads standard output, at a terminal that shows bold text."""
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")

    def drawn(self, text: str) -> None:
        """Print what was asked for and is clean already, apart from our own marks for the terminal."""
        _write(sys.stdout, text)

    def talk(self, text: str | Iterable[str]) -> None:
        """Print a line or lines that are said beside it; nothing when `--quiet`."""
        if not self.quiet:
            _write(sys.stderr, clean(text))

    def message(self, kind: str, value: Any, *, omit_empty: bool = False) -> None:
        """Print one line of JSON with its type."""
        from windrow.json_form import message  # noqa: PLC0415

        _write(sys.stdout, escape_json(json.dumps(message(kind, value, omit_empty=omit_empty))))
        sys.stdout.flush()

    def error(self, text: str, hint: str, code: int, reason: str = "") -> None:
        """Say what went wrong and what to try, whatever else is quiet."""
        if self.json:
            told = {"type": "error", "message": text, "hint": hint, "exit_code": code, "reason": reason}
            _write(sys.stderr, escape_json(json.dumps(told)))
            return
        lines = [f"windrow: {' '.join(text.split())}", *([f"try: {hint}"] if hint else [])]
        _write(sys.stderr, clean(lines))


def spell_strange(stream: Any, encoding: str | None = None) -> None:
    r"""Have a stream spell the characters that its encoding has not, such as `\u2192`, and not fail over them."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _write(stream: Any, text: str) -> None:
    try:
        stream.write(text + "\n")
    except BrokenPipeError:
        raise  # the reader has what it wanted; click ends in silence
    except OSError as error:
        raise OutputFailed(f"standard output cannot be written: {error.strerror}") from error
