"""What a query says, as a tree of frozen values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from windrow.query.filter import Value
from windrow.query.word import words

Leaf = TypeVar("Leaf")


@dataclass(frozen=True, slots=True)
class Word:
    """One word as it was typed; with `prefix`, any word that begins so (`harv*`)."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must follow each other."""

    text: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one property of a page; `typed` is the value as it was written.

    A value that is text stands for words that follow each other, the last one the beginning of a word where a star
    is behind it.
    """

    key: str
    value: Value
    typed: str


@dataclass(frozen=True, slots=True)
class Not(Generic[Leaf]):
    """The part must not match."""

    part: Tree[Leaf]


@dataclass(frozen=True, slots=True)
class And(Generic[Leaf]):
    """All parts must match."""

    parts: tuple[Tree[Leaf], ...]


@dataclass(frozen=True, slots=True)
class Or(Generic[Leaf]):
    """At least `least` parts must match."""

    parts: tuple[Tree[Leaf], ...]
    least: int = 1


Tree: TypeAlias = Leaf | Not[Leaf] | And[Leaf] | Or[Leaf]
"""Leaves joined by Not, And and Or: those of a query here, those that an index is asked in `stores.index.clause`."""

Node: TypeAlias = Tree[Word | Phrase | Filter]


def joined(kind: type[And[Leaf] | Or[Leaf]], parts: list[Tree[Leaf]]) -> Tree[Leaf] | None:
    """Join parts by And or Or, without a layer where there is only one.

    >>> joined(And, [Word("a")])
    Word(text='a', prefix=False)
    """
    flat: list[Tree[Leaf]] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else [part]
    if len(flat) > 1:
        return kind(tuple(flat))
    return flat[0] if flat else None


def leading(text: str) -> tuple[str, bool]:
    """Return a text without the stars behind it, and whether they make its last word a beginning.

    >>> leading("harv*"), leading("c++*"), leading("**")
    (('harv', True), ('c++*', False), ('**', False))
    """
    bare = text.rstrip("*")
    return (bare, True) if bare != text and words(bare[-1:]) else (text, False)


def asks(leaf: Word | Phrase | Filter) -> tuple[str, bool]:
    """Return the text that a leaf asks for, and whether its last word is the beginning of one."""
    if isinstance(leaf, Filter):
        return leading(str(leaf.value))
    return leaf.text, isinstance(leaf, Word) and leaf.prefix


def wanted(node: Node | None) -> Iterator[Word | Phrase]:
    """Yield the words and phrases that are searched for, in the order typed; excluded ones are not.

    >>> from windrow.query import parse
    >>> [one.text for one in wanted(parse('red "green tea" -"black tea" site:example.org').root)]
    ['red', 'green tea']
    """
    if isinstance(node, Word | Phrase):
        yield node
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from wanted(part)


def filters(node: Node | None) -> Iterator[Filter]:
    """Yield all filters, also negated ones."""
    if isinstance(node, Filter):
        yield node
    elif isinstance(node, Not):
        yield from filters(node.part)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from filters(part)
