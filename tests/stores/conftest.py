from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow.collections.drops.element import SUMMARY, TABLES
from windrow.stores.tables import TableStore


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database on each of the three engines."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def store(store_url: str) -> Iterator[TableStore]:
    with TableStore(store_url, TABLES, SUMMARY) as made:
        made.prepare()
        yield made
