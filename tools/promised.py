"""List the promised public names, one on each line; `make docs` writes them to docs/reference/promised.txt."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, ForwardRef

import click

import windrow
from command import MESSAGES, PARTS, shape, verbs
from python_api import RESULTS, _fields, _kind, methods
from windrow.app.export import exports_by_name
from windrow.cli.command import COMMON_SECTION
from windrow.config import declared_settings, settings_of_sources
from windrow.contract import registry
from windrow.errors import EXIT_CODES
from windrow.reasons import Reason
from windrow.settings.setting import SOURCE_SETTINGS, Setting

CONTRACT: dict[str, tuple[str, ...]] = {
    "windrow.contract": tuple(import_module("windrow.contract").__all__),
    "windrow.contract.json_list": ("EVERY", "JsonList"),
    "windrow.content": tuple(import_module("windrow.content").__all__),
    "windrow.settings.configuration": ("Configuration", "Service", "filled", "source_at_url"),
    "windrow.settings.setting": ("Setting", "ASKED", "CAPTURED", "store_of"),
    "windrow.settings.kinds": (
        "DURATION", "PATH", "PATHS", "PATTERN", "SECRET", "SIZE", "SWITCH", "TEXT", "TEXTS", "URL", "choice", "count",
    ),
    "windrow.adapters.records": ("RecordAdapter",),
    "windrow.model": ("CdxLine", "Finding", "Item", "Level", "Limits", "Reading", "Site", "Source"),
}  # fmt: skip
"""The names with which collections are written, and those of `windrow.content`, by the module that has them."""


def promised() -> list[str]:
    """Return a line for each promised name, with its type or parameters, sorted."""
    return sorted({*_command_line(), *_settings(), *_words(), *_json(), *_python(), *_contract()})


def _command_line() -> Iterator[str]:
    for name, command in verbs():
        context = click.Context(command)
        parameters = command.get_params(context)
        places = [param.make_metavar(context) for param in parameters if isinstance(param, click.Argument)]
        yield " ".join(["command", name, *places])
        options = (param for param in parameters if isinstance(param, click.Option))
        yield from (f"option {_option(name, option)}" for option in options)
    for name, export in exports_by_name().items():
        yield from (f"export {name} as {form}" for form in export.forms)


def _option(command: str, option: click.Option) -> str:
    choices = option.type.choices if isinstance(option.type, click.Choice) else (option.type.name,)
    kind = "" if option.is_flag else f": {', '.join(map(str, choices))}"
    of_all = "--help" in option.opts or getattr(option, "section", "") == COMMON_SECTION
    return f"{'windrow ... ' if of_all else f'{command} '}{', '.join(option.opts)}{kind}"


def _settings() -> Iterator[str]:
    usable = registry.installed()
    yield from (_line("setting", setting.name, setting) for setting in declared_settings(usable).values())
    yield from (_line("source setting", setting.name, setting) for setting in SOURCE_SETTINGS)
    shared = {setting.name for setting in SOURCE_SETTINGS}
    for collection, known in settings_of_sources(usable).items():
        own = (setting for name, setting in known.items() if name not in shared)
        yield from (_line(f"source setting of {collection}", setting.name, setting) for setting in own)
        for table, columns in usable[collection].configuration.tables.items():
            yield from (_line("setting", f"[[{table}]] {column.name}", column) for column in columns)


def _line(kind: str, name: str, setting: Setting) -> str:
    return f"{kind} {name}: {setting.kind.noun}"


def _words() -> Iterator[str]:
    yield "environment WINDROW_WORKSPACE"
    yield "environment WINDROW_ and a setting's name"
    yield from (f"reason {reason}" for reason in Reason)
    yield from (f"exit code {code}: {meaning}" for code, meaning in EXIT_CODES.items())
    for collection, phases in registry.phases().items():
        yield from (f"phase {collection} {phase}" for phase in phases)


def _json() -> Iterator[str]:
    for name, message in MESSAGES.items():
        yield f"json {name}"
        yield from (f"json {name}.{field}: {_unlinked(kind)}" for field, kind in shape(message.shape).items())
    for part in PARTS:
        yield from (f"json {part.__name__}.{field}: {_unlinked(kind)}" for field, kind in shape(part).items())


def _unlinked(kind: str) -> str:
    return re.sub(r"\[(\w+)\]\(#\w+\)", r"\1", kind)


def _python() -> Iterator[str]:
    yield from (f"python windrow.{name}" for name in windrow.__all__)
    yield from (f"python Windrow.{name}{signature(method)}" for name, method in methods())
    for kind in RESULTS:
        yield from (f"python {kind.__name__}.{field}: {hint}".replace("\\|", "|") for field, hint in _fields(kind))


def _contract() -> Iterator[str]:
    for module, names in CONTRACT.items():
        for name in names:
            yield from _described(f"python {module}.{name}", getattr(import_module(module), name))


def _described(name: str, known: Any) -> Iterator[str]:
    """Yield a line for a function or constant; for a class, one with its parameters and one for each public member."""
    if isinstance(known, type) and issubclass(known, Enum):
        yield from (f"{name}.{member.name}" for member in known)
        return
    if not isinstance(known, type):
        yield f"{name}{signature(known) if inspect.isfunction(known) else ''}"
        return
    is_record = is_dataclass(known) or hasattr(known, "_fields")
    yield f"{name}{signature(known) if is_record else ''}"
    attributes = {field.name for field in fields(known)} if is_dataclass(known) else set(getattr(known, "_fields", ()))
    for attribute, member in vars(known).items():
        if not attribute.startswith("_") and attribute not in attributes:
            if isinstance(member, property):
                yield f"{name}.{attribute}: {_hint(member.fget.__annotations__['return'])}"
            elif inspect.isfunction(member):
                yield f"{name}.{attribute}{signature(member)}"


def signature(function: Callable[..., Any]) -> str:
    """Return the parameters of a function with their types and defaults, and the type of its result.

    >>> def pause(seconds: float, *, why: str = "") -> bool: ...
    >>> signature(pause)
    "(seconds: float, *, why: str = '') -> bool"
    """
    declared = inspect.signature(function)
    parts: list[str] = []
    named_only = False
    for parameter in declared.parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not named_only:
            parts.append("*")
            named_only = True
        stars = "*" * ((parameter.kind is parameter.VAR_POSITIONAL) + 2 * (parameter.kind is parameter.VAR_KEYWORD))
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        hint = "" if parameter.annotation is parameter.empty else f": {_hint(parameter.annotation)}"
        parts.append(f"{stars}{parameter.name}{hint}{default}")
    returned = declared.return_annotation
    arrow = "" if returned in {declared.empty, None, "None"} or isinstance(function, type) else f" -> {_hint(returned)}"
    return f"({', '.join(parts)}){arrow}"


def _hint(annotation: Any) -> str:
    return _kind(annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation)


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float | str | bytes | tuple) else "..."


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("".join(f"{line}\n" for line in promised()), encoding="utf-8")
