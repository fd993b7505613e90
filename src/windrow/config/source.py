"""The sources: their own tables, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from windrow.config.file import ConfigFiles
from windrow.contract import Collection
from windrow.errors import ConfigError
from windrow.model import Allowed, Site, Source
from windrow.politeness.guard import read_allowed
from windrow.registry import names as installed
from windrow.registry import trouble
from windrow.settings.configuration import SourceTable, Surroundings
from windrow.settings.layers import Layers, flatten, settle
from windrow.settings.setting import SOURCE, Setting, Value, is_name, variable

Known = Mapping[str, Mapping[str, Setting]]
"""What a source may say, by its collection."""


def settings_of(collections: Mapping[str, Collection]) -> dict[str, dict[str, Setting]]:
    """Return what a source may say, by its collection."""
    return {
        name: {setting.name: setting for setting in (*SOURCE, *made.configuration.source)}
        for name, made in collections.items()
    }


def declared(files: ConfigFiles) -> list[SourceTable]:
    """Return the tables of all sources: [source.NAME] in windrow.toml, and sources/NAME.toml."""
    tables = files.main.tree.get("source", {})
    if not isinstance(tables, dict) or not all(isinstance(tree, dict) for tree in tables.values()):
        raise ConfigError(f"{files.main.name}: source: wanted tables [source.NAME]", hint="windrow config")
    found = [SourceTable(name, files.main.name, tree) for name, tree in tables.items()]
    found += [SourceTable(Path(file.name).stem, file.name, file.tree) for file in files.sources]
    seen: dict[str, SourceTable] = {}
    for one in found:
        if not is_name(one.name):
            raise ConfigError(f"{one.file}: {one.name[:80]!r} is not a name for a source: letters, digits, - and _")
        twin = seen.setdefault(variable(one.name), one)
        if twin is not one:
            raise ConfigError(f"{one.file}: source {one.name} is declared as {twin.name} in {twin.file} too")
    return found


def variables(one: SourceTable, known: Known) -> Iterator[str]:
    """Return the environment variables that may say something of a source."""
    names = {name for each in (SOURCE_NAMES, *known.values()) for name in each}
    return (variable(f"source.{one.name}.{name}") for name in names)


SOURCE_NAMES = tuple(setting.name for setting in SOURCE)


def build(
    one: SourceTable, around: Surroundings, collections: Mapping[str, Collection], known: Known
) -> tuple[Source, tuple[Value, ...]]:
    """Return a source and the values that it was made of.

    One of a collection that is not installed or cannot be loaded is there too, and says so: `Source.unusable`.
    """
    value = _collection(one, around, known)
    kind = value.value
    if kind not in collections:
        return Source(one.name, kind, Site(""), active=False, unusable=trouble(kind)), (value,)
    _check_words(one, kind, known)
    prefix = f"source.{one.name}."
    layers = Layers({}, around.environ, flatten(one.tree, known[kind], one.file, prefix), prefix)
    values = settle(known[kind].values(), layers, around.root)
    source = collections[kind].configuration.build(one, values, around)
    if collections[kind].takes_answers:
        source = replace(source, site=replace(source.site, allowed=_allowed(source, one.file)))
    return source, tuple(values.values())


def _allowed(source: Source, file: str) -> Allowed:
    """Return what a source asked by requests allows beside public numbers: its `private`, and its own number."""
    try:
        return read_allowed(source.options.get("private", ()), source.site.host)
    except ConfigError as error:
        raise ConfigError(f"{file}: source.{source.name}.{error}", hint=f"edit {file}") from None


def refuse_unknown_origins(collections: Mapping[str, Collection], sources: Sequence[Source]) -> None:
    """Refuse a source that takes the captures of what is not there, or of its own collection."""
    there = {*collections, *(f"{one.collection}:{one.name}" for one in sources)}
    for one in sources:
        captures = collections[one.collection].captures if one.collection in collections else None
        for name in captures.inputs(one).kept if captures else ():
            if name.partition(":")[0] == one.collection:
                told = f"{name!r} is of {one.collection}, like the source: captures are taken of others"
            elif name not in there:
                told = f"there is no {name!r} whose captures could be taken; wanted a collection, or collection:source"
            else:
                continue
            raise ConfigError(f"source.{one.name}.from: {told}", hint="windrow config")


def _collection(one: SourceTable, around: Surroundings, known: Known) -> Value:
    """Return which collection a source is of."""
    setting = next(each for each in SOURCE if each.name == "collection")
    prefix = f"source.{one.name}."
    given = {"collection": (one.tree["collection"], one.file)} if "collection" in one.tree else {}
    value = settle([setting], Layers({}, around.environ, given, prefix), around.root)["collection"]
    if not value.value:
        flatten(one.tree, {name for each in known.values() for name in each}, one.file, prefix)  # a typing error?
        raise ConfigError(
            f"{one.file}: source.{one.name}.collection is missing; there is: {', '.join(installed())}",
            hint=f"edit {one.file}",
        )
    return value


def _check_words(one: SourceTable, kind: str, known: Known) -> None:
    """Refuse what another collection's sources say, and name that collection."""
    for name in one.tree:
        owners = [each for each, names in known.items() if name in names]
        if owners and kind not in owners:
            raise ConfigError(
                f"{one.file}: source.{one.name}.{name} is for sources of {owners[0]}, and this is one of {kind}",
                hint=f"edit {one.file}",
            )
