"""The tables on all three engines: case, ranges, lengths, delete rules and time stamps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from windrow.collections.drops.database.declared import make_seeds, tracker_time
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.tracker_tables import DATABASE, TRACKER

AT = tracker_time(datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC))
T = TRACKER.tables


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def connection(request, tmp_path):
    url = f"sqlite:///{tmp_path}/t.db" if request.param == "sqlite" else request.getfixturevalue(f"{request.param}_url")
    projection = ProjectionTables(url, TRACKER, "drops")
    projection.seed(make_seeds(AT))
    with projection.engine.connect() as connection:
        yield connection
    projection.close()


def add(connection, table, **values):
    return connection.execute(T[table].insert().values(**values)).inserted_primary_key[0]


def chain(connection):
    """One row in every table, from a source of centre 4 down to a log line."""
    source = add(
        connection,
        "file_source",
        centre_id=4,
        protocol_id=1,
        hostname="h",
        username="",
        accesskey="",
        state_id=1,
        created=AT,
    )
    zipped = add(connection, "zip_file", file_name="Ics.2013-06-19.1.impc.zip", centre_id=4)
    act = add(connection, "zip_action", zip_id=zipped, todo_id=1, phase_id=1, status_id=1)
    host = add(connection, "file_source_has_zip", za_id=act, file_source_id=source, num_retries=0)
    down = add(connection, "zip_download", zf_id=host, request=AT, received=AT, phase_id=1, status_id=2)
    xml = add(
        connection,
        "xml_file",
        zip_id=down,
        fname="Ics.2013-06-19.1.specimen.impc.xml",
        centre_id=4,
        phase_id=5,
        status_id=1,
    )
    error = add(connection, "an_exception", short_name="E")
    add(connection, "zip_log", zip_id=down, exception_id=error)
    add(connection, "xml_log", xml_id=xml, exception_id=error, line=4_294_967_295)
    return zipped, act, down, xml


def count(connection, table):
    return connection.scalar(sa.select(sa.func.count()).select_from(T[table]))


def refused(connection, act):
    nested = connection.begin_nested()
    with pytest.raises((sa.exc.IntegrityError, sa.exc.DataError, sa.exc.OperationalError)):
        act()
    nested.rollback()


def test_names_match_without_regard_to_case(connection):
    chain(connection)
    for table, column, name in (
        ("centre", "short_name", "WTSI"),
        ("zip_file", "file_name", "ICS.2013-06-19.1.IMPC.zip"),
        ("xml_file", "fname", "ICS.2013-06-19.1.SPECIMEN.impc.xml"),
    ):
        assert connection.scalar(sa.select(T[table].c.id).where(T[table].c[column] == name))
    refused(connection, lambda: add(connection, "zip_file", file_name="ics.2013-06-19.1.impc.ZIP"))
    refused(connection, lambda: add(connection, "centre", short_name="h", full_name="", email="", created=AT))


def test_unsigned_and_lengths(connection):
    zipped, *_ = chain(connection)
    refused(connection, lambda: add(connection, "zip_file", file_name="a", size_bytes=-1))
    refused(connection, lambda: add(connection, "zip_file", file_name="x" * 129))
    refused(connection, lambda: add(connection, "zip_file", id=-1, file_name="b"))
    refused(connection, lambda: connection.execute(T["file_source_has_zip"].update().values(num_retries=256)))
    refused(connection, lambda: connection.execute(T["xml_log"].update().values(col=2**32)))
    refused(connection, lambda: add(connection, "zip_action", zip_id=zipped, todo_id=1, phase_id=1, status_id=1))
    refused(connection, lambda: add(connection, "zip_action", zip_id=zipped, todo_id=70_000, phase_id=1, status_id=1))


def test_deleting_a_centre(connection):
    chain(connection)
    connection.execute(T["centre"].delete().where(T["centre"].c.id == 4))
    left = {
        table: count(connection, table)
        for table in (
            "file_source",
            "file_source_has_zip",
            "zip_download",
            "xml_file",
            "zip_log",
            "xml_log",
            "zip_action",
            "zip_file",
        )
    }
    assert left == {
        "file_source": 0,
        "file_source_has_zip": 0,
        "zip_download": 0,
        "xml_file": 0,
        "zip_log": 0,
        "xml_log": 0,
        "zip_action": 1,
        "zip_file": 1,
    }
    assert connection.scalar(sa.select(T["zip_file"].c.centre_id)) is None


def test_what_is_in_use_cannot_be_deleted_and_ids_are_followed(connection):
    chain(connection)
    for table, number in (("phase", 5), ("a_status", 2), ("an_exception", 1), ("processing_type", 1)):
        refused(
            connection,
            lambda table=table, number=number: connection.execute(T[table].delete().where(T[table].c.id == number)),
        )
    connection.execute(T["centre"].update().where(T["centre"].c.id == 4).values(id=44))
    assert connection.scalar(sa.select(T["zip_file"].c.centre_id)) == 44


def test_last_update(connection):
    chain(connection)
    old = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
    old = old if connection.dialect.name == "postgresql" else tracker_time(old)
    for name, table in T.items():
        connection.execute(table.update().values(last_update=old))
        assert set(connection.scalars(sa.select(table.c.last_update))) <= {old}, name
    connection.execute(T["zip_file"].update().values(inc=None))
    assert connection.scalar(sa.select(T["zip_file"].c.last_update)) == old, "no change, no refresh"
    connection.execute(T["zip_file"].update().values(inc=5))
    new = connection.scalar(sa.select(T["zip_file"].c.last_update))
    assert new.year >= 2026
    assert new.microsecond == 0


def test_the_databases_name():
    assert DATABASE == "phenodcc_tracker"
    assert all(
        [column.name for column in table.columns][:: len(table.columns) - 1] == ["id", "last_update"]
        for table in T.values()
    )
