"""The configuration of sites: the settings of each, and errors with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.config import load
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import read_allowed
from windrow.model import ONLY_PUBLIC

WEEK = 7 * 86_400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def site_settings(root: Path, text: str, site: str = 'url = "https://example.org/"') -> object:
    (root / "windrow.toml").write_text(f'{text}\n[source.blog]\ncollection = "pages"\n{site}\n')
    return load(root, {})


def test_a_url_alone_is_one_seed(root: Path) -> None:
    (site,) = site_settings(root, "").sources
    assert site.options["seeds"] == ("https://example.org/",)
    assert (site.site.scheme, site.site.host, site.site.allowed) == ("https", "example.org", ONLY_PUBLIC)
    assert site.connections == 1


def test_url_and_seeds_are_seeds_each_once(root: Path) -> None:
    (site,) = site_settings(
        root, "", 'url = "https://a.example/"\nseeds = ["https://b.example/", "https://a.example/"]'
    ).sources
    assert site.options["seeds"] == ("https://a.example/", "https://b.example/")


def test_what_is_in_force_for_a_site(root: Path) -> None:
    text = '[pages]\ndelay = "2 s"\nrecrawl_interval = "2 weeks"\ndo_not_crawl = ["/tag/"]\nprivate_hosts = ["127.0.0.1"]\n'
    (site,) = site_settings(root, text).sources
    assert (site.options["delay"], site.options["recrawl_interval"]) == (2, 2 * WEEK)
    own = 'url = "https://example.org/"\ndelay = 0\nrecrawl_interval = "1 week"\ndo_not_crawl = ["/x/"]\nprivate_hosts = []'
    (site,) = site_settings(root, text, own).sources
    assert (site.options["delay"], site.options["recrawl_interval"]) == (0, WEEK)
    assert site.options["do_not_crawl"] == ("/tag/", "/x/")
    assert site.site.allowed == read_allowed(["127.0.0.1"])


def test_the_contact_of_the_workspace_is_that_of_the_crawl(root: Path) -> None:
    assert site_settings(root, 'contact = "a@b.example"').sections["pages"].contact == "a@b.example"
    assert (
        site_settings(root, 'contact = "a@b.example"\n[pages]\ncontact = "c@d.example"').sections["pages"].contact
        == "c@d.example"
    )


@pytest.mark.parametrize(
    ("text", "site", "words"),
    [
        ("", "", ["source.blog", "has neither seeds nor url", "windrow.toml"]),
        ("", 'url = "ftp://example.org/"', ["source.blog.url", "not a web address"]),
        ("", 'seeds = ["https://example.org/", "nowhere"]', ["source.blog.seeds", "'nowhere'"]),
        ("", 'url = "https://example.org/"\nhosts = ["a b"]', ["source.blog.hosts", "'a b' is not a host"]),
        ("", 'url = "https://example.org/"\npaths = ["blog"]', ["source.blog.paths", "'blog' is not a path"]),
        ("", 'url = "https://example.org/"\npaths = ["/blog/"]', ["source.blog", "matches none of the paths"]),
        ("", 'url = "https://example.org/"\nignore = ["p["]', ["source.blog.ignore", "'p[' is not a CSS selector"]),
        ("", 'url = "https://example.org/"\nignore_text = ["(a"]', ["ignore_text", "is not a regular expression"]),
        ("", 'url = "https://example.org/"\ndelay = "soon"', ["source.blog.delay", "a duration"]),
        ("", 'url = "https://example.org/"\nurl_query_parameters = ["/x"]', ["url_query_parameters", "is not a rule"]),
        (
            "",
            'url = "https://example.org/"\nprivate_hosts = ["10.0.0.0/99"]',
            ["source.blog.private_hosts", "nor a host"],
        ),
        ("", 'url = "https://example.org/"\ncentre = "H"', ["source.blog.centre", "drops", "pages"]),
        ("", 'url = "https://example.org/"\nseed = "x"', ["source.blog.seed", "did you mean source.blog.seeds?"]),
        ("[pages]\nuser_agents = 1", 'url = "https://example.org/"', ["did you mean pages.user_agent?"]),
        ('[pages]\ndo_not_crawl = "/tag/"', 'url = "https://example.org/"', ["pages.do_not_crawl", "a list"]),
        ('[pages]\ndo_not_crawl = ["/ok", "x y/"]', 'url = "https://example.org/"', ["pages.do_not_crawl", "'x y'"]),
        (
            "",
            'url = "https://example.org/"\nfeeds = ["https://feeds.example.net:81/x"]',
            ["source.blog.feeds", "https://feeds.example.net:81/x", 'hosts = ["feeds.example.net:81"]'],
        ),
        (
            "",
            'url = "https://example.org/"\nsitemaps = ["https://cdn.example.net/s.xml"]',
            ["source.blog.sitemaps", "is not on a host of the source", 'hosts = ["cdn.example.net"]'],
        ),
        ("[pages]\nsitemaps = 1", 'url = "https://example.org/"', ["pages.sitemaps", "true or false"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(root: Path, text: str, site: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        site_settings(root, text, site)
    message = str(error.value)
    assert "windrow.toml" in message
    assert [word for word in words if word not in message] == []
    assert "\n" not in message
    assert error.value.exit_code == 4


def test_feeds_and_sitemaps_on_the_hosts_of_a_source_are_accepted(root: Path) -> None:
    (site,) = site_settings(
        root,
        "",
        'url = "https://example.org/"\nhosts = [".example.net"]\nfeeds = ["http://www.example.org/feed"]\n'
        'sitemaps = ["https://cdn.example.net/s.xml"]',
    ).sources
    assert site.options["feeds"] + site.options["sitemaps"] == (
        "http://www.example.org/feed",
        "https://cdn.example.net/s.xml",
    )


def test_every_is_read_as_a_duration_and_is_none_where_it_is_not_said(root: Path) -> None:
    for line, every in (('every = "7d"', WEEK), ('every = "1 week"', WEEK), ("", None)):
        (site,) = site_settings(root, "", f'url = "https://example.org/"\n{line}').sources
        assert site.options["every"] == every
    with pytest.raises(ConfigError, match="every"):
        site_settings(root, "", 'url = "https://example.org/"\nevery = "now and then"')
