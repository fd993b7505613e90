from __future__ import annotations

from typing import Any

from tests.collections.drops.database.store_queries import count_all, put, query_store, stage, withhold
from tests.collections.drops.sample import at, experiment, experiments, load, mouse, specimens, submission
from windrow.collections.drops.database.table_store import TableStore


def overview(url: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    columns = 'centre, pipeline, "procedure", parameter, total, valid, superseded, withheld'
    return {row[:4]: tuple(map(int, row[4:])) for row in query_store(url, f"SELECT {columns} FROM overview")}


def test_summaries_count_what_changed_and_equal_a_recount(store: TableStore, store_url: str) -> None:
    document = experiments(experiment("e1", "s1"), experiment("e2", "s2"))
    put(store, 1, specimens(mouse("s1"), mouse("s2")))
    put(store, 2, document)
    assert store.summarise(at(3)).submissions == 2
    key, animals = ("H", "IMPC_001", "P_001", "P_001_001"), ("H", "IMPC_001", "", "")
    assert overview(store_url) == {key: (2, 2, 0, 0), animals: (2, 2, 0, 0)}
    put(store, 3, experiments(experiment("e1", "s1")), "edit")
    held = experiments(experiment("e9", "s1"), centre="J")
    stage(store, submission(4, held), load(held))
    withhold(store, 4, at(4))
    put(store, 5, experiments(experiment("e2", "s2"), pipeline="other"), "delete")
    assert store.summarise(at(6)).submissions == 4  # 3, 4, 5, and 2, whose records they ended
    assert overview(store_url) == {
        key: (3, 1, 2, 0),
        animals: (2, 2, 0, 0),
        ("J", "IMPC_001", "P_001", "P_001_001"): (1, 0, 0, 1),
    }
    skipped = 'centre, pipeline, "procedure", parameter, total, valid, superseded, withheld, first_seen, last_change'
    before = query_store(store_url, f"SELECT {skipped} FROM overview ORDER BY 1, 2, 3, 4")
    count_all(store, at(7))
    assert query_store(store_url, f"SELECT {skipped} FROM overview ORDER BY 1, 2, 3, 4") == before
    withhold(store, 2, at(8))
    withhold(store, 3, at(8))
    store.summarise(at(9))
    before = query_store(store_url, f"SELECT {skipped} FROM overview ORDER BY 1, 2, 3, 4")
    count_all(store, at(10))
    assert query_store(store_url, f"SELECT {skipped} FROM overview ORDER BY 1, 2, 3, 4") == before
