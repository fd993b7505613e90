"""How far a store goes, and of which ledger it is."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable


class StoreMark(NamedTuple):
    """The identity of the ledger whose facts a store has (0: not recorded), and the number of the last one (0: none).

    `problem` is why a run refuses the store, or empty; it is not stored.

    >>> StoreMark.read("7 12"), StoreMark.read("")
    (StoreMark(owner=7, last_fact=12, problem=''), StoreMark(owner=0, last_fact=0, problem=''))
    """

    owner: int = 0
    last_fact: int = 0
    problem: str = ""

    def spell(self) -> str:
        """Return the mark as `read` reads it."""
        return f"{self.owner} {self.last_fact}"

    @classmethod
    def read(cls, text: str) -> StoreMark:
        """Return the mark in a text, or the mark of a new store if the text has none."""
        numbers = text.split()
        is_mark = len(numbers) == 2 and all(word.removeprefix("-").isdecimal() for word in numbers)
        return cls(int(numbers[0]), int(numbers[1])) if is_mark else cls()

    def within(self, owner: int) -> StoreMark:
        """Return the mark for what workspaces may share, such as a folder: without facts if another ledger wrote last.

        `owner` is the identity of this ledger.
        """
        return StoreMark(0, self.last_fact if self.owner == owner else 0)


@runtime_checkable
class HasMark(Protocol):
    """A file or folder, written from a store, that says how far it goes."""

    def set_mark(self, mark: StoreMark) -> None:
        """Store a mark."""


def mark_written(mark: StoreMark, *files: object) -> None:
    """Store a mark in those files that have one; they are written after that."""
    for file in files:
        if isinstance(file, HasMark):
            file.set_mark(mark)
