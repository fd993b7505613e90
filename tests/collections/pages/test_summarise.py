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


def test_two_different_canonical_addresses_are_none():
    one, other = "<link rel=canonical href=/b>", '<link rel="nofollow canonical" href=/c>'
    assert read(one + "x").canonical == "https://example.org/b"
    assert read(one + one + "x").canonical == "https://example.org/b"
    assert read(one + other + "x").canonical == ""
    assert read(one + "x", link="</c>; rel=canonical").canonical == ""
    assert read(one + "x", link="</b>; rel=canonical").canonical == "https://example.org/b"


@pytest.mark.parametrize(
    ("body", "header", "move"),
    [
        ("<meta http-equiv=refresh content='0; url=/new#part'>", "", ("https://example.org/new", "part", 2)),
        ("<meta http-equiv=Refresh content='3;URL=\"/new\"'>", "", ("https://example.org/new", None, 2)),
        ("", "0; url=/caf\u00c3\u00a9", ("https://example.org/caf%C3%A9", None, 1)),
        ("<meta http-equiv=refresh content=30>", "", None),
        ("<meta http-equiv=refresh content='30; url='>", "", None),
        ("<meta http-equiv=refresh content='30; url=javascript:x'>", "mailto:x@y.example", None),
    ],
)
def test_a_page_that_sends_its_readers_on_is_a_redirect_with_text(body, header, move):
    found = read(f"<head>{body}</head><main><p>Some words of it.</main>", refresh=header)
    assert (tuple(found.move) if found.move else None) == move
    assert found.pile is not None
    tags = [link[9] for link in found.links]
    assert tags == (["meta"] if move and move[2] == 2 else [])


def test_pages_before_and_behind_are_links():
    found = read("<link rel=next href=/2><link rel='prev start' href=/0><main><p>One")
    assert [(link[0], link[9]) for link in found.links] == [
        ("https://example.org/2", "link"),
        ("https://example.org/0", "link"),
    ]
