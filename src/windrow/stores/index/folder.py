"""The folder of an index: what in it was written here, and may be removed again; who may write, and links to its files.

Whoever configures the folder may name the wrong one. So nothing is removed by where it lies, only by its
name: the note that makes the folder ours, the roll, and the files that Tantivy writes below `text`. A folder
that holds anything and has no such note is refused, and what else lies in a folder of ours stays.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep

from windrow.errors import ConfigError, StoreUnreachable
from windrow.stores.sqlite import open_database

NOTE = "index.json"
ROLL = "entries.sqlite"
TEXT = "text"
META = "meta.json"
"""The file below `text` that names the segments of which the index is; Tantivy replaces it at each commit."""
_PART = f"{NOTE}.part"
_FILES = (_PART, ROLL, f"{ROLL}-wal", f"{ROLL}-shm", f"{ROLL}-journal")
_UNDONE = "-"
"""The version in the note of an index that is being made or removed; no index is of that version."""
_SEGMENT = re.compile(
    r"(?:meta|\.managed)\.json|\.tantivy-(?:meta|writer)\.lock|\.tmp[0-9A-Za-z]{6}"
    r"|[0-9a-f]{32}(?:\.[0-9]{1,20})?\.(?:idx|pos|term|store|fast|fieldnorm|del)(?:\.temp)?"
)
"""The names of Tantivy's files."""
_PAUSE = 0.1
"""Seconds after which a folder that another process writes is looked at again."""


def index_folder(store: Path) -> Path:
    """Return where the index of a store's file is: beside it.

    >>> index_folder(Path("w/events.db"))
    PosixPath('w/events.db.index')
    """
    return store.parent / f"{store.name}.index"


def note(version: str, fields: list[list[str]]) -> str:
    """Spell what stands in the note of an index."""
    return json.dumps({"version": version, "fields": fields})


def write_note(folder: Path, text: str) -> None:
    """Write the note; a crash leaves the one before or this one."""
    part = folder / _PART
    part.unlink(missing_ok=True)
    with part.open("x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / NOTE)


def refuse_strange(folder: Path) -> None:
    """Raise ConfigError for a folder that holds something and is no index of ours."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise ConfigError(f"the search index cannot be in {folder}: it is no folder", hint=_ELSEWHERE)
    names = sorted(path.name for path in folder.iterdir())
    if _is_ours(folder, names):
        return
    some = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    raise ConfigError(
        f"the search index cannot be in {folder}: that folder is not empty and holds no index of windrow ({some});"
        " nothing in it was touched",
        hint=_ELSEWHERE,
    )


_ELSEWHERE = "name another place for the index (pages.index) or for the store beside which it is, or empty that folder"


def _is_ours(folder: Path, names: list[str]) -> bool:
    """Tell a folder with nothing in it, one of an index, and one that was left when an index was begun."""
    text = folder / TEXT
    if TEXT in names and (text.is_symlink() or not text.is_dir()):
        return False
    if NOTE in names:
        return _is_note(folder / NOTE)
    if set(names) <= {_PART}:
        return True
    return names == [TEXT] and not any(text.iterdir())


def _is_note(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > 1 << 20:
        return False
    try:
        tree = json.loads(path.read_text())
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, dict) and set(tree) == {"version", "fields"}


def begin(folder: Path) -> Path:
    """Make the folder ready for a new index, whatever index was in it, and return where Tantivy writes.

    Until `write_note` says that the index is whole, the next `begin` starts anew.
    """
    clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_note(folder, note(_UNDONE, []))
    text = folder / TEXT
    text.mkdir(exist_ok=True)
    return text


def clear(folder: Path) -> None:
    """Remove the index from the folder, and nothing else; the note goes last, so that a killed removal goes on."""
    refuse_strange(folder)
    if not folder.is_dir():
        return
    if (folder / NOTE).exists():
        write_note(folder, note(_UNDONE, []))
    text = folder / TEXT
    if text.is_dir():
        for path in text.iterdir():
            if _SEGMENT.fullmatch(path.name) and (path.is_symlink() or path.is_file()):
                path.unlink()
        if not any(text.iterdir()):
            text.rmdir()
    for name in (*_FILES, NOTE):
        (folder / name).unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Remove the index, and its folder where that is empty then. Raises ConfigError for a folder that is not ours."""
    clear(folder)
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def held(folder: Path, wait: Callable[[], bool]) -> Iterator[None]:
    """Hold a folder, so that no other process writes the index in it; a process that ends holds nothing any more.

    Raises StoreUnreachable where another process holds it, and `wait`, which is called often, does not say True.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while not _locked(handle):
            if not wait():
                raise StoreUnreachable(f"another process writes the search index in {folder}", hint="try again later")
            sleep(_PAUSE)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def link_files(folder: Path, into: Path) -> None:
    """Make an index of links to the files of another, so that it can be read and written where that one cannot.

    Tantivy never changes a file of a segment; the rest is small and copied.
    """
    text = into / TEXT
    text.mkdir()
    shutil.copyfile(folder / TEXT / META, text / META)
    for path in (folder / TEXT).iterdir():
        if _SEGMENT.fullmatch(path.name) and path.suffix not in {".json", ".lock"}:
            (text / path.name).symlink_to(path.absolute())
    if (folder / ROLL).exists():
        with (
            closing(open_database(folder / ROLL, read_only=True)) as before,
            closing(sqlite3.connect(into / ROLL)) as copy,
        ):
            before.backup(copy)
    shutil.copyfile(folder / NOTE, into / NOTE)
