"""`windrow init`: make or upgrade a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from windrow.cli.verb import verb
from windrow.cli.voice import Voice


@verb("init", examples=["windrow init", "windrow init ~/harvest --json"])
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
def command(voice: Voice, folder: Path | None) -> int:
    """Make or upgrade a workspace; safe to run again.

    Writes windrow.toml and the ledger into DIR (the current folder unless named), brings the ledger
    of an older windrow up to date, keeping a copy, and overwrites nothing.
    """
    from windrow.app.scaffold import prepare  # noqa: PLC0415

    done = prepare(folder or voice.workspace or Path())
    if voice.json:
        voice.message("init", done)
        return 0
    voice.talk(f"workspace {done.folder}")
    for line in done.did:
        voice.talk(f"  {line}")
    if done.changed:
        voice.talk("try: windrow new source NAME URL --collection KIND (windrow new source --help lists the kinds)")
    return 0
