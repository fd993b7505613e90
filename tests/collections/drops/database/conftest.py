from __future__ import annotations

from collections.abc import Iterator

import pytest

from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import SUMMARY_COUNTS, TABLES


@pytest.fixture
def store(store_url: str) -> Iterator[TableStore]:
    with TableStore(store_url, TABLES, SUMMARY_COUNTS) as table_store:
        table_store.prepare()
        yield table_store
