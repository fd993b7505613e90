"""The seed rows: exact ids and order; existing rows are not changed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from windrow.collections.drops.database.declared import action_id, make_seeds, protocol_id, tracker_time
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.tracker_tables import NATURAL_KEYS, TRACKER
from windrow.errors import StoreError

AT = tracker_time(datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC))

STANDARD = {
    "phase": "download zip_name zip_md5 unzip xml_name xsd upload data context overview qc",
    "a_status": "pending running done cancelled failed",
    "source_protocol": "ftp sftp http ftps https file",
    "resource_state": "available maintenance removed",
    "processing_type": "add edit delete",
    "centre": "Bcm Gmc H Ics J Krb Ning Rbrc Tcp Ucd Wtsi",
}


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def projection(request, tmp_path):
    url = f"sqlite:///{tmp_path}/t.db" if request.param == "sqlite" else request.getfixturevalue(f"{request.param}_url")
    tables = ProjectionTables(url, TRACKER, "drops", natural_keys=NATURAL_KEYS)
    yield tables
    tables.close()


def names(projection, table):
    with projection.engine.begin() as link:
        return dict(map(tuple, link.execute(sa.text(f"select id, short_name from {table}"))))


def test_rows_and_ids(projection):
    assert projection.seed(make_seeds(AT)) == 39
    for table, words in STANDARD.items():
        assert names(projection, table) == dict(enumerate(words.split(), 1))
    with projection.engine.begin() as link:
        rgba = link.execute(sa.text("select rgba from a_status order by id")).scalars().all()
        assert rgba == ["aaaaaa00", "0000ff00", "00ff0000", "77007700", "ff000000"]
        harwell = link.execute(sa.select(TRACKER.tables["centre"]).where(sa.text("short_name = 'h'"))).one()
    assert (harwell.imits_name, harwell.full_name, harwell.is_active, harwell.created) == (
        "HARWELL",
        "MRC Harwell",
        True,
        AT,
    )
    assert harwell.address
    assert harwell.email == harwell.phone == ""
    assert names(projection, "an_exception") == {}


def test_seeding_again_changes_nothing(projection):
    projection.seed(make_seeds(AT))
    with projection.engine.begin() as link:
        link.execute(sa.text("update centre set full_name = 'ours', is_active = :no where id = 3"), {"no": False})
        link.execute(
            sa.text(
                "insert into centre (short_name, full_name, email, created) values ('Own', 'o', '', :at)"
            ).bindparams(sa.bindparam("at", AT, sa.DateTime))
        )
        link.execute(sa.text("delete from phase where id = 11"))
    assert projection.seed(make_seeds(AT)) == 1
    with projection.engine.begin() as link:
        assert link.execute(sa.text("select full_name from centre where id = 3")).scalar() == "ours"
    assert names(projection, "centre")[12] == "Own"
    assert names(projection, "phase")[11] == "qc"


def test_other_ids_are_refused(projection):
    with projection.engine.begin() as link:
        link.execute(sa.text("insert into a_status (id, short_name, rgba) values (1, 'done', '00000000')"))
    with pytest.raises(StoreError, match="done") as caught:
        projection.seed(make_seeds(AT))
    assert "ids" in caught.value.hint
    assert names(projection, "phase") == {}, "nothing is half seeded"


def test_words():
    assert [protocol_id(word) for word in ("ftp", "sftp", "http", "ftps", "https", "file", "gopher")] == [
        1,
        2,
        3,
        4,
        5,
        6,
        None,
    ]
    assert [action_id(word) for word in ("add", "edit", "delete")] == [1, 2, 3]
