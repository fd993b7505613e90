"""Indexes of captures that are piped into runs: each source keeps its own in a folder of the archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from windrow.archive.import_file import sync
from windrow.digest import Hasher


def piped_folder(archive: Path, source: str) -> Path:
    """Return the folder of the indexes that were piped into runs of a source."""
    return archive / "indexes" / source


def store_piped(pipe: Path, archive: Path, sources: Sequence[str], tick: Callable[[], object]) -> bool:
    """Copy a pipe, such as /dev/stdin, into an index file of each of the sources that read it.

    Return False, and write no file, if the pipe is empty.

    `tick` is called after each block.
    """
    folder = archive / "indexes"
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / ".part"
    part.unlink(missing_ok=True)  # a link of this name is not followed
    with pipe.open("rb") as piped, part.open("xb") as target:
        hasher = Hasher()
        while block := piped.read(1 << 20):
            hasher.update(block)
            target.write(block)
            tick()
    sync(part)
    for source in sources if hasher.size else ():
        index = piped_folder(archive, source) / f"{hasher.digest().partition(':')[2]}.cdx"
        index.parent.mkdir(exist_ok=True)
        if not index.exists():
            os.link(part, index)
            sync(index.parent)
    part.unlink()
    return hasher.size > 0
