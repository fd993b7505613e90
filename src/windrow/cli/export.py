"""`windrow export`: the standard's own forms, as plain text on standard output."""

from __future__ import annotations

import sys

import click

from windrow.cli.kind import exports
from windrow.cli.verb import Verb, option, verb
from windrow.cli.voice import OutputFailed, Voice, spell_strange
from windrow.display import counted


class ExportCommand(Verb):
    """`export`, with what the archive and the installed collections can write."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what there is and in which forms, then the options."""
        from windrow.app.export import forms  # noqa: PLC0415 loads the collections

        with formatter.section("What there is"):
            formatter.write_dl(
                [
                    (f"{name}, as {', '.join(one.forms)}", f"{one.help[:1].upper()}{one.help[1:]}.")
                    for name, one in forms().items()
                ]
            )
        super().format_options(ctx, formatter)


@verb(
    "export",
    shape=ExportCommand,
    examples=[
        "windrow export captures --as cdxj > index.cdxj",
        "windrow export captures --as cdxj | gzip > index.cdxj.gz",
    ],
    declared=True,
)
@click.argument("what", metavar="WHAT", shell_complete=exports)
@option("--as", "form", required=True, metavar="FORM", help="How it is written: see what there is.")
def command(voice: Voice, what: str, form: str) -> int:
    """Write what the workspace holds in a form of its own standard, to standard output.

    WHAT is one of the names below: of the archive, and of the collections that are installed.
    """
    from windrow.app.export import export  # noqa: PLC0415 `--help` needs no database

    workspace = voice.open()
    spell_strange(sys.stdout, "utf-8")  # whatever a terminal here shows: files of these forms are UTF-8
    try:
        count, unit = export(workspace.config, what, form, sys.stdout)
    except BrokenPipeError:
        raise  # the reader has what it wanted
    except OSError as error:
        raise OutputFailed(f"standard output cannot be written: {error.strerror}") from error
    voice.talk(f"{counted(count, unit.removesuffix('s'))} written")
    return 0
