"""`windrow new`: begin a source."""

from __future__ import annotations

import click

from windrow.cli.kind import kinds
from windrow.cli.verb import branch, option, verb
from windrow.cli.voice import Voice


@branch(
    "new",
    examples=[
        "windrow new source harwell sftp://harvest@drop.example.org/out/ --collection drops --centre H",
        "windrow new source --help",
    ],
)
def command(_ctx: click.Context) -> None:
    """Begin a source."""


@verb(
    "source",
    examples=[
        "windrow new source harwell sftp://harvest@drop.example.org/out/ --collection drops --centre H",
        "windrow new source jax https://drop.example.org/jax/ --collection drops --centre J --secret env:JAX_PASSWORD",
        "windrow new source blog https://blog.example.org/ --collection pages",
    ],
)
@click.argument("name", metavar="NAME")
@click.argument("url", metavar="URL")
@option("--collection", metavar="KIND", required=True, shell_complete=kinds, help="What is harvested there.")
@option("--centre", metavar="H", default="", help="drops: short name of the centre that runs it.")
@option("--secret", metavar="PLACE", default="", help="Where its password is: env:NAME or file:PATH.")
@option("--key", metavar="PLACE", default="", help="Where its private SSH key is: file:PATH or env:NAME.")
def source(voice: Voice, *, name: str, url: str, collection: str, centre: str, secret: str, key: str) -> int:
    """Write sources/NAME.toml from what is given; nothing is asked there yet.

    URL has scheme, user, host, port and base folder, never a password; of a site, it is where the crawl
    begins. A file that is there is not overwritten, and one that the configuration would refuse is not left
    behind.
    """
    from windrow.app.scaffold import NewSource, add_source  # noqa: PLC0415

    config = voice.open().config
    path = add_source(config.root, NewSource(name, url, collection, centre, secret, key))
    if voice.json:
        voice.message("new_source", {"name": name, "path": path})
        return 0
    voice.talk(f"wrote {path}")
    voice.talk(f"try: windrow run {name} --dry-run")
    return 0


command.add_command(source)
