"""How a command looks and speaks: its help, its options, data on standard output, talk on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from windrow.errors import WindrowError
from windrow.formats.text import Table, escape, escape_json

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
        from windrow.formats.text import message  # noqa: PLC0415

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


DOCS = "docs/reference/commands.md"
EXITS = {
    0: "all well",
    1: "failed",
    2: "wrong usage",
    3: "some or all sources failed",
    4: "wrong configuration",
    5: "locked by another run",
    130: "stopped",
}
"""The exit codes and their meaning, the same for every command."""

WHOLE = 200
"""Characters of a command's one line in a list of commands: none is cut, long ones are wrapped."""

COMMON = "For every command"
SECTIONS = "Options"


class Option(click.Option):
    """An option that stands in a named part of the help."""

    def __init__(
        self, *names: Any, section: str = SECTIONS, values: Callable[[], Iterable[str]] | None = None, **more: Any
    ) -> None:
        """Take what click takes, the part's name, and what the option may be, to be listed in its help."""
        super().__init__(*names, **more)
        self.section = section
        self._values = values

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help, which lists the values that it may have."""
        record = super().get_help_record(ctx)
        if record is None or self._values is None or not self.help:
            return record
        text = f"{self.help.removesuffix('.')}: {', '.join(self._values())}."
        return record[0], record[1].replace(self.help, text, 1)


class _Shape(click.Command):
    """The common shape of commands and of groups of commands."""

    examples: Sequence[str] = ()
    declared_too = False
    """Whether the installed collections may have examples for it."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their parts, those that every command has last."""
        parts: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx) if isinstance(each, click.Option) else None
            if record:
                section = COMMON if "--help" in each.opts else getattr(each, "section", SECTIONS)
                parts.setdefault(section, []).append(record)
        last = parts.pop(COMMON, [])
        for name, rows in [*parts.items(), (COMMON, last)]:
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, exit codes and where to read more."""
        if examples := [*self.examples, *self._declared(ctx)]:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{' ' * formatter.current_indent}{example}\n")
        with formatter.section("Exit codes"):
            formatter.write_text(", ".join(f"{code} {meaning}" for code, meaning in EXITS.items()))
        anchor = ctx.command_path.replace(" ", "-")
        formatter.write(f"\nDocs: {DOCS}#{anchor}\n")

    def _declared(self, ctx: click.Context) -> list[str]:
        """Return the examples of the installed collections that are of this command."""
        if not self.declared_too:
            return []
        from windrow.contract.registry import installed  # noqa: PLC0415 loads what the collections declare

        every = (example for made in installed().values() for example in made.configuration.examples)
        return [one for one in every if one.startswith(f"{ctx.command_path} ")]


class Verb(_Shape):
    """One command."""


class Branch(_Shape, click.Group):
    """A command that has commands below it."""

    command_class = Verb

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below, each with its one line."""
        with formatter.section("Commands"):
            found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
            formatter.write_dl([(name, each.get_short_help_str(WHOLE)) for name, each in found if each])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or suggest the nearest one."""
        from difflib import get_close_matches  # noqa: PLC0415 only a typo needs it

        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = get_close_matches(name, self.list_commands(ctx), 1, 0.5)
            meant = f"; did you mean {near[0]}?" if near else ""
            error = click.UsageError(f"there is no command {name!r}{meant}", ctx)
            error.hint = f"{ctx.command_path} {near[0] if near else '--help'}"  # type: ignore[attr-defined]
            raise error
        return super().resolve_command(ctx, args)


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def keep(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value:
            setattr(ctx.ensure_object(Voice), name, value)
        return value

    return keep


def shared() -> list[click.Parameter]:
    """Return the options that every command has; they are known before another option can fail."""
    folder = click.Path(path_type=Path, file_okay=False)
    return [
        Option(
            ["--json"], is_flag=True, is_eager=True, expose_value=False, callback=_keep("json"), section=COMMON,
            help="Print JSON, one message with its type on each line.",
        ),
        Option(
            ["--workspace"], metavar="DIR", type=folder, is_eager=True, expose_value=False,
            callback=_keep("workspace"), section=COMMON, help="Use this workspace, not the one of the current folder.",
        ),
        Option(
            ["--verbose"], is_flag=True, is_eager=True, expose_value=False, callback=_keep("verbose"), section=COMMON,
            help="Show where in windrow an error came from.",
        ),
    ]  # fmt: skip


def option(*names: str, section: str = SECTIONS, **more: Any) -> Callable[[Any], Any]:
    """Declare an option in a part of the help."""
    return click.option(*names, cls=Option, section=section, **more)


def verb(
    name: str, *, examples: Iterable[str], shape: type[Verb] = Verb, declared: bool = False
) -> Callable[[Callable[..., Any]], Verb]:
    """Make a command of a function, which gets the `Voice` first and returns an exit code or None.

    `examples` hold whatever is installed; with `declared`, those of the collections stand behind them.
    """

    def make(function: Callable[..., Any]) -> Verb:
        made = click.command(name, cls=shape)(click.pass_obj(function))
        made.declared_too = declared
        return _finish(made, examples)

    return make


def branch(name: str, *, examples: Iterable[str], alone: bool = False) -> Callable[[Callable[..., Any]], Branch]:
    """Make a group of commands of a function; with `alone` it does something without a command too."""

    def make(function: Callable[..., Any]) -> Branch:
        made = click.group(name, cls=Branch, invoke_without_command=alone)(click.pass_context(function))
        return _finish(made, examples)

    return make


Made = TypeVar("Made", Verb, Branch)


def _finish(made: Made, examples: Iterable[str]) -> Made:
    made.examples = tuple(examples)
    made.params += shared()
    return made
