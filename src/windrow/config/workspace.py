"""What the configuration says, as frozen values; its files read; whether the places of a workspace lie apart."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from windrow.errors import ConfigError, NotAWorkspace
from windrow.model import Limits, Secret, Source
from windrow.settings.configuration import Section
from windrow.settings.setting import Value
from windrow.stores.index.folder import index_folder


@dataclass(frozen=True, slots=True)
class Archive:
    """Where captures are kept; `rotation` in bytes."""

    folder: Path
    rotation: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a run goes. 0 processes: as many as suit the machine; `every` in seconds, 0: once."""

    fetchers: int
    readers: int
    every: float
    notify: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace's configuration; paths are absolute."""

    root: Path
    name: str
    contact: str
    agent: str
    ledger: Path
    archive: Archive
    limits: Limits
    run: RunSettings
    sections: Mapping[str, Any]  # what a collection is told, by its name, where it makes a type of that
    sources: tuple[Source, ...]
    values: tuple[Value, ...]  # every setting, in the order of the reference

    def source(self, name: str) -> Source | None:
        """Return the source of this name."""
        return next((source for source in self.sources if source.name == name), None)

    def of(self, collection: str) -> tuple[Source, ...]:
        """Return the sources of a collection."""
        return tuple(source for source in self.sources if source.collection == collection)

    def section(self, kind: type[Section]) -> Section:
        """Return what a collection is told, by the type of that."""
        return next(section for section in self.sections.values() if isinstance(section, kind))

    def told(self, collection: str, section: Any) -> Workspace:
        """Return this configuration with another section for a collection."""
        return replace(self, sections={**self.sections, collection: section})


MAIN = "windrow.toml"
FOLDER = "sources"
KEYS = "host_keys.toml"
WORKSPACE = "WINDROW_WORKSPACE"
_LARGEST = 2**20


class ConfigFile(NamedTuple):
    """One file of the configuration: its name within the workspace, and what it holds."""

    name: str
    tree: dict[str, Any]


class ConfigFiles(NamedTuple):
    """All files of a workspace's configuration."""

    main: ConfigFile
    sources: tuple[ConfigFile, ...]
    keys: ConfigFile


def find(start: Path, environ: Mapping[str, str], named: Path | None = None) -> Path:
    """Return the folder of the workspace.

    That is the one `named` on the command line, else the one in `WINDROW_WORKSPACE`, else `start`
    or the nearest folder above it with a windrow.toml. NotAWorkspace says where it looked.
    """
    told = named or (Path(environ[WORKSPACE]) if environ.get(WORKSPACE) else None)
    if told is not None:
        folder = (start / told.expanduser()).resolve()
        if (folder / MAIN).is_file():
            return folder
        by = "--workspace" if named else WORKSPACE
        raise NotAWorkspace(f"no {MAIN} in {folder}, which {by} names", hint=f"windrow init {folder}")
    folder = start.resolve()
    looked = (folder, *folder.parents)
    for place in looked:
        if (place / MAIN).is_file():
            return place
    raise NotAWorkspace(f"no {MAIN} here or above; looked in {', '.join(map(str, looked))}")


def read(root: Path) -> ConfigFiles:
    """Read windrow.toml, sources/*.toml and host_keys.toml; the first must be there."""
    if not (root / MAIN).is_file():
        raise NotAWorkspace(f"no {MAIN} in {root}", hint=f"windrow init {root}")
    sources = _sources(root / FOLDER)
    keys = root / KEYS
    return ConfigFiles(
        _parse(root / MAIN, MAIN),
        tuple(_parse(path, f"{FOLDER}/{path.name}") for path in sources),
        _parse(keys, KEYS) if keys.is_file() else ConfigFile(KEYS, {}),
    )


def _sources(folder: Path) -> list[Path]:
    """Return the sources' files, sorted, without an editor's hidden ones; what cannot be read is a ConfigError."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.name[:1] != ".")
        strange = next((path for path in paths if path.exists() and not path.is_file()), None)
    except FileNotFoundError:
        if not folder.is_symlink():
            return []
        raise ConfigError(f"{FOLDER} leads to nothing", hint=f"ls -ld {folder}") from None
    except OSError as error:
        raise ConfigError(f"{FOLDER} cannot be read: {error.strerror}", hint=f"ls -ld {folder}") from error
    if strange is not None:
        raise ConfigError(f"{FOLDER}/{strange.name} is not a file", hint=f"ls -ld {strange}")
    return paths


def _refuse_stranger(file: BinaryIO, path: Path, name: str) -> None:
    """Refuse a file of somebody else: a configuration names commands that are run, and whom windrow asks as us."""
    owner = os.fstat(file.fileno()).st_uid
    if owner not in {os.geteuid(), 0}:
        raise ConfigError(
            f"{name} belongs to another user (number {owner}), and what it says is run in your name",
            hint=f"read it; if it is what you want: chown {os.geteuid()} {path}",
        )


def _parse(path: Path, name: str) -> ConfigFile:
    try:
        with path.open("rb") as file:
            _refuse_stranger(file, path, name)
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ConfigError(f"{name} is larger than 1 MiB")
        return ConfigFile(name, tomllib.loads(content.decode()))
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}", hint=f"look at {path}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8, from byte {error.start} on", hint=f"edit {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}", hint=f"edit {path}") from None
    except RecursionError:
        raise ConfigError(f"{name} is nested too deeply", hint=f"edit {path}") from None


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
        *(_at("the folder of a search index", index_folder(Path(one.path))) for one in written),
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
