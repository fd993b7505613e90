"""Load a workspace's configuration: files, environment and flags -> one frozen value."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow.config.file import MAIN, File, Files, read
from windrow.config.layer import Layers, flatten, settle, strangers
from windrow.config.resource import SHIPPED
from windrow.config.setting import CENTRE_SETTINGS, SETTINGS, SOURCE_SETTINGS, variable
from windrow.config.source import Builder, declared, kinds
from windrow.config.trust import pinned
from windrow.config.workspace import Archive, Centre, Database, Drops, Run, Value, Workspace
from windrow.errors import ConfigError
from windrow.model import Limits

_CENTRES = "drops.centre"


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    collections: Collection[str] = (),
) -> Workspace:
    """Return what is configured in the workspace at `root`.

    `environ` is the environment (the process's own unless given), `flags` values from the command
    line by setting (`{"drops.attempts": 5}`), None among them counting as not given. `collections`
    are the known kinds of source (unless given, those that are installed). Anything unknown, of a
    wrong type or contradictory is a ConfigError that names file and setting.
    """
    root = root.resolve()
    around = os.environ if environ is None else environ
    told = {name: value for name, value in (flags or {}).items() if value is not None}
    files = read(root)
    names = [f"source.{one.name}.{each}" for one in declared(files) for each in SOURCE_SETTINGS]
    strangers(around, [variable(each) for each in (*SETTINGS, *names)])
    known = (*SETTINGS, _CENTRES, "source")
    given = flatten(files.main.tree, known, MAIN)
    values = settle(SETTINGS.values(), Layers(told, around, given), root)
    centres = _centres(given.get(_CENTRES, ([], MAIN))[0], root)
    builder = Builder(
        root=root,
        environ=around,
        agent=values["agent"].value or _agent(values["contact"].value),
        attempts=values["drops.attempts"],
        keys=pinned(files.keys),
        collections=collections or kinds(),
        closed=frozenset(centre.short_name.lower() for centre, _ in centres if not centre.is_active),
    )
    return _workspace(files, values, centres, builder)


def _centres(tables: Any, root: Path) -> list[tuple[Centre, tuple[Value, ...]]]:
    if not isinstance(tables, list) or not all(isinstance(tree, dict) for tree in tables):
        raise ConfigError(f"{MAIN}: {_CENTRES}: wanted tables [[{_CENTRES}]]", hint=f"edit {root / MAIN}")
    made: dict[str, tuple[Centre, tuple[Value, ...]]] = {}
    for number, tree in enumerate(tables):
        prefix = f"{_CENTRES}[{number}]."
        layers = Layers({}, {}, flatten(tree, CENTRE_SETTINGS, MAIN, prefix), prefix)
        values = settle(CENTRE_SETTINGS.values(), layers, root)
        centre = Centre(**{name: value.value for name, value in values.items()})
        if not centre.short_name or centre.short_name.lower() in made:
            raise ConfigError(f"{MAIN}: {prefix}short_name is missing or there twice", hint="windrow config")
        made[centre.short_name.lower()] = (centre, tuple(values.values()))
    return list(made.values())


def _workspace(
    files: Files,
    values: Mapping[str, Value],
    centres: list[tuple[Centre, tuple[Value, ...]]],
    builder: Builder,
) -> Workspace:
    def of(name: str) -> Any:
        return values[name].value

    built = [builder.build(one) for one in declared(files)]
    everything = [*values.values()]
    for _, more in (*centres, *built):
        everything += more
    return Workspace(
        root=builder.root,
        name=of("name") or builder.root.name,
        contact=of("contact"),
        agent=builder.agent,
        ledger=of("ledger.path"),
        archive=Archive(of("archive.folder"), of("archive.rotation")),
        limits=Limits(**{field.name: of(f"limits.{field.name}") for field in fields(Limits)}),
        run=Run(of("run.fetchers"), of("run.readers"), of("run.every"), of("run.notify")),
        drops=_drops(values, tuple(centre for centre, _ in centres), files.main),
        sources=tuple(source for source, _ in built),
        values=tuple(everything),
    )


def _drops(values: Mapping[str, Value], centres: tuple[Centre, ...], main: File) -> Drops:
    def of(name: str) -> Any:
        return values[f"drops.{name}"].value

    schemas = {kind: _file(values[f"drops.schemas.{kind}"], main) or path for kind, path in SHIPPED.items()}
    lists = {
        name.rpartition(".")[2]: path
        for name, value in values.items()
        if name.startswith("drops.lists.") and (path := _file(value, main))
    }
    return Drops(
        tracker=Database(of("tracker"), of("tracker_secret")),
        store=Database(of("store"), of("store_secret")),
        listers=of("listers"),
        downloaders=of("downloaders"),
        attempts=of("attempts"),
        zip_name=of("zip_name"),
        xml_name=of("xml_name"),
        schemas=schemas,
        lists=lists,
        centres=centres,
    )


def _file(value: Value, main: File) -> Path | None:
    path: Path | None = value.value
    if path is not None and not path.is_file():
        raise ConfigError(f"{value.origin}: {value.name}: there is no file {path}", hint=f"edit {main.name}")
    return path


def _agent(contact: str) -> str:
    name = f"windrow/{version('windrow')}"
    return f"{name} ({contact})" if contact else name
