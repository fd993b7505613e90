"""The shape of a collection's tables, declared as data: what a LOAD step's rows look like in a store.

A collection declares its `ElementTable`s and `CountTable`s, a store makes them, and neither knows the other.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ColumnKind(StrEnum):
    """What a column holds, and how a row's tuple spells it."""

    NAME = "name"  # text of at most `NAME_LIMIT` characters, fit for an index
    TEXT = "text"  # text of any length
    INTEGER = "integer"  # 64 bits, signed
    DOUBLE = "double"  # finite
    DECIMAL = "decimal"  # text: its digits as they came, of which no engine's own type holds all
    BOOLEAN = "boolean"
    DATE = "date"  # spelled YYYY-MM-DD


NAME_LIMIT = 255
"""Most characters of a NAME."""


class Column(NamedTuple):
    """One column: `indexed` where people look rows up by it."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT
    indexed: bool = False


class ElementTable(NamedTuple):
    """The rows of one type of element.

    Every such table also has `id`, `parent_id`, `entity_id`, `submission_id` and `ordinal`.
    `entity` names the kind of entity that each of its rows begins, empty where a row only belongs
    to one; `parents` the tables in which `parent_id` is found (ids are unique over all tables).
    """

    name: str
    columns: tuple[Column, ...]
    parents: tuple[str, ...] = ()
    entity: str = ""


class CountTable(NamedTuple):
    """How many rows there are by some keys, kept for every submission and for all of them.

    Each of `queries` is a SELECT that gives `submission_id`, `entity_id` and the keys, for the
    submissions that the condition `{chosen}` leaves; names in it that SQL reserves are in double quotes.
    """

    keys: tuple[str, ...]
    queries: tuple[str, ...]
