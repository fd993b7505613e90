"""Begin a collection: a package of its own that runs as it stands, to be changed from there."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from shlex import quote
from string import Template
from typing import NamedTuple

from windrow import registry
from windrow.app.export import forms
from windrow.errors import ConfigError, UsageError
from windrow.settings.setting import WORKSPACE

_NAME = re.compile(r"[a-z](?:[a-z0-9_]{0,30}[a-z0-9])?", re.ASCII)
_ENDING = ".txt"
"""Behind the names of the template's files, so that no tool takes them for what they are not yet."""
_PLACE = "NAME"
"""Stands for the collection's name in the names of the template's files."""


class NewCollection(NamedTuple):
    """A package that was made: its folder, its files below that, and the commands that come next."""

    name: str
    folder: Path
    files: tuple[str, ...]
    commands: tuple[str, ...]


def add_collection(name: str, into: Path) -> NewCollection:
    """Write the package of a new collection into a new folder `windrow-NAME`.

    A name that Python, packages or the configuration could not take is refused, and so is a folder that is there.
    """
    _refuse(name)
    folder = into / f"windrow-{name.replace('_', '-')}"
    told = {"name": name, "package": f"windrow_{name}", "project": folder.name}
    made = {path.replace(_PLACE, name): Template(text).substitute(told) for path, text in sorted(_template())}
    written: list[Path] = []
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for path, text in made.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            written.append(place)
            place.write_text(text, encoding="utf-8")
    except FileExistsError:
        raise UsageError(f"{folder} is there already and left as it is", hint=f"ls -ld {folder}") from None
    except OSError as error:
        _remove(folder, written)
        raise ConfigError(f"{folder} cannot be written: {error.strerror}", hint=f"ls -ld {into}") from error
    commands = (
        f"pip install -e {quote(str(folder))}",
        f"python -m unittest discover -s {quote(str(folder / 'tests'))}",
        "windrow init farm && cd farm",
        f"windrow new source mine https://api.example.org/v1/ --collection {name}",
        "windrow run mine",
    )
    return NewCollection(name, folder, tuple(made), commands)


def _refuse(name: str) -> None:
    """Raise UsageError for a name that a collection may not have."""
    if not _NAME.fullmatch(name):
        near = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")[:32].rstrip("_")
        raise UsageError(
            f"{name!r} is not a name for a collection: up to 32 small letters of ASCII, digits and _, a letter first",
            hint=f"windrow new collection {near or 'items'}",
        )
    if name in registry.names():
        raise UsageError(f"a collection {name!r} is installed already", hint="windrow config")
    taken = {one.name.partition(".")[0] for one in WORKSPACE} | {"source", *forms()}
    if name in taken:
        raise UsageError(
            f"a collection cannot be called {name!r}: that is a word of the configuration or of an export",
            hint=f"windrow new collection {name}_items",
        )


def _template(at: Traversable | None = None, path: str = "") -> list[tuple[str, str]]:
    """Return the files of the template: their paths below its folder, and what is in them."""
    found: list[tuple[str, str]] = []
    for one in (at or files("windrow.app") / "collection_template").iterdir():
        if one.is_dir():
            found += _template(one, f"{path}{one.name}/")
        elif one.name.endswith(_ENDING):
            found.append((path + one.name.removesuffix(_ENDING), one.read_text(encoding="utf-8")))
    return found


def _remove(folder: Path, written: list[Path]) -> None:
    """Remove what was written, and the folders that are empty then."""
    for path in written:
        path.unlink(missing_ok=True)
    for path in sorted({each for one in written for each in one.relative_to(folder).parents}, key=str, reverse=True):
        if (folder / path).is_dir():
            (folder / path).rmdir()
