"""The folder of a search index: which of its files are windrow's, the lock for writing, and links to its files.

A wrong folder may be configured. So only files with certain names are removed: the note `index.json`, which shows that
a folder is an index of windrow, the manifest, and the files that Tantivy writes below `text`. A folder with other files
and without the note is refused, and other files in the folder of an index are left alone.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import sleep

from windrow.errors import ConfigError, StoreUnreachable
from windrow.stores.sqlite import open_database

NOTE_FILE = "index.json"
MANIFEST_FILE = "entries.sqlite"
TEXT_FOLDER = "text"
META_FILE = "meta.json"
"""The name of the file below `text` that lists the files of the index; Tantivy replaces it at each commit."""
_NOTE_DRAFT = f"{NOTE_FILE}.part"
_OTHER_FILES = (_NOTE_DRAFT, MANIFEST_FILE, f"{MANIFEST_FILE}-wal", f"{MANIFEST_FILE}-shm", f"{MANIFEST_FILE}-journal")
_UNFINISHED_VERSION = "-"
"""The version in the note while an index is being built or removed; complete indexes have other versions."""
_TANTIVY_FILE = re.compile(
    r"(?:meta|\.managed)\.json|\.tantivy-(?:meta|writer)\.lock|\.tmp[0-9A-Za-z]{6}"
    r"|[0-9a-f]{32}(?:\.[0-9]{1,20})?\.(?:idx|pos|term|store|fast|fieldnorm|del)(?:\.temp)?"
)
"""Matches the names of the files that Tantivy writes."""
_LOCK_PREFIX = ".tantivy-"
_POLL_INTERVAL = 0.1  # seconds between attempts to lock a folder


_INDEX_SUFFIX = ".index"


def index_folder(store: Path) -> Path:
    """Return the folder of the search index of a store; it is beside the store's file `store`.

    >>> index_folder(Path("w/events.db"))
    PosixPath('w/events.db.index')
    """
    return store.parent / f"{store.name}{_INDEX_SUFFIX}"


def format_note(version: str, fields: list[list[str]]) -> str:
    """Return the text of the note of an index; `fields` has [name, kind] for each field."""
    return json.dumps({"version": version, "fields": fields})


def write_note(folder: Path, text: str) -> None:
    """Write the text of a note into the folder of an index; it replaces an older note in one step."""
    draft = folder / _NOTE_DRAFT
    draft.unlink(missing_ok=True)
    with draft.open("x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / NOTE_FILE)


def refuse_foreign(folder: Path) -> None:
    """Raise ConfigError for a path that exists and is neither an empty folder nor an index of windrow."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise ConfigError(f"the search index cannot be in {folder}: it is not a folder", hint=_describe_move(folder))
    names = sorted(path.name for path in folder.iterdir())
    if _is_ours(folder, names):
        return
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    raise ConfigError(
        f"the search index cannot be in {folder}: that folder has files that are not an index of windrow ({listed});"
        " nothing in it was touched",
        hint=_describe_move(folder),
    )


def _describe_move(folder: Path) -> str:
    """Return the hint for a path that cannot be used for an index; only the index of pages has a setting for it.

    >>> _describe_move(Path("w/events.db.index"))
    'move what is there elsewhere, or the store events.db into another folder'
    """
    if folder.suffix == _INDEX_SUFFIX:
        return f"move what is there elsewhere, or the store {folder.stem} into another folder"
    return "move what is there elsewhere, or set another folder for the index of pages (pages.index)"


def _is_ours(folder: Path, names: list[str]) -> bool:
    """Return whether a folder is empty, an index, or an unfinished index. `names` are the names of its files."""
    text_folder = folder / TEXT_FOLDER
    if TEXT_FOLDER in names and (text_folder.is_symlink() or not text_folder.is_dir()):
        return False
    if NOTE_FILE in names:
        return _is_note(folder / NOTE_FILE)
    if set(names) <= {_NOTE_DRAFT}:
        return True
    return names == [TEXT_FOLDER] and all(path.name.startswith(_LOCK_PREFIX) for path in text_folder.iterdir())


def _is_note(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > 1 << 20:
        return False
    try:
        tree = json.loads(path.read_text())
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, dict) and set(tree) == {"version", "fields"}


def prepare_folder(folder: Path) -> Path:
    """Remove an old index from `folder`, and prepare the folder for a new one; return the folder for Tantivy's files.

    Until `write_note` is called, the index counts as unfinished: when it is opened, it is built again.
    """
    remove_files(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_note(folder, format_note(_UNFINISHED_VERSION, []))
    text_folder = folder / TEXT_FOLDER
    text_folder.mkdir(exist_ok=True)
    return text_folder


def remove_files(folder: Path) -> None:
    """Remove the files of an index from its folder, the note last, so that a killed removal can be repeated."""
    refuse_foreign(folder)
    if not folder.is_dir():
        return
    if (folder / NOTE_FILE).exists():
        write_note(folder, format_note(_UNFINISHED_VERSION, []))
    text_folder = folder / TEXT_FOLDER
    if text_folder.is_dir():
        for path in text_folder.iterdir():
            if _TANTIVY_FILE.fullmatch(path.name) and (path.is_symlink() or path.is_file()):
                path.unlink(missing_ok=True)
        _remove_if_empty(text_folder)
    for name in (*_OTHER_FILES, NOTE_FILE):
        (folder / name).unlink(missing_ok=True)


def remove_index(folder: Path) -> None:
    """Remove an index, and its folder if that is then empty; raise ConfigError as `refuse_foreign` does."""
    remove_files(folder)
    if folder.is_dir() and not folder.is_symlink():
        _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    """Remove a folder unless it has files.

    A thread of Tantivy that reads a new index for the first time may write a lock file into it at any moment.
    """
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise


def list_file_states(folder: Path) -> frozenset[tuple[str, int, int, int]]:
    """Return the name, inode, size in bytes and time of change of the note and of each file of Tantivy in a folder."""
    states = set()
    with suppress(FileNotFoundError), os.scandir(folder / TEXT_FOLDER) as entries:
        for file in (folder / NOTE_FILE, *entries):
            with suppress(FileNotFoundError):  # another process may remove it at any moment
                state = file.stat()
                states.add((file.name, state.st_ino, state.st_size, state.st_mtime_ns))
    return frozenset(states)


@contextmanager
def lock_folder(folder: Path, wait: Callable[[], bool]) -> Iterator[None]:
    """Lock a folder until the block ends, so that only this process writes the index in it.

    The folder is created if it is missing. While another process has the lock, `wait` is called ten times a second;
    when `wait` returns False, StoreUnreachable is raised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while not _try_lock(descriptor):
            if not wait():
                message = f"the search index in {folder} is locked: another process writes it"
                raise StoreUnreachable(message, hint="try again later")
            sleep(_POLL_INTERVAL)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def link_files(folder: Path, into: Path) -> None:
    """Make an index in the folder `into` from links to the files of the index in `folder`.

    Tantivy does not change the files that are linked. The note, the manifest and `meta.json` are copied.
    """
    text_folder = into / TEXT_FOLDER
    text_folder.mkdir()
    shutil.copyfile(folder / TEXT_FOLDER / META_FILE, text_folder / META_FILE)
    for path in (folder / TEXT_FOLDER).iterdir():
        if _TANTIVY_FILE.fullmatch(path.name) and path.suffix not in {".json", ".lock"}:
            (text_folder / path.name).symlink_to(path.absolute())
    if (folder / MANIFEST_FILE).exists():
        with (
            closing(open_database(folder / MANIFEST_FILE, read_only=True)) as original,
            closing(sqlite3.connect(into / MANIFEST_FILE)) as copy,
        ):
            original.backup(copy)
    shutil.copyfile(folder / NOTE_FILE, into / NOTE_FILE)
