"""`windrow export` writes records for other programs; `windrow config` shows every value and where it came from."""

from __future__ import annotations

import sys

import click

from windrow.cli.options import exports, sources
from windrow.cli.verb import OutputFailed, Verb, Voice, branch, option, spell_strange, verb
from windrow.formats.text import counted, table


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
def export_command(voice: Voice, what: str, form: str) -> int:
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


@branch("config", examples=["windrow config", "windrow config --json"], alone=True)
def config_command(ctx: click.Context) -> int:
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


config_command.add_command(trust)
