"""WARC files that are held already: named on the command line, by themselves, in folders or in lists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import is_zipfile

from windrow.config import Workspace
from windrow.engine.run import WarcFile
from windrow.errors import ArchiveError, UsageError
from windrow.registry import capable
from windrow.registry import names as collection_names
from windrow.stores.archive.warc_reader import ENDINGS, vet

_LIST = 1 << 26  # bytes
_OTHER = re.compile(r"[^\w-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def importer() -> str:
    """Return the collection that reads WARC files of other makers."""
    return next(iter(capable("IMPORTS_WARC")), "")


def named_warc_files(workspace: Workspace, names: Sequence[str], source: str = "") -> tuple[WarcFile, ...]:
    """Return the WARC files that these names mean; none where all of them are sources and collections.

    A folder stands for all files below it that end like WARC files, any other file for the files that it names, a line
    each, from its own folder on. Each comes in by `source`, or by one that is called like it.
    """
    known = {*collection_names(), *(one.name for one in workspace.sources)}
    paths = [Path(name) for name in names if name not in known]
    if not paths or not any(_meant(path) for path in paths):
        if source:
            what = f"{paths[0]} is not there" if paths else "no file is named"
            raise UsageError(f"--as names the source of WARC files: {what}", hint="windrow run --help")
        return ()
    collection = importer()
    beside = [name for name in names if name in known and name != collection]
    if beside:
        raise UsageError(f"{beside[0]} is harvested, and files are taken in: one at a time", hint="windrow run --help")
    others = {one.name for one in workspace.sources if one.collection != collection}
    if source and (not _NAME.fullmatch(source) or source in others):
        raise UsageError(f"--as {source[:100]}: not a name, or one of a source of another collection")
    found = {path.resolve(): path for each in paths for path in _files(each)}
    return tuple(WarcFile(path, _spelled(name), source or _called(path, others)) for name, path in found.items())


def _meant(path: Path) -> bool:
    return path.name.endswith(ENDINGS) or path.is_file() or any(_below(path))


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        inside = sorted(_below(path))
        if not inside:
            raise UsageError(f"{path} holds no WARC file: none below it ends in {' or '.join(ENDINGS)}")
        yield from inside
    elif not path.is_file():
        raise UsageError(f"there is no file {path}")
    elif path.name.endswith(ENDINGS) or _is_warc(path):
        yield path
    elif is_zipfile(path):
        raise UsageError(
            f"{path} is a zip, as WACZ files are: the WARC files in it are read once they are unpacked",
            hint=f"python3 -m zipfile -e {shlex.quote(str(path))} unpacked; windrow run unpacked",
        )
    else:
        yield from _listed(path)


def _below(path: Path) -> Iterator[Path]:
    return (one for ending in ENDINGS for one in path.rglob(f"*{ending}") if one.is_file())


def _is_warc(path: Path) -> bool:
    try:
        vet(path)
    except ArchiveError:
        return False
    return True


def _listed(path: Path) -> Iterator[Path]:
    """Read a list: a name on each line; what follows a `#` at a line's begin is left out."""
    with path.open("rb") as file:
        raw = file.read(_LIST + 1)
    try:
        lines = raw.decode().splitlines()
    except UnicodeDecodeError:
        lines = []
    named = [path.parent / line.strip() for line in lines if line.strip() and not line.startswith("#")]
    missing = next((one for one in named if not one.is_file()), None)
    if not named or len(raw) > _LIST or missing:
        which = f": it names {str(missing)[:200]}, which is not there" if missing else ""
        raise UsageError(f"{path} is neither a WARC file nor a list of them{which}")
    yield from named


def _spelled(path: Path) -> str:
    """Spell a path for the ledger, whatever bytes it is made of."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _called(path: Path, others: set[str]) -> str:
    """Call a source like a file."""
    stem = path.name
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    name = _OTHER.sub("-", stem).strip("-_")[:64] or "warc"
    return f"warc-{name}"[:64] if name in others or not _NAME.fullmatch(name) else name
