"""What a visit's bytes and head say, as the Summary Database is told of it."""

from __future__ import annotations

import io

import pytest

from windrow.collections.pages.summarise import LINKS, summarise
from windrow.contract import Task
from windrow.model import Item, Limits, Status

URL = "https://example.org/a"
DATED = {"content-type": "text/html", "date": "Sat, 21 Nov 2026 19:00:00 GMT"}


def read(body: str, **fields: str):
    item = Item(1, "pages", "page", URL, phase=2, status=Status.RUNNING, digest="sha256:0")
    told = DATED | {name.replace("_", "-"): value for name, value in fields.items()}
    options = {"agent": "tester-crawler (for https://example.org/bot)"}
    return summarise(Task(item, io.BytesIO(body.encode()), Limits(), {}, options, fields=told))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("robots", "noindex", "noindex"),
        ("ROBOTS", "follow, NONE", "noindex"),
        ("tester-crawler", "noindex", "noindex"),
        ("other-crawler", "noindex", ""),
        ("robots", "unavailable_after: 25 Jun 2010 15:00:00 GMT", "expired"),
        ("robots", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT", "expired"),
        ("robots", "unavailable_after: 25 Jun 2110 15:00:00 GMT", ""),
        ("description", "noindex and none of it", ""),
    ],
)
def test_a_page_that_asks_not_to_be_found_has_no_text(name, content, reason):
    found = read(f'<title>T</title><meta name="{name}" content="{content}"><main><p>Some words of it.</main>')
    assert found.reason == reason
    assert (found.pile is None, found.described is None) == (bool(reason), bool(reason))


def test_of_many_links_the_first_are_kept():
    found = read("".join(f"<a href=/{at}>a</a> " for at in range(LINKS + 5)))
    assert [len(found.links), found.links[-1][0]] == [LINKS, f"https://example.org/{LINKS - 1}"]
