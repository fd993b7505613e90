"""Articles with different texts stay apart, whatever title, day and canonical address they share."""

import pytest

from tests.collections.news.press import Press
from tests.collections.news.test_sites import PROSE
from tests.collections.news.test_substitutes import gazette, put_article, put_sitemap
from tests.collections.news.workspace import articles, run, summaries


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


@pytest.mark.parametrize("date", ["", "<meta property=article:published_time content=2025-11-20T10:00:00Z>"])
@pytest.mark.parametrize("canonical", ["/news/brief-of-the-day", "/news/brief-of-anna"])
def test_different_texts_with_one_title_day_and_canonical_address_are_not_merged(tmp_path, press, canonical, date):
    def put_brief(name, text):
        head = f"{press.url}{canonical}'>{date}<meta name='x"
        put_article(press, f"/news/brief-of-{name}", "The brief of today", head, text)

    texts = {"anna": PROSE, "bert": "<p>Closed.</p>", "carl": PROSE.replace("harbour", "x y").replace("quay", "z w v")}
    for name, text in texts.items():
        put_brief(name, text)
    put_brief("anna/amp", PROSE + "<p>Read more on the web.</p>")
    put_sitemap(press, [(f"/news/brief-of-{name}", 20) for name in (*texts, "anna/amp")])
    run(gazette(tmp_path, press))
    urls = articles(tmp_path)
    assert len(urls) == 3
    assert {url.partition("brief-of-")[2].partition("/")[0] for url in urls} == texts.keys()
    counts = summaries(tmp_path)[0]["details"]
    assert (counts["shared_canonical"], counts["joined_address"]) == (2, 1)


def test_short_texts_without_a_date_and_texts_that_differ_in_a_name_are_not_merged(tmp_path, press):
    paths = [f"/news/notice-number-{number}.html" for number in (1, 2)]
    for path in paths:
        put_article(press, path, "Notice", text="<p>Closed today.</p>")
    obituaries = [f"/news/in-memory-of-{name}.html" for name in ("anna", "bert")]
    for path in obituaries:
        put_article(press, path, "In memoriam", text=f"<p>{path} died.</p>{PROSE}")
    put_sitemap(press, [(path, 20) for path in (*paths, *obituaries)])
    run(gazette(tmp_path, press))
    assert {url.removeprefix(press.url) for url in articles(tmp_path)} == {*paths, *obituaries}
