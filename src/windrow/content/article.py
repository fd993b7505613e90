"""Read the page of an article: its headline, title, authors and other metadata, and its main content."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import SelectolaxError

from windrow.caps import ARTICLE_AUTHORS, HEAD_VALUE, Excess
from windrow.content.head import PageHead, first_date, read_page_head, unique_keywords
from windrow.content.markup import build_outline_from_pieces, copy_chosen_markup, split_markup
from windrow.content.outline import LEVELS, Outline
from windrow.content.page import BlockFate, Choice, choose_main_content, leave_out
from windrow.content.tail import add_captions, remove_captions
from windrow.content.traits import read_page_traits
from windrow.content.tree import find_unseen_blocks, parse_counting, remove_silent_elements, serialise_body
from windrow.content.xhtml import decode_page

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_TITLE_SEPARATOR = re.compile(r"\s+[|\u2013\u2014·•»\u203a:/-]{1,2}\s+|\s*[|»]\s*|\s+::\s+")
_MAX_NAME_PARTS = 3  # of a site's name, such as "The Site | News"
_WORD = re.compile(r"\w+")


def find_headline(outline: Outline, is_chosen: Sequence[bool], head: PageHead) -> str:
    """Return the page's headline, or "" if it has none.

    Candidates are headlines of level 1 that are shown and not only the site's name. A candidate that is the page's
    title or a part of the title is preferred, then one in the main content (`is_chosen` by block), then the first one.
    If there is no candidate, or the first one is only the last part of the title, a headline of level 2 that is the
    title or another part is preferred.
    """
    site_names = _site_names(head)
    site_part = _last_title_part(head)
    title_parts = {_fold_words(part) for part in _title_parts(head)} - site_names
    headlines = [text for text in _find_headlines(outline, is_chosen, level=1) if _fold_words(text) not in site_names]
    for text in headlines:
        if _fold_words(text) in title_parts and _fold_words(text) != site_part:
            return text
    if headlines and _fold_words(headlines[0]) != site_part:
        return headlines[0]
    lower_headlines = (
        text
        for text in _find_headlines(outline, is_chosen, level=2)
        if _fold_words(text) in title_parts and _fold_words(text) != site_part
    )
    return next(lower_headlines, headlines[0] if headlines else "")


def find_title(head: PageHead, headline: str) -> str:
    """Return an article's title: `headline` if the page's title repeats it or is missing, or else the page's title.

    Parts of the page's title that are the site's name are left out, unless the title has no other part. Of the parts
    before and after such a name, those before it remain: the others name a section, or are a slogan. But if longer ones
    follow the name, the title remains whole, since the section may also be before it. If no part is the site's name
    and the page has no `og:title`, the last of several parts is left out.

    >>> find_title(PageHead(title="Tea | The Site"), "Today")
    'Tea'
    >>> find_title(PageHead(title="Tea is poured | The Site - News", open_graph=(("og:site_name", "The Site"),)), "")
    'Tea is poured'
    """
    page_title = head.property("og:title") or head.title or head.linked.headline
    titles = (page_title, head.title, head.linked.headline)
    if headline and (not page_title or any(_contains_headline(headline, title) for title in titles)):
        return headline
    spans = list(_part_spans(page_title))
    runs = list(_runs_without_site(page_title, spans, _site_names(head)))
    if not runs:
        return page_title or headline
    if len(runs[0]) == len(spans) > 1 and not head.property("og:title"):
        runs[0].pop()  # the last part is usually the site's name
    texts = [page_title[run[0][0] : run[-1][1]] for run in runs]
    longest = max(texts, key=lambda text: len(_fold_words(text)))
    return longest if longest == texts[0] else page_title


def _runs_without_site(
    title: str, spans: Sequence[tuple[int, int]], site_names: Collection[str]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the parts of a title between those that are the site's name, which may itself be of several parts."""
    run: list[tuple[int, int]] = []
    index = 0
    while index < len(spans):
        ends = range(min(len(spans), index + _MAX_NAME_PARTS), index, -1)
        name_end = next(
            (end for end in ends if _fold_words(title[spans[index][0] : spans[end - 1][1]]) in site_names), 0
        )
        if not name_end:
            run.append(spans[index])
        elif run:
            yield run
            run = []
        index = name_end or index + 1
    if run:
        yield run


def _contains_headline(headline: str, title: str) -> bool:
    """Return whether a title or a part of it begins with the headline, or contains it and is at most twice as long."""
    plain_headline = _fold_words(headline)
    parts = [_fold_words(part) for part in (title, *_split_title(title))]
    return any(
        f"{part} ".startswith(f"{plain_headline} ") or (plain_headline in part and 2 * len(plain_headline) >= len(part))
        for part in parts
    )


def _part_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each part of a title; two parts may have the same text."""
    start = 0
    for gap in _TITLE_SEPARATOR.finditer(text):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < len(text):
        yield start, len(text)


def _split_title(text: str) -> list[str]:
    return [text[start:end] for start, end in _part_spans(text)]


def _title_parts(head: PageHead) -> Iterator[str]:
    """Yield the page's titles and, for a title with several parts, each part and the title without the last part."""
    for full_title in (head.property("og:title"), head.linked.headline, head.title):
        if full_title:
            yield full_title
            parts = _split_title(full_title)
            if len(parts) > 1:
                yield from (full_title[: full_title.rindex(parts[-1])].rstrip(" |\u2013\u2014·•»\u203a:/-"), *parts)


def _site_names(head: PageHead) -> set[str]:
    return {_fold_words(name) for name in (head.property("og:site_name"), *head.linked.sites)} - {""}


def _last_title_part(head: PageHead) -> str:
    """Return the words of the last part of the page's title, which is usually the site's name.

    The result is "" if the title has only one part, or if other metadata names that part as the title.
    """
    parts = _split_title(head.title)
    other_title = head.property("og:title") or head.linked.headline
    return _fold_words(parts[-1]) if len(parts) > 1 and _fold_words(parts[-1]) != _fold_words(other_title) else ""


def _find_headlines(outline: Outline, is_chosen: Sequence[bool], level: int) -> list[str]:
    """Return the texts of the headlines of this level, at most HEAD_VALUE; those in the main content come first.

    What is hidden is left out, unless it was chosen as main content.
    """
    boxes, blocks = outline.boxes, outline.blocks
    hidden_blocks = find_unseen_blocks(outline)
    main_headlines: list[str] = []
    other_headlines: list[str] = []
    for box_number, tag in enumerate(boxes.tag):
        if LEVELS.get(tag) == level:
            block_range = range(boxes.first[box_number], boxes.stop[box_number])
            shown_blocks = [block for block in block_range if is_chosen[block] or block not in hidden_blocks]
            text = " ".join(" ".join(blocks.text[block] for block in shown_blocks).split())[: HEAD_VALUE.number]
            if text:
                is_main = any(is_chosen[block] for block in shown_blocks)
                (main_headlines if is_main else other_headlines).append(text)
    return main_headlines + other_headlines


def _fold_words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


_AUTHOR_SELECTORS = (
    "[itemprop~=author] [itemprop~=name], [itemprop~=author]", "[rel~=author]", ".p-author .p-name, .p-author",
    "[rel~='schema:author'] [property~='schema:name'], [rel~='sioc:has_creator'] [property~='foaf:name']",
    ".byline, .by-line, .article-byline, .entry-author, .post-author, .author-name, .author__name, .article-author",
    "[class*=byline], [class*=Byline]", ".author, [class*=author-name], [class*=authorName]",
)  # fmt: skip
"""Selectors for elements with authors' names: microdata, links, microformats, Drupal's RDFa, and the classes that most
systems use."""
_LIKELY_AUTHOR_SELECTORS = (
    "[class*=author_name], [class*=author__name], [class*=authorname], [class*=AuthorName]",
    "[class*=author-details-name], [class*=author-box__name]",
    "[class*=meta-author], [class*=__author], [class*=-author]:not(a):not(img), [class*=Author_author]",
    "a[href*='/author/'], a[href*='/authors/']",
)
"""Less certain selectors, whose elements may contain other text; they are used if nothing else names an author."""
_BYLINE_START = re.compile(r"^(?:(?:written|posted|published|words|story|text|reported)\s+)?by\b(?:[:\s]+|$)"
                   r"|^(?:author|contributor|von|par|por|di|door|av)s?\b[:\s]+",
                   re.IGNORECASE)  # fmt: skip
_NAME_SEPARATOR = re.compile(r"\s*(?:,|;|\||&|\band\b|\bund\b|\bet\b)\s*")
_SPANISH_AND = re.compile(r"(?<=[^\s,;|&])\s+y\s+(?=[^\s,;|&]+\s+(?!y\b)[^\s,;|&])")
"""Matches the word between two names in Spanish if the second one has two words: `Ortega y Gasset` is one name."""
_AFTER_NAMES = re.compile(
    r"\s+(?:[|•·\u22c5\u2013\u2014-]\s|on\s|in\s|updated\b|published\b|posted\b|last\b|\d).*$|[|•·\u22c5(].*$",
    re.IGNORECASE,
)
_NOT_A_NAME = re.compile(r"://|@|\*|\.com\b|\bwww\.|:|^(?:an?|updated|published|last)\s", re.IGNORECASE)
_ROLES = frozenset(("the author", "author", "admin", "administrator", "editor", "staff", "guest", "authors"))
_MAX_NAME_CHARACTERS, _MAX_NAME_WORDS = 60, 5
_MAX_TOPIC_CHARACTERS = 200


def extract_names(texts: Sequence[str], whole_names: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of authors in texts such as bylines, each once, without "by", roles and addresses.

    A text that is in `whole_names` is one name, and is not split.

    >>> extract_names(["By Ann Lee and Bo Ek | Updated 3 May"])
    ('Ann Lee', 'Bo Ek')
    >>> extract_names(["Ministry of Health and Social Care"], {"Ministry of Health and Social Care"})
    ('Ministry of Health and Social Care',)
    """
    names: dict[str, str] = {}
    for text in texts:
        if text in whole_names:
            name = _BY.sub("", text, count=1).strip(" :") if _BY.match(text) else text
            if name.casefold() not in _ROLES and "://" not in name and "@" not in name:
                names.setdefault(name.casefold(), name)
            continue
        line = _AFTER_NAMES.sub("", _BYLINE_START.sub("", " ".join(text.split())))
        for name in _NAME_SEPARATOR.split(_SPANISH_AND.sub(",", line)):
            name = _BYLINE_START.sub("", name).strip(" .:-\u2013\u2014")  # noqa: PLW2901 - the same name
            if name and name.casefold() not in _ROLES and _is_name(name):
                names.setdefault(name.casefold(), name)
    return tuple(names.values())


def find_byline_authors(tree: LexborHTMLParser, markup: str, *, is_likely: bool = False) -> tuple[str, ...]:
    """Return the authors in a page's bylines, or (). `markup` is the page from which `tree` was parsed.

    If `is_likely` is set, the less certain selectors are used instead.
    """
    if not any(sign in markup for sign in ("uthor", "yline", "y-line", "has_creator")):
        return ()  # all selectors need one of these
    for selector in _LIKELY_AUTHOR_SELECTORS if is_likely else _AUTHOR_SELECTORS:
        if names := extract_names(list(_author_texts(tree, selector))):
            return names
    return ()


def _author_texts(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    """Yield the text of the first matching element whose text is short, and those of matching siblings after it."""
    parent_id = None
    for node in tree.css(selector):
        text = node.attributes.get("content") or node.text(separator=" ") or ""
        if not text.strip() or len(text) > 5 * _MAX_NAME_CHARACTERS:
            continue
        if parent_id is not None and (node.parent is None or node.parent.mem_id != parent_id):
            return
        parent_id = node.parent.mem_id if node.parent is not None else 0
        yield text


def _is_name(name: str) -> bool:
    return (
        len(name) <= _MAX_NAME_CHARACTERS
        and len(name.split()) <= _MAX_NAME_WORDS
        and any(map(str.isalpha, name))
        and not _NOT_A_NAME.search(name)
        and not any(map(str.isdigit, name))
    )


_DAY_IN_PATH = re.compile(r"[/_-]((?:19|20)\d\d)([/_-]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?=[/_.-]|$)")
_BY = re.compile(r"(?:(?:written|posted|published|words|story|text)\s+)?by\b", re.IGNORECASE)
_BLOCKS_BEFORE, _BLOCKS_AFTER, _MAX_BYLINE_CHARACTERS = 4, 12, 80
_CHANGE_WORD = re.compile(
    r"\b(?:updated|modified|edited|reviewed|revised|aktualisiert|actualizado|atualizado)\b", re.IGNORECASE
)
_LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)


class Article(NamedTuple):
    """An article; missing fields are empty. Addresses are as written."""

    title: str
    """The headline, or the page's title without the site's name."""
    site: str
    authors: tuple[str, ...]
    published: str
    """A short text with a date that `formats.moment.read_page_time` can read. `modified` has the same form."""
    modified: str
    description: str
    keywords: tuple[str, ...]
    """Keywords, tags and sections, each once."""
    language: str
    """The language tag, as written."""
    image: str
    canonical: str
    base: str
    """The address in the page's `base`, or "". Addresses in `markup` may be relative to this address."""
    blocks: tuple[str, ...]
    """The main content as plain text: a block for each paragraph, headline, list item or table cell."""
    markup: str
    """The main content as HTML, with the captions of pictures."""
    encoding: str
    left_out: tuple[Excess, ...] = ()
    """For each cap that the page exceeds, how much is left out."""
    unread_scripts: int = 0
    """The number of scripts with JSON-LD of which at least a part cannot be read."""
    kind: str = ""
    """`article` if the page's JSON-LD is about an article, otherwise the content of `og:type`."""
    robots_metas: tuple[tuple[str, str], ...] = ()
    """The name and content of each `meta` element that may hide the page from searches."""
    stated_date: str = ""
    """The date of publication in the page's metadata, as written, even if it cannot be read. If it cannot, or is empty,
    `published` is a date in the address or near the headline."""
    stated_text: str = ""
    """The article's text in the page's JSON-LD, as plain text with its lines, or as HTML."""
    fault: str = ""
    """Why a page that should be XML was read as HTML, or empty."""


def read_article(raw: bytes, content_type: str = "", url: str = "", drop: Sequence[str] = ()) -> Article:
    """Read a page's bytes as an article; raise StepError if it has too many tags or its tree does not fit into memory.

    `content_type` is the value of Content-Type, and `url` is the page's address. `drop` has CSS selectors for elements
    that are not content; invalid selectors are ignored.

    >>> page = read_article(b"<title>Tea | Site</title><main><h1>Tea</h1><p>By <a rel=author>Ann</a><p>Pour <b>hot</b>")
    >>> page.title, page.authors, page.blocks[-1]
    ('Tea', ('Ann',), 'Pour hot')
    """
    return read_article_and_choice(raw, content_type, url, drop)[0]


def read_article_and_choice(
    raw: bytes, content_type: str = "", url: str = "", drop: Sequence[str] = ()
) -> tuple[Article, Outline, Choice]:
    """Read a page as `read_article` does; return the article, the page's outline, and the fate of each block."""
    text = decode_page(raw, content_type)
    tree, left_out = parse_counting(text.html)
    page_head = read_page_head(tree)
    authors = extract_names(page_head.authors, page_head.linked.named_authors) or find_byline_authors(tree, text.html)
    topics = _find_topics(tree, text.html)
    likely_authors = () if authors else find_byline_authors(tree, text.html, is_likely=True)
    for selector in drop:
        remove_elements(tree, selector)
    remove_silent_elements(tree)
    markup_pieces = split_markup(serialise_body(tree))
    outline = build_outline_from_pieces(markup_pieces)
    page_traits = read_page_traits(url, page_head.property("og:type"), page_head.json_ld)
    choice = choose_main_content(outline, page_traits, captions=True)
    chosen_with_captions, figures = add_captions(outline, page_traits, choice.taken())
    chosen = remove_captions(outline, page_traits, chosen_with_captions)
    leave_out(choice, chosen, BlockFate.CAPTION)
    headline = find_headline(outline, chosen, page_head)
    near_texts = _texts_near_headline(outline, chosen, headline)
    authors = authors or extract_names(_names_after_by(near_texts)) or likely_authors
    site = page_head.property("og:site_name") or next(iter(page_head.linked.sites), "")
    authors = tuple(name for name in authors if name.casefold() != site.casefold()) or authors
    article = Article(
        title=find_title(page_head, headline),
        site=site,
        authors=authors[: ARTICLE_AUTHORS.number],
        published=page_head.published
        or _day_in_address(url)
        or _day_in_address(page_head.canonical)
        or first_date(sorted(near_texts, key=_is_change)),
        modified=page_head.modified,
        description=page_head.description or page_head.property("og:description") or page_head.linked.description,
        keywords=unique_keywords((*page_head.keywords, *topics)),
        language=_find_language(page_head),
        image=page_head.property("og:image") or page_head.linked.image or page_head.property("twitter:image"),
        canonical=page_head.canonical or page_head.property("og:url"),
        base=page_head.base,
        blocks=tuple(block for block, is_chosen in zip(outline.blocks.text, chosen, strict=True) if is_chosen),
        markup=copy_chosen_markup(markup_pieces, outline, chosen_with_captions, figures),
        encoding=text.encoding,
        left_out=(*left_out, *page_head.left_out, *ARTICLE_AUTHORS.find_excess(len(authors))),
        unread_scripts=page_head.linked.unread_scripts,
        kind="article" if page_head.linked.is_article else page_head.property("og:type"),
        robots_metas=page_head.robots_metas,
        stated_date=page_head.published or page_head.unread_date,
        stated_text=page_head.linked.body,
        fault=text.fault,
    )
    return article, outline, choice


def _find_topics(tree: LexborHTMLParser, markup: str) -> list[str]:
    """Return the texts of links with the relation `tag`, and of keywords and sections in microdata.

    If the page has an `article`, only the links in it are used, since those of other articles may follow it.
    """
    if not any(sign in markup for sign in ("itemprop", 'tag"', "tag'", "=tag")):
        return []
    article = tree.css_first("article:has(h1)") or tree.css_first("article") or tree.root
    links = article.css("a[rel~=tag]") if article is not None else []
    fields = tree.css("[itemprop~=keywords], [itemprop~=articleSection]")
    texts = [(node.text(separator=" "), True) for node in links]  # each with whether it is shown
    for node in fields:
        content = node.attributes.get("content")
        texts += [(word, not content) for word in (content or node.text(separator=" ")).split(",")]
    topics = ((" ".join(text.split()), is_shown) for text, is_shown in texts)
    # longer ones that are shown are text of the page
    return [topic for topic, is_shown in topics if not is_shown or len(topic) <= _MAX_TOPIC_CHARACTERS]


def remove_elements(tree: LexborHTMLParser, selector: str) -> None:
    """Remove the elements that a CSS selector selects; an invalid selector is ignored."""
    try:
        nodes = tree.css(selector)
    except (SelectolaxError, ValueError):
        return
    for node in nodes:
        if node.parent is not None:
            node.decompose()


def _texts_near_headline(outline: Outline, is_chosen: Sequence[bool], headline: str) -> list[str]:
    """Return the short blocks near the headline, which may contain the date and the authors.

    The blocks after the headline come first. If the headline is not found, return the blocks near the start of the
    main content.
    """
    texts = outline.blocks.text
    lines = [" ".join(text.split()) for text in texts]
    beginnings = [block for block, line in enumerate(lines) if line and headline.startswith(line)]
    # a menu may contain the first words of the headline
    start = max(beginnings, key=lambda block: len(lines[block]), default=-1)
    if start < 0:
        start = next((block for block, is_main in enumerate(is_chosen) if is_main), 0)
    before = range(start - 1, max(-1, start - _BLOCKS_BEFORE), -1)
    nearby_blocks = [*range(start + 1, min(len(texts), start + _BLOCKS_AFTER)), *before]
    return [texts[block] for block in nearby_blocks if len(texts[block]) <= _MAX_BYLINE_CHARACTERS]


def _is_change(block: str) -> bool:
    """Return whether a block has a word such as "updated": a date in it is used only if there is no other date."""
    return _CHANGE_WORD.search(block) is not None


def _names_after_by(nearby_blocks: Sequence[str]) -> list[str]:
    """Return, as a list, the text after "by" (or, for example, "written by") in the first block that begins with it.

    If nothing follows it, return the next block. Return [] if there is no such block, or if the text begins with a
    lower-case letter.
    """
    for block, next_block in zip(nearby_blocks, [*nearby_blocks[1:], ""], strict=False):
        if by := _BY.match(block):
            name = block[by.end() :].strip(" :") or next_block
            return [] if name[:1].islower() else [name]
    return []


def _day_in_address(url: str) -> str:
    """Return the first date in an address, without its query, in ISO 8601, or "" if there is none.

    >>> _day_in_address("https://a.example/2024/03/05/tea"), _day_in_address("https://a.example/2024/03/55")
    ('2024-03-05', '')
    """
    day = _DAY_IN_PATH.search(url.partition("?")[0])
    if not day:
        return ""
    try:
        return date(int(day[1]), int(day[3]), int(day[4])).isoformat()
    except ValueError:
        return ""


def _find_language(page_head: PageHead) -> str:
    tags = (page_head.language, page_head.linked.language, page_head.property("og:locale"))
    return next((tag for tag in tags if _LANGUAGE_TAG.fullmatch(tag)), "")
