"""Build the sources from their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.metadata import entry_points

from windrow.config.declared import Around, Declared
from windrow.config.layer import Layers, flatten, settle
from windrow.config.section import SECTIONS, SOURCE_SETTINGS
from windrow.config.setting import SOURCE, Setting, variable
from windrow.config.workspace import Value
from windrow.errors import ConfigError
from windrow.model import Source

_OTHERS = "drops"  # a collection from elsewhere is listed as drops are


def kinds() -> tuple[str, ...]:
    """Return the names of the collections that are known: ours, and those that are installed."""
    return tuple(sorted({*SECTIONS, *(entry.name for entry in entry_points(group="windrow.collections"))}))


def build(one: Declared, around: Around, collections: Collection[str]) -> tuple[Source, tuple[Value, ...]]:
    """Return a source, of one of the `collections`, and the values that it was made of."""
    kind = _kind(one, around, collections)
    section = SECTIONS[kind]
    known = SOURCE_SETTINGS[kind]
    _check_words(one, kind)
    prefix = f"source.{one.name}."
    layers = Layers({}, around.environ, flatten(one.tree, known, one.file, prefix), prefix)
    values = settle(known.values(), layers, around.root)
    return section.build(one, values, around), tuple(values.values())


def variables(one: Declared) -> Iterator[str]:
    """Return the environment variables that may say something of a source."""
    names = {name for known in SOURCE_SETTINGS.values() for name in known}
    return (variable(f"source.{one.name}.{name}") for name in names)


def _kind(one: Declared, around: Around, collections: Collection[str]) -> str:
    """Return the name of the section that reads a source."""
    setting: Setting = next(each for each in SOURCE if each.name == "collection")
    prefix = f"source.{one.name}."
    given = {"collection": (one.tree["collection"], one.file)} if "collection" in one.tree else {}
    value = settle([setting], Layers({}, around.environ, given, prefix), around.root)["collection"]
    names = ", ".join(collections)
    if not value.value:
        flatten(
            one.tree, {name for each in SOURCE_SETTINGS.values() for name in each}, one.file, prefix
        )  # a typing error?
        raise ConfigError(
            f"{one.file}: source.{one.name}.collection is missing; there is: {names}", hint=f"edit {one.file}"
        )
    if value.value not in collections:
        raise ConfigError(
            f"{value.origin}: {value.name}: no collection {value.value!r}; there is: {names}", hint=f"edit {one.file}"
        )
    return value.value if value.value in SECTIONS else _OTHERS


def _check_words(one: Declared, kind: str) -> None:
    """Refuse what another collection's sources say, and name that collection."""
    for name in one.tree:
        owners = [each for each, known in SOURCE_SETTINGS.items() if name in known]
        if owners and kind not in owners:
            raise ConfigError(
                f"{one.file}: source.{one.name}.{name} is for sources of {owners[0]}, and this is one of {kind}",
                hint=f"edit {one.file}",
            )
