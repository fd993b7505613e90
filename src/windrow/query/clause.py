"""What an index is asked, as values: no index is opened here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from windrow.query.tree import Tree


class IndexField(NamedTuple):
    """A field of an index: `words` are cut and folded, `mark` is a word as it is, `number` a whole number."""

    name: str
    kind: str  # words | mark | number


@dataclass(frozen=True, slots=True)
class Everything:
    """All documents."""


@dataclass(frozen=True, slots=True)
class WordSequence:
    """Words that follow each other in one of the fields, each field with its weight.

    With `prefix`, the last word is the beginning of one. A text without words matches nothing.
    """

    text: str
    fields: tuple[tuple[str, float], ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class MarkIn:
    """A field of marks has one of these."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A number between two others, both included; None: no end."""

    field: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class NumberIn:
    """A number is one of these."""

    field: str
    values: tuple[int, ...]


Clause: TypeAlias = Tree[Everything | WordSequence | MarkIn | NumberRange | NumberIn]


class IndexHit(NamedTuple):
    """A document that an index found, with its score; 0 where nothing was scored."""

    id: int
    score: float


class IndexDocument(NamedTuple):
    """A document as an index takes it: texts of its fields (a field may come again) and numbers."""

    id: int
    texts: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, int], ...]
