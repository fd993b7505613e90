"""Read one article's page: what it says of itself, and its main content as text and as markup."""

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
    """What a page says of its article; an empty string where it says nothing. Addresses are as written."""

    title: str
    """The headline, without the site's name."""
    site: str
    authors: tuple[str, ...]
    published: str
    """A date that `formats.moment.written` reads, as written, with its zone; so is `modified`."""
    modified: str
    description: str
    keywords: tuple[str, ...]
    """Keywords, tags and sections, each once."""
    language: str
    """The tag, as written."""
    image: str
    canonical: str
    base: str
    """What the addresses in `markup` start from, where it is not the page's own address."""
    blocks: tuple[str, ...]
    """The main content as plain text, a block for each paragraph, headline, item or cell."""
    markup: str
    """The main content as HTML, to be written out in another language such as Markdown: with captions of pictures."""
    encoding: str


def article(raw: bytes, content_type: str = "", url: str = "", drop: Sequence[str] = ()) -> Article:
    """Read a page's bytes as an article; any bytes give one. `content_type` is that header, `url` the page's address.

    `drop` are CSS selectors of what is none of its content; one that cannot be read chooses nothing.

    >>> found = article(b"<title>Tea | Site</title><main><h1>Tea</h1><p>By <a rel=author>Ann Lee</a><p>Pour <b>hot</b>")
    >>> found.title, found.authors, found.blocks[-1]
    ('Tea', ('Ann Lee',), 'Pour hot')
    """
    return examine(raw, content_type, url, drop)[0]


def examine(
    raw: bytes, content_type: str = "", url: str = "", drop: Sequence[str] = ()
) -> tuple[Article, Outline, Choice]:
    """Read a page's bytes as `article` does; return with it the page laid flat, and what became of each block."""
    text = decode(raw, content_type)
    tree = parse(text.text)
    said = head(tree)
    authors = people(said.authors) or byline(tree, text.text)
    likely = () if authors else byline(tree, text.text, likely=True)
    for selector in drop:
        _drop(tree, selector)
    silence(tree)
    split = pieces(body(tree))
    outline = walk_pieces(split)
    known = hint(url, said.property("og:type"), said.json_ld)
    choice = choose(outline, known, captions=True)
    shown, figures = with_captions(outline, known, choice.taken())
    chosen = without_captions(outline, known, shown)
    leave_out(choice, chosen, BlockFate.CAPTION)
    first = headline(outline, chosen, said)
    near = _near(outline, chosen, first)
    authors = authors or people(_signed(near)) or likely
    site = said.property("og:site_name") or next(iter(said.linked.sites), "")
    found = Article(
        title(said, first),
        site,
        tuple(name for name in authors if name.casefold() != site.casefold()) or authors,
        said.published or _in_address(url) or _in_address(said.canonical) or dated(sorted(near, key=_is_change)),
        said.modified,
        said.description or said.property("og:description") or said.linked.description,
        said.keywords,
        _language(said),
        said.property("og:image") or said.linked.image or said.property("twitter:image"),
        said.canonical or said.property("og:url"),
        said.base,
        tuple(block for block, keep in zip(outline.blocks.text, chosen, strict=True) if keep),
        excerpt(split, outline, shown, figures),
        text.encoding,
    )
    return found, outline, choice


def _drop(tree: LexborHTMLParser, selector: str) -> None:
    try:
        found = tree.css(selector)
    except (SelectolaxError, ValueError):
        return
    for node in found:
        if node.parent is not None:
            node.decompose()


def _near(outline: Outline, chosen: Sequence[bool], first: str) -> list[str]:
    """Return the short blocks around the headline, or where the main content begins: dates and authors stand there."""
    texts = outline.blocks.text
    begins = [
        (at, said) for at, text in enumerate(texts) if (said := " ".join(text.split())) and first.startswith(said)
    ]
    at = max(begins, key=lambda begin: len(begin[1]), default=(-1, ""))[0]  # a menu may say the first words of it
    if at < 0:
        at = next((at for at, keep in enumerate(chosen) if keep), 0)
    order = [*range(at + 1, min(len(texts), at + _AFTER)), *range(at - 1, max(-1, at - _BEFORE), -1)]
    return [texts[one] for one in order if len(texts[one]) <= _SHORT]


def _is_change(block: str) -> bool:
    """Tell whether a date is called the one of a change: it counts where no other is shown."""
    return _CHANGED.search(block) is not None


def _signed(near: Sequence[str]) -> list[str]:
    """Return the first block that begins with "by", and the next one where it says no more than that."""
    for block, after in zip(near, [*near[1:], ""], strict=False):
        if found := _BY.match(block):
            name = block[found.end() :].strip(" :") or after
            return [] if name[:1].islower() else [name]
    return []


def _in_address(url: str) -> str:
    """Return the day that an address names; empty where it names none.

    >>> _in_address("https://a.example/2024/03/05/tea"), _in_address("https://a.example/2024/03/55")
    ('2024-03-05', '')
    """
    found = _DAY.search(url.partition("?")[0])
    if not found:
        return ""
    try:
        return date(int(found[1]), int(found[3]), int(found[4])).isoformat()
    except ValueError:
        return ""


def _language(said: PageHead) -> str:
    told = (said.language, said.linked.language, said.property("og:locale"))
    return next((one for one in told if _TAG.fullmatch(one)), "")
