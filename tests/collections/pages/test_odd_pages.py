"""Pages with frames, signs in headlines, times in the future, soft 404s, and answers without content."""

from datetime import UTC, datetime

import pytest

from tests.collections.pages.test_summarise import read
from windrow.caps import HEAD_VALUE, Excess
from windrow.collections.pages.crawl_log import map_outcome
from windrow.collections.pages.reading.document import read_html_page
from windrow.collections.pages.steps import needs_body
from windrow.content.substitute import recognise_substitute
from windrow.model import Attempt, RecordedAttempt
from windrow.query import parse

AT = datetime(2026, 11, 21, tzinfo=UTC)


def test_frames_are_links_and_the_text_for_browsers_without_frames_is_read():
    page = read_html_page(
        b"<title>Town</title><FRAMESET cols='20%,80%'><frame src='menu.html' name='menu'><FRAME src=main.html>"
        b"<noframes><body><p>Welcome to the town. <a href='all.html'>all pages</a></body></noframes></FRAMESET>",
        "http://a.example/",
    )
    assert [link.url.rpartition("/")[2] for link in page.links] == ["menu.html", "main.html", "all.html"]
    assert "Welcome to the town." in page.pile.text


def test_signs_that_link_to_a_headline_or_to_its_editor_are_not_part_of_it():
    page = read_html_page(
        "<main><h1>Guide¶</h1><p>Text.</p><h2>Install<a href=#i>¶</a></h2><p>Run.</p><h2>History[edit]</h2></main>".encode(),
        "http://a.example/",
    )
    assert (page.description.headline, page.pile.big_headlines) == ("Guide", "Install\nHistory")


def test_a_time_of_a_page_that_has_not_come_yet_is_not_used():
    created, updated = (
        read(f"<meta property='article:published_time' content='{year}-01-01'><meta property='article:modified_time'"
             f" content='{year}-01-01'><p>Text of the page.", visited=AT, dated=False).described[:2]
        for year in (2025, 2999)
    )  # fmt: skip
    assert None not in created
    assert updated == (None, None)


@pytest.mark.parametrize("status", [204, 205, 206])
def test_an_answer_without_content_is_not_a_text(status):
    attempt = Attempt(1, "http://a.example/", 0, True, AT, 0.1, status)
    assert not needs_body(RecordedAttempt(1, 1, AT, "blog", attempt))
    assert map_outcome(status, None) == 42


@pytest.mark.parametrize(
    ("query", "notes"), [("tea | coffee", 0), ("(tea | milk) sugar", 0), ("tea §", 1), ("| tea", 1)]
)
def test_a_sign_that_means_or_is_not_reported_as_left_out(query, notes):
    assert len(parse(query).notes) == notes


NOT_FOUND = (
    "404", "Error 404", "404 Not Found", "HTTP 404", "Not Found", "Page not found", "Oops! That page can\u2019t be found.",
    "Nothing found", "This page doesn't exist", "The page you requested could not be found", "Seite nicht gefunden",
    "Fehler 404 - Seite nicht gefunden", "Page introuvable", "Página no encontrada", "Página não encontrada",
    "Pagina non trovata", "Pagina niet gevonden", "Sidan kunde inte hittas", "Nie znaleziono strony",
    "Страница не найдена", "ページが見つかりません", "页面不存在", "Article no longer available",
)  # fmt: skip
FOUND = (
    "Lost and found", "Body found in river", "Nothing could be found out", "Page found", "The page was found",
    "404 days in space", "Page not found: how the archive lost its maps", "Error", "Sorry", "Council not found guilty",
    "Before you vote", "Moment of truth", "Access roads denied",
)  # fmt: skip


def test_titles_of_soft_404s_are_recognised_and_no_others():
    assert [
        title
        for title in NOT_FOUND
        if recognise_substitute([f"{title} | The Gazette"], "Try the search.") != "soft_404"
    ] == []
    assert [title for title in FOUND if recognise_substitute([title], "A short text.")] == []
    assert recognise_substitute(["Page not found"], "A long article about it. " * 200) is None
    assert recognise_substitute(["404 | Peugeot", "404"], "A saloon of the sixties. " * 30) is None
    assert recognise_substitute(["404 | The Gazette"], "Go home.") == "soft_404"
    assert recognise_substitute(["404 Error | The Gazette"], "Read on. " * 100) == "soft_404"
    assert recognise_substitute(["Cookie notice | Town"], "This site stores a cookie for the language.") is None
    sentence = "We are sorry, the article you are looking for has been removed."
    assert recognise_substitute(["The Gazette"], sentence) == "soft_404"
    assert recognise_substitute(["The Gazette"], sentence + " More prose." * 100) is None


def test_json_ld_that_cannot_be_read_is_told():
    page = read_html_page(b"<script type=application/ld+json>{'a': 1}</script><p>Tea.", "http://a.example/")
    (finding,) = page.findings
    assert (finding.kind, finding.message) == ("unread_json_ld", "of its JSON-LD, 1 script cannot be read")
    summary = read("<script type=application/ld+json>{x}</script><p>Tea.")
    assert [skip.reason for skip in summary.left_out] == ["not_well_formed"]
    assert summary.reason == "", "its text is whole"


def test_links_that_are_not_stored_are_counted():
    summary = read(f"<p>Tea.<a href='mailto:{'x' * 3_000}'>a</a><img src='http://['><img src='http://]'>")
    assert [(skip.reason, skip.number) for skip in summary.left_out] == [("address_too_long", 1), ("bad_address", 2)]
    assert summary.reason == "", "its text is whole"


def test_a_title_that_does_not_end_is_cut_and_the_rest_counted():
    page = read_html_page(b"<title>" + b"tea, " * 30_000 + b"x", "http://a.example/")
    assert len(page.description.title) == HEAD_VALUE.number
    assert page.left_out == (Excess(HEAD_VALUE, 50_001),)
    headline = read_html_page(b"<h1>" + b"tea, " * 30_000, "http://a.example/").description
    assert (len(headline.headline), len(headline.title)) == (HEAD_VALUE.number,) * 2


@pytest.mark.parametrize(("html", "excess"), [
    ("<div>" * 515 + "<a href=/x>x</a>" + "<p>y" * 12_000, [("PAGE_LEVELS", 3)]),
    (f"<a href=/x {' '.join(f'name-{number}=1' for number in range(450))}>x</a>", [("TAG_ATTRIBUTES", 51)]),
    ("<a href=/x>x</a><select>" + "<option>y" * 12_000, [("PAGE_OPTIONS", 2_000)]),
    ("<div>" * 515 + "<a href=/x>x</a>", []),
    (f"<script>if (a<b && {'c && ' * 900} d) {{}}</script><a href=/x>x</a>", []),
    (f"<!-- a <b {'c ' * 3_000}--><a href=/x>x</a>", []),
    (f"<script></script><a href=/x>x</a><p {' '.join(map('x{}'.format, range(900)))}>y", [("TAG_ATTRIBUTES", 500)]),
])  # fmt: skip
def test_tags_that_are_left_out_are_counted_and_links_kept(html, excess):
    page = read_html_page(html.encode(), "http://a.example/")
    assert [link.url for link in page.links] == ["http://a.example/x"]
    assert [(cap.name, number) for cap, number in page.left_out] == excess


@pytest.mark.parametrize("text", ["<script>if (a<b && c) {}; a<b </script>", "<!-- a<b -->", "<!-- <div --><!-- -->"])
def test_a_removed_tag_takes_no_end_of_a_script_or_comment_with_it(text):
    formats = f"{'<b>' * 1_000}{text}<a href=/x>x</a>{'<p>y' * 1_000}"
    levels = f"{'<div>' * 512}{text}<a href=/x>x</a>{'<p>y' * 12_000}"
    for html in (formats, levels):
        (link,) = read_html_page(html.encode(), "http://a.example/").links
        assert link.text == "x"


@pytest.mark.parametrize("shape", ["<path d='M0 0'/>", "<use\nhref=#a />", "<Rect x=1/>", "<feBlend/>", "<g/>"])
def test_the_shapes_of_a_drawing_are_not_nested_in_each_other(shape):
    html = f"<svg><title>x</title><g>{shape * 13_000}</g></svg><div><h1>Tea</h1><h2>Pour</h2><a href=/x>x</a></div>"
    page = read_html_page(html.encode(), "http://a.example/")
    assert (page.description.headline, page.pile.big_headlines) == ("Tea", "Pour")
    assert page.left_out == ()
