"""Notice that files which are written from a store were replaced by an older copy.

Before the files are written, they and the store get a higher number, their generation; the store is last. So a file
that was copied before has a lower number than the store, also if the process is killed in between.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class HasGeneration(Protocol):
    """A file or folder that stores its generation; 0 if none was stored."""

    def generation(self) -> int:
        """Return the stored number."""

    def set_generation(self, generation: int) -> None:
        """Store a number."""


def is_older(file: object, store: HasGeneration) -> bool:
    """Return whether a file is an older copy than the store; what has no generation, as a table on a server, is not."""
    return isinstance(file, HasGeneration) and file.generation() < store.generation()


def begin_generation(*files: object) -> None:
    """Store a higher number in those files that have a generation; the last one is the store."""
    numbered_files = [file for file in files if isinstance(file, HasGeneration)]
    generation = max(file.generation() for file in numbered_files) + 1
    for file in numbered_files:
        file.set_generation(generation)
