"""Readers of foreign bytes take linear time: each is given ever longer rows of its worst input."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tests.collections.events.reader import read as read_events
from tests.cpu import cpu_seconds
from windrow.collections.news import discover
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.feed import strip_html
from windrow.collections.news.section_page import find_article_links
from windrow.collections.pages.code import parse_mime
from windrow.collections.pages.reading.read import read as read_document
from windrow.collections.pages.redirect import find_link_targets
from windrow.collections.pages.references import LinkMemo, References
from windrow.content import tree
from windrow.content.article import read_article
from windrow.content.charset import decode
from windrow.content.markdown import html_to_markdown
from windrow.content.page import read_page
from windrow.errors import WindrowError
from windrow.fetch import ftp_session
from windrow.fetch.politeness import pace
from windrow.formats import feed, http, listing, moment, robots, sniff, url, xml
from windrow.formats.http import read_head as read_kept
from windrow.formats.http_response import ResponseReader, read_response_head
from windrow.formats.url_hints import read_hints as read_hint
from windrow.model import Limits

TIMES = 8
"""The length of the longest row as a multiple of the shortest."""

SLACK = 4
"""The factor by which it may take longer than that: the machine also does other work."""

LEAST = 0.002
"""The least seconds counted for the shortest row."""

HERE = "https://example.org/a"
SITEMAP = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"


def answer(content):
    reader = ResponseReader("x", lambda head: None, lambda block: None)
    for at in range(0, len(content), 1 << 16):
        reader.feed(memoryview(content)[at : at + (1 << 16)])


def answer_in_drops(content):
    reader = ResponseReader("x", lambda head: None, lambda block: None)
    for at in range(len(content)):
        reader.feed(memoryview(content)[at : at + 1])


def references(content):
    return References("x")(HERE, {"content-type": "text/html"}, content)


def read_recent(content):
    return LinkMemo(References("x"))(HERE, {"content-type": "text/html"}, content)


def text_of(kind):
    return lambda content: read_document(content, HERE, {"content-type": kind})


def feed_links(*paths):
    return find_article_links(read_page(b"".join(b"<a href=%b>x</a>" % path for path in paths)), HERE, {})


def parse_words(text):
    return html_to_markdown(text, HERE)


def read_title(title):
    return article_observation(FoundArticle("https://example.org/a", "page", title, "<p>text"), "", None)


CASES = {
    # heads and fields
    "status-spaces": (lambda n: read_response_head(b"HTTP/1.1 200" + b" " * n + b"\r", "x"), 4_000),
    "status-tabs": (lambda n: read_response_head(b"HTTP/1.1 200 a" + b" \t" * n + b"\r\r\n", "x"), 4_000),
    "status-number": (lambda n: read_response_head(b"HTTP/1.1" + b" " * n + b"\n", "x"), 4_000),
    "head-folds": (lambda n: read_response_head(b"HTTP/1.1 200 \r\nA: b" + b"\r\n " * n, "x"), 2_500),
    "head-lengths": (lambda n: read_response_head(b"HTTP/1.1 200 \r\n" + b"content-length:1\r\n" * n, "x"), 500),
    "head-dripped": (lambda n: answer_in_drops(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * n), 1_000),
    "head-blank-lines": (lambda n: answer_in_drops(b"\r\n" * n), 3_500),
    "heads-interim": (lambda n: answer(b"HTTP/1.1 100 \r\n\r\n" * n), 450),
    "chunks-one-byte": (lambda n: answer(b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * n), 4_000),
    "chunks-dripped": (lambda n: answer_in_drops(b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * n), 500),
    "chunk-spaces": (lambda n: answer(b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n" + (b"1" + b" " * 4000 + b"\r\nx\r\n") * (n // 1000)), 4_000),
    "kept-fields": (lambda n: read_kept.__wrapped__(b"HTTP/1.1 200\r\n" + b"link: <a>\r\n" * n), 700),
    "link-quotes": (lambda n: find_link_targets("<a>" + '; a="' * n, "canonical"), 200),
    "link-parameters": (lambda n: find_link_targets("<a>" + '; a="b"' * n + "!", "canonical"), 140),
    "link-spaces": (lambda n: find_link_targets("<a>; a" + " " * n + "!", "canonical"), 1_000),
    "link-escapes": (lambda n: find_link_targets('<a>; a="' + "\\" * n, "canonical"), 1_000),
    "charset-spaces": (lambda n: decode(b"x", "charset=" + " " * n), 7_500),
    "charset-words": (lambda n: decode(b"x", "charset = " * n), 7_500),
    "media-type": (lambda n: parse_mime("a/b;" + " " * n), 7_500),
    "media-parameters": (lambda n: parse_mime("a/b" + "; a" * n), 7_500),
    "robots-tag": (lambda n: robots.read_header_directives(["a" * n, "a:" * n, " " * n, "a " * n], "x"), 500),
    "robots-tag-times": (lambda n: robots.read_header_directives(["unavailable_after: 1," * n], "x"), 25),
    "robots-meta": (lambda n: robots.read_meta_directives([("robots", "unavailable_after: 1," * n)], "x"), 25),
    "retry-after": (lambda n: pace.retry_after("9" * n, None) or moment.read_utc_time("Sat, " * n), 4_000),
    # robots.txt
    "robots-spaces": (lambda n: robots.parse(b"Disallow" + b" " * n + b"x", "x"), 60_000),
    "robots-spaces-behind": (lambda n: robots.parse(b"Disallow: a" + b" " * n + b"x" + b" " * n, "x"), 30_000),
    "robots-letters": (lambda n: robots.parse(b"a" * n, "x"), 60_000),
    "robots-agents": (lambda n: robots.parse(b"User-agent: x\n" * n + b"Disallow: /a\n" * n, "x"), 2_000),
    "robots-rules": (lambda n: robots.parse(b"User-agent: x\n" + b"Disallow: /*a*b\n" * n, "x").decide("/" + "a" * 2000), 3_500),
    "robots-stars": (lambda n: robots.parse(b"User-agent: x\nDisallow: /" + b"*a" * n, "x").decide("/" + "a" * 2000), 10_000),
    # sitemaps and feeds
    "sitemap-one-address": (lambda n: read_hint(SITEMAP + b"<url><loc>/a</loc></url>" * n, HERE), 1_000),
    "sitemap-other-elements": (lambda n: read_hint(SITEMAP + b"<a/>" * n, HERE), 10_000),
    "sitemap-locations": (lambda n: read_hint(SITEMAP + b"<url>" + b"<loc/>" * n, HERE), 10_000),
    "sitemap-comments": (lambda n: read_hint(b"<!--" * n, HERE), 5_000),
    "sitemap-instructions": (lambda n: read_hint(b"<?xml " + b" encoding " * n, HERE), 5_000),
    "sitemap-lines": (lambda n: read_hint(b"a\n" * n, HERE), 20_000),
    "sitemap-blank": (lambda n: read_hint(b"http://a/\n" + b"\r\n" * n, HERE), 20_000),
    "feed-links": (lambda n: read_hint(b"<feed><entry>" + b"<link/>" * n + b"</entry></feed>", HERE), 10_000),
    "feed-nested": (lambda n: read_hint(b"<rss>" + b"<item>" * n, HERE), 5_000),
    "feed-titles": (lambda n: feed.read_feed(b"<rss><channel><title>" + b"&lt;a" * n + b"</title></channel></rss>"), 4_000),
    "feed-entries": (lambda n: feed.read_feed(b"<rss><channel>" + b"<item><title>a</title></item>" * n + b"</channel></rss>"), 600),
    "feed-content": (lambda n: feed.read_feed(b"<feed><entry><content type='xhtml'>" + b"<p xmlns='urn:x'/>" * n + b"</content></entry></feed>"), 1_000),
    "feed-json": (lambda n: feed.read_feed(b'{"version": "https://jsonfeed.org/version/1", "items": [' + b'{"id": "a"},' * n + b"{}]}"), 4_000),
    "xml-prolog": (lambda n: xml.admit(b" " * n + b"<!-- -->" * n + b"<a", Limits()), 5_000),
    "gzip-members": (lambda n: read_hint(b"\x1f\x8b\x08\0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0" * n, HERE), 120),
    "codings-chunks": (lambda n: http.decode_body(b"1\r\nx\r\n" * n, {"transfer-encoding": "chunked"}, most=1 << 30, ratio=100), 5_000),
    # pages
    "page-open-tags": (lambda n: references(b"<a" * n), 13_000),
    "page-open-ends": (lambda n: references(b"</a" * n), 13_000),
    "page-nested": (lambda n: references(b"<div>" * n), 13_000),
    "page-formats": (lambda n: references(b"<p>" + b"".join(b"<b id=%d>" % at for at in range(n // 4)) + b"<p>x" * n), 2_000),
    "page-formats-across": (lambda n: references(b"".join(b"<i id=%d><p>x" % at for at in range(n))), 2_000),
    "page-tables": (lambda n: references(b"<table>" * n), 3_000),
    "page-cells": (lambda n: references(b"<table>" + b"<td>x<a>" * n), 3_000),
    "page-anchors": (lambda n: references(b"<a href=/%d><p>" * n), 3_000),
    "page-lists": (lambda n: references(b"<li><ul>" * n), 1_000),
    "page-options": (lambda n: references(b"<select>" + b"<option><optgroup>" * n), 3_000),
    "page-comments": (lambda n: references(b"<!--" * n), 10_000),
    "page-comments-ended": (lambda n: references(b"<!---->" * n), 10_000),
    "page-doctypes": (lambda n: references(b"<!DOCTYPE " * n), 10_000),
    "page-scripts": (lambda n: references(b"<script><!--<script>" * n), 3_000),
    "page-titles": (lambda n: references(b"<title>" * n), 3_000),
    "page-drawings": (lambda n: references(b"<svg><math>" * n), 1_500),
    "page-templates": (lambda n: references(b"<template>" * n), 500),
    "page-forms": (lambda n: references(b"<form><div>" * n), 1_500),
    "page-frames": (lambda n: references(b"<frameset>" * n), 3_000),
    "page-attributes": (lambda n: references(b"<a " + b"".join(b"a%d=1 " % at for at in range(n)) + b">"), 3_000),
    "page-attribute": (lambda n: references(b"<a " + b"a=1 " * n + b">"), 3_000),
    "page-quotes": (lambda n: references(b"<a href='" * n), 10_000),
    "page-entities": (lambda n: references(b"&am" * n + b"&#x0000" * n), 5_000),
    "page-metas": (lambda n: references(b"<meta name=robots content=nofollow>" * n), 1_000),
    "page-bases": (lambda n: references(b"<base href=/a/>" * n), 1_000),
    "page-links": (lambda n: references(b"<a href=/a>" * n), 2_500),
    "met-open-tags": (lambda n: read_recent(b"<a " * n), 10_000),
    "met-tags": (lambda n: read_recent(b"<a href=/x%d>" * n), 2_000),
    "read-classes": (lambda n: text_of("text/html")(b"<p class='" + b"a " * n + b"'>x"), 5_000),
    "read-blocks": (lambda n: text_of("text/html")(b"<p>some words" * n), 60),
    "read-nested": (lambda n: text_of("text/html")(b"<div>a" * n), 500),
    "read-spans": (lambda n: text_of("text/html")(b"<p><span>a" * n), 500),
    "read-names": (lambda n: text_of("text/html")(b"<p " + b"<" * n + b" a\"='>x"), 3_000),
    "read-dates": (lambda n: text_of("text/html")(b"<script type=application/ld+json>" + b'"datePublished" : ' * n), 3_000),
    "read-markdown-images": (lambda n: text_of("text/markdown")(b"![" * n), 120),
    "read-markdown-marks": (lambda n: text_of("text/markdown")(b"*a _b " * n), 200),
    "read-markdown-ticks": (lambda n: text_of("text/markdown")(b"".join(b"`" * at for at in range(n))), 40),
    "read-markdown-quotes": (lambda n: text_of("text/markdown")(b"> " * n), 300),
    "read-plain": (lambda n: text_of("text/plain")(b"a\n \n" * n), 3_000),
    "sniffed": (lambda n: sniff.sniff(b"<!--" * n, ""), 10_000),
    # addresses
    "address-dots": (lambda n: url.normalise("http://h/" + "../" * n), 2_700),
    "address-scheme": (lambda n: (url.normalise("a" * n + ":"), url.normalise_other_scheme(" " * n)), 8_000),
    "address-parts": (lambda n: url.parts("http://h/" + "a" * n), 8_000),
    "addresses-known": (lambda n: url.Resolver("http://h").resolve("http://h/", ["/" + "a%20" * n, "." * n, "%" * n]), 8_000),
    # articles
    "article-open-links": (lambda n: discover._detect_kind(b"<link " * n, {}, HERE), 3_000),
    "article-api-header": (lambda n: discover._detect_kind(b"", {"link": "<a>;" * n + " " * n}, HERE), 3_000),
    "article-metas": (lambda n: read_article(b"<meta name=" * n, "text/html", HERE), 2_000),
    "article-types": (lambda n: read_article(b"<script type=application/ld+json>" + b'{"@type":"' * n, "text/html", HERE), 2_000),
    "article-byline": (lambda n: read_article(b"<p class=byline>By" + b" a and" * n, "text/html", HERE), 1_000),
    "article-byline-spaces": (lambda n: read_article(b"<meta name=author content='" + b" &nbsp;" * n + b"'>", "text/html", HERE), 2_000),
    "article-scripts-in-titles": (lambda n: read_title("<script>" * n), 3_000),
    "article-ends-in-titles": (lambda n: read_title("<style></style " * n), 3_000),
    "article-plain": (lambda n: (strip_html("<script>" * n), strip_html("<!--" * n), strip_html("<script></script " * n)), 3_000),
    "article-paths": (lambda n: feed_links(b"/" + b"a-" * n + b"!", b"/" + b"a" * n, b"/" + b"1-" * n), 3_000),
    "article-open-tags": (lambda n: read_article(b"<p>" + b"<a" * n, "text/html", HERE), 3_000),
    "article-tails": (lambda n: read_article(b"<p>" + b"1" * n + b"<p>about the author" * (n // 100), "text/html", HERE), 3_000),
    "markdown-dashes": (lambda n: parse_words(f"<p>{'-' * n}<p>{'1' * n}<p>{'#' * n}<p>{'=' * n}"), 3_000),
    "markdown-spaces": (lambda n: parse_words(f"<p>a<b>{'&nbsp; ' * n}b</b> c<code>{' ' * n}b</code>"), 1_000),
    "markdown-preformatted": (lambda n: parse_words("<pre>" + "`" * n + " \n" * n + "</pre>"), 2_000),
    "markdown-signs": (lambda n: parse_words("<p>" + "*_[`" * n + "![](" * n), 500),
    "markdown-nested": (lambda n: parse_words("<ul><li>" * n), 100),
    "markdown-quotes": (lambda n: parse_words("<blockquote>" * n + "x"), 100),
    "markdown-keywords": (lambda n: parse_words("<meta name=keywords content='a b c d e f'>" * n), 1_000),
    "markdown-hidden": (lambda n: parse_words("<div hidden>" * n + "word " * 13 * n), 150),
    "markdown-navigation": (lambda n: parse_words("<nav>" * n + "word " * n), 150),
    "markdown-related": (lambda n: parse_words("<div class=related>" * n + "word " * 13 * n), 150),
    "markdown-forms": (lambda n: parse_words("<form><div></form>" * n + "word " * 13 * n), 150),
    "markdown-links": (lambda n: parse_words("<a href=/x>" * n + "x"), 300),
    "markdown-tables": (lambda n: parse_words("<table>" + "<tr><td>1. x<td>|" * n), 100),
    # calendars
    "calendar-begun": (lambda n: read_events(b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\n" * n, "icalendar"), 3_000),
    "calendar-zones": (lambda n: read_events(b"BEGIN:VCALENDAR\n" + b"BEGIN:VTIMEZONE\n" * n, "icalendar"), 3_000),
    "calendar-spaces": (lambda n: read_events(b"BEGIN:VCALENDAR\nBEGIN:VEVENT" + b" " * n + b"\n" + b" \n" * n, "icalendar"), 3_000),
    "calendar-properties": (lambda n: read_events(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + b"SUMMARY;A=b:c\n" * n + b"END:VEVENT\n", "icalendar"), 60),
    # listings
    "list-columns": (lambda n: listing.read_list("", ["-rwxrwxrwx" + " 1" * n, "01-01-01" + " " * n, "d" * n]), 1_000),
    "list-facts": (lambda n: listing.read_mlsd("", ["a=b;" * n + " x", ";" * n + " x"]), 2_000),
    "index-row": (lambda n: listing.read_index_page("", "http://h/", b"<table><tr>" + b"".join(b"<td><a href='%d'>x</a>" % at for at in range(n))), 250),
    "index-cell": (lambda n: listing.read_index_page("", "http://h/", b"<table><tr><td>" + b"".join(b"<a href='%d'>x</a>" % at for at in range(n)) + b"<td>" + b"x" * 100 * n), 250),
    "index-spaces": (lambda n: listing.read_index_page("", "http://h/", b"<a href='a'>x</a> 1" + b" " * n + b"x" + b"<title>" * n), 5_000),
    "control-port": (lambda n: ftp_session.passive_port("229 (" + "|" * n + "227 " + "1," * n), 1_000),
}  # fmt: skip


def seconds(make, n):
    def read():
        with suppress(WindrowError, ftp_session.Broken):
            make(n)

    return cpu_seconds(read)


@pytest.mark.parametrize("name", CASES)
def test_reading_takes_time_by_the_number_of_bytes(name, monkeypatch):
    """Other work on the machine only adds time, so that the least time of each length counts."""
    monkeypatch.setattr(tree, "_MAX_UNCHECKED_TAGS", 0)  # or only the longer rows would be checked for deep nesting,
    monkeypatch.setattr(tree, "_MIN_REPEATING_TAGS", 0)  # and for formats
    make, n = CASES[name]
    seconds(make, n)
    least = [float("inf"), float("inf")]
    for _ in range(6):
        least = [min(took, seconds(make, n * times)) for took, times in zip(least, (1, TIMES), strict=True)]
        if least[1] <= TIMES * SLACK * max(least[0], LEAST):
            return
    pytest.fail(f"{name}: {least}")
