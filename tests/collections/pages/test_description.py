"""The description of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages.reading import read_html_page
from windrow.collections.pages.reading.document import Description, parse_unix_time
from windrow.formats.sniff import normalise_tag

LONG = "This paragraph is long enough to stand in for the description that the page itself has not."


def described(html: str, **headers: str) -> Description:
    return read_html_page(html.encode(), "http://a.example/", **headers).description


def test_what_was_written_for_machines_comes_first() -> None:
    description = described(
        "<html lang=en-GB><title>T</title><meta property=og:title content=O><meta name=description content=D>"
        "<meta property=article:modified_time content=2024-01-02T00:00:00Z><main><h1>H</h1><p>" + LONG,
        last_modified="Thu, 01 Jan 1970 00:00:09 GMT",
        language="fr",
    )
    assert (description.title, description.headline, description.description, description.language) == (
        "T",
        "H",
        "D",
        "en-GB",
    )
    assert (description.created, description.updated) == (None, 1704153600)


def test_what_else_there_is_comes_after() -> None:
    description = described(
        f"<h1>H</h1><p>Short.<p>{LONG}", last_modified="Thu, 01 Jan 1970 00:00:09 GMT", language="fr, de"
    )
    assert (description.title, description.description, description.language, description.updated) == (
        "H",
        LONG,
        "fr",
        9,
    )


def test_the_name_of_the_site_is_no_headline() -> None:
    description = described("<meta property=og:site_name content='My Site'><h1>my site</h1>")
    assert description.headline is None


def test_a_page_that_says_nothing() -> None:
    assert described("") == Description(None, None, None, None, None, None, 0)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1970-01-02", 86400),
        ("1970-01-01T00:00:01.5Z", 1),
        ("1970-01-01 01:00+0100", 0),
        ("1970-01-01T00:01", 60),
        ("Thu, 01 Jan 1970 00:00:09 GMT", 9),
        ("2024-13-01", None),
        ("9999999999", None),
        ("", None),
    ],
)
def test_moments(written: str, expected: int | None) -> None:
    assert parse_unix_time(written) == expected


@given(st.text(max_size=70))
def test_any_text_is_a_moment_or_none(written: str) -> None:
    assert parse_unix_time(written) is None or isinstance(parse_unix_time(written), int)


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("de", "de"), ("pt_BR", "pt-BR"), ("sr-latn-rs", "sr-Latn-RS"), ("es-419", "es-419"), ("x", None), ("", None),
        ("xx", None), ("english", None), ("ENG", "en"), ("gsw-CH", "gsw-CH"), ("en-QQ", "en"), ("iw", "he"),
        ("undefined", None),
    ],
)  # fmt: skip
def test_a_language_is_one_of_the_registry(tag: str, expected: str | None) -> None:
    assert normalise_tag(tag) == expected
