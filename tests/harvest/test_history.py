"""Add, edit, delete and add again, as partners drop them, on the three databases: what is current, and what was."""

import time
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from tests.collections.drops.database.store_queries import history_of, versions_as_of
from tests.faults.workspace import DropsWorkspace, put
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.database.tracker_tables import MARIADB_DIALECTS
from windrow.collections.drops.elements import SUMMARY_COUNTS, TABLES
from windrow.demo.partner import pack
from windrow.stores.databases import connect

CORE = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
MICE = ("M1", "M2", "M3")


def specimens(*mice, litter):
    rows = "".join(
        f'<mouse DOB="2012-01-02" isBaseline="false" colonyID="C1" specimenID="{mouse}" gender="male"'
        f' zygosity="homozygous" litterId="{litter}" pipeline="IMPC_001" phenotypingCentre="H" project="BaSH"/>'
        for mouse in mice
    )
    return (
        f'<centreSpecimenSet xmlns="{CORE}specimen"><centre centreID="H">{rows}</centre></centreSpecimenSet>'.encode()
    )


def experiments(weight_by_mouse, line=""):
    rows = "".join(
        f'<experiment experimentID="E-{mouse}" dateOfExperiment="2012-03-04"><specimenID>{mouse}</specimenID>'
        f'<procedure procedureID="IMPC_BWT_001"><simpleParameter parameterID="IMPC_BWT_001_001" unit="g">'
        f"<value>{weight}</value></simpleParameter></procedure></experiment>"
        for mouse, weight in weight_by_mouse.items()
    )
    return (
        f'<centreProcedureSet xmlns="{CORE}procedure"><centre centreID="H" pipeline="IMPC_001" project="BaSH">'
        f"{line}{rows}</centre></centreProcedureSet>"
    ).encode()


LINE = (
    '<line colonyID="C1"><procedure procedureID="IMPC_VIA_001"><simpleParameter parameterID="IMPC_VIA_001_001">'
    "<value>{}</value></simpleParameter></procedure></line>"
)
DROPS = {
    "add": (1, specimens(*MICE, litter="a"), experiments(dict.fromkeys(MICE, 10), LINE.format("viable"))),
    "edit": (2, specimens("M2", litter="b"), experiments({"M2": 20}, LINE.format("lethal"))),
    "delete": (3, specimens("M3", litter="a"), experiments({"M3": 10})),
    "again": (4, specimens("M3", litter="c"), experiments({"M3": 30})),
}


@pytest.fixture(params=["sqlite", "mariadb_url", "postgresql_url"])
def url(request, tmp_path):
    return "" if request.param == "sqlite" else request.getfixturevalue(request.param)


def weights(connection, where, **parameters):
    """Return the mice, their litters and weights for which a condition on the entities holds."""
    text = (
        "SELECT m.specimen_id, m.litter_id, p.value FROM mouse m JOIN entity e ON e.id = m.entity_id"
        " JOIN experiment_specimen es ON es.specimen_id = m.specimen_id"
        " JOIN entity x ON x.id = es.entity_id JOIN simple_parameter p ON p.entity_id = x.id"
        f" WHERE {where.format('e')} AND {where.format('x')} ORDER BY 1, 2, 3"
    )
    return [tuple(row) for row in connection.execute(sa.text(text), parameters)]


NOW = "{0}.valid_from IS NOT NULL AND {0}.valid_to IS NULL AND NOT {0}.tombstone"
THEN = "{0}.valid_from <= :at AND ({0}.valid_to IS NULL OR {0}.valid_to > :at) AND NOT {0}.tombstone"
"""The conditions, as in the store's documentation."""

EXPECTED = {
    "add": [("M1", "a", "10"), ("M2", "a", "10"), ("M3", "a", "10")],
    "edit": [("M1", "a", "10"), ("M2", "b", "20"), ("M3", "a", "10")],
    "delete": [("M1", "a", "10"), ("M2", "b", "20")],
    "again": [("M1", "a", "10"), ("M2", "b", "20"), ("M3", "c", "30")],
}


def assert_overview(connection):
    """Assert the overview after the four documents: by centre, pipeline, procedure and parameter."""
    quoted = "`procedure`" if connection.dialect.name in MARIADB_DIALECTS else '"procedure"'
    columns = f"centre, pipeline, {quoted}, parameter, total, valid, superseded, withheld"
    overview = connection.execute(sa.text(f"SELECT {columns} FROM overview ORDER BY 1, 2, 3, 4"))
    assert [tuple(row) for row in overview] == [
        ("H", "IMPC_001", "", "", 5, 3, 2, 0),
        ("H", "IMPC_001", "IMPC_BWT_001", "IMPC_BWT_001_001", 5, 3, 2, 0),
        ("H", "IMPC_001", "IMPC_VIA_001", "IMPC_VIA_001_001", 2, 1, 1, 0),
    ]
    since = connection.execute(sa.text("SELECT first_seen, last_change FROM overview WHERE parameter = ''")).one()
    assert str(since[0]) < str(since[1])


def test_what_is_current_and_what_was(tmp_path, url):
    workspace = DropsWorkspace(tmp_path / "w", f'[drops]\ntracker = "{url}"\nstore = "{url}"\n' if url else "")
    folder = workspace.add_folder("own")
    store_url = url or f"sqlite:///{workspace.root}/drops.sqlite"
    engine = connect(store_url)
    moments = {}
    for word, (number, mice, weighed) in DROPS.items():
        day = f"2012-11-{10 + number}"
        names = (f"H.{day}.1.specimen.impc.xml", f"H.{day}.1.experiment.impc.xml")
        content = pack(dict(zip(names, (mice, weighed), strict=True)))
        put(folder, f"H.{day}.{number}.impc.zip", content, "add" if word == "again" else word)
        assert workspace.run().code == 0
        moments[word] = datetime.now(UTC)
        time.sleep(0.01)
        with engine.connect() as connection:
            assert weights(connection, NOW) == EXPECTED[word]
            current = connection.execute(sa.text("SELECT specimen_id FROM current_specimen ORDER BY 1"))
            assert current.scalars().all() == [mouse for mouse, _, _ in EXPECTED[word]]
    with engine.connect() as connection:
        for word, at in moments.items():
            bound = at if engine.dialect.name == "postgresql" else at.replace(tzinfo=None)
            if engine.dialect.name == "sqlite":
                bound = bound.isoformat(" ")
            assert weights(connection, THEN, at=bound) == EXPECTED[word]
        assert connection.scalar(sa.text("SELECT count(*) FROM mouse WHERE specimen_id = 'M3'")) == 3
        assert_overview(connection)
    engine.dispose()
    with TableStore(store_url, TABLES, SUMMARY_COUNTS) as store:
        for word, at in moments.items():
            assert [version.identifier for version in versions_as_of(store, "specimen", at)] == [
                f"H_{mouse}" for mouse, _, _ in EXPECTED[word]
            ]
        story = [
            (version.action, version.tombstone, version.valid_to is None)
            for version in history_of(store, "experiment", "H_E-M3_M3")
        ]
        assert story == [("add", False, False), ("delete", True, False), ("add", False, True)]
