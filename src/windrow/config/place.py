"""Whether the places of a workspace lie apart: what one part of it writes or removes is no other's file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from windrow.config.file import FOLDER, KEYS, MAIN
from windrow.errors import ConfigError
from windrow.model import Secret
from windrow.settings.setting import Value

_SIDECARS = ("-wal", "-shm", "-journal")
"""What SQLite puts behind a database's name for the files beside it."""


class _Place(NamedTuple):
    """A file or folder: what it is called, where the links in its path lead, and who named it.

    `inode` is the numbers of the device and of the file on it; None where nothing is there.
    """

    name: str
    path: str
    inode: tuple[int, int] | None
    origin: str = ""


REPLAY = ".replay"
"""The folder of a workspace in which a replay of items works."""


def replay_folder(path: Path) -> Path:
    """Return where a replay builds what will take the place of a database's file: beside it."""
    return path.parent / f".{path.name}.replay"


def refuse_overlaps(root: Path, names: AbstractSet[str], values: Mapping[str, Value], others: Iterable[Value]) -> None:
    """Raise ConfigError where a place in which windrow writes is another place's, lies in it or holds it.

    `names` are the settings that name such a place, `values` the workspace's settings, `others` those of its sources.
    Places that are only read may coincide.
    """
    written = [place for name in values if name in names and (place := _place(values[name], root))]
    reserved = [
        _at(f"the folder {FOLDER} of the workspace", root / FOLDER),
        *(_at(f"the file {name} of the workspace", root / name) for name in (MAIN, KEYS)),
        _at("the folder in which windrow replay works", root / REPLAY),
        *(_at("the folder in which windrow replay works", replay_folder(Path(one.path))) for one in written),
    ]
    read = [place for one in (*values.values(), *others) if one.name not in names and (place := _place(one))]
    whole = _real(root)
    for one in written:
        if _holds(one.path, whole):
            raise _wrong(root, one, "is the workspace itself" if one.path == whole else "holds the whole workspace")
    for number, one in enumerate(written):
        for other in (*written[number + 1 :], *reserved, *read):
            first, second = (other, one) if one.origin == "default" and other.name in names else (one, other)
            if relation := _relation(first, second):
                raise _wrong(root, first, f"{relation} {second.name} ({second.path})")


def _place(value: Value, root: Path | None = None) -> _Place | None:
    """Return where a setting's file or folder is; None for other settings, and for databases on a server.

    With a `root` the setting names such a place, and a text without a scheme is a path below that folder.
    """
    told = value.value
    if root and isinstance(told, str) and told and "://" not in told:
        told = root / told
    if isinstance(told, Secret):
        kind, _, told = told.place.partition(":")
        if kind != "file":
            return None
    elif isinstance(told, str) and told.startswith("sqlite"):
        told = told.partition(":///")[2].partition("?")[0].removeprefix("file:")
        if told in {"", ":memory:"}:
            return None
    elif not isinstance(told, Path):
        return None
    return _at(value.name, Path(told), value.origin)


def _at(name: str, path: Path, origin: str = "") -> _Place:
    """Look where a path leads, and what is there."""
    real = _real(path)
    try:
        there = Path(real).stat()
    except OSError:  # nothing is there
        return _Place(name, real, None, origin)
    return _Place(name, real, (there.st_dev, there.st_ino), origin)


def _real(path: Path) -> str:
    """Return the absolute path that links lead to, whether anything is there or not."""
    return f"/{os.path.realpath(path).lstrip('/')}"  # two slashes are not another root


def _relation(first: _Place, second: _Place) -> str:
    """Tell what stands between two places; nothing where they lie apart."""
    one, other = first.path, second.path
    if one == other or (first.inode is not None and first.inode == second.inode):
        return "is the same as"
    if _holds(one, other):
        return "holds"
    if _holds(other, one):
        return "lies in"
    if any(one == other + suffix or other == one + suffix for suffix in _SIDECARS):
        return "is where SQLite keeps a part of, or the other way round,"
    return ""


def _holds(folder: str, path: str) -> bool:
    """Tell whether a path is that of a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _wrong(root: Path, place: _Place, what: str) -> ConfigError:
    if place.origin.startswith("env "):
        hint = f"unset {place.origin.removeprefix('env ')}"
    else:
        hint = f"name a place of its own for {place.name} in {root / MAIN}"
    return ConfigError(f"{place.origin}: {place.name}: {place.path} {what}; nothing was read or written", hint=hint)
