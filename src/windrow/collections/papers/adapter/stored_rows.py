"""Find out which cells of rows other programs wrote, and which rows of earlier runs the table has lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import NamedTuple

from windrow.collections.papers.collection import KeyForm
from windrow.collections.papers.columns import SMALL_COLUMNS, STATUS_CODE_COLUMN, Cells, WideTable
from windrow.collections.papers.database.store import PaperStore, RowRegister
from windrow.collections.papers.row_keys import parse_digest, row_key
from windrow.formats.text import counted

_ROWS_PER_QUERY = 500
_POSITION = "looked up"
"""The name of the register's text with the position at which the next run begins. A key would outlive a takedown."""


def find_foreign_columns(
    table: WideTable,
    row_keys: Mapping[str, bytes],
    own_columns: Mapping[str, AbstractSet[str]],
    new_cells: Mapping[str, Cells],
) -> dict[str, frozenset[str]]:
    """Return a dict from paper to the columns in which its row has cells of other programs.

    `row_keys`, `own_columns` and `new_cells` are dicts from the paper to the key of its row, the columns that windrow
    wrote, and what it is about to write. All of SMALL_COLUMNS are looked up; columns with large cells only if windrow
    is about to write them in `grobid0` for the first time.
    """
    rows = table.get_many([*row_keys.values()], SMALL_COLUMNS)
    foreign = {key: {*rows.get(row_keys[key], ())} - own_columns[key] for key in row_keys}
    keys_by_columns: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, cells in new_cells.items():
        names = [name for name in cells if name.startswith("grobid0:") and name not in own_columns[key]]
        if STATUS_CODE_COLUMN not in foreign[key] and (large := tuple(n for n in names if n not in SMALL_COLUMNS)):
            keys_by_columns[large].append(key)
    for columns, keys in keys_by_columns.items():
        rows = table.get_many([row_keys[key] for key in keys], columns)
        for key in keys:
            foreign[key] |= {*rows.get(row_keys[key], ())}
    return {key: frozenset(columns) for key, columns in foreign.items()}


class LookUp(NamedTuple):
    """The numbers of rows that were looked up and that are registered, and the papers whose rows were lost."""

    looked_up: int
    registered: int
    lost: tuple[str, ...]

    def describe(self) -> str:
        """Return what a person should know: rows that were lost, and how many rows were not looked up."""
        messages = []
        if self.lost:
            rows = counted(len(self.lost), "row")
            messages.append(f"the table had lost {rows} of earlier runs, or cells of them, which are written again")
        if self.looked_up < self.registered:
            messages.append(f"{self.looked_up:,} of {self.registered:,} rows of earlier runs were looked up")
        return "; ".join(messages)


def find_lost_rows(
    store: PaperStore,
    register: RowRegister,
    table: WideTable,
    key_form: KeyForm,
    *,
    limit: int,
    pulse: Callable[[], bool],
) -> LookUp:
    """Look up rows of earlier runs, and find those that the table no longer has, or not with all small cells.

    `limit` rows are looked up, beginning after the rows that the last run looked up; keys are digests, so these are a
    random sample. If one of them is lost, all others are looked up, too, while `pulse` returns True.
    """
    registered = register.count_rows()
    position = int(register.meta(_POSITION) or 0)
    rows, looked_up, lost = register.rows_from(position), 0, list[str]()
    while (looked_up < limit or lost) and pulse():
        size = _ROWS_PER_QUERY if lost else min(_ROWS_PER_QUERY, limit - looked_up)
        own_columns = dict(islice(rows, size))
        if not own_columns:
            break
        looked_up += len(own_columns)
        row_keys = {key: row_key(parse_digest(key), key_form) for key in store.up_to_date_keys([*own_columns])}
        stored = table.get_many([*row_keys.values()], SMALL_COLUMNS)
        wanted = {key: own_columns[key].intersection(SMALL_COLUMNS) for key in row_keys}
        lost += [key for key, columns in wanted.items() if not columns <= stored.get(row_keys[key], {}).keys()]
    if looked_up and (next_position := (position + looked_up) % registered) != position:
        register.put_meta(_POSITION, str(next_position))
    return LookUp(looked_up, registered, tuple(lost))
