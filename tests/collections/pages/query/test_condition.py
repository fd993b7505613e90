"""What the conditions find in a real Summary Database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from tests.collections.pages.place import Page, fill, schema
from tests.query.test_parse import TYPED
from windrow.collections.pages.database.version_sql import PLAIN
from windrow.collections.pages.search.condition import FROM, whole
from windrow.query import parse
from windrow.query.word import address_text, says

JUNE, JULY = 1717200000, 1719792000  # 2024
PAGES = [
    Page("https://a.example/one", "red green any", "First Page", language="de-AT", created=JUNE, indexiness=5),
    Page("https://b.a.example/two?x=1", "red blue", 'Say "any"', code="red()", kind=("application", "pdf", None)),
    Page(
        "http://other.example/", "green tea and Café", headline="Big Day", quote="to be", updated=JULY, duplicate=True
    ),
    Page("https://a.example/gone", "red old", end=3_000),
    Page(
        "https://a.example/links", "x", links=(("https://other.example/", "Tea House"), ("https://a.example/one", None))
    ),
]


@pytest.fixture(scope="module")
def link() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    made.executescript(schema())
    made.create_function("windrow_says", 2, says)
    made.create_function("windrow_address", 1, address_text)
    fill(made, PAGES)
    made.execute(
        'INSERT INTO full_text_entity_index (rowid, text_pile_id, "any", title, description, text, secondary_text,'
        " big_headlines, small_headlines, code_text, quote_text) SELECT p.text_pile_id, p.text_pile_id, 'any', d.title,"
        " d.description, text, secondary_text, big_headlines, small_headlines, code_text, quote_text FROM text_pile p"
        " JOIN entity_generation USING (text_pile_id) JOIN document_description d USING (entity_generation_id)"
    )
    yield made
    made.close()


def found(link: sqlite3.Connection, text: str) -> list[int]:
    made = whole(parse(text), own=False)
    sql = f"SELECT g.entity_generation_id FROM {FROM.format(versions=PLAIN)} WHERE {made.sql}"
    return sorted(row[0] for row in link.execute(sql, made.values))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("red", [1, 2]),
        ("any", [1, 2]),
        ("cafe", [3]),
        ("red green", [1]),
        ("blue OR tea", [2, 3]),
        ('-"red"', [3, 5]),
        ('green -"red"', [3]),
        ("red -blue", [1]),
        ('blue OR -"red"', [2, 3, 5]),
        ('"green tea"', [3]),
        ('"tea green"', []),
        ("gre*", [1, 3]),
        ("red (green OR site:b.a.example)", [1, 2]),
        ("tea OR lang:de", [1, 3]),
        ("-(tea OR lang:de)", [2, 5]),
        ("site:a.example", [1, 2, 5]),
        ("host:a.example", [1, 5]),
        ("host:.a.example", [2]),
        ("host:other.", [3]),
        ("-site:a.example", [3]),
        ("url:a.example/one", [1]),
        ("url:http://other.example", [3]),
        ("inurl:TWO", [2]),
        ("title:first", [1]),
        ('title:"page first"', []),
        ("headline:big", [3]),
        ("lang:de", [1]),
        ("-lang:de", [2, 3, 5]),
        ("type:pdf", [2]),
        ("type:text/*", [1, 3, 5]),
        ("type:html red", [1]),
        ("after:2024-06 lang:de", [1]),
        ("after:2024-06", [1]),
        ("before:2024-06", [2, 3, 5]),
        ("updated-after:2024-07", [3]),
        ("links-to:other.example", [5]),
        ("links-to:https://other.example/", [5]),
        ("links-to:a.example", [5]),
        ("link-text:tea", [5]),
        ("code:red", [2]),
        ("quote:be", [3]),
        ("is:duplicate", [3]),
        ("is:index", [1]),
        ("red seen:1970", [1, 2, 4]),
        ("red as-of:1970-01-01T00:30", [1, 2, 4]),
        ("red as-of:1970-01-01", [1, 2]),
        ("+++", [1, 2, 3, 5]),
    ],
)
def test_found(link: sqlite3.Connection, text: str, ids: list[int]) -> None:
    assert found(link, text) == ids


@settings(max_examples=300)
@given(TYPED)
def test_no_text_is_an_error_in_sql(link: sqlite3.Connection, text: str) -> None:
    assert all(1 <= one <= len(PAGES) for one in found(link, text))
