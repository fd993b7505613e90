from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from lxml import etree

from tests.collections.drops import sample
from tests.collections.drops.database.store_queries import (
    dump,
    find_known,
    publish,
    put,
    query_all,
    query_store,
    stage,
    withhold,
)
from tests.collections.drops.sample import at, experiment, experiments, load, mouse, procedure, specimens, submission
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import ELEMENTS, SUMMARY_COUNTS, TABLES
from windrow.errors import StoreError
from windrow.reasons import Reason
from windrow.stores.databases import connect


def test_prepare_may_be_repeated(store: TableStore, store_url: str) -> None:
    content = specimens(mouse("s1"))
    put(store, 1, content)
    before = dump(store_url)
    store.prepare()
    assert dump(store_url) == before


def test_a_table_that_was_converted_to_another_collation_is_refused(mariadb_url: str) -> None:
    """An edit of one mouse ended the record of another one, whose name differs by case."""
    engine = connect(mariadb_url)
    with TableStore(mariadb_url, TABLES) as store, engine.begin() as connection:
        store.prepare()
        connection.exec_driver_sql("ALTER TABLE entity CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        with pytest.raises(
            StoreError, match="texts of the table entity have the collation utf8mb4_general_ci"
        ) as caught:
            store.prepare()
        connection.exec_driver_sql(caught.value.hint.partition(": ")[2].partition(";")[0])
        store.prepare()
    engine.dispose()


def test_prepare_goes_on_from_wherever_it_was_killed(store_url: str) -> None:
    class StatementKilled(BaseException):
        pass

    for last in (1, 2, 3, 30, 77, 100):
        with TableStore(store_url, TABLES, SUMMARY_COUNTS) as store:
            count = 0

            @sa.event.listens_for(store._engine, "before_cursor_execute")
            def stop(*_: Any, last: int = last) -> None:
                nonlocal count
                count += 1
                if count > last:
                    raise StatementKilled

            with pytest.raises(StatementKilled):
                store.prepare()
    with TableStore(store_url, TABLES, SUMMARY_COUNTS) as store:
        store.prepare()
        put(store, 1, specimens(mouse("s1")))
    engine = connect(store_url)
    inspector = sa.inspect(engine)
    for table in store._schema.metadata.sorted_tables:
        there = {index["name"] for index in inspector.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= there
    engine.dispose()


def test_rows_are_typed_and_hang_together(store: TableStore, store_url: str) -> None:
    put(
        store,
        1,
        specimens(mouse("s1", inner='<parentalStrain percentage="12.5" MGIStrainID="M" gender="male" level="-2"/>')),
    )
    put(store, 2, experiments(experiment("e1", "s1")))
    (row,) = query_store(
        store_url,
        "SELECT m.is_baseline, m.dob, p.percentage, p.level, c.centre_id, m.strain_id FROM mouse m"
        " JOIN parental_strain p ON p.parent_id = m.id JOIN centre_specimen c ON c.id = m.parent_id",
    )
    assert (bool(row[0]), str(row[1]), *row[2:]) == (False, "2024-01-31", 12.5, -2, "H", None)
    (row,) = query_store(
        store_url,
        "SELECT x.specimen_id, p.parent_table, s.parameter_id, s.value, e.identifier FROM experiment_specimen x"
        ' JOIN "procedure" p ON p.parent_id = x.parent_id JOIN simple_parameter s ON s.parent_id = p.id'
        " JOIN entity e ON e.id = s.entity_id",
    )
    assert row == ("s1", "experiment", "P_001_001", "1", "H_e1_s1")


def test_nothing_is_current_before_it_is_published(store: TableStore, store_url: str) -> None:
    content = specimens(mouse("s1"), sample.embryo("s2"))
    number = stage(store, submission(1, content), load(content))
    assert query_store(store_url, "SELECT * FROM current_specimen") == []
    assert find_known(store, "specimen", ["H_s1"]) == set()
    published = publish(store, 1, at(1))
    assert (published.submission, published.current, published.ended, published.findings, published.reason) == (
        number,
        2,
        0,
        (),
        None,
    )
    assert query_store(store_url, "SELECT specimen_id, kind FROM current_specimen ORDER BY 1") == [
        ("s1", "mouse"),
        ("s2", "embryo"),
    ]
    assert query_store(store_url, "SELECT centre_id FROM current_centre_specimen") == [("H",)]


def test_each_call_twice_is_each_call_once(store: TableStore, store_url: str) -> None:
    first, second, third = specimens(mouse("s1")), specimens(mouse("s1", colony="x")), specimens(mouse("s9"))
    put(store, 1, first)
    for item, content, action in ((2, second, "edit"), (3, first, "delete"), (4, third, "edit")):
        document = submission(item, content, action)
        number = stage(store, document, load(content))
        before = dump(store_url)
        assert stage(store, document, load(content)) == number
        assert dump(store_url) == before
        published = publish(store, item, at(item))
        before = dump(store_url)
        assert publish(store, item, at(item + 50)) == published
        assert stage(store, document, load(content)) == number
        assert dump(store_url) == before
    withhold(store, 4, at(9))
    before = dump(store_url)
    withhold(store, 4, at(10))
    assert dump(store_url) == before
    store.summarise(at(11))
    before = dump(store_url)
    store.summarise(at(12))
    assert dump(store_url) == before


def test_other_bytes_take_the_place_of_staged_ones_only(store: TableStore, store_url: str) -> None:
    stage(store, submission(1, b"old"), load(specimens(mouse("s1"), mouse("s2"))))
    content = specimens(mouse("s3"))
    stage(store, submission(1, content), load(content))
    assert query_store(store_url, "SELECT specimen_id FROM mouse") == [("s3",)]
    assert query_store(store_url, "SELECT identifier FROM entity") == [("H_s3",)]
    publish(store, 1, at(1))
    with pytest.raises(StoreError, match="already published"):
        stage(store, submission(1, b"newer"), load(specimens(mouse("s4"))))


def test_several_documents_in_one_transaction(store: TableStore, store_url: str) -> None:
    contents = [specimens(mouse(f"s{number}")) for number in range(5)]
    documents = [(submission(number, content), load(content)) for number, content in enumerate(contents)]
    assert store.stage_all(documents[:2]) == [1, 2]
    assert store.stage_all(documents) == [1, 2, 3, 4, 5]
    bad = (submission(9, b"", "destroy"), load(contents[0]))
    with pytest.raises(StoreError, match="the action 'destroy' is not one of add"):
        store.stage_all([(submission(8, b"x"), load(contents[0])), bad])
    assert query_store(store_url, "SELECT COUNT(*) FROM mouse") == [(5,)]


def test_what_was_never_staged_cannot_be_published(store: TableStore) -> None:
    with pytest.raises(StoreError) as caught:
        publish(store, 7, at(1))
    assert (caught.value.reason, caught.value.hint) == (Reason.UNKNOWN_RECORD, "windrow replay")
    with pytest.raises(StoreError, match="cannot answer the question specimen:ever"):
        find_known(store, "specimen:ever", ["x"])


def test_real_documents_have_as_many_rows_as_elements(store: TableStore, store_url: str, shared: Path) -> None:
    files = sorted((shared / "data/drops/examples").glob("*.xml"))
    files += sorted((shared / "data/drops/samples-exportlibrary").glob("xmlserialization_spec*.xml"))
    files += sorted((shared / "data/drops/samples-exportlibrary").glob("xmlvalidation_*.xml"))
    assert files
    expected: Counter[str] = Counter()
    for item, file in enumerate(files, 1):
        content = file.read_bytes()
        for element in etree.fromstring(content).iter(etree.Element):
            expected[etree.QName(element).localname] += 1
        put(store, item, content)
    counts = query_all(store_url, {name: f'SELECT COUNT(*) FROM "{name}"' for name in ELEMENTS})
    rows = {name: rows[0][0] for name, rows in counts.items()}
    assert rows["centre_specimen"] + rows["centre_procedure"] == expected["centre"]
    for tag, table in (
        ("experiment", "experiment"),
        ("simpleParameter", "simple_parameter"),
        ("seriesParameter", "series_parameter"),
        ("mediaParameter", "media_parameter"),
        ("seriesMediaParameter", "series_media_parameter"),
        ("procedureMetadata", "procedure_metadata"),
        ("parameterAssociation", "parameter_association"),
        ("term", "ontology_term"),
        ("mouse", "mouse"),
        ("embryo", "embryo"),
        ("procedure", "procedure"),
        ("specimenID", "experiment_specimen"),
    ):
        assert rows[table] == expected[tag], tag
    values = sum(
        query_store(store_url, f"SELECT COUNT(value) FROM {name}")[0][0]
        for name in ("simple_parameter", "procedure_metadata")
    )
    assert rows["series_value"] + rows["series_media_value"] + values == expected["value"]
    # All the examples share one experiment and specimen: by the standard's identifier each ends the last.
    (distinct,) = query_store(store_url, "SELECT COUNT(DISTINCT identifier) FROM entity")
    assert query_store(store_url, "SELECT COUNT(*) FROM entity WHERE valid_from IS NOT NULL AND valid_to IS NULL") == [
        distinct
    ]
    assert distinct[0] < rows["experiment"]


@pytest.mark.parametrize(
    "digits", ["0.1000000000000000055511151231257827", "-12345678901234567890.10", "7." + "3" * 99]
)
def test_a_decimal_keeps_its_digits(store: TableStore, store_url: str, digits: str) -> None:
    dim = f'<parameterAssociation parameterID="P"><dim id="x" origin="topleft"> {digits} </dim></parameterAssociation>'
    media = f'<mediaParameter parameterID="M" URI="u">{dim}</mediaParameter>'
    put(store, 1, experiments(experiment("E", "S", inner=procedure(media))))
    assert query_store(store_url, 'SELECT "value" FROM "dimension"') == [(digits,)]
