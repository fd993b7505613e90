"""Make or upgrade a workspace, add sources to it, and write the package of a new collection."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from shlex import quote
from string import Template
from types import MappingProxyType
from typing import NamedTuple

from windrow.app.export import exports_by_name
from windrow.config import default_toml, load
from windrow.config.workspace import MAIN_FILE, SOURCES_FOLDER
from windrow.contract import registry
from windrow.errors import ConfigError, UsageError, WindrowError
from windrow.ledger import Ledger
from windrow.ledger.database import newest_schema, schema
from windrow.private_files import private_files
from windrow.settings.configuration import Preset
from windrow.settings.setting import WORKSPACE_SETTINGS

_PASSWORD_IN_URL = re.compile(r"^[^/?#]*//[^/?#]*:[^/?#]*@")


class Prepared(NamedTuple):
    """The result of `prepare`: the workspace's folder, a line for each action, and whether anything was changed."""

    folder: Path
    actions: tuple[str, ...]
    changed: bool


@private_files()
def prepare(folder: Path) -> Prepared:
    """Make a workspace in a folder, or upgrade the ledger of an existing one; other existing files are not changed.

    Raise ConfigError if the folder cannot be written, or if the configuration in it is not valid.
    """
    created: list[str] = []
    existing: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        is_new = _write_new(folder / MAIN_FILE, default_toml(folder.name or "windrow"))
        (created if is_new else existing).append(MAIN_FILE)
        sources = folder / SOURCES_FOLDER
        (existing if sources.is_dir() else created).append(f"{SOURCES_FOLDER}/")
        sources.mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be made a workspace: {error.strerror}", hint="ls -ld " + str(folder)
        ) from error
    workspace = load(folder)
    actions = [*(f"made {name}" for name in created), *(f"kept {name} as it is" for name in existing)]
    ledger_action = _prepare_ledger(workspace.ledger)
    return Prepared(folder, (*actions, ledger_action), bool(created) or not ledger_action.startswith("kept"))


def _prepare_ledger(path: Path) -> str:
    newest = newest_schema()
    old_schema = schema(path)
    Ledger(path).close()
    if old_schema is None:
        return f"made {path.name}, the ledger (schema {newest})"
    if old_schema < newest:
        return (
            f"upgraded {path.name} from schema {old_schema} to {newest}; a copy of the old file is in the same folder"
        )
    return f"kept {path.name} as it is (schema {newest})"


def _write_new(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


class NewSource(NamedTuple):
    """The arguments of `windrow new source`; `settings` are further settings of the source by name.

    With a `preset`, `collection` may be empty.
    """

    name: str
    url: str
    collection: str
    settings: Mapping[str, str] = MappingProxyType({})
    preset: str = ""


def add_source(root: Path, new: NewSource) -> Path:
    """Write `sources/NAME.toml` in the workspace `root`, and return its path.

    Raise UsageError if the source exists already, if its name or address is not allowed, or if the configuration would
    not be valid with it. Raise ConfigError if the configuration is not valid without it, or if the file cannot be
    written. After an error, no new file is left.
    """
    collection, preset = _find_preset(new)
    if _PASSWORD_IN_URL.search(new.url):  # neither written nor repeated in the message
        raise UsageError(
            "an address may not contain a password: set the source's `secret`", hint="windrow new source --help"
        )
    path = root / SOURCES_FOLDER / f"{new.name}.toml"
    if "/" in new.name or new.name.startswith("."):
        raise UsageError(
            f"{new.name!r} cannot name a source: use a letter or digit, then at most 63 letters, digits, - and _"
        )
    names = {source.name for source in load(root).sources}
    if new.name in names or path.exists():
        raise UsageError(f"source {new.name} exists already; nothing was written", hint="windrow config")
    try:
        path.parent.mkdir(exist_ok=True)
        created = _write_new(path, _source_text(new, collection, preset))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    if not created:
        raise UsageError(f"{path} exists already; nothing was written")
    try:
        workspace = load(root)
        source = workspace.source(new.name)
        assert source is not None
        registry.adapter(collection).check_source(workspace, source)
    except ConfigError as error:
        path.unlink()
        raise UsageError(str(error), hint="windrow new source --help") from None
    except WindrowError:
        path.unlink()
        raise
    return path


def _find_preset(new: NewSource) -> tuple[str, Preset]:
    """Return the collection and the preset of a new source; the preset is empty if the source names none.

    Raises UsageError if there is no such collection or preset, or if neither is named.
    """
    if not new.collection and not new.preset:
        raise UsageError("neither --collection nor --from is given", hint="windrow new source --help")
    collections = {new.collection: registry.collection(new.collection)} if new.collection else registry.installed()
    if not new.preset:
        return new.collection, Preset("", {}, "")
    presets = {
        preset_name: (name, preset)
        for name, collection in collections.items()
        for preset_name, preset in collection.configuration.presets().items()
    }
    if new.preset not in presets:
        owner = f" of {new.collection}" if new.collection else ""
        problem = f"the presets are: {', '.join(presets)}" if presets else "there are none"
        raise UsageError(f"{new.preset!r} is not a preset{owner}; {problem}", hint="windrow new source --help")
    return presets[new.preset]


def _source_text(new: NewSource, collection: str, preset: Preset) -> str:
    settings = {"url": new.url, "collection": collection, **preset.settings, **new.settings}
    lines = [f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in settings.items()]
    if preset.text:
        lines += ["", f"# {preset.url}", "# The preset has these settings. A setting in this file, even a whole table,"]
        lines += ["# replaces the preset's:", *(f"# {line}".rstrip() for line in preset.text.splitlines())]
    return "\n".join(lines) + "\n"


_COLLECTION_NAME = re.compile(r"[a-z](?:[a-z0-9_]{0,30}[a-z0-9])?", re.ASCII)
_TEMPLATE_SUFFIX = ".txt"
"""The suffix of the templates' files. It keeps tools from reading them as Python or TOML."""
_NAME_PLACEHOLDER = "NAME"
"""The word that is replaced by the collection's name in the paths of the templates' files."""


class NewCollection(NamedTuple):
    """The package of a new collection: its folder, its files relative to the folder, and the commands to run next."""

    name: str
    folder: Path
    files: tuple[str, ...]
    commands: tuple[str, ...]


def add_collection(name: str, into: Path, kept: str = "") -> NewCollection:
    """Write the package of a new collection into a new folder `windrow-NAME` in the folder `into`.

    The package harvests an API or, if `kept` names a collection, makes records from that collection's captures.
    Raise UsageError if the name is not valid or in use, if the folder exists, or if `kept` is not installed. Raise
    ConfigError if the package cannot be written.
    """
    _check_name(name)
    if kept:
        registry.collection(kept)
    folder = into / f"windrow-{name.replace('_', '-')}"
    substitutes = {"name": name, "package": f"windrow_{name}", "project": folder.name, "kept": kept}
    files_of_template = sorted(_read_template_texts(is_captured=bool(kept)).items())
    template = {path.replace(_NAME_PLACEHOLDER, name): Template(text) for path, text in files_of_template}
    texts = {path: text.substitute(substitutes) for path, text in template.items()}
    written_paths: list[Path] = []
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            written_paths.append(target)
            target.write_text(text, encoding="utf-8")
    except FileExistsError:
        raise UsageError(f"{folder} exists already; nothing was written", hint=f"ls -ld {folder}") from None
    except OSError as error:
        _remove_written(folder, written_paths)
        raise ConfigError(f"{folder} cannot be written: {error.strerror}", hint=f"ls -ld {into}") from error
    commands = [
        f"pip install -e {quote(str(folder))}",
        f"python -m unittest discover -s {quote(str(folder / 'tests'))}",
        "windrow init farm && cd farm",
    ]
    if kept:
        commands.append(f'printf \'collection = "{name}"\\nfrom = ["{kept}"]\\n\' > sources/mine.toml')
    else:
        commands.append(f"windrow new source mine https://api.example.org/v1/ --collection {name}")
    return NewCollection(name, folder, tuple(texts), (*commands, "windrow run mine"))


def _check_name(name: str) -> None:
    if not _COLLECTION_NAME.fullmatch(name):
        suggestion = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")[:32].rstrip("_")
        raise UsageError(
            f"{name!r} cannot name a collection: use at most 32 lower-case ASCII letters, digits and _, with a letter "
            "at the beginning and no _ at the end",
            hint=f"windrow new collection {suggestion or 'items'}",
        )
    if name in registry.names():
        raise UsageError(f"a collection {name!r} is installed already", hint="windrow config")
    reserved = {setting.name.partition(".")[0] for setting in WORKSPACE_SETTINGS} | {"source", *exports_by_name()}
    if name in reserved:
        raise UsageError(
            f"a collection cannot be called {name!r}: the configuration or an export uses that name",
            hint=f"windrow new collection {name}_items",
        )


_SHARED_FILES = ("pyproject.toml", f"src/windrow_{_NAME_PLACEHOLDER}/__init__.py")
"""The files of the folder `collection_template` that the template for captures uses too."""


def _read_template_texts(*, is_captured: bool) -> dict[str, str]:
    folder = files("windrow.app")
    texts = dict(_read_template(folder / "collection_template"))
    if is_captured:
        texts = {path: texts[path] for path in _SHARED_FILES} | dict(_read_template(folder / "capture_template"))
    return texts


def _read_template(folder: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    """Return (path, text) for each `.txt` file below a folder; `path` is relative, with `prefix`, without `.txt`."""
    texts: list[tuple[str, str]] = []
    for file in folder.iterdir():
        if file.is_dir():
            texts += _read_template(file, f"{prefix}{file.name}/")
        elif file.name.endswith(_TEMPLATE_SUFFIX):
            texts.append((prefix + file.name.removesuffix(_TEMPLATE_SUFFIX), file.read_text(encoding="utf-8")))
    return texts


def _remove_written(folder: Path, written_paths: list[Path]) -> None:
    for path in written_paths:
        path.unlink(missing_ok=True)
    folders = {parent for file in written_paths for parent in file.relative_to(folder).parents}
    for path in sorted(folders, key=str, reverse=True):
        if (folder / path).is_dir():
            (folder / path).rmdir()
