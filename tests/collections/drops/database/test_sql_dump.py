"""Exports are loaded with each database's own client, and give the same rows."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from datetime import UTC, date, datetime

import pytest
import sqlalchemy as sa

from tests.servers.daemon import find
from windrow.collections.drops.database.dump import dump
from windrow.collections.drops.database.tracker_tables import (
    add_checks_and_triggers,
    make_last_update,
    nocase_type,
    time_type,
    unsigned_type,
)
from windrow.errors import StoreError, UsageError
from windrow.stores.databases import connect

NASTY = [
    "plain",
    'it\'s "quoted" `ticked`',
    "back\\slash \\' \\n \\",
    "two\nlines\r\nand\ta tab",
    ".quit\n/\ngo\n;\ndelimiter //\n\\. file",
    "{0}\n{1}\r{2}",
    ":name :'name' $$ $1 %s %(x)s ? \\gexec",
    "-- no comment /* none */ # none",
    "\x1a\x08\x0b\x1b[0m",
    "Ünïcödé 漢字 😀 \U0001f468\u200d\U0001f469",
    "'",
    "\\",
    "\n",
    "",
    "x" * 70_000,
]


def tables():
    metadata = sa.MetaData()
    big, info = unsigned_type("big")
    sa.Table(
        "parent",
        metadata,
        sa.Column("id", big, primary_key=True, autoincrement=True, info=info),
        sa.Column("name", nocase_type(40), nullable=False, unique=True),
        make_last_update(),
        sqlite_autoincrement=True,
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )
    sa.Table(
        "child",
        metadata,
        sa.Column("id", big, primary_key=True, autoincrement=True, info=info),
        sa.Column("parent_id", big, sa.ForeignKey("parent.id", ondelete="CASCADE"), nullable=False, info=info),
        sa.Column("order", sa.Text().with_variant(sa.dialects.mysql.LONGTEXT(), "mysql", "mariadb")),
        sa.Column("day", sa.Date()),
        sa.Column("at", time_type()),
        sa.Column("yes", sa.Boolean()),
        sa.Column("share", sa.Double()),
        sa.Column("octets", sa.LargeBinary()),
        make_last_update(),
        sqlite_autoincrement=True,
        mysql_charset="utf8mb4",
        mariadb_charset="utf8mb4",
    )
    add_checks_and_triggers(metadata)
    return metadata


def fill(engine, metadata):
    metadata.create_all(engine)
    at = datetime(2024, 2, 29, 23, 59, 58)  # noqa: DTZ001
    rows = [
        {
            "id": number * 3,
            "parent_id": 7,
            "order": text,
            "day": date(2024, 2, 29),
            "at": at,
            "yes": bool(number % 2),
            "share": number / 7,
            "octets": bytes(range(256)),
            "last_update": at.replace(tzinfo=UTC) if engine.dialect.name == "postgresql" else at,
        }
        for number, text in enumerate(NASTY, 1)
    ]
    empty = dict.fromkeys(("order", "day", "at", "yes", "share", "octets"))
    rows += [
        {**rows[0], **empty, "id": 1000},
        *({**rows[0], "id": 2000 + n, "order": f"row {n}"} for n in range(250)),
    ]
    with engine.begin() as link:
        link.execute(metadata.tables["parent"].insert().values(id=7, name="It's", last_update=rows[0]["last_update"]))
        link.execute(metadata.tables["child"].insert(), rows)


def rows(engine, metadata):
    def plain(value):
        return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value

    with engine.connect() as link:
        return {
            table.name: [tuple(map(plain, row)) for row in link.execute(sa.select(table).order_by(table.c.id))]
            for table in metadata.sorted_tables
        }


def load(text, url):
    """Run the database's own client on the text."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        words = [find("sqlite3"), "-bail", parsed.database]
    elif parsed.get_backend_name() == "postgresql":
        words = [
            *(find("psql"), "-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", parsed.host, "-p", str(parsed.port)),
            *("-U", parsed.username, "-f", "-", parsed.database),
        ]
    else:
        words = [
            *(find("mariadb"), "--no-defaults", "-h", parsed.host, "-P", str(parsed.port), "-u", parsed.username),
            *("--protocol=tcp", parsed.database),
        ]
    # A client must not depend on the encoding of whoever starts it.
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return subprocess.run(words, input=text.encode(), capture_output=True, env=environment, check=False)


@pytest.fixture
def url_of(request, tmp_path):
    def make(kind, name):
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/{name}.db"
        return request.getfixturevalue(f"{kind}_url")

    return make


KINDS = ("sqlite", "mariadb", "postgresql")


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_the_client_loads_it(source, target, url_of):
    metadata = tables()
    engine = connect(url_of(source, "source"))
    fill(engine, metadata)
    before = rows(engine, metadata)
    out = io.StringIO()
    count = dump(engine, metadata, "mysql" if target == "mariadb" else target, out)
    assert count == sum(map(len, before.values())) == 1 + len(NASTY) + 251
    if source == target and source != "sqlite":
        with engine.begin() as link:
            metadata.drop_all(link)
    engine.dispose()
    target_url = url_of(target, "target")
    done = load(out.getvalue(), target_url)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    again = connect(target_url)
    assert rows(again, metadata) == before
    with again.begin() as link:  # numbering goes on, and checks and triggers came along
        new = link.execute(metadata.tables["parent"].insert().values(name="next")).inserted_primary_key[0]
        assert new == 8
        link.execute(metadata.tables["parent"].update().where(sa.text("id = 7")).values(name="other"))
    assert rows(again, metadata)["parent"][0][2] > datetime(2026, 1, 1)  # noqa: DTZ001
    with pytest.raises(sa.exc.IntegrityError), again.begin() as link:
        link.execute(metadata.tables["parent"].insert().values(name="OTHER"))
    assert load(out.getvalue(), target_url).returncode != 0  # never over existing rows
    again.dispose()


def test_nul_is_refused(tmp_path):
    metadata = tables()
    engine = connect(f"sqlite:///{tmp_path}/x.db")
    metadata.create_all(engine)
    with engine.begin() as link:
        link.execute(metadata.tables["parent"].insert().values(id=1, name="a\0b"))
    with pytest.raises(StoreError, match="NUL"):
        dump(engine, metadata, "sqlite", io.StringIO())
    with pytest.raises(UsageError, match="oracle"):
        dump(engine, metadata, "oracle", io.StringIO())
    engine.dispose()


def test_clients_are_here():
    assert all(shutil.which(name) for name in ("sqlite3", "psql", "mariadb")) or not os.environ.get("CI")
