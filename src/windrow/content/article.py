"""Read the page of an article: its metadata, and its main content as text and as markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import SelectolaxError

from windrow.content.article_parts import byline, headline, people, title
from windrow.content.charset import decode
from windrow.content.head import PageHead, dated, head
from windrow.content.hints import hint
from windrow.content.outline import Outline
from windrow.content.page import BlockFate, Choice, choose, leave_out
from windrow.content.tail import with_captions, without_captions
from windrow.content.tree import body, parse, silence
from windrow.content.walk import excerpt, pieces, walk_pieces

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_DAY = re.compile(r"[/_-]((?:19|20)\d\d)([/_-]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?=[/_.-]|$)")
_BY = re.compile(r"(?:(?:written|posted|published|words|story|text)\s+)?by\b", re.IGNORECASE)
_BEFORE, _AFTER, _SHORT = 4, 12, 80
_CHANGED = re.compile(
    r"\b(?:updated|modified|edited|reviewed|revised|aktualisiert|actualizado|atualizado)\b", re.IGNORECASE
)
_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)


class Article(NamedTuple):
    """An article; missing fields are empty strings. Addresses are as written."""

    title: str
    """The headline, without the site's name."""
    site: str
    authors: tuple[str, ...]
    published: str
    """A date as written, which `formats.moment.written` can read; so is `modified`."""
    modified: str
    description: str
    keywords: tuple[str, ...]
    """Keywords, tags and sections, each once."""
    language: str
    """The tag, as written."""
    image: str
    canonical: str
    base: str
    """The base of relative addresses in `markup`; empty if that is the page's own address."""
    blocks: tuple[str, ...]
    """The main content as plain text: a block for each paragraph, headline, list item or table cell."""
    markup: str
    """The main content as HTML with captions of pictures, to be converted to other formats such as Markdown."""
    encoding: str


def article(raw: bytes, content_type: str = "", url: str = "", drop: Sequence[str] = ()) -> Article:
    """Read a page's bytes as an article; never raises for malformed bytes.

    `content_type` is the value of that header, `url` the page's address; `drop` are CSS selectors of elements that are
    not content, of which invalid ones are ignored.

    >>> page = article(b"<title>Tea | Site</title><main><h1>Tea</h1><p>By <a rel=author>Ann Lee</a><p>Pour <b>hot</b>")
    >>> page.title, page.authors, page.blocks[-1]
    ('Tea', ('Ann Lee',), 'Pour hot')
    """
    return examine(raw, content_type, url, drop)[0]


def examine(
    raw: bytes, content_type: str = "", url: str = "", drop: Sequence[str] = ()
) -> tuple[Article, Outline, Choice]:
    """Read a page's bytes as `article` does; return also its outline, and what became of each block."""
    text = decode(raw, content_type)
    tree = parse(text.text)
    page_head = head(tree)
    authors = people(page_head.authors) or byline(tree, text.text)
    likely = () if authors else byline(tree, text.text, likely=True)
    for selector in drop:
        _drop(tree, selector)
    silence(tree)
    split = pieces(body(tree))
    outline = walk_pieces(split)
    page_hint = hint(url, page_head.property("og:type"), page_head.json_ld)
    choice = choose(outline, page_hint, captions=True)
    shown, figures = with_captions(outline, page_hint, choice.taken())
    chosen = without_captions(outline, page_hint, shown)
    leave_out(choice, chosen, BlockFate.CAPTION)
    first = headline(outline, chosen, page_head)
    near = _near(outline, chosen, first)
    authors = authors or people(_signed(near)) or likely
    site = page_head.property("og:site_name") or next(iter(page_head.linked.sites), "")
    article_ = Article(
        title(page_head, first),
        site,
        tuple(name for name in authors if name.casefold() != site.casefold()) or authors,
        page_head.published
        or _in_address(url)
        or _in_address(page_head.canonical)
        or dated(sorted(near, key=_is_change)),
        page_head.modified,
        page_head.description or page_head.property("og:description") or page_head.linked.description,
        page_head.keywords,
        _language(page_head),
        page_head.property("og:image") or page_head.linked.image or page_head.property("twitter:image"),
        page_head.canonical or page_head.property("og:url"),
        page_head.base,
        tuple(block for block, keep in zip(outline.blocks.text, chosen, strict=True) if keep),
        excerpt(split, outline, shown, figures),
        text.encoding,
    )
    return article_, outline, choice


def _drop(tree: LexborHTMLParser, selector: str) -> None:
    try:
        nodes = tree.css(selector)
    except (SelectolaxError, ValueError):
        return
    for node in nodes:
        if node.parent is not None:
            node.decompose()


def _near(outline: Outline, chosen: Sequence[bool], first: str) -> list[str]:
    """Return the short blocks around the headline, or the start of the main content: there are dates and authors."""
    texts = outline.blocks.text
    begins = [
        (at, words) for at, text in enumerate(texts) if (words := " ".join(text.split())) and first.startswith(words)
    ]
    at = max(begins, key=lambda begin: len(begin[1]), default=(-1, ""))[0]  # a menu may repeat its first words
    if at < 0:
        at = next((at for at, keep in enumerate(chosen) if keep), 0)
    order = [*range(at + 1, min(len(texts), at + _AFTER)), *range(at - 1, max(-1, at - _BEFORE), -1)]
    return [texts[place] for place in order if len(texts[place]) <= _SHORT]


def _is_change(block: str) -> bool:
    """Tell whether a block names its date as that of a change: it counts only if there is no other."""
    return _CHANGED.search(block) is not None


def _signed(near: Sequence[str]) -> list[str]:
    """Return the name in the first block that begins with "by", or in the next block if that word is all."""
    for block, after in zip(near, [*near[1:], ""], strict=False):
        if by := _BY.match(block):
            name = block[by.end() :].strip(" :") or after
            return [] if name[:1].islower() else [name]
    return []


def _in_address(url: str) -> str:
    """Return the day in an address, in ISO 8601; empty if it has none.

    >>> _in_address("https://a.example/2024/03/05/tea"), _in_address("https://a.example/2024/03/55")
    ('2024-03-05', '')
    """
    day = _DAY.search(url.partition("?")[0])
    if not day:
        return ""
    try:
        return date(int(day[1]), int(day[3]), int(day[4])).isoformat()
    except ValueError:
        return ""


def _language(page_head: PageHead) -> str:
    tags = (page_head.language, page_head.linked.language, page_head.property("og:locale"))
    return next((tag for tag in tags if _TAG.fullmatch(tag)), "")
