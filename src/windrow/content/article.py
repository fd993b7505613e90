"""Read the page of an article: its headline, title, authors and other metadata, and its main content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import SelectolaxError

from windrow.content.charset import decode
from windrow.content.head import PageHead, dated, head
from windrow.content.hints import hint
from windrow.content.outline import LEVELS, Outline
from windrow.content.page import BlockFate, Choice, choose, leave_out
from windrow.content.tail import with_captions, without_captions
from windrow.content.tree import body, parse, silence
from windrow.content.walk import excerpt, pieces, walk_pieces

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_PARTS = re.compile(r"\s+[|\u2013\u2014·•»\u203a:/-]{1,2}\s+|\s*[|»]\s*|\s+::\s+")
_WORD = re.compile(r"\w+")


def headline(outline: Outline, chosen: Sequence[bool], head: PageHead) -> str:
    """Return the page's headline, or an empty text.

    It is the first of level 1 that does not only name the site; preferred are those that the page's title repeats, then
    those in the main content. If the only one names the site or is the end of the title, a headline of level 2 that
    the title repeats is taken instead.
    """
    site_names = _site_names(head)
    site_part = _last_title_part(head)
    title_parts = {_plain(part) for part in _title_parts(head)} - site_names
    headlines = [text for text in _headlines(outline, chosen, 1) if _plain(text) not in site_names]
    for text in headlines:
        if _plain(text) in title_parts and _plain(text) != site_part:
            return text
    if headlines and _plain(headlines[0]) != site_part:
        return headlines[0]
    lower = (
        text for text in _headlines(outline, chosen, 2) if _plain(text) in title_parts and _plain(text) != site_part
    )
    return next(lower, headlines[0] if headlines else "")


def title(head: PageHead, headline_: str) -> str:
    """Return an article's title: its headline if the page's title repeats it, or that title without the site's name.

    >>> title(PageHead(title="Tea | The Site"), "Today")
    'Tea'
    """
    page_title = head.property("og:title") or head.title or head.linked.headline
    titles = (page_title, head.title, head.linked.headline)
    if headline_ and (not page_title or any(_repeats(headline_, title_) for title_ in titles)):
        return headline_
    site_names = _site_names(head)
    spans = list(_spans(page_title))
    title_spans = [(start, end) for start, end in spans if _plain(page_title[start:end]) not in site_names]
    if not title_spans:
        return page_title or headline_
    if len(title_spans) == len(spans) > 1 and not head.property("og:title"):
        title_spans.pop()  # the last part is mostly the site's name
    return page_title[title_spans[0][0] : title_spans[-1][1]]


def _repeats(headline_: str, title_: str) -> bool:
    """Return whether a part of a title begins with the headline or is mostly the headline."""
    plain_headline = _plain(headline_)
    parts = [_plain(part) for part in (title_, *_split(title_))]
    return any(
        f"{part} ".startswith(f"{plain_headline} ") or (plain_headline in part and 2 * len(plain_headline) >= len(part))
        for part in parts
    )


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of a title; the same text may occur twice."""
    start = 0
    for gap in _PARTS.finditer(text):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < len(text):
        yield start, len(text)


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in _spans(text)]


def _title_parts(head: PageHead) -> Iterator[str]:
    for full_title in (head.property("og:title"), head.linked.headline, head.title):
        if full_title:
            yield full_title
            parts = _split(full_title)
            if len(parts) > 1:
                yield from (full_title[: full_title.rindex(parts[-1])].rstrip(" |\u2013\u2014·•»\u203a:/-"), *parts)


def _site_names(head: PageHead) -> set[str]:
    """Return the names of the site in the page's metadata, as `_plain` spells them."""
    return {_plain(name) for name in (head.property("og:site_name"), *head.linked.sites)} - {""}


def _last_title_part(head: PageHead) -> str:
    """Return the last part of a title of several parts, which is mostly the site's name, or an empty text."""
    parts = _split(head.title)
    other_title = head.property("og:title") or head.linked.headline
    return _plain(parts[-1]) if len(parts) > 1 and _plain(parts[-1]) != _plain(other_title) else ""


def _headlines(outline: Outline, chosen: Sequence[bool], level: int) -> list[str]:
    """Return the headlines of a level, those in the main content first."""
    boxes, blocks = outline.boxes, outline.blocks
    main: list[str] = []
    elsewhere: list[str] = []
    for box, tag in enumerate(boxes.tag):
        if LEVELS.get(tag) == level:
            inside = range(boxes.first[box], boxes.last[box])
            text = " ".join(" ".join(blocks.text[block] for block in inside).split())
            (main if any(chosen[block] for block in inside) else elsewhere).append(text)
    return main + elsewhere


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


_PLACES = (
    "[itemprop~=author] [itemprop~=name], [itemprop~=author]", "[rel~=author]", ".p-author .p-name, .p-author",
    ".byline, .by-line, .article-byline, .entry-author, .post-author, .author-name, .author__name, .article-author",
    "[class*=byline], [class*=Byline]", ".author, [class*=author-name], [class*=authorName]",
)  # fmt: skip
"""Elements with authors' names: microdata, links, microformats, and the classes that most systems use."""
_LIKELY_PLACES = (
    "[class*=author_name], [class*=author__name], [class*=authorname], [class*=AuthorName]",
    "[class*=author-details-name], [class*=author-box__name]",
    "[class*=meta-author], [class*=__author], [class*=-author]:not(a):not(img), [class*=Author_author]",
    "a[href*='/author/'], a[href*='/authors/']",
)
"""Less certain elements, which may also hold other text; used only if nothing else gives a name."""
_LEAD = re.compile(r"^(?:(?:written|posted|published|words|story|text|reported)\s+)?by\b(?:[:\s]+|$)"
                   r"|^(?:author|contributor|von|par|por|di|door|av)s?\b[:\s]+",
                   re.IGNORECASE)  # fmt: skip
_BETWEEN = re.compile(r"\s*(?:,|;|\||&|\band\b|\bund\b|\bet\b|\by\b)\s*")
_REST = re.compile(
    r"\s+(?:[|•·\u22c5\u2013\u2014-]\s|on\s|in\s|updated\b|published\b|posted\b|last\b|\d).*$|[|•·\u22c5(].*$",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"://|@|\*|\.com\b|\bwww\.|:|^(?:an?|updated|published|last)\s", re.IGNORECASE)
_NOBODY = frozenset(("the author", "author", "admin", "administrator", "editor", "staff", "guest", "authors"))
_LONGEST, _WORDS, _MOST = 60, 5, 10


def people(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names in texts about authors, each once, without "by" and addresses.

    >>> people(["By Ann Lee and Bo Ek | Updated 3 May"])
    ('Ann Lee', 'Bo Ek')
    """
    names: dict[str, str] = {}
    for text in texts:
        line = _REST.sub("", _LEAD.sub("", " ".join(text.split())[:300]))
        for name in _BETWEEN.split(line):
            name = _LEAD.sub("", name).strip(" .:-\u2013\u2014")  # noqa: PLW2901 - the same name
            if name and name.casefold() not in _NOBODY and _is_name(name):
                names.setdefault(name.casefold(), name)
    return tuple(names.values())[:_MOST]


def byline(tree: LexborHTMLParser, text: str, *, likely: bool = False) -> tuple[str, ...]:
    """Return the authors that a page shows; `text` is the source of the tree.

    With `likely` also less certain elements are searched.
    """
    if "uthor" not in text and "yline" not in text:
        return ()
    for selector in _LIKELY_PLACES if likely else _PLACES:
        if names := people(list(_shown(tree, selector))):
            return names
    return ()


def _shown(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    """Yield the text of the first element with this selector, and of its siblings with it."""
    parent = None
    for node in tree.css(selector):
        text = node.attributes.get("content") or node.text(separator=" ") or ""
        if not text.strip() or len(text) > 5 * _LONGEST:
            continue
        if parent is not None and (node.parent is None or node.parent.mem_id != parent):
            return
        parent = node.parent.mem_id if node.parent is not None else 0
        yield text


def _is_name(name: str) -> bool:
    return (
        len(name) <= _LONGEST
        and len(name.split()) <= _WORDS
        and any(map(str.isalpha, name))
        and not _NO_NAME.search(name)
        and not any(map(str.isdigit, name))
    )


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
    """The base of relative addresses in `markup`, or an empty text if that is the page's own address."""
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
    likely_authors = () if authors else byline(tree, text.text, likely=True)
    for selector in drop:
        _remove_elements(tree, selector)
    silence(tree)
    markup_pieces = pieces(body(tree))
    outline = walk_pieces(markup_pieces)
    page_hint = hint(url, page_head.property("og:type"), page_head.json_ld)
    choice = choose(outline, page_hint, captions=True)
    shown, figures = with_captions(outline, page_hint, choice.taken())
    chosen = without_captions(outline, page_hint, shown)
    leave_out(choice, chosen, BlockFate.CAPTION)
    headline_ = headline(outline, chosen, page_head)
    near_texts = _texts_near_headline(outline, chosen, headline_)
    authors = authors or people(_signatures(near_texts)) or likely_authors
    site = page_head.property("og:site_name") or next(iter(page_head.linked.sites), "")
    article_ = Article(
        title(page_head, headline_),
        site,
        tuple(name for name in authors if name.casefold() != site.casefold()) or authors,
        page_head.published
        or _day_in_address(url)
        or _day_in_address(page_head.canonical)
        or dated(sorted(near_texts, key=_is_change)),
        page_head.modified,
        page_head.description or page_head.property("og:description") or page_head.linked.description,
        page_head.keywords,
        _language(page_head),
        page_head.property("og:image") or page_head.linked.image or page_head.property("twitter:image"),
        page_head.canonical or page_head.property("og:url"),
        page_head.base,
        tuple(block for block, keep in zip(outline.blocks.text, chosen, strict=True) if keep),
        excerpt(markup_pieces, outline, shown, figures),
        text.encoding,
    )
    return article_, outline, choice


def _remove_elements(tree: LexborHTMLParser, selector: str) -> None:
    try:
        nodes = tree.css(selector)
    except (SelectolaxError, ValueError):
        return
    for node in nodes:
        if node.parent is not None:
            node.decompose()


def _texts_near_headline(outline: Outline, chosen: Sequence[bool], headline_: str) -> list[str]:
    """Return the short blocks near the headline or the start of the main content: they may have date and authors."""
    texts = outline.blocks.text
    candidates = [
        (number, words)
        for number, text in enumerate(texts)
        if (words := " ".join(text.split())) and headline_.startswith(words)
    ]
    number = max(candidates, key=lambda begin: len(begin[1]), default=(-1, ""))[0]  # a menu may repeat its first words
    if number < 0:
        number = next((number for number, keep in enumerate(chosen) if keep), 0)
    nearby = [*range(number + 1, min(len(texts), number + _AFTER)), *range(number - 1, max(-1, number - _BEFORE), -1)]
    return [texts[block] for block in nearby if len(texts[block]) <= _SHORT]


def _is_change(block: str) -> bool:
    """Return whether a block says that its date is that of a change: it is used only if no other date is found."""
    return _CHANGED.search(block) is not None


def _signatures(near: Sequence[str]) -> list[str]:
    """Return the name in the first block that begins with "by", or in the next block if "by" is alone."""
    for block, next_block in zip(near, [*near[1:], ""], strict=False):
        if by := _BY.match(block):
            name = block[by.end() :].strip(" :") or next_block
            return [] if name[:1].islower() else [name]
    return []


def _day_in_address(url: str) -> str:
    """Return the day in an address, in ISO 8601, or an empty text.

    >>> _day_in_address("https://a.example/2024/03/05/tea"), _day_in_address("https://a.example/2024/03/55")
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
