"""Addresses of every scheme in the columns of the base schema."""

from pathlib import Path

import pytest

from tests.collections.pages.database.crawl_events import query
from windrow.collections.pages.database.entries import (
    CrawlEntry,
    OriginEntry,
    Sight,
    SummaryEntry,
    TextSummary,
    split_address,
    split_origin,
)
from windrow.collections.pages.database.store import SummaryStore


@pytest.mark.parametrize(
    ("url", "parts", "path", "query", "text"),
    [
        ("http://a.example/", ("http", "a.example", None, "http://a.example"), "/", None, "http://a.example/"),
        ("http://a.example:80/x", ("http", "a.example", None, "http://a.example"), "/x", None, "http://a.example/x"),
        ("https://a.example:80/x?y=1", ("https", "a.example", 80, "https://a.example:80"), "/x", "y=1",
         "https://a.example:80/x?y=1"),
        ("https://me:secret@a.example/x", ("https", "a.example", None, "https://a.example"), "/x", None,
         "https://a.example/x"),
        ("ftp://me:secret@a.example:21/x", ("ftp", "a.example", None, "ftp://a.example"), "/x", None,
         "ftp://a.example/x"),
        ("ssh://me@a.example", ("ssh", "a.example", None, "ssh://a.example"), None, None, "ssh://a.example"),
        ("mailto:a@b.example?subject=x", ("mailto", None, None, "mailto:"), "a@b.example", "subject=x",
         "mailto:a@b.example?subject=x"),
        ("tel:+491", ("tel", None, None, "tel:"), "+491", None, "tel:+491"),
        ("http://[::1", ("http", "[:", None, "http://[:"), None, None, None),
    ],
)  # fmt: skip
def test_split(url, parts, path, query, text):
    address = split_address(url)
    if text is not None:
        assert address == (parts[3], path, query, text)
        assert split_origin(address.origin) == OriginEntry(*parts)
    assert "secret" not in repr(address)


def test_no_credentials_are_kept():
    store = SummaryStore(Path(":memory:"))
    links = tuple(
        (url, None, False, False, False, 0, False, 0, 2, "a", "x")
        for url in ("https://me:secret@a.example/x", "sftp://me:secret@b.example/", "ftp://:secret@c.example:2121/d?e")
    )
    crawl = CrawlEntry(1, "http://a.example/", 1, b"u" * 16, Sight.CONTENT, b"a" * 16, 0, True, 20, None, 200)
    store.settle([SummaryEntry(crawl, TextSummary(b"x" * 32, links=links))], 1)
    rows = query(store, "SELECT username, password, str_url, host, port FROM url JOIN origin USING (origin_id)")
    assert {row[:2] for row in rows} == {(None, None)}
    assert not any("secret" in row[2] for row in rows)
    assert ("ftp://c.example:2121/d?e", "c.example", 2121) in {row[2:] for row in rows}
    store.close()
