"""Responses in which any value may have any type: each is read, and the results can be written."""

import io
import json
import random
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from windrow.collections.news import standard, townnews, wordpress
from windrow.contract import Answer, Observation, Request
from windrow.model import Site, Source

ODD = [
    None, True, 0, -1, 10**30, 1.5, "", "x", "2025-11-20T10:00:00", "0000-00-00", "https://a.example/x", "//[", [], [None],
    [5], ["a"], {}, {"a": 1}, {"rendered": 5}, {"rendered": "<p>x"}, [{"name": 5}], [[{"name": "a"}]], [[5]], "\ud800",
    {"iso8601": 5, "utc": []}, {"utc": "9" * 14}, {"url": 5}, {"full_name": []}, "<script>", "javascript:x", "https://../x",
]  # fmt: skip
POST = {
    "id": 1, "date": "2025-11-20T10:00:00", "date_gmt": "2025-11-20T10:00:00", "modified": "x", "modified_gmt": "x",
    "status": "publish", "type": "post", "link": "https://a.example/p/", "title": {"rendered": "T"},
    "content": {"rendered": "<p>x", "protected": False}, "excerpt": {"rendered": "e"}, "class_list": ["tag-x"],
    "_embedded": {"author": [{"name": "a"}], "wp:term": [[{"name": "t"}]], "wp:featuredmedia": [{"source_url": "/p"}]},
    "yoast_head_json": {"author": "x", "og_image": [{"url": "x"}]}, "jetpack_featured_media_url": "x",
}  # fmt: skip
ROW = {
    "uuid": "u", "type": "article", "url": "https://a.example/a.html", "title": "T", "byline": "By x", "prologue": "<p>p",
    "content": ["<p>c"], "keywords": ["k"], "sections": ["s"], "authors": [{"full_name": "a"}], "subheadline": "s",
    "starttime": {"iso8601": "2025-11-20T10:00:00-06:00", "utc": "1763000000000", "rfc2822": ""}, "flags": ["f"],
    "lastupdated": {"iso8601": "x"}, "preview": {"url": "p"}, "resource_url": "r",
}  # fmt: skip
API = "https://a.example/wp-json/wp/v2/posts?"
OPTIONS = {
    "origins": ("https://b.example",),
    "timezone": "",
    "since": "",
    "until": "",
    "overlap": 172_800.0,
    "every": 0,
    "full_listing_every": 0.0,
}
SOURCE = Source("a", "news", Site("https", "a.example"), options=OPTIONS)
NOW = datetime(2025, 11, 20, tzinfo=UTC)


def changed(chance, content):
    """Return a copy of a value with random parts replaced by other types."""
    content = json.loads(json.dumps(content))
    for _ in range(chance.randint(1, 3)):
        inner = content
        while isinstance(inner, dict) and inner:
            name = chance.choice(list(inner))
            if isinstance(inner[name], dict) and inner[name] and chance.random() < 0.5:
                inner = inner[name]
                continue
            inner[name] = json.loads(json.dumps(chance.choice(ODD)))
            break
    return content


@pytest.mark.parametrize(("reader", "good", "name", "context"), [
    (wordpress, POST, "wordpress.posts", '{"mode": "all"}'), (wordpress, POST, "wordpress.by_number", "1,2"),
    (wordpress, {"id": 5}, "wordpress.numbers", json.dumps([f"{API}_fields=id", 1, 0])),
    (townnews, ROW, "townnews.search", "0"),
])  # fmt: skip
def test_whatever_the_types_of_values_a_reply_is_followed_and_read_to_valid_articles(reader, good, name, context):
    chance, articles = random.Random(9), 0
    request = Request(f"{API}per_page=100", name, context=context)
    for _ in range(400):
        rows = [changed(chance, good) if chance.random() < 0.9 else chance.choice(ODD) for _ in range(2)]
        whole = rows if reader is wordpress else {"total": chance.choice(ODD), "rows": rows}
        body = json.dumps(chance.choice(ODD) if chance.random() < 0.05 else whole).encode()
        turn = reader.follow(SOURCE, {"numbers.0": [1, 2]}, Answer(request, 200, {}, io.BytesIO(body), NOW))
        spelled_out = [
            json.dumps(dict(turn.learned)),
            *(offer.key for offer in turn.offers),
            *(following.url for following in turn.requests),
        ]
        "".join(spelled_out).encode()
        task = SimpleNamespace(request=request, fields={}, view=io.BytesIO(body), source=SOURCE, visited=NOW)
        for observation in reader.read(task):
            if isinstance(observation, Observation) and observation.value is not None:
                articles += 1
                article = observation.value | {"first_seen_timestamp_gmt": 1}
                assert list(standard.problems(article)) == []
                standard.format_article(article).encode()
                f"{observation.key}{json.dumps(dict(observation.aside), ensure_ascii=False)}".encode()
    assert articles or name == "wordpress.numbers"


@pytest.mark.parametrize("reader", [wordpress, townnews])
def test_a_row_at_an_address_of_another_site_is_an_article_of_its_own_with_a_name_of_the_list(reader):
    good, address = (POST, "link") if reader is wordpress else (ROW, "url")
    urls = [f"https://{site}.example/s" for site in ("www.a", "b", "c")]
    rows = [good | {address: url, "id": number, "uuid": f"u{number}"} for number, url in enumerate(urls)]
    body = json.dumps(rows if reader is wordpress else {"rows": rows}).encode()
    request = Request(f"{API}per_page=100", "wordpress.posts")
    task = SimpleNamespace(request=request, fields={}, view=io.BytesIO(body), source=SOURCE, visited=NOW)
    *own, claim = reader.read(task)
    assert [observation.key for observation in own] == urls[:2]
    (name,) = claim.names
    assert name in {"wordpress:a.example/2", "townnews:a.example/u2"}
    assert claim.key == claim.value["url"] == f"{urls[2]}#{name}"
    assert "c.example/s" not in claim.aliases
