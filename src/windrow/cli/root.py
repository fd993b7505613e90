"""The entry point of the command line: loads commands, and reports an error as a line, a hint and an exit code."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from windrow.cli.command import (
    SHORT_HELP_LIMIT,
    CommandGroup,
    Console,
    OutputFailed,
    discard_output,
    escape_unencodable,
    shared_options,
)
from windrow.errors import DISK_FULL_ERRNOS, WindrowError
from windrow.reasons import Reason

COMMANDS = {
    "Begin": {"demo": "trial", "init": "new", "new": "new", "config": "export"},
    "Harvest": {"run": "run", "try": "trial", "replay": "run"},
    "Look": {
        "search": "search",
        "status": "status",
        "serve": "serve",
        "changes": "changes",
        "why": "why",
        "diff": "changes",
        "check": "operator",
        "extract": "export",
        "export": "export",
    },
    "Decide": {"retry": "operator", "cancel": "operator", "forget": "operator"},
    "More": {"help": "help", "completion": "help"},
}
"""For each part of the help, a dict from its commands to the modules of this package that define them."""

_MODULES = {name: module for part in COMMANDS.values() for name, module in part.items()}


class Root(CommandGroup):
    """The command `windrow`. It imports the module of a subcommand when the subcommand is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's own signature
        """Return the names of all commands, in the order of the help."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command and return it; None if no command has this name."""
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"windrow.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by part, each with one line of help."""
        width = max(map(len, _MODULES))
        for part, names in COMMANDS.items():
            with formatter.section(part):
                rows = [(name.ljust(width), self.get_command(ctx, name)) for name in names]
                formatter.write_dl(
                    [(name, command.get_short_help_str(SHORT_HELP_LIMIT)) for name, command in rows if command]
                )


def _print_version(ctx: click.Context, _param: click.Parameter, is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version  # noqa: PLC0415 slow, and rarely needed

        click.echo(f"windrow {version('windrow')}")
        ctx.exit(0)


@click.group("windrow", cls=Root, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.pass_context
def root(ctx: click.Context) -> None:
    """Harvest other people's documents, keep every byte, and show the history of each document."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


root.params += shared_options()
root.examples = ("windrow init", "windrow run", "windrow why https://example.org/a/page")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        escape_unencodable(stream)
    console = Console()
    warnings.showwarning = lambda message, *_: console.inform(f"warning: {message}")
    arguments = sys.argv[1:] if args is None else args
    standard_output = sys.stdout
    try:
        code = root.main(args, "windrow", standalone_mode=False, obj=console)
    except click.exceptions.Abort as error:
        code = _report_abort(console, error)
    except click.exceptions.NoArgsIsHelpError as error:
        code = _report_missing_subcommand(console, error)
    except click.ClickException as error:
        code = _report_usage(console, error, arguments)
    except WindrowError as error:
        _print_traceback(console)
        console.error(str(error), error.hint or _default_hint(error, arguments), error.exit_code, error.reason or "")
        code = error.exit_code
    except OSError as error:
        code = _report_os_error(console, error)
    except SystemExit as ended:
        code = _report_exit(console, ended) if sys.stdout is standard_output else 0
        sys.stdout = standard_output
    code = _flush(console) or code
    # The command has ended: a further Ctrl-C must not print a traceback while the process ends.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.exit(code if isinstance(code, int) else 0)


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams that were closed, as by `2>&-`.

    Otherwise the next file that is opened, such as a database, would get the descriptor of a standard stream. Writing
    to a closed standard output still fails, because its null device is opened only for reading. Writing to a closed
    standard error does not fail, so the command goes on.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 never closed


def _report_abort(console: Console, error: click.exceptions.Abort) -> int:
    """Report that the user stopped the command, or that a process of windrow ended: click raises Abort for both."""
    if isinstance(error.__cause__, EOFError):
        _print_traceback(console)
        console.error("a process of windrow ended while another waited for it", "windrow run", 1)
        return 1
    console.error("stopped", "", 130)
    return 130


def _report_exit(console: Console, ended: SystemExit) -> int | str | None:
    """Report an exit that is not click's own: no command of windrow exits itself, but another maker's code may.

    Click exits to complete a word for a shell, and, after it replaced standard output, if the program that reads the
    output has ended.
    """
    if "_WINDROW_COMPLETE" in os.environ:
        return ended.code
    _print_traceback(console)
    console.error(f"the command did not end: code that it called exited with {ended.code!r}", "windrow config", 1)
    return 1


def _report_os_error(console: Console, error: OSError) -> int:
    _print_traceback(console)
    location = f"{error.filename}: " if error.filename else ""
    hint = f"ls -ld {error.filename}" if error.filename else "windrow config"
    console.error(f"{location}{error.strerror or error}", hint, 1, _reason_of(error) or "")
    return 1


def _reason_of(error: OSError) -> Reason | None:
    if error.errno in DISK_FULL_ERRNOS:
        return Reason.DISK_FULL
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return Reason.PERMISSION_DENIED
    return Reason.DISK_FAILED if error.errno == errno.EIO else None


def _guess_command(arguments: Sequence[str]) -> str:
    return next((f"windrow {argument}" for argument in arguments if argument in _MODULES), "windrow")


def _default_hint(error: WindrowError, arguments: Sequence[str]) -> str:
    path = _guess_command(arguments)
    return f"{path} --help" if error.exit_code == 2 or path == "windrow try" else "windrow status"


def _report_missing_subcommand(console: Console, error: click.exceptions.NoArgsIsHelpError) -> int:
    group = error.ctx.command if error.ctx else None
    subcommands = ", ".join(group.list_commands(error.ctx)) if isinstance(group, click.Group) and error.ctx else ""
    path = error.ctx.command_path if error.ctx else "windrow"
    console.error(f"{path} needs a subcommand: {subcommands}", f"{path} --help", 2)
    return 2


def _report_usage(console: Console, error: click.ClickException, arguments: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else _guess_command(arguments)
    # Click stops at an unknown option, and does not see a `--json` after it.
    console.json = console.json or "--json" in arguments
    text = error.format_message()
    text = text[:1].lower() + text[1:].removesuffix(".")
    console.error(text, getattr(error, "hint", "") or f"{path} --help", 2)
    return 2


def _print_traceback(console: Console) -> None:
    if console.verbose:
        import traceback  # noqa: PLC0415 only an error with --verbose needs it

        traceback.print_exc()


def _flush(console: Console) -> int:
    """Flush standard output; return 0 on success or if the program that reads it has ended, otherwise an exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        discard_output(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            failure = OutputFailed(f"standard output cannot be written: {error.strerror}")
            console.error(str(failure), failure.hint, failure.exit_code)
            return failure.exit_code
    return 0
