"""The kinds of values that settings have, such as sizes and durations, and how each is read, converted and shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from windrow.errors import ConfigError
from windrow.host_part import ALL_HOSTS, HostPart
from windrow.model import Secret

_UNIT_BYTES = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNIT_BYTES |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WORD_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "year": 31536000.0}
_UNIT_SECONDS |= _WORD_SECONDS | {f"{word}s": seconds for word, seconds in _WORD_SECONDS.items()}
_AMOUNT = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)")
_MAX_SIZE = 2**62  # bytes


def read_size(value: object) -> int:
    """Convert a number or a text with a unit (kB: 1000, KiB: 1024) to a size in bytes, or raise ConfigError.

    >>> read_size("64 MB"), read_size("1.5 GiB"), read_size(10)
    (64000000, 1610612736, 10)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        byte_count: float = value
    elif isinstance(value, str) and (match := _AMOUNT.fullmatch(value.strip())):
        amount: float = float(match[1]) if "." in match[1] else int(match[1])
        byte_count = amount * _UNIT_BYTES.get(match[2].lower(), -1)
    else:
        byte_count = -1
    if not 0 <= byte_count < _MAX_SIZE:
        raise ConfigError('expected a size below 4 EiB, like "64 MB", "2 GiB" or a number of bytes')
    return int(byte_count)


def show_size(byte_count: int) -> str:
    """Return a number of bytes as a text, in the largest unit that divides it, or else without a unit.

    >>> show_size(2 * 2**30), show_size(64_000_000), show_size(1234)
    ('2 GiB', '64 MB', '1234')
    """
    for unit in ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB"):
        quotient, remainder = divmod(byte_count, _UNIT_BYTES[unit.lower()])
        if quotient and not remainder:
            return f"{quotient} {unit}"
    return str(byte_count)


def read_duration(value: object) -> float:
    """Convert a number or a text with units such as h or min to a duration in seconds, or raise ConfigError.

    >>> read_duration("6h"), read_duration("1 h 30 min"), read_duration(0.5), read_duration("4 weeks")
    (21600.0, 5400.0, 0.5, 2419200.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and len(value) < 100 and not _AMOUNT.sub("", value).strip():
        parts = [(float(amount), unit.lower()) for amount, unit in _AMOUNT.findall(value)]
        has_valid_units = all(unit in _UNIT_SECONDS for _, unit in parts) or (len(parts) == 1 and not parts[0][1])
        has_valid_units = has_valid_units and bool(parts)
        seconds = sum(amount * _UNIT_SECONDS.get(unit, 1.0) for amount, unit in parts) if has_valid_units else -1.0
    else:
        seconds = -1.0
    if not 0 <= seconds <= 3650 * 86400:
        raise ConfigError('expected a duration up to ten years, like "30 s", "6h", "1h 30m" or a number of seconds')
    return seconds


def show_duration(seconds: float) -> str:
    """Return a duration as a text in the largest of d, h, min and s that divides it, or else in s or (below 1 s) ms.

    >>> show_duration(21600.0), show_duration(90.0), show_duration(0.25), show_duration(1.0001)
    ('6 h', '90 s', '250 ms', '1 s')
    """
    if seconds == 0:
        return "0 s"
    for unit in ("d", "h", "min", "s"):
        quotient, remainder = divmod(seconds, _UNIT_SECONDS[unit])
        if quotient and not remainder:
            return f"{int(quotient)} {unit}"
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SWITCH_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class ValueKind(NamedTuple):
    """A kind of value that a setting may have; `noun` names it on the reference page.

    `read` converts a value from TOML, given the folder to which relative paths refer; its ConfigError does not repeat
    a value that may be a secret. `spell` converts the text of a variable or flag to the value that TOML would have.
    `show` converts the result of `read` to a text for people, and never shows a secret.
    """

    noun: str
    read: Callable[[Any, Path], Any]
    spell: Callable[[str], Any] = str
    show: Callable[[Any], str] = str


def wrong_type(expected: str, value: object) -> ConfigError:
    """Return an error that says what was expected and names only the type of `value`, which may be a secret."""
    type_names = {str: "text", bool: "true or false", int: "a whole number", float: "a number", list: "a list",
                  dict: "a table"}  # fmt: skip
    actual = type_names.get(type(value), "a date or time")
    return ConfigError(f"expected {expected}, not {actual}" if actual != expected else f"this is not {expected}")


def _read_text(value: Any, _root: Path) -> str:
    if not isinstance(value, str):
        raise wrong_type("text", value)
    if _CONTROL.search(value):
        raise ConfigError("expected one line of text, without control characters")
    return value


def _read_path(value: Any, root: Path) -> Path:
    text = _read_text(value, root)
    if not text:
        raise ConfigError("expected a path")
    return _resolve_path(root, text)


def _resolve_path(root: Path, text: str) -> Path:
    try:
        return root / Path(text).expanduser()
    except RuntimeError:
        raise ConfigError("the path begins with ~NAME, but this machine has no user of that name") from None


def _read_optional_path(value: Any, root: Path) -> Path | None:
    return _read_path(value, root) if value != "" else None


def _read_switch(value: Any, _root: Path) -> bool:
    if not isinstance(value, bool):
        raise wrong_type("true or false", value)
    return value


def _read_pattern(value: Any, root: Path) -> str:
    text = _read_text(value, root)
    try:
        re.compile(text, re.ASCII)
    except re.error as error:
        raise ConfigError(f"this is not a regular expression: {error}") from None
    return text


def read_secret_place(value: Any, root: Path) -> Secret | None:
    """Read the place of a secret, `env:NAME` or `file:PATH`; return None for an empty text.

    Raises ConfigError for any other value. The message does not contain the value.
    """
    text = _read_text(value, root)
    if not text:
        return None
    kind, _, location = text.partition(":")
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", location):
        return Secret(text)
    if kind == "file" and location:
        return Secret(f"file:{_resolve_path(root, location)}")
    raise ConfigError("expected the place of a secret, env:NAME or file:PATH, not the secret itself")


_REFUSED_ADDRESS = (
    "the address may not contain a password; store it elsewhere, and name the place (env:NAME or file:PATH) in the"
    " setting whose name is this one with `_secret` appended, if there is one"
)


def _read_address(value: Any, root: Path) -> str:
    text = _read_text(value, root)
    if re.search(r"://[^@]*:[^@]*@", text):
        raise ConfigError(_REFUSED_ADDRESS)
    try:
        split = urlsplit(text)
    except ValueError:
        raise ConfigError("this is not an address") from None
    if re.search(r"(?i)(^|&)(password|passwd|pwd)=", split.query):
        raise ConfigError(_REFUSED_ADDRESS)
    return text


def _read_path_or_url(value: Any, root: Path) -> str:
    text = _read_address(value, root)
    scheme, separator, _ = text.partition("://")
    if separator and scheme.lower() not in {"http", "https"}:
        raise ConfigError(f"expected a path, or an address that begins with http or https, not {scheme[:20]}")
    return text


def _read_database(value: Any, root: Path) -> str:
    text = _read_address(value, root)
    if not text:
        raise ConfigError("expected a path or a database's address")
    if "://" in text:
        return text
    return sqlite_url(_resolve_path(root, text))


def sqlite_url(path: Path) -> str:
    """Return the database address of an SQLite file, with the characters quoted that mean something else in a URL.

    >>> sqlite_url(Path("/w/50%20?/a b.sqlite"))
    'sqlite:////w/50%2520%3F/a b.sqlite'
    """
    return f"sqlite:///{quote(str(path), safe=' +/')}"


def file_of(url: str) -> Path | None:
    """Return the path of the file that an SQLite URL names, or None for any other URL and for a database in memory.

    >>> file_of("sqlite:////w/50%2520%3F/a.sqlite?timeout=5"), file_of("postgresql+psycopg://db.example.org/a")
    (PosixPath('/w/50%20?/a.sqlite'), None)
    """
    backend, _, location = url.partition(":///")
    path = unquote(location.partition("?")[0]).removeprefix("file:")
    return Path(path) if backend.partition("+")[0] == "sqlite" and path not in {"", ":memory:"} else None


def _read_command(value: Any, root: Path) -> tuple[str, ...]:
    """Return the words of a command, which is a list or a text that is split as by a shell."""
    if isinstance(value, list):
        return tuple(_read_text(word, root) for word in value)
    try:
        return tuple(shlex.split(_read_text(value, root)))
    except ValueError as error:
        raise ConfigError(f"this is not a command: {str(error).lower()}") from None


def _read_texts(value: Any, root: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise wrong_type("a list of texts", value)
    return tuple(_read_text(text, root) for text in value)


def _spell_switch(text: str) -> Any:
    return _SWITCH_WORDS.get(text.strip().lower(), text)


def _spell_number(text: str) -> Any:
    return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else text


def _spell_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def count(least: int, most: int) -> ValueKind:
    """Return the kind of values that are whole numbers from `least` to `most`."""
    description = f"a whole number from {least} to {most}"

    def read(value: Any, _root: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"expected {description}")
        return value

    return ValueKind(description, read, _spell_number)


def choice(*words: str) -> ValueKind:
    """Return the kind of values that are one of `words`."""
    shown_words = [word for word in words if word] + (["empty"] if "" in words else [])
    description = ", ".join(shown_words[:-1]) + f" or {shown_words[-1]}"

    def read(value: Any, _root: Path) -> str:
        if value not in words:
            near = get_close_matches(str(value), [word for word in words if word], 1)
            raise ConfigError(f"expected {description}" + (f"; did you mean {near[0]}?" if near else ""))
        return str(value)

    return ValueKind(description, read)


def _show_secret(value: Secret | None) -> str:
    return value.place if value else ""


def _read_optional_duration(value: Any, _root: Path) -> float | None:
    return None if value == "" else read_duration(value)


_PART = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")


def _read_day(setting: Any, _root: Path) -> str:
    if isinstance(setting, date):
        return setting.isoformat()[:10]
    if setting == "":
        return ""
    try:
        return date.fromisoformat(str(setting)).isoformat()
    except ValueError:
        raise ConfigError("expected a day, such as 2025-11-20") from None


def _read_part(value: Any, _root: Path) -> HostPart:
    """Convert `2/8` to a part of all hosts, and an empty text to the only part; raise ConfigError for another value."""
    match = _PART.fullmatch(value) if isinstance(value, str) else None
    part = HostPart(*map(int, match.groups())) if match else ALL_HOSTS
    if (value != "" and match is None) or part.number > part.total:
        raise ConfigError('expected the number of a part and the number of all parts, like "2/8"')
    return part


TEXT = ValueKind("text", _read_text)
PART = ValueKind("part", _read_part, show=lambda part: f"{part.number}/{part.total}" if part.total > 1 else "")
DAY = ValueKind("day", _read_day)
PATH = ValueKind("path", _read_path)
OPTIONAL_PATH = ValueKind("path or nothing", _read_optional_path, show=lambda value: str(value) if value else "")
SWITCH = ValueKind("true or false", _read_switch, _spell_switch, lambda value: str(value).lower())
SIZE = ValueKind("size", lambda value, _: read_size(value), _spell_number, show_size)
DURATION = ValueKind("duration", lambda value, _: read_duration(value), _spell_number, show_duration)
OPTIONAL_DURATION = ValueKind(
    "duration or nothing",
    _read_optional_duration,
    _spell_number,
    lambda value: "" if value is None else show_duration(value),
)
PATTERN = ValueKind("regular expression", _read_pattern)
SECRET = ValueKind("place of a secret", read_secret_place, show=_show_secret)
URL = ValueKind("address without a password", _read_address)
PATH_OR_URL = ValueKind("path or address without a password", _read_path_or_url)
DATABASE = ValueKind("path or database address", _read_database)
COMMAND = ValueKind("command", _read_command, show=shlex.join)
PATHS = ValueKind(
    "list of paths",
    lambda value, root: tuple(_read_path(text, root) for text in _read_texts(value, root)),
    _spell_list,
    lambda paths: ", ".join(map(str, paths)),
)
TEXTS = ValueKind("list of texts", _read_texts, _spell_list, ", ".join)

URLS = ValueKind(
    "list of addresses without a password",
    lambda value, root: tuple(_read_address(text, root) for text in _read_texts(value, root)),
    _spell_list,
    ", ".join,
)


def _read_selectors(value: Any, root: Path) -> tuple[str, ...]:
    selectors: tuple[str, ...] = TEXTS.read(value, root)
    if selectors:
        from selectolax.lexbor import LexborHTMLParser, SelectolaxError  # noqa: PLC0415 most sources have none

        for selector in selectors:
            try:
                LexborHTMLParser("<p>").css(selector)
            except (SelectolaxError, ValueError):
                raise ConfigError(f"{selector[:200]!r} is not a CSS selector") from None
    return selectors


SELECTORS = ValueKind("list of texts", _read_selectors, _spell_list, ", ".join)


_SCHEME_PATTERN = r"^(?:[a-z][a-z0-9+.-]*:)?//"
_ADDRESS_WITH_USER = re.compile(rf"(?:{_SCHEME_PATTERN}|^)[^/?#@]*@", re.IGNORECASE)
_ADDRESS_WITH_PASSWORD = re.compile(
    rf"{_SCHEME_PATTERN}[^/?#@:\[]*:(?![0-9]{{0,5}}(?:[/?#]|$))[^@]*@|[?&;](?:password|passwd|pwd)=", re.IGNORECASE
)
"""Matches an address with a password in a parameter such as `password`, or between a colon and an @.

A text after the colon is not a password if it is a port, alone or followed by `/`, `?` or `#`.
"""


def refuse_password(text: str) -> None:
    """Raise ConfigError for a web address with a user or password; the message does not repeat the address.

    >>> refuse_password("https://example.org:8080/@somebody?to=a@b.example")
    >>> refuse_password("https://me:Hun/ter2@example.org/")
    Traceback (most recent call last):
    windrow.errors.ConfigError: a web address must not contain a user or password: pages are requested without them
    """
    if _ADDRESS_WITH_USER.search(text) or _ADDRESS_WITH_PASSWORD.search(text):
        raise ConfigError("a web address must not contain a user or password: pages are requested without them")


SCHEMES = ("file", "ftp", "ftps", "http", "https", "sftp")  # of sources


class AddressParts(NamedTuple):
    """The parts of a source's address; `base` is its path, percent-decoded, with a slash at its start."""

    scheme: str
    host: str
    port: int | None
    username: str
    base: str


def split_address(url: str, root: Path) -> AddressParts:
    """Split the address of a source; the path of a `file:` address may be relative to the folder `root`.

    Raises ConfigError if the address is not valid or contains a password; the message does not repeat the password.

    >>> split_address("sftp://harvest@drop.example.org:2222/out/", Path("/w"))
    AddressParts(scheme='sftp', host='drop.example.org', port=2222, username='harvest', base='/out/')
    >>> split_address("file:partner", Path("/w")).base
    '/w/partner'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"this is not an address: {_describe_without_address(error)}") from None
    if parts.password is not None or "@" in parts.path + parts.query + parts.fragment:
        raise ConfigError(
            'the address may not contain a password; set where it is stored: secret = "env:NAME" or "file:PATH"'
            " (write @ in a folder's name as %40)"
        )
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"expected an address that begins with one of {', '.join(SCHEMES)}")
    if parts.query or parts.fragment:
        raise ConfigError("the base folder may not contain ? or #; write them as %3F and %23")
    folder = unquote(parts.path)
    if ".." in folder.split("/") or re.search(r"[\x00-\x1f\x7f]", folder):
        raise ConfigError("the base folder may not contain '..' or control characters")
    if parts.scheme == "file":
        return _split_file_address(parts, folder, root)
    if not parts.hostname:
        raise ConfigError("expected a host in the address")
    return AddressParts(parts.scheme, parts.hostname, port, unquote(parts.username or ""), folder or "/")


def _split_file_address(parts: SplitResult, base: str, root: Path) -> AddressParts:
    if parts.netloc.lower() not in {"", "localhost"}:
        raise ConfigError("a file: address may not name a host, port or user")
    if not base:
        raise ConfigError("expected a folder in the address")
    return AddressParts("file", "", None, "", str(root / base))


def _describe_without_address(error: ValueError) -> str:
    """Return what is wrong with an address, without repeating any of it, since it may contain a password."""
    return "its port is not a number up to 65535" if str(error).startswith("Port") else "its host is not valid"
