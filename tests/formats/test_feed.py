"""Entries of feeds that are broken, or more than are read: each costs itself alone and is counted."""

import json

import pytest

from windrow.errors import StepError
from windrow.formats import feed
from windrow.formats.feed import read_feed
from windrow.formats.url_hints import read_hints
from windrow.reasons import Reason

GOOD = "<entry><title>Good</title><link href='http://a.example/good'/><content type='html'>Tea</content></entry>"
XHTML = "xmlns='http://www.w3.org/1999/xhtml'"


def atom(*entries):
    return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{''.join(entries)}</feed>".encode()


@pytest.mark.parametrize(
    "content",
    [
        f"<div {XHTML}><p:q:r>x</p:q:r></div>",
        f"<a:b:c {XHTML}>x</a:b:c>",
        f"<div {XHTML}><h:b xmlns:h='http://www.w3.org/1999/xhtml'>x</h:b><?pi a?><!-- b --></div>",
        f"<div {XHTML}>&#xD800;&undefined;\x0b</div>",
    ],
)
def test_a_broken_element_of_an_atom_feed_costs_itself_alone(content):
    broken = f"<entry><title>Broken</title><content type='xhtml'>{content}</content></entry>"
    entries = read_feed(atom(GOOD, broken, GOOD)).entries
    assert [entry.title for entry in entries] == ["Good", "Broken", "Good"]


def test_entries_that_a_malformed_element_hides_from_the_parser_are_counted():
    broken = f"<entry><link href='http://a.example/b'/><content><div {XHTML}><1x>y</1x></content></entry>"
    other = GOOD.replace("good", "other")
    hints = read_hints(atom(GOOD, broken, other), "http://a.example/")
    assert len(hints.entries) + hints.refused == 3


@pytest.mark.parametrize(
    ("raw", "read", "left_out"),
    [
        (atom(GOOD, "<entry><title>Not closed<br></title></entry>", GOOD), 2, 1),
        (b"<rss><channel><item><title>A & B</title></item><item/></channel></rss>", 2, 0),
        (b"<rss><channel><item><title>A</title></item><item><title>Cut", 2, 0),
    ],
)
def test_entries_that_are_hidden_from_the_parser_are_left_out(raw, read, left_out):
    entries = read_feed(raw)
    assert (len(entries.entries), entries.left_out) == (read, left_out)


def test_bytes_that_are_not_utf_8_are_escaped_in_addresses_alone():
    raw = b"<rss><item><title>caf\xe9 \xc3\xa9</title><link><![CDATA[/caf\xe9/\xc3\xa9]]></link></item></rss>"
    (entry,) = read_feed(raw).entries
    assert (entry.title, entry.url) == ("caf\ufffd \xe9", "/caf%E9/\xe9")
    (entry,) = read_feed(b"<feed><entry><link rel='alternate' href='/\xff'/></entry></feed>").entries
    assert entry.url == "/%FF"


def test_the_text_of_elements_in_a_title_or_description_of_rss_is_read():
    raw = b"<rss><channel><title>The <i>Tea</i> Post</title><item><title>One <b>two</b> three</title>"
    raw += b"<description>A <p>first</p> last</description><category>x<i>y</i></category></item></channel></rss>"
    read = read_feed(raw)
    (entry,) = read.entries
    assert (read.title, entry.title, entry.html, entry.categories) == (
        "The Tea Post", "One two three", "A first last", ("xy",)
    )  # fmt: skip


def test_a_feed_that_breaks_off_is_not_whole():
    raw = b"<rss><channel><item><title>A</title><link>http://a.example/1</link></item>%b"
    assert read_feed(raw % b"</channel></rss>").is_whole
    for rest in (b"", b"<item><link>http://a.example/2", b"<br /><b>Fatal error", b"</channel></rss><b>Warning"):
        read = read_feed(raw % rest)
        assert (read.is_whole, [entry.url for entry in read.entries][1:]) == (False, [""] * rest.count(b"<item>"))


def test_titles_keep_an_ampersand_that_is_not_escaped_and_entities_of_html():
    raw = b"<rss><channel><title>Caf&eacute; & bar</title><item><title>AT&T&nbsp;now &mdash; &lt;b>R&amp;D</title></item></channel></rss>"
    read = read_feed(raw)
    assert (read.title, read.entries[0].title) == ("Caf\xe9 & bar", "AT&T now \u2014 R&D")


@pytest.mark.parametrize("form", ["rss", "atom", "json"])
def test_entries_after_the_last_that_is_read_are_counted(monkeypatch, form):
    monkeypatch.setattr(feed, "MAX_ENTRIES", 2)
    items = [{"title": f"{number}", "url": f"http://a.example/{number}"} for number in range(5)]
    raw = {
        "rss": f"<rss><channel><title>T</title>{'<item><title>x</title></item>' * 5}</channel></rss>".encode(),
        "atom": atom(*[GOOD] * 5),
        "json": json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode(),
    }[form]
    read = read_feed(raw)
    assert (len(read.entries), read.left_out) == (2, 3)


def test_a_feed_of_ten_thousand_entries_is_read_whole():
    read = read_feed(atom(*[GOOD] * 10_000))
    assert (len(read.entries), read.left_out) == (10_000, 0)


def test_line_breaks_in_titles_part_words():
    feed = b"<rss><channel><title>News</title><item><title>Votes&lt;br /&gt;on&lt;b&gt;e&lt;/b&gt;</title></item></channel></rss>"
    assert read_feed(feed).entries[0].title == "Votes one"


def test_titles_of_a_json_feed_are_plain_text():
    title = "Tea <b>now</b> &amp; here"
    document = {"version": "https://jsonfeed.org/version/1.1", "title": title, "items": [{"title": title}]}
    read = read_feed(json.dumps(document).encode())
    assert (read.title, read.entries[0].title) == ("Tea now & here", "Tea now & here")


def test_an_atom_entry_without_authors_has_those_of_its_source_or_of_the_feed():
    def author(name):
        return f"<author><name>{name}</name></author>"

    sources = ["", f"<source>{author('Bo Ek')}</source>", "<source><title>S</title></source>", author("Cy Fox")]
    entries = read_feed(atom(author("Ann Lee"), *(f"<entry><title>E</title>{source}</entry>" for source in sources)))
    assert [entry.authors for entry in entries.entries] == [("Ann Lee",), ("Bo Ek",), ("Ann Lee",), ("Cy Fox",)]


@pytest.mark.parametrize("content", [
    (b"<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><item><title>A</title>"
    b"<dc:creator>Ann Lee</dc:creator><dc:creator>Bo Ek</dc:creator><author>desk@a.example</author>"
    b"<category> Sport &amp;amp; Leisure</category><category/><category domain='x'>Quay</category></item></channel></rss>"),
    (b"<rss version='2.0'><channel><item><title>A</title><author>ann@a.example (Ann Lee)</author><author>Bo Ek</author>"
    b"<category>Sport &amp;amp; Leisure</category><category>Quay</category></item></channel></rss>"),
    (b"<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:media='http://search.yahoo.com/mrss/'><channel>"
    b"<item><author>Ann Lee</author><author>Bo Ek</author><dc:subject>Sport &amp;amp; Leisure</dc:subject>"
    b"<media:keywords>Quay, </media:keywords></item></channel></rss>"),
    (b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>A</title><author><name>Ann Lee</name></author>"
    b"<author><name>Bo Ek</name><email>b@a.example</email></author><category term='s' label='Sport &amp;amp; Leisure'/>"
    b"<category term='Quay'/></entry></feed>"),
    (b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"title": "A", "tags": ["Sport &amp; Leisure", 5, "Quay"],'
    b' "authors": [{"name": "Ann Lee"}, {"url": "x"}, {"name": "Bo Ek"}], "author": {"name": "x"}}]}'),
    (b'{"version": "https://jsonfeed.org/version/1", "items": [{"title": "A", "author": ["Ann Lee", {"name": "Bo Ek"}],'
     b' "authors": [{"url": "x"}], "tags": [{"name": "Sport &amp; Leisure"}, ["Quay"]]}]}'),
])  # fmt: skip
def test_authors_and_categories_of_entries_are_plain_texts(content):
    (entry,) = read_feed(content).entries
    assert (entry.authors, entry.categories) == (("Ann Lee", "Bo Ek"), ("Sport & Leisure", "Quay"))


NETSCAPE = (
    b'<?xml version="1.0"?>\n<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"'
    b' "http://my.netscape.com/publish/formats/rss-0.91.dtd">\n<!-- old -->'
)


def test_a_feed_that_names_a_dtd_is_read_without_it_and_one_that_declares_entities_is_refused():
    items = b"<rss version='0.91'><channel><item><title>Caf&eacute;</title><link>http://a.example/1</link></item></channel></rss>"
    parsed = read_feed(NETSCAPE + items)
    assert [(entry.title, entry.url) for entry in parsed.entries] == [("Caf\u00e9", "http://a.example/1")]
    hints = read_hints(NETSCAPE + items, "http://a.example/")
    assert [hint.url for hint in hints.entries] == ["http://a.example/1"]
    for declared in (b"<!DOCTYPE rss [<!ENTITY e 'x'>]>", NETSCAPE + b"<!DOCTYPE rss [<!ENTITY e 'x'>]>"):
        assert read_hints(declared + items, "http://a.example/").reason is Reason.DTD_FORBIDDEN
        with pytest.raises(StepError, match="document type declaration"):
            read_feed(declared + items)


@pytest.mark.parametrize("entry", [
    "<rss xmlns:m='http://search.yahoo.com/mrss/'><channel><item>{}<title>Quay</title></item></channel></rss>",
    "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:m='http://search.yahoo.com/mrss/'><entry>{}<title>Quay</title></entry></feed>",
])  # fmt: skip
def test_a_title_of_a_picture_is_not_that_of_its_entry(entry):
    feed = read_feed(entry.format("<m:title>A dog</m:title>").encode())
    assert feed is not None
    assert feed.entries[0].title == "Quay"
