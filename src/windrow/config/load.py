"""Load a workspace's configuration: files, environment and flags -> one frozen value."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from windrow.config.declared import Around, declared
from windrow.config.drops import CENTRES, centres, drops
from windrow.config.file import MAIN, Files, read
from windrow.config.layer import Layers, flatten, settle, strangers
from windrow.config.pages import pages
from windrow.config.place import refuse_overlaps
from windrow.config.section import SETTINGS
from windrow.config.setting import variable
from windrow.config.source import build, kinds, variables
from windrow.config.trust import pinned
from windrow.config.workspace import Archive, Centre, Run, Value, Workspace
from windrow.model import Limits, Source


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
    told_of = declared(files)
    strangers(around, [*map(variable, SETTINGS), *(name for one in told_of for name in variables(one))])
    given = flatten(files.main.tree, (*SETTINGS, CENTRES, "source"), MAIN)
    values = settle(SETTINGS.values(), Layers(told, around, given), root)
    owners = centres(given.get(CENTRES, ([], MAIN))[0], root, MAIN)
    shared = Around(
        root,
        around,
        values["agent"].value or _agent(values["contact"].value),
        values,
        pinned(files.keys),
        frozenset(centre.short_name.lower() for centre, _ in owners if not centre.is_active),
    )
    known = collections or kinds()
    built = [build(one, shared, known) for one in told_of]
    refuse_overlaps(root, values, (value for _, told_values in built for value in told_values))
    return _workspace(files, owners, built, shared)


def _workspace(
    files: Files,
    owners: list[tuple[Centre, tuple[Value, ...]]],
    built: list[tuple[Source, tuple[Value, ...]]],
    around: Around,
) -> Workspace:
    values = around.values

    def of(name: str) -> Any:
        return values[name].value

    everything = [*values.values()]
    for _, more in (*owners, *built):
        everything += more
    return Workspace(
        root=around.root,
        name=of("name") or around.root.name,
        contact=of("contact"),
        agent=around.agent,
        ledger=of("ledger.path"),
        archive=Archive(of("archive.folder"), of("archive.rotation")),
        limits=Limits(**{field.name: of(f"limits.{field.name}") for field in fields(Limits)}),
        run=Run(of("run.fetchers"), of("run.readers"), of("run.every"), of("run.notify")),
        drops=drops(values, tuple(centre for centre, _ in owners), files.main),
        pages=pages(values, of("contact")),
        sources=tuple(source for source, _ in built),
        values=tuple(everything),
    )


def _agent(contact: str) -> str:
    name = f"windrow/{version('windrow')}"
    return f"{name} ({contact})" if contact else name
