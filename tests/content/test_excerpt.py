"""The markup of some blocks of a page."""

from __future__ import annotations

import pytest

from windrow.content import markup as module
from windrow.content.markup import build_outline_from_pieces, copy_chosen_markup, find_meaning, split_markup


def markup_of(html: str, *wanted: str) -> str:
    """Return the markup of the blocks that have any of these words."""
    split = split_markup(f"<body>{html}</body>".encode())
    outline = build_outline_from_pieces(split)
    return copy_chosen_markup(split, outline, [any(part in text for part in wanted) for text in outline.blocks.text])


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<nav><p>Home</p></nav><p>Tea <b>hot</b></p><p>Cups</p>", "<p>Tea <b>hot</b></p>"),
        ('<div class="a"><p>Home</p><div id="b"><p>Tea</p></div></div>', '<div class="a"><div id="b"><p>Tea</p></div></div>'),
        ('<ol start="4"><li>Home</li><li>Tea</li></ol><p>More</p>', '<ol start="4"><li>Tea</li></ol>'),
        ("Tea<p>Home</p>", "Tea"),
        ("<p>Home</p>Tea", "Tea"),
        ("<p>Home</p><div>Tea <p>Cups</p></div>", "<div>Tea </div>"),
        ('<p>Home</p><a href="/t"><p>Tea</p></a>', "<p>Tea</p>"),
        ("<p>Home</p><hr>Tea<hr><p>Cups</p>", "<hr>Tea"),
        ("<p>Home</p><x-y>Tea</x-y><p>Cups</p>", "Tea"),
        ("<div>Tea<p>Home</p>Tea <i>hot</i></div>", "<div>TeaTea <i>hot</i></div>"),
        ("<p>Home", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_blocks_are_copied_with_the_boxes_around_them_and_nothing_else(html: str, expected: str) -> None:
    assert markup_of(html, "Tea") == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<p>Tea</p><figure><img src="/a"></figure><p>Tea</p>', '<p>Tea</p><figure><img src="/a"></figure><p>Tea</p>'),
        ('<p>Home</p><img src="/a"><p>Tea</p>', '<img src="/a"><p>Tea</p>'),
        ('<p>Tea</p><img src="/a">', "<p>Tea</p>"),
        ('<img src="/a"><p>Home</p><p>Tea</p>', "<p>Tea</p>"),
        ('<p>Tea</p><a href="/b"><img src="/a"></a><p>Tea</p>', "<p>Tea</p><p>Tea</p>"),
        ('<p>Tea</p><figure><a href="/b"><img src="/a"></a></figure><p>Tea</p>',
         '<p>Tea</p><figure><a href="/b"><img src="/a"></a></figure><p>Tea</p>'),
    ],
)  # fmt: skip
def test_pictures_stay_that_stand_by_themselves_between_the_blocks(html: str, expected: str) -> None:
    assert markup_of(html, "Tea") == expected


def test_only_the_tags_around_the_blocks_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    monkeypatch.setattr(module, "find_meaning", lambda tag: find_meaning(seen.append(tag) or tag))
    filler = "<div><p>Home</p></div>" * 500
    assert markup_of(f"{filler}<div><p>Tea</p></div>{filler}", "Tea") == "<div><p>Tea</p></div>"
    assert len(seen) < 10
