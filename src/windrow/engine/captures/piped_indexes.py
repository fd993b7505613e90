"""Indexes of captures that are piped into runs: each source keeps its own in a folder of the archive."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from pathlib import Path

from windrow.archive.import_file import check_free_space, sync
from windrow.archive.warc_writer import map_write_errors
from windrow.digest import Hasher
from windrow.engine.run import HarvestRun

_BLOCK_SIZE = 2**20
_TICK_MILLISECONDS = 500


def piped_folder(archive: Path, source: str) -> Path:
    """Return the folder of the indexes that were piped into runs of a source."""
    return archive / "indexes" / source


def store_piped(run: HarvestRun, pipe: Path, sources: Sequence[str]) -> str:
    """Copy a pipe, such as /dev/stdin, into an index file of each of the sources that read it.

    Return "", or why no file was written: the pipe is empty, or the run is stopped before the pipe's end. Raises
    DiskFull, and ArchiveError if the file cannot be written.
    """
    folder = run.settings.archive / "indexes"
    part = folder / ".part"
    with map_write_errors(part):
        folder.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # a link of this name is not followed
        try:
            with pipe.open("rb", buffering=0) as piped, part.open("xb") as target:
                hasher = Hasher()
                for block in _read_pipe(run, piped.fileno()):
                    if run.stopping():
                        return "the run was stopped before its end, so nothing of it is kept: pipe it again"
                    check_free_space(folder, len(block), run.settings.limits.free_space)
                    hasher.update(block)
                    target.write(block)
            sync(part)
            for source in sources if hasher.size else ():
                index = piped_folder(run.settings.archive, source) / f"{hasher.digest().partition(':')[2]}.cdx"
                index.parent.mkdir(exist_ok=True)
                if not index.exists():
                    os.link(part, index)
                    sync(index.parent)
        finally:
            part.unlink(missing_ok=True)
    return "" if hasher.size else "nothing was piped into it; its command may have failed"


def _read_pipe(run: HarvestRun, descriptor: int) -> Iterator[bytes]:
    """Yield the blocks of a pipe, and an empty one whenever nothing came for a while."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    while True:
        run.tick()
        if not waiting.poll(_TICK_MILLISECONDS):
            yield b""
        elif block := os.read(descriptor, _BLOCK_SIZE):
            yield block
        else:
            return
