"""Any bytes are read as a page, in bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu import cpu_seconds
from windrow.collections.pages.reading import read_html_page

TAGS = ["div", "p", "a", "b", "table", "td", "tr", "li", "ul", "select", "option", "svg", "math", "template", "noscript",
        "h1", "pre", "code", "q", "br", "form", "script", "style", "title", "frameset", "body", "html", "head", "plaintext"]  # fmt: skip
piece = st.one_of(
    st.sampled_from(TAGS).map("<{}>".format),
    st.sampled_from(TAGS).map("</{}>".format),
    st.sampled_from(
        ['<a href="', "<!--", "-->", "<![CDATA[", "&#0;", "&#xD800;", "\0", "&nbsp;", " ", "\n", "'", '"', ">"]
    ),
    st.text(max_size=8),
    st.sampled_from(["<a href='//[x'>", "<a href='http://a:99999/'>", "<base href='http://[::1'>", "<a href='\\\\x'>"]),
)


@settings(max_examples=300)
@given(st.lists(piece, max_size=60).map("".join))
def test_any_markup_gives_a_document(html: str) -> None:
    read_document = read_html_page(html.encode("utf-8", "surrogatepass"), "http://a.example/x")
    "\n".join(read_document.pile.fields()).encode()


@settings(max_examples=300)
@given(st.binary(max_size=400), st.text(max_size=40), st.text(max_size=40))
def test_any_bytes_from_anywhere_give_a_document(raw: bytes, url: str, content_type: str) -> None:
    read_document = read_html_page(raw, url, content_type, last_modified=content_type, language=url)
    assert len(read_document.pile.digest()) == 64


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "x",
        "<ul><li>" * 50_000 + "x",
        "<div></x>" * 50_000 + "x",
        "<b>" * 100_000 + "x",
        "<code>x" * 11_000,
        "<q>x" * 11_000,
        "<blockquote><p>x" * 5_000,
        "<p>" + "word " * 2_000_000,
        "<p>" + "a" * 10_000_000,
        "<div " + " ".join(f"a{n}" for n in range(50_000)) + ">x",
        *(f"<div {piece * 200_000}>x" for piece in ("/", "=", " =", "a = ", '"', "'a'")),
        "<div><a href=/x>" * 10_000,
        "<a href='" + "x" * 5_000_000 + "'>x</a>",
        "<p>x</p>" * 50_000,
        "<a href=/>x</a>" * 30_000,
        "\0" * 1_000_000,
        "<" * 1_000_000,
        "&" * 1_000_000,
        "<!--" * 200_000,
        '<meta charset="' * 10_000,
        "<p class='" + "aB" * 500_000 + "'>x",
        '<script type="application/ld+json">' + '"@type": [' * 100_000,
        *(f'<script type="application/ld+json">{piece * 60_000}' for piece in ('"\\"', "/*", ",  ", "[1,", "{}", "//")),
    ],
    ids=lambda html: html[:12],
)  # fmt: skip
def test_hostile_pages_end_in_time(html: str) -> None:
    assert cpu_seconds(lambda: read_html_page(html.encode(), "http://a.example/")) < 20
