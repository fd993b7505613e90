"""The top of the command line: finds commands, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from windrow.cli.verb import WHOLE, Branch, OutputFailed, Voice, shared, spell_strange
from windrow.errors import WindrowError
from windrow.reasons import Reason

COMMANDS = {
    "Begin": {"demo": "trial", "init": "new", "new": "new", "config": "export"},
    "Harvest": {"run": "run", "try": "trial", "replay": "run"},
    "Look": {
        "search": "search",
        "status": "status",
        "changes": "changes",
        "why": "why",
        "diff": "changes",
        "check": "operator",
        "extract": "extract",
        "export": "export",
    },
    "Decide": {"retry": "operator", "cancel": "operator", "forget": "operator"},
    "More": {"help": "help", "completion": "help"},
}
"""Every command, in the order of the help: part, name, and the module here whose `NAME_command` it is."""

_MODULES = {name: module for part in COMMANDS.values() for name, module in part.items()}


class Root(Branch):
    """Loads a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's own signature
        """Return all names, in the order of the help."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command."""
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"windrow.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their parts, each with its one line."""
        width = max(map(len, _MODULES))
        for part, names in COMMANDS.items():
            with formatter.section(part):
                rows = [(name.ljust(width), self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(name, found.get_short_help_str(WHOLE)) for name, found in rows if found])


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version  # noqa: PLC0415 slow, and rarely asked

        click.echo(f"windrow {version('windrow')}")
        ctx.exit(0)


@click.group("windrow", cls=Root, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.pass_context
def root(ctx: click.Context) -> None:
    """Harvest other people's documents, keep every byte, and answer for each of them."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


root.params += shared()
root.examples = ("windrow init", "windrow run", "windrow why https://example.org/a/page")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        spell_strange(stream)
    voice = Voice()
    words = sys.argv[1:] if args is None else args
    try:
        code = root.main(args, "windrow", standalone_mode=False, obj=voice)
    except click.exceptions.Abort:
        voice.error("stopped", "", 130)
        code = 130
    except click.exceptions.NoArgsIsHelpError as error:
        code = _alone(voice, error)
    except click.ClickException as error:
        code = _misused(voice, error, words)
    except WindrowError as error:
        _trace(voice)
        voice.error(str(error), error.hint or _way_out(error, words), error.exit_code, error.reason or "")
        code = error.exit_code
    except OSError as error:
        code = _refused(voice, error)
    code = _flush(voice) or code
    sys.exit(code if isinstance(code, int) else 0)


def _open_closed_streams() -> None:
    """Put something in the place of standard streams that were closed, as by `2>&-`.

    Else the next file that is opened, such as a database, would have the number of one. What is written to a closed
    standard output fails; what is said on a closed standard error is lost, and the work goes on.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            setattr(sys, name, open(opened, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 a stream of the process


def _refused(voice: Voice, error: OSError) -> int:
    """Tell of a file or folder that the system does not let us have."""
    _trace(voice)
    where = f"{error.filename}: " if error.filename else ""
    hint = f"ls -ld {error.filename}" if error.filename else "windrow config"
    voice.error(f"{where}{error.strerror or error}", hint, 1, Reason.DISK_FAILED)
    return 1


def _path(words: Sequence[str]) -> str:
    """Return the command that was asked for, as far as the words tell."""
    return next((f"windrow {word}" for word in words if word in _MODULES), "windrow")


def _way_out(error: WindrowError, words: Sequence[str]) -> str:
    """Name the next command for an error that names none itself."""
    path = _path(words)
    return f"{path} --help" if error.exit_code == 2 or path == "windrow try" else "windrow status"


def _alone(voice: Voice, error: click.exceptions.NoArgsIsHelpError) -> int:
    """Answer a group of commands that was asked without one."""
    group = error.ctx.command if error.ctx else None
    below = ", ".join(group.list_commands(error.ctx)) if isinstance(group, click.Group) and error.ctx else ""
    path = error.ctx.command_path if error.ctx else "windrow"
    voice.error(f"{path} needs a command after it; there is {below}", f"{path} --help", 2)
    return 2


def _misused(voice: Voice, error: click.ClickException, args: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else _path(args)
    # An option that does not exist hides a `--json` behind it.
    voice.json = voice.json or "--json" in args
    text = error.format_message()
    text = text[:1].lower() + text[1:].removesuffix(".")
    voice.error(text, getattr(error, "hint", "") or f"{path} --help", 2)
    return 2


def _trace(voice: Voice) -> None:
    if voice.verbose:
        import traceback  # noqa: PLC0415 only an error needs it

        traceback.print_exc()


def _flush(voice: Voice) -> int:
    """Write out what is left, and tell whether that failed; a reader that went away is no error of ours."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            lost = OutputFailed(f"standard output cannot be written: {error.strerror}")
            voice.error(str(lost), lost.hint, lost.exit_code)
            return lost.exit_code
    return 0
