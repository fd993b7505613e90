"""Find out which cells of rows other programs wrote, and which rows of earlier runs the table has lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import NamedTuple

from windrow.collections.papers.collection import KeyForm
from windrow.collections.papers.columns import OUTCOME_COLUMNS, SMALL_COLUMNS, STATUS_CODE_COLUMN, Cells, WideTable
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
    wrote, and what it is about to write. All of SMALL_COLUMNS are looked up. Of `grobid0`, the status is looked up if
    windrow did not write it, and other columns if windrow is about to write them for the first time.
    """
    foreign = {key: set[str]() for key in row_keys}
    without_outcome = [key for key in row_keys if STATUS_CODE_COLUMN not in own_columns[key]]
    small = {SMALL_COLUMNS: [*row_keys], (STATUS_CODE_COLUMN,): without_outcome}
    _add_foreign_columns(foreign, table, row_keys, small)
    keys_by_columns: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, cells in new_cells.items():
        names = tuple(name for name in cells if name.startswith("grobid0:") and name not in own_columns[key])
        if names and STATUS_CODE_COLUMN not in foreign[key]:
            keys_by_columns[names].append(key)
    _add_foreign_columns(foreign, table, row_keys, keys_by_columns)
    return {key: frozenset(columns - own_columns[key]) for key, columns in foreign.items()}


def _add_foreign_columns(
    foreign: Mapping[str, set[str]],
    table: WideTable,
    row_keys: Mapping[str, bytes],
    keys_by_columns: Mapping[tuple[str, ...], Sequence[str]],
) -> None:
    """Add to `foreign` those of the columns that the rows have; papers are looked up by the columns to look for."""
    for columns, keys in keys_by_columns.items():
        rows = table.get_many([row_keys[key] for key in keys], columns) if keys else {}
        for key in keys:
            foreign[key].update(rows.get(row_keys[key], ()))


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
        small = [key for key in row_keys if not own_columns[key].isdisjoint(SMALL_COLUMNS)]
        for keys, columns in ((small, SMALL_COLUMNS), (row_keys.keys() - {*small}, OUTCOME_COLUMNS)):
            stored = table.get_many([row_keys[key] for key in keys], columns) if keys else {}
            wanted = {key: own_columns[key].intersection(columns) for key in keys}
            lost += [key for key, names in wanted.items() if not names <= stored.get(row_keys[key], {}).keys()]
    if looked_up and (next_position := (position + looked_up) % registered) != position:
        register.put_meta(_POSITION, str(next_position))
    return LookUp(looked_up, registered, tuple(lost))
