"""Build the sources from their tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from windrow.config.address import place
from windrow.config.file import Files
from windrow.config.layer import Layers, flatten, settle
from windrow.config.setting import SOURCE_SETTINGS, variable
from windrow.config.workspace import Value
from windrow.errors import ConfigError
from windrow.model import Site, Source

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SITE = ("secret", "key", "timeout", "proxy", "passive", "family", "manifest", "private")


class Declared(NamedTuple):
    """A source's own table, before it is read."""

    name: str
    file: str
    tree: dict[str, Any]


def declared(files: Files) -> list[Declared]:
    """Return the tables of all sources: [source.NAME] in windrow.toml, and sources/NAME.toml."""
    tables = files.main.tree.get("source", {})
    if not isinstance(tables, dict) or not all(isinstance(tree, dict) for tree in tables.values()):
        raise ConfigError(f"{files.main.name}: source: wanted tables [source.NAME]", hint="windrow config")
    found = [Declared(name, files.main.name, tree) for name, tree in tables.items()]
    found += [Declared(Path(file.name).stem, file.name, file.tree) for file in files.sources]
    seen: dict[str, Declared] = {}
    for one in found:
        if not _NAME.fullmatch(one.name):
            raise ConfigError(f"{one.file}: {one.name[:80]!r} is not a name for a source: letters, digits, - and _")
        twin = seen.setdefault(variable(one.name), one)
        if twin is not one:
            raise ConfigError(f"{one.file}: source {one.name} is declared as {twin.name} in {twin.file} too")
    return found


def kinds() -> tuple[str, ...]:
    """Return the names of the collections that are installed."""
    return tuple(sorted(entry.name for entry in entry_points(group="windrow.collections")))


class Builder(NamedTuple):
    """What all sources share.

    `attempts` is used where a source does not say its own, and always when a flag set it; `keys`
    are trusted host keys, `closed` the inactive centres in lower case.
    """

    root: Path
    environ: Mapping[str, str]
    agent: str
    attempts: Value
    keys: Mapping[str, tuple[str, ...]]
    collections: Collection[str]
    closed: frozenset[str] = frozenset()

    def build(self, one: Declared) -> tuple[Source, tuple[Value, ...]]:
        """Return the source and the values that it was made of."""
        prefix = f"source.{one.name}."
        given = flatten(one.tree, SOURCE_SETTINGS, one.file, prefix)
        layers = Layers({}, self.environ, given, prefix)
        values = settle(SOURCE_SETTINGS.values(), layers, self.root)
        self._check(one, values)
        site = self._site(one, values)
        attempts = values["attempts"].value
        if not attempts or self.attempts.origin.startswith("flag"):
            attempts = self.attempts.value
        source = Source(
            one.name,
            values["collection"].value,
            site,
            values["centre"].value,
            values["state"].value == "available" and values["centre"].value.lower() not in self.closed,
            values["connections"].value,
            attempts,
            values["pace"].value,
            {"state": values["state"].value},
        )
        return source, tuple(values.values())

    def _check(self, one: Declared, values: Mapping[str, Value]) -> None:
        for name in ("url", "collection"):
            if not values[name].value:
                raise ConfigError(f"{one.file}: source.{one.name}.{name} is missing", hint=f"edit {one.file}")
        collection = values["collection"]
        if collection.value not in self.collections:
            names = ", ".join(self.collections)
            raise ConfigError(
                f"{collection.origin}: {collection.name}: no collection {collection.value!r}; there is: {names}"
            )

    def _site(self, one: Declared, values: Mapping[str, Value]) -> Site:
        url = values["url"]
        try:
            where = place(url.value, self.root)
        except ConfigError as error:
            raise ConfigError(f"{url.origin}: {url.name}: {error}", hint=f"edit {one.file}") from None
        bundle = values["ca_bundle"].value
        keys = dict.fromkeys((*values["host_keys"].value, *self.keys.get(one.name, ())))
        return Site(
            **where._asdict(),
            **{name: values[name].value for name in _SITE},
            ca_bundle=str(bundle) if bundle else "",
            host_keys=tuple(keys),
            agent=self.agent,
        )
