"""`windrow init` makes a workspace; `windrow new` makes a source or a collection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windrow.cli.command import DEFAULT_SECTION, Console, command, command_group, option
from windrow.cli.options import (
    DeclaredOptions,
    complete_collections,
    complete_presets,
    list_collections,
    list_presets,
)

if TYPE_CHECKING:
    from windrow.settings.setting import Setting


@command_group(
    "new",
    examples=[
        "windrow new source blog https://blog.example.org/ --collection COLLECTION",
        "windrow new collection recipes",
    ],
)
def new_command(_ctx: click.Context) -> None:
    """Make a source, or a collection."""


class NewOptions(DeclaredOptions):
    """The command `new source`, with an option for each source setting that has a flag."""

    section = DEFAULT_SECTION

    def declared(self) -> Iterable[Setting]:
        """Return the settings that the sources of all collections may have."""
        from windrow.contract.registry import installed  # noqa: PLC0415

        return (setting for collection in installed().values() for setting in collection.configuration.source)


@command(
    "source",
    shape=NewOptions,
    examples=[
        "windrow new source blog https://blog.example.org/ --collection COLLECTION",
        "windrow new source blog https://blog.example.org/ --collection COLLECTION --json",
    ],
    declared=True,
)
@click.argument("name", metavar="NAME")
@click.argument("url", metavar="URL")
@option("--collection", metavar="COLLECTION", default="", shell_complete=complete_collections,
        choices=list_collections, help="What is harvested there; required without --from.")  # fmt: skip
@option("--from", "preset", metavar="PRESET", default="", shell_complete=complete_presets, choices=list_presets,
        help="The product whose settings the source gets.")  # fmt: skip
def source(console: Console, *, name: str, url: str, collection: str, preset: str, **flags: str | None) -> int:
    """Write sources/NAME.toml from the arguments; the source is not contacted.

    URL has scheme, user, host, port and base folder, never a password; for a site, it is where the crawl
    begins. An existing file is not overwritten, and a file that the configuration would refuse is removed
    again. With --from, the file shows the settings of the preset as comments.
    """
    settings = {name: text for name, text in flags.items() if text}
    path = console.open().new_source(name, url, collection=collection, preset=preset, **settings)
    if console.json:
        console.message("new_source", {"name": name, "path": path})
        return 0
    console.inform(f"wrote {path}")
    console.inform(f"try: windrow run {name} --dry-run")
    return 0


@command(
    "collection",
    examples=["windrow new collection recipes", "windrow new collection court_cases --into packages"],
    declared=True,
)
@click.argument("name", metavar="NAME")
@option("--into", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), default=Path(),
        help="The folder in which the package is made (default: the current one).")  # fmt: skip
@option("--from", "kept", metavar="COLLECTION", default="", shell_complete=complete_collections,
        help="Make records from the captures of this collection, in one short file, without requests.")  # fmt: skip
def collection(console: Console, name: str, into: Path, kept: str) -> None:
    """Write a Python package with a new collection, ready to run.

    The package in the folder windrow-NAME has the code in one short file, a test with a server to harvest, and a
    README on how to adapt it. NAME will be the `collection` of its sources: lower-case letters, digits and _. An
    existing folder is not changed. No workspace is needed.
    """
    from windrow.app.workspace import Windrow  # noqa: PLC0415

    package = Windrow.new_collection(name, into, kept)
    if console.json:
        console.message("new_collection", package)
        return
    console.inform(f"wrote {package.folder} with {len(package.files)} files")
    for line in package.commands:
        console.inform(f"  {line}")


new_command.add_command(source)
new_command.add_command(collection)


@command("init", examples=["windrow init", "windrow init ~/harvest --json"])
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
def init_command(console: Console, folder: Path | None) -> int:
    """Make or upgrade a workspace; safe to run again.

    Writes windrow.toml and the ledger into DIR (the current folder by default) and overwrites nothing. The ledger
    of an older windrow is upgraded; a copy of the old one is kept.
    """
    from windrow.app.begin import prepare  # noqa: PLC0415

    prepared = prepare(folder or console.workspace or Path())
    if console.json:
        console.message("init", prepared)
        return 0
    console.inform(f"workspace {prepared.folder}")
    for line in prepared.actions:
        console.inform(f"  {line}")
    if prepared.changed:
        console.inform(
            "try: windrow new source NAME URL --collection COLLECTION (windrow new source --help lists the collections)"
        )
    return 0
