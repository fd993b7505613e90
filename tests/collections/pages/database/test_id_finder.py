"""Numbers of media types: one for each, found without reading those of all others."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.writer import IdFinder, statements

HTML = Mime("text", "html")
UTF8 = HTML._replace(parameters=(("charset", "utf-8"),))
KINDS = [
    HTML, UTF8, UTF8._replace(parameters=(("charset", "latin-1"),)), UTF8._replace(type="other"),
    UTF8._replace(parameters=(*UTF8.parameters, ("n", "1"))), UTF8._replace(suffix="xml"), HTML._replace(suffix="xml"),
]  # fmt: skip


def test_each_media_type_has_one_number_however_its_parameters_are_ordered():
    with closing(sqlite3.connect(":memory:")) as link:
        for statement in statements("base", "kind"):
            link.execute(statement)
        numbers = [IdFinder(link).get_mime_id(kind) for kind in KINDS]
        assert len(set(numbers)) == len(KINDS)
        turned = [kind._replace(parameters=kind.parameters[::-1]) for kind in KINDS]
        assert [IdFinder(link).get_mime_id(address) for address in turned] == numbers


def test_a_media_type_for_every_page_is_found_by_an_index():
    with closing(sqlite3.connect(":memory:")) as link:
        for statement in statements("base", "kind"):
            link.execute(statement)
        asked: list[str] = []
        link.set_trace_callback(asked.append)
        for at in range(3):
            IdFinder(link).get_mime_id(UTF8._replace(parameters=(*UTF8.parameters, ("n", str(at)))))
        IdFinder(link).get_mime_id(HTML)
        link.set_trace_callback(None)
        plans = [
            link.execute(f"EXPLAIN QUERY PLAN {address}").fetchall()
            for address in asked
            if "LEC" in address and "m." in address
        ]
        assert len(plans) == 4
        assert not [row for plan in plans for row in plan if row[3].startswith("SCAN") and "CONSTANT" not in row[3]]
