"""Feeds as documents: entries are headlines and text."""

from __future__ import annotations

import json

import pytest

from windrow.collections.news.listed_details import read_details
from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.reading import PageDocument, read
from windrow.formats.url_hints import read_hints

URL = "http://a.example/blog/feed"
RSS = b"""<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Tea &amp; cups</title>
<description>All of it</description><language>en-us</language><lastBuildDate>Fri, 01 Mar 2024 12:00:00 GMT</lastBuildDate>
<item><title>First &amp;amp; best</title><link>/one</link><pubDate>Thu, 29 Feb 2024 12:00:00 GMT</pubDate>
<content:encoded>&lt;p&gt;Boil &lt;code&gt;1 l&lt;/code&gt; &lt;a href="cup"&gt;a cup&lt;/a&gt;&lt;h2&gt;Then&lt;/h2&gt;&lt;!-- open</content:encoded></item>
<item><title>Second</title><link>http://b.example/two</link><description>Plain words</description></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="http://a.example/x/"><title>Tee</title>
<updated>2024-03-01T12:00:00Z</updated>
<entry><title type="html">Das &lt;b&gt;Erste&lt;/b&gt;</title><link href="eins"/><updated>2024-02-01T00:00:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Eins <a href="zwei">zwei</a></p></div></content></entry>
<entry><title>A &lt;b> C</title><summary>1 &lt; 2</summary></entry></feed>"""


def read_page(raw: bytes, kind: str = "application/xml", url: str = URL) -> PageDocument:
    return read(raw, url, {"content-type": kind})


def test_rss() -> None:
    page = read_page(RSS)
    assert page.pile.text == "Tea & cups\nAll of it\nFirst & best\nBoil 1 l a cup\nThen\nSecond\nPlain words"
    assert page.pile.big_headlines == "First & best\nThen\nSecond"
    assert page.pile.code_text == "1 l"
    description = page.description
    assert (description.title, description.description, description.language, description.updated) == (
        "Tea & cups",
        "All of it",
        "en-US",
        1709294400,
    )
    assert [link.url for link in page.links] == [
        "http://a.example/one", "http://a.example/blog/cup", "http://b.example/two",
    ]  # fmt: skip
    assert [link.text for link in page.links] == ["First & best", "a cup", "Second"]
    assert page.links[2].locality == Locality.OUT
    assert page.links[0].destination == Destination.FILE
    assert description.indexiness == 2 - 1  # a headline within the site, and a link out of it


def test_atom() -> None:
    page = read_page(ATOM, "application/atom+xml")
    assert page.pile.text == "Tee\nDas Erste\nEins zwei\nA <b> C\n1 < 2"
    assert [link.url for link in page.links] == ["http://a.example/x/eins", "http://a.example/x/zwei"]
    assert page.description.language == "de"


def test_each_base_in_atom_is_relative_to_that_of_its_parent() -> None:
    """Only the nearest base counted, and those of links, of contents and of elements in XHTML did not."""
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/x/">
<link rel="next" href="?page=2"/>
<entry xml:base="y/"><title>A</title><link xml:base="z/" href="1"/><content type="xhtml" xml:base="../c/">
<div xmlns="http://www.w3.org/1999/xhtml"><a href="2">two</a>
<div xml:base="d/"><a href="3">three</a><p xml:base="/e/"><a href="4">four</a><a href="http://b.example/5">five</a></p></div></div>
</content></entry>
<entry xml:base="y/"><title>B</title><link href="6"/><content type="html" xml:base="w/">&lt;a href="7">seven&lt;/a></content></entry>
</feed>"""
    assert [link.url for link in read_page(feed, "application/atom+xml").links] == [
        "http://a.example/x/y/z/1", "http://a.example/x/c/2", "http://a.example/x/c/d/3", "http://a.example/e/4",
        "http://b.example/5", "http://a.example/x/y/6", "http://a.example/x/y/w/7",
    ]  # fmt: skip
    hints = read_hints(feed, URL)
    assert [hint.url for hint in hints.entries] == ["http://a.example/x/y/z/1", "http://a.example/x/y/6"]
    assert read_details(feed, URL, hints.kind)[2] == "http://a.example/x/?page=2"


@pytest.mark.parametrize(
    ("feed_base", "entry_base", "link_base", "expected"),
    [
        ("../", "", "", "http://a.example/blog/"),
        ("..", "", "", "http://a.example/blog/"),
        ("../posts/", "", "", "http://a.example/blog/posts/"),
        ("../", "a/", "", "http://a.example/blog/a/"),
        ("../?a", "./", "..", "http://a.example/"),
        ("http://b.example/x/y/", "../z/", "w/", "http://b.example/x/z/w/"),
        ("//b.example/x/y/", "..", "w/", "http://b.example/x/w/"),
        ("/x/y/", "../z/", "", "http://a.example/x/z/"),
    ],
)
def test_a_base_may_lead_out_of_the_folder_of_the_base_around_it(
    feed_base: str, entry_base: str, link_base: str, expected: str
) -> None:
    """Each `..` was lost: the addresses were in the folder of the feed."""
    feed = f"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="{feed_base}"><entry xml:base="{entry_base}">
<link xml:base="{link_base}" href="one"/><content type="xhtml" xml:base="{link_base}">
<div xmlns="http://www.w3.org/1999/xhtml" xml:base="c/"><p xml:base="../d/"><a href="two">two</a><a href="../#n">up</a></p></div>
</content></entry></feed>""".encode()
    url = "http://a.example/blog/feeds/atom.xml"
    assert [hint.url for hint in read_hints(feed, url).entries] == [f"{expected}one"]
    links = [link.url.partition("#")[0] for link in read_page(feed, "application/atom+xml", url=url).links]
    assert links == [f"{expected}one", f"{expected}d/two", expected]


def test_json_feed() -> None:
    item = {
        "id": "http://a.example/1",
        "title": "One",
        "content_text": "1 < 2",
        "date_modified": "2024-03-01T12:00:00Z",
    }
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Tea", "items": [item, 7, {"title": 3}]}
    page = read_page(json.dumps(feed).encode(), "application/feed+json")
    assert page.pile.text == "Tea\nOne\n1 < 2"
    assert page.links[0].url == "http://a.example/1"
    assert page.description.updated == 1709294400


def test_other_xml_and_json_is_a_file() -> None:
    for raw, kind in ((b"<doc>text</doc>", "text/xml"), (b'{"a": 1}', "application/json"), (b"[]", "application/json")):
        page = read_page(raw, kind)
        assert not page.pile
        assert page.mime is not None
        assert page.mime.essence == kind


def test_hostile_ones() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "xx"><!ENTITY c "&b;&b;">]><rss><channel><title>&c;</title></channel></rss>'
    assert [finding.kind for finding in read_page(bomb).findings] == ["dtd_forbidden"]
    assert not read_page(b"<rss>" + b"<a>" * 50_000).pile
    assert [finding.kind for finding in read_page(b'{"version":' + b"[" * 200_000).findings] == ["not_well_formed"]
    assert read_page(b"<rss><channel><title>Cut").pile.text == "Cut"
    many = b"<rss>" + b"<item><title>a</title></item>" * 6_000 + b"</rss>"
    assert read_page(many).pile.big_headlines.count("a") == 6_000


def test_entries_and_links_that_are_not_read_give_the_page_a_reason(monkeypatch) -> None:
    monkeypatch.setattr("windrow.formats.feed.MAX_ENTRIES", 3)
    page = read_page(b"<rss>" + b"<item><title>a</title></item>" * 5 + b"</rss>")
    assert [(excess.cap.name, excess.number) for excess in page.left_out] == [("FEED_ENTRIES", 2)]


def test_real_feeds(shared) -> None:
    raw = (shared / "data/events-and-news/whitehouse/presidential-actions_feed_abridged.xml").read_bytes()
    page = read_page(raw, "application/rss+xml; charset=UTF-8")
    assert page.description.language == "en-US"
    assert page.pile.big_headlines.startswith("Eliminating Disease-Carrying Pests")
    assert page.links[0].url.startswith("https://www.whitehouse.gov/presidential-actions/")
