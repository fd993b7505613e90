"""The article on a page: its title, authors, dates and text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.content.article import Article, read_article
from windrow.content.page import read_page as page

TEXT = "This is a sentence of the article, and it goes on for a while, as sentences of articles do. " * 4
PAGE = f"""<html lang=de-AT><title>Tea is hot - The Site</title><link rel=canonical href=/tea>
<meta property=og:site_name content="The Site"><meta property=og:image content=/tea.jpg>
<meta name=description content="On tea"><meta name=keywords content="tea, cups"><meta property=article:tag content=Tea>
<header><nav><a href=/>Home</a></nav></header><main><article><h1>Tea is hot</h1>
<p class=byline>By <a href=/ann>Ann Lee</a> and Bo Ek</p><time datetime="2024-03-05T23:30:00-05:00">5 March</time>
<figure><img src=/cup.jpg alt=Cup></figure><p>{TEXT} <b>Hot</b> <a href=/more>tea</a>.</p><ul><li>one<li>two</ul><p>{TEXT}
</article></main><aside><h3>Related</h3><a href=/c><img src=/c.jpg>Coffee is cold</a></aside><footer>(c)</footer>"""

MANY_NAMES = tuple(f"Anna{letter} Lee-Longfellow of Orange" for letter in "abcdefghijkl")


def read(html: str, url: str = "https://site.example/tea") -> Article:
    return read_article(html.encode(), "text/html; charset=utf-8", url)


def test_an_article_says_who_wrote_what_and_when() -> None:
    extracted = read(PAGE)
    assert (extracted.title, extracted.site, extracted.authors) == ("Tea is hot", "The Site", ("Ann Lee", "Bo Ek"))
    assert (extracted.published, extracted.language) == ("2024-03-05T23:30:00-05:00", "de-AT")
    assert (extracted.keywords, extracted.image, extracted.canonical) == (("Tea", "cups"), "/tea.jpg", "/tea")
    assert extracted.description == "On tea"


def test_keywords_are_also_tags_and_microdata_of_the_article() -> None:
    extracted = read(
        "<meta itemprop=keywords content='harbour, wall'><article><h1>Tea</h1><a rel='category tag' href=/c>Local  news</a>"
        "<span itemprop=articleSection>Town</span></article><article><a rel=tag href=/d>Of another</a></article>"
    )
    assert extracted.keywords == ("Local news", "harbour", "wall", "Town")


@pytest.mark.parametrize("line", [
    ("<span rel='schema:author'><span typeof='schema:Person' property='schema:name'>Ann Lee</span></span> on"
    " <span property='schema:dateCreated' content='2024-03-05T10:00:00+00:00'>Tue, 03/05</span>"),
    ("<span property='dc:date dc:created' content='2024-03-05T10:00:00+00:00' datatype='xsd:dateTime' rel='sioc:has_creator'>"
    "Submitted by <span class=username property='foaf:name'>Ann Lee</span> on Tue</span>"),
    ("<span class='post-author vcard'>Posted by <span class=fn>Ann Lee</span></span> at"
    " <abbr class=published title='2024-03-05T10:00:00+00:00'>10:00</abbr>"),
])  # fmt: skip
def test_authors_and_dates_are_found_where_drupal_and_blogger_write_them(line: str) -> None:
    extracted = read(f"<article><h1>Tea</h1><footer>{line}</footer><p>{TEXT}</p></article>")
    assert (extracted.authors, extracted.published) == (("Ann Lee",), "2024-03-05T10:00:00+00:00")


def test_a_keyword_of_any_length_in_an_attribute_is_one_and_a_long_text_that_is_shown_is_none() -> None:
    long_keyword = "the harbour wall and " * 12
    page_text = f"<meta itemprop=keywords content='quay,{long_keyword}'><span itemprop=keywords>{long_keyword}</span>"
    assert read(page_text).keywords == ("quay", long_keyword.strip())


def test_the_main_content_is_there_as_blocks_and_as_markup() -> None:
    extracted = read(PAGE)
    assert extracted.blocks[-1] == TEXT.strip()
    assert "Coffee is cold" not in extracted.blocks
    assert '<b>Hot</b> <a href="/more">tea</a>.' in extracted.markup
    assert '<img src="/cup.jpg"' in extracted.markup
    assert "Coffee" not in extracted.markup
    assert "/c.jpg" not in extracted.markup


def test_markup_of_the_main_content_reads_as_its_blocks_again() -> None:
    extracted = read(PAGE)
    assert tuple(page(extracted.markup.encode()).outline.blocks.text) == extracted.blocks


LINKED_AUTHORS = json.dumps({"@type": "NewsArticle", "author": [
    {"name": "Ministry of Health and Social Care"}, {"name": "Reporters in Exile"}, {"name": "John Smith 3rd"},
    {"name": "admin"}, {"name": "https://site.example/ann"}, "Ann Lee and Bo Ek", {"name": "By Cy Fox"},
    {"name": "Jo\u00e3o Maria da Concei\u00e7\u00e3o de Almeida e Silva"},
]})  # fmt: skip


@pytest.mark.parametrize(
    ("html", "authors"),
    [
        ("<h1>Tea</h1><p>Written by<p>Ann Lee<p>5 March 2024", ("Ann Lee",)),
        ("<span itemprop=author itemscope><b itemprop=name>Ann Lee</b></span>", ("Ann Lee",)),
        ("<a rel=author href=/a>Ann Lee</a>, <a rel=author href=/b>Bo Ek</a><p><a rel=author href=/c>Cy</a>",
         ("Ann Lee", "Bo Ek")),
        ("<h1>Tea</h1><div class=by-line>Ann Lee</div>", ("Ann Lee",)),
        ("<meta name=author content='ann@site.example'><p class=author>by Ann Lee | 5 March 2024", ("Ann Lee",)),
        ("<h1>Tea</h1><p>By and by, tea grows cold in cups", ()),
        ("<meta name=citation_author content='Ann Lee'><meta name=citation_author content='Bo Ek'>", ("Ann Lee", "Bo Ek")),
        (f"<meta name=author content='{', '.join(MANY_NAMES)}'>", MANY_NAMES),
        ("<meta property=og:site_name content=Tea><meta name=author content=Tea>", ("Tea",)),
        ("<meta property=og:site_name content=Tea><meta name=author content='Ann Lee, Tea'>", ("Ann Lee",)),
        ("<p class=author>Updated January 8, 2026", ()),
        ("<p class=author>Ann Lee, a founder of Tea", ("Ann Lee",)),
        ("<p class=hero__author>Ann Lee</p>", ("Ann Lee",)),
        ("<div class=post-meta-author>By Ann Lee \u22c5 Editor</div>", ("Ann Lee",)),
        ("<h4 class=elementor-author-box__name>Ann Lee</h4>", ("Ann Lee",)),
        ("<div class=blog__authorname>Ann Lee</div>", ("Ann Lee",)),
        ("<span>by </span><p><a href=/authors/ann-lee>Ann Lee</a>", ("Ann Lee",)),
        ("<h1>Tea</h1><p>By Ann Lee<p class=the-author>Ann Lee Chief of Tea", ("Ann Lee",)),  # what a page signs first
        ("<p class=comment-form-author><label>Name *</label><a href=/authors/>Authors</a>", ()),
        ("<meta name=author content='design: Bo Ek'>", ()),
        ("<meta name=author content='By Jos\u00e9 Ortega y Gasset y Ana Ruiz'>", ("Jos\u00e9 Ortega y Gasset", "Ana Ruiz")),
        (f"<script type=application/ld+json>{LINKED_AUTHORS}</script>", (
            "Ministry of Health and Social Care", "Reporters in Exile", "John Smith 3rd", "Ann Lee", "Bo Ek", "Cy Fox",
            "Jo\u00e3o Maria da Concei\u00e7\u00e3o de Almeida e Silva")),
    ],
)  # fmt: skip
def test_authors_are_found_where_the_page_shows_them(html: str, authors: tuple[str, ...]) -> None:
    assert read(html).authors == authors


def test_a_date_in_the_address_or_beside_the_headline_counts_where_nothing_else_tells() -> None:
    assert read("<h1>Tea</h1>", "https://site.example/2024/03/05/tea.html").published == "2024-03-05"
    assert read("<h1>Tea</h1><p>March 5, 2024<p>Text").published == "March 5, 2024"


@given(st.binary(max_size=300))
def test_any_bytes_are_an_article(raw: bytes) -> None:
    assert isinstance(read_article(raw).markup, str)


def test_a_date_of_a_change_counts_where_no_other_date_is_shown() -> None:
    changed = "<h1>Tea</h1><p>Last updated March 5, 2024</p>"
    assert read(f"{changed}<p>{TEXT}", "").published == "Last updated March 5, 2024"
    assert read(f"{changed}<p>Posted March 1, 2024</p><p>{TEXT}", "").published == "Posted March 1, 2024"


def test_a_date_stands_beside_the_headline_and_not_beside_a_menu_that_says_its_first_words() -> None:
    menu = "".join(f"<li>Best {words}" for words in ("Tea", "Tea Pots", "Cups", "Jugs", "Pans", "Pots", "Ovens"))
    links = "".join(f"<li>Entry {number}" for number in range(20))
    page = f"<ul>{menu}{links}</ul><h1>Best Tea Pots of 2024</h1><ul><li>2/24/2024</ul><main><p>{TEXT}</main>"
    assert read(page, "").published == "2/24/2024"


def test_a_line_with_author_role_and_date_is_read_for_its_date() -> None:
    line = "By Christopher McNamara ⋅ Founder and Editor-in-Chief ⋅ Updated May 6, 2025"
    assert read(f"<h1>Tea</h1><p>{line}</p><p>{TEXT}", "").published == line


def test_a_published_date_in_the_head_is_found_by_any_of_its_usual_names() -> None:
    assert read(f'<meta name="published-date" content="2021-02-16"><h1>Tea</h1><p>{TEXT}', "").published == "2021-02-16"


_FIGURES = {
    "before its text": ("<h1>Tea</h1>{figure}<div>{prose}</div>", True),
    "before its headline": ("{figure}<h1>Tea</h1>{prose}", True),
    "between byline and headline": ("<h1>Tea</h1>{figure}<p>By Ann Lee</p>{prose}", True),
    "behind its text": ("<h1>Tea</h1>{prose}{figure}", True),
    "behind a caption": (
        "<h1>Tea</h1>{prose}<figure><img src=/b.jpg><figcaption>Cups</figcaption></figure>{figure}",
        True,
    ),
    "in a teaser": ("<h1>Tea</h1>{prose}<div><div>{figure}<h3>Coffee is older than that</h3></div></div>", False),
    "in an aside": ("<h1>Tea</h1>{prose}<aside>{figure}</aside>", False),
    "in the footer": ("<h1>Tea</h1>{prose}</article><footer>{figure}</footer><article>", False),
    "of another page": ("<h1>Tea</h1>{prose}<a href=/b>{figure}</a>", False),
}


@pytest.mark.parametrize("caption", ["", "<figcaption>A cup of it</figcaption>"])
@pytest.mark.parametrize("case", _FIGURES)
def test_figures_at_the_ends_of_an_article_are_its_own_where_they_stand_in_its_box(case: str, caption: str) -> None:
    pattern, own = _FIGURES[case]
    if case == "of another page":
        pattern = pattern.replace("<a href=/b>{figure}</a>", "{figure}").replace("{figure}", "{linked}")
    image = "<img src=/a.jpg alt=Cup>"
    figure = f"<figure>{image}{caption}</figure>"
    linked = f"<figure><a href=/b>{image}{caption and 'Another story of ours'}</a></figure>"
    prose = "".join(
        f"<p>Sentence {n} of what the town says of tea, of cups and of the water that is poured.</p>" for n in range(8)
    )
    body = pattern.format(figure=figure, prose=prose, linked=linked)
    page = f"<meta property=og:type content=article><title>Tea</title><nav><a href=/>Home</a></nav><main><article>{body}</article></main>"
    extracted = read_article(page.encode())
    assert ("/a.jpg" in extracted.markup) == own
    assert ("A cup of it" in extracted.markup) == (own and bool(caption))
    assert "A cup of it" not in extracted.blocks
