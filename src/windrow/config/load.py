"""Load a workspace's configuration: files, environment and flags -> one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow import registry
from windrow.config.file import MAIN, ConfigFiles, read
from windrow.config.place import refuse_overlaps
from windrow.config.source import build, declared, refuse_unknown_origins, settings_of, variables
from windrow.config.trust import pinned
from windrow.config.workspace import Archive, RunSettings, Workspace
from windrow.contract import Collection
from windrow.errors import ConfigError
from windrow.model import Limits
from windrow.settings.configuration import Given, Surroundings
from windrow.settings.layers import Layers, flatten, settle, unknown_names
from windrow.settings.setting import WORKSPACE, Setting, Value, variable


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
    unknown_names(around, [*map(variable, own), *(name for one in tables for name in variables(one, of_sources))])
    arrays = {name: rows for made in known.values() for name, rows in made.configuration.tables.items()}
    given = flatten(_usable(files, known), (*own, *arrays, "source"), MAIN)
    values = settle(own.values(), Layers(told, around, given), root)
    written = {name for name, one in own.items() if one.written}
    refuse_overlaps(root, written, values, ())
    rows = {name: _rows(given.get(name, ([], MAIN))[0], name, known_, root) for name, known_ in arrays.items()}
    sections = {
        name: made.configuration.section(
            Given(root, MAIN, values, {each: rows[each] for each in made.configuration.tables})
        )
        for name, made in known.items()
    }
    agent = values["agent"].value or _agent(values["contact"].value)
    keys = pinned(files.keys)
    built = []
    for one in tables:
        kind = str(one.tree.get("collection", ""))
        built.append(build(one, Surroundings(root, around, agent, values, keys, sections.get(kind)), known, of_sources))
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
        archive=Archive(values["archive.folder"].value, values["archive.rotation"].value),
        limits=Limits(**{field.name: values[f"limits.{field.name}"].value for field in fields(Limits)}),
        run=RunSettings(*(values[f"run.{name}"].value for name in ("fetchers", "readers", "every", "notify"))),
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
