"""The tables of the Summary Database and of the crawler database, as SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib.resources import files


def schema(*names: str) -> str:
    """Return the statements that make these tables: `base`, `summary`, `crawler`, `beside` (our own).

    >>> "CREATE TABLE origin" in schema("base")
    True
    """
    folder = files(__package__) / "schemas"
    return "\n".join((folder / f"{name}.sql").read_text(encoding="utf-8") for name in names)


def statements(*names: str) -> Iterator[str]:
    """Yield the statements one by one: `executescript` would commit each of them.

    >>> next(statements("near")).split()[-2:]
    ['NULL', ');']
    """
    statement = ""
    for line in schema(*names).splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
