"""`windrow export`: the standard's own forms, as plain text on standard output."""

from __future__ import annotations

import sys

import click

from windrow.cli.verb import option, verb
from windrow.cli.voice import Unspoken, Voice

FORMS = {"tracker": ("mysql", "postgresql", "sqlite"), "captures": ("cdxj",)}


@verb(
    "export",
    examples=[
        "windrow export tracker --as mysql | mariadb phenodcc_tracker",
        "windrow export tracker --as postgresql > tracker.sql",
        "windrow export captures --as cdxj > index.cdxj",
    ],
)
@click.argument("what", type=click.Choice(list(FORMS)))
@option("--as", "form", required=True, metavar="FORM", help="tracker: mysql, postgresql, sqlite; captures: cdxj.")
def command(voice: Voice, what: str, form: str) -> int:
    """Write the tracker's tables as SQL, or an index of the archive, to standard output.

    The SQL makes the tables and fills them; it drops nothing, so load it into an empty database.
    """
    from windrow.app.export import captures, tracker  # noqa: PLC0415 `--help` needs no database
    from windrow.errors import UsageError  # noqa: PLC0415

    if form not in FORMS[what]:
        raise UsageError(f"{what} cannot be written as {form!r}; there is {', '.join(FORMS[what])}")
    workspace = voice.open()
    try:
        if what == "tracker":
            count = tracker(workspace.config, form, sys.stdout)
        else:
            count = captures(workspace.ledger(), sys.stdout)
    except BrokenPipeError:
        raise  # the reader has what it wanted
    except OSError as error:
        raise Unspoken(f"standard output cannot be written: {error.strerror}") from error
    voice.talk(f"{count} rows written")
    return 0
