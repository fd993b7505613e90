"""Lay flags over the environment over files over defaults, and remember where each value came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from windrow.errors import ConfigError
from windrow.settings.setting import PREFIX, Setting, Value, variable

Given = tuple[Any, str]
"""A value as TOML would spell it, and its origin."""


class Layers(NamedTuple):
    """Where values come from, strongest first; names are dotted, without `prefix`.

    `prefix` is put before a name to make its public one: `source.NAME.` for a source.
    """

    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    files: Mapping[str, Given]
    prefix: str = ""


def settle(settings: Iterable[Setting], layers: Layers, root: Path) -> dict[str, Value]:
    """Return each setting's value, with a ConfigError that names the place of a wrong one."""
    return {setting.name: _value(setting, layers, root) for setting in settings}


def _value(setting: Setting, layers: Layers, root: Path) -> Value:
    name = layers.prefix + setting.name
    env = variable(name)
    if setting.name in layers.flags:
        flag = setting.flag or f"--{setting.name.rpartition('.')[2].replace('_', '-')}"
        given, origin = _spelled(setting, layers.flags[setting.name]), f"flag {flag}"
    elif env in layers.environ:
        given, origin = _spelled(setting, layers.environ[env]), f"env {env}"
    else:
        given, origin = layers.files.get(setting.name, (setting.default, "default"))
    try:
        value = setting.kind.read(given, root)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {name}: {error}", hint=_mend(origin, root)) from None
    return Value(name, value, setting.kind.show(value), origin)


def _spelled(setting: Setting, given: Any) -> Any:
    return setting.kind.spell(given) if isinstance(given, str) else given


def _mend(origin: str, root: Path) -> str:
    if origin.endswith(".toml"):
        return f"edit {root / origin}"
    return f"unset {origin.removeprefix('env ')}" if origin.startswith("env ") else "windrow config"


def flatten(tree: Mapping[str, Any], names: Iterable[str], file: str, at: str = "") -> dict[str, Given]:
    """Turn nested tables into dotted names; a name that is not one of `names` is a ConfigError.

    `at` is the table that `tree` is, for the message.
    """
    known = set(names)
    tables = {name[:end] for name in known for end, mark in enumerate(name) if mark == "."}
    found: dict[str, Given] = {}
    for name, value in _walk(tree, tables):
        if name in tables:
            raise ConfigError(f"{file}: {at}{name}: wanted a table [{at}{name}]", hint=f"edit {file}")
        if name not in known:
            raise unknown(f"{at}{name}", (f"{at}{each}" for each in known | tables), file)
        found[name] = (value, file)
    return found


def _walk(tree: Mapping[str, Any], tables: set[str], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = above + key
        if name in tables and isinstance(value, dict):
            yield from _walk(value, tables, f"{name}.")
        else:
            yield name, value


def unknown(name: str, known: Iterable[str], file: str) -> ConfigError:
    """Say that a name is not known, and which one may have been meant."""
    names = sorted(known)
    last = {each.rpartition(".")[2]: each for each in names}
    guess = get_close_matches(name, names, 1, 0.6)
    guess = guess or [last[each] for each in get_close_matches(name.rpartition(".")[2], last, 1, 0.6)]
    meant = f"; did you mean {guess[0]}?" if guess else ""
    return ConfigError(f"{file}: {name} is not a setting{meant}", hint=f"edit {file}")


def unknown_names(environ: Mapping[str, str], known: Iterable[str]) -> None:
    """Refuse a variable that looks like a mistyped one of ours; others are somebody else's."""
    names = {each.removeprefix(PREFIX): each for each in known}
    for variable_ in sorted(environ):
        if not variable_.startswith(PREFIX) or variable_.removeprefix(PREFIX) in names:
            continue
        if guess := get_close_matches(variable_.removeprefix(PREFIX), names, 1, 0.85):
            raise ConfigError(
                f"env {variable_} is not a setting; did you mean {names[guess[0]]}?",
                hint=f"unset {variable_}",
            )
