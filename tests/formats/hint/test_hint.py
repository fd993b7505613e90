import gzip
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.formats.url_hints import MAX_BYTES, MAX_ENTRIES, HintKind, read_hints
from windrow.reasons import Reason

BASE = "https://example.org/sitemap.xml"
SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc>https://Example.org/a?b&amp;c#d</loc><lastmod>2024-02-29</lastmod>
    <image:image><image:loc>https://example.org/i.png</image:loc></image:image></url>
  <url><loc> /relative
    </loc><priority>0.5</priority></url>
  <url><loc>https://example.org/a?b&amp;c</loc><lastmod>2025-01-01</lastmod></url>
  <url><loc>mailto:x@example.org</loc></url>
  <url/>
</urlset>"""


def urls(hints):
    return [hint.url for hint in hints.entries]


def test_a_sitemap():
    hints = read_hints(SITEMAP, BASE)
    assert (hints.kind, hints.reason, hints.refused) == (HintKind.SITEMAP, None, 2)
    newest_time = datetime(2025, 1, 1, tzinfo=UTC)
    assert hints.entries[0] == ("https://example.org/a?b&c", newest_time)
    assert hints.entries[1] == ("https://example.org/relative", None)
    assert len(hints.entries) == 2


def test_times_of_change_that_are_not_understood_are_counted():
    times = ("01/02/2026", "2026-01-02T10:00:00 CEST", " ", "2026")
    text = "".join(f"<url><loc>/{number}</loc><lastmod>{time}</lastmod></url>" for number, time in enumerate(times))
    hints = read_hints(f"<urlset>{text}</urlset>".encode(), BASE)
    assert (len(hints.entries), hints.unread_times, hints.reason) == (4, 2, None)


def test_of_the_alternates_of_an_entry_the_page_is_taken():
    links = ["<link href='/1.json' type='application/json'/>", "<link href='/1' type='text/html; charset=utf-8'/>"]
    for texts, url in ((links, "/1"), (links[:1], "/1.json"), ([links[0], "<link href='/2'/>", links[1]], "/2")):
        entry = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{''.join(texts)}</entry></feed>"
        assert urls(read_hints(entry.encode(), BASE)) == [f"https://example.org{url}"]


@pytest.mark.parametrize(
    "change",
    [
        gzip.compress,
        lambda text: gzip.compress(text[:100]) + gzip.compress(text[100:]),
        lambda text: gzip.compress(text) + b"\0" * 100,
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"\n  " + text,
        lambda text: text.replace(b"UTF-8", b"ISO-8859-1"),
        lambda text: text.replace(b"UTF-8", b"utf-16").decode().encode("utf-16"),
        lambda text: text.replace(b"UTF-8", b"utf-16"),
        lambda text: text.replace(b' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"', b""),
        lambda text: text.replace(b"sitemaps.org/schemas/sitemap/0.9", b"google.com/schemas/sitemap/0.84"),
        lambda text: text.replace(b"<url", b"<s:url").replace(b"</url", b"</s:url").replace(b"xmlns=", b"xmlns:s=").replace(b"loc>", b"s:loc>").replace(b"lastmod>", b"s:lastmod>").replace(b"image:s:", b"image:"),
    ],
)  # fmt: skip
def test_dress_does_not_matter(change):
    assert read_hints(change(SITEMAP), BASE).entries == read_hints(SITEMAP, BASE).entries


def test_an_index():
    text = b"<sitemapindex><sitemap><loc>https://h/1.xml.gz</loc><lastmod>2024</lastmod></sitemap></sitemapindex>"
    hints = read_hints(text, BASE)
    assert (hints.kind, hints.entries[0].url, hints.entries[0].modified.year) == (
        HintKind.INDEX,
        "https://h/1.xml.gz",
        2024,
    )


def test_a_text():
    hints = read_hints("\ufeffhttps://example.org/\u00e9\r\n\r\nhttps://example.org/b \n/c\n".encode(), BASE)
    assert urls(hints) == ["https://example.org/%C3%A9", "https://example.org/b"]
    assert hints.refused == 1
    assert read_hints(b"# of 2026\nhttps://example.org/b\n\n", BASE).refused == 0


RSS = b"""<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<link>https://example.org/</link><atom:link rel="self" href="https://example.org/feed"/>
<item><title>&nbsp;one</title><link>https://example.org/1</link><pubDate>Thu, 29 Feb 2024 10:00:00 +0100</pubDate></item>
<item><guid>https://example.org/2</guid><dc:date>2024-02-29T09:00:00Z</dc:date></item>
<item><guid isPermaLink="false">https://example.org/3</guid></item>
<item><atom:link href="/4"/></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.org/blog/"><link href="https://example.org/"/>
<entry><link rel="self" href="1.atom"/><link rel="alternate" href="1"/><published>2020-01-01T00:00:00Z</published><updated>2024-02-29T09:00:00Z</updated></entry>
<entry xml:base="/other/"><link href="2"/></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="https://example.org/"/><item rdf:about="https://example.org/1"><title>x</title></item></rdf:RDF>"""
NINE = datetime(2024, 2, 29, 9, tzinfo=UTC)


def test_feeds():
    hints = read_hints(RSS, BASE)
    assert hints.entries == (
        ("https://example.org/1", NINE),
        ("https://example.org/2", NINE),
        ("https://example.org/4", None),
    )
    assert (hints.kind, hints.refused) == (HintKind.FEED, 1)
    assert read_hints(ATOM, BASE).entries == (
        ("https://example.org/blog/1", NINE),
        ("https://example.org/other/2", None),
    )
    assert urls(read_hints(RDF, BASE)) == ["https://example.org/1"]


def test_a_json_feed():
    feed_items = [
        {"id": "https://example.org/1"},
        {"url": "/2", "id": "x", "date_published": "2024-02-29T09:00:00Z"},
        3,
        {"url": 4},
    ]
    text = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": feed_items}).encode()
    hints = read_hints(text, BASE)
    assert hints.entries == (("https://example.org/1", None), ("https://example.org/2", NINE))
    assert hints.refused == 2
    assert read_hints(b'{"version": "https://jsonfeed.org/version/1", "items": 5}', BASE).entries == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", Reason.UNSUPPORTED),
        (b"hello", Reason.UNSUPPORTED),
        (b"\xff\xff", Reason.WRONG_ENCODING),
        (b"<html><body/></html>", Reason.WRONG_ROOT),
        (b"<!DOCTYPE html><html/>", Reason.WRONG_ROOT),
        (b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>https://h/&e;</loc></url></urlset>", Reason.DTD_FORBIDDEN),
        (lambda: b"<urlset>" + b"<aa/>" * 1_000_001 + b"</urlset>", Reason.TOO_MANY_ELEMENTS),
        (b"{}", Reason.WRONG_ROOT),
        (b'{"version"', Reason.NOT_WELL_FORMED),
        (b'{"a":' + b"[" * 100_000, Reason.NOT_WELL_FORMED),
        (lambda: b"{" + b" " * (9 << 20), Reason.TOO_LARGE),
        (b"{\xff}", Reason.NOT_WELL_FORMED),
        (lambda: gzip.compress(b"x" * (MAX_BYTES + 1)), Reason.BOMB_TOTAL),
        (gzip.compress(SITEMAP)[:-20], Reason.TRUNCATED),
        (b"\x1f\x8b" + b"x" * 40, Reason.CORRUPT),
        (lambda: b"h" * (MAX_BYTES + 1), Reason.TOO_LARGE),
        (lambda: gzip.compress(b"") * 100_000, Reason.TOO_LARGE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_refused(content, reason):
    hints = read_hints(content() if callable(content) else content, BASE)
    assert (hints.reason, hints.entries) == (reason, ())


def test_what_is_cut_off_is_read_as_far_as_it_goes():
    assert urls(read_hints(SITEMAP[: SITEMAP.index(b"<priority>")], BASE))[0] == "https://example.org/a?b&c"
    assert urls(read_hints(b"<urlset><url><loc>https://h/1</loc></url><url><loc>https://h/2</url></urlset>", BASE))[
        :1
    ] == ["https://h/1"]


@pytest.mark.parametrize("document", ["<urlset><url><loc>{}</loc></url></urlset>", "<rss><item><link>{}</link></item></rss>",
    "<feed><entry><link href='{}'/></entry></feed>"], ids=("sitemap", "rss", "atom"))  # fmt: skip
@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("/?cat=4&id=1", "?cat=4&id=1"),
        ("/?cat=4&amp;id=1&&lt=2", "?cat=4&id=1&&lt=2"),
        ("/?a=1&copy=2&id;=3", "?a=1&copy=2&id;=3"),
        ("/a&eacute;b&#233;&#xe9;", "a%C3%A9b%C3%A9%C3%A9"),
        ("/a&LT;b&#;&#x;&#38", "a%3Cb&#;&#x;&#38"),
    ],
)
def test_an_ampersand_that_is_not_escaped_is_part_of_the_address(document, written, url):
    hints = read_hints(document.format(written).encode(), BASE)
    assert (urls(hints), hints.refused, hints.reason) == ([f"https://example.org/{url.partition('#')[0]}"], 0, None)


def test_comments_and_character_data_keep_their_ampersands():
    text = b"<urlset><!-- <loc>&x --><url><loc><![CDATA[https://h/?a=1&amp=2&b]]></loc></url><?p &?><url><loc>https://h/?c&d</loc></url></urlset>"
    assert urls(read_hints(text, BASE)) == ["https://h/?a=1&amp=2&b", "https://h/?c&d"]


@pytest.mark.parametrize(
    ("text", "addresses", "refused"),
    [
        ("<urlset><url><loc>/1</loc></url><url><loc>/2", ["1"], 1),
        ("<urlset><url><loc>/1</loc></url><url><loc>/2<br /><b>Fatal error</b>", ["1"], 1),
        ("<urlset><url><loc>/1</loc></url><url><loc>/2</lo", ["1"], 1),
        ("<urlset><url><loc>/1</loc></url><br /><b>Fatal error</b>: memory", ["1"], 0),
        ("<urlset><url><loc>/1</loc></url></urlset><br /><b>Fatal error", ["1"], 0),
        ("<s:urlset xmlns:s='urn:s'><s:url><s:loc>/1</s:loc></s:url><s:url><s:loc>/2", ["1"], 1),
        ("<rss><item><link>/1</link></item><item><link><![CDATA[/2", ["1"], 1),
        ("<rss><item><link>/1</link></item><item><guid>https://h/2", ["1"], 1),
        ("<feed><entry><link href='/1'/></entry><entry><link href='/2", ["1"], 1),
        ("<feed><entry><link href='/1'/></entry><entry><link href='/2'>", ["1", "2"], 0),
    ],
)
def test_a_list_that_breaks_off_is_truncated_and_a_cut_address_is_refused(text, addresses, refused):
    hints = read_hints(text.encode(), BASE)
    assert urls(hints) == [f"https://example.org/{address}" for address in addresses]
    assert (hints.reason, hints.refused) == (Reason.TRUNCATED, refused)


@pytest.mark.parametrize("end", ["</urlset>", "</urlset >\n<!-- cached --><?end?>\n", "</urlset>\0\0"])
def test_a_list_that_ends_with_its_root_is_whole(end):
    assert read_hints(f"<urlset><url><loc>/1</loc></url>{end}".encode(), BASE).reason is None
    assert read_hints(b"<?xml version='1.0'?><urlset a='b'/>", BASE).reason is None


def test_a_byte_that_is_not_utf_8_is_escaped_as_itself():
    raw = b"<urlset><url><loc>https://h/caf\xe9/\xc3\xa9</loc></url></urlset>"
    assert urls(read_hints(raw, BASE)) == ["https://h/caf%E9/%C3%A9"]
    assert urls(read_hints(b"<feed><entry><link href='/\xff'/></entry></feed>", BASE)) == ["https://example.org/%FF"]


def test_an_address_that_is_not_closed_within_a_whole_list_is_refused():
    hints = read_hints(b"<urlset><url><loc>/1<lastmod>2026</lastmod></url><url><loc>/2</loc></url></urlset>", BASE)
    assert (urls(hints), hints.refused, hints.reason) == (["https://example.org/2"], 1, None)


def test_a_broken_member_of_gzip_gives_a_reason():
    hints = read_hints(gzip.compress(SITEMAP) + b"\x1f" + gzip.compress(b"<urlset/>")[2:], BASE)
    assert (len(hints.entries), hints.reason) == (2, Reason.CORRUPT)


def test_lines_that_are_not_read_after_many_comments_give_a_reason(monkeypatch):
    monkeypatch.setattr("windrow.formats.url_hints._MAX_LINES", 3)
    hints = read_hints(b"# one\n# two\nhttps://h/1\nhttps://h/2\n", BASE)
    assert (urls(hints), hints.reason, hints.left_out) == (["https://h/1"], Reason.TOO_MANY_ELEMENTS, 1)
    assert read_hints(b"# one\n# two\nhttps://h/1\n", BASE).reason is None


def test_no_more_entries_than_the_protocol_allows():
    text = io.BytesIO()
    text.write(b"<urlset>")
    for number in range(MAX_ENTRIES + 5):
        text.write(b"<url><loc>https://h/%d</loc></url>" % number)
    text.write(b"</urlset>")
    hints = read_hints(text.getvalue(), BASE)
    assert (len(hints.entries), hints.reason) == (MAX_ENTRIES, Reason.TOO_MANY_ELEMENTS)


def test_a_doctype_is_refused_wherever_it_hides():
    hints = read_hints(
        b"<urlset><url><loc>https://h/1</loc></url><!DOCTYPE a><url><loc>https://h/2</loc></url></urlset>", BASE
    )
    assert all(url in {"https://h/1", "https://h/2"} for url in urls(hints))
    bomb = b"<rss><!DOCTYPE a [<!ENTITY b 'cccc'><!ENTITY d '&b;&b;&b;'>]><channel><item><link>https://h/&d;</link></item></channel></rss>"
    assert not any("cccc" in url for url in urls(read_hints(bomb, BASE)))


@given(
    st.binary(max_size=200),
    st.sampled_from(
        [b"", b"<urlset>", b"<rss><item>", b"<feed>", b"{", b"\x1f\x8b", b"<?xml version='1.0'?><urlset><url><loc>"]
    ),
)
def test_any_bytes_can_be_read(content, start):
    hints = read_hints(start + content, BASE)
    assert all(hint.url.startswith("http") for hint in hints.entries)
    assert hints.reason is not None or hints.kind is not HintKind.NONE


@pytest.mark.parametrize(("item", "url"), [
    ("<guid>12345</guid>", None), ("<guid isPermaLink='true'>/a</guid>", "https://example.org/a"),
    ("<guid>https://example.org/b</guid>", "https://example.org/b"),
    ("<guid isPermaLink='false'>https://example.org/b</guid>", None),
])  # fmt: skip
def test_a_guid_is_an_address_if_it_is_one(item, url):
    hints = read_hints(f"<rss><channel><item>{item}</item></channel></rss>".encode(), BASE)
    assert (urls(hints), hints.refused) == ([url] if url else [], url is None)


def test_the_address_of_an_item_of_a_json_feed():
    items = [{"id": "https://example.org/1"}, {"id": "2", "external_url": "https://b.example/2"}, {"id": "3"}]
    hints = read_hints(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode(), BASE)
    assert (urls(hints), hints.refused) == (["https://example.org/1", "https://b.example/2"], 1)
