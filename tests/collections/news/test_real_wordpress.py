"""A real WordPress: posts added, back-dated, edited, moved, trashed and scheduled between runs."""

import time
import urllib.error

import pytest

from tests.collections.news.workspace import articles, configured, run, summaries
from tests.servers.wordpress import find_package
from windrow.collections.news import standard
from windrow.collections.news.adapter import ADAPTER
from windrow.formats.url import normalise

TEXT = "<!-- wp:list --><ul><li>one<ul><li>two</li></ul></li></ul><p>Text &amp; <strong>more</strong>.</p>"


def gmt(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + seconds))


def test_a_wordpress_without_a_theme_has_no_pages_and_is_not_run(tmp_path):
    themes = tmp_path / "wp-content" / "themes"
    themes.mkdir(parents=True)
    with pytest.raises(pytest.skip.Exception, match="a theme of WordPress is not here: make servers"):
        find_package(tmp_path)
    (themes / "plain").mkdir()
    (themes / "plain" / "style.css").touch()
    find_package(tmp_path)


def test_posts_of_a_real_wordpress_are_found_or_told_as_gone_whatever_is_done_to_them_between_runs(tmp_path, wordpress):
    call = wordpress.call
    workspace = configured(tmp_path, {"wp": {"url": wordpress.url, "full_listing_every": 0}}, "rewrite_changed = true")
    run(workspace)
    first = articles(tmp_path)
    assert len(first) == 30
    assert not [problem for each in first.values() for problem in standard.problems(each)]
    crab = next(article for article in first.values() if "Crabs" in article["title"])
    assert crab["title"] == "\U0001f980 Crabs & \u201cquotes\u201d < 5 \u2014 caf\u00e9"
    assert crab["article_text"] == "Body of story 7: & \\<b> \U0001d11e.\n\nSecond paragraph."
    assert {article["author"] for article in first.values()} == {"admin", "In\u00e9s M\u00fcller"}
    assert {word for article in first.values() for word in article["keywords"]} == {
        "News", "Sport & Leisure", "Opinion", "odd", "even",
    }  # fmt: skip
    assert (crab["publication_date"], crab["publication_timestamp_gmt"]) == ("2024-03-02T09:00:00Z", 1709370000)
    due = time.time() + 4
    for title, fields in {
        "Added": {}, "Back-dated": {"date_gmt": "2019-05-05T05:05:05"}, "Locked": {"password": "x"},
        "Scheduled": {"status": "future", "date_gmt": gmt(4)}, "Far": {"status": "future", "date_gmt": gmt(86_400)},
    }.items():  # fmt: skip
        call("POST", "posts", **({"title": title, "content": TEXT, "status": "publish"} | fields))
    edited, moved, trashed, hidden, unlisted = call(
        "GET", "posts?per_page=5&orderby=date&order=asc&after=2024-01-01T00:00:00"
    )
    call("POST", f"posts/{edited['id']}", content="<p>Edited.</p>")
    call("POST", f"posts/{moved['id']}", slug="another-name")
    call("DELETE", f"posts/{trashed['id']}")
    call("POST", f"posts/{hidden['id']}", status="private")
    call("DELETE", f"posts/{unlisted['id']}?force=true")
    time.sleep(max(0.0, due + 1 - time.time()))
    wordpress.publish_scheduled()
    run(workspace)
    written = articles(tmp_path)
    assert {article["title"] for url, article in written.items() if url not in first} == {
        "Added",
        "Back-dated",
        "Scheduled",
    }
    added = next(article for article in written.values() if article["title"] == "Added")
    assert added["article_text"] == "- one\n  - two\n\nText & **more**."
    assert written[edited["link"]]["article_text"] == "Edited."
    assert [revision["changed"] for revision in written[edited["link"]]["metadata"]["revisions"]] == [
        [], ["article_text", "excerpt", "word_count"],
    ]  # fmt: skip
    assert written[moved["link"]]["metadata"]["canonical_url"].endswith("/another-name/")
    gone = {post["link"] for post in (trashed, hidden, unlisted)}
    assert gone < written.keys()  # files of deleted posts are kept
    fields = summaries(tmp_path)[1]
    assert (fields["details"]["gone"], fields["details"]["error: password_protected"]) == (3, 1)
    assert fields["statistics"]["articles_new"] == 3
    searched = ADAPTER.search(workspace, "story", offset=0, limit=50, explain=False).results
    assert not gone & {hit.url for hit in searched}
    call("POST", f"posts/{hidden['id']}", status="publish")
    time.sleep(1.1)
    run(workspace)
    assert "gone" not in summaries(tmp_path)[2]["details"]
    searched = ADAPTER.search(workspace, "story", offset=0, limit=50, explain=False).results
    assert gone & {hit.url for hit in searched} == {hidden["link"]}
    assert len(articles(tmp_path)) == 33
    assert not [problem for each in articles(tmp_path).values() for problem in standard.problems(each)]


def test_the_feed_and_the_pages_of_a_real_wordpress_give_the_same_articles_as_its_interface(tmp_path, wordpress):
    run(configured(tmp_path / "api", {"wp": {"url": wordpress.url}}))
    run(configured(tmp_path / "feed", {"wp": {"url": wordpress.url, "kind": "feed", "seeds": ["feed/"]}}))
    by_feed = articles(tmp_path / "feed")
    by_api = {normalise(url).url: article for url, article in articles(tmp_path / "api").items()}
    assert len(by_feed) == 30  # ten on each page of the feed
    assert by_feed.keys() <= by_api.keys()
    for url, article in by_feed.items():
        same = {name: article[name] for name in ("title", "publication_timestamp_gmt")}
        assert same == {name: by_api[url][name] for name in same}
        assert "Second paragraph." in article["article_text"]
    with pytest.raises(urllib.error.HTTPError):  # a page beyond the end is refused, as the reader expects
        wordpress.call("GET", "posts?page=99")
