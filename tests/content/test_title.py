"""The title of a page."""

from __future__ import annotations

import pytest

from windrow.content.article import find_headline, find_title
from windrow.content.page import read_page

SITE = "<meta property=og:site_name content='The Site'>"


def title_of(html: str, *, main: str = "") -> str:
    page = read_page(html.encode())
    return find_headline(page.outline, [main in text for text in page.outline.blocks.text], page.head)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>Tea</h1><h1>Cups</h1>", "Tea"),
        ("<meta property=og:site_name content='The Site'><h1>the site</h1><h1>Tea</h1>", "Tea"),
        ("<title>Tea | The Site</title><h1>The Site</h1><article><h2>Tea</h2>", "Tea"),
        ("<title>Tea - The Site</title><h1>Today</h1><h1>Tea</h1>", "Tea"),
        ("<title>The Site | Tea</title><h1>Tea</h1>", "Tea"),
        ("<meta property=og:site_name content='The Site'><h1>The Site</h1>", ""),
        ("<h1><span>Tea<br>and</span><div>cups</div></h1>", "Tea and cups"),
        ("<h2>Tea</h2>", ""),
    ],
)
def test_the_headline_is_not_the_name_of_the_site(html: str, expected: str) -> None:
    assert title_of(html) == expected


def test_a_headline_in_the_main_content_comes_first() -> None:
    assert title_of("<h1>Brand</h1><main><h1>Tea</h1></main>", main="Tea") == "Tea"


@pytest.mark.parametrize(
    ("html", "first", "expected"),
    [
        ("<title>Tea | The Site</title>", "", "Tea"),
        (
            "<title>Tea of the Site | Tea</title><meta property=og:title content='Tea of the Site | Tea'>",
            "",
            "Tea of the Site | Tea",
        ),
        ("<title>Tea | The Site</title>", "Latest", "Tea"),
        (
            "<title>How tea, Coffee, milk and other drinks are poured</title>",
            "Coffee",
            "How tea, Coffee, milk and other drinks are poured",
        ),
        ("<title>Tea | The long name of the site</title>", "Tea", "Tea"),
        ("<title>How tea is poured - by Ann Lee - The Site</title>", "How tea is poured", "How tea is poured"),
        ("<title>The Site: Tea - The Site</title><meta property=og:title content=Tea>", "Tea", "Tea"),
        ("<title>A - B</title><meta property=og:title content='A - B'>", "", "A - B"),
        ("<title>Tea</title><meta property=og:site_name content=Tea>", "", "Tea"),
        ("", "Tea", "Tea"),
        (f"{SITE}<title>Tea is poured | The Site - News</title>", "", "Tea is poured"),
        (f"{SITE}<meta property=og:title content='Tea is poured | The Site - News'>", "", "Tea is poured"),
        (f"{SITE}<title>News - The Site | Tea is poured</title>", "Latest", "News - The Site | Tea is poured"),
        (f"{SITE}<title>Tea | The Site | All that is poured</title>", "", "Tea | The Site | All that is poured"),
        (f"{SITE}<title>Tea is poured | The Site | News | The Site</title>", "", "Tea is poured"),
        (f"{SITE}<title>Tea - cups | The Site</title>", "", "Tea - cups"),
        (f"{SITE}<title>The Site » News » Tea is poured</title>", "", "News » Tea is poured"),
        (f"{SITE}<title>The Site - The Site</title>", "", "The Site - The Site"),
        ("<meta property=og:site_name content='The Site | News'><title>Tea | The Site | News</title>", "", "Tea"),
        ("<meta property=og:site_name content='The Site | News'><meta property=og:title content='Tea - The Site | News'>",
         "", "Tea"),
    ],
)  # fmt: skip
def test_a_title_is_the_headline_or_stands_without_the_name_of_the_site(html: str, first: str, expected: str) -> None:
    assert find_title(read_page(html.encode()).head, first) == expected


@pytest.mark.parametrize("hidden", ["<noscript>{}</noscript>", "<div hidden>{}</div>", "<dialog>{}</dialog>",
                                    "<div popover>{}</div>", "<div style='display:none'>{}</div>"])  # fmt: skip
def test_a_headline_that_no_reader_sees_is_none(hidden: str) -> None:
    popup = f"<body>{hidden.format('<h1>Newsletter</h1>')}"
    assert title_of(f"{popup}<header><h1>Contact us</h1></header><main><p>Text</main>", main="Text") == "Contact us"
    assert title_of(f"{popup}<main><p>Text</main>", main="Text") == ""
    assert title_of(f"{popup}<p>Text", main="Newsletter") == "Newsletter"  # a script shows it


def test_a_dialog_that_is_open_is_shown() -> None:
    assert title_of("<dialog open><h1>Tea</h1></dialog>", main="none") == "Tea"
