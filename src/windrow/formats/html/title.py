"""What a page is called: its headline, which is not the site's name, and its title without that name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windrow.formats.html.head import PageHead
from windrow.formats.html.mark import LEVELS
from windrow.formats.html.outline import Outline

_PARTS = re.compile(r"\s+[|\u2013\u2014·•»\u203a:/-]{1,2}\s+|\s*[|»]\s*|\s+::\s+")
_WORD = re.compile(r"\w+")


def headline(outline: Outline, chosen: Sequence[bool], head: PageHead) -> str:
    """Return the page's headline; empty where it has none.

    It is the first of level 1 that does not just name the site; one that the page's title repeats before any other,
    and one in the main content before one that is not. Where the only one names the site, or is what a title ends
    with, one of level 2 that the title repeats is it.
    """
    names = _sites(head)
    last = _last(head)
    called = {_plain(part) for part in _called(head)} - names
    found = [text for text in _of_level(outline, chosen, 1) if _plain(text) not in names]
    for text in found:
        if _plain(text) in called and _plain(text) != last:
            return text
    if found and _plain(found[0]) != last:
        return found[0]
    lower = (text for text in _of_level(outline, chosen, 2) if _plain(text) in called and _plain(text) != last)
    return next(lower, found[0] if found else "")


def title(head: PageHead, first: str) -> str:
    """Return what an article is called: its headline where the title has it, else the title without the site's name.

    >>> title(PageHead(title="Tea | The Site"), "Today")
    'Tea'
    """
    whole = head.property("og:title") or head.title or head.linked.headline
    if first and (not whole or _plain(first) in _plain(f"{whole} {head.title} {head.linked.headline}")):
        return first
    names = _sites(head)
    parts = [part for part in _split(whole) if _plain(part) not in names]
    if not parts:
        return whole or first
    if len(parts) == len(_split(whole)) > 1 and not head.property("og:title"):
        parts = parts[:-1]  # what stands last names the site, mostly
    kept = whole[: whole.index(parts[-1]) + len(parts[-1])]
    return kept[kept.index(parts[0]) :]


def _split(text: str) -> list[str]:
    return [part for part in _PARTS.split(text) if part]


def _called(head: PageHead) -> Iterator[str]:
    for whole in (head.property("og:title"), head.linked.headline, head.title):
        if whole:
            yield whole
            parts = _split(whole)
            if len(parts) > 1:
                yield from (whole[: whole.rindex(parts[-1])].rstrip(" |\u2013\u2014·•»\u203a:/-"), *parts)


def _sites(head: PageHead) -> set[str]:
    """Return the names of the site that the page tells."""
    return {_plain(name) for name in (head.property("og:site_name"), *head.linked.sites)} - {""}


def _last(head: PageHead) -> str:
    """Return what stands last in a title of several parts, where it mostly names the site."""
    parts = _split(head.title)
    shown = head.property("og:title") or head.linked.headline
    return _plain(parts[-1]) if len(parts) > 1 and _plain(parts[-1]) != _plain(shown) else ""


def _of_level(outline: Outline, chosen: Sequence[bool], level: int) -> list[str]:
    """Return the headlines of a level, those of the main content first."""
    boxes, blocks = outline.boxes, outline.blocks
    main: list[str] = []
    other: list[str] = []
    for box, tag in enumerate(boxes.tag):
        if LEVELS.get(tag) == level:
            inside = range(boxes.first[box], boxes.last[box])
            text = " ".join(" ".join(blocks.text[at] for at in inside).split())
            (main if any(chosen[at] for at in inside) else other).append(text)
    return main + other


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
