"""What a site gives only in part or only in another place: rows of a search, texts in JSON-LD, articles in XHTML."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from tests.collections.news.test_substitutes import read_whole_page
from tests.collections.news.workspace import configured
from windrow.collections.news import townnews
from windrow.contract import Answer, Observation, Request, Skip
from windrow.reasons import Reason

SENTENCES = ["The harbour wall & its lamps are new. " * 20, "It stands again."]


def follow_search(tmp_path, total, rows, context="0"):
    """Return what follows from the page of a search that states `total` rows and gives `rows`."""
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "townnews"}}).of("news")
    body = io.BytesIO(json.dumps({"total": total, "rows": rows}).encode())
    request = Request("https://a.example/search/", townnews.SEARCH, context=context)
    return townnews.follow(source, {}, Answer(request, 200, {}, body, datetime(2026, 11, 22, tzinfo=UTC)))


def test_rows_that_a_blox_search_states_and_does_not_give_are_counted(tmp_path):
    followed = follow_search(tmp_path, 240, [], "200 2025-11-03 2025-11-04")
    assert [(count.reason, count.addresses) for count in followed.left_out] == [(Reason.TRUNCATED, 40)]
    assert follow_search(tmp_path, 200, [], "200 2025-11-03 2025-11-04").left_out == ()


def test_texts_of_a_blox_row_are_read_at_any_depth():
    nested: object = "deep"
    for _ in range(5_000):
        nested = [{"a": nested}]
    assert list(townnews._flatten(["one", {"a": "two", "b": [nested, 3]}, "last"])) == ["one", "two", "deep", "last"]


@pytest.mark.parametrize("join", ["\n\n", "</p><p>"])
def test_a_text_that_only_json_ld_has_as_a_whole_is_taken_with_a_mark(tmp_path, join):
    body = f"<p>{join.join(SENTENCES)}</p>" if "<" in join else join.join(SENTENCES)
    linked = json.dumps({"@type": "NewsArticle", "headline": "The quay", "articleBody": body}).replace("</", "<\\/")
    head = f"<title>The quay</title><script type=application/ld+json>{linked}</script>"
    for shown in ("<h1>The quay</h1><p>The harbour wall stands again, as the town says. Subscribe to read it.", ""):
        (article,) = read_whole_page(tmp_path, f"<html><head>{head}</head><body><article>{shown}</article></html>")
        assert isinstance(article, Observation)
        assert article.value is not None
        assert article.value["article_text"].split("\n\n") == [sentence.strip() for sentence in SENTENCES]
        assert article.value["metadata"]["text_source"] == "json_ld"


def test_the_text_that_the_page_shows_is_taken_if_json_ld_has_little_more(tmp_path):
    shown = f"<p>{SENTENCES[0]}"
    linked = json.dumps({"@type": "NewsArticle", "articleBody": " ".join(SENTENCES)})
    page = f"<title>The quay</title><script type=application/ld+json>{linked}</script><article><h1>The quay</h1>{shown}"
    (article,) = read_whole_page(tmp_path, page)
    assert isinstance(article, Observation)
    assert article.value is not None
    assert "text_source" not in article.value.get("metadata", {})


def test_an_article_in_xhtml_that_is_not_well_formed_is_read_as_html_and_counted(tmp_path):
    head = "<title>The quay</title><meta property='og:type' content='article'/>"
    page = f"<html><head>{head}</head><body><article><h1>The quay</h1><p>{SENTENCES[1]}{{}}</article></body></html>"
    fields = {"content-type": "application/xhtml+xml"}
    (article,) = read_whole_page(tmp_path, page.format("</p><script/>"), fields=fields)
    assert isinstance(article, Observation)
    article, fault = read_whole_page(tmp_path, page.format("<br>"), fields=fields)
    assert isinstance(article, Observation)
    assert isinstance(fault, Skip)
    assert fault.reason is Reason.NOT_WELL_FORMED
