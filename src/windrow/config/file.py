"""Read the files of a workspace's configuration: the one place where it touches the disk."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from windrow.errors import ConfigError, NotAWorkspace

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
