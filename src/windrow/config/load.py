"""Read a workspace's configuration from files, environment and flags into one frozen `Workspace`, with its sources."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow.config.workspace import (
    MAIN_FILE,
    Archive,
    ConfigFiles,
    RunSettings,
    Workspace,
    location_of_setting,
    read_files,
    read_host_keys,
    refuse_overlaps,
)
from windrow.contract import Collection, registry
from windrow.contract.registry import names as collection_names
from windrow.contract.registry import why_unusable
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import read_allowed
from windrow.model import Allowed, Limits, Site, Source
from windrow.settings.configuration import (
    Given,
    Layers,
    RawValue,
    SourceTable,
    Surroundings,
    filled,
    flatten_tables,
    refuse_mistyped_variables,
    resolve_values,
    with_new_names,
)
from windrow.settings.setting import SOURCE_SETTINGS, WORKSPACE_SETTINGS, Setting, Value, is_name, variable_name

SourceSettings = Mapping[str, Mapping[str, Setting]]
"""For each collection, a dict from names to the settings that its sources may have."""


def settings_of_sources(collections: Mapping[str, Collection]) -> dict[str, dict[str, Setting]]:
    """Return the settings that the sources of each collection may have."""
    return {
        name: {setting.name: setting for setting in (*SOURCE_SETTINGS, *collection.configuration.source)}
        for name, collection in collections.items()
    }


COMMAND_LINE = "the command line"
"""The text that messages show in place of a file's name for a source that a command adds."""


def read_source_tables(files: ConfigFiles, added: Mapping[str, Mapping[str, Any]]) -> list[SourceTable]:
    """Return the tables of all sources: [source.NAME] in windrow.toml, then sources/NAME.toml, then those in `added`.

    Raises ConfigError if a name is not valid, if two names have the same environment variables, or if [source]
    contains a value that is not a table.
    """
    tables = files.main.tree.get("source", {})
    if not isinstance(tables, dict) or not all(isinstance(tree, dict) for tree in tables.values()):
        raise ConfigError(f"{files.main.name}: source: expected tables [source.NAME]", hint="windrow config")
    source_tables = [SourceTable(name, files.main.name, tree) for name, tree in tables.items()]
    source_tables += [SourceTable(Path(file.name).stem, *file) for file in files.sources]
    source_tables += [SourceTable(name, COMMAND_LINE, {**tree}) for name, tree in added.items()]
    tables_by_variable: dict[str, SourceTable] = {}
    for table in source_tables:
        if not is_name(table.name):
            raise ConfigError(
                f"{table.file}: {table.name[:80]!r} cannot name a source: use a letter or digit, then at most 63 "
                "letters, digits, - and _"
            )
        earlier = tables_by_variable.setdefault(variable_name(table.name), table)
        if earlier is not table:
            text = f"{table.file}: source {table.name} is already declared as {earlier.name} in {earlier.file}"
            raise ConfigError(text, hint="rename one of the two sources")
    return source_tables


def variables_of_source(table: SourceTable, source_settings: SourceSettings) -> Iterator[str]:
    """Yield the names of this source's environment variables, for the settings of all collections."""
    names = {name for settings in (SOURCE_NAMES, *source_settings.values()) for name in settings}
    return (variable_name(f"source.{table.name}.{name}") for name in names)


SOURCE_NAMES = tuple(setting.name for setting in SOURCE_SETTINGS)  # of the settings that every source has


def build_source(
    table: SourceTable, context: Surroundings, collections: Mapping[str, Collection], source_settings: SourceSettings
) -> tuple[Source, tuple[Value, ...]]:
    """Return a source and the values of its settings; raise ConfigError if the settings are wrong.

    If its file is not TOML, or its collection cannot be used, the source is returned with the reason as `unusable`.
    """
    if table.fault:
        return Source(table.name, "", Site(""), active=False, unusable=table.fault), ()
    collection_value = _find_collection(table, context, source_settings)
    name = collection_value.value  # of the collection
    if name not in collections:
        return Source(table.name, name, Site(""), active=False, unusable=why_unusable(name)), (collection_value,)
    _refuse_foreign_settings(table, name, source_settings)
    prefix = f"source.{table.name}."
    toml_values = flatten_tables(table.tree, source_settings[name], table.file, prefix)
    layers = Layers({}, context.environ, toml_values, prefix)
    values = resolve_values(source_settings[name].values(), layers, context.root)
    source = collections[name].configuration.build(table, values, context)
    if collections[name].takes_answers:  # others, such as pages, set what their sources allow in `build`
        source = replace(source, site=replace(source.site, allowed=_allowed_addresses(source, table.file)))
    part = context.values["part"].value
    is_own = collections[name].is_crawl_by_links or part.has_origin(source.site.origin)
    # Not among the options: when these change, indexes of captures are read again.
    options = {setting: value for setting, value in source.options.items() if setting != "usual_since"}
    source = replace(source, options=options, usual_since=values["usual_since"].value)
    return replace(source, part=part, active=source.active and is_own), tuple(values.values())


def _allowed_addresses(source: Source, file: str) -> Allowed:
    try:
        return read_allowed(source.options.get("private_hosts", ()), source.site.host)
    except ConfigError as error:
        raise ConfigError(f"{file}: source.{source.name}.{error}", hint=f"edit {file}") from None


def check_inputs(
    collections: Mapping[str, Collection], sources: Sequence[Source], needed: Container[str]
) -> tuple[Source, ...]:
    """Return the sources; one whose setting `from` is wrong becomes unusable or, if it is needed, raises ConfigError.

    `from` is wrong if it names the source's own collection, or a collection or source that does not exist. A source
    whose collection is not known may belong to any collection.
    """
    known_inputs = {*collections, *(f"{source.collection}:{source.name}" for source in sources)}
    known_inputs |= {f"{name}:{source.name}" for source in sources if not source.collection for name in collections}
    checked: list[Source] = []
    for source in sources:
        is_usable = source.collection in collections and not source.unusable
        problem = ""
        for name in collections[source.collection].inputs(source).kept if is_usable else ():
            if name.partition(":")[0] == source.collection:
                problem = f"{name!r} names the source's own collection; expected another collection, or a source of it"
            elif name not in known_inputs:
                problem = f"{name!r} does not exist; expected a collection, or collection:source"
        problem = problem and f"source.{source.name}.from: {problem}"
        if problem and _is_needed(source.name, source.collection, needed):
            raise ConfigError(problem, hint="windrow config")
        checked.append(replace(source, active=False, unusable=problem) if problem else source)
    return tuple(checked)


def _is_needed(source: str, collection: object, needed: Container[str]) -> bool:
    """Return whether the names in `needed` (empty: all) include a source or its collection."""
    return not needed or source in needed or collection in needed


def _find_collection(table: SourceTable, context: Surroundings, source_settings: SourceSettings) -> Value:
    setting = next(setting for setting in SOURCE_SETTINGS if setting.name == "collection")
    prefix = f"source.{table.name}."
    toml_values = {"collection": (table.tree["collection"], table.file)} if "collection" in table.tree else {}
    collection = resolve_values([setting], Layers({}, context.environ, toml_values, prefix), context.root)["collection"]
    if not collection.value:
        known_names = {name for settings in source_settings.values() for name in settings}
        flatten_tables(table.tree, known_names, table.file, prefix)  # raises ConfigError if it is mistyped
        raise ConfigError(
            f"{table.file}: source.{table.name}.collection is missing; expected one of {', '.join(collection_names())}",
            hint=f"edit {table.file}",
        )
    return collection


def _refuse_foreign_settings(table: SourceTable, collection: str, source_settings: SourceSettings) -> None:
    for name in table.tree:
        owners = [owner for owner, names in source_settings.items() if name in names]
        if owners and collection not in owners:
            raise ConfigError(
                f"{table.file}: source.{table.name}.{name} is a setting of {owners[0]}, not of {collection}",
                hint=f"edit {table.file}",
            )


def declared_settings(collections: Mapping[str, Collection] | None = None) -> dict[str, Setting]:
    """Return a dict from dotted names to the settings of windrow.toml: the workspace's, then those of collections."""
    usable = registry.installed() if collections is None else collections
    declared = (
        *WORKSPACE_SETTINGS,
        *(setting for collection in usable.values() for setting in collection.configuration.settings),
    )
    return {setting.name: setting for setting in declared}


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    collections: Mapping[str, Collection] | None = None,
    *,
    needed: Container[str] = (),
    added: Mapping[str, Mapping[str, Any]] | None = None,
) -> Workspace:
    """Return the configuration of the workspace at `root`.

    `environ` is the environment, by default that of this process. `flags` has the values of settings on the command
    line (`{"drops.attempts": 5}`; None means not set), `added` the tables of further sources by name, and `collections`
    the usable collections by name, by default all. Raises ConfigError for an unknown setting, a wrong value or a
    contradiction; if `needed` names sources and collections, it only makes any other source unusable.
    """
    root = root.resolve()
    usable = registry.installed() if collections is None else dict(collections)
    environment: Mapping[str, str] = os.environ if environ is None else environ
    set_flags = {name: value for name, value in (flags or {}).items() if value is not None}
    files = read_files(root)
    tables, source_settings = read_source_tables(files, added or {}), settings_of_sources(usable)
    environment = with_new_names(environment, ["", *(f"source.{table.name}." for table in tables)])
    workspace_settings = declared_settings(usable)
    source_variables = (name for table in tables for name in variables_of_source(table, source_settings))
    refuse_mistyped_variables(environment, [*map(variable_name, workspace_settings), *source_variables])
    arrays = {name: rows for collection in usable.values() for name, rows in collection.configuration.tables.items()}
    toml_values = flatten_tables(_usable_tables(files, usable), (*workspace_settings, *arrays, "source"), MAIN_FILE)
    values = resolve_values(workspace_settings.values(), Layers(set_flags, environment, toml_values), root)
    written_settings = {name for name, setting in workspace_settings.items() if setting.written}
    refuse_overlaps(root, written_settings, values, ())
    rows = {name: _read_rows(toml_values, name, columns, root) for name, columns in arrays.items()}
    sections = _build_sections(usable, Given(root, MAIN_FILE, values, rows))
    agent = values["user_agent"].value or _make_user_agent(values["contact"].value)
    shared = Surroundings(root, environment, agent, values, read_host_keys(files.keys))
    sources: list[Source] = []
    source_values: list[Value] = []
    for table in tables:
        context = shared._replace(section=sections.get(str(table.tree.get("collection", ""))))
        build = partial(build_source, table, context, usable, source_settings)
        source, own_values = _build_if_needed(table, needed, build)
        sources.append(source)
        source_values += own_values
    if any(location_of_setting(value) for value in source_values):
        refuse_overlaps(root, written_settings, values, source_values)
    row_values = [value for array in rows.values() for row in array for value in row.values()]
    return Workspace(
        root=root,
        name=values["name"].value or root.name,
        contact=values["contact"].value,
        user_agent=agent,
        ledger=values["ledger.path"].value,
        archive=filled(Archive, values, "archive"),
        limits=filled(Limits, values, "limits"),
        run=filled(RunSettings, values, "run"),
        part_folder=values["part_folder"].value,
        sections=sections,
        sources=check_inputs(usable, sources, needed),
        values=(*values.values(), *row_values, *source_values),
    )


def _build_if_needed(
    table: SourceTable, needed: Container[str], build: Callable[[], tuple[Source, tuple[Value, ...]]]
) -> tuple[Source, tuple[Value, ...]]:
    """Return the result of `build`; if it fails and `needed` names only other sources, return an unusable source."""
    try:
        return build()
    except ConfigError as error:
        if _is_needed(table.name, table.tree.get("collection"), needed):
            raise
        collection = table.tree.get("collection")
        collection_name = collection if isinstance(collection, str) else ""
        return Source(table.name, collection_name, Site(""), active=False, unusable=str(error)), ()


def _usable_tables(files: ConfigFiles, usable: Mapping[str, Collection]) -> dict[str, Any]:
    """Return windrow.toml without the tables of unusable collections that are installed or named by a source."""
    broken = set(registry.names()) - set(usable)
    sources = files.main.tree.get("source", {})
    trees = [file.tree for file in files.sources]
    trees += [tree for tree in sources.values() if isinstance(tree, dict)] if isinstance(sources, dict) else []
    collection_names = {tree.get("collection") for tree in trees}
    left_out = broken | {name for name in collection_names if isinstance(name, str) and name and name not in usable}
    return {name: value for name, value in files.main.tree.items() if name not in left_out}


def _build_sections(usable: Mapping[str, Collection], given: Given) -> dict[str, Any]:
    return {
        name: build(given._replace(rows={array: given.rows[array] for array in collection.configuration.tables}))
        for name, collection in usable.items()
        if (build := collection.configuration.section)
    }


def _read_rows(
    toml_values: Mapping[str, RawValue], name: str, row_settings: tuple[Setting, ...], root: Path
) -> list[dict[str, Value]]:
    """Return a dict from settings to values for each table of the array `name`, such as [[drops.centre]]."""
    tables = toml_values[name][0] if name in toml_values else []
    if not isinstance(tables, list) or not all(isinstance(tree, dict) for tree in tables):
        raise ConfigError(f"{MAIN_FILE}: {name}: expected tables [[{name}]]", hint=f"edit {root / MAIN_FILE}")
    settings_by_name = {setting.name: setting for setting in row_settings}
    rows = []
    for number, tree in enumerate(tables):
        prefix = f"{name}[{number}]."
        toml_values = flatten_tables(tree, settings_by_name, MAIN_FILE, prefix)
        rows.append(resolve_values(row_settings, Layers({}, {}, toml_values, prefix), root))
    return rows


@cache
def _own_version() -> str:
    return version("windrow")


def _make_user_agent(contact: str) -> str:
    name = f"windrow/{_own_version()}"
    return f"{name} ({contact})" if contact else name


_NEW_TOML = """\
# A windrow workspace. Every setting, its default and its meaning: docs/reference/config.md,
# and `windrow config` shows what is in force and where it comes from.

name = {name}
contact = ""  # e-mail or page of the operator; it is sent to servers

[archive]
folder = "archive"   # captures, as WARC files

# A source is a file sources/NAME.toml, or a table here. Only servers that a source names are contacted.

"""


def default_toml(name: str) -> str:
    """Return the windrow.toml that `windrow init` writes; raise ConfigError if `name` is not one printable line."""
    if not name.isprintable():
        raise ConfigError("the name of a workspace must be one line of printable text")
    templates = [collection.configuration.template for collection in registry.installed().values()]
    return _NEW_TOML.format(name=json.dumps(name, ensure_ascii=False)) + "\n".join(filter(None, templates))
