"""Extraction in one call: a page's content, its metadata, and why it was chosen."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.content.test_article import PAGE, TEXT
from windrow import content
from windrow.content import BlockFate, extract
from windrow.content.article import read_article
from windrow.content.page import main_content, read_page

URL = "https://site.example/tea/page"


def test_an_extract_has_text_markdown_and_what_the_page_says_of_itself() -> None:
    extracted = extract(PAGE, url=URL)
    assert (extracted.title, extracted.site, extracted.authors, extracted.language) == (
        "Tea is hot", "The Site", ("Ann Lee", "Bo Ek"), "de-AT",
    )  # fmt: skip
    assert (extracted.published, extracted.image) == ("2024-03-05T23:30:00-05:00", "https://site.example/tea.jpg")
    assert (extracted.canonical, extracted.url, extracted.encoding) == ("https://site.example/tea", URL, "utf-8")
    assert TEXT.strip() in extracted.text
    assert "Coffee" not in extracted.text
    assert "**Hot** [tea](https://site.example/more)" in extracted.markdown


def test_links_and_images_are_those_of_the_main_content_made_whole_and_each_once() -> None:
    extracted = extract(
        PAGE.replace("</article>", "<p>See <a href=/more>more tea</a> and mail <a href=mailto:a@b.c>me</a>"), url=URL
    )
    assert ("https://site.example/more", "tea") in extracted.links
    assert [link.url for link in extracted.links].count("https://site.example/more") == 1
    assert not any(link.url.startswith("mailto") or link.url.endswith("/c") for link in extracted.links)
    assert extracted.images == (("https://site.example/cup.jpg", "Cup"),)


def test_every_block_says_why_it_was_taken_or_left_out() -> None:
    extracted = extract(PAGE, url=URL)
    fates = {" ".join(block.text.split())[:16]: block for block in extracted.blocks}
    prose = next(block for text, block in fates.items() if text.startswith("This is a senten"))
    assert (prose.fate, prose.fate.taken) == (BlockFate.KEPT, True)
    assert prose.path.endswith("article > p")
    assert prose.likelihood is not None
    assert prose.likelihood > 0.5
    home = fates["Home"]
    assert (home.fate, home.likelihood, home.fate.taken) == (BlockFate.ASIDE, None, False)
    assert extracted.text == "\n\n".join(block.text for block in extracted.blocks if block.fate.taken)


def test_what_is_left_out_is_counted_by_reason() -> None:
    names = [f"Ann {letters}" for letters in map("".join, product("bcdfghjklmn", repeat=3))][:1_003]
    linked = json.dumps({"@type": "NewsArticle", "author": names})
    sentence = "This is a sentence of the article, and it goes on for a while, as sentences of articles do."
    page = PAGE.replace("<ul>", f"<div class=sharedaddy><p>{sentence}</div><ul>")
    extracted = extract("".join(f"<script type=application/ld+json>{data}</script>" for data in (linked, "{x}")) + page)
    assert sentence not in extracted.markdown.split("\n\n")
    assert sentence in extracted.text.split("\n\n")
    assert extracted.left_out == (
        ("words: navigation, footer, form, or hidden", 2),
        ("words: unlikely to be main content", 13),
        ("words: forms, navigation and the like, left out of the Markdown only", 19),
        ("scripts with JSON-LD that cannot be read", 1),
        ("more than 1,000 authors of an article", 3),
    )
    assert extract("<p>Tea").left_out == ()


def test_a_copy_is_said_before_and_a_tail_is_a_tail() -> None:
    prose = "".join(f"<p>{number} {TEXT}</p>" for number in range(6))
    page = f"<body><article><h1>Tea</h1><div>{prose}</div></article><div class=print><div>{prose}</div></div>"
    fates = {block.fate for block in extract(page).blocks}
    assert fates & {BlockFate.REPEATED, BlockFate.BEHIND}
    assert extract(page).text.count("5 This is") == 1


def test_a_day_stays_a_day_and_no_date_is_none() -> None:
    head = "<title>Tea</title><meta property=article:published_time content='{}'><main><p>Tea</p></main>"
    assert extract(head.format("2024-03-05")).published == "2024-03-05"
    assert extract(head.format("5 March 2024 at 21:05")).published == "2024-03-05T21:05:00"
    assert extract(head.format("soon")).published == ""


def test_text_and_bytes_are_read_alike_whatever_the_page_says_of_its_encoding() -> None:
    page = "<meta charset=iso-8859-1><title>Tee für Gäste</title><main><p>Süß</p></main>"
    assert extract(page).title == "Tee für Gäste"
    assert extract(page.encode("iso-8859-1")).title == "Tee für Gäste"
    assert extract(page.encode(), content_type="text/html; charset=utf-8").title == "Tee für Gäste"


@pytest.mark.parametrize("page", ["", "no tags", "<p>", "<title>Only</title>", "\ud800", b"\xff\xfe\x00", b"\0" * 100])
def test_a_page_without_content_is_an_empty_extract(page: str | bytes) -> None:
    extracted = extract(page)
    assert isinstance(extracted.text, str)
    assert (extracted.links, extracted.images) == ((), ())


@given(st.binary(max_size=400) | st.text(max_size=400), st.text(max_size=40))
def test_any_page_gives_an_extract(page: bytes | str, url: str) -> None:
    extracted = extract(page, url=url)
    assert isinstance(extracted.markdown, str)
    assert all(each.url.startswith(("http://", "https://")) for each in (*extracted.links, *extracted.images))
    assert extracted.text == "\n\n".join(block.text for block in extracted.blocks if block.fate.taken)


def test_its_text_is_what_the_two_readers_take(shared_pages: list[bytes]) -> None:
    for raw in shared_pages:
        page = read_page(raw, URL)
        kept = main_content(page.outline, page.traits)
        texts = tuple(text for text, keep in zip(page.outline.blocks.text, kept, strict=True) if keep)
        extracted = extract(raw, url=URL)
        assert (
            tuple(block.text for block in extracted.blocks if block.fate.taken)
            == texts
            == read_article(raw, "", URL).blocks
        )


@pytest.fixture
def shared_pages() -> list[bytes]:
    prose = "".join(f"<p>{number} {TEXT}</p>" for number in range(8))
    return [
        PAGE.encode(),
        f"<body><nav><a href=/>Home</a></nav><article><h1>Tea</h1>{prose}<figure><img src=a><figcaption>A cup, and a "
        f"long caption of it</figcaption></figure>{prose}<h2>Related articles</h2><ul><li><a href=/x>Other</a></ul>".encode(),
        b"<main><h1>Few</h1><p>words</p></main><footer>(c)</footer>",
    ]


def test_whoever_imports_the_room_loads_no_other() -> None:
    script = "import sys, windrow.content; print(*sorted(m for m in sys.modules if m.startswith('windrow.')))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms == {"caps", "content", "errors", "formats", "reasons"}


def test_whoever_imports_windrow_loads_no_room() -> None:
    script = "import sys, windrow; print(*(m for m in sys.modules if m.startswith('windrow')))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "windrow\n"
    )


def test_the_room_has_few_names() -> None:
    assert content.__all__ == [
        "BlockFate", "ContentImage", "ContentLink", "ContentOmission", "Extract", "JudgedBlock", "extract",
    ]  # fmt: skip
    assert [name for name in content.__all__ if not hasattr(content, name)] == []
