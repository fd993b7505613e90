"""Load a workspace's configuration: files, environment and flags -> one frozen value, its sources in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow.config.secrets import pinned
from windrow.config.workspace import MAIN, Archive, ConfigFiles, RunSettings, Workspace, read, refuse_overlaps
from windrow.contract import Collection, registry
from windrow.contract.registry import names as installed
from windrow.contract.registry import trouble
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import read_allowed
from windrow.model import Allowed, Limits, Site, Source
from windrow.settings.configuration import (
    Given,
    Layers,
    SourceTable,
    Surroundings,
    filled,
    flatten,
    settle,
    unknown_names,
)
from windrow.settings.setting import SOURCE, WORKSPACE, Setting, Value, is_name, variable

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
    there = {*collections, *(f"{source.collection}:{source.name}" for source in sources)}
    for source in sources:
        for name in collections[source.collection].inputs(source).kept if source.collection in collections else ():
            if name.partition(":")[0] == source.collection:
                told = f"{name!r} is of {source.collection}, like the source: captures are taken of others"
            elif name not in there:
                told = f"there is no {name!r} whose captures could be taken; wanted a collection, or collection:source"
            else:
                continue
            raise ConfigError(f"source.{source.name}.from: {told}", hint="windrow config")


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


def settings(collections: Mapping[str, Collection] | None = None) -> dict[str, Setting]:
    """Return what windrow.toml may say, by dotted name: for all collections, and for each that can be used."""
    known = registry.installed() if collections is None else collections
    return {one.name: one for one in (*WORKSPACE, *(each for c in known.values() for each in c.configuration.settings))}


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    collections: Mapping[str, Collection] | None = None,
) -> Workspace:
    """Return what is configured in the workspace at `root`.

    `environ` is the environment (the process's own unless given), `flags` values from the command
    line by setting (`{"drops.attempts": 5}`), None among them counting as not given. `collections`
    are those that can be used (unless given, those that are installed). Anything unknown, of a
    wrong type or contradictory is a ConfigError that names file and setting.
    """
    root = root.resolve()
    known = registry.installed() if collections is None else dict(collections)
    around = os.environ if environ is None else environ
    told = {name: value for name, value in (flags or {}).items() if value is not None}
    files = read(root)
    tables, of_sources = declared(files), settings_of(known)
    own = settings(known)
    unknown_names(around, [*map(variable, own), *(name for table in tables for name in variables(table, of_sources))])
    arrays = {name: rows for made in known.values() for name, rows in made.configuration.tables.items()}
    given = flatten(_usable(files, known), (*own, *arrays, "source"), MAIN)
    values = settle(own.values(), Layers(told, around, given), root)
    written = {name for name, one in own.items() if one.written}
    refuse_overlaps(root, written, values, ())
    rows = {name: _rows(given.get(name, ([], MAIN))[0], name, known_, root) for name, known_ in arrays.items()}
    sections = {
        name: section(Given(root, MAIN, values, {each: rows[each] for each in made.configuration.tables}))
        for name, made in known.items()
        if (section := made.configuration.section)
    }
    agent = values["agent"].value or _agent(values["contact"].value)
    keys = pinned(files.keys)
    built = []
    for table in tables:
        kind = str(table.tree.get("collection", ""))
        built.append(
            build(table, Surroundings(root, around, agent, values, keys, sections.get(kind)), known, of_sources)
        )
    refuse_unknown_origins(known, [source for source, _ in built])
    of_sources_values = [value for _, some in built for value in some]
    refuse_overlaps(root, written, values, of_sources_values)
    everything = [*values.values(), *(value for each in rows.values() for row in each for value in row.values())]
    return Workspace(
        root=root,
        name=values["name"].value or root.name,
        contact=values["contact"].value,
        agent=agent,
        ledger=values["ledger.path"].value,
        archive=filled(Archive, values, "archive"),
        limits=filled(Limits, values, "limits"),
        run=filled(RunSettings, values, "run"),
        sections=sections,
        sources=tuple(source for source, _ in built),
        values=(*everything, *of_sources_values),
    )


def _usable(files: ConfigFiles, known: Mapping[str, Collection]) -> dict[str, Any]:
    """Return windrow.toml without the tables of collections that are installed but cannot be loaded."""
    broken = set(registry.names()) - set(known)
    named = {file.tree.get("collection") for file in files.sources}
    sources = files.main.tree.get("source", {})
    named |= (
        {tree.get("collection") for tree in sources.values() if isinstance(tree, dict)}
        if isinstance(sources, dict)
        else set()
    )
    left_out = broken | {name for name in named if isinstance(name, str) and name and name not in known}
    return {name: value for name, value in files.main.tree.items() if name not in left_out}


def _rows(tables: Any, name: str, known: tuple[Setting, ...], root: Path) -> list[dict[str, Value]]:
    """Read the tables of an array, such as [[drops.centre]]."""
    if not isinstance(tables, list) or not all(isinstance(tree, dict) for tree in tables):
        raise ConfigError(f"{MAIN}: {name}: wanted tables [[{name}]]", hint=f"edit {root / MAIN}")
    words = {setting.name: setting for setting in known}
    found = []
    for number, tree in enumerate(tables):
        prefix = f"{name}[{number}]."
        found.append(settle(known, Layers({}, {}, flatten(tree, words, MAIN, prefix), prefix), root))
    return found


def _agent(contact: str) -> str:
    name = f"windrow/{version('windrow')}"
    return f"{name} ({contact})" if contact else name


_TEXT = """\
# A windrow workspace. Every setting, its default and its meaning: docs/reference/config.md,
# and `windrow config` shows what is in force and where it comes from.

name = {name}
contact = ""  # e-mail or page of the operator; servers are told

[archive]
folder = "archive"   # captures, as WARC files

# A source is a file sources/NAME.toml, or a table here. Nothing is asked that is not named.

"""


def default_toml(name: str) -> str:
    """Return what `windrow init` writes: minimal, commented, and valid as it stands."""
    if not name.isprintable():
        raise ConfigError("the name of a workspace is one line of printable text")
    parts = [made.configuration.template for made in registry.installed().values() if made.configuration.template]
    return _TEXT.format(name=json.dumps(name, ensure_ascii=False)) + "\n".join(parts)
