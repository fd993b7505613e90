"""The links to a page: pages are counted, and not the links on them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.collections.pages.place import Page, fill, schema, url_id
from windrow.collections.pages.database.search_view import IncomingLinks, SummaryReader

TARGET = "https://a.example/tea"
PAGES = [
    Page("https://b.example/menu", "A menu.", links=((TARGET, "tea"), (TARGET, "tea"), (TARGET, "all about  tea"))),
    Page("https://c.example/", "A page.", links=((TARGET, "tea"),)),
    Page(TARGET, "Tea.", links=((TARGET, "tea"),)),
]


def test_a_page_with_several_links_to_another_is_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "summary.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(schema())
        fill(connection, PAGES)
        target = url_id(connection, TARGET)
    with closing(SummaryReader(path)) as reader:
        assert reader.read_links([target]) == {target: IncomingLinks(2, (("tea", 2), ("all about tea", 1)))}
