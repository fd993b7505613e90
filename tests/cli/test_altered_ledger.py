"""Ledgers that another program altered: commands end with a clear error or report a fault, and never leave the archive."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from windrow.archive import open_response, record_id
from windrow.errors import ArchiveError
from windrow.model import ArchivePlace

CHANGES = [
    "place_offset = -5", "place_offset = 9000000000000000000", "place_length = -1", "place_length = 'x'",
    "place_length = 9000000000000000000", "place_offset = 'x'", "warc = '../windrow.toml'", "warc = '/etc/passwd'",
    "warc = ''", "warc = x'ff'", "started = 'yesterday'", "started = 9e18", "started = x'00'", "reason = 'no_such'",
    "message = x'ff00'", "digest = 'zz'", "digest = x'ff'", "status = 'two'", "size = -7", "size = 'x'", "mime = 5",
    "kind = 99", "session = 777", "host = 777", "address = 777", "url = x'ff'", "received = 'x'", "seconds = 'x'",
]  # fmt: skip
TABLES = [
    "UPDATE address SET url = x'ff'", "UPDATE address SET due = 'soon'", "UPDATE session SET number = -1",
    "UPDATE session SET at = 'x'", "UPDATE session SET command = x'ff'", "UPDATE pending_step SET status = 77",
    "UPDATE pending_step SET step = 'no'",
]  # fmt: skip
COMMANDS = [("check",), ("status",), ("changes", "--since", "2020-01-01"), ("search", "a")]


def alter(root: Path, sql: str) -> int:
    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        return ledger.execute(sql).rowcount


@pytest.mark.parametrize("sql", [*(f"UPDATE attempt SET {change} WHERE digest <> ''" for change in CHANGES), *TABLES])
def test_no_command_fails_without_a_clear_error(crawled: Path, windrow, sql: str) -> None:
    with closing(sqlite3.connect(crawled / "ledger.sqlite")) as ledger:
        (url,) = ledger.execute("SELECT url FROM attempt WHERE digest <> ''").fetchone()
    alter(crawled, sql)
    for command in (*COMMANDS, ("why", url)):
        output = windrow(*command)
        assert output.code in {0, 1, 2, 3}, (command, output.err)


SUMMARY_CHANGES = [
    "url SET url_id = 9223372036854775807 WHERE url_id = 1", "document_description SET title = 7",
    "windrow_settled SET upto = 9223372036854775807",
    "windrow_settled SET upto = 'x'", "windrow_settled SET upto = -4", "crawl_summary SET time_started_unix_utc = 'x'",
    "crawl_summary SET time_started_unix_utc = 9223372036854775807", "windrow_observation SET at = 'x'",
    "windrow_observation SET at = 9223372036854775807", "windrow_observation SET attempt = 'x'",
    "windrow_observation SET attempt = 9223372036854775807", "entity_generation SET first_seen_unix_utc = 9e300",
    "entity_generation SET last_seen_unix_utc = 'x'", "entity_generation SET text_pile_id = 5555",
    "text_pile SET text = x'ff'", "text_pile SET text = 7", "windrow_observation SET sight = 77",
    "windrow_signature SET sketch = 'x'", "unobtanium_database_info SET value = 'x'",
    "unobtanium_database_info SET value = '-5' WHERE key = 'windrow.attempt'",
]  # fmt: skip


@pytest.mark.parametrize("change", SUMMARY_CHANGES)
def test_no_command_fails_at_an_altered_summary_database(crawled: Path, windrow, change: str) -> None:
    with closing(sqlite3.connect(crawled / "summary.sqlite")) as summary, summary:
        summary.execute("PRAGMA ignore_check_constraints = ON")
        summary.execute(f"UPDATE {change}")
        (url,) = summary.execute("SELECT str_url FROM url ORDER BY url_id DESC LIMIT 1").fetchone()
    for command in (*COMMANDS, ("why", url if isinstance(url, str) else "a.html")):
        output = windrow(*command)
        assert output.code in {0, 1, 2, 3}, (command, output.err)


PLANTED = [
    "CREATE TRIGGER planted AFTER INSERT ON session BEGIN DELETE FROM attempt; END",
    "CREATE VIEW planted AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
]


@pytest.mark.parametrize("sql", PLANTED, ids=["trigger", "view"])
def test_a_ledger_with_a_planted_trigger_or_view_is_refused(crawled: Path, windrow, sql: str) -> None:
    alter(crawled, sql)
    before = (crawled / "ledger.sqlite").read_bytes()
    for command in (*COMMANDS, ("run",)):
        output = windrow(*command)
        assert output.code == 1, command
        assert "planted', which windrow did not make" in output.err
    assert (crawled / "ledger.sqlite").read_bytes() == before


@pytest.mark.parametrize("version", [0, 7, 100, 999])
def test_a_database_of_another_program_is_refused_as_the_ledger_and_not_changed(
    crawled: Path, windrow, version: int
) -> None:
    (crawled / "ledger.sqlite").unlink()
    with closing(sqlite3.connect(crawled / "ledger.sqlite")) as other, other:
        other.execute("CREATE TABLE letter (text)")
        other.execute(f"PRAGMA user_version = {version}")
    for command in (*COMMANDS, ("init", crawled), ("run",)):
        output = windrow(*command)
        assert output.code in {1, 4}, (command, output.err)
    assert "is a database of another program; nothing in it was changed" in windrow("status").err
    with closing(sqlite3.connect(crawled / "ledger.sqlite")) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("letter",)]


@pytest.mark.parametrize("change", ["place_length = 'x'", "warc = x'ff'", "status = 'two'", "started = x'00'"])
def test_check_names_the_column_with_values_of_another_type(crawled: Path, windrow, change: str) -> None:
    alter(crawled, f"UPDATE attempt SET {change} WHERE digest <> ''")
    output = windrow("check")
    assert output.code == 1
    column = change.partition(" ")[0]
    assert f"of the table attempt have a value of the wrong type in {column}" in output.out


def test_an_unaltered_ledger_has_no_values_of_another_type(crawled: Path, windrow) -> None:
    assert windrow("check").code == 0


@pytest.mark.parametrize("change", ["started = 'yesterday'", "reason = 'no_such'"])
def test_a_value_that_is_no_value_of_its_column_is_named(crawled: Path, windrow, change: str) -> None:
    alter(crawled, f"UPDATE attempt SET {change} WHERE digest <> ''")
    output = windrow("check")
    assert output.code == 1
    assert "has a value that windrow did not write" in output.err


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("outside", ["../outside.warc", "/{}/outside.warc", "foreign/../../outside.warc", "a/../.."])
def test_a_record_outside_of_the_archive_is_not_read(tmp_path: Path, outside: str, suffix: str) -> None:
    archive = tmp_path / "archive"
    (archive / "foreign").mkdir(parents=True)
    header = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 4\r\nWARC-Record-ID: <urn:1>\r\n\r\n"
    content = header + b"text\r\n\r\n"
    (tmp_path / "outside.warc").write_bytes(content)
    shutil.copy(tmp_path / "outside.warc", archive / "inside.warc")
    place = ArchivePlace("inside.warc", 0, len(content))
    assert open_response(archive, place).view.read() == b"text"
    outside_place = place._replace(warc=outside.format(tmp_path) + suffix)
    for read in (open_response, record_id):
        with pytest.raises(ArchiveError, match="is not in the archive"):
            read(archive, outside_place)


@pytest.mark.parametrize("length", [b"-4", b"x", b"", b"9" * 30])
def test_a_record_with_a_wrong_length_is_not_read(tmp_path: Path, length: bytes) -> None:
    content = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: %s\r\n\r\ntext\r\n\r\n" % length
    (tmp_path / "a.warc").write_bytes(content)
    with pytest.raises(ArchiveError):
        open_response(tmp_path, ArchivePlace("a.warc", 0, len(content)))
