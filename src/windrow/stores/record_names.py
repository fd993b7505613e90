"""Other names of records, such as their numbers in a source's system: by them one is gone, or has moved."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from windrow.contract import Observation


def key_of(link: sqlite3.Connection, gone: Observation) -> str:
    """Return the key of the record that goes by a name of what is gone; empty where there is none."""
    marks = ",".join("?" * len(gone.names))
    found = link.execute(
        f"SELECT key FROM record WHERE key = ? OR id IN (SELECT record FROM other_name WHERE name IN ({marks}))",
        (gone.key, *gone.names),
    ).fetchone()
    return str(found[0]) if found else ""


def rename(link: sqlite3.Connection, names: Sequence[str], record: int) -> set[int]:
    """Let a record go by these names; return the others that did until now."""
    marks = ",".join("?" * len(names))
    text = f"SELECT DISTINCT record FROM other_name WHERE name IN ({marks}) AND record <> ?"
    others = {int(old) for (old,) in link.execute(text, (*names, record))}
    link.executemany(
        "INSERT INTO other_name VALUES (?,?) ON CONFLICT DO UPDATE SET record = excluded.record",
        [(name, record) for name in names],
    )
    return others
