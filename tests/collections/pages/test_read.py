"""Documents of any kind: the choice of the reader, plain text, Markdown, languages."""

from __future__ import annotations

import gzip
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.caps import TAG_ATTRIBUTES, Excess
from windrow.collections.pages.collection import version
from windrow.collections.pages.reading import PageDocument, read, read_html_page
from windrow.formats import sniff

URL = "http://a.example/doc"
HTML = b"<!doctype html><title>T</title><main><p>Text of a page.</main>"


def read_page(raw: bytes, kind: str = "", url: str = URL, **fields: str) -> PageDocument:
    return read(raw, url, {"content-type": kind, **fields})


@pytest.mark.parametrize(
    "kind", ["text/html", "text/html; charset=utf-8", "application/xhtml+xml", "", "*/*", "nonsense"]
)
def test_pages_are_read_as_by_their_own_reader(kind: str) -> None:
    page = read_page(HTML, kind)
    assert (page.pile, page.links, page.robots) == (read_html_page(HTML, URL).pile, [], frozenset())
    assert page.mime is not None


def test_headers_reach_the_description() -> None:
    fields = {"content-language": "fr-ca, en", "last-modified": "Thu, 01 Jan 1970 00:01:00 GMT"}
    for raw, kind in ((HTML, "text/html"), (b"Some words", "text/plain"), (b"Some words", "text/markdown")):
        description = read_page(raw, kind, **fields).description
        assert (description.language, description.updated) == ("fr-CA", 60)


@pytest.mark.parametrize(
    ("raw", "kind", "text", "mime"),
    [
        (HTML, "application/pdf", "Text of a page.", None),  # a page in a document's stead
        (HTML, "image/png", "Text of a page.", None),
        (HTML, "text/plain", HTML.decode(), "text/plain"),  # browsers believe it too
        (b"\x89PNG\r\n\x1a\n....", "text/html", "", None),
        (b"\x1f\x8b\x08" + bytes(40), "text/html", "", None),
        (b"a\x00b", "text/plain", "", None),
        ("wörd".encode("utf-16"), "text/plain", "wörd", "text/plain"),
        ("word".encode("utf-16-le"), "text/plain; charset=utf-16le", "word", "text/plain"),
        (b"a,b", "text/csv", "", "text/csv"),
        (b"body {}", "text/css", "", "text/css"),
        (b"\x00\x01", "", "", "application/octet-stream"),
        (b"just words", "", "just words", "text/plain"),
        (b"just words", "application/octet-stream", "", "application/octet-stream"),
    ],
)  # fmt: skip
def test_what_it_is(raw: bytes, kind: str, text: str, mime: str | None) -> None:
    page = read_page(raw, kind)
    assert page.pile.text == text
    assert (page.mime.essence if page.mime else None) == mime
    assert bool(page.findings) == (mime is None)


def test_plain_text() -> None:
    raw = b"""=================
Release notes
=================

This release mends what the last one broke, and what had been broken
for a long time before that.

  * one thing
  * another
"""
    page = read_page(raw, "text/plain")
    assert page.pile.text.splitlines()[-3:] == [
        "This release mends what the last one broke, and what had been broken for a long time before that.",
        "* one thing",
        "* another",
    ]
    assert page.description.title == "Release notes"
    assert (page.description.description or "").startswith("This release")


def test_markdown() -> None:
    raw = b"""---
title: "Tea, a guide"
date: 2024-03-01
---
# Tea
Boil `water` and [a cup](../cup "x").

## Then
### And *then*

> Wait.

    pour

| a | b |
|---|---|
| 1 | 2 |

<script>alert(1)</script>
"""
    for kind, url in (("text/markdown", URL), ("text/plain", "http://a.example/README.md?x=1")):
        page = read_page(raw, kind, url)
        assert page.pile.big_headlines.splitlines() == ["Then", "And then"]
        assert page.pile.quote_text == "Wait."
        assert page.pile.code_text == "water\npour"
        assert "alert" not in "".join(page.pile.fields())
        assert page.links[0].url == "http://a.example/cup"
        description = page.description
        assert (description.title, description.headline, description.created) == ("Tea, a guide", "Tea", 1709251200)
        assert not page.pile.secondary_text


def test_markdown_that_is_too_long_is_plain_text() -> None:
    assert read_page(b"![" * 200_000, "text/markdown").pile.text == "![" * 200_000


@settings(max_examples=200)
@given(st.binary(max_size=300), st.sampled_from(["", "text/plain", "text/markdown", "text/html", "text/xml",
       "application/json", "application/pdf", "application/rss+xml", "text/plain; charset=utf-16", "image/gif"]))  # fmt: skip
def test_any_bytes_give_a_document_that_can_be_kept(raw: bytes, kind: str) -> None:
    page = read_page(raw, kind)
    page.pile.digest()  # would fail on lone halves of pairs
    assert page == read_page(raw, kind)


def test_the_language_is_told_from_the_text_only_where_nobody_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("py3langid", reason="the extra language is not installed")
    german = (
        "<p>Der schnelle braune Fuchs springt über den faulen Hund und geht dann nach Hause, um zu schlafen.".encode()
    )
    assert read_page(german, "text/html; charset=utf-8").description.language == "de"
    assert read_page(b"404 Not Found", "text/html").description.language is None
    module = sys.modules["windrow.collections.pages.reading.read"]
    monkeypatch.setattr(module, "detect_language", lambda text: pytest.fail("asked without need"))
    assert read_page(b"<html lang=fr>" + german, "text/html").description.language == "fr"
    assert read_page(german, "text/html", **{"content-language": "it"}).description.language == "it"


def test_without_the_detector_there_is_no_language(monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = version()
    monkeypatch.setitem(sys.modules, "py3langid", None)
    monkeypatch.setattr(sniff, "is_detector_installed", lambda: False)
    sniff._detector.cache_clear()
    assert (
        read_page(
            b"These words are surely English, as anyone who reads them can see.", "text/plain"
        ).description.language
        is None
    )
    assert version() == with_it.replace("+language", "")
    sniff._detector.cache_clear()


def test_real_pages(shared) -> None:
    for path in sorted((shared / "data/extraction/html").glob("*.html.gz"))[:20]:
        raw = gzip.decompress(path.read_bytes())
        page = read_page(raw, "text/html")
        assert page.mime is not None
        assert page.pile == read_html_page(raw, URL, "text/html").pile


def test_what_caps_leave_out_of_entries_of_feeds_is_reported() -> None:
    attributes = " ".join(f"attribute{number}=''" for number in range(TAG_ATTRIBUTES.number + 5))
    html = f"<p {attributes}>text</p>".replace("<", "&lt;").replace(">", "&gt;")
    entry = f"<item><title>T</title><description>{html}</description></item>"
    feed = f"<rss version='2.0'><channel><title>F</title>{entry * 2}</channel></rss>"
    assert read_page(feed.encode(), "application/rss+xml").left_out == (Excess(TAG_ATTRIBUTES, 10),)
