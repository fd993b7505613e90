"""Take the parts of an article that CSS selectors name, in place of those that were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from windrow.content.article import Article, extract_names, remove_elements
from windrow.content.tree import parse, remove_silent_elements, select_once
from windrow.content.xhtml import decode_page
from windrow.formats.moment import read_page_time


class PartSelectors(NamedTuple):
    """CSS selectors for the parts of an article. Of each part, the first selector that selects something is used."""

    title: Sequence[str] = ()
    author: Sequence[str] = ()
    date: Sequence[str] = ()
    text: Sequence[str] = ()
    exclude: Sequence[str] = ()
    """Selectors of elements that are not part of the text."""


PART_NAMES = PartSelectors._fields[:-1]
"""The names of the parts that may be selected."""


class SelectedArticle(NamedTuple):
    """An article with its selected parts, and the names of the parts whose selectors select nothing usable."""

    article: Article
    missing: tuple[str, ...]


def select_parts(article: Article, raw: bytes, content_type: str, selectors: PartSelectors) -> SelectedArticle:
    """Return an article with the parts that `selectors` select in its page `raw`; other parts remain as they are.

    The text of a `meta` element is its `content`, and that of a date is its `datetime`, if it has one. A date that
    cannot be read is not used. Raises StepError as `read_article` does.

    >>> from windrow.content.article import read_article
    >>> raw = b"<title>T</title><h2 class=k>Tea</h2><p class=by>By Ann Lee</p><div class=b><p>Pour hot.</div>"
    >>> selectors = PartSelectors([".none", ".k"], [".by"], ["time"], [".b"])
    >>> selected = select_parts(read_article(raw), raw, "", selectors)
    >>> selected.article.title, selected.article.authors, selected.article.blocks, selected.missing
    ('Tea', ('Ann Lee',), ('Pour hot.',), ('date',))
    """
    if not any(selectors[:-1]):
        return SelectedArticle(article, ())
    tree = parse(decode_page(raw, content_type).html)
    titles, authors, dates = (
        [text for element in _select(tree, part) if (text := _read_text(element))] for part in selectors[:3]
    )
    date = next((text for text in dates if read_page_time(text)), "")
    names = extract_names(authors) or tuple(dict.fromkeys(authors))  # the settings say that these are authors
    for selector in selectors.exclude:
        remove_elements(tree, selector)
    remove_silent_elements(tree)
    elements = _without_nested(_select(tree, selectors.text))
    blocks = tuple(line for element in elements if (line := " ".join(element.text(separator=" ").split())))
    found = {"title": titles, "author": names, "date": date, "text": blocks}
    if titles:
        article = article._replace(title=titles[0])
    if names:
        article = article._replace(authors=names)
    if date:
        article = article._replace(published=date, stated_date=date)
    if blocks:
        markup = "".join(element.html or "" for element in elements)
        article = article._replace(blocks=blocks, markup=markup, stated_text="")
    missing = tuple(name for name, part in found.items() if not part and getattr(selectors, name))
    return SelectedArticle(article, missing)


def _select(tree: LexborHTMLParser, selectors: Sequence[str]) -> list[LexborNode]:
    """Return the elements of the first selector that selects any, in document order."""
    return next(filter(None, (select_once(tree, selector) for selector in selectors)), [])


def _read_text(element: LexborNode) -> str:
    stated = element.attributes.get("content") if element.tag == "meta" else element.attributes.get("datetime")
    return " ".join((stated or element.text(separator=" ")).split())


def _without_nested(elements: Sequence[LexborNode]) -> list[LexborNode]:
    """Return the elements that are in none of the others."""
    ids = {element.mem_id for element in elements}
    return [element for element in elements if not any(parent in ids for parent in _parent_ids(element))]


def _parent_ids(element: LexborNode) -> list[int]:
    ids = []
    parent = element.parent
    while parent is not None:
        ids.append(parent.mem_id)
        parent = parent.parent
    return ids
