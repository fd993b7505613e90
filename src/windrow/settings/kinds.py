"""The kinds of values that settings hold, and how each is read, spelled and shown: sizes, durations, addresses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from windrow.errors import ConfigError
from windrow.model import Secret

_SIZES = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _SIZES |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
for _word, _short in (
    ("second", 1),
    ("minute", 60),
    ("hour", 3600),
    ("day", 86400),
    ("week", 604800),
    ("year", 31536000),
):
    _SECONDS |= {_word: float(_short), f"{_word}s": float(_short)}
_AMOUNT = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)")
_MOST = 2**62  # bytes


def size(value: object) -> int:
    """Read a number of bytes: a whole number, or a text with a unit (kB is 1000, KiB is 1024).

    >>> size("64 MB"), size("1.5 GiB"), size(10)
    (64000000, 1610612736, 10)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        number: float = value
    elif isinstance(value, str) and (match := _AMOUNT.fullmatch(value.strip())):
        amount: float = float(match[1]) if "." in match[1] else int(match[1])
        number = amount * _SIZES.get(match[2].lower(), -1)
    else:
        number = -1
    if not 0 <= number < _MOST:
        raise ConfigError('wanted a size like "64 MB", "2 GiB" or a number of bytes')
    return int(number)


def show_size(value: int) -> str:
    """Spell a number of bytes in the largest unit that divides it.

    >>> show_size(2 * 2**30), show_size(64_000_000), show_size(1234)
    ('2 GiB', '64 MB', '1234')
    """
    for unit in ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB"):
        quotient, remainder = divmod(value, _SIZES[unit.lower()])
        if quotient and not remainder:
            return f"{quotient} {unit}"
    return str(value)


def duration(value: object) -> float:
    """Read a number of seconds: a number, or a text with units (w, d, h, m or min, s, ms, or words: 4 weeks).

    >>> duration("6h"), duration("1 h 30 min"), duration(0.5), duration("4 weeks")
    (21600.0, 5400.0, 0.5, 2419200.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str) and len(value) < 100 and not _AMOUNT.sub("", value).strip():
        parts = [(float(figure), unit.lower()) for figure, unit in _AMOUNT.findall(value)]
        is_known = all(unit in _SECONDS for _, unit in parts) or (len(parts) == 1 and not parts[0][1])
        is_known = is_known and bool(parts)
        number = sum(figure * _SECONDS.get(unit, 1.0) for figure, unit in parts) if is_known else -1.0
    else:
        number = -1.0
    if not 0 <= number <= 3650 * 86400:
        raise ConfigError('wanted a duration like "30 s", "6h", "1h 30m" or a number of seconds')
    return number


def show_duration(value: float) -> str:
    """Spell a number of seconds in the largest unit that divides it.

    >>> show_duration(21600.0), show_duration(90.0), show_duration(0.25)
    ('6 h', '90 s', '250 ms')
    """
    if value == 0:
        return "0 s"
    for unit in ("d", "h", "min", "s"):
        quotient, remainder = divmod(value, _SECONDS[unit])
        if quotient and not remainder:
            return f"{int(quotient)} {unit}"
    return f"{value * 1000:g} ms" if value < 1 else f"{value:.3f}".rstrip("0") + " s"


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SWITCH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class ValueKind(NamedTuple):
    """One kind of value.

    `read` takes a value as TOML gives it and the folder that relative paths start from; `spell` turns the text of an
    environment variable into what TOML would give; `show` is for people and never shows a secret. `read` raises a
    ConfigError that says only what was wanted, since the value may be a secret.
    """

    noun: str
    read: Callable[[Any, Path], Any]
    spell: Callable[[str], Any] = str
    show: Callable[[Any], str] = str


def wanted(noun: str, value: object) -> ConfigError:
    """Return an error that says what was wanted and names only the type of `value`, which may be a secret."""
    names = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    kind = names.get(type(value), "a list" if isinstance(value, list) else "a table")
    return ConfigError(f"wanted {noun}, not {kind}" if kind != noun else f"this is not {noun}")


def _text(value: Any, _root: Path) -> str:
    if not isinstance(value, str):
        raise wanted("text", value)
    if _CONTROL.search(value):
        raise ConfigError("wanted one line of text, without control characters")
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
        raise ConfigError("the user named after ~ does not exist") from None


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
    """Read the place of a secret; None if the text is empty. ConfigError for anything else, without repeating it."""
    text = _text(value, root)
    if not text:
        return None
    kind, _, location = text.partition(":")
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", location):
        return Secret(text)
    if kind == "file" and location:
        return Secret(f"file:{_under(root, location)}")
    raise ConfigError("wanted the place of a secret, env:NAME or file:PATH, not the secret itself")


def _address(value: Any, root: Path) -> str:
    """Read an address; ConfigError if it contains a password."""
    text = _text(value, root)
    if re.search(r"://[^@]*:[^@]*@", text):
        raise ConfigError("the address contains a password; set secret = to its place instead")
    try:
        split = urlsplit(text)
    except ValueError:
        raise ConfigError("this is not an address") from None
    if re.search(r"(?i)(^|&)(password|passwd|pwd)=", split.query):
        raise ConfigError("the address contains a password; set secret = to its place instead")
    return text


def _database(value: Any, root: Path) -> str:
    text = _address(value, root)
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
    """Return the kind of whole numbers from `least` to `most`."""
    noun = f"a whole number from {least} to {most}"

    def read(value: Any, _root: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"wanted {noun}")
        return value

    return ValueKind(noun, read, _number)


def choice(*words: str) -> ValueKind:
    """Return the kind of text that is one of `words`."""
    spelled = [word for word in words if word] + (["empty"] if "" in words else [])
    noun = ", ".join(spelled[:-1]) + f" or {spelled[-1]}"

    def read(value: Any, _root: Path) -> str:
        if value not in words:
            near = get_close_matches(str(value), [word for word in words if word], 1)
            raise ConfigError(f"wanted {noun}" + (f"; did you mean {near[0]}?" if near else ""))
        return str(value)

    return ValueKind(noun, read)


def _show_secret(value: Secret | None) -> str:
    return value.place if value else ""


def _optional_duration(value: Any, _root: Path) -> float | None:
    return None if value == "" else duration(value)


TEXT = ValueKind("text", _text)
PATH = ValueKind("path", _path)
OPTIONAL = ValueKind("path or nothing", _optional, show=lambda value: str(value) if value else "")
SWITCH = ValueKind("true or false", _switch, _bool, lambda value: str(value).lower())
SIZE = ValueKind("size", lambda value, _: size(value), _number, show_size)
DURATION = ValueKind("duration", lambda value, _: duration(value), _number, show_duration)
MAYBE = ValueKind(
    "duration or nothing", _optional_duration, _number, lambda value: "" if value is None else show_duration(value)
)
PATTERN = ValueKind("regular expression", _pattern)
SECRET = ValueKind("place of a secret", secret, show=_show_secret)
OPEN = ValueKind("address without a password", _address)
DATABASE = ValueKind("path or database address", _database)
COMMAND = ValueKind("command", _command, show=shlex.join)
PATHS = ValueKind(
    "list of paths",
    lambda value, root: tuple(_path(each, root) for each in _texts(value, root)),
    lambda text: [t.strip() for t in text.split(",") if t.strip()],
    lambda paths: ", ".join(map(str, paths)),
)
TEXTS = ValueKind("list of texts", _texts, lambda text: [t.strip() for t in text.split(",") if t.strip()], ", ".join)


SCHEMES = ("file", "ftp", "ftps", "http", "https", "sftp")


class AddressParts(NamedTuple):
    """The parts of an address; `base` is percent-decoded and begins with a slash."""

    scheme: str
    host: str
    port: int | None
    username: str
    base: str


def split_address(url: str, root: Path) -> AddressParts:
    """Split the address of a source; a `file:` address may be relative to `root`.

    Raises ConfigError for an address that is not valid or contains a password, which the message does not repeat.

    >>> split_address("sftp://harvest@drop.example.org:2222/out/", Path("/w"))
    AddressParts(scheme='sftp', host='drop.example.org', port=2222, username='harvest', base='/out/')
    >>> split_address("file:partner", Path("/w")).base
    '/w/partner'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"this is not an address: {_safe_reason(error)}") from None
    if parts.password is not None or "@" in parts.path + parts.query + parts.fragment:
        raise ConfigError(
            'an address may not contain a password; set its place: secret = "env:NAME" or "file:PATH"'
            " (write @ in a folder's name as %40)"
        )
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"wanted an address that begins with one of {', '.join(SCHEMES)}")
    if parts.query or parts.fragment:
        raise ConfigError("the base folder may not contain ? or #; write them as %3F and %23")
    base = unquote(parts.path)
    if ".." in base.split("/") or re.search(r"[\x00-\x1f\x7f]", base):
        raise ConfigError("the base folder may not contain '..' or control characters")
    if parts.scheme == "file":
        return _folder(parts, base, root)
    if not parts.hostname:
        raise ConfigError("wanted a host in the address")
    return AddressParts(parts.scheme, parts.hostname, port, unquote(parts.username or ""), base or "/")


def _folder(parts: SplitResult, base: str, root: Path) -> AddressParts:
    if parts.hostname not in {None, "localhost"} or parts.username:
        raise ConfigError("a file: address may not name a host or user")
    if not base:
        raise ConfigError("wanted a folder in the address")
    return AddressParts("file", "", None, "", str(root / base))


def _safe_reason(error: ValueError) -> str:
    """Return what is wrong with an address, without any part of it: it may contain a password."""
    return "its port is not a number up to 65535" if str(error).startswith("Port") else "its host is not valid"
