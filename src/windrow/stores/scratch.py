"""A folder for databases that are built beside others and then take their place; it goes again at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from windrow.errors import StoreError

SIDECARS = ("-wal", "-shm", "-journal")
"""What SQLite puts behind a database's name for the files beside it."""


def make_scratch(folder: Path, databases: Iterable[str]) -> None:
    """Make the folder anew; of what a killed run left in it, only these databases are removed."""
    remove_scratch(folder, databases)
    folder.mkdir(parents=True)


def remove_scratch(folder: Path, databases: Iterable[str]) -> None:
    """Remove these databases and the folder. Raises StoreError where it holds anything else, and then removes nothing.

    A link is not followed: what it leads to is not ours.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is in the way: it is not a folder of windrow's", hint=f"move {folder} elsewhere")
    if not folder.exists():
        return
    ours = {name + suffix for name in databases for suffix in ("", *SIDECARS)}
    paths = list(folder.iterdir())
    strange = sorted(path.name for path in paths if path.name not in ours or (path.is_dir() and not path.is_symlink()))
    if strange:
        raise StoreError(
            f"{folder} holds {strange[0]!r}, which windrow did not put there; nothing in it was touched",
            hint=f"move that elsewhere, or remove {folder}",
        )
    for path in paths:
        path.unlink()
    folder.rmdir()
