"""The configuration as frozen values. Functions read its files and passwords, check its paths, and add host keys."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from windrow.caps import CONFIG_BYTES
from windrow.errors import ConfigError, NotAWorkspace
from windrow.model import Limits, Secret, Source
from windrow.private_files import write_whole
from windrow.settings.configuration import DatabaseAddress, Section
from windrow.settings.kinds import file_of
from windrow.settings.setting import Value, is_name
from windrow.stores.index.folder import index_folder


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder for the captures; a WARC file is closed when it has grown to `rollover_size` bytes."""

    folder: Path
    rollover_size: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run.

    `fetchers` and `readers` are numbers of processes; 0 means as many as suit the machine. `every` is the time from the
    start of a run to the start of the next one, in seconds; 0 means that there is only one run.
    """

    fetchers: int
    readers: int
    request_deadline: float  # seconds after which a run leaves its other addresses to the next one; 0: never
    every: float
    sandbox: bool  # whether the kernel restricts the processes that read or fetch documents
    group_reads: bool  # whether the group of the workspace may read the files that are written in it
    notify: tuple[str, ...]  # the words of the command that gets each session's summary; empty if there is none


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace's configuration; paths are absolute.

    `sections` has the result of `Configuration.section` by collection. `values` are those of every setting, in the
    order of the reference page.
    """

    root: Path
    name: str
    contact: str
    user_agent: str
    ledger: Path
    archive: Archive
    limits: Limits
    run: RunSettings
    part_folder: Path
    sections: Mapping[str, Any]
    sources: tuple[Source, ...]
    values: tuple[Value, ...]

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """The names of the environment variables that have secrets, of all settings and sources."""
        places = (value.value.place for value in self.values if isinstance(value.value, Secret))
        return tuple(sorted({place.removeprefix("env:") for place in places if place.startswith("env:")}))

    def source(self, name: str) -> Source | None:
        """Return the source with this name, or None if there is none."""
        return next((source for source in self.sources if source.name == name), None)

    def of(self, collection: str) -> tuple[Source, ...]:
        """Return the sources of a collection."""
        return tuple(source for source in self.sources if source.collection == collection)

    def section(self, kind: type[Section]) -> Section:
        """Return the section of this type; each collection has a type of its own."""
        return next(section for section in self.sections.values() if isinstance(section, kind))

    def with_section(self, collection: str, section: Any) -> Workspace:
        """Return a copy of this configuration with a different section for one collection."""
        return replace(self, sections={**self.sections, collection: section})


MAIN_FILE = "windrow.toml"
SOURCES_FOLDER = "sources"
HOST_KEYS_FILE = "host_keys.toml"
WORKSPACE_VARIABLE = "WINDROW_WORKSPACE"
_MAX_FILE_SIZE = CONFIG_BYTES.number  # bytes


class ConfigFile(NamedTuple):
    """A file of the configuration: its path in the workspace, its TOML, and the error (`fault`) if it is not TOML."""

    name: str
    tree: dict[str, Any]
    fault: str = ""


class ConfigFiles(NamedTuple):
    """All files of a workspace's configuration."""

    main: ConfigFile
    sources: tuple[ConfigFile, ...]
    keys: ConfigFile


def find_workspace(start: Path, environ: Mapping[str, str], option: Path | None = None) -> Path:
    """Return the folder of the workspace.

    It is named by `option` (the value of --workspace) or else by the variable WINDROW_WORKSPACE. If neither is set, it
    is the nearest folder with a windrow.toml, from `start` upwards. Raises NotAWorkspace, which says where windrow
    looked.
    """
    configured_folder = option or (Path(environ[WORKSPACE_VARIABLE]) if environ.get(WORKSPACE_VARIABLE) else None)
    if configured_folder is not None:
        folder = (start / configured_folder.expanduser()).resolve()
        if (folder / MAIN_FILE).is_file():
            return folder
        named_by = "--workspace" if option else WORKSPACE_VARIABLE
        text = f"there is no {MAIN_FILE} in {folder}, the folder that {named_by} names"
        raise NotAWorkspace(text, hint=f"windrow init {folder}")
    folder = start.resolve()
    candidates = (folder, *folder.parents)
    for candidate in candidates:
        if (candidate / MAIN_FILE).is_file():
            return candidate
    raise NotAWorkspace(f"no {MAIN_FILE} here or above; looked in {', '.join(map(str, candidates))}")


def read_files(root: Path) -> ConfigFiles:
    """Read windrow.toml, sources/*.toml and host_keys.toml; raise NotAWorkspace if windrow.toml does not exist.

    A source's file that is not TOML has a `fault`; any other problem with a file raises ConfigError.
    """
    if not (root / MAIN_FILE).is_file():
        raise NotAWorkspace(f"there is no {MAIN_FILE} in {root}", hint=f"windrow init {root}")
    sources = _source_files(root / SOURCES_FOLDER)
    keys = root / HOST_KEYS_FILE
    return ConfigFiles(
        _parse_file(root / MAIN_FILE, MAIN_FILE),
        tuple(_parse_source_file(path) for path in sources),
        _parse_file(keys, HOST_KEYS_FILE) if keys.is_file() else ConfigFile(HOST_KEYS_FILE, {}),
    )


def _source_files(folder: Path) -> list[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".toml" and path.name[:1] != ".")
        not_a_file = next((path for path in paths if path.exists() and not path.is_file()), None)
        if paths:
            _refuse_foreign_owner(folder.stat(), folder, f"{SOURCES_FOLDER}/")
    except FileNotFoundError:
        if not folder.is_symlink():
            return []
        raise ConfigError(f"the folder {SOURCES_FOLDER} is a broken link", hint=f"ls -ld {folder}") from None
    except OSError as error:
        problem = f"the folder {SOURCES_FOLDER} cannot be read: {error.strerror}"
        raise ConfigError(problem, hint=f"ls -ld {folder}") from error
    if not_a_file is not None:
        raise ConfigError(f"{SOURCES_FOLDER}/{not_a_file.name} is not a file", hint=f"ls -ld {not_a_file}")
    return paths


def _refuse_foreign_owner(status: os.stat_result, path: Path, name: str) -> None:
    """Raise ConfigError for a file or folder that belongs to neither this user nor root, or that every user may write.

    Such a file can name commands to run, and servers that get secrets.
    """
    consequence = "whoever can write it can make windrow run commands and trust servers"
    if status.st_uid not in {os.geteuid(), 0}:
        raise ConfigError(
            f"{name} belongs to another user (user id {status.st_uid}): {consequence}",
            hint=f"read it; if you trust it: chown {os.geteuid()} {path}",
        )
    if status.st_mode & stat.S_IWOTH:
        raise ConfigError(
            f"every user of this machine may write {name}: {consequence}",
            hint=f"read it; if you trust it: chmod o-w {path}",
        )


class _NotToml(ConfigError):
    """A file of the configuration is not TOML."""


def _parse_file(path: Path, name: str) -> ConfigFile:
    try:
        with path.open("rb") as file:
            _refuse_foreign_owner(os.fstat(file.fileno()), path, name)
            content = file.read(_MAX_FILE_SIZE + 1)
        if len(content) > _MAX_FILE_SIZE:
            raise ConfigError(f"{name} is larger than {_MAX_FILE_SIZE:,} bytes", hint=f"ls -l {path}")
        return ConfigFile(name, tomllib.loads(content.decode("utf-8-sig")))  # some editors write a byte order mark
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}", hint=f"ls -l {path}") from error
    except UnicodeDecodeError as error:
        raise _NotToml(f"{name} is not UTF-8 at byte {error.start}", hint=f"edit {path}") from None
    except tomllib.TOMLDecodeError as error:
        is_double = "Cannot declare" in str(error)
        reason = "; the table is in the file already: write the settings below its first line" if is_double else ""
        raise _NotToml(f"{name} is not TOML: {error}{reason}", hint=f"edit {path}") from None
    except ValueError:  # of `int`
        raise _NotToml(f"{name} has a number with too many digits", hint=f"edit {path}") from None
    except RecursionError:
        raise _NotToml(f"{name} is nested too deeply", hint=f"edit {path}") from None


def _parse_source_file(path: Path) -> ConfigFile:
    name = f"{SOURCES_FOLDER}/{path.name}"
    try:
        return _parse_file(path, name)
    except _NotToml as error:
        return ConfigFile(name, {}, str(error))


_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database."""


class _Location(NamedTuple):
    """A file or folder: its setting or purpose, real path, (device, inode) if it exists, and the setting's origin."""

    name: str
    path: str
    inode: tuple[int, int] | None
    origin: str = ""


REPLAY_FOLDER = ".replay"
"""The name of the folder, in the workspace, in which `windrow replay` builds databases."""

SCRATCH = ("ledger.sqlite", "store")
"""The names of the databases in `REPLAY_FOLDER`."""


def replay_folder(path: Path) -> Path:
    """Return the folder, beside a database's file, in which a replay builds its replacement."""
    return path.parent / f".{path.name}.replay"


LEFT_REPLAY = "is what a killed replay left; the next run removes it"
LEFT_REPLAY_HINT = "windrow replay makes the replay again"


def left_replays(workspace: Workspace) -> dict[Path, tuple[str, ...]]:
    """Return the existing folders in which replays build databases, each with the names of its databases.

    Without a replay that is under way, one that was killed left them.
    """
    stores = {value.value for value in workspace.values if isinstance(value.value, Path)}
    stores |= {workspace.root / path.name[1 : -len(".replay")] for path in workspace.root.glob(".?*.replay")}
    databases: dict[Path, tuple[str, ...]] = {replay_folder(path): (path.name,) for path in sorted(stores)}
    databases[workspace.root / REPLAY_FOLDER] = SCRATCH
    return {folder: names for folder, names in databases.items() if folder.is_dir()}


def refuse_overlaps(
    root: Path, written_settings: AbstractSet[str], values: Mapping[str, Value], source_values: Iterable[Value]
) -> None:
    """Raise ConfigError if a file or folder that windrow writes contains the workspace or overlaps another location.

    Two locations overlap if they are the same, if one is in the other, or if SQLite keeps one beside the other.
    `written_settings` are the names of the settings for what windrow writes. `values` are the values of the workspace's
    settings by name, `source_values` those of its sources. Files and folders that are only read may overlap each other.
    """
    written_locations = [
        location
        for name in values
        if name in written_settings and (location := location_of_setting(values[name], root))
    ]
    written_paths = [Path(location.path) for location in written_locations]
    reserved = [
        _make_location(f"the folder {SOURCES_FOLDER} of the workspace", root / SOURCES_FOLDER),
        *(_make_location(f"the file {name} of the workspace", root / name) for name in (MAIN_FILE, HOST_KEYS_FILE)),
        _make_location("the folder in which windrow replay works", root / REPLAY_FOLDER),
        *(_make_location("the folder in which windrow replay works", replay_folder(path)) for path in written_paths),
        *(_make_location("the folder of a search index", index_folder(path)) for path in written_paths),
    ]
    read_locations = [
        location
        for value in (*values.values(), *source_values)
        if value.name not in written_settings and (location := location_of_setting(value))
    ]
    workspace = _real_path(root)
    for location in written_locations:
        if _contains(location.path, workspace):
            problem = "is the workspace itself" if location.path == workspace else "contains the whole workspace"
            raise _make_overlap_error(root, location, problem)
    for index, location in enumerate(written_locations):
        for other in (*written_locations[index + 1 :], *reserved, *read_locations):
            # If a location is a default, only the other setting can be wrong.
            blames_other = location.origin == "default" and other.name in written_settings
            first, second = (other, location) if blames_other else (location, other)
            if relation := _describe_overlap(first, second):
                raise _make_overlap_error(root, first, f"{relation} {second.name} ({second.path})")


def location_of_setting(value: Value, root: Path | None = None) -> _Location | None:
    """Return the location of the file or folder that a setting names, or None if it does not name one.

    A database on a server or in memory has no location. `root` is given only for a setting that names a file or folder:
    a text without a scheme is then a path below `root`.
    """
    setting_value = value.value
    path: str | Path | None = None
    if isinstance(setting_value, Path):
        path = setting_value
    elif isinstance(setting_value, Secret):
        kind, _, secret_location = setting_value.place.partition(":")
        path = secret_location if kind == "file" else None
    elif isinstance(setting_value, str) and root and setting_value and "://" not in setting_value:
        path = root / setting_value
    elif isinstance(setting_value, str):
        path = file_of(setting_value)
    return None if path is None else _make_location(value.name, Path(path), value.origin)


def _make_location(name: str, path: Path, origin: str = "") -> _Location:
    real_path = _real_path(path)
    try:
        status = Path(real_path).stat()
    except OSError:  # it does not exist yet
        return _Location(name, real_path, None, origin)
    return _Location(name, real_path, (status.st_dev, status.st_ino), origin)


def _real_path(path: Path) -> str:
    """Return the absolute path with links resolved; the path need not exist."""
    return f"/{os.path.realpath(path).lstrip('/')}"  # realpath keeps two leading slashes


def _describe_overlap(first: _Location, second: _Location) -> str:
    path, other_path = first.path, second.path
    if path == other_path or (first.inode is not None and first.inode == second.inode):
        return "is the same as"
    if not (path.startswith(other_path) or other_path.startswith(path)):
        return ""
    if _contains(path, other_path):
        return "contains"
    if _contains(other_path, path):
        return "is in"
    if any(path == other_path + suffix or other_path == path + suffix for suffix in _SQLITE_SUFFIXES):
        return "clashes with a file that SQLite keeps beside"
    return ""


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _make_overlap_error(root: Path, location: _Location, problem: str) -> ConfigError:
    if location.origin.startswith("env "):
        hint = f"unset {location.origin.removeprefix('env ')}"
    else:
        hint = f"give {location.name} another path in {root / MAIN_FILE}"
    text = f"{location.origin}: {location.name}: {location.path} {problem}; nothing was read or written"
    return ConfigError(text, hint=hint)


def read_password(database: DatabaseAddress) -> str | None:
    """Return a database's password from the variable or file that its `secret` names, or None if it has no secret."""
    from windrow.fetch.secret import read_secret  # noqa: PLC0415 every command loads this module

    return read_secret(database.secret) if database.secret else None


_HOST_KEY = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?|[a-z0-9@.-]{4,64} [A-Za-z0-9+/]{20,16384}={0,2}")
_HOST_KEYS_HEADER = "# Trusted host keys by source. Written by windrow; remove a line to withdraw the trust.\n"


def read_host_keys(file: ConfigFile) -> dict[str, tuple[str, ...]]:
    """Return a dict from sources to their trusted host keys; raise ConfigError if one is malformed."""
    for name, keys in file.tree.items():
        if not isinstance(keys, list) or not all(isinstance(key, str) and _HOST_KEY.fullmatch(key) for key in keys):
            raise ConfigError(f"{file.name}: {name}: expected a list of host keys", hint="windrow config")
    return {name: tuple(keys) for name, keys in file.tree.items()}


def trust(root: Path, source: str, key: str) -> bool:
    """Trust a host key of a source: add it to host_keys.toml. Return False if it was trusted already.

    `key` is a fingerprint as ssh prints it (`SHA256:...`) or a public key (`ssh-ed25519 AAAA...`).
    Raises ConfigError for any other text, for an invalid source name, and if the file cannot be written. The file is
    replaced as a whole: a reader sees the old file or the new one.
    """
    if not _HOST_KEY.fullmatch(key) or not is_name(source):
        raise ConfigError(f"{source!r}: expected a source's name and a host key (SHA256:... or a public key)")
    keys = read_host_keys(read_files(root).keys)
    if key in keys.get(source, ()):
        return False
    _write_host_keys(root / HOST_KEYS_FILE, {**keys, source: (*keys.get(source, ()), key)})
    return True


def _write_host_keys(path: Path, keys: Mapping[str, tuple[str, ...]]) -> None:
    lines = [f"{name} = [{', '.join(f'{chr(34)}{key}{chr(34)}' for key in keys[name])}]\n" for name in sorted(keys)]
    try:
        write_whole(path, [_HOST_KEYS_HEADER, *lines])
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", hint=f"ls -ld {path.parent}") from error
