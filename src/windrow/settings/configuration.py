"""How a collection declares its settings, and how their values are found in flags, variables, files and defaults."""

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
from windrow.renamed import SETTINGS, current_name
from windrow.settings.kinds import split_address
from windrow.settings.setting import PREFIX, Setting, Value, variable_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Section = TypeVar("Section", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database's address as SQLAlchemy writes it, without a password; `secret` says where the password is stored."""

    url: str
    secret: Secret | None = None


class SourceTable(NamedTuple):
    """A source's unchecked TOML table: the source's name, the file's name, and the parsed table.

    If the file is not TOML, the table is empty and `fault` is the error; otherwise `fault` is empty.
    """

    name: str
    file: str
    tree: dict[str, Any]
    fault: str = ""


class Given(NamedTuple):
    """The argument of `Configuration.section`: the workspace's folder `root`, and the values in its configuration.

    `values` is a dict from the dotted name of every setting of the workspace to its value. `rows` is a dict from the
    name of each declared array of tables to the values in its tables. `file` is the name of the file, for error
    messages.
    """

    root: Path
    file: str
    values: Mapping[str, Value]
    rows: Mapping[str, Sequence[Mapping[str, Value]]]


class Surroundings(NamedTuple):
    """The values that all sources of a collection share."""

    root: Path  # the workspace's folder
    environ: Mapping[str, str]
    agent: str  # the user agent
    values: Mapping[str, Value]  # of the workspace's settings, by name
    keys: Mapping[str, tuple[str, ...]]  # trusted host keys by source
    section: Any = None  # the result of `Configuration.section`


def filled(kind: type[Section], values: Mapping[str, Value], table: str, **fixed: Any) -> Section:
    """Build a dataclass: each field NAME gets the value in `fixed`, or else that of the setting NAME in `table`."""
    names = [field.name for field in fields(kind) if field.name not in fixed]
    return kind(**{name: values[f"{table}.{name}"].value for name in names}, **fixed)


def source_at_url(table: SourceTable, values: Mapping[str, Value], context: Surroundings) -> Source:
    """Build a source whose `options` are the values of all its settings.

    Raises ConfigError if `url` is not valid, if it is missing and the source does not read captures of others, or if
    the settings for its secret are not valid.
    """
    url = values["url"]
    options = {name: value.value for name, value in values.items()}
    is_active = values["state"].value == "available"
    if not url.value and any(options.get(name) for name in _CAPTURE_SETTINGS):
        no_site = Site("", agent=context.agent)
        return Source(table.name, values["collection"].value, no_site, active=is_active, options=options)
    if not url.value:
        names = ", ".join(f"`{name}`" for name in _CAPTURE_SETTINGS if name in options)
        needed = f"the setting `url` or one of {names}" if names else "the setting `url`"
        raise ConfigError(f"{table.file}: source.{table.name} needs {needed}", hint=f"edit {table.file}")
    try:
        address = split_address(url.value, context.root)
    except ConfigError as error:
        raise ConfigError(f"{url.origin}: {url.name}: {error}", hint=f"edit {table.file}") from None
    ca_bundle = values["ca_bundle"].value
    site = Site(
        **address._asdict(),
        **{name: values[name].value for name in ("timeout", "proxy", "address_family")},
        ca_bundle=str(ca_bundle) if ca_bundle else "",
        agent=context.agent,
    )
    try:
        credentials = credentials_of(**{name: options.get(name) or "" for name in SECRET_SETTINGS})
    except ConfigError as error:
        raise ConfigError(f"{table.file}: source.{table.name}: {error}", hint=f"edit {table.file}") from None
    collection = values["collection"].value
    limit = options.get("max_requests_per_run") or 0
    return Source(table.name, collection, site, active=is_active, options=options, credentials=credentials, most=limit)


SECRET_SETTINGS = ("secret", "secret_header", "secret_query", "secret_prefix")
"""The names of the settings for the secret in the requests to a source or service."""

_CAPTURE_SETTINGS = ("from", "cdx", "warc", "warc_urls")
"""The names of the settings of a source that say which captures to read."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "range", "accept-encoding"})


def credentials_of(
    secret: Any, secret_header: str = "", secret_query: str = "", secret_prefix: str = ""
) -> tuple[Credential, ...]:
    """Return a tuple with a secret's Credential, or () if the secret is not set or is the password for the address.

    Raises ConfigError if a header, a parameter or a prefix is set without a secret, if a header and a parameter are
    set, if a secret has a prefix but no header, or if the header or the parameter is not valid.
    """
    if not isinstance(secret, Secret):  # drops has a setting of the same name for its passwords
        settings = {"secret_header": secret_header, "secret_query": secret_query, "secret_prefix": secret_prefix}
        if used := next((name for name, text in settings.items() if text), ""):
            raise ConfigError(f"the setting `secret` is not set, but `{used}` is")
        return ()
    if not secret_header and not secret_query and not secret_prefix:
        return ()  # it is the password for the source's own address
    if bool(secret_header) == bool(secret_query):
        raise ConfigError("expected either `secret_header` or `secret_query`, which say how the secret is sent")
    if secret_header and (not _HEADER_NAME.fullmatch(secret_header) or secret_header.lower() in _RESERVED_HEADERS):
        raise ConfigError(f"`secret_header`: {secret_header[:40]!r} cannot be used as the header for a secret")
    if secret_query and (not re.fullmatch(r"[A-Za-z0-9._~-]+", secret_query) or secret_prefix):
        raise ConfigError("`secret_query` may contain only letters, digits and . _ ~ -; `secret_prefix` needs a header")
    return (Credential(secret, secret_header, secret_query, secret_prefix),)


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a collection's steps may ask; `setting` is the dotted name of the setting with its address.

    Its robots.txt is not read: the workspace's operator named the service. `delay` is the minimum pause between two
    requests, in seconds. `connections` is the maximum number of requests at a time, `seconds` is the maximum time for
    one answer, and `largest` is its maximum size in bytes. A text in place of a number is the dotted name of the
    setting with that number.

    A step gets every answer with a status below 500, except redirects (3xx), denied access (401, 403, 407) and requests
    to try again later (408, 425, 429). It also gets an answer that is too large, with that reason. After any other
    outcome, this run and later ones repeat the request: after `busy` seconds, then after twice as long each time, up to
    a day; or after 90 seconds if access was denied. `final` lists further statuses that count as answers, and reasons
    (such as `Reason.TIMEOUT`) that the step gets after `tries` failures in a row.

    `secret` is the dotted name of the setting (of kind SECRET) with the place of a secret. The secret is sent in a
    header, after a prefix ("Bearer "), or as a parameter of the address. It is stored neither in the ledger nor in the
    archive: an answer that repeats it is archived with each character of the secret replaced by an x.

    If answers are `archived`, a replay reads them again. Otherwise only their status and digest are kept, and their
    bytes only while a step waits for them: a replay, or another step that makes the same request, sends it again.
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


class Preset(NamedTuple):
    """The settings that all sources of one product share.

    `settings` are written into the file of a new source. `text` has the settings that the source gets from the preset
    and may override, as lines of TOML. `url` describes the product and the address of a source to users.
    """

    url: str
    settings: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of a collection and of its sources.

    The names of `settings` are dotted and begin with the collection's name; `source` adds to the settings that all
    sources have; `services` are the services that steps may ask. `tables` are arrays of tables such as [[NAME.thing]].
    `section` builds the object that `Workspace.section` returns to the adapter, usually with `filled`; `build` builds a
    source from its table. Both may raise ConfigError. `presets` returns a dict from names to the presets for new
    sources. `template` is added to a new windrow.toml. `examples` are whole command lines, such as `windrow run NAME
    --every 6h`, for the help of `new source`, `new collection`, `run`, `try`, `why` and `export`.
    """

    settings: tuple[Setting, ...] = ()
    source: tuple[Setting, ...] = ()
    tables: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    section: Callable[[Given], Any] | None = None
    build: Callable[[SourceTable, Mapping[str, Value], Surroundings], Source] = source_at_url
    template: str = ""
    services: tuple[Service, ...] = ()
    examples: tuple[str, ...] = ()
    presets: Callable[[], Mapping[str, Preset]] = dict


RawValue = tuple[Any, str]
"""A value as in TOML, and its origin (`Value.origin`)."""


class Layers(NamedTuple):
    """The layers that are searched for a value, in this order; `flags` and `files` have dotted names without `prefix`.

    A setting's public name is `prefix` followed by its name. For a source's settings, `prefix` is `source.NAME.`.
    """

    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    files: Mapping[str, RawValue]
    prefix: str = ""


def resolve_values(settings: Iterable[Setting], layers: Layers, root: Path) -> dict[str, Value]:
    """Return a dict from each setting's name to its value; raise ConfigError with the origin of an invalid value."""
    return {setting.name: _resolve_value(setting, layers, root) for setting in settings}


def _resolve_value(setting: Setting, layers: Layers, root: Path) -> Value:
    name = layers.prefix + setting.name
    env_name = variable_name(name)
    if setting.name in layers.flags:
        flag = setting.flag or f"--{setting.name.rpartition('.')[2].replace('_', '-')}"
        raw, origin = _as_toml(setting, layers.flags[setting.name]), f"flag {flag}"
    elif env_name in layers.environ:
        raw, origin = _as_toml(setting, layers.environ[env_name]), f"env {env_name}"
    else:
        raw, origin = layers.files.get(setting.name, (setting.default, "default"))
    try:
        value = setting.kind.read(raw, root)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {name}: {error}", hint=_hint_for(origin, root)) from None
    return Value(name, value, setting.kind.show(value), origin)


def _as_toml(setting: Setting, raw: Any) -> Any:
    return setting.kind.spell(raw) if isinstance(raw, str) else raw


def _hint_for(origin: str, root: Path) -> str:
    if origin.endswith(".toml"):
        return f"edit {root / origin}"
    return f"unset {origin.removeprefix('env ')}" if origin.startswith("env ") else "windrow config"


def flatten_tables(
    tree: Mapping[str, Any], names: Iterable[str], file: str, table_path: str = ""
) -> dict[str, RawValue]:
    """Return a dict from dotted names to the values in nested tables; old names become new ones, with a warning.

    Raises ConfigError for a name that is not one of `names`, is the name of a table, or is set twice. `table_path` is
    the dotted path of `tree` itself, with a dot at its end, for messages.
    """
    known_names = set(names)
    renamed = {old: new for old, new in SETTINGS.items() if new in known_names}
    tables = {name[:end] for name in (*known_names, *renamed) for end, character in enumerate(name) if character == "."}
    values_by_name: dict[str, RawValue] = {}
    for dotted_name, value in _dotted_values(tree, tables):
        if dotted_name in tables:
            path = table_path + dotted_name
            raise ConfigError(f"{file}: {path}: expected a table [{path}], not a value", hint=f"edit {file}")
        name = current_name(renamed, dotted_name, f"{file}: {table_path}")
        if name not in known_names:
            paths = (table_path + known_name for known_name in known_names | tables)
            raise _unknown_setting(table_path + name, paths, file)
        if name in values_by_name:
            raise ConfigError(f"{file}: {table_path}{name} is also set under its old name", hint=f"edit {file}")
        values_by_name[name] = (value, file)
    return values_by_name


def _dotted_values(tree: Mapping[str, Any], tables: set[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        name = prefix + key
        if name in tables and isinstance(value, dict):
            yield from _dotted_values(value, tables, f"{name}.")
        else:
            yield name, value


def _unknown_setting(name: str, known_names: Iterable[str], file: str) -> ConfigError:
    names = sorted(known_names)
    by_last_part = {full_name.rpartition(".")[2]: full_name for full_name in names}
    guesses = get_close_matches(name, names, 1, 0.6)
    guesses = guesses or [
        by_last_part[part] for part in get_close_matches(name.rpartition(".")[2], by_last_part, 1, 0.6)
    ]
    suggestion = f"; did you mean {guesses[0]}?" if guesses else ""
    return ConfigError(f"{file}: {name} is not a setting{suggestion}", hint=f"edit {file}")


def with_new_names(environ: Mapping[str, str], prefixes: Iterable[str]) -> dict[str, str]:
    """Return the environment with the variables of renamed settings under their new names, and warn about each of them.

    If the variable with the new name is set too, the old one is left out without a warning. `prefixes` are the prefixes
    of the settings' public names: "" and `source.NAME.` of each source.
    """
    new_names = {
        variable_name(prefix + old): variable_name(prefix + new) for prefix in prefixes for old, new in SETTINGS.items()
    }
    return {
        current_name(new_names, name, "env "): value
        for name, value in environ.items()
        if new_names.get(name, "") not in environ
    }


def refuse_mistyped_variables(environ: Mapping[str, str], known_variables: Iterable[str]) -> None:
    """Raise ConfigError if an unknown variable that starts with WINDROW_ has nearly the name of a known one."""
    variables_by_suffix = {known_variable.removeprefix(PREFIX): known_variable for known_variable in known_variables}
    for env_name in sorted(environ):
        if not env_name.startswith(PREFIX) or env_name.removeprefix(PREFIX) in variables_by_suffix:
            continue
        if guesses := get_close_matches(env_name.removeprefix(PREFIX), variables_by_suffix, 1, 0.85):
            raise ConfigError(
                f"env {env_name} is not a setting; did you mean {variables_by_suffix[guesses[0]]}?",
                hint=f"unset {env_name}",
            )
