"""The settings of a source that say which addresses are articles, and where a page has an article's parts."""

import io
import json
from datetime import UTC, datetime

import pytest

from tests.collections.news.workspace import configured
from windrow.collections.news import discover, feed
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.wanted_paths import NO_ARTICLE_RULE, NOT_ARTICLE_RULE
from windrow.contract import Answer, Observation, Request, Skip, Task
from windrow.errors import ConfigError
from windrow.model import CdxLine
from windrow.reasons import Reason

AT = datetime(2026, 11, 22, tzinfo=UTC)
PATHS = "/2026/quay", "/2026/video/quay", "/about/us", "/sport/the-quay-opens-late"
PAGE = (
    "<html><head><title>Gazette</title></head><body><nav>Home Sport</nav><h1>The Gazette</h1>"
    "<div class=kicker>The quay opens</div><div class=w><i>Written by</i> <b>Ann Lee</b> <b>Bo Ek</b></div>"
    "<span class=d data-x=1>20 November 2026</span><div class=story><p>Boats came early.</p><p class=ad>Buy tea.</p>"
    "<div class=story><p>They stayed.</p></div></div><p>Another paragraph of the page.</p></body></html>"
)
SELECTORS = {
    "title_selectors": [".none", ".kicker"], "author_selectors": [".w b"], "date_selectors": [".d"],
    "text_selectors": [".story"], "exclude_selectors": [".ad"],
}  # fmt: skip


def source(tmp_path, **settings):
    return configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "page", **settings}}).source("g")


def read(source, url, page=PAGE):
    request = Request(url, "page.article", context="{}")
    task = Task(None, io.BytesIO(page.encode()), None, {}, {}, {}, source, AT, request=request)  # type: ignore[arg-type]
    return list(discover.read(task))


def follow(source, name, body):
    request = Request("https://a.example/list", f"{name}.list")
    return feed.follow(source, {}, Answer(request, 200, {}, io.BytesIO(body.encode()), AT))


def requested(result):
    return [request.url.removeprefix("https://a.example") for request in result.requests]


LINKS = "".join(f"<a href={path}>x</a>" for path in PATHS)
URLS = "".join(f"<url><loc>https://a.example{path}</loc></url>" for path in PATHS)
SITEMAP = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{URLS}</urlset>"


@pytest.mark.parametrize(("settings", "of_links", "of_sitemap"), [
    ({}, ["/sport/the-quay-opens-late"], [*PATHS]),
    ({"article": ["/2026/"]}, ["/2026/quay", "/2026/video/quay"], ["/2026/quay", "/2026/video/quay"]),
    ({"article": ["/2026/*"], "not_article": ["*/video/"]}, ["/2026/quay"], ["/2026/quay"]),
    ({"not_article": ["/sport/"]}, [], ["/2026/quay", "/2026/video/quay", "/about/us"]),
])  # fmt: skip
def test_only_addresses_with_the_paths_of_articles_are_requested(tmp_path, settings, of_links, of_sitemap):
    chosen = source(tmp_path, **settings)
    section = follow(chosen, "page", LINKS)
    assert requested(section) == of_links
    assert sum(count.addresses for count in section.left_out) == len(PATHS) - len(of_links)
    result = follow(chosen, "feed", SITEMAP)
    assert requested(result) == of_sitemap
    counted = {count.rule: count.addresses for count in result.left_out}
    assert sum(counted.values()) == len(PATHS) - len(of_sitemap), "what is not requested is counted"
    assert counted.keys() <= {NO_ARTICLE_RULE, NOT_ARTICLE_RULE}


def test_an_entry_with_the_address_of_its_list_is_counted_and_not_requested_as_an_article(tmp_path):
    entries = "".join(f"<url><loc>https://a.example{path}</loc></url>" for path in ("/list", "/2026/quay"))
    result = follow(source(tmp_path), "feed", f"<urlset>{entries}</urlset>")
    assert requested(result) == ["/2026/quay"]
    assert [(count.reason, count.example) for count in result.left_out] == [
        (Reason.NOT_WANTED, "https://a.example/list")
    ]


def test_links_of_a_section_page_to_other_origins_of_the_source_are_those_of_its_site(tmp_path):
    links = "<a href=https://news.b.example/2026/11/quay>x</a><a href=https://c.example/2026/11/quay>x</a><a href=/>Home</a>"
    section = follow(source(tmp_path, origins=["https://news.b.example/"]), "page", links)
    assert [request.url for request in section.requests] == ["https://news.b.example/2026/11/quay"]
    assert section.left_out == ()


def test_a_page_at_a_path_of_articles_is_one_without_further_signs(tmp_path):
    page = PAGE.replace("20 November 2026", "")
    assert [skip.reason for skip in read(source(tmp_path), "https://a.example/2026/quay", page)] == [Reason.NOT_WANTED]
    chosen = source(tmp_path, article=["/2026/"])
    (article,) = read(chosen, "https://a.example/2026/quay", page)
    assert isinstance(article, Observation)
    (skip,) = read(chosen, "https://a.example/about/us")
    assert (skip.reason, skip.message) == (Reason.NOT_WANTED, NO_ARTICLE_RULE)


@pytest.mark.parametrize("kind", ["wordpress", "townnews"])
def test_rows_of_interfaces_are_chosen_by_their_paths_too(tmp_path, kind):
    rows = [
        {"id": number, "uuid": str(number), "link": f"https://a.example{path}", "url": f"https://a.example{path}",
         "title": {"rendered": "The quay"} if kind == "wordpress" else "The quay",
         "content": {"rendered": "<p>Boats came."} if kind == "wordpress" else ["<p>Boats came."]}
        for number, path in enumerate(PATHS)
    ]  # fmt: skip
    body = json.dumps(rows if kind == "wordpress" else {"rows": rows, "total": len(rows)})
    configuration = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": kind, "article": ["/2026/"]}})
    request = Request("https://a.example/api", f"{kind}.rows")
    body_file = io.BytesIO(body.encode())
    task = Task(None, body_file, None, {}, {}, {}, configuration.source("g"), AT, request=request)  # type: ignore[arg-type]
    results = list(discover.read(task))
    assert [type(result) for result in results] == [Observation, Observation, Skip, Skip]
    assert {result.message for result in results[2:]} == {NO_ARTICLE_RULE}


def test_selectors_say_where_a_page_has_the_parts_of_an_article(tmp_path):
    chosen = source(tmp_path, article=["/2026/"], timezone="UTC", **SELECTORS)
    (article,) = read(chosen, "https://a.example/2026/quay")
    assert article.value["title"] == "The quay opens"
    assert article.value["author"] == "Ann Lee, Bo Ek"
    assert article.value["publication_date"] == "20 November 2026"
    assert article.value["publication_timestamp_gmt"] == 1795132800
    assert article.value["article_text"] == "Boats came early.\n\nThey stayed."


def test_selectors_that_select_nothing_leave_what_was_found_and_are_counted(tmp_path):
    chosen = source(
        tmp_path, article=["/2026/"], date_selectors=[".kicker"], text_selectors=[".none"], title_selectors=["h1"]
    )
    article, *skips = read(chosen, "https://a.example/2026/quay")
    assert article.value["title"] == "The Gazette"
    assert "Boats came early." in article.value["article_text"]
    assert [(skip.reason, skip.key) for skip in skips] == [
        (Reason.INCOMPLETE_RECORD, "date_selectors"), (Reason.INCOMPLETE_RECORD, "text_selectors"),
    ]  # fmt: skip


def test_a_selected_meta_element_gives_its_content(tmp_path):
    page = PAGE.replace("<title>", "<meta name=t content='The meta title'><time datetime=2026-11-19>y</time><title>")
    chosen = source(tmp_path, article=["/2026/"], title_selectors=["meta[name=t]"], date_selectors=["time"])
    (article,) = read(chosen, "https://a.example/2026/quay", page)
    assert (article.value["title"], article.value["publication_date"]) == ("The meta title", "2026-11-19")


def test_a_path_that_is_none_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="article: '2026' is not a path"):
        source(tmp_path, article=["2026"])


@pytest.mark.parametrize(("mime", "status", "is_wanted"), [
    ("text/html", 200, True), ("TEXT/HTML", 304, True), ("text/html; charset=utf-8", 200, True), ("", 200, True),
    ("unk", 200, True), ("warc/revisit", None, True), ("warc/revisit", 200, True), ("application/pdf", 404, True),
    ("application/pdf", 200, False), ("text/html", 500, False), ("text/html", None, False), ("warc/revisit", 301, False),
])  # fmt: skip
def test_captures_of_pages_are_wanted_however_an_index_writes_their_media_type(tmp_path, mime, status, is_wanted):
    line = CdxLine("", "20260101000000", "https://a.example/a", mime, status, "D", 1, 1, "a.warc")
    assert (discover.select(source(tmp_path), {})(line) is None) == is_wanted


@pytest.mark.parametrize(
    ("titles", "are_one"),
    [
        (("\N{GRINNING FACE}", "\N{PENCIL}\N{VARIATION SELECTOR-16}"), False), (("Rated A+", "Rated A-"), False),
        (("The plan: one", "The plan - one."), True), (("$5", "5"), False),
    ],
)  # fmt: skip
def test_articles_of_one_canonical_address_are_joined_if_words_and_symbols_of_their_titles_are_equal(titles, are_one):
    aliases = []
    for number, title in enumerate(titles):
        url = f"https://a.example/{number}"
        article = FoundArticle(
            url=url, kind="page", title=title, html="<p>Words.</p>", canonical_url="https://a.example/all.html"
        )
        aliases.append({*article_observation(article, "", None).aliases})
    assert bool(aliases[0] & aliases[1]) == are_one
