"""The links to a page: pages are counted, and not the links on them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from tests.collections.pages.place import Page, fill, schema, url_id
from windrow.collections.pages.database.search_view import MAX_LINKS_READ, IncomingLinks, SummaryReader

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


def test_which_links_are_read_does_not_depend_on_their_order(tmp_path: Path) -> None:
    pages = [
        Page(f"https://b.example/{number}", f"Page {number}.", links=((TARGET, f"tea {number // 100}"),))
        for number in range(MAX_LINKS_READ + 100)
    ]
    answers = []
    for name, added in (("forwards", pages), ("backwards", pages[::-1])):
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(schema())
            for page, id_ in zip(added, fill(connection, added), strict=True):
                uuid = blake2b(page.url.encode(), digest_size=16).digest()
                sql = "UPDATE entity_generation SET entity_generation_uuid = ? WHERE entity_generation_id = ?"
                connection.execute(sql, (uuid, id_))
            target = url_id(connection, TARGET)
        with closing(SummaryReader(path)) as reader:
            answers.append(reader.read_links([target])[target])
    assert answers[0] == answers[1]
    assert answers[0].pages == MAX_LINKS_READ
