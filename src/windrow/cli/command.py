"""Shared by all commands: the layout of the help, common options, and the printing of results and remarks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from windrow.errors import EXIT_CODES, WindrowError
from windrow.formats.text import Table, escape, escape_json, shorten
from windrow.renamed import COMMANDS, OPTIONS, current_name

if TYPE_CHECKING:
    from windrow.app import Windrow


def escape_lines(text: str | Iterable[str]) -> str:
    r"""Join lines after escaping their control characters and line ends; the line ends in tables are kept.

    >>> escape_lines("red \x1b[31m name")
    'red \\x1b[31m name'
    >>> escape_lines(["a\nb", "c"])
    'a\\nb\nc'
    """
    lines = [text] if isinstance(text, str) else text
    rows = (row for line in lines for row in (line.split("\n") if isinstance(line, Table) else [line]))
    return "\n".join(map(escape, rows))


def shorten_lines(lines: Iterable[str]) -> list[str]:
    """Shorten each line that is not a table: the cells of a table are short."""
    return [line if isinstance(line, Table) else shorten(line) for line in lines]


class OutputFailed(WindrowError):
    """Standard output or standard error cannot be written to."""

    hint = "make room on the disk, or write to another file, and run the command again"


_IS_PRIVATE = "windrow.private_files"
"""The key in the `meta` of a command's context that is set once `private_files` applies to the command."""


@dataclass
class Console:
    """Prints the results and remarks of a command; its fields are the options that every command has, and `--quiet`."""

    json: bool = False
    verbose: bool = False
    quiet: bool = False
    workspace: Path | None = None

    def open(self, flags: Mapping[str, Any] | None = None, needed: Sequence[str] = ()) -> Windrow:
        """Open the workspace of `--workspace`, by default that of the current folder.

        `flags` is a dict from settings to their values. If `needed` names sources and collections, a wrong setting of
        any other source only makes that source unusable.
        """
        from windrow.app import Windrow  # noqa: PLC0415 `--help` needs no workspace
        from windrow.private_files import private_files  # noqa: PLC0415 as above

        workspace = Windrow(flags=flags, named=self.workspace, needed=needed)
        context = click.get_current_context(silent=True)
        if context is not None and _IS_PRIVATE not in context.meta:
            context.meta[_IS_PRIVATE] = True
            context.with_resource(private_files(group_reads=workspace.config.run.group_reads))
        return workspace

    def print(self, text: str | Iterable[str]) -> None:
        """Print one or several lines of results to standard output; a line may also be a table."""
        _write(sys.stdout, escape_lines(text))

    @property
    def styled(self) -> bool:
        """Whether to print colours and bold text: output is a terminal that shows them, and NO_COLOR is not set."""
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")

    def print_raw(self, text: str) -> None:
        """Print results to standard output without escaping; the caller has escaped all text from outside."""
        _write(sys.stdout, text)

    def inform(self, text: str | Iterable[str]) -> None:
        """Print one or several lines of remarks to standard error, unless the option `--quiet` is given."""
        if not self.quiet:
            _write(sys.stderr, escape_lines(text))

    def message(self, kind: str, body: Any, *, omit_empty: bool = False) -> None:
        """Print a message of the type `kind` as a line of JSON. `body` is a mapping, a named tuple or a dataclass."""
        from windrow.formats.text import json_message  # noqa: PLC0415

        _write(sys.stdout, escape_json(json.dumps(json_message(kind, body, omit_empty=omit_empty))), flush=True)

    def error(self, text: str, hint: str, code: int, reason: str = "") -> None:
        """Print an error and its hint to standard error, even with `--quiet`; `--json` makes them a line of JSON."""
        if self.json:
            message = {"type": "error", "message": text, "hint": hint, "exit_code": code, "reason": reason}
            _write(sys.stderr, escape_json(json.dumps(message)))
            return
        lines = [f"windrow: {' '.join(text.split())}", *([f"try: {hint}"] if hint else [])]
        _write(sys.stderr, escape_lines(lines))


def escape_unencodable(stream: Any, encoding: str | None = None) -> None:
    r"""Make a stream write escapes such as `\u2192` for characters that are not in its encoding, instead of failing.

    If `encoding` is given, the stream uses it from now on.
    """
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding=encoding, errors="backslashreplace")


def discard_output(stream: Any) -> None:
    """Redirect a stream to the null device after writing to it has failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _write(stream: Any, text: str, *, flush: bool = False) -> None:
    """Write a line; raise OutputFailed if this fails.

    If the program that reads the stream has ended, nothing is raised: the command ends with its own exit code.
    """
    try:
        stream.write(text + "\n")
        if flush:
            stream.flush()
    except BrokenPipeError:
        discard_output(stream)
    except OSError as error:
        name = "error" if stream is sys.stderr else "output"
        raise OutputFailed(f"standard {name} cannot be written: {error.strerror}") from error


DOCS_PAGE = "docs/reference/commands.md"
SHORT_HELP_LIMIT = 200
"""The maximum length of a command's line in a list of commands, in characters. No line is longer, so none is cut."""

COMMON_SECTION = "For every command"
DEFAULT_SECTION = "Options"


class Option(click.Option):
    """An option that is shown in a named section of the help."""

    def __init__(
        self, *names: Any, section: str = DEFAULT_SECTION, choices: Callable[[], Iterable[str]] | None = None, **kw: Any
    ) -> None:
        """Take click's arguments, the section of the help, and a function that returns the choices to add to `help`."""
        super().__init__(*names, **kw)
        self.section = section
        self._choices = choices

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help, with its choices added; None if the option is hidden."""
        record = super().get_help_record(ctx)
        if record is None or self._choices is None or not self.help:
            return record
        text = f"{self.help.removesuffix('.')}: {', '.join(self._choices())}."
        return record[0], record[1].replace(self.help, text, 1)


class _HelpLayout(click.Command):
    examples: Sequence[str] = ()
    with_declared_examples = False
    """Whether the help shows the examples that installed collections declare for the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace old names of options with their present names, then parse."""
        end = args.index("--") if "--" in args else len(args)
        path = f"{ctx.command_path} "
        words = [word.partition("=") for word in args[:end]]
        renamed = [
            current_name(OPTIONS, path + name).removeprefix(path) + equals + text for name, equals, text in words
        ]
        return super().parse_args(ctx, renamed + args[end:])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section; the common options are last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record:
                section = COMMON_SECTION if "--help" in param.opts else getattr(param, "section", DEFAULT_SECTION)
                sections.setdefault(section, []).append(record)
        common = sections.pop(COMMON_SECTION, [])
        for section, records in [*sections.items(), (COMMON_SECTION, common)]:
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, the exit codes, and the address of the manual's page."""
        if examples := [*self.examples, *self._declared_examples(ctx)]:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{' ' * formatter.current_indent}{example}\n")
        with formatter.section("Exit codes"):
            formatter.write_text(", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()))
        anchor = ctx.command_path.replace(" ", "-")
        formatter.write(f"\nDocs: {DOCS_PAGE}#{anchor}\n")

    def _declared_examples(self, ctx: click.Context) -> list[str]:
        if not self.with_declared_examples:
            return []
        from windrow.contract.registry import installed  # noqa: PLC0415 loads what the collections declare

        examples = (example for collection in installed().values() for example in collection.configuration.examples)
        return [example for example in examples if example.startswith(f"{ctx.command_path} ")]


class Command(_HelpLayout):
    """A command without subcommands, with windrow's help layout."""


class CommandGroup(_HelpLayout, click.Group):
    """A command with subcommands, with windrow's help layout."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, each with one line of help."""
        with formatter.section("Commands"):
            commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
            rows = [(name, command.get_short_help_str(SHORT_HELP_LIMIT)) for name, command in commands if command]
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a subcommand; for an unknown name, raise a usage error that suggests a similar name, if there is one."""
        from difflib import get_close_matches  # noqa: PLC0415 only a typo needs it

        name = current_name(COMMANDS, f"{ctx.command_path} {args[0]}").removeprefix(f"{ctx.command_path} ")
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            matches = get_close_matches(name, self.list_commands(ctx), 1, 0.5)
            suggestion = f"; did you mean {matches[0]}?" if matches else ""
            error = click.UsageError(f"there is no command {name!r}{suggestion}", ctx)
            error.hint = f"{ctx.command_path} {matches[0] if matches else '--help'}"  # type: ignore[attr-defined]
            raise error
        return super().resolve_command(ctx, [name, *args[1:]])


def _console_setter(attribute: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def set_attribute(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value:
            setattr(ctx.ensure_object(Console), attribute, value)
        return value

    return set_attribute


def shared_options() -> list[click.Parameter]:
    """Return the options that every command has. Click handles them first, even if another option's value is wrong."""
    folder = click.Path(path_type=Path, file_okay=False)
    return [
        Option(
            ["--json"], is_flag=True, is_eager=True, expose_value=False,
            callback=_console_setter("json"), section=COMMON_SECTION,
            help="Print JSON, one message with its type on each line.",
        ),
        Option(
            ["--workspace"], metavar="DIR", type=folder, is_eager=True, expose_value=False,
            callback=_console_setter("workspace"), section=COMMON_SECTION,
            help="Use this workspace, not the one of the current folder.",
        ),
        Option(
            ["--verbose"], is_flag=True, is_eager=True, expose_value=False,
            callback=_console_setter("verbose"), section=COMMON_SECTION,
            help="Show where in windrow an error came from.",
        ),
    ]  # fmt: skip


def option(*names: str, section: str = DEFAULT_SECTION, **kw: Any) -> Callable[[Any], Any]:
    """Declare an option that is shown in the section `section` of the help. `kw` are further arguments for `Option`."""
    return click.option(*names, cls=Option, section=section, **kw)


def command(
    name: str, *, examples: Iterable[str], shape: type[Command] = Command, declared: bool = False
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command. Its first argument is the `Console`; it returns an exit code, or None for 0.

    `examples` are shown in its help; if `declared` is true, examples that installed collections declare follow. `shape`
    is the command's class.
    """

    def make(function: Callable[..., Any]) -> Command:
        decorated = click.command(name, cls=shape)(click.pass_obj(function))
        decorated.with_declared_examples = declared
        return _add_shared(decorated, examples)

    return make


def command_group(
    name: str, *, examples: Iterable[str], is_command: bool = False
) -> Callable[[Callable[..., Any]], CommandGroup]:
    """Make a function a group of commands. If `is_command` is set, it can be called without a subcommand."""

    def make(function: Callable[..., Any]) -> CommandGroup:
        group = click.group(name, cls=CommandGroup, invoke_without_command=is_command)(click.pass_context(function))
        return _add_shared(group, examples)

    return make


AnyCommand = TypeVar("AnyCommand", Command, CommandGroup)


def _add_shared(command: AnyCommand, examples: Iterable[str]) -> AnyCommand:
    command.examples = tuple(examples)
    command.params += shared_options()
    return command
