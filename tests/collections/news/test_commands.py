"""News through the command line, over static sites of a real nginx: crawled, requested, or both; takedown, replay."""

import json
import os
import time

import pytest

from tests.cli.test_forget import remains
from tests.clock import pass_time
from tests.collections.news import paper
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, summaries
from windrow.cli import main
from windrow.collections.news import standard
from windrow.collections.news.adapter.adapter import _remove_articles

PAGES = (
    '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
)


def test_a_takedown_leaves_alone_addresses_that_are_not_texts(tmp_path):
    posts = [{"link": ["https://a.example/1"]}, {"link": {"u": 1}, "url": None}, {"link": "https://a.example/1"}]
    posts.append({"url": "http://www.a.example/1/?utm_source=feed"})  # the same article, in another spelling
    (tmp_path / "posts.json").write_text(json.dumps(posts))
    _remove_articles(tmp_path / "posts.json", {"https://a.example/1"})
    assert json.loads((tmp_path / "posts.json").read_text()) == posts[:2]


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
        output = capfd.readouterr()
        return int(ended.value.code or 0), output.out or output.err

    return call


def configured(root, monkeypatch, *, news="", **sources):
    """Write a workspace with these sources, each a table of settings, and change to its folder."""
    lines = [PAGES, "[news]", news]
    for name, settings in sources.items():
        table = settings if "collection" in settings else {"collection": "news", "delay": "0s"} | settings
        lines += [f"[source.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    root.mkdir(exist_ok=True)
    (root / "windrow.toml").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(root)
    return root


def titles(root):
    return sorted(article["title"] for article in articles(root).values())


THREE = ["The quay 1", "The quay 2", "The quay 3"]


def test_a_site_that_pages_crawls_gives_its_news_without_being_asked_again(tmp_path, town, windrow, monkeypatch):
    blog = {"collection": "pages", "url": f"{town.origin(0)}/"}
    configured(tmp_path, monkeypatch, blog=blog, gazette={"from": ["pages:blog"]})
    since = town.mark()
    assert windrow("run")[0] == 0
    asked = [request.path for request in town.asked(since)]
    assert len(asked) == len(set(asked)), asked
    assert {"/news/the-quay-story-1.html", "/about.html"} < set(asked)
    assert titles(tmp_path) == THREE
    assert not [problem for each in articles(tmp_path).values() for problem in standard.problems(each)]
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
    gazette = {"url": f"{origin}/", "kind": "feed", "seeds": ["rss.xml"], "from": ["pages:blog"]}
    configured(tmp_path, monkeypatch, blog=blog, gazette=gazette)
    for names in ([first], []) if first != "both" else ([],):
        assert windrow("run", *names)[0] == 0
    assert titles(tmp_path) == THREE
    assert windrow("run")[0] == 0
    assert titles(tmp_path) == THREE
    assert sum(summary["statistics"]["articles_new"] for summary in summaries(tmp_path)) == 3
    written = articles(tmp_path)
    assert {article["metadata"].get("canonical_url", url) for url, article in written.items()} == {
        f"{origin}/news/the-quay-story-{number}.html" for number in (1, 2, 3)
    }
    assert windrow("check")[0] == 0


@pytest.mark.parametrize("kind", ["front", "feed", "sitemap", "section"])
def test_a_static_site_of_nginx_gives_its_articles_whatever_names_them(tmp_path, town, windrow, monkeypatch, kind):
    sources = {"front": {}, "feed": {"kind": "feed", "seeds": ["rss.xml"]},
            "sitemap": {"kind": "feed", "seeds": ["sitemap.xml"]}, "section": {"kind": "page"}}[kind]  # fmt: skip
    configured(tmp_path, monkeypatch, gazette={"url": f"{town.origin(0)}/"} | sources)
    assert windrow("run", "news")[0] == 0
    assert titles(tmp_path) == THREE
    pass_time(1.1)  # the ETag of nginx is the time in seconds and the size
    town.put(0, "news/the-quay-story-4.html", paper.article(town.origin(0), 4))
    for name, text in {"index.html": paper.front((4, 3, 2)), "rss.xml": paper.rss(town.origin(0), (4, 3)),
                       "sitemap.xml": paper.sitemap(town.origin(0), (1, 2, 3, 4))}.items():  # fmt: skip
        town.put(0, name, text)
    pass_time(1.1)
    since = town.mark()
    assert windrow("run", "news")[0] == 0
    assert titles(tmp_path) == [*THREE, "The quay 4"]
    assert [request.path.partition("?")[0] for request in town.asked(since) if "/news/" in request.path] == [
        "/news/the-quay-story-4.html"
    ]
    code, output = windrow("search", "harbour council", "--json")
    assert code == 0
    assert len([line for line in output.splitlines() if json.loads(line)["type"].endswith("result")]) == 4
    assert windrow("check", "news", tmp_path / "normalized_news")[0] == 0


def test_an_article_that_pages_finds_gone_is_told_by_why_changes_and_search_and_keeps_its_file(
    tmp_path, town, windrow, monkeypatch
):
    blog = {"collection": "pages", "url": f"{town.origin(0)}/"}
    configured(tmp_path, monkeypatch, blog=blog, gazette={"from": ["pages:blog"]})
    assert windrow("run")[0] == 0
    url = f"{town.origin(0)}/news/the-quay-story-2.html"
    (town.roots[0] / "news/the-quay-story-2.html").unlink()
    pass_time(1.1)
    assert windrow("run", "pages", "--again")[0] == 0
    assert windrow("run", "news")[0] == 0
    assert titles(tmp_path) == THREE
    assert f"{url}: a record of news, gone" in windrow("why", url)[1]
    changes = [json.loads(line) for line in windrow("changes", "--json")[1].splitlines()]
    assert [(change["kind"], change["key"]) for change in changes if change.get("collection") == "news"] == [
        ("gone", url)
    ]
    urls = [hit["url"] for hit in hits(windrow, "harbour") if hit.get("collection") == "news"]
    assert len(urls) == 2
    assert url not in urls
    assert windrow("check")[0] == 0


SECRET = "zanzibarite"


def hits(windrow, words):
    return [json.loads(line) for line in windrow("search", words, "--json")[1].splitlines()][:-1]


def test_forgetting_an_article_leaves_nothing_of_it_and_it_does_not_come_back(tmp_path, town, windrow, monkeypatch):
    secret = paper.article(town.origin(0), 2, text=f"<p>It is about {SECRET}.</p>{paper.PROSE}")
    town.put(0, "news/the-quay-story-2.html", secret)
    feed = {"url": f"{town.origin(0)}/", "kind": "feed", "seeds": ["rss.xml"]}
    configured(tmp_path, monkeypatch, gazette=feed)
    assert windrow("run")[0] == 0
    assert len(hits(windrow, SECRET)) == 1
    (url,) = (url for url, article in articles(tmp_path).items() if SECRET in article["article_text"])
    assert windrow("forget", url, "--yes", "--reason", "asked by its author")[0] == 0
    assert remains(tmp_path, SECRET) == []
    pass_time(1.1)
    for command in (["run"], ["replay"], ["run", "--again"], ["run"]):
        assert windrow(*command)[0] == 0, command
        assert titles(tmp_path) == ["The quay 1", "The quay 3"], command
        assert hits(windrow, SECRET) == []
    assert remains(tmp_path, SECRET) == []
    assert len(hits(windrow, "harbour")) == 2
    code, lines = windrow("export", "news", "--as", "jsonl")
    assert (code, len(lines.splitlines())) == (0, 2)
    assert SECRET not in windrow("export", "news", "--as", "atom")[1]
    assert windrow("check")[0] == 0


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


@pytest.mark.parametrize("kind", ["wordpress", "townnews"])
def test_forgetting_one_article_of_a_list_keeps_the_others_and_its_site_goes_on(
    tmp_path, press, windrow, monkeypatch, kind
):
    def publish(*numbers):
        for number in numbers:
            text = f"<p>Story {number} {SECRET if number == 2 else ''}</p>"
            press.post(number, content={"rendered": text, "protected": False})
        rows = [
            {"uuid": f"u{number}", "type": "article", "url": post["link"], "title": f"Story {number}",
             "content": [post["content"]["rendered"]], "starttime": {"iso8601": f"{post['date']}Z"}}
            for number, post in sorted(press.posts.items(), reverse=True)
        ]  # fmt: skip
        path = "/search/?f=json&l=100&s=start_time&sd=desc&t=article&o=0"
        press.put(path, json.dumps({"total": len(rows), "rows": rows}), "application/json")

    publish(1, 2, 3)
    configured(tmp_path, monkeypatch, gazette={"url": press.url, "kind": kind, "full_listing_every": "0s"})
    assert windrow("run")[0] == 0
    url = press.posts[2]["link"]
    assert url in articles(tmp_path)
    assert windrow("forget", url, "--yes")[0] == 0
    assert remains(tmp_path, SECRET) == []
    others = {press.posts[number]["link"] for number in (1, 3)}
    assert articles(tmp_path).keys() == others
    publish(9)
    press.edit(2, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), title={"rendered": "Again"})
    pass_time(1.1)
    for command in (["run"], ["replay"], ["run"]):
        assert windrow(*command)[0] == 0
        assert articles(tmp_path).keys() == others | {press.posts[9]["link"]}, command
    assert len(hits(windrow, "story")) == 3
    assert hits(windrow, SECRET) == []
    assert windrow("forget", url, "--lift")[0] == 0
    pass_time(1.1)
    press.edit(2, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), title={"rendered": "Again, and again"})
    press.put(
        "/search/?f=json&l=100&s=start_time&sd=desc&t=article&o=0",
        press.pages["/search/?f=json&l=100&s=start_time&sd=desc&t=article&o=0"][2] + b" ",
        "application/json",
    )
    assert windrow("run")[0] == 0
    assert url in articles(tmp_path)


def test_check_tells_each_fault_of_a_tree_that_other_tools_made_as_a_line_of_json(tmp_path, windrow):
    good = {
        "url": "https://example.com/article1", "title": "T", "article_text": "x", "source_domain": "example.com",
        "first_seen_timestamp_gmt": 1763670601, "author": None, "keywords": [],
    }  # fmt: skip
    folder = tmp_path / "example.com"
    folder.mkdir()
    name = standard.file_name(good["url"])
    (folder / name).write_text(json.dumps(good))
    code, output = windrow("check", "news", tmp_path, "--json")
    assert (code, [line for line in output.splitlines() if json.loads(line)["type"] == "fault"]) == (0, [])
    (tmp_path / "example.org").mkdir()
    (tmp_path / "example.org" / name).write_text(json.dumps(good))  # in another domain's folder
    (folder / "a1b2.json").write_text(json.dumps(good))
    (folder / f"{'0' * 32}.json").write_text(json.dumps(good | {"metadata": {"score": float("nan")}}))
    os.mkfifo(folder / f"{'1' * 32}.json")
    (folder / f"{'2' * 32}.json").symlink_to("/etc/passwd")
    with (folder / f"{'3' * 32}.json").open("wb") as file:
        file.truncate(1 << 33)  # 8 GiB of zeros
    code, output = windrow("check", "news", tmp_path, "--json")
    faults = [fault for fault in map(json.loads, output.splitlines()) if fault["type"] == "fault"]
    assert code == 1
    assert {fault["location"].rpartition("/")[2][:4] for fault in faults} == {
        name[:4],
        "a1b2",
        "0000",
        "1111",
        "2222",
        "3333",
    }
    assert len(faults) == 6


@pytest.mark.parametrize(("kind", "code"), [("article", 0), ("picture", 1), ("no article", 1)])
def test_trying_a_page_ends_well_where_it_is_an_article_also_one_without_links(tmp_path, press, windrow, kind, code):
    body = {
        "article": paper.article(press.url, 1).replace("<a href", "<i title"), "picture": b"\x89PNG\r\n",
        "no article": "<title>Hours</title><p>Open from nine to five.",
    }[kind]  # fmt: skip
    press.put("/x.html", body, "image/png" if kind == "picture" else "text/html")
    ended, output = windrow("try", f"{press.url}/x.html", "--collection", "news")
    assert ended == code, output
    assert ("The quay 1" in output) == (code == 0)


def test_a_feed_of_the_newest_articles_says_how_many_it_leaves_out(tmp_path, press, windrow, monkeypatch, capfd):
    press.put("/rss.xml", paper.rss(press.url, (1, 2, 3), mark=""))
    for number in (1, 2, 3):
        press.put(f"/news/the-quay-story-{number}.html", paper.article(press.url, number))
    gazette = {"url": f"{press.url}/rss.xml", "kind": "feed"}
    configured(tmp_path, monkeypatch, news="feed_articles = 2", gazette=gazette)
    assert windrow("run")[0] == 0
    written = {}
    for form in ("atom", "jsonl"):
        capfd.readouterr()
        with pytest.raises(SystemExit):
            main(["export", "news", "--as", form])
        written[form] = capfd.readouterr().err
    rule = "more than 2 articles of an exported feed; the setting news.feed_articles allows more"
    assert written["atom"] == f"2 articles written\nleft out: 1 article, {rule}\n"
    assert written["jsonl"] == "3 articles written\n"


def test_one_article_is_counted_as_one_by_export_and_by_why_and_a_damaged_one_is_reported(
    tmp_path, press, windrow, monkeypatch, capfd
):
    press.put("/rss.xml", paper.rss(press.url, (1,), mark=""))
    press.put("/news/the-quay-story-1.html", paper.article(press.url, 1))
    configured(tmp_path, monkeypatch, gazette={"url": f"{press.url}/rss.xml", "kind": "feed"})
    assert windrow("run")[0] == 0
    assert "1 article named" in windrow("why", f"{press.url}/rss.xml")[1]
    with pytest.raises(SystemExit):
        main(["export", "news", "--as", "atom"])
    assert capfd.readouterr().err == "1 article written\n"
    output = windrow("search", "quay")[1]
    assert output.count(f"{press.url}/news/the-quay-story-1.html") == 1
    assert windrow("check")[0] == 0
    (path,) = tmp_path.glob("normalized_news/*/*.json")
    path.write_text(path.read_text()[:-20])
    code, output = windrow("check")
    assert (code, "is not JSON" in output, "move the file away, then windrow replay" in output) == (1, True, True)
    capfd.readouterr()
    with pytest.raises(SystemExit):
        main(["export", "news", "--as", "atom"])
    left_out = "left out, because they are not valid or not there: 1 article; windrow check names them"
    assert capfd.readouterr().err == f"0 articles written\n{left_out}\n"
    path.unlink()  # as if its disk were not mounted
    with pytest.raises(SystemExit):
        main(["export", "news", "--as", "jsonl"])
    assert capfd.readouterr().err == f"0 articles written\n{left_out}\n"


def test_an_article_at_several_spellings_of_its_address_is_one_record_that_search_tells_once(
    tmp_path, press, windrow, monkeypatch
):
    path = "/news/the-quay-story-1.html"
    first = f"{press.url}{path}"
    spellings = [f"{first}?utm_source=a", first, f"{first}/", f"{press.url}/amp{path}"]
    page = paper.article(press.url, 1, text=f"<p>{SECRET}</p>{paper.PROSE}")
    for spelling in spellings:
        press.put(spelling.removeprefix(press.url), page)
    entries = "".join(f"<item><link>{address}</link></item>" for address in spellings)
    press.put("/rss.xml", f"<rss version='2.0'><channel><title>G</title>{entries}</channel></rss>", "text/xml")
    configured(tmp_path, monkeypatch, gazette={"url": f"{press.url}/rss.xml", "kind": "feed"})
    assert windrow("run")[0] == 0
    (url,) = articles(tmp_path)
    assert url in spellings
    assert [hit["url"].partition("?")[0].rstrip("/").replace("/amp", "") for hit in hits(windrow, "harbour")] == [first]
    changes = [json.loads(line) for line in windrow("changes", "--json")[1].splitlines()]
    assert [(change["kind"], change["key"]) for change in changes if change.get("collection") == "news"] == [
        ("new", url)
    ]
    for spelling in (*spellings, first.replace("http:", "https:")):
        assert url in windrow("why", spelling)[1], spelling
    assert windrow("replay")[0] == 0
    assert len(hits(windrow, "harbour")) == 1
    assert windrow("forget", f"{first}/", "--yes")[0] == 0
    pass_time(1.1)
    for command in (["run"], ["run", "--again"], ["replay"]):
        assert windrow(*command)[0] == 0
        assert (articles(tmp_path), hits(windrow, "harbour"), remains(tmp_path, SECRET)) == ({}, [], []), command


def test_pages_that_name_the_list_they_stand_in_as_their_canonical_address_are_articles_of_their_own(
    tmp_path, press, windrow, monkeypatch
):
    press.put("/rss.xml", paper.rss(press.url, (1, 2, 3), mark=""), "application/rss+xml")
    for number in (1, 2, 3):
        page = paper.article(press.url, number).replace(f"/the-quay-story-{number}.html'", "/'", 1)
        assert f"{press.url}/news/'" in page
        press.put(f"/news/the-quay-story-{number}.html", page)
    configured(tmp_path, monkeypatch, gazette={"url": f"{press.url}/rss.xml", "kind": "feed"})
    assert windrow("run")[0] == 0
    assert titles(tmp_path) == THREE
    assert len(hits(windrow, "harbour")) == 3


def test_retry_names_the_command_for_what_reading_left_out(tmp_path, windrow, monkeypatch):
    """It only said that there is nothing to retry, although `status` counts the record with that reason."""
    press = Press(posts=2)
    try:
        press.post(3, title={"rendered": ""})
        configured(tmp_path, monkeypatch, g={"url": press.url, "kind": "wordpress"})
        windrow("run")
    finally:
        press.close()
    code, output = windrow("retry", "--reason", "no_title")
    assert (code, output.splitlines()) == (0, [
        "there is nothing to retry",
        "reading left out 1 record for this reason; to read all again: windrow replay",
    ])  # fmt: skip
    assert windrow("retry", "--reason", "no_text") == (0, "there is nothing to retry\n")
