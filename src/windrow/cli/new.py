"""`windrow init` a workspace, `windrow new` source or collection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windrow.cli.options import DeclaredOptions, kind_names, kinds
from windrow.cli.verb import SECTIONS, Voice, branch, option, verb

if TYPE_CHECKING:
    from windrow.settings.setting import Setting


@branch(
    "new",
    examples=[
        "windrow new source blog https://blog.example.org/ --collection KIND",
        "windrow new collection recipes",
    ],
)
def new_command(_ctx: click.Context) -> None:
    """Begin a source, or a collection."""


class NewOptions(DeclaredOptions):
    """`new source`, with the flags of the collections' source settings."""

    section = SECTIONS

    def declared(self) -> Iterable[Setting]:
        """Return the settings of the sources of all collections."""
        from windrow.contract.registry import installed  # noqa: PLC0415

        return (setting for made in installed().values() for setting in made.configuration.source)


@verb(
    "source",
    shape=NewOptions,
    examples=[
        "windrow new source blog https://blog.example.org/ --collection KIND",
        "windrow new source blog https://blog.example.org/ --collection KIND --json",
    ],
    declared=True,
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


@verb("collection", examples=["windrow new collection recipes", "windrow new collection court_cases --into packages"])
@click.argument("name", metavar="NAME")
@option("--into", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), default=Path(),
        help="Where the package's folder is made (here).")  # fmt: skip
def collection(voice: Voice, name: str, into: Path) -> None:
    """Write a package with a collection of its own, which runs as it stands.

    The folder windrow-NAME gets a small Python package: what is asked, what is made of the answers, settings, a
    test with a server to harvest, and a README that says how to make it yours. NAME is what sources will have as
    their `collection`: small letters, digits and _. A folder that is there is left as it is. No workspace is needed.
    """
    from windrow.app.workspace import Windrow  # noqa: PLC0415

    made = Windrow.new_collection(name, into)
    if voice.json:
        voice.message("new_collection", made)
        return
    voice.talk(f"made {made.folder} with {len(made.files)} files")
    for line in made.commands:
        voice.talk(f"  {line}")


new_command.add_command(source)
new_command.add_command(collection)


@verb("init", examples=["windrow init", "windrow init ~/harvest --json"])
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
def init_command(voice: Voice, folder: Path | None) -> int:
    """Make or upgrade a workspace; safe to run again.

    Writes windrow.toml and the ledger into DIR (the current folder unless named), brings the ledger
    of an older windrow up to date, keeping a copy, and overwrites nothing.
    """
    from windrow.app.begin import prepare  # noqa: PLC0415

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
