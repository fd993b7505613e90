"""Plain text as paragraphs: lines that were broken to fit a page are joined again."""

from __future__ import annotations

import re

_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), " ")
_LINE = re.compile(r"\r\n|[\n\r\x85\u2028\u2029\f]")
_ALONE = re.compile(r"\s|[-*+\u2022\xb7\u2013#>|=~_]|\(?[0-9A-Za-z]{1,3}[.)]\s")
_RULE = re.compile(r"[\W_]+")
_NARROW = 30  # characters: lines of lists are not taken for broken ones
_SHORT = 0.65  # of the usual width ends a paragraph


def paragraphs(text: str) -> list[str]:
    r"""Return the paragraphs of a text, each in one line with its spaces collapsed.

    An empty line parts paragraphs, and so does a line that ends well before the usual width, is indented, or begins
    like the item of a list.

    >>> paragraphs("A line that was broken to fit into the width\nof its page, and goes on in another.\n\n- one\n- two")
    ['A line that was broken to fit into the width of its page, and goes on in another.', '- one', '- two']
    """
    lines = _LINE.split(text)
    lengths = sorted(len(line.rstrip()) for line in lines if line.strip())
    usual = max(lengths[len(lengths) * 4 // 5], _NARROW) if lengths else 0
    found: list[str] = []
    open_: list[str] = []
    for line in lines:
        if open_ and (not line.strip() or _ALONE.match(line)):
            found.append(" ".join(open_))
            open_ = []
        words = clean(line).split()
        open_ += words
        if words and len(line.rstrip()) < usual * _SHORT:
            found.append(" ".join(open_))
            open_ = []
    if open_:
        found.append(" ".join(open_))
    return [one for one in found if one]


def clean(text: str) -> str:
    r"""Put a space for what is no character: controls and lone halves of pairs.

    >>> clean("a\x00b\ud800")
    'a b '
    """
    return text.translate(_CONTROL)


def first(lines: list[str], longest: int = 120) -> str:
    """Return the first paragraph if it is short enough for a title; a mere rule is none.

    >>> first(["=====", "Release notes", "What is new"])
    'Release notes'
    """
    head = next((line for line in lines if not _RULE.fullmatch(line)), "")
    return head if len(head) <= longest else ""
