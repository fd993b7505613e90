"""Make a workspace, and the sources in it; nothing that is there is overwritten."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from windrow import registry
from windrow.config import default_toml, load
from windrow.config.file import FOLDER, MAIN
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.database import newest_schema, schema
from windrow.errors import ConfigError, UsageError, WindrowError

_SECRET = re.compile(r"^[^/?#]*//[^/?#]*:[^/?#]*@")


class Prepared(NamedTuple):
    """What was made of a folder, a line for each step, and whether anything changed."""

    folder: Path
    did: tuple[str, ...]
    changed: bool


def prepare(folder: Path) -> Prepared:
    """Make or upgrade a workspace; safe to repeat, overwrites nothing. A folder made here is its owner's alone."""
    made: list[str] = []
    kept: list[str] = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what sources say may not be for everybody
        folder = folder.resolve()
        main = folder / MAIN
        (made if _write(main, default_toml(folder.name or "windrow")) else kept).append(MAIN)
        sources = folder / FOLDER
        (kept if sources.is_dir() else made).append(f"{FOLDER}/")
        sources.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be made a workspace: {error.strerror}", hint="ls -ld " + str(folder)
        ) from error
    workspace = load(folder)
    did = [*(f"made {name}" for name in made), *(f"kept {name} as it is" for name in kept)]
    step = _ledger(workspace.ledger)
    return Prepared(folder, (*did, step), bool(made) or not step.startswith("kept"))


def _ledger(path: Path) -> str:
    """Make or upgrade the ledger, and say which."""
    newest = newest_schema()
    before = schema(path)
    Ledger(path).close()
    if before is None:
        return f"made {path.name}, the ledger (schema {newest})"
    if before < newest:
        return f"upgraded {path.name} from schema {before} to {newest}; a copy of the old one is beside it"
    return f"kept {path.name} as it is (schema {newest})"


def _write(path: Path, text: str) -> bool:
    """Write a new file; return False where there is one."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


class NewSource(NamedTuple):
    """What `windrow new source` is told; `more` has settings of the collection's sources by name."""

    name: str
    url: str
    collection: str
    more: Mapping[str, str] = MappingProxyType({})


def add_source(root: Path, new: NewSource) -> Path:
    """Write `sources/NAME.toml`, checked by reading the whole configuration with it; return its path."""
    registry.collection(new.collection)
    if _SECRET.search(new.url):  # is never written, nor repeated
        raise UsageError("an address may not hold a password: name its place", hint="windrow new source --help")
    path = root / FOLDER / f"{new.name}.toml"
    if "/" in new.name or new.name.startswith("."):
        raise UsageError(f"{new.name!r} is not a name for a source: letters, digits, - and _")
    known = {source.name: source for source in load(root).sources}
    if new.name in known or path.exists():
        raise UsageError(f"there is a source {new.name} already; {path} is left as it is", hint="windrow config")
    told = {"url": new.url, "collection": new.collection, **new.more}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in told.items()]
    try:
        path.parent.mkdir(exist_ok=True)
        written = _write(path, "\n".join(lines) + "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    if not written:
        raise UsageError(f"{path} is there already and left as it is")
    try:
        made = load(root)
        source = made.source(new.name)
        assert source is not None
        registry.adapter(new.collection).vet(made, source)
    except ConfigError as error:
        path.unlink()
        raise UsageError(str(error), hint="windrow new source --help") from None
    except WindrowError:
        path.unlink()
        raise
    return path
