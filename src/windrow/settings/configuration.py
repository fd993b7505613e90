"""How a collection declares what it may be told; flags over environment over files over defaults."""

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
from windrow.settings.kinds import place
from windrow.settings.setting import PREFIX, Setting, Value, variable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Section = TypeVar("Section", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database's address in SQLAlchemy's spelling, without its password, and where that one is."""

    url: str
    secret: Secret | None = None


class SourceTable(NamedTuple):
    """A source's own table, before it is read."""

    name: str
    file: str
    tree: dict[str, Any]


class Given(NamedTuple):
    """What a collection's section is made of.

    `values` has every setting of the workspace, by its dotted name; `rows` those of each array of tables that the
    collection declares, a mapping for every table. `file` names the file for errors.
    """

    root: Path
    file: str
    values: Mapping[str, Value]
    rows: Mapping[str, Sequence[Mapping[str, Value]]]


class Surroundings(NamedTuple):
    """What all sources of a collection share: `keys` are trusted host keys, `section` what the collection is told."""

    root: Path
    environ: Mapping[str, str]
    agent: str
    values: Mapping[str, Value]
    keys: Mapping[str, tuple[str, ...]]
    section: Any = None


def filled(kind: type[Section], values: Mapping[str, Value], table: str, **made: Any) -> Section:
    """Make a dataclass whose fields are called like the settings of a table, but for those that are in `made`."""
    names = [field.name for field in fields(kind) if field.name not in made]
    return kind(**{name: values[f"{table}.{name}"].value for name in names}, **made)


def source_at_url(table: SourceTable, values: Mapping[str, Value], around: Surroundings) -> Source:
    """Make a source that lives at its `url`; its options are the values of the collection's own source settings."""
    url = values["url"]
    options = {name: value.value for name, value in values.items()}
    active = values["state"].value == "available"
    if not url.value and any(
        options.get(name) for name in _CAPTURES
    ):  # it takes captures of others, and nobody is asked
        nowhere = Site("", agent=around.agent)
        return Source(table.name, values["collection"].value, nowhere, active=active, options=options)
    if not url.value:
        others = [name for name in _CAPTURES if name in options]
        missing = f"{{}}: one of url, {', '.join(others)} is missing" if others else "{}.url is missing"
        told = missing.format(f"source.{table.name}")
        raise ConfigError(f"{table.file}: {told}", hint=f"edit {table.file}")
    try:
        where = place(url.value, around.root)
    except ConfigError as error:
        raise ConfigError(f"{url.origin}: {url.name}: {error}", hint=f"edit {table.file}") from None
    bundle = values["ca_bundle"].value
    site = Site(
        **where._asdict(),
        **{name: values[name].value for name in ("timeout", "proxy", "family")},
        ca_bundle=str(bundle) if bundle else "",
        agent=around.agent,
    )
    try:
        credentials = credentials_of(**{name: options.get(name) or "" for name in SECRET_SETTINGS})
    except ConfigError as error:
        raise ConfigError(f"{table.file}: source.{table.name}: {error}", hint=f"edit {table.file}") from None
    collection = values["collection"].value
    most = options.get("max_requests_per_run") or 0
    return Source(table.name, collection, site, active=active, options=options, credentials=credentials, most=most)


SECRET_SETTINGS = ("secret", "secret_header", "secret_query", "secret_prefix")
"""What says of a source or a service which secret goes where in its requests."""

_CAPTURES = ("from", "cdx", "warc", "warc_at")
"""The settings that name captures of others."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "range", "accept-encoding"})


def credentials_of(
    secret: Any, secret_header: str = "", secret_query: str = "", secret_prefix: str = ""
) -> tuple[Credential, ...]:
    """Return a secret with the place that it goes to; ConfigError where that place is none, or missing."""
    if not isinstance(secret, Secret):  # drops has a setting of the same name for its passwords
        if secret_header or secret_query:
            raise ConfigError("it says where a secret goes, and not where it is: secret = is missing")
        return ()
    if not secret_header and not secret_query and not secret_prefix:
        return ()  # it is a password of its site
    if bool(secret_header) == bool(secret_query):
        raise ConfigError("a secret goes into a header or a parameter: one of secret_header and secret_query")
    if secret_header and (not _TOKEN.fullmatch(secret_header) or secret_header.lower() in _OURS):
        raise ConfigError(f"{secret_header[:40]!r} is no header that a secret may go into")
    if secret_query and (not re.fullmatch(r"[A-Za-z0-9._~-]+", secret_query) or secret_prefix):
        raise ConfigError("secret_query is a parameter's name alone: letters, digits, and . _ ~ -")
    return (Credential(secret, secret_header, secret_query, secret_prefix),)


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a collection's steps may ask: `setting` is the dotted name of the setting that has its address.

    No robots.txt is asked there: it is named by who runs the workspace. `delay` is the least pause between two
    requests, in seconds. Where a number is a text, that is the dotted name of the setting that has it: `connections`
    are the requests that are made at a time, `seconds` how long one answer may take, `largest` the bytes it may have.

    A step is given every answer below 500 but redirects (3xx), refusals of who asks (401, 403, 407) and what asks to
    come back (408, 425, 429), and one that is too large, with that reason. All else counts as failed and is asked
    again, first `busy` seconds later and then after twice as many each time, by this run and by later ones. `final`
    names statuses that are answers all the same, and reasons (such as `Reason.TIMEOUT`) that the step is given after
    `tries` failures in a row.

    `secret` is the dotted name of the setting (of the kind SECRET) that has the place of a secret. It is sent in a
    header, after a prefix ("Bearer "), or as a parameter of the address, and kept nowhere: neither in the ledger nor in
    the archive, where an answer that repeats it has as many x in its place.

    Answers are `archived`, so that a replay reads them again. Otherwise only their status and digest are kept, and
    their bytes no longer than until no step waits for them: a replay, or another step that asks the same, asks again.
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

    Names of `settings` are dotted and begin with the collection's name; those of `source` stand beside the ones that
    all sources have; `services` are those that steps may ask. `tables` are arrays of tables such as [[NAME.thing]].
    `section` makes of the values what the adapter finds by `Workspace.section`, most often by `filled`, and `build` a
    source of its table; both raise ConfigError.
    `template` stands in a new windrow.toml. `examples` are whole command lines, such as `windrow run NAME --every 6h`:
    the help of `new source`, `run`, `try`, `why` and `export` shows those of its own.
    """

    settings: tuple[Setting, ...] = ()
    source: tuple[Setting, ...] = ()
    tables: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    section: Callable[[Given], Any] | None = None
    build: Callable[[SourceTable, Mapping[str, Value], Surroundings], Source] = source_at_url
    template: str = ""
    services: tuple[Service, ...] = ()
    examples: tuple[str, ...] = ()


Layered = tuple[Any, str]
"""A value as TOML would spell it, and its origin."""


class Layers(NamedTuple):
    """Where values come from, strongest first; names are dotted, without `prefix`.

    `prefix` is put before a name to make its public one: `source.NAME.` for a source.
    """

    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    files: Mapping[str, Layered]
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


def flatten(tree: Mapping[str, Any], names: Iterable[str], file: str, at: str = "") -> dict[str, Layered]:
    """Turn nested tables into dotted names; a name that is not one of `names` is a ConfigError.

    `at` is the table that `tree` is, for the message.
    """
    known = set(names)
    tables = {name[:end] for name in known for end, mark in enumerate(name) if mark == "."}
    found: dict[str, Layered] = {}
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
