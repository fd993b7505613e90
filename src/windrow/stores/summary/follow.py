"""What follows when generations came, changed or went: near-duplicates, and who stands for which group."""

from __future__ import annotations

import sqlite3

from windrow.stores.summary.near import compare
from windrow.stores.summary.representative import represent

BATCH = 1_000
"""Generations that are followed in one transaction."""


def follow(link: sqlite3.Connection, limit: int = BATCH) -> int:
    """Follow some of the generations that were touched, and return how many.

    Works within the transaction that is open on `link`: a generation is no longer touched in the same
    transaction that has what follows from it.
    """
    rows = link.execute("SELECT generation_id FROM windrow_touched ORDER BY generation_id LIMIT ?", (limit,)).fetchall()
    touched = {row[0] for row in rows}
    if touched:
        represent(link, touched | compare(link, touched))
        link.executemany("DELETE FROM windrow_touched WHERE generation_id = ?", rows)
    return len(rows)
