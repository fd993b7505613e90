"""What a page says of itself."""

from __future__ import annotations

import pytest

from windrow.formats.html import Feed, Head, Translation, read

PAGE = """<!doctype html><html lang=" de-AT "><head>
<title> The
 title </title><base href="/deep/"><link rel="Canonical" href="https://a.example/one">
<meta name=Description content="What  it is"><meta name=description content=later>
<meta name=robots content="NoIndex, follow"><meta name=robots content=noarchive>
<meta property="og:title" content="OG"><meta property="og:type" content="article">
<meta property="article:published_time" content="2020-01-01">
<link rel=alternate type="application/atom+xml" title=News href=/feed><link rel=alternate hreflang=fr href=/fr>
<script type="application/ld+json">{"@type": "NewsArticle", "datePublished": "2024-02-03T04:05:06Z", broken</script>
</head><body><svg><title>no</title></svg>"""


def head(html: str) -> Head:
    return read(html.encode()).head


def test_a_full_head() -> None:
    found = head(PAGE)
    assert (found.title, found.description, found.language) == ("The title", "What it is", "de-AT")
    assert (found.canonical, found.base) == ("https://a.example/one", "/deep/")
    assert found.robots == {"noindex", "follow", "noarchive"}
    assert (found.property("og:title"), found.property("og:image")) == ("OG", "")
    assert found.feeds == (Feed("application/atom+xml", "/feed", "News"),)
    assert found.translations == (Translation("fr", "/fr", ""),)


def test_dates_come_from_json_ld_first_even_where_it_is_broken() -> None:
    assert head(PAGE).published == "2024-02-03T04:05:06Z"
    assert head(PAGE.replace("datePublished", "other")).published == "2020-01-01"


@pytest.mark.parametrize(
    ("html", "published", "modified"),
    [
        ("<time class='dt-published' datetime=2024-01-02>2 Jan</time><i class='x dt-updated'>2024-02-03</i>",
         "2024-01-02", "2024-02-03"),
        ("<abbr class=dt-published title=2024-01-02>2 Jan</abbr><article><header><time datetime=2023-01-01></time>",
         "2024-01-02", ""),
        ("<i class=dt-published>2024-01-02</i><i class=dt-published>2024-01-03</i>", "", ""),
        ("<article><header><p><time datetime=2023-01-01>then</time></header><time datetime=2022-01-01></time></article>",
         "2023-01-01", ""),
        ("<article><header><time datetime=2023-01-01></time></header></article><article></article>", "", ""),
        (("<article><header><time datetime=2021-01-01></time></header></article><article><header><h1>A</h1>"
          "<time datetime=2023-01-01></time></header></article>"), "2023-01-01", ""),
        ("<header><time datetime=2023-01-01></time></header><article><time datetime=2022-01-01></time></article>", "", ""),
        ("<meta property=article:published_time content=2020-01-01><i class=dt-published>2024-01-02</i>",
         "2020-01-01", ""),
        (("<script type='Application/LD+JSON; charset=utf-8'>{\"datePublished\": \"2019-01-01\"}</script>"
          "<meta property=article:published_time content=2020-01-01>"), "2019-01-01", ""),
    ],
)  # fmt: skip
def test_dates_by_the_order_of_trust(html: str, published: str, modified: str) -> None:
    assert (head(html).published, head(html).modified) == (published, modified)


def test_an_empty_head() -> None:
    assert head("x") == Head()
