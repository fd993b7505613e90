"""How a collection declares its settings, and how values are resolved: from flags, variables, files and defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from windrow.errors import ConfigError
from windrow.model import Credential, Secret, Site, Source
from windrow.reasons import Reason
from windrow.renamed import SETTINGS, current
from windrow.settings.kinds import split_address
from windrow.settings.setting import PREFIX, Setting, Value, variable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Section = TypeVar("Section", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database's address in SQLAlchemy's spelling, without its password, and where the password is kept."""

    url: str
    secret: Secret | None = None


class SourceTable(NamedTuple):
    """A source's table in TOML, unchecked."""

    name: str
    file: str
    tree: dict[str, Any]


class Given(NamedTuple):
    """The values that `Configuration.section` is given.

    `values` has every setting of the workspace by dotted name; `rows` has, for each array of tables that the
    collection declares, one mapping for each table. `file` names the file in error messages.
    """

    root: Path
    file: str
    values: Mapping[str, Value]
    rows: Mapping[str, Sequence[Mapping[str, Value]]]


class Surroundings(NamedTuple):
    """What all sources of a collection share; `keys` are trusted host keys by source, `section` the collection's."""

    root: Path
    environ: Mapping[str, str]
    agent: str
    values: Mapping[str, Value]
    keys: Mapping[str, tuple[str, ...]]
    section: Any = None


def filled(kind: type[Section], values: Mapping[str, Value], table: str, **fixed: Any) -> Section:
    """Build a dataclass whose fields have the names of a table's settings; `fixed` gives the other fields."""
    names = [field.name for field in fields(kind) if field.name not in fixed]
    return kind(**{name: values[f"{table}.{name}"].value for name in names}, **fixed)


def source_at_url(table: SourceTable, values: Mapping[str, Value], context: Surroundings) -> Source:
    """Build a source from its table, with the values of all its settings as `options`.

    ConfigError if `url` is missing, unless the source takes captures of others, and for an address that is not valid.
    """
    url = values["url"]
    options = {name: value.value for name, value in values.items()}
    active = values["state"].value == "available"
    if not url.value and any(options.get(name) for name in _CAPTURES):
        no_site = Site("", agent=context.agent)
        return Source(table.name, values["collection"].value, no_site, active=active, options=options)
    if not url.value:
        capture_settings = [name for name in _CAPTURES if name in options]
        problem = f" needs url or one of {', '.join(capture_settings)}" if capture_settings else " needs url"
        raise ConfigError(f"{table.file}: source.{table.name}{problem}", hint=f"edit {table.file}")
    try:
        address = split_address(url.value, context.root)
    except ConfigError as error:
        raise ConfigError(f"{url.origin}: {url.name}: {error}", hint=f"edit {table.file}") from None
    bundle = values["ca_bundle"].value
    site = Site(
        **address._asdict(),
        **{name: values[name].value for name in ("timeout", "proxy", "address_family")},
        ca_bundle=str(bundle) if bundle else "",
        agent=context.agent,
    )
    try:
        credentials = credentials_of(**{name: options.get(name) or "" for name in SECRET_SETTINGS})
    except ConfigError as error:
        raise ConfigError(f"{table.file}: source.{table.name}: {error}", hint=f"edit {table.file}") from None
    collection = values["collection"].value
    most = options.get("max_requests_per_run") or 0
    return Source(table.name, collection, site, active=active, options=options, credentials=credentials, most=most)


SECRET_SETTINGS = ("secret", "secret_header", "secret_query", "secret_prefix")
"""The settings of a source or service that put a secret into its requests."""

_CAPTURES = ("from", "cdx", "warc", "warc_urls")
"""The settings that name captures to read."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED = frozenset({"host", "content-length", "transfer-encoding", "connection", "range", "accept-encoding"})


def credentials_of(
    secret: Any, secret_header: str = "", secret_query: str = "", secret_prefix: str = ""
) -> tuple[Credential, ...]:
    """Return a secret with the header or parameter that carries it, or () if it is the password of the address.

    Raises ConfigError if the header or parameter is missing or not valid.
    """
    if not isinstance(secret, Secret):  # drops has a setting of the same name for its passwords
        if secret_header or secret_query:
            raise ConfigError("secret is missing, but secret_header or secret_query is set")
        return ()
    if not secret_header and not secret_query and not secret_prefix:
        return ()  # it is the password of the source's own address
    if bool(secret_header) == bool(secret_query):
        raise ConfigError("wanted either secret_header or secret_query, to say where the secret is sent")
    if secret_header and (not _TOKEN.fullmatch(secret_header) or secret_header.lower() in _RESERVED):
        raise ConfigError(f"secret_header: {secret_header[:40]!r} cannot be used as the header of a secret")
    if secret_query and (not re.fullmatch(r"[A-Za-z0-9._~-]+", secret_query) or secret_prefix):
        raise ConfigError("secret_query: wanted only a parameter's name: letters, digits, and . _ ~ -")
    return (Credential(secret, secret_header, secret_query, secret_prefix),)


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a collection's steps may ask; `setting` is the dotted name of the setting with its address.

    Its robots.txt is not read: the workspace's operator named the service. `delay` is the least pause between two
    requests, in seconds; `connections` the most requests at a time; `seconds` the longest time for one answer;
    `largest` its most bytes. A text in place of a number is the dotted name of the setting with that number.

    A step gets every answer below 500 except redirects (3xx), denied access (401, 403, 407) and requests to come back
    later (408, 425, 429); it also gets an answer that is too large, with that reason. Anything else counts as failed
    and is asked again, first after `busy` seconds and then after twice as many each time, by this run and by later
    ones. `final` names statuses that count as answers nevertheless, and reasons (such as `Reason.TIMEOUT`) that the
    step gets after `tries` failures in a row.

    `secret` is the dotted name of the setting (of kind SECRET) with the place of a secret. It is sent in a header,
    after a prefix ("Bearer "), or as a parameter of the address. It is stored neither in the ledger nor in the archive:
    an answer that repeats it is archived with as many x in its place.

    If answers are `archived`, a replay reads them again. Otherwise only their status and digest are kept, and their
    bytes only while a step waits for them: a replay, or another step that asks the same, sends the request again.
    """

    name: str
    setting: str
    methods: tuple[str, ...] = ("POST",)
    delay: float = 0.0
    connections: int | str = 1
    seconds: float | str = 120.0
    largest: int | str = 1 << 30
    busy: float | str = 5.0
    final: tuple[int | Reason, ...] = ()
    tries: int = 3
    archived: bool = True
    secret: str = ""
    secret_header: str = ""
    secret_query: str = ""
    secret_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of a collection and of its sources.

    Names of `settings` are dotted and begin with the collection's name; `source` adds to the settings that all
    sources have; `services` are those that steps may ask. `tables` are arrays of tables such as [[NAME.thing]].
    `section` builds from the values what the adapter gets from `Workspace.section`, mostly with `filled`; `build`
    builds a source from its table. Both raise ConfigError.
    `template` is put into a new windrow.toml. `examples` are whole command lines, such as `windrow run NAME --every
    6h`; the help of `new source`, `run`, `try`, `why` and `export` each shows its own.
    """

    settings: tuple[Setting, ...] = ()
    source: tuple[Setting, ...] = ()
    tables: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    section: Callable[[Given], Any] | None = None
    build: Callable[[SourceTable, Mapping[str, Value], Surroundings], Source] = source_at_url
    template: str = ""
    services: tuple[Service, ...] = ()
    examples: tuple[str, ...] = ()


RawValue = tuple[Any, str]
"""A value as TOML spells it, and its origin."""


class Layers(NamedTuple):
    """Where values come from, the strongest first, by dotted name without `prefix`.

    `prefix` before a name makes the public name: `source.NAME.` for a source.
    """

    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    files: Mapping[str, RawValue]
    prefix: str = ""


def resolve_values(settings: Iterable[Setting], layers: Layers, root: Path) -> dict[str, Value]:
    """Return each setting's value by name; ConfigError with its origin for a value that is not valid."""
    return {setting.name: _value(setting, layers, root) for setting in settings}


def _value(setting: Setting, layers: Layers, root: Path) -> Value:
    name = layers.prefix + setting.name
    env = variable(name)
    if setting.name in layers.flags:
        flag = setting.flag or f"--{setting.name.rpartition('.')[2].replace('_', '-')}"
        raw, origin = _spell(setting, layers.flags[setting.name]), f"flag {flag}"
    elif env in layers.environ:
        raw, origin = _spell(setting, layers.environ[env]), f"env {env}"
    else:
        raw, origin = layers.files.get(setting.name, (setting.default, "default"))
    try:
        value = setting.kind.read(raw, root)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {name}: {error}", hint=_hint(origin, root)) from None
    return Value(name, value, setting.kind.show(value), origin)


def _spell(setting: Setting, raw: Any) -> Any:
    return setting.kind.spell(raw) if isinstance(raw, str) else raw


def _hint(origin: str, root: Path) -> str:
    if origin.endswith(".toml"):
        return f"edit {root / origin}"
    return f"unset {origin.removeprefix('env ')}" if origin.startswith("env ") else "windrow config"


def flatten(tree: Mapping[str, Any], names: Iterable[str], file: str, table_path: str = "") -> dict[str, RawValue]:
    """Turn nested tables into dotted names; ConfigError for a name that is not one of `names`.

    `at` is the dotted path of `tree` itself, for the message.
    """
    known = set(names)
    renamed = {old: new for old, new in SETTINGS.items() if new in known}
    tables = {name[:end] for name in (*known, *renamed) for end, mark in enumerate(name) if mark == "."}
    values_by_name: dict[str, RawValue] = {}
    for dotted, value in _walk(tree, tables):
        if dotted in tables:
            raise ConfigError(
                f"{file}: {table_path}{dotted}: wanted a table [{table_path}{dotted}]", hint=f"edit {file}"
            )
        name = current(renamed, dotted, f"{file}: {table_path}")
        if name not in known:
            raise _unknown_setting(f"{table_path}{name}", (f"{table_path}{each}" for each in known | tables), file)
        if name in values_by_name:
            raise ConfigError(f"{file}: {table_path}{name} is also set under its old name", hint=f"edit {file}")
        values_by_name[name] = (value, file)
    return values_by_name


def _walk(tree: Mapping[str, Any], tables: set[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = prefix + key
        if name in tables and isinstance(value, dict):
            yield from _walk(value, tables, f"{name}.")
        else:
            yield name, value


def _unknown_setting(name: str, known: Iterable[str], file: str) -> ConfigError:
    names = sorted(known)
    by_last_part = {each.rpartition(".")[2]: each for each in names}
    guesses = get_close_matches(name, names, 1, 0.6)
    guesses = guesses or [
        by_last_part[part] for part in get_close_matches(name.rpartition(".")[2], by_last_part, 1, 0.6)
    ]
    suggestion = f"; did you mean {guesses[0]}?" if guesses else ""
    return ConfigError(f"{file}: {name} is not a setting{suggestion}", hint=f"edit {file}")


def with_new_names(environ: Mapping[str, str], prefixes: Iterable[str]) -> dict[str, str]:
    """Return the environment with variables of old names under their new ones; `prefixes` are those of the settings."""
    pairs = {variable(prefix + old): variable(prefix + new) for prefix in prefixes for old, new in SETTINGS.items()}
    return {
        current(pairs, name, "env "): value for name, value in environ.items() if pairs.get(name, "") not in environ
    }


def refuse_mistyped_variables(environ: Mapping[str, str], known: Iterable[str]) -> None:
    """Raise ConfigError if a variable looks like a misspelt setting; others may belong to another program."""
    names = {each.removeprefix(PREFIX): each for each in known}
    for variable_ in sorted(environ):
        if not variable_.startswith(PREFIX) or variable_.removeprefix(PREFIX) in names:
            continue
        if guesses := get_close_matches(variable_.removeprefix(PREFIX), names, 1, 0.85):
            raise ConfigError(
                f"env {variable_} is not a setting; did you mean {names[guesses[0]]}?",
                hint=f"unset {variable_}",
            )
