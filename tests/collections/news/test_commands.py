"""News through the command line, over static sites of a real nginx: crawled, asked, or both; taken down, replayed."""

import json
import os
import time

import pytest

from tests.collections.news import paper
from tests.collections.news.workspace import articles, summaries
from windrow.cli import main
from windrow.collections.news import standard

PAGES = '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate = ["127.0.0.1"]\ndelay = "1 ms"\n'


@pytest.fixture
def town(village):
    village.clear()
    paper.publish(village, (1, 2, 3))
    return village


@pytest.fixture
def windrow(capfd, monkeypatch):
    """Run a command in this process; return its exit code and what it wrote to stdout."""
    for name in [name for name in os.environ if name.startswith("WINDROW_")]:
        monkeypatch.delenv(name)

    def call(*words):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capfd.readouterr()
        return int(ended.value.code or 0), said.out or said.err

    return call


def configured(root, monkeypatch, *, news="", **sources):
    """Write a workspace whose sources are those named, each a table of settings, and go there."""
    lines = [PAGES, "[news]", news]
    for name, told in sources.items():
        table = told if "collection" in told else {"collection": "news", "delay": "0s"} | told
        lines += [f"[source.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    root.mkdir(exist_ok=True)
    (root / "windrow.toml").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(root)
    return root


def titles(root):
    return sorted(one["title"] for one in articles(root).values())


THREE = ["The quay 1", "The quay 2", "The quay 3"]


def test_a_site_that_pages_crawls_gives_its_news_without_being_asked_again(tmp_path, town, windrow, monkeypatch):
    blog = {"collection": "pages", "url": f"{town.origin(0)}/"}
    configured(tmp_path, monkeypatch, blog=blog, gazette={"from": ["pages:blog"]})
    since = town.mark()
    assert windrow("run")[0] == 0
    asked = [one.path for one in town.asked(since)]
    assert len(asked) == len(set(asked)), asked
    assert {"/news/the-quay-story-1.html", "/about.html"} < set(asked)
    assert titles(tmp_path) == THREE
    assert not [one for each in articles(tmp_path).values() for one in standard.problems(each)]
    (summary,) = summaries(tmp_path)
    assert summary["source"] == "page"
    assert summary["statistics"]["articles_new"] == 3
    town.put(0, "news/the-quay-story-4.html", paper.article(town.origin(0), 4))
    town.put(0, "index.html", paper.front((1, 2, 3, 4)))
    assert windrow("run", "pages", "--again")[0] == 0
    since = town.mark()
    assert windrow("run", "news")[0] == 0
    assert town.asked(since) == []
    assert titles(tmp_path) == [*THREE, "The quay 4"]


@pytest.mark.parametrize("first", ["pages", "news", "both"])
def test_a_site_that_is_crawled_and_asked_has_one_file_for_each_article(tmp_path, town, windrow, monkeypatch, first):
    origin = town.origin(0)
    blog = {"collection": "pages", "url": f"{origin}/"}
    gazette = {"url": f"{origin}/", "kind": "feed", "addresses": ["rss.xml"], "from": ["pages:blog"]}
    configured(tmp_path, monkeypatch, blog=blog, gazette=gazette)
    for names in ([first], []) if first != "both" else ([],):
        assert windrow("run", *names)[0] == 0
    assert titles(tmp_path) == THREE
    assert windrow("run")[0] == 0
    assert titles(tmp_path) == THREE
    assert sum(one["statistics"]["articles_new"] for one in summaries(tmp_path)) == 3
    found = articles(tmp_path)
    assert {one["metadata"].get("canonical_url", url) for url, one in found.items()} == {
        f"{origin}/news/the-quay-story-{number}.html" for number in (1, 2, 3)
    }
    assert windrow("check")[0] == 0


@pytest.mark.parametrize("kind", ["front", "feed", "sitemap", "section"])
def test_a_static_site_of_nginx_gives_its_articles_whatever_names_them(tmp_path, town, windrow, monkeypatch, kind):
    told = {"front": {}, "feed": {"kind": "feed", "addresses": ["rss.xml"]},
            "sitemap": {"kind": "feed", "addresses": ["sitemap.xml"]}, "section": {"kind": "page"}}[kind]  # fmt: skip
    configured(tmp_path, monkeypatch, gazette={"url": f"{town.origin(0)}/"} | told)
    assert windrow("run", "news")[0] == 0
    assert titles(tmp_path) == THREE
    town.put(0, "news/the-quay-story-4.html", paper.article(town.origin(0), 4))
    for name, text in {"index.html": paper.front((4, 3, 2)), "rss.xml": paper.rss(town.origin(0), (4, 3)),
                       "sitemap.xml": paper.sitemap(town.origin(0), (1, 2, 3, 4))}.items():  # fmt: skip
        town.put(0, name, text)
    time.sleep(1.1)
    since = town.mark()
    assert windrow("run", "news")[0] == 0
    assert titles(tmp_path) == [*THREE, "The quay 4"]
    assert [one.path.partition("?")[0] for one in town.asked(since) if "/news/" in one.path] == [
        "/news/the-quay-story-4.html"
    ]
    code, said = windrow("search", "harbour council", "--json")
    assert code == 0
    assert len([line for line in said.splitlines() if json.loads(line)["type"].endswith("result")]) == 4
    assert windrow("check", "news", tmp_path / "normalized_news")[0] == 0
