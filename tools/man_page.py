"""Write the manual page man/windrow.1 from the commands: `make docs` runs this.

python3 tools/man_page.py man/windrow.1
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from command import verbs
from windrow.errors import EXIT_CODES


def escaped(text: str) -> str:
    r"""Escape a text for roff.

    >>> print(escaped("--json"))
    \-\-json
    """
    escaped_text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", escaped_text)


def page() -> str:
    """Return the manual page in roff."""
    lines = [
        '.TH WINDROW 1 "" "windrow" "User Commands"',
        ".SH NAME",
        "windrow \\- harvest other people's documents, keep every byte, and show the history of each document",
        ".SH SYNOPSIS",
        ".B windrow",
        '.RI [ OPTIONS "] " COMMAND " [" ARGS ]...',
        ".SH COMMANDS",
    ]
    commands = list(verbs())
    for name, command in commands[1:]:
        lines += [f".SS {escaped(name)}", *_described(command)]
    lines += [".SH OPTIONS OF EVERY COMMAND", *_options(commands[0][1], every=True), ".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", f".B {code}", escaped(meaning)]
    lines += [".SH SEE ALSO", "The manual:", ".B windrow help"]
    return "\n".join(lines) + "\n"


def _described(command: click.Command) -> Iterator[str]:
    for part in (command.help or "").split("\n\n"):
        yield from (".PP", escaped(" ".join(part.replace("\b", "").split())))
    yield from _options(command, every=False)


def _options(command: click.Command, *, every: bool) -> Iterator[str]:
    """Yield a command's options in roff: if `every`, those that every command has, otherwise only its own."""
    context = click.Context(command)
    for each in command.get_params(context):
        record = each.get_help_record(context) if isinstance(each, click.Option) else None
        shared = getattr(each, "section", "") == "For every command" or "--help" in each.opts
        if record and shared == every:
            yield from (".TP", f".B {escaped(record[0])}", escaped(" ".join(record[1].split())))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(), encoding="utf-8")
