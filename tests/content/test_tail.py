"""Blocks behind an article's text."""

from __future__ import annotations

from importlib import import_module

import pytest

from windrow.content.article import read_article
from windrow.content.outline import Outline
from windrow.content.page import BlockFate, Choice, read_page
from windrow.content.tail import remove_captions, remove_tail
from windrow.content.traits import PageTraits

PROSE = "This is a sentence of the article, and it goes on for a while, as sentences of articles do. "
TEXT = "".join(f"<p>{number} {PROSE * 3}" for number in range(10))
ARTICLE = PageTraits(kind=2)


def text_left(html: str, traits: PageTraits = ARTICLE) -> str:
    outline = read_page(f"<body><div>{html}</div>".encode()).outline
    kept = remove_tail(outline, traits, [True] * len(outline.blocks.text))
    return "\n".join(text for text, keep in zip(outline.blocks.text, kept, strict=True) if keep)


@pytest.mark.parametrize(
    "name",
    ["About the author", "Related articles:", "You may also like", "Subscribe to our newsletter", "3 Comments",
     "Weitere Artikel", "À lire aussi", "Noticias relacionadas"],
)  # fmt: skip
def test_a_section_behind_the_text_goes_that_names_itself_none_of_it(name: str) -> None:
    kept = text_left(f"{TEXT}<h3>{name}</h3><p>Ann Lee {PROSE}<h2>And yet</h2><p>The end {PROSE}")
    assert name not in kept
    assert "Ann Lee" not in kept
    assert "The end" in kept


def test_a_section_of_such_a_name_stays_before_the_middle_of_the_text() -> None:
    assert "Ann Lee" in text_left(f"<h3>About the author</h3><p>Ann Lee {PROSE}</p>{TEXT}")


def test_of_a_line_that_names_itself_so_only_the_line_goes() -> None:
    kept = text_left(f"{TEXT}<p>Related articles</p><p>The end {PROSE}</p>")
    assert "Related" not in kept
    assert "The end" in kept


TEASER = f"<li class=card><h4><a href=/other>Coffee is cold</a></h4><p>Teaser {PROSE}</p></li>"


def test_teasers_with_linked_headlines_behind_the_text_go() -> None:
    assert "Teaser" not in text_left(f"{TEXT}<ul>{TEASER * 3}</ul>")


@pytest.mark.parametrize(
    "html",
    [
        f"<ul>{TEASER * 3}</ul>{TEXT}",
        f"{TEXT}<ul>{TEASER}</ul>",
        f"{TEXT}<ul>{TEASER.replace('/other', '#other') * 3}</ul>",
        f"<p>{PROSE * 2}<ul>{TEASER * 3}</ul>",
    ],
)
def test_what_is_like_a_teaser_and_part_of_the_text_stays(html: str) -> None:
    assert "Teaser" in text_left(html)


def test_what_readers_answer_to_an_article_goes_and_stays_in_a_forum() -> None:
    html = f"{TEXT}<div class=comments><p>Reader {PROSE}</div>"
    assert "Reader" not in text_left(html)
    assert "Reader" in text_left(html, PageTraits(kind=2, types=8))
    assert "Reader" in text_left(html, PageTraits())


def test_captions_are_none_of_an_articles_text_and_stay_in_its_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    def keep_all(outline: Outline, traits: PageTraits, *, captions: bool) -> Choice:
        assert captions
        return Choice([BlockFate.KEPT] * len(outline.blocks.text), {})

    monkeypatch.setattr(import_module("windrow.content.article"), "choose_main_content", keep_all)
    figure = (
        "<figure><img src=/q.jpg><figcaption>The old quay, seen from the tower of the church.</figcaption></figure>"
    )
    page = (
        f"<meta property=og:type content=article><main><article><h1>Tea</h1>{TEXT}{figure}<p>The end.</article></main>"
    )
    kept = read_article(page.encode())
    assert "<figcaption>The old quay, seen from the tower" in kept.markup
    assert "seen from the tower" not in "\n".join(kept.blocks)
    assert kept.blocks[-1] == "The end."
    outline = read_page(page.encode()).outline
    every = [True] * len(outline.blocks.text)
    assert remove_captions(outline, PageTraits(), every) == every  # a gallery's captions are its content
    assert remove_captions(outline, ARTICLE, every).count(False) == 1
