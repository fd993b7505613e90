"""A collection that reads pages' captures, in its own wheel beside windrow's: every command works on it."""

import json

import pytest

from tests.requests.installed import InstalledWindrow
from tests.toy_collection.site import Site, page


@pytest.fixture
def site():
    toy_server = Site(
        {
            "/": page("home", "/article1.html", "/article2.html", "/other.html"),
            "/article1.html": page("one", body="<p><q>to be</q> or <q>not to be</q></p>"),
            "/article2.html": page("two", body="<p><q>that is the question</q></p>"),
            "/other.html": page("other", body="<p><q>left out</q></p>"),
        }
    )
    yield toy_server
    toy_server.close()


def configure(windrow, site):
    windrow("init", ".")
    (windrow.root / "sources" / "web.toml").write_text(f'collection = "pages"\nurl = "{site.url}"\ndelay = "1ms"\n')
    (windrow.root / "sources" / "said.toml").write_text(
        'collection = "quotes"\nfrom = ["pages:web"]\npages = "article"\n'
    )
    config = (windrow.root / "windrow.toml").read_text()
    crawled = '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\n'
    (windrow.root / "windrow.toml").write_text(
        config.replace("[pages]\n", crawled, 1) if "\n[pages]\n" in config else f"{config}\n{crawled}"
    )


def test_a_collection_of_captures_in_a_wheel_of_its_own_works_with_every_command(environment, site, tmp_path):
    windrow = InstalledWindrow(environment, tmp_path)
    configure(windrow, site)
    article = f"{site.url}article1.html"
    assert "quotes.store" in windrow("config")
    windrow("run")
    asked = len(site.asked)
    assert len([path for path in site.paths() if path == "/article1.html"]) == 1
    assert "said" in windrow("status")
    story = windrow("why", f"{article}#2")
    assert "a record of quotes" in story
    assert ".warc" in story
    assert "it was taken from pages:web, attempt" in windrow("why", article)
    assert "does not match" in windrow("why", f"{site.url}other.html")
    windrow("check")
    assert article in windrow("search", "question OR not", "--json")
    before = windrow("export", "quotes", "--as", "jsonl")
    assert sorted(json.loads(line)["value"]["quote"] for line in before.splitlines()) == [
        "not to be", "that is the question", "to be",
    ]  # fmt: skip
    windrow("replay")
    assert windrow("export", "quotes", "--as", "jsonl") == before
    assert len(site.asked) == asked  # no request was sent for any of this
    assert "not to be" in windrow("try", article, "--collection", "quotes")
    site.pages["/article1.html"] = page("one", body="<p><q>to be</q></p>")
    windrow("retry", article)
    windrow("run")
    assert "said something else" not in windrow("check")
    windrow("forget", article, "--yes", "--reason", "asked by its author")
    after = windrow("export", "quotes", "--as", "jsonl")
    assert [json.loads(line)["value"]["quote"] for line in after.splitlines()] == ["that is the question"]
    assert "not to be" not in windrow("search", "be", "--json")
    windrow("check")
