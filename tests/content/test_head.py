"""The metadata in a page's head."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from windrow.caps import HEAD_VALUE, Excess
from windrow.content.article import read_article
from windrow.content.head import FeedLink, PageHead, Translation
from windrow.content.page import read_page

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


def head(html: str) -> PageHead:
    return read_page(html.encode()).head


def test_a_full_head() -> None:
    page_head = head(PAGE)
    assert (page_head.title, page_head.description, page_head.language) == ("The title", "What it is", "de-AT")
    assert (page_head.canonical, page_head.base) == ("https://a.example/one", "/deep/")
    assert page_head.robots == {"noindex", "follow", "noarchive"}
    assert (page_head.property("og:title"), page_head.property("og:image")) == ("OG", "")
    assert page_head.feeds == (FeedLink("application/atom+xml", "/feed", "News"),)
    assert page_head.translations == (Translation("fr", "/fr", ""),)


def test_an_element_that_fits_several_selectors_is_read_once() -> None:
    page_head = head(
        '<meta property="article:published_time" itemprop="datePublished" content="2020-01-02">'
        '<meta name="robots" itemprop="dateModified" content="noindex">'
        '<link rel="alternate" itemprop="datePublished" type="application/rss+xml" href="/f">'
        '<script type="application/ld+json" class="dt-published">{"headline": "Tea"}</script>'
    )
    assert page_head.open_graph == (("article:published_time", "2020-01-02"),)
    assert (page_head.metas, len(page_head.feeds)) == ((("robots", "noindex"),), 1)
    assert page_head.json_ld == '{"headline": "Tea"}'


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
        ("<article><header><time datetime=2023-01-01></time></header></article><article></article>", "2023-01-01", ""),
        ("<p><time datetime=2023-01-01>a</time><time datetime=2023-01-02>b</time>", "", ""),
        ("<p>on <time datetime=2023-01-01>a day</time>", "2023-01-01", ""),
        ("<meta property=article:published_time content=soon><meta name=pubdate content=2020-01-01>", "2020-01-01", ""),
        ("<span itemprop=datePublished content=2020-01-01>1 Jan</span>", "2020-01-01", ""),
        ("<meta name=dc.date.issued content='5 March 2024'><meta name=DateModified content=2024-03-06T23:00:00-05:00>",
         "5 March 2024", "2024-03-06T23:00:00-05:00"),
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


def test_a_date_that_cannot_be_read_is_no_date() -> None:
    unread = head("<meta property=article:published_time content='last week'><time datetime=soon>soon</time>")
    assert (unread.published, unread.modified) == ("", "")


@pytest.mark.parametrize(
    ("html", "authors"),
    [
        ("<meta name=author content='Ann Lee'>", ("Ann Lee",)),
        ("<meta property=article:author content=https://x.example/ann><meta name=byl content='By Ann'>", ("By Ann",)),
        ("""<script type=application/ld+json>{"@graph": [{"@type": "Person", "@id": "#a", "name": "Ann &amp; Co"},
         {"@type": ["NewsArticle"], "author": [{"@id": "#a"}, {"@type": "Person", "name": "Bo"}]}]}</script>
         <meta name=author content=Admin>""", ("Ann & Co", "Bo")),
    ],
)  # fmt: skip
def test_authors_of_the_head(html: str, authors: tuple[str, ...]) -> None:
    assert head(html).authors == authors


def test_long_values_are_read_as_a_whole() -> None:
    words = "word " * 3_000 + "end"
    linked = json.dumps({"@type": "NewsArticle", "headline": words, "description": words})
    page_head = head(
        f"<title>{words}</title><meta name=keywords content='{words}'><meta property=og:title content='{words}'>"
        f"<script type=application/ld+json>{linked}</script>"
    )
    assert [page_head.title, page_head.keywords[0], page_head.property("og:title")] == [words] * 3
    assert [page_head.linked.headline, page_head.linked.description] == [words] * 2


def test_values_beyond_the_cap_are_cut_and_counted() -> None:
    limit = HEAD_VALUE.number
    linked = json.dumps({"@type": "NewsArticle", "headline": "h" * (limit + 2), "keywords": ["k" * (limit + 3), "tea"]})
    script = f"<script type=application/ld+json>{linked}</script>"
    page_head = head(f"{script}<meta name=description content='{'d' * (limit + 5)}'><title>{'t' * (limit + 7)}")
    assert [page_head.title, page_head.description] == ["t" * limit, "d" * limit]
    assert (page_head.linked.headline, page_head.keywords) == ("h" * limit, ("k" * limit, "tea"))
    assert page_head.left_out == (Excess(HEAD_VALUE, 17),)


@pytest.mark.parametrize(
    ("own", "markup", "published"),
    [
        ({"headline": "Quay is repaired"}, "<title>Quay is repaired | Gazette</title>", "2026-11-04"),
        ({"headline": "Repair", "mainEntityOfPage": {"@id": "https://www.a.example/quay/#page"}},
         "<title>Quay is repaired</title><link rel=canonical href=http://a.example/quay>", "2026-11-04"),
        ({"headline": "Repair"}, "<title>Quay is repaired</title>", ""),
        ({"headline": "Repair"}, "<title>Quay is repaired</title><meta name=date content=2026-11-05>", "2026-11-05"),
        ({"headline": "Repair"}, "", "2020-01-01"),
    ],
)  # fmt: skip
def test_of_several_articles_in_json_ld_only_that_of_the_page_counts(
    own: dict[str, object], markup: str, published: str
) -> None:
    related = {"@type": "NewsArticle", "headline": "An older story", "datePublished": "2020-01-01", "author": "Bo Ek"}
    linked = [related, {"@type": "NewsArticle", "datePublished": "2026-11-04", "author": "Ann Lee", **own}]
    page_head = head(f"{markup}<script type=application/ld+json>{json.dumps(linked)}</script>")
    authors = {"2020-01-01": ("Bo Ek",), "2026-11-04": ("Ann Lee",)}
    assert (page_head.published, page_head.authors) == (published, authors.get(published, ()))


def test_references_to_other_objects_of_json_ld_are_followed_even_if_they_repeat_a_type() -> None:
    """A reference with a type before its object hid the object, and an address that another object has was unknown."""
    article = {
        "@type": "NewsArticle", "headline": "Repair", "datePublished": "2026-11-04", "mainEntityOfPage": {"@id": "#page"},
        "author": {"@type": "Person", "@id": "#ann"}, "publisher": {"@type": "Organization", "@id": "#paper"},
        "image": {"@type": "ImageObject", "@id": "#image"},
    }  # fmt: skip
    others = [
        {"@type": "NewsArticle", "headline": "An older story", "datePublished": "2020-01-01"},
        {"@type": "WebPage", "@id": "#page", "url": "https://a.example/quay"},
        {"@type": "Person", "@id": "#ann", "name": "Ann Lee"},
        {"@type": "Organization", "@id": "#paper", "name": "The Gazette"},
        {"@type": "ImageObject", "@id": "#image", "url": "https://a.example/quay.jpg"},
    ]
    page_head = head(
        "<title>Quay</title><link rel=canonical href=http://a.example/quay>"
        f"<script type=application/ld+json>{json.dumps(others[:1])}</script>"
        f"<script type=application/ld+json>{json.dumps([article, *others[1:]])}</script>"
    )
    assert (page_head.published, page_head.authors, page_head.linked.sites, page_head.linked.image) == (
        "2026-11-04", ("Ann Lee",), ("The Gazette",), "https://a.example/quay.jpg",
    )  # fmt: skip


@pytest.mark.parametrize("site", ["schema:", "https://schema.org/", "http://schema.org/", "s:"])
def test_json_ld_may_have_prefixed_or_full_names(site: str) -> None:
    article = {
        "@context": {"s": "http://schema.org/"}, "@type": [f"{site}NewsArticle"], f"{site}headline": "Repair",
        f"{site}datePublished": [{"@value": "2026-11-04"}], f"{site}author": {"@id": "#ann"}, f"{site}hasPart": [],
    }  # fmt: skip
    person = {"@id": "https://a.example/quay#ann", "@type": f"{site}Person", f"{site}name": "Ann Lee"}
    page_head = head(
        "<title>Quay</title><link rel=canonical href=https://a.example/quay>"
        f"<script type=application/ld+json>{json.dumps(article)}</script>"
        f"<script type=application/ld+json>{json.dumps(person)}</script>"
    )
    assert (page_head.linked.headline, page_head.published, page_head.authors) == ("Repair", "2026-11-04", ("Ann Lee",))


def test_lists_of_json_ld_have_the_addresses_of_their_elements() -> None:
    elements = [
        "https://a.example/1", {"@type": "ListItem", "position": 2, "url": "/2"},
        {"@type": "ListItem", "item": {"@type": "NewsArticle", "url": "/3", "name": "Three"}},
        {"@type": "ListItem", "item": {"@id": "/4"}}, {"@type": "ListItem", "item": "/5"}, {"@type": "ListItem"}, None,
    ]  # fmt: skip
    crumbs = {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "item": "/news"}]}
    page = {"@type": "CollectionPage", "mainEntity": {"@type": "ItemList", "itemListElement": elements}}
    page_head = head(f"<script type=application/ld+json>{json.dumps([crumbs, page])}</script>")
    assert page_head.linked.listed == ("https://a.example/1", "/2", "/3", "/4", "/5")


def test_an_author_in_the_form_of_catalogues_is_one_author() -> None:
    metas = "".join(f"<meta name=citation_author content='{name}'>" for name in ("Lee, Ann", "van Ek, Bo J.", "C. Dee"))
    assert read_article(f"<title>Tea</title>{metas}<p>Pour it.".encode(), "text/html", "", ()).authors == (
        "Ann Lee", "Bo J. van Ek", "C. Dee",
    )  # fmt: skip


def test_json_ld_names_persons_by_parts_and_in_roles_and_dates_as_values() -> None:
    authors = [{"@type": "Person", "givenName": "Ann", "familyName": "Lee"},
               {"@type": "OrganizationRole", "author": {"@type": "Person", "name": "Bo Ek"}}]  # fmt: skip
    linked = {"@type": "NewsArticle", "author": authors, "datePublished": {"@value": "2026-11-04"}}
    page_head = head(f"<script type=application/ld+json>{json.dumps(linked)}</script>")
    assert (page_head.authors, page_head.published) == (("Ann Lee", "Bo Ek"), "2026-11-04")
    linked["datePublished"] = 1762200000
    assert head(f"<script type=application/ld+json>{json.dumps(linked)}</script>").unread_date == "1762200000"


@pytest.mark.parametrize("wrap", [
    lambda nodes: [nodes], lambda nodes: {"@graph": nodes}, lambda nodes: {"@list": [[nodes[0]], {"@set": nodes[1:]}]},
])  # fmt: skip
def test_json_ld_names_authors_and_keywords_however_they_are_nested(wrap: Callable[[list[Any]], Any]) -> None:
    authors = [{"name": {"@value": "Ann Lee"}}, {"@value": "Bo Ek"}, "Cy Dee"]
    keywords = [{"@value": "quay"}, {"@id": "#wall"}, {"name": "Budget"}]
    linked = {
        "@type": "NewsArticle",
        "author": wrap(authors),
        "keywords": wrap(keywords),
        "articleSection": wrap(["Local"]),
    }
    script = json.dumps([linked, {"@id": "#wall", "@type": "DefinedTerm", "name": "Sea wall"}])
    page_head = head(f"<script type=application/ld+json>{script}</script>")
    assert page_head.authors == ("Ann Lee", "Bo Ek", "Cy Dee")
    assert page_head.keywords == ("quay", "Sea wall", "Budget", "Local")
    linked["keywords"] = wrap([{"@value": "tea, cups"}])
    page_head = head(f"<script type=application/ld+json>{json.dumps(linked)}</script>")
    assert page_head.keywords == ("tea", "cups", "Local")


def test_json_ld_is_read_at_any_depth() -> None:
    nested = '{"a": [' * 20 + '{"@type": "NewsArticle", "headline": "Tea"}' + "]}" * 20
    assert head(f"<script type=application/ld+json>{nested}</script>").linked.headline == "Tea"


def test_keywords_are_all_topics_that_the_head_names() -> None:
    linked = {
        "@type": "NewsArticle", "keywords": ["Smith, John", {"@type": "DefinedTerm", "name": "Budget"}],
        "articleSection": ["Local", "Politics"], "about": {"name": "Harbour Board"}, "genre": "Analysis",
    }  # fmt: skip
    page_head = head(
        f"<meta name=dc.subject content=Quay><meta name=DC.Subject content=Town><meta name=keywords content='tea, local'>"
        f"<script type=application/ld+json>{json.dumps(linked)}</script>"
    )
    assert page_head.keywords == (
        "Quay", "Town", "tea", "local", "Smith, John", "Budget", "Politics", "Harbour Board", "Analysis",
    )  # fmt: skip


def test_json_ld_of_listed_things_does_not_speak_for_the_page() -> None:
    page_head = head("""<script type=application/ld+json>[{"@type": "ItemList", "itemListElement": [{"@type": "NewsArticle",
        "datePublished": "2020-01-01"}]}, {"@type": "WebSite", "name": "The Site"},
        {"@type": "WebPage", "mainEntity": {"@type": "BlogPosting", "datePublished": "2021-01-01",
        "keywords": "a, b"}}]</script>""")
    assert (page_head.published, page_head.keywords, page_head.linked.sites) == (
        "2021-01-01",
        ("a", "b"),
        ("The Site",),
    )


@pytest.mark.parametrize(
    ("video", "published"),
    [
        ({"name": "Old storm film"}, "2025-01-02"),
        ({"name": "Old storm film", "url": "https://a.example/film"}, "2025-01-02"),
        ({"url": "https://a.example/film"}, "2025-01-02"),
        ({"name": "Harbour plan passed"}, "2020-01-01"),
        ({"name": "Old storm film", "url": "http://www.a.example/plan/"}, "2020-01-01"),
        ({}, "2020-01-01"),
    ],
)
def test_a_video_in_a_page_does_not_speak_for_the_page(video: dict[str, str], published: str) -> None:
    linked = {"@type": "VideoObject", "uploadDate": "2020-01-01", "author": {"name": "Film Maker"}, **video}
    page_head = head(
        "<title>Harbour plan passed</title><link rel=canonical href=https://a.example/plan>"
        "<meta property=article:published_time content=2025-01-02>"
        f"<script type=application/ld+json>{json.dumps(linked)}</script>"
    )
    assert page_head.published == published
    assert page_head.linked.authors == (("Film Maker",) if published == "2020-01-01" else ())


@pytest.mark.parametrize(
    ("recipe", "published"),
    [
        ({"@type": "Recipe", "name": "Onion soup"}, "2025-01-02"),
        ({"@type": "HowTo", "name": "Tie a knot"}, "2025-01-02"),
        ({"@type": "Review", "url": "https://a.example/film"}, "2025-01-02"),
        ({"@type": "Recipe", "name": "Plan passed"}, "2020-01-01"),
        ({"@type": "Recipe", "name": "Onion soup", "url": "https://a.example/plan"}, "2020-01-01"),
        ({"@type": "Review"}, "2020-01-01"),
        ({"@type": "ReviewNewsArticle", "headline": "Onion soup"}, "2020-01-01"),
    ],
)
def test_a_recipe_in_an_article_does_not_speak_for_the_page(recipe: dict[str, str], published: str) -> None:
    linked = {"datePublished": "2020-01-01", "author": {"name": "Cook"}, **recipe}
    page_head = head(
        "<title>Harbour plan passed</title><link rel=canonical href=https://a.example/plan>"
        "<meta property=article:published_time content=2025-01-02>"
        f"<script type=application/ld+json>{json.dumps(linked)}</script>"
    )
    assert page_head.published == published
    assert page_head.linked.authors == (("Cook",) if published == "2020-01-01" else ())


def test_the_recipe_of_a_page_says_more_than_the_page_that_it_is_on() -> None:
    linked = [{"@type": "WebPage", "name": "Soup"}, {"@type": "Recipe", "name": "Soup", "author": "Cook"}]
    page_head = head(f"<title>Soup</title><script type=application/ld+json>{json.dumps(linked)}</script>")
    assert (page_head.linked.headline, page_head.linked.authors) == ("Soup", ("Cook",))


@pytest.mark.parametrize(
    ("opening", "closing"), [("<!--", "-->"), ("//<![CDATA[", "//]]>"), ("<![CDATA[", "]]>"), (" <!--", "-->  \n")]
)
def test_json_ld_in_a_comment(opening: str, closing: str) -> None:
    script = f'{opening}\n{{"@type": "NewsArticle", "datePublished": "2020-01-01"}}\n{closing}'
    assert head(f"<script type=application/ld+json>{script}</script>").linked.published == "2020-01-01"


@pytest.mark.parametrize(("script", "headline", "unread_scripts"), [
    ('{"@type": "NewsArticle", "headline": "Tea, // hot /* , }", "a": [1, 2,],\n}', "Tea, // hot /* , }", 0),
    ('{"@type": "NewsArticle", /* "a": 1, */ "headline": "Tea" // the headline\n}', "Tea", 0),
    ('{"@type": "NewsArticle", "headline": "Tea\tis\nhot"};', "Tea is hot", 0),
    ('{"@type": "Place"}},\n{"@type": "NewsArticle", "headline": "Tea"}', "Tea", 0),
    ('{"@type": "NewsArticle", "headline": "Tea"} {"@type": "Person", "name', "Tea", 1),
    ('{"@type": "NewsArticle", "headline": "Tea" "name": 1}', "", 1), ("[" * 5_000 + "]" * 5_000, "", 1), (" ", "", 0),
])  # fmt: skip
def test_json_ld_with_usual_faults_is_read_and_with_others_counted(
    script: str, headline: str, unread_scripts: int
) -> None:
    linked = head(f"<script type=application/ld+json>{script}</script>").linked
    assert (linked.headline, linked.unread_scripts) == (headline, unread_scripts)


@pytest.mark.parametrize("other", ["Organization", "WebPage"])
def test_dates_of_json_ld_that_cannot_be_read_count_unless_other_json_ld_describes_the_page(other: str) -> None:
    scripts = (f'{{"@type": "{other}"}}', '{"@type": "NewsArticle", "datePublished": "2024-02-03", broken')
    page_head = head("".join(f"<script type=application/ld+json>{script}</script>" for script in scripts))
    assert page_head.published == ("2024-02-03" if other == "Organization" else "")


def test_an_empty_head() -> None:
    assert head("x") == PageHead()


def test_every_directive_of_a_crawler_that_hides_the_page_is_listed() -> None:
    page_head = head("<meta name=Bot content=nofollow><meta name=bot content=noindex><meta name=bot content=none>")
    assert page_head.robots_metas == (("bot", "noindex"), ("bot", "none"))
    assert page_head.metas == (("bot", "nofollow"),)


def test_a_feed_whose_link_has_a_type_of_any_xml_is_known_by_its_address_or_title() -> None:
    links = (
        "<link rel=alternate type=text/xml href=/rss.xml><link rel=alternate type=application/xml href=/x title='Feed'>"
        "<link rel=alternate type=text/xml href=/sitemap.xml><link rel=alternate type=text/html href=/feed.html>"
    )
    assert [feed.href for feed in head(links).feeds] == ["/rss.xml", "/x"]


def test_the_title_of_a_picture_is_not_that_of_the_page() -> None:
    icon = b"<svg><g><title>Menu</title></g></svg>"
    assert read_page(icon + b"<h1>Tea</h1>").head.title == ""
    assert read_page(b"<body>" + icon + b"<title>Tea</title>").head.title == "Tea"


@pytest.mark.parametrize(("url", "headline", "author"), [
    ("https://a.example/football", "A football night", ""),  # another page's article
    ("https://a.example/bridge", "A football night", "Bo Ek"),
    ("https://a.example/football", "Bridge closed", "Bo Ek"),
    ("https://a.example/football", "", "Bo Ek"),
    ("", "A football night", "Bo Ek"),
])  # fmt: skip
def test_a_single_article_in_json_ld_is_the_pages_unless_its_address_and_its_headline_are_others(url, headline, author):
    data = {"@type": "NewsArticle", "url": url, "headline": headline, "author": "Bo Ek", "articleBody": "Goal!"}
    page = (
        "<title>Bridge closed | Gazette</title><link rel=canonical href=https://a.example/bridge>"
        f"<script type=application/ld+json>{json.dumps(data)}</script><h1>Bridge closed</h1><p>It is closed."
    )
    read = read_article(page.encode())
    assert (", ".join(read.authors), read.stated_text, read.kind) == (
        author, "Goal!" if author else "", "article" if author else "",
    )  # fmt: skip
