"""Any bytes are read, or refused with an error of windrow: feeds, XML, sitemaps, pages, Markdown, heads, dates, rules."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from windrow.collections.pages.code import parse_mime
from windrow.collections.pages.reading.document import parse_unix_time
from windrow.collections.pages.reading.read import read
from windrow.collections.pages.redirect import find_link_targets
from windrow.collections.pages.references import References
from windrow.errors import WindrowError
from windrow.fetch.politeness.pace import retry_after
from windrow.formats import feed, http, robots, xml
from windrow.formats.http import find_validator, read_head
from windrow.formats.http_response import ResponseReader
from windrow.formats.moment import read_utc_time
from windrow.formats.url_hints import read_hints as read_hint
from windrow.model import Limits

HERE = "https://example.org/a"
WORDS = st.sampled_from([
    b"<", b">", b"<?xml version='1.0' encoding='utf-7'?>", b"<?xml version='1.0' encoding='utf-16'?>", b"<rss>", b"</rss>",
    b"<channel>", b"<item>", b"</item>", b"<title>", b"</title>", b"<link/>", b"<link href='http://[/' rel='alternate'/>",
    b"<guid isPermaLink='", b"<feed xmlns='http://www.w3.org/2005/Atom'>", b"<entry>", b"</entry>", b"<content type='xhtml'>",
    b"<content type='html'>", b"<updated>99999999999-01-01</updated>", b"<pubDate>Sat, 21 Nov 99999999999 12:00:00 +9999",
    b"<urlset>", b"<url>", b"<loc>", b"</loc>", b"</url>", b"<lastmod>-1</lastmod>", b"<sitemapindex>", b"<x:y", b"<![CDATA[",
    b"]]>", b"<!DOCTYPE a [", b"<!ENTITY a 'b'>", b"&a;", b"&#0;", b"&#xD800;", b"&#x110000;", b"&#55357;", b"&lt;", b"\xff\xfe", b"\xef\xbb\xbf", b"\0",
    b"\xed\xa0\x80", b'{"version": "https://jsonfeed.org/version/1", "items": [', b'{"id": "\\ud800"}', b"]}", b"[" * 50,
    b"1e999999", b"xml:base='http://[::'", b"xml:lang='", b"'", b'"', b"=", b"\n", b" ", b"\r\n\r\n", b"![", b"](", b"`", b"*",
    b"---\n", b"# ", b"| a |\n|-|\n", b"http://h/", b"<p>", b"<table>", b"<a href=", b"<meta charset=utf-16>", b"<template>",
    b"<svg>", b"<math>", b"<plaintext>", b"<time datetime=9999999-01-01>", b"99999999999", b"HTTP/1.1 200 OK\r\n", b"Link: <",
    b"<!--", b"-->", b"<?", b"?>", b"<a:b xmlns:a=''>", b"<\xc3\xa9/>", b"a" * 60_000,
])  # fmt: skip
BYTES = st.one_of(st.binary(max_size=200), st.lists(st.one_of(WORDS, st.binary(max_size=4)), max_size=14).map(b"".join))
TIMES = st.one_of(
    st.text(max_size=70),
    st.builds(
        "{}, {} {} {} {}:00:00 {}".format, st.sampled_from(["Sat", ""]), st.integers(), st.sampled_from(["Nov", "x"]),
        st.integers(), st.integers(), st.sampled_from(["GMT", "+9999", "-99999999", "+999999999999999", ""]),
    ),
    st.builds("{}-{}-{}T{}".format, st.integers(), st.integers(), st.integers(), st.text(max_size=20)),
    st.integers().map(str),
)  # fmt: skip
KINDS = (
    "text/html", "text/plain", "text/markdown", "application/rss+xml", "application/atom+xml", "application/feed+json",
    "application/xml", "text/xml", "application/json", "application/rdf+xml", "",
)  # fmt: skip
OFTEN = settings(max_examples=60, suppress_health_check=list(HealthCheck))


@OFTEN
@example(b"<rss><channel><item><guid isPermaLink=''/></item></channel></rss>")
@example(b"<feed><entry><content type='xhtml'><!-- --><?a?></content></entry></feed>")
@example(b'{"version": "https://jsonfeed.org/version/1", "items": [' + b"[" * 20_000)
@example(b"<?xml version='1.0' encoding='idna'?><rss/>")
@example(b"\xff\xfe<\0r\0")
@example(b"<rss><channel><title>&#xD800;&#55357</title><item><link>&#xDfff;</link></item></channel></rss>")
@example(b"<urlset><url><loc>&#xD800;</loc></url></urlset>")
@example(b"<feed><entry><link href='/&#xD800;'/><content type='xhtml'>&#x110000;&#xfffe;&#1;</content></entry></feed>")
@given(BYTES)
def test_feeds_sitemaps_and_xml_of_any_bytes_are_read_or_refused(content):
    for read_ in (
        lambda: feed.read_feed(content),
        lambda: read_hint(content, HERE),
        lambda: xml.parse(content, Limits()),
        lambda: xml.build_tree(content, recover=True),
    ):
        with suppress(WindrowError):
            read_()


@pytest.mark.parametrize("kind", KINDS)
@OFTEN
@example(b"![", "")
@example(b"![" * 3000, "")
@example(b"[a]: <\n![\x00](\\", "")
@given(BYTES, st.sampled_from(["", "; charset=utf-16", "; charset=\"'", "; charset=x-user-defined"]))
def test_documents_of_any_bytes_are_read_or_told_why_not(kind, content, charset):
    fields = {"content-type": kind + charset}
    document = read(content, HERE, fields)
    document.pile.text.encode()
    with suppress(WindrowError):
        base, references, _ = References("x")(HERE, fields, content)
        assert base
        assert all(isinstance(reference, str) for reference in references)


@OFTEN
@given(TIMES)
@example("Sat, 21 Nov 99999999999 12:00:00 GMT")
@example("Sat, 21 Nov -1 12:00:00 GMT")
@example("Sat, 21 Nov 2026 12:00:00 +99999999999")
@example("9999-12-31T23:59:59-23:59")
@example("0001-01-01T00:00:00+23:59")
@example("²")
def test_times_of_any_year_are_read_or_unknown(text):
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    wait = retry_after(text, noon)
    assert wait is None or 0 <= wait <= 86_400
    time = read_utc_time(text)
    assert time is None or time.tzinfo is UTC
    assert parse_unix_time(text) is None or isinstance(parse_unix_time(text), int)
    assert find_validator({"date": text, "last-modified": text, "etag": "W/"}) == ""
    robots.read_header_directives([f"unavailable_after: {text}", text], "x")
    sitemap = f"<urlset><url><loc>/a</loc><lastmod>{text.replace('<', '').replace('&', '')}</lastmod></url></urlset>"
    with suppress(WindrowError):
        read_hint(sitemap.encode("utf-8", "replace"), HERE)


@OFTEN
@given(BYTES, st.integers(1, 50))
def test_answers_of_any_bytes_in_any_pieces_are_taken_or_refused(content, piece):
    for start in (b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        reader = ResponseReader("x", lambda head: read_head(head.text), lambda block: None)
        with suppress(WindrowError):
            whole = start + content
            for at in range(0, len(whole), piece):
                reader.feed(memoryview(whole)[at : at + piece])
            reader.end()


@OFTEN
@given(BYTES, st.sampled_from(["gzip", "deflate", "chunked", "gzip, gzip, chunked", "br", "zstd", ""]))
def test_bodies_rules_and_fields_of_any_bytes_are_read_or_refused(content, named):
    with suppress(WindrowError):
        http.decode_body(content, {"content-encoding": named, "transfer-encoding": named}, most=1 << 20, ratio=100)
    robots.parse(content, "x").decide("/a?b")
    text = content.decode("latin-1")
    find_link_targets(text, "canonical")
    parse_mime(text)
    robots.read_header_directives([text], "x")
    robots.read_meta_directives([("robots", text)], "x")
