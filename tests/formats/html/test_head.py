"""What a page says of itself."""

from __future__ import annotations

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


def test_an_empty_head() -> None:
    assert head("x") == Head()
