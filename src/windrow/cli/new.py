"""`windrow new`: begin a source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from windrow.cli.declared import DeclaredOptions
from windrow.cli.kind import kind_names, kinds
from windrow.cli.verb import SECTIONS, branch, option, verb
from windrow.cli.voice import Voice

if TYPE_CHECKING:
    from windrow.settings.setting import Setting


@branch(
    "new",
    examples=[
        "windrow new source harwell sftp://harvest@drop.example.org/out/ --collection drops --centre H",
        "windrow new source --help",
    ],
)
def command(_ctx: click.Context) -> None:
    """Begin a source."""


class NewOptions(DeclaredOptions):
    """`new source`, with the flags of the collections' source settings."""

    section = SECTIONS

    def declared(self) -> Iterable[Setting]:
        """Return the settings of the sources of all collections."""
        from windrow.registry import installed  # noqa: PLC0415

        return (setting for made in installed().values() for setting in made.configuration.source)


@verb(
    "source",
    shape=NewOptions,
    examples=[
        "windrow new source harwell sftp://harvest@drop.example.org/out/ --collection drops --centre H",
        "windrow new source jax https://drop.example.org/jax/ --collection drops --centre J --secret env:JAX_PASSWORD",
        "windrow new source blog https://blog.example.org/ --collection pages",
    ],
)
@click.argument("name", metavar="NAME")
@click.argument("url", metavar="URL")
@option("--collection", metavar="KIND", required=True, shell_complete=kinds, values=kind_names,
        help="What is harvested there.")  # fmt: skip
def source(voice: Voice, *, name: str, url: str, collection: str, **told: str | None) -> int:
    """Write sources/NAME.toml from what is given; nothing is asked there yet.

    URL has scheme, user, host, port and base folder, never a password; of a site, it is where the crawl
    begins. A file that is there is not overwritten, and one that the configuration would refuse is not left
    behind.
    """
    settings = {key: value for key, value in told.items() if value}
    path = voice.open().new_source(name, url, collection=collection, **settings)
    if voice.json:
        voice.message("new_source", {"name": name, "path": path})
        return 0
    voice.talk(f"wrote {path}")
    voice.talk(f"try: windrow run {name} --dry-run")
    return 0


command.add_command(source)
