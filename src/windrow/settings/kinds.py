"""What a setting may hold: how each kind is read, spelled and shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from windrow.errors import ConfigError
from windrow.model import Secret
from windrow.settings.amount import duration, show_duration, show_size, size

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SWITCH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class ValueKind(NamedTuple):
    """One kind of value.

    `read` takes what TOML gives and the folder that relative paths start from; `spell` turns the
    text of an environment variable into what TOML would give; `show` is for people and never
    shows a secret. Both readers raise ConfigError, saying only what was wanted.
    """

    noun: str
    read: Callable[[Any, Path], Any]
    spell: Callable[[str], Any] = str
    show: Callable[[Any], str] = str


def wanted(noun: str, value: object) -> ConfigError:
    """Say what was wanted; what was given is told by its type, it may be a secret."""
    names = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    kind = names.get(type(value), "a list" if isinstance(value, list) else "a table")
    return ConfigError(f"wanted {noun}, not {kind}" if kind != noun else f"this is not {noun}")


def _text(value: Any, _root: Path) -> str:
    if not isinstance(value, str):
        raise wanted("text", value)
    if _CONTROL.search(value):
        raise ConfigError("wanted text of one line, without control characters")
    return value


def _path(value: Any, root: Path) -> Path:
    text = _text(value, root)
    if not text:
        raise ConfigError("wanted a path")
    return _under(root, text)


def _under(root: Path, text: str) -> Path:
    try:
        return root / Path(text).expanduser()
    except RuntimeError:
        raise ConfigError("there is no such user, whose home folder ~ would mean") from None


def _optional(value: Any, root: Path) -> Path | None:
    return _path(value, root) if value != "" else None


def _switch(value: Any, _root: Path) -> bool:
    if not isinstance(value, bool):
        raise wanted("true or false", value)
    return value


def _pattern(value: Any, root: Path) -> str:
    text = _text(value, root)
    try:
        re.compile(text, re.ASCII)
    except re.error as error:
        raise ConfigError(f"this is not a regular expression: {error}") from None
    return text


def secret(value: Any, root: Path) -> Secret | None:
    """Read the place of a secret; the secret itself is refused, and not repeated in the message."""
    text = _text(value, root)
    if not text:
        return None
    kind, _, where = text.partition(":")
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", where):
        return Secret(text)
    if kind == "file" and where:
        return Secret(f"file:{_under(root, where)}")
    raise ConfigError("wanted the place of a secret, env:NAME or file:PATH; a secret itself may not stand here")


def _open(value: Any, root: Path) -> str:
    """Read an address that holds no password."""
    text = _text(value, root)
    if re.search(r"://[^@]*:[^@]*@", text):
        raise ConfigError("the address holds a password; name its place with a secret = instead")
    try:
        split = urlsplit(text)
    except ValueError:
        raise ConfigError("this is not an address") from None
    if re.search(r"(?i)(^|&)(password|passwd|pwd)=", split.query):
        raise ConfigError("the address holds a password; name its place with a secret = instead")
    return text


def _database(value: Any, root: Path) -> str:
    text = _open(value, root)
    if not text:
        raise ConfigError("wanted a path or a database's address")
    if "://" in text:
        return text
    return f"sqlite:///{_under(root, text)}"


def _command(value: Any, root: Path) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text(word, root) for word in value)
    try:
        return tuple(shlex.split(_text(value, root)))
    except ValueError as error:
        raise ConfigError(f"this is not a command: {str(error).lower()}") from None


def _texts(value: Any, root: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise wanted("a list of texts", value)
    return tuple(_text(each, root) for each in value)


def _bool(text: str) -> Any:
    return _SWITCH.get(text.strip().lower(), text)


def _number(text: str) -> Any:
    return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else text


def count(least: int, most: int) -> ValueKind:
    """Return the kind of whole numbers within bounds."""
    noun = f"a whole number from {least} to {most}"

    def read(value: Any, _root: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"wanted {noun}")
        return value

    return ValueKind(noun, read, _number)


def choice(*words: str) -> ValueKind:
    """Return the kind of a word from a list."""
    spelled = [word for word in words if word] + (["empty"] if "" in words else [])
    noun = ", ".join(spelled[:-1]) + f" or {spelled[-1]}"

    def read(value: Any, _root: Path) -> str:
        if value not in words:
            near = get_close_matches(str(value), [word for word in words if word], 1)
            raise ConfigError(f"wanted {noun}" + (f"; did you mean {near[0]}?" if near else ""))
        return str(value)

    return ValueKind(noun, read)


def _place(value: Secret | None) -> str:
    return value.place if value else ""


def _maybe(value: Path | None) -> str:
    return str(value) if value else ""


def _lasting(value: Any, _root: Path) -> float | None:
    return None if value == "" else duration(value)


TEXT = ValueKind("text", _text)
PATH = ValueKind("path", _path)
OPTIONAL = ValueKind("path or nothing", _optional, show=_maybe)
SWITCH = ValueKind("true or false", _switch, _bool, lambda value: str(value).lower())
SIZE = ValueKind("size", lambda value, _: size(value), _number, show_size)
DURATION = ValueKind("duration", lambda value, _: duration(value), _number, show_duration)
MAYBE = ValueKind("duration or nothing", _lasting, _number, lambda value: "" if value is None else show_duration(value))
PATTERN = ValueKind("regular expression", _pattern)
SECRET = ValueKind("place of a secret", secret, show=_place)
OPEN = ValueKind("address without a password", _open)
DATABASE = ValueKind("path or database address", _database)
COMMAND = ValueKind("command", _command, show=shlex.join)
PATHS = ValueKind(
    "list of paths",
    lambda value, root: tuple(_path(each, root) for each in _texts(value, root)),
    lambda text: [t.strip() for t in text.split(",") if t.strip()],
    lambda paths: ", ".join(map(str, paths)),
)
TEXTS = ValueKind("list of texts", _texts, lambda text: [t.strip() for t in text.split(",") if t.strip()], ", ".join)
