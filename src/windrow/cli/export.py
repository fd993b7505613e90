"""`windrow export`: the standard's own forms, as plain text on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from windrow.cli.verb import option, verb
from windrow.cli.voice import Unspoken, Voice, spell_strange

FORMS = {
    "tracker": ("mysql", "postgresql", "sqlite"),
    "captures": ("cdxj",),
    "summary": ("sqlite",),
    "pages": ("jsonl",),
}


@verb(
    "export",
    examples=[
        "windrow export tracker --as mysql | mariadb phenodcc_tracker",
        "windrow export tracker --as postgresql > tracker.sql",
        "windrow export captures --as cdxj > index.cdxj",
        "windrow export summary --as sqlite > summary.sqlite",
        "windrow export pages --as jsonl > pages.jsonl",
    ],
)
@click.argument("what", type=click.Choice(list(FORMS)))
@option("--as", "form", required=True, metavar="FORM", help="How it is written: see above.")
def command(voice: Voice, what: str, form: str) -> int:
    """Write what the workspace holds in a form of its own standard, to standard output.

    tracker, as mysql, postgresql or sqlite: its tables as SQL, which makes them, fills them and drops nothing;
    load it into an empty database. captures, as cdxj: an index of the archive. summary, as sqlite: the Summary
    Database, a whole file as it is at one moment, whoever writes meanwhile. pages, as jsonl: a line for each
    version of each page.
    """
    from windrow.app import export  # noqa: PLC0415 `--help` needs no database
    from windrow.errors import UsageError  # noqa: PLC0415

    if form not in FORMS[what]:
        raise UsageError(f"{what} cannot be written as {form!r}; there is {', '.join(FORMS[what])}")
    workspace = voice.open()
    spell_strange(sys.stdout, "utf-8")  # whatever a terminal here shows: files of these forms are UTF-8
    ways: dict[str, Callable[[], int]] = {
        "tracker": lambda: export.tracker(workspace.config, form, sys.stdout),
        "captures": lambda: export.captures(workspace.ledger(), sys.stdout),
        "summary": lambda: export.summary(workspace.config, sys.stdout.buffer),
        "pages": lambda: export.pages(workspace.config, sys.stdout),
    }
    try:
        count = ways[what]()
    except BrokenPipeError:
        raise  # the reader has what it wanted
    except OSError as error:
        raise Unspoken(f"standard output cannot be written: {error.strerror}") from error
    voice.talk(f"{count:,} {'bytes' if what == 'summary' else 'rows'} written")
    return 0
