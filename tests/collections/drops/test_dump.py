"""The tracker as SQL, from each engine, loaded by each client."""

from __future__ import annotations

import io

import pytest
import sqlalchemy as sa

from tests.collections.drops.database.test_sql_dump import load
from tests.collections.drops.test_projection import apply, open_projection, rows, write
from windrow.collections.drops.database.dump import dump
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.tracker_tables import NATURAL_KEYS, TRACKER
from windrow.ledger import Ledger

KINDS = ("sqlite", "mariadb", "postgresql")


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_export(source, target, request, tmp_path):
    def url(kind, name):
        return f"sqlite:///{tmp_path}/{name}.db" if kind == "sqlite" else request.getfixturevalue(f"{kind}_url")

    ledger = Ledger(tmp_path / "ledger.db")
    write(ledger, [0, 1, 3, 4, 2, 5, 6, 1, 3, 4] * 4)
    projection = open_projection(url(source, "from"))
    apply(projection, ledger)
    ledger.close()
    before = {table: rows(projection, table) for table in TRACKER.tables}
    out = io.StringIO()
    assert dump(projection.engine, TRACKER, "mysql" if target == "mariadb" else target, out) == sum(
        map(len, before.values())
    )
    if source == target != "sqlite":
        with projection.engine.begin() as link:
            TRACKER.drop_all(link)
    projection.close()
    done = load(out.getvalue(), url(target, "to"))
    assert done.returncode == 0, done.stderr
    again = ProjectionTables(url(target, "to"), TRACKER, "again", natural_keys=NATURAL_KEYS)
    assert {table: rows(again, table) for table in TRACKER.tables} == before
    with again.engine.begin() as link:
        assert link.execute(sa.text("select id from centre where short_name = 'h'")).scalar() == 3
    again.close()
