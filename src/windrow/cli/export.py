"""`windrow export`: the standard's own forms, as plain text on standard output."""

from __future__ import annotations

import sys

import click

from windrow.cli.kind import exports
from windrow.cli.verb import option, verb
from windrow.cli.voice import OutputFailed, Voice, spell_strange
from windrow.display import counted


@verb(
    "export",
    examples=[
        "windrow export captures --as cdxj > index.cdxj",
        "windrow export captures --as cdxj | gzip > index.cdxj.gz",
    ],
    declared=True,
)
@click.argument("what", metavar="WHAT", shell_complete=exports)
@option("--as", "form", required=True, metavar="FORM", help="How it is written: see above.")
def command(voice: Voice, what: str, form: str) -> int:
    """Write what the workspace holds in a form of its own standard, to standard output.

    captures, as cdxj: an index of the archive. All else is of the collections that are installed. Of drops:
    tracker, as mysql, postgresql or sqlite: its tables as SQL, which makes them, fills them and drops nothing;
    load it into an empty database. Of pages: summary, as sqlite: the Summary Database, a whole file as it is at
    one moment, whoever writes meanwhile; pages, as jsonl: a line for each version of each page.
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
