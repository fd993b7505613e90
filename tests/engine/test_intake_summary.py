"""WARC files of other programs are summarised exactly like our own."""

import gzip
import os
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.archive.foreign_records import make_record, pack_records, response_record, revisit_record, warcinfo_record
from tests.clock import pass_time, real_clock  # noqa: F401
from tests.engine.summary_crawl import PAGES, crawl_and_summarise
from windrow.collections.pages.database.page_versions import VersionReader
from windrow.collections.pages.database.store import SummaryStore
from windrow.engine.run import Harvest, SessionSettings, WarcFile
from windrow.engine.session import Session
from windrow.model import Limits
from windrow.stores.sqlite import SqliteReader

HERE = Path(__file__).parents[2]
GENERATION = """
SELECT g.entity_generation_id AS id, u.str_url || ' ' || g.first_seen_unix_utc AS name
FROM entity_generation g JOIN url u USING (url_id)
"""
TABLES = {
    "entity_generation": "SELECT u.str_url, url_fragment, first_seen_unix_utc, last_seen_unix_utc,"
    " confirmed_end_unix_utc, marked_duplicate, lower(hex(p.blake2b512_digest)) FROM entity_generation"
    " JOIN url u USING (url_id) LEFT JOIN text_pile p USING (text_pile_id)",
    "text_pile": "SELECT * FROM text_pile",
    "crawl_summary": "SELECT e.name, was_robotstxt_approved, crawl_type, time_started_unix_utc, exit_code, h.status_code,"
    " h.etag FROM crawl_summary c JOIN e ON e.id = c.entity_generation_id LEFT JOIN http_summary h USING (crawl_summary_id)",
    "file_summary": "SELECT e.name, file_size, m.mime_type, m.mime_subtype, m.mime_suffix, u.str_url FROM file_summary f JOIN e"
    " ON e.id = f.entity_generation_id LEFT JOIN mimetype m USING (mimetype_id) LEFT JOIN url u"
    " ON u.url_id = f.canonical_url_id",
    "redirect_summary": "SELECT e.name, u.str_url, information_source, to_url_fragment FROM redirect_summary r JOIN e"
    " ON e.id = r.entity_generation_id JOIN url u ON u.url_id = r.to_url_id",
    "document_description": "SELECT e.name, d.* FROM document_description d JOIN e ON e.id = d.entity_generation_id",
    "link_summary": "SELECT e.name, u.str_url, l.* FROM link_summary l JOIN e ON e.id = l.entity_generation_id"
    " JOIN url u ON u.url_id = l.link_to_url",
    "duplicate_summary": "SELECT e.name, o.name FROM duplicate_summary d JOIN e ON e.id = subject_entity_generation_id"
    " JOIN e o ON o.id = duplicate_of_entity_generation_id WHERE duplicate_status_end_unix_utc IS NULL",
}
"""The rows of a Summary Database, without its internal numbers, UUIDs and durations,
and without ended duplicates: those depend on when they were looked for."""
INTERNAL = {"text_pile_id", "entity_generation_id", "link_summary_id", "link_to_url"}


def take_and_summarise(root, *paths):
    """Take WARC files in and summarise them."""
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits(), workers=1), "test")
    version_store = SummaryStore(root / "summary.sqlite")
    warc_files = tuple(WarcFile(path, path.name, "them") for path in paths)
    try:
        session.run_harvest(Harvest(PAGES, (), version_store=version_store, warc_files=warc_files), fetch=False)
        return session.close()
    finally:
        session.ledger.close()


def read_summary(root):
    connection = sqlite3.connect(root / "summary.sqlite")
    rows_by_table = {}
    try:
        for name, sql in TABLES.items():
            cursor = connection.execute(f"WITH e AS ({GENERATION}) {sql}")
            keep = [at for at, column in enumerate(cursor.description) if column[0] not in INTERNAL]
            rows_by_table[name] = sorted((tuple(row[at] for at in keep) for row in cursor), key=repr)
    finally:
        connection.close()
    return rows_by_table


@pytest.fixture
def crawled(nginx, tmp_path):
    """Crawl a site twice, edited in between: pages that change, vanish, are equal or move, and files."""
    folder, origin, where = nginx.folder(tmp_path.name)
    links = "".join(f'<a href="{at}.html">{at}</a> ' for at in range(8))
    (folder / "index.html").write_text(
        f'<title>Index</title><p>All pages</p>{links}<a href="n.txt">n</a> <a href="d">d</a>'
    )
    for at in range(8):
        (folder / f"{at}.html").write_text(f"<html lang=en><title>{at}</title><h1>A page</h1><p>number {at // 2}</p>")
    (folder / "n.txt").write_text("A note.\n\nOf two paragraphs.")
    (folder / "d").mkdir()
    (folder / "d/index.html").write_text("<title>D</title><p>behind a redirect")
    root = tmp_path / "ours"
    root.mkdir()
    assert crawl_and_summarise(root, origin, where) == 0
    pass_time(1.1)  # times of the Summary Database are in seconds
    for path in folder.glob("*.html"):
        path.write_text(path.read_text().replace("number 1", "number 9"))
        os.utime(path, (time.time() + 60, time.time() + 60))  # so that no answer is a 304
    connection = sqlite3.connect(root / "ledger.sqlite")
    connection.execute("UPDATE address SET due = 1, capture = 0")  # so that unchanged pages are fetched whole too
    connection.commit()
    connection.close()
    (folder / "7.html").unlink()
    assert crawl_and_summarise(root, origin, where) == 0
    return root


def test_our_own_archive_says_the_same_elsewhere(crawled, tmp_path):
    files = [*crawled.glob("archive/*.warc*")]
    assert files
    for name, warcs in (("forth", files), ("back", files[::-1])):
        root = tmp_path / name
        root.mkdir()
        assert take_and_summarise(root, *warcs) == 0
        ours, theirs = read_summary(crawled), read_summary(root)
        assert len(ours["text_pile"]) > 5
        assert ours["redirect_summary"]
        assert ours["duplicate_summary"]
        for table in TABLES:
            assert theirs[table] == ours[table], table


def test_versions_of_one_second_end_with_the_one_that_is_there(tmp_path):
    """Two captures of one second are in the order of their crawls: neither counts as gone."""
    files = []
    for number, text in enumerate((b"puffin", b"walrus")):
        files.append(tmp_path / f"{number}.warc.gz")
        files[-1].write_bytes(
            pack_records([warcinfo_record(), response_record("http://a.example/", b"<title>T</title><p>" + text)])
        )
    for order in (files, files[::-1]):
        root = tmp_path / order[0].name.partition(".")[0]
        root.mkdir()
        for warc in order:  # a run each
            assert take_and_summarise(root, warc) == 0
        with closing(SqliteReader(root / "summary.sqlite")) as reader:
            versions = VersionReader(reader).read_versions("http://a.example/")
        assert [version.end is None for version in versions] == [False, True]


def test_codings_types_and_what_is_no_page(tmp_path):
    body = gzip.compress(b"<title>Packed</title><p>Inflated text")
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    coded = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    path = tmp_path / "x.warc.gz"
    path.write_bytes(
        pack_records([
            warcinfo_record(),
            response_record("http://a.example/packed", chunks, coded),
            make_record("resource", b"<title>Kept</title><p>as a resource", target_uri="http://a.example/r", content_type="text/html"),
            response_record("http://a.example/feed", b"<rss><channel><title>News</title></channel></rss>", b"HTTP/1.0 200 OK\r\nContent-Type: text/xml\r\n\r\n"),
            response_record("http://a.example/png", b"\x89PNG\r\n\x1a\n", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
            revisit_record("http://b.example/copy", chunks, coded, date="2024-04-01T00:00:00Z"),
        ])
    )  # fmt: skip
    assert take_and_summarise(tmp_path, path) == 0
    tables = read_summary(tmp_path)
    names = {row[0].split()[0]: row for row in tables["document_description"]}
    assert {url.rpartition("/")[2]: row[4] for url, row in names.items()} == {
        "packed": "Packed", "r": "Kept", "feed": "News", "copy": "Packed", "png": None,
    }  # fmt: skip
    assert [row[2:4] for row in tables["file_summary"] if row[0].startswith("http://a.example/png")] == [(None, None)]
    assert len(tables["entity_generation"]) == 5


def test_killed_at_any_moment(tmp_path, crawled):
    files = [str(path) for path in crawled.glob("archive/*.warc*")]
    expected = read_summary(crawled)
    programs.wait_until_loaded()
    for at, delay in enumerate((0.1, 0.3, 0.5, 0.8)):
        root = tmp_path / f"killed{at}"
        root.mkdir()
        process = programs.start("-m", "tests.engine.test_intake_summary", root, *files, cwd=HERE)
        time.sleep(delay)
        process.kill()
        process.wait()
        assert take_and_summarise(root, *map(Path, files)) == 0
        assert read_summary(root) == expected
        shutil.rmtree(root)


if __name__ == "__main__":
    sys.exit(take_and_summarise(Path(sys.argv[1]), *map(Path, sys.argv[2:])))
