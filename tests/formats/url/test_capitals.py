"""Schemes may be in capitals (RFC 3986, section 3.1), wherever an address is read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.collections.events.reader import VISITED, parser, read
from windrow.adapters.adapter import SourceChange
from windrow.app.changes import format_html
from windrow.app.run import refuse_other_lines
from windrow.collections.events.parser import SourceDocument
from windrow.collections.events.readers.by_fields import detail_requests
from windrow.collections.events.readers.paging import next_json_page
from windrow.collections.events.reading import source_document
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.standard import problems
from windrow.collections.pages.adapter.trial import try_address
from windrow.contract.discoveries import inputs
from windrow.fetch.politeness.user_agent import names_contact, user_agent
from windrow.formats.url_hints import read_hints
from windrow.model import Site, Source
from windrow.settings.kinds import PATH_OR_URL

NOW = datetime(2026, 9, 1, tzinfo=UTC)


def document(text: str, **rules: str) -> SourceDocument:
    return source_document(parser("json", **rules), text.encode(), "http://b.example/x", VISITED, "")


def calendar_url(address: str) -> str | None:
    lines = ("BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:a", "DTSTART:20261124T180000Z", f"URL:{address}", "END:VEVENT")
    return read("\r\n".join((*lines, "END:VCALENDAR", "")), "icalendar")[0][0].value["event_url"]


def schema_org_url(address: str) -> str | None:
    event = f'{{"@type": "Event", "name": "a", "startDate": "2026-11-24T18:00Z", "url": "{address}"}}'
    return read(f'<script type="application/ld+json">{event}</script>', "schema.org")[0][0].value["event_url"]


def contact(address: str) -> tuple[str, bool]:
    return user_agent("example", address), names_contact(f"example ({address})")


READERS = {
    "calendar": calendar_url,
    "schema.org": schema_org_url,
    "next page": lambda address: next_json_page(document(f'{{"next": "{address}"}}', next_page="next")),
    "details": lambda address: [
        request.url for request in detail_requests(document(f'{{"all": [{{"at": "{address}"}}]}}', details="all:at:"))
    ],
    "text sitemap": lambda address: [hint.url for hint in read_hints(address.encode(), "https://a.example/").entries],
    "article": lambda address: article_observation(FoundArticle(address, "html", title="a", html="<p>b"), "", NOW),
    "article of others": lambda address: [problem for problem in problems({"url": address}) if problem[0] == "url"],
    "change": lambda address: format_html([SourceChange(NOW, "a", "pages", "new", "k", "", "", address)], "w"),
    "contact": contact,
    "setting": lambda address: PATH_OR_URL.read(address, Path("/")),
    "standard input": lambda address: refuse_other_lines({1: address, 2: "https://b.example/"}),
}


@pytest.mark.parametrize("name", READERS)
def test_a_web_address_with_its_scheme_in_capitals_is_read_like_any_other(name):
    address, capitals = "https://a.example/1", "HTTPS://a.example/1"
    read_small, read_capitals = repr(READERS[name](address)), repr(READERS[name](capitals))
    assert read_small not in {"None", "''", "[]"} or name in {"article of others", "standard input"}
    assert read_capitals.replace(capitals, address) == read_small


def test_mailboxes_buckets_and_files_may_have_their_scheme_in_capitals(tmp_path):
    assert contact("MAILTO:me@a.example") == ("example-crawler (for MAILTO:me@a.example)", True)
    buckets = [
        inputs(Source("a", "papers", Site(""), options={"warc_urls": [address]})).remote
        for address in ("s3://papers/crawls", "S3://papers/crawls")
    ]
    assert [bucket[0].site.host for bucket in buckets] == ["s3.us-east-1.amazonaws.com"] * 2
    (tmp_path / "a.html").write_text("<p>a")
    for address in (f"FILE:{tmp_path}/a.html", f"FILE://{tmp_path}/a.html"):
        assert next(try_address(None, address)).size == 4
