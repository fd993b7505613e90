"""What books are told: rows known by keys, without ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

_NONE: Mapping[str, Any] = MappingProxyType({})


class RowMaking(IntEnum):
    """Whether a row is made when it is not there."""

    NEVER = 0  # only a row that is there gets the values
    NEW = 1  # when the key is new; a row that somebody deleted stays away
    AGAIN = 2  # also when somebody deleted it


class LateReference(NamedTuple):
    """A reference against the order of the tables; an id above `most` is written as `instead`."""

    table: str
    key: str
    most: int
    instead: int


class RowPut(NamedTuple):
    """The row of `table` known by `key` has these values.

    `refs` names columns that hold the id of another row, as (its table, its key). A row that needs
    one which is not there, or not any more, is left out. `once` are values for a row that is made,
    and no news for one that is there. A row whose column `unless[0]` has come to hold `unless[1]`
    is left alone: somebody else has taken it over.
    """

    table: str
    key: str
    values: Mapping[str, object] = _NONE
    refs: Mapping[str, tuple[str, str]] = _NONE
    once: Mapping[str, object] = _NONE
    unless: tuple[str, object] | None = None
    make: RowMaking = RowMaking.NEW
    late: Mapping[str, LateReference] = _NONE


class RowValues:
    """Everything that one batch says of one row; of each column the last word."""

    __slots__ = ("early", "late", "make", "once", "refs", "unless", "values")

    def __init__(self) -> None:
        """Begin with nothing said."""
        self.values: dict[str, Any] = {}
        self.refs: dict[str, tuple[str, str]] = {}
        self.early: dict[str, Any] = {}  # said before the batch asked to make it: no news for a new row
        self.once: dict[str, object] = {}
        self.unless: tuple[str, object] | None = None
        self.make = RowMaking.NEVER
        self.late: dict[str, LateReference] = {}

    def say(self, values: Mapping[str, Any], refs: Mapping[str, tuple[str, str]]) -> None:
        """Note the last word on some columns, which a value or a reference may be."""
        for column in self.refs.keys() & values.keys():
            del self.refs[column]
        for column in self.late.keys() & values.keys():
            del self.late[column]
        for column in self.values.keys() & refs.keys():
            del self.values[column]
        self.values.update(values)
        self.refs.update(refs)


def fold(puts: Iterable[RowPut]) -> dict[str, dict[str, RowValues]]:
    """Gather puts by table and key, in the order in which each was first named.

    >>> rows = fold([RowPut("t", "a", {"x": 1, "y": 1}), RowPut("t", "b", {"x": 2}), RowPut("t", "a", {"x": 3})])
    >>> {key: row.values for key, row in rows["t"].items()}
    {'a': {'x': 3, 'y': 1}, 'b': {'x': 2}}
    """
    tables: dict[str, dict[str, RowValues]] = {}
    for table, key, values, refs, once, unless, make, late in puts:
        rows = tables.setdefault(table, {})
        row = rows.get(key)
        if row is None:
            row = rows[key] = RowValues()
        elif row.make is RowMaking.NEVER and make is not RowMaking.NEVER:
            row.early, row.values = row.values, {}
            rows[key] = rows.pop(key)  # ids go by who is first to be made
        row.say(values, refs)
        for column, value in once.items():
            row.once.setdefault(column, value)
        row.unless = unless or row.unless
        row.make = max(make, row.make)
        if late:
            row.late.update(late)
    return tables
