"""Passwords of databases, read when needed, and trusted host keys in `host_keys.toml`, which windrow writes."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from windrow.config.workspace import KEYS, ConfigFile, read
from windrow.errors import ConfigError
from windrow.settings.configuration import DatabaseAddress


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
    _write(root / KEYS, {**keys, source: (*keys.get(source, ()), key)})
    return True


def _write(path: Path, keys: Mapping[str, tuple[str, ...]]) -> None:
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
