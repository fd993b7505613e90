"""How a collection declares what it may be told: tables of settings, and what is made of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from windrow.errors import ConfigError
from windrow.model import Credential, Secret, Site, Source
from windrow.reasons import Reason
from windrow.settings.address import place
from windrow.settings.setting import Setting, Value


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


def no_section(given: Given) -> Mapping[str, Any]:
    """Return the values as they are, by name: enough for a collection that needs no type of its own."""
    return {name: value.value for name, value in given.values.items()}


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
    `section` makes of the values what the adapter is given, `build` a source of its table; both raise ConfigError.
    `template` stands in a new windrow.toml. `examples` are whole command lines, such as `windrow run NAME --every 6h`:
    the help of `new source`, `run`, `try`, `why` and `export` shows those of its own.
    """

    settings: tuple[Setting, ...] = ()
    source: tuple[Setting, ...] = ()
    tables: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    section: Callable[[Given], Any] = no_section
    build: Callable[[SourceTable, Mapping[str, Value], Surroundings], Source] = source_at_url
    template: str = ""
    services: tuple[Service, ...] = ()
    examples: tuple[str, ...] = ()
