"""The columns of a collection: fields of its records, with their types, by which searches can filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class ColumnType(StrEnum):
    """How the values of a column are compared with the value of a filter."""

    TEXT = "text"  # the value contains the words of the filter, next to each other
    NAME = "name"  # it is equal to the filter's value, apart from case
    NUMBER = "number"  # it is equal to that value, or within that range
    DATE = "date"  # its period overlaps that period
    SWITCH = "switch"  # both are true, or both are false


class TypedColumn(NamedTuple):
    """A field of records by which searches can filter: `NAME:VALUE`.

    `name` begins with a lower-case letter and consists of lower-case letters, digits, `-` and `_`. `field` is the name
    of the field in the value of a record; if it is empty, the field has the name of the column. A dot leads into
    objects (`price.amount`), and each element of a list is a value. `read`, a function at the top of a module, returns
    the values instead; it is given the value of a record. A date is a text in ISO 8601, or a number: a year, a day in
    digits (20261231), or seconds or milliseconds since 1970. Several dates are one period, from the first to the last.

    >>> TypedColumn("year", ColumnType.DATE, "published").values_of({"published": 1999})
    [1999]
    >>> TypedColumn("author", ColumnType.TEXT, "authors.name").values_of({"authors": [{"name": "Ada"}, {"name": None}]})
    ['Ada']
    """

    name: str
    type: ColumnType
    field: str = ""
    read: Callable[[Mapping[str, Any]], Any] | None = None

    def values_of(self, record: Any) -> list[Any]:
        """Return the values, except None, that `record` (the value of a record) has for this column."""
        if self.read is not None:
            values = [self.read(record)] if isinstance(record, Mapping) else []
        else:
            values = [record]
            for name in (self.field or self.name).split("."):
                values = [part[name] for part in _flatten(values) if isinstance(part, Mapping) and name in part]
        return [value for value in _flatten(values) if value is not None]

    @property
    def identity(self) -> str:
        """A text that differs between columns that may read different values from a record."""
        reader = getattr(self.read, "__qualname__", None) or repr(self.read)
        return f"{self.name} {self.type} {self.field} {getattr(self.read, '__module__', '')}:{reader}"


def _flatten(values: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat += _flatten(list(value)) if isinstance(value, list | tuple) else [value]
    return flat
