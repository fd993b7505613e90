"""The configuration as frozen values; its files, host keys and passwords; refusing places that overlap."""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from windrow.errors import ConfigError, NotAWorkspace
from windrow.model import Limits, Secret, Source
from windrow.settings.configuration import DatabaseAddress, Section
from windrow.settings.setting import Value
from windrow.stores.index.folder import index_folder


@dataclass(frozen=True, slots=True)
class Archive:
    """Where captures are kept; a WARC file is closed at `rollover_size` bytes."""

    folder: Path
    rollover_size: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run: processes (0: as many as suit the machine), and seconds between runs (0: run once)."""

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
    user_agent: str
    ledger: Path
    archive: Archive
    limits: Limits
    run: RunSettings
    sections: Mapping[str, Any]  # by collection, what its `Configuration.section` built
    sources: tuple[Source, ...]
    values: tuple[Value, ...]  # of every setting, in the order of the reference page

    def source(self, name: str) -> Source | None:
        """Return the source of this name, or None."""
        return next((source for source in self.sources if source.name == name), None)

    def of(self, collection: str) -> tuple[Source, ...]:
        """Return the sources of a collection."""
        return tuple(source for source in self.sources if source.collection == collection)

    def section(self, kind: type[Section]) -> Section:
        """Return the section of this type; each collection has a type of its own."""
        return next(section for section in self.sections.values() if isinstance(section, kind))

    def with_section(self, collection: str, section: Any) -> Workspace:
        """Return this configuration with another section for one collection."""
        return replace(self, sections={**self.sections, collection: section})


MAIN = "windrow.toml"
FOLDER = "sources"
KEYS = "host_keys.toml"
WORKSPACE = "WINDROW_WORKSPACE"
_LARGEST = 2**20  # bytes of one file


class ConfigFile(NamedTuple):
    """One file of the configuration: its path below the workspace, and its parsed TOML."""

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
    chosen = named or (Path(environ[WORKSPACE]) if environ.get(WORKSPACE) else None)
    if chosen is not None:
        folder = (start / chosen.expanduser()).resolve()
        if (folder / MAIN).is_file():
            return folder
        by = "--workspace" if named else WORKSPACE
        raise NotAWorkspace(f"no {MAIN} in {folder}, which {by} names", hint=f"windrow init {folder}")
    folder = start.resolve()
    candidates = (folder, *folder.parents)
    for candidate in candidates:
        if (candidate / MAIN).is_file():
            return candidate
    raise NotAWorkspace(f"no {MAIN} here or above; looked in {', '.join(map(str, candidates))}")


def read(root: Path) -> ConfigFiles:
    """Read windrow.toml, sources/*.toml and host_keys.toml; NotAWorkspace without the first."""
    if not (root / MAIN).is_file():
        raise NotAWorkspace(f"no {MAIN} in {root}", hint=f"windrow init {root}")
    sources = _source_files(root / FOLDER)
    keys = root / KEYS
    return ConfigFiles(
        _parse_file(root / MAIN, MAIN),
        tuple(_parse_file(path, f"{FOLDER}/{path.name}") for path in sources),
        _parse_file(keys, KEYS) if keys.is_file() else ConfigFile(KEYS, {}),
    )


def _source_files(folder: Path) -> list[Path]:
    """Return the sources' files, sorted, without hidden ones (editors leave them); ConfigError if unreadable."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.name[:1] != ".")
        not_a_file = next((path for path in paths if path.exists() and not path.is_file()), None)
    except FileNotFoundError:
        if not folder.is_symlink():
            return []
        raise ConfigError(f"{FOLDER} is a broken link", hint=f"ls -ld {folder}") from None
    except OSError as error:
        raise ConfigError(f"{FOLDER} cannot be read: {error.strerror}", hint=f"ls -ld {folder}") from error
    if not_a_file is not None:
        raise ConfigError(f"{FOLDER}/{not_a_file.name} is not a file", hint=f"ls -ld {not_a_file}")
    return paths


def _refuse_foreign_owner(file: BinaryIO, path: Path, name: str) -> None:
    """Refuse a file of another user: a configuration names commands to run, and servers to send our secrets to."""
    owner = os.fstat(file.fileno()).st_uid
    if owner not in {os.geteuid(), 0}:
        raise ConfigError(
            f"{name} belongs to another user (number {owner}), and its commands would run as you",
            hint=f"read it; if it is what you want: chown {os.geteuid()} {path}",
        )


def _parse_file(path: Path, name: str) -> ConfigFile:
    try:
        with path.open("rb") as file:
            _refuse_foreign_owner(file, path, name)
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ConfigError(f"{name} is larger than 1 MiB")
        return ConfigFile(name, tomllib.loads(content.decode()))
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}", hint=f"look at {path}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8: see byte {error.start}", hint=f"edit {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}", hint=f"edit {path}") from None
    except RecursionError:
        raise ConfigError(f"{name} is nested too deeply", hint=f"edit {path}") from None


_SIDECARS = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database."""


class _Place(NamedTuple):
    """A file or folder: what it is for, its real path, and the origin of the setting that names it.

    `inode` is the numbers of its device and file; None if it does not exist.
    """

    name: str
    path: str
    inode: tuple[int, int] | None
    origin: str = ""


REPLAY = ".replay"
"""The folder of a workspace in which `windrow replay` works."""


def replay_folder(path: Path) -> Path:
    """Return the folder, beside a database's file, in which a replay builds the file that replaces it."""
    return path.parent / f".{path.name}.replay"


def refuse_overlaps(root: Path, names: AbstractSet[str], values: Mapping[str, Value], others: Iterable[Value]) -> None:
    """Raise ConfigError if a place that windrow writes is the same as another place, lies in it or holds it.

    `names` are the settings that name such a place, `values` the workspace's settings, `others` those of its sources.
    Places that are only read may overlap each other.
    """
    written_places = [place for name in values if name in names and (place := _place_of_setting(values[name], root))]
    written_paths = [Path(each.path) for each in written_places]
    reserved = [
        _make_place(f"the folder {FOLDER} of the workspace", root / FOLDER),
        *(_make_place(f"the file {name} of the workspace", root / name) for name in (MAIN, KEYS)),
        _make_place("the folder in which windrow replay works", root / REPLAY),
        *(_make_place("the folder in which windrow replay works", replay_folder(path)) for path in written_paths),
        *(_make_place("the folder of a search index", index_folder(path)) for path in written_paths),
    ]
    read_places = [
        place
        for value in (*values.values(), *others)
        if value.name not in names and (place := _place_of_setting(value))
    ]
    workspace = _real_path(root)
    for place in written_places:
        if _contains(place.path, workspace):
            problem = "is the workspace itself" if place.path == workspace else "holds the whole workspace"
            raise _overlap_error(root, place, problem)
    for number, place in enumerate(written_places):
        for neighbour in (*written_places[number + 1 :], *reserved, *read_places):
            swap = place.origin == "default" and neighbour.name in names  # blame the one that was set
            first, second = (neighbour, place) if swap else (place, neighbour)
            if relation := _describe_overlap(first, second):
                raise _overlap_error(root, first, f"{relation} {second.name} ({second.path})")


def _place_of_setting(value: Value, root: Path | None = None) -> _Place | None:
    """Return the place that a setting names; None for other settings, and for databases on a server.

    With a `root` the setting is known to name a place, and a text without a scheme is a path below that folder.
    """
    location = value.value
    if root and isinstance(location, str) and location and "://" not in location:
        location = root / location
    if isinstance(location, Secret):
        kind, _, location = location.place.partition(":")
        if kind != "file":
            return None
    elif isinstance(location, str) and location.startswith("sqlite"):
        location = location.partition(":///")[2].partition("?")[0].removeprefix("file:")
        if location in {"", ":memory:"}:
            return None
    elif not isinstance(location, Path):
        return None
    return _make_place(value.name, Path(location), value.origin)


def _make_place(name: str, path: Path, origin: str = "") -> _Place:
    real = _real_path(path)
    try:
        stat = Path(real).stat()
    except OSError:  # it does not exist yet
        return _Place(name, real, None, origin)
    return _Place(name, real, (stat.st_dev, stat.st_ino), origin)


def _real_path(path: Path) -> str:
    """Return the absolute path with its links followed, whether it exists or not."""
    return f"/{os.path.realpath(path).lstrip('/')}"  # POSIX lets two leading slashes stay


def _describe_overlap(first: _Place, second: _Place) -> str:
    """Return how two places overlap, or an empty text if they do not."""
    path, other_path = first.path, second.path
    if path == other_path or (first.inode is not None and first.inode == second.inode):
        return "is the same as"
    if _contains(path, other_path):
        return "holds"
    if _contains(other_path, path):
        return "lies in"
    if any(path == other_path + suffix or other_path == path + suffix for suffix in _SIDECARS):
        return "clashes with a file that SQLite keeps beside"
    return ""


def _contains(folder: str, path: str) -> bool:
    """Return whether a path is the folder itself or is below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _overlap_error(root: Path, place: _Place, problem: str) -> ConfigError:
    if place.origin.startswith("env "):
        hint = f"unset {place.origin.removeprefix('env ')}"
    else:
        hint = f"give {place.name} another path in {root / MAIN}"
    return ConfigError(f"{place.origin}: {place.name}: {place.path} {problem}; nothing was read or written", hint=hint)


def password(database: DatabaseAddress) -> str | None:
    """Read a database's password from the environment variable or file that its `secret` names; None without one."""
    from windrow.fetch.secret import reveal  # noqa: PLC0415 every command loads this module

    return reveal(database.secret) if database.secret else None


_KEY = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?|[a-z0-9@.-]{4,64} [A-Za-z0-9+/]{20,16384}={0,2}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HEAD = "# Host keys that were trusted, by source. Written by windrow; remove a line to forget a key.\n"


def read_host_keys(file: ConfigFile) -> dict[str, tuple[str, ...]]:
    """Return the trusted host keys by source; ConfigError for anything that does not look like a key."""
    for name, keys in file.tree.items():
        if not isinstance(keys, list) or not all(isinstance(key, str) and _KEY.fullmatch(key) for key in keys):
            raise ConfigError(f"{file.name}: {name}: wanted a list of host keys", hint="windrow config")
    return {name: tuple(keys) for name, keys in file.tree.items()}


def trust(root: Path, source: str, key: str) -> bool:
    """Trust a host key for a source; return False if it was trusted already.

    `key` is a fingerprint as ssh prints it (`SHA256:...`) or a public key (`ssh-ed25519 AAAA...`).
    The file is replaced as a whole: a reader sees the old one or the new one, never a part.
    """
    if not _KEY.fullmatch(key) or not _NAME.fullmatch(source):
        raise ConfigError(f"wanted a source and a host key, SHA256:... or a public key, for {source!r}")
    keys = read_host_keys(read(root).keys)
    if key in keys.get(source, ()):
        return False
    _write_keys(root / KEYS, {**keys, source: (*keys.get(source, ()), key)})
    return True


def _write_keys(path: Path, keys: Mapping[str, tuple[str, ...]]) -> None:
    lines = [f"{name} = [{', '.join(f'{chr(34)}{key}{chr(34)}' for key in keys[name])}]\n" for name in sorted(keys)]
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines([_HEAD, *lines])
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", hint=f"look at {path.parent}") from error
