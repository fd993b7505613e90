"""A check finds what does not agree in the tables of copies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collections.pages.database.test_near import prose
from tests.collections.pages.database.test_wording import NOW, crawl
from windrow.collections.pages.database.sound import faults
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.reading import Pile

URLS = [f"https://{name}.example/" for name in "abc"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SummaryStore]:
    made = SummaryStore(f"sqlite:///{tmp_path}/summary.sqlite")
    made.settle([crawl(NOW + n, "T", url=url, text=f"{prose(1, 90)} {n}") for n, url in enumerate(URLS)], 3)
    made.finish(NOW)
    yield made
    made.close()


def found(store: SummaryStore) -> list[str]:
    return list(faults(store.engine, lambda fields: Pile(*fields).digest()))


def spoil(store: SummaryStore, sql: str) -> None:
    with store.engine.begin() as link:
        link.exec_driver_sql(sql)


def test_nothing_is_found_where_all_agrees(store: SummaryStore) -> None:
    with store.engine.connect() as link:
        assert link.exec_driver_sql("SELECT count(*) FROM windrow_near_duplicate").scalar() == 2
        assert link.exec_driver_sql("SELECT count(*) FROM windrow_representative").scalar() == 3
    assert found(store) == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE windrow_near_duplicate SET other_id = 99",
        "UPDATE windrow_near_duplicate SET other_id = generation_id",
        "UPDATE windrow_representative SET representative_id = 99 WHERE generation_id = 1",
        "DELETE FROM windrow_representative WHERE generation_id = representative_id",
        "INSERT INTO windrow_representative VALUES (99, 1)",
    ],
)
def test_what_was_spoilt_is_found(store: SummaryStore, sql: str) -> None:
    spoil(store, sql)
    assert len(found(store)) == 1


def test_what_a_stopped_run_left_is_no_fault(store: SummaryStore) -> None:
    spoil(store, "UPDATE windrow_near_duplicate SET other_id = 99")
    spoil(store, "INSERT INTO windrow_touched VALUES (1)")
    assert found(store) == []
