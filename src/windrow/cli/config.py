"""`windrow config`: every value, and where it came from."""

from __future__ import annotations

import click

from windrow.cli.kind import sources
from windrow.cli.verb import branch, verb
from windrow.cli.voice import Voice
from windrow.display import table


@branch("config", examples=["windrow config", "windrow config --json"], alone=True)
def command(ctx: click.Context) -> int:
    """Show every setting, its value, and where it came from.

    Flags win over the environment (WINDROW_...), that over the files, those over the defaults. Of a
    secret only its place is known, and shown.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    voice: Voice = ctx.obj
    config = voice.open().config
    rows = [(value.name, value.shown, value.origin) for value in config.values]
    if voice.json:
        for name, shown, origin in rows:
            voice.message("setting", {"name": name, "value": shown, "origin": origin})
        return 0
    voice.talk(f"workspace {config.name} in {config.root}")
    voice.data(table(["setting", "value", "from"], rows))
    return 0


@verb(
    "trust",
    examples=[
        "windrow config trust archive SHA256:dLXaMBaGYlLYWXcXG1kOVkZ5eKHGWoPPLlzPCBQ6cTo",
        "windrow config trust archive SHA256:dLXaMBaGYlLYWXcXG1kOVkZ5eKHGWoPPLlzPCBQ6cTo --json",
    ],
)
@click.argument("source", metavar="SOURCE", shell_complete=sources)
@click.argument("fingerprint", metavar="FINGERPRINT")
def trust(voice: Voice, source: str, fingerprint: str) -> int:
    """Pin the host key that an SFTP server shows.

    FINGERPRINT is as ssh prints it (SHA256:...), or a public key; compare it with what the server's
    operator tells you. It is kept in host_keys.toml.
    """
    new = voice.open().trust(source, fingerprint)
    if voice.json:
        voice.message("trust", {"source": source, "fingerprint": fingerprint, "new": new})
    else:
        voice.talk(f"{source}: {'pinned' if new else 'was pinned already'}: {fingerprint}")
    return 0


command.add_command(trust)
