"""Main content is separated from what surrounds it."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

from benchmarks.pages.quality import score

from windrow.content.forest import read_weights
from windrow.content.page import main_content, read_page

TEXT = "This is a sentence of the article, and it goes on for a while, as sentences of articles do. " * 4
ARTICLE = f"""<title>Tea - The Site</title><header><nav><ul><li><a href=/>Home</a><li><a href=/b>Shop</a></ul></nav></header>
<main><article><h1>Tea</h1><p>{TEXT}<p>{TEXT}<h2>Cups</h2><p>{TEXT}</article></main>
<aside><h3>Related</h3><ul><li><a href=/c>Coffee</a><li><a href=/d>Milk</a></ul></aside>
<footer><p>© 2024 The Site. <a href=/p>Privacy</a></footer>"""

FLOOR = 0.87
"""The least mean F1 over the pages that the forest was trained with; a fall means that reading has changed."""


def text(html: str) -> list[str]:
    page = read_page(html.encode(), "https://site.example/tea")
    keep = main_content(page.outline, page.traits)
    return [each for each, kept in zip(page.outline.blocks.text, keep, strict=True) if kept]


def test_an_article_without_what_is_around_it() -> None:
    content = text(ARTICLE)
    assert [each for each in content if each.startswith("This is")] == [TEXT.strip()] * 3
    assert "Cups" in content
    assert {"Home", "Shop", "Coffee", "Milk", "Privacy"}.isdisjoint(content)


def test_all_posts_of_a_thread() -> None:
    post = "<div class=post><div class=author>Ann</div><div class=postbody>{}</div><a href=/r>Reply</a></div>"
    posts = [f"I think {n} is the best number of cups to have in the house, since one always breaks." for n in range(8)]
    content = text(
        f"<nav><a href=/>Home</a></nav><h1>Cups</h1>{''.join(map(post.format, posts))}<footer>© Forum</footer>"
    )
    assert set(posts) <= set(content)


def test_a_page_without_text_has_no_main_content() -> None:
    assert text("<div></div>") == []


def test_a_single_line_is_main_content() -> None:
    assert text("<p>Only this.") == ["Only this."]


def test_teasers_behind_the_box_of_the_text_are_not_main_content() -> None:
    teasers = "".join(
        f"<div class=story><h3><a href=/{n}>Story {n}</a></h3><p>A teaser of story {n} is a sentence as long as those of "
        f"the article itself, and tells what number {n} is about.</p></div>"
        for n in range(4)
    )
    content = text(
        f"<div id=wrap><div class=post><h1>Tea</h1><p>{TEXT}<p>{TEXT} more<p>{TEXT} still</div>{teasers}</div>"
    )
    assert content[-1] == f"{TEXT.strip()} still"


def test_a_second_copy_of_the_text_counts_once() -> None:
    copy = f"<p>{TEXT}<p>{TEXT} more"
    content = text(f"<div class=post>{copy}</div><div class=print>{copy}</div>")
    assert sorted(content) == [TEXT.strip(), f"{TEXT.strip()} more"]


def test_the_forests_are_those_that_were_taught() -> None:
    digest = "4397ef4bef0f15970b9694c022ec5dd065fe1015de692c6e1ace87fdc4fb05e4"
    assert hashlib.sha256(read_weights()).hexdigest() == digest


def test_headlines_code_and_quotations_of_a_short_page_are_main_content() -> None:
    content = text("<nav><a href=/>Home</a></nav><main><h1>Tea</h1><p>Pour.<pre>pour()</pre><h2>Cup</h2>"
                 "<blockquote>Hot!</blockquote><aside>See</aside></main><footer>End</footer>")  # fmt: skip
    assert content == ["Tea", "Pour.", "pour()", "Cup", "Hot!"]


def test_the_score_on_the_samples_does_not_fall(shared: Path) -> None:
    folder = shared / "data" / "extraction"
    scores = []
    for path in sorted((folder / "ground-truth").glob("*.json"))[::5]:
        truth = json.loads(path.read_text())
        page = read_page(gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes()), truth["url"] or "")
        keep = main_content(page.outline, page.traits)
        content = "\n".join(each for each, kept in zip(page.outline.blocks.text, keep, strict=True) if kept)
        scores.append(score(content, truth["ground_truth"]["main_content"]).f1)
    assert sum(scores) / len(scores) > FLOOR
