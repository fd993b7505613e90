"""The standard's tables, copied from the specification as plain MySQL, compared with ours."""

from __future__ import annotations

import sqlalchemy as sa

from windrow.collections.drops.database.tracker_tables import TRACKER

STAMP = "last_update timestamp not null default current_timestamp on update current_timestamp"
SMALL = "id smallint unsigned not null auto_increment"
BIG = "id bigint unsigned not null auto_increment"


def fk(column: str, table: str, rule: str) -> str:
    return f"foreign key ({column}) references {table}(id) on update cascade on delete {rule}"


STANDARD = {
    "centre": f"""{SMALL}, short_name varchar(32) not null, imits_name varchar(32), full_name varchar(128) not null,
        email varchar(128) not null, phone varchar(14), address varchar(256), is_active boolean not null default true,
        created datetime not null, {STAMP}, index (short_name), primary key (id), unique (short_name)""",
    "source_protocol": f"""{SMALL}, short_name varchar(8) not null, description text, {STAMP},
        index (short_name), primary key (id)""",
    "resource_state": f"""{SMALL}, short_name varchar(32) not null, description text, {STAMP},
        index (short_name), primary key (id)""",
    "file_source": f"""{SMALL}, centre_id smallint unsigned not null, protocol_id smallint unsigned not null,
        hostname varchar(512) not null, username varchar(128) not null, accesskey varchar(256) not null,
        base_path varchar(256), state_id smallint unsigned not null, created datetime not null, {STAMP},
        index (hostname), primary key (id), {fk("centre_id", "centre", "cascade")},
        {fk("protocol_id", "source_protocol", "cascade")}, {fk("state_id", "resource_state", "cascade")}""",
    "phase": f"""{SMALL}, short_name varchar(64) not null, description text, {STAMP},
        index (short_name), primary key (id), unique (short_name)""",
    "a_status": f"""{SMALL}, short_name varchar(64) not null, description text, rgba char(8) not null, {STAMP},
        index (short_name), primary key (id), unique (short_name)""",
    "zip_file": f"""{BIG}, file_name varchar(128) not null, centre_id smallint unsigned, created date,
        inc bigint unsigned, size_bytes bigint unsigned, content_md5 char(32), {STAMP}, index (file_name),
        primary key (id), unique (file_name), {fk("centre_id", "centre", "set null")}""",
    "processing_type": f"""{SMALL}, short_name varchar(32) not null, description text, {STAMP},
        index (short_name), primary key (id)""",
    "zip_action": f"""{BIG}, zip_id bigint unsigned not null, todo_id smallint unsigned not null,
        phase_id smallint unsigned not null, status_id smallint unsigned not null, {STAMP}, primary key (id),
        unique (zip_id, todo_id), {fk("zip_id", "zip_file", "cascade")}, {fk("todo_id", "processing_type", "restrict")},
        {fk("phase_id", "phase", "restrict")}, {fk("status_id", "a_status", "restrict")}""",
    "file_source_has_zip": f"""{BIG}, za_id bigint unsigned not null, file_source_id smallint unsigned not null,
        num_retries tinyint unsigned not null, {STAMP}, primary key (id), unique (za_id, file_source_id),
        {fk("za_id", "zip_action", "cascade")}, {fk("file_source_id", "file_source", "cascade")}""",
    "zip_download": f"""{BIG}, zf_id bigint unsigned not null, request datetime not null, received datetime not null,
        downloaded_size_bytes bigint unsigned not null default 0, phase_id smallint unsigned not null,
        status_id smallint unsigned not null, {STAMP}, primary key (id),
        {fk("zf_id", "file_source_has_zip", "cascade")}, {fk("phase_id", "phase", "restrict")},
        {fk("status_id", "a_status", "restrict")}""",
    "xml_file": f"""{BIG}, zip_id bigint unsigned not null, fname varchar(128) not null, centre_id smallint unsigned,
        created date, inc bigint unsigned, size_bytes bigint unsigned, content_md5 char(32),
        phase_id smallint unsigned not null, status_id smallint unsigned not null, {STAMP}, index (fname),
        index (created), primary key (id), {fk("zip_id", "zip_download", "cascade")},
        {fk("centre_id", "centre", "set null")}, {fk("phase_id", "phase", "restrict")},
        {fk("status_id", "a_status", "restrict")}""",
    "an_exception": f"""{SMALL}, short_name varchar(64) not null, description text, {STAMP},
        index (short_name), primary key (id), unique (short_name)""",
    "zip_log": f"""{BIG}, zip_id bigint unsigned not null, exception_id smallint unsigned not null, message text,
        {STAMP}, index (exception_id), primary key (id), {fk("zip_id", "zip_download", "cascade")},
        {fk("exception_id", "an_exception", "restrict")}""",
    "xml_log": f"""{BIG}, xml_id bigint unsigned not null, exception_id smallint unsigned not null, message text,
        line int unsigned, col int unsigned, {STAMP}, index (exception_id), primary key (id),
        {fk("xml_id", "xml_file", "cascade")}, {fk("exception_id", "an_exception", "restrict")}""",
    "crawling_session": f"""{BIG}, start_time datetime not null, finish_time datetime, status smallint not null,
        created datetime not null, {STAMP}, primary key (id)""",
    "session_task": f"""{BIG}, session_id bigint unsigned not null, phase_id smallint unsigned not null,
        comment varchar(256), start_time datetime not null, finish_time datetime, status smallint not null,
        created datetime not null, {STAMP}, index (session_id), index (phase_id), primary key (id),
        {fk("session_id", "crawling_session", "cascade")}, {fk("phase_id", "phase", "restrict")}""",
}

COLUMNS = """
    select table_name, ordinal_position, column_name, data_type, column_type, character_maximum_length,
           is_nullable, column_default, extra, column_key
    from information_schema.columns where table_schema = :schema order by table_name, ordinal_position"""

# An index is known by its columns and by whether it is unique; names may differ.
INDEXES = """
    select table_name, columns, non_unique, index_type, count(*) from (
        select table_name, index_name, non_unique, index_type,
               group_concat(column_name, coalesce(sub_part, '') order by seq_in_index) as columns
        from information_schema.statistics where table_schema = :schema
        group by table_name, index_name, non_unique, index_type) as each_one
    group by table_name, columns, non_unique, index_type order by table_name, columns, non_unique"""

REFERENCES = """
    select k.table_name, k.column_name, k.referenced_table_name, k.referenced_column_name, r.update_rule, r.delete_rule
    from information_schema.key_column_usage k
    join information_schema.referential_constraints r
      on r.constraint_schema = k.constraint_schema and r.constraint_name = k.constraint_name
     and r.table_name = k.table_name
    where k.constraint_schema = :schema and k.referenced_table_name is not null
    order by k.table_name, k.column_name"""

KEYS = """
    select table_name, constraint_type, count(*) from information_schema.table_constraints
    where constraint_schema = :schema group by table_name, constraint_type order by table_name, constraint_type"""


def test_tables_are_the_standards(mariadb_url):
    engine = sa.create_engine(mariadb_url)
    ours = engine.url.database
    TRACKER.create_all(engine)
    with engine.begin() as link:
        link.exec_driver_sql("create database standard character set utf8mb4")
        link.exec_driver_sql("use standard")
        for name in sorted(STANDARD, key=list(STANDARD).index):
            link.exec_driver_sql(f"create table {name} ({STANDARD[name]}) engine = innodb")
        link.exec_driver_sql(f"use {ours}")
        for query in (COLUMNS, INDEXES, REFERENCES, KEYS):
            standard, mine = (
                [tuple(row) for row in link.execute(sa.text(query), {"schema": schema})]
                for schema in ("standard", ours)
            )
            assert len(standard) > 16
            assert mine == standard
        engines = link.execute(
            sa.text("select distinct engine from information_schema.tables where table_schema = :s"), {"s": ours}
        )
        assert engines.scalars().all() == ["InnoDB"]
    engine.dispose()


def test_there_are_17():
    assert len(TRACKER.tables) == len(STANDARD) == 17
