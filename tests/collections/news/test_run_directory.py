"""The directory of a run: its raw replies are valid JSON, and its summary says how every site did."""

import json
from pathlib import Path

import pytest

from tests.collections.news.paper import article, rss
from tests.collections.news.press import Press
from tests.collections.news.workspace import configured, run, summaries


@pytest.fixture
def press():
    served = Press(posts=3)
    yield served
    served.close()


def feed_of(press, numbers):
    press.posts = {}
    press.put("/rss.xml", rss(press.url, numbers, mark=""), "application/rss+xml")
    for number in numbers:
        press.put(f"/news/the-quay-story-{number}.html", article(press.url, number))
    return {"paper": {"url": f"{press.url}/rss.xml", "kind": "feed"}}


def results(root, run=-1):
    return {one["domain"]: one for one in summaries(root, "_collection_summary.json")[run]["results"]}


def test_raw_replies_are_json_where_the_first_reply_of_a_site_lists_nothing(tmp_path, press):
    workspace = configured(tmp_path, {"press": {"url": press.url, "kind": "wordpress", "overlap": "0s"}})
    run(workspace)
    press.edit(2, "2099-01-01T00:00:00", title={"rendered": "Edited"})  # in one window, and the other is empty
    run(workspace)
    for path in sorted(tmp_path.glob("raw_news_data/*/*/127*.json")):
        rows = json.loads(path.read_text())
    assert [one["title"]["rendered"] for one in rows if one["id"] == 2] == ["Edited"]


def test_the_summary_counts_the_articles_of_a_feed_and_says_where_its_replies_are_listed(tmp_path, press):
    run(configured(tmp_path, feed_of(press, (1, 2, 3))))
    (one,) = results(tmp_path).values()
    assert (one["status"], one["article_count"]) == ("success", 3)
    assert json.loads(Path(one["file_path"]).read_text())[0]["url"].startswith(press.url)


def test_an_article_whose_page_fails_does_not_make_its_site_fail(tmp_path, press):
    sites = feed_of(press, (1, 2, 3))
    press.put("/news/the-quay-story-2.html", "no", status=404)
    run(configured(tmp_path, sites))
    (one,) = results(tmp_path).values()
    assert (one["status"], one["article_count"]) == ("success", 2)
    assert "error_message" not in one
    assert summaries(tmp_path)[0]["statistics"]["errors"] == 1


def test_a_site_whose_front_page_fails_is_in_the_summary(tmp_path, press):
    press.posts = {}
    run(configured(tmp_path, {"press": {"url": f"{press.url}/"}}))
    (one,) = results(tmp_path).values()
    assert one["status"] == "error"
    assert one["error_message"]
