"""Projections on all three engines: ids, references, adoption, guards, and rows that others deleted."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from windrow.collections.drops.database.projection_rows import Insert, LateReference, RowChange, Seed, SharedChange
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.tracker_tables import (
    add_checks_and_triggers,
    make_last_update,
    nocase_type,
    unsigned_type,
)
from windrow.errors import ConfigError, StoreError, StoreUnreachable
from windrow.stores.databases import connect


def ref(target, rule, *, null=False):
    kind, info = unsigned_type("big")
    key = sa.ForeignKey(f"{target}.id", ondelete=rule)
    return sa.Column(f"{target}_id", kind, key, nullable=null, info=info)


def shelf():
    metadata = sa.MetaData()
    options = {
        f"{name}_{key}": value
        for name in ("mysql", "mariadb")
        for key, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_general_ci"))
    }

    def table(name, *columns):
        big, info = unsigned_type("big")
        key = sa.Column("id", big, primary_key=True, autoincrement=True, info=info)
        sa.Table(name, metadata, key, *columns, make_last_update(), sqlite_autoincrement=True, **options)

    table("run", sa.Column("status", sa.SmallInteger(), nullable=False))
    table("author", sa.Column("name", nocase_type(60), nullable=False, unique=True), sa.Column("note", sa.Text()))
    table(
        "book",
        ref("author", "CASCADE"),
        ref("run", "SET NULL", null=True),
        sa.Column("title", sa.String(60), nullable=False),
        sa.Column("state", sa.Integer(), nullable=False),
        sa.Column("copies", sa.Integer(), nullable=False, server_default=sa.text("0")),
    )
    table("page", ref("book", "CASCADE"), sa.Column("number", sa.Integer(), nullable=False))
    add_checks_and_triggers(metadata)
    return metadata


METADATA = shelf()
ADOPT = {"author": ("name",)}


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/projection.db"
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def projection(url):
    tables = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
    yield tables
    tables.close()


def rows(projection, name, *columns):
    table = METADATA.tables[name]
    asked = sa.select(*(table.c[column] for column in columns)).order_by(table.c.id)
    with projection.engine.begin() as connection:
        return [tuple(row) for row in connection.execute(asked)]


def run_sql(projection, text):
    with projection.engine.begin() as connection:
        return connection.exec_driver_sql(text)


def author(key, name=None, **values):
    return RowChange("author", key, {"name": name or key, **values})


def book(key, by, state=1, **values):
    return RowChange("book", key, {"title": key, "state": state, **values}, {"author_id": ("author", by)})


def test_many_rows_get_the_same_values_where_they_are_there_and_nobody_has_taken_them_over(projection):
    projection.apply([author("x"), *(book(f"b{number}", "x") for number in range(9))], 1)
    run_sql(projection, "UPDATE book SET copies = 7 WHERE title = 'b4'")
    run_sql(projection, "DELETE FROM book WHERE title = 'b6'")
    keys = ["b3", "b1", "b2", "b4", "b6", "b7", "never made", "new"]
    projection.apply([SharedChange("book", keys, {"state": 5}, ("copies", 7)), book("new", "x", 2)], 2)
    assert rows(projection, "book", "title", "state") == [
        ("b0", 1), ("b1", 5), ("b2", 5), ("b3", 5), ("b4", 1), ("b5", 1), ("b7", 5), ("b8", 1), ("new", 5),
    ]  # fmt: skip
    assert projection.checkpoint() == 2


def test_rows_are_made_in_order_with_their_checkpoint(projection):
    assert projection.checkpoint() == 0
    projection.apply([author("x"), book("b1", "x"), author("y"), book("b2", "y"), book("b1", "x", 3)], 17)
    assert projection.checkpoint() == 17
    assert rows(projection, "author", "id", "name") == [(1, "x"), (2, "y")]
    assert rows(projection, "book", "id", "author_id", "title", "state", "copies") == [
        (1, 1, "b1", 3, 0),
        (2, 2, "b2", 1, 0),
    ]
    projection.apply(
        [
            RowChange("book", "b2", {"state": 9}, insert=Insert.NEVER),
            RowChange("page", "p", {"number": 1}, {"book_id": ("book", "b2")}),
        ],
        18,
    )
    assert rows(projection, "book", "id", "state") == [(1, 3), (2, 9)]
    assert rows(projection, "page", "id", "book_id") == [(1, 2)]


def test_opening_again_goes_on(url):
    first = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
    first.apply([author("x"), book("b1", "x")], 5)
    first.close()
    again = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
    assert again.checkpoint() == 5
    again.apply([book("b2", "x"), RowChange("book", "b1", {"state": 4})], 6)
    assert rows(again, "book", "id", "author_id", "state") == [(1, 1, 4), (2, 1, 1)]
    again.close()


def test_what_is_told_again_changes_nothing(projection):
    puts = [author("x"), book("b1", "x"), book("b2", "x", 2)]
    projection.apply(puts, 1)
    run_sql(projection, "UPDATE book SET last_update = '2001-01-01 00:00:00'")
    before = rows(projection, "book", "id", "state", "last_update")
    projection.apply(puts, 1)
    assert rows(projection, "book", "id", "state", "last_update") == before
    projection.apply([RowChange("book", "b1", {"state": 7})], 2)
    stamps = [row[0].replace(tzinfo=None) for row in rows(projection, "book", "last_update")]
    now = datetime.now(UTC).replace(tzinfo=None)
    assert abs((stamps[0] - now).total_seconds()) < 60, "an update refreshes the stamp"
    assert stamps[1] == datetime(2001, 1, 1)  # noqa: DTZ001


def test_a_failing_batch_leaves_nothing(projection):
    projection.apply([author("x")], 1)
    too_long = "t" * 61
    with pytest.raises(StoreError):
        projection.apply([book("b1", "x"), book(too_long, "x")], 2)
    assert projection.checkpoint() == 1
    assert rows(projection, "book", "id") == []
    projection.apply([book("b1", "x")], 2)
    assert rows(projection, "book", "id", "title") == [(1, "b1")], "and no id is wasted"


def test_rows_that_are_there_are_adopted_without_regard_to_case(projection):
    run_sql(projection, "INSERT INTO author (id, name, note) VALUES (7, 'Ada', 'theirs')")
    projection.apply(
        [author("ada", "ADA"), author("bob", "Bob"), author("other", "bOB", note="new"), book("b", "other")], 1
    )
    assert rows(projection, "author", "id", "name", "note") == [(7, "Ada", "theirs"), (8, "Bob", "new")]
    assert rows(projection, "book", "author_id") == [(8,)]


def test_letters_that_only_the_database_can_compare(projection):
    names = [
        "Ünal", "ünal", "unal", "😀", "😁", "\uff21", "A", "ß", "ss", "a\u0301", "\u00e1", "x\u200dy", "xy", "x\x01y", "xy ",
    ]  # fmt: skip
    projection.apply([author(name) for name in names], 1)
    projection.apply([book(f"b{n}", name) for n, name in enumerate(names)], 2)
    assert len(rows(projection, "book", "author_id")) == len(names), "none is lost"
    projection.apply([author(f"again {name}", name) for name in names], 3)
    by_case = 0 if projection.engine.dialect.name == "sqlite" else 1
    authors = rows(projection, "author", "id", "name")
    assert len(authors) == len({*rows(projection, "book", "author_id")}) == len(names) - by_case, (
        "\u00dcnal and \u00fcnal"
    )
    run_sql(projection, "DELETE FROM author WHERE id = 2")
    projection.apply([author(name)._replace(insert=Insert.AGAIN) for name in names], 4)
    assert rows(projection, "author", "id", "name") == authors
    if projection.engine.dialect.name == "mariadb":
        assert authors[1:5] == [(2, "%75nal"), (3, "\U0001f600"), (4, "%F0%9F%98%81"), (5, "\uff21")]


def test_rows_taken_over_are_left_alone(projection):
    projection.apply([author("x"), *(book(f"b{n}", "x") for n in range(9))], 1)
    run_sql(projection, "UPDATE book SET state = 11 WHERE id IN (2, 5)")
    projection.apply([RowChange("book", f"b{n}", {"state": 4}, unless=("state", 11)) for n in range(9)], 2)
    assert [state for (state,) in rows(projection, "book", "state")] == [4, 11, 4, 4, 11, 4, 4, 4, 4]
    projection.apply([RowChange("book", "b1", {"state": 5}, unless=("state", 11))], 3)
    projection.apply([RowChange("book", "b0", {"copies": 5}, unless=("state", 11))], 3)
    assert rows(projection, "book", "state", "copies")[:2] == [(4, 5), (11, 0)]


def test_values_once(projection):
    projection.apply(
        [author("x"), RowChange("book", "b", {"title": "t"}, {"author_id": ("author", "x")}, {"state": 1})], 1
    )
    projection.apply([RowChange("book", "b", {"state": 2})], 2)
    projection.apply([RowChange("book", "b", {"title": "u"}, {"author_id": ("author", "x")}, {"state": 1})], 3)
    assert rows(projection, "book", "title", "state") == [("u", 2)]


def test_a_row_only_if_there(projection):
    projection.apply([RowChange("author", "x", {"note": "lost"}, insert=Insert.NEVER)], 1)
    projection.apply([RowChange("author", "y", {"note": "lost"}, insert=Insert.NEVER), author("y")], 1)
    projection.note([RowChange("author", "y", {"note": "kept"}, insert=Insert.NEVER)])
    assert rows(projection, "author", "id", "name", "note") == [(1, "y", "kept")]
    assert projection.checkpoint() == 1


def test_late_references(projection):
    projection.apply(
        [
            RowChange("run", "r", {"status": 0}, late_references={"status": LateReference("book", "b", 100, 1)}),
            RowChange("run", "s", {"status": 0}, late_references={"status": LateReference("book", "c", 1, 99)}),
            RowChange("run", "t", {"status": 0}, late_references={"status": LateReference("book", "nowhere", 1, 98)}),
            author("x"),
            book("b", "x"),
            book("c", "x"),
        ],
        1,
    )
    assert rows(projection, "run", "status") == [(1,), (99,), (98,)]


def test_rows_that_somebody_deleted_stay_away(projection):
    projection.apply([author("x"), author("y"), book("b1", "x"), book("b2", "y")], 1)
    run_sql(projection, "DELETE FROM author WHERE id = 1")
    projection.apply(
        [
            RowChange("book", "b1", {"state": 5}),
            RowChange("page", "p1", {"number": 1}, {"book_id": ("book", "b1")}),
            RowChange("page", "p2", {"number": 2}, {"book_id": ("book", "b2")}),
            book("b3", "x"),
        ],
        2,
    )
    assert rows(projection, "book", "id", "title") == [(2, "b2")]
    assert rows(projection, "page", "id", "number") == [(1, 2)]
    projection.apply(
        [RowChange("page", "p1", {"number": 3}), RowChange("page", "p3", {"number": 3}, {"book_id": ("book", "b2")})], 3
    )
    assert rows(projection, "page", "id", "number") == [(1, 2), (2, 3)]


def test_rows_asked_for_again_come_back(projection):
    puts = [author("x")._replace(insert=Insert.AGAIN), author("y")._replace(insert=Insert.AGAIN)]
    projection.apply([*puts, book("b1", "x")], 1)
    run_sql(projection, "DELETE FROM author WHERE id = 1")
    projection.apply(puts, 2)
    assert rows(projection, "author", "id", "name") == [(1, "x"), (2, "y")]
    assert rows(projection, "book", "id") == []


def test_others_may_add_rows_meanwhile(projection):
    projection.apply([author("x")], 1)
    run_sql(projection, "INSERT INTO author (name) VALUES ('theirs')")
    projection.apply([author("y"), author("theirs", note="ours now")], 2)
    run_sql(projection, "INSERT INTO author (name) VALUES ('more')")
    assert rows(projection, "author", "id", "name", "note") == [
        (1, "x", None),
        (2, "theirs", "ours now"),
        (3, "y", None),
        (4, "more", None),
    ]


def test_seeds(projection):
    seeds = [Seed("author", 1, "name", {"name": "A", "note": "n"}), Seed("author", 2, "name", {"name": "B"})]
    assert projection.seed(seeds) == 2
    run_sql(projection, "UPDATE author SET note = 'edited' WHERE id = 1")
    assert projection.seed(seeds) == 0
    run_sql(projection, "DELETE FROM author WHERE id = 2")
    assert projection.seed(seeds) == 1
    assert rows(projection, "author", "id", "name", "note") == [(1, "A", "edited"), (2, "B", None)]
    run_sql(projection, "INSERT INTO author (name) VALUES ('C')")
    for bad in (Seed("author", 9, "name", {"name": "b"}), Seed("author", 2, "name", {"name": "new"})):
        with pytest.raises(StoreError) as caught:
            projection.seed([bad])
        assert caught.value.hint
    assert len(rows(projection, "author", "id")) == 3


def test_two_books_in_one_place(url):
    metadata = sa.MetaData()
    sa.Table("thing", metadata, sa.Column("id", sa.Integer(), primary_key=True), sa.Column("n", sa.Integer()))
    first, second = ProjectionTables(url, METADATA, "one", natural_keys=ADOPT), ProjectionTables(url, metadata, "two")
    first.apply([author("k")], 3)
    second.apply([RowChange("thing", "k", {"n": 1}), RowChange("thing", "l", {"n": 2})], 8)
    assert (first.checkpoint(), second.checkpoint()) == (3, 8)
    first.close()
    second.close()


@settings(
    max_examples=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_batches_make_no_difference(tmp_path_factory, data):
    keys = st.sampled_from("abcd")
    never = st.sampled_from([Insert.NEVER, Insert.NEW])
    puts = data.draw(
        st.lists(
            st.one_of(
                st.builds(
                    lambda k, n, m: RowChange("author", k, {"note": n}, initial_values={"name": k}, insert=m),
                    keys,
                    keys,
                    never,
                ),
                st.builds(
                    lambda k, a, s: RowChange("book", k, {"title": k}, {"author_id": ("author", a)}, {"state": s}),
                    keys,
                    st.just("a"),
                    st.integers(1, 3),
                ),
                st.builds(
                    lambda k, s: RowChange("book", k, {"state": s}, insert=Insert.NEVER), keys, st.integers(1, 3)
                ),
                st.builds(
                    lambda k, b: RowChange("page", f"{k}{b}", {"number": 1}, {"book_id": ("book", b)}),
                    keys,
                    st.just("a"),
                ),
            ),
            max_size=30,
        )
    )
    puts = [
        RowChange("author", "a", initial_values={"name": "a"}),
        RowChange("book", "a", {"title": "a"}, {"author_id": ("author", "a")}, {"state": 1}),
        *puts,
    ]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(puts)))) | {0, len(puts)})
    contents = []
    for edges in ([0, len(puts)], cuts):
        tables = ProjectionTables(
            f"sqlite:///{tmp_path_factory.mktemp('b')}/b.db", METADATA, "shelf", natural_keys=ADOPT
        )
        for start, end in itertools.pairwise(edges):
            tables.apply(puts[start:end], end)
        names = {
            "author": ("id", "name", "note"),
            "book": ("id", "author_id", "title", "state"),
            "page": ("id", "book_id"),
        }
        contents.append({name: rows(tables, name, *columns) for name, columns in names.items()})
        tables.close()
    assert contents[0] == contents[1]


def test_trackers_whose_names_the_server_takes_for_equal_have_bookkeeping_of_their_own(mariadb_url):
    """Beside an empty database `tracker_\u00e9`, the bookkeeping of `tracker_e` was deleted."""
    server = connect(mariadb_url)
    with server.begin() as connection:
        connection.exec_driver_sql("CREATE DATABASE windrow CHARACTER SET latin1 COLLATE latin1_swedish_ci")
    server.dispose()
    plain = sa.make_url(mariadb_url).set(database="").render_as_string(hide_password=False)
    checkpoints = []
    for name, checkpoint in (("t_tracker_e", 5), ("t_tracker_\u00e9", 7), ("t_tracker_e", 0)):
        tables = ProjectionTables(plain, METADATA, "shelf", natural_keys=ADOPT, database=name)
        checkpoints.append(tables.checkpoint())
        if checkpoint:
            tables.apply([author("x")], checkpoint)
        tables.close()
    assert checkpoints == [0, 0, 5]


def test_texts_in_another_encoding_are_refused_at_the_opening(mariadb_url):
    """One character of a partner's document ended each run before it fetched anything."""
    engine = connect(mariadb_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE other (name TEXT) CHARACTER SET latin1")
        for collation in ("latin1_swedish_ci", "utf8mb3_general_ci", "utf8mb4_unicode_ci"):
            ProjectionTables(mariadb_url, METADATA, "shelf", natural_keys=ADOPT).close()
            connection.exec_driver_sql(f"ALTER TABLE book MODIFY title VARCHAR(60) COLLATE {collation} NOT NULL")
            if collation != "utf8mb4_unicode_ci":
                with pytest.raises(
                    StoreError, match=f"texts of the table book have the collation {collation}"
                ) as caught:
                    ProjectionTables(mariadb_url, METADATA, "shelf", natural_keys=ADOPT)
                connection.exec_driver_sql(caught.value.hint.partition(": ")[2].partition(";")[0])
    ProjectionTables(mariadb_url, METADATA, "shelf", natural_keys=ADOPT).close()
    engine.dispose()


def test_the_database_is_made_where_it_may_be(mariadb_url, postgresql_url):
    for url, name in ((mariadb_url, "t_phenodcc_tracker"), (postgresql_url, "t_other")):
        plain = sa.make_url(url).set(database="").render_as_string(hide_password=False)
        tables = ProjectionTables(plain, METADATA, "shelf", database=name)
        assert tables.engine.url.database == name
        tables.apply([author("x")], 1)
        tables.close()
    drop = connect(postgresql_url)
    with drop.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("DROP DATABASE t_other WITH (FORCE)")
    drop.dispose()


def test_without_the_right_to_make_the_schema(mariadb_url):
    url = sa.make_url(mariadb_url)
    root = connect(mariadb_url)
    with root.begin() as connection:
        connection.exec_driver_sql("CREATE OR REPLACE USER app@'127.0.0.1' IDENTIFIED BY 'sesame'")
        connection.exec_driver_sql(f"GRANT ALL ON {url.database}.* TO app@'127.0.0.1'")
    mine = url.set(username="app").render_as_string()
    with pytest.raises(StoreError) as caught:
        ProjectionTables(mine, METADATA, "shelf", password="sesame")
    assert "GRANT ALL PRIVILEGES ON windrow.*" in caught.value.hint
    assert "sesame" not in f"{caught.value} {caught.value.hint}"
    with root.begin() as connection:
        connection.exec_driver_sql("CREATE DATABASE windrow")
        connection.exec_driver_sql("GRANT ALL ON windrow.* TO app@'127.0.0.1'")
    tables = ProjectionTables(mine, METADATA, "shelf", password="sesame")
    tables.apply([author("x")], 1)
    assert "sesame" not in repr(tables)
    tables.close()
    with root.begin() as connection:
        connection.exec_driver_sql("DROP USER app@'127.0.0.1'")
    root.dispose()


def test_no_server_and_no_url():
    with pytest.raises(StoreUnreachable):
        ProjectionTables("mariadb+pymysql://root@127.0.0.1:1/x", METADATA, "shelf")
    with pytest.raises(ConfigError) as caught:
        ProjectionTables("sesame", METADATA, "shelf")
    assert "sesame" not in str(caught.value)


def test_tables_that_were_dropped_and_made_anew_are_filled_again_from_the_first_fact(url):
    """On a server the checkpoint outlives the tables: it is kept in a schema, or database, of its own."""
    for _ in range(2):
        tables = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
        assert tables.checkpoint() == 0
        tables.apply([author("x"), book("b1", "x")], 17)
        assert tables.checkpoint() == 17
        assert rows(tables, "book", "id", "title") == [(1, "b1")]
        tables.close()
        tables = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)  # existing rows stay as they are
        assert tables.checkpoint() == 17
        METADATA.drop_all(tables.engine)
        tables.close()


def test_one_table_that_was_dropped_among_others_is_told_at_every_run_and_not_made_anew_without_its_rows(url):
    tables = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
    page = RowChange("page", "p1", {"number": 1}, {"book_id": ("book", "b1")})
    tables.apply([author("x"), book("b1", "x"), page], 17)
    METADATA.tables["page"].drop(tables.engine)
    tables.close()
    for _ in range(2):
        with pytest.raises(StoreError, match="the tables page were dropped") as caught:
            ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
        assert "drop the other tables too" in caught.value.hint
    engine = connect(url)
    METADATA.drop_all(engine)
    engine.dispose()
    tables = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
    assert tables.checkpoint() == 0
    tables.close()


def test_tables_that_were_emptied_are_filled_again_from_the_first_fact(url):
    for _ in range(2):
        tables = ProjectionTables(url, METADATA, "shelf", natural_keys=ADOPT)
        assert tables.checkpoint() == 0
        tables.apply([author("x"), book("b1", "x")], 17)
        assert rows(tables, "book", "id", "title") == [(1, "b1")]
        with tables.engine.begin() as connection:
            for table in reversed(METADATA.sorted_tables):
                connection.execute(table.delete())
        tables.close()
