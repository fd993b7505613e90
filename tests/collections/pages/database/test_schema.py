"""The tables are the published ones, name by name; windrow's own have other names."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow.collections.pages.database.store import SummaryStore
from windrow.errors import StoreError

TABLES = {
    # the base schema 0.1.0
    "unobtanium_database_info": "key value",
    "origin": "origin_id scheme host port str_origin",
    "url": "url_id origin_id path query username password str_url",
    "mimetype": "mimetype_id mime_type mime_subtype mime_suffix",
    "mime_parameter": "mimetype_id name value",
    # the Summary Database 0.0.0
    "entity_generation":
        "entity_generation_id entity_generation_uuid url_id url_fragment first_seen_unix_utc last_seen_unix_utc"
        " confirmed_end_unix_utc marked_duplicate text_pile_id",
    "duplicate_summary":
        "subject_entity_generation_id duplicate_of_entity_generation_id duplicate_status_start_unix_utc"
        " duplicate_status_end_unix_utc",
    "crawl_summary":
        "crawl_summary_id entity_generation_id was_robotstxt_approved crawl_type crawl_uuid agent_uuid"
        " time_started_unix_utc exit_code request_duration_ms",
    "http_summary": "crawl_summary_id status_code etag",
    "file_summary": "entity_generation_id file_size mimetype_id canonical_url_id",
    "redirect_summary": "entity_generation_id to_url_id information_source by_security_policy to_url_fragment",
    "link_summary":
        "link_summary_id entity_generation_id link_to_url link_to_fragment rel_nofollow rel_me rel_tag in_header"
        " in_footer in_aside in_nav in_form in_main in_article in_section in_table in_figure in_address in_code"
        " in_headline in_list in_paragraph contains_headline destination_type link_locality html_tag_name text",
    "document_description":
        "entity_generation_id time_created_unix_utc time_updated_unix_utc primary_language title primary_headline"
        " description indexiness",
    "text_pile": "text_pile_id blake2b512_digest text secondary_text big_headlines small_headlines code_text quote_text",
    "token": "token_id token_text",
    "token_statistics": "token_id text_pile_id occurances",
    "full_text_entity_index":
        "text_pile_id any title description text secondary_text big_headlines small_headlines code_text quote_text",
}  # fmt: skip
NULL = {
    "unobtanium_database_info": "key value",
    "origin": "host port",
    "url": "path query username password",
    "mimetype": "mime_suffix",
    "entity_generation": "url_fragment confirmed_end_unix_utc text_pile_id",
    "duplicate_summary": "duplicate_status_end_unix_utc",
    "crawl_summary": "request_duration_ms",
    "http_summary": "etag",
    "file_summary": "file_size mimetype_id canonical_url_id",
    "redirect_summary": "to_url_fragment",
    "link_summary": "link_to_fragment destination_type html_tag_name text",
    "document_description":
        "time_created_unix_utc time_updated_unix_utc primary_language title primary_headline description",
}  # fmt: skip
"""Columns that may be empty, apart from a table's own number."""

KEYS = {
    "unobtanium_database_info": "key",
    "origin": "origin_id",
    "url": "url_id",
    "mimetype": "mimetype_id",
    "mime_parameter": "",
    "entity_generation": "entity_generation_id",
    "duplicate_summary": "",
    "crawl_summary": "crawl_summary_id",
    "http_summary": "crawl_summary_id",
    "file_summary": "entity_generation_id",
    "redirect_summary": "entity_generation_id",
    "link_summary": "link_summary_id entity_generation_id",
    "document_description": "entity_generation_id",
    "text_pile": "text_pile_id",
    "token": "token_id",
    "token_statistics": "text_pile_id token_id",
}
INDEXES = {
    "entity_generation_by_uuid": ("entity_generation", "entity_generation_uuid"),
    "entity_generation_by_first_seen": ("entity_generation", "url_id url_fragment first_seen_unix_utc"),
    "entity_generation_by_text_pile": ("entity_generation", "text_pile_id confirmed_end_unix_utc"),
    "entity_generation_by_active": ("entity_generation", "marked_duplicate confirmed_end_unix_utc"),
    "duplicate_summary_by_duplicate":
        ("duplicate_summary", "subject_entity_generation_id duplicate_status_end_unix_utc"),
    "crawl_summary_by_crawl_uuid": ("crawl_summary", "crawl_uuid"),
}  # fmt: skip
PROPOSED = {
    "link_summary_by_target": ("link_summary", "link_to_url"),
}
"""An index that is not on the published page, but that its table of links needs."""

UNIQUE = {
    ("origin", "str_origin"),
    ("url", "str_url"),
    ("mime_parameter", "mimetype_id name"),
    ("entity_generation", "entity_generation_uuid"),
    ("link_summary", "link_summary_id"),
    ("text_pile", "blake2b512_digest"),
    ("token", "token_text"),
}


@pytest.fixture
def link() -> Iterator[sqlite3.Connection]:
    store = SummaryStore(Path(":memory:"))
    yield store._connection
    store.close()


def names(link: sqlite3.Connection, kind: str) -> dict[str, str]:
    """Return tables or indexes of the standard with what they stand on: ours, and those of FTS5, left out."""
    sql = "SELECT name, tbl_name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'windrow%'"
    sql_by_name = dict(link.execute(sql, (kind,)))
    return {name: on for name, on in sql_by_name.items() if not name.startswith(("full_text_entity_index_", "sqlite_"))}


def columns(link: sqlite3.Connection, table: str) -> list[tuple[str, bool, int]]:
    rows = link.execute(f"SELECT name, \"notnull\", pk FROM pragma_table_info('{table}')")
    return [(name, bool(must), key) for name, must, key in rows]


def of_index(link: sqlite3.Connection, index: str) -> str:
    return " ".join(row[0] for row in link.execute(f"SELECT name FROM pragma_index_info('{index}')"))


def test_tables_and_columns(link):
    assert set(names(link, "table")) == set(TABLES)
    assert {table: " ".join(name for name, *_ in columns(link, table)) for table in TABLES} == TABLES


def test_what_may_be_empty(link):
    for table in set(TABLES) - {"full_text_entity_index"}:
        empty = [name for name, must, key in columns(link, table) if not must and not key]
        expected = [name for name in NULL.get(table, "").split() if name not in KEYS[table].split()]
        assert empty == expected, table


def test_keys(link):
    for table, expected in KEYS.items():
        keys = sorted((key, name) for name, _, key in columns(link, table) if key)
        assert " ".join(name for _, name in keys) == expected, table


def test_indexes(link):
    assert {name: (on, of_index(link, name)) for name, on in names(link, "index").items()} == INDEXES | PROPOSED


def test_what_is_unique(link):
    unique = set()
    for table in KEYS:
        rows = link.execute(f"SELECT name, origin FROM pragma_index_list('{table}') WHERE \"unique\"").fetchall()
        unique |= {(table, of_index(link, name)) for name, origin in rows if origin == "u"}
    assert unique == UNIQUE


def test_no_generation_ends_before_it_begins(link):
    link.execute("INSERT INTO origin VALUES (1, 'http', 'a.example', NULL, 'http://a.example')")
    link.execute("INSERT INTO url VALUES (1, 1, '/', NULL, NULL, NULL, 'http://a.example/')")
    row = "INSERT INTO entity_generation VALUES (NULL, randomblob(16), 1, NULL, ?, ?, NULL, 0, NULL)"
    link.execute(row, (5, 5))
    with pytest.raises(sqlite3.IntegrityError, match="first_seen_unix_utc <= last_seen_unix_utc"):
        link.execute(row, (6, 5))


def test_the_full_text_table_is_of_fts5(link):
    (sql,) = link.execute("SELECT sql FROM sqlite_master WHERE name = 'full_text_entity_index'").fetchone()
    assert "USING fts5" in sql


def test_its_versions_are_told(link):
    info = dict(link.execute("SELECT key, value FROM unobtanium_database_info"))
    assert (info["schema.base"], info["schema.summary"], info["tool"]) == ("0.1.0", "0.0.0", "windrow")


def test_a_database_that_is_there_is_taken_up(tmp_path):
    path = tmp_path / "summary.sqlite"
    SummaryStore(path).close()
    store = SummaryStore(path)
    assert store.checkpoint() == 0
    store.close()


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "summary.sqlite").write_bytes(b"no database at all, but quite a text of more than a page" * 100)
    with pytest.raises(StoreError):
        SummaryStore(tmp_path / "summary.sqlite")


def test_the_texts_that_have_a_word_are_found_without_reading_all(link: sqlite3.Connection) -> None:
    sql = "EXPLAIN QUERY PLAN SELECT text_pile_id FROM token_statistics WHERE token_id = 1"
    assert [row[3].split()[0] for row in link.execute(sql)] == ["SEARCH"]
