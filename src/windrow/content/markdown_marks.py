"""Move punctuation out of emphasis in Markdown, where the delimiters would not be recognised beside a letter.

Delimiters before punctuation do not begin emphasis after a letter, and those after punctuation do not end it before a
letter (CommonMark 0.31, section 6.2: left- and right-flanking delimiter runs).
"""

from __future__ import annotations

import re
from string import punctuation
from unicodedata import category

_ASCII_MARKS = frozenset(punctuation)
_MARK = r"\\[!-/:-@\[-`{-~]|!(?!\[)|[^\w\\*_`<>\[\]~!]"
_MARKS = re.compile(rf"(?:{_MARK})+")
"""Matches spaces, and punctuation that has no meaning in Markdown or is escaped."""


def ends_word(char: str) -> bool:
    """Return whether a character beside a word is a space or punctuation for every reader of Markdown."""
    return char.isspace() or char in _ASCII_MARKS or category(char)[0] == "P"


def _may_be_mark(char: str) -> bool:
    """Return whether some readers of Markdown take a character for punctuation: the newer ones also take symbols."""
    return char in _ASCII_MARKS or category(char)[0] in "PS"


def split_marks_before(before: str, content: str) -> tuple[str, str, bool]:
    """Return what of a text is written before delimiters, the rest, and whether the delimiters are recognised then.

    `before` is the character before the text, or empty at the start of a line.

    >>> split_marks_before("は", "『本』"), split_marks_before("", "(tea)"), split_marks_before("a", "`b`")
    (('『', '本』', True), ('', '(tea)', True), ('', '`b`', False))
    """
    if not before or ends_word(before) or not _may_be_mark(content[0]):
        return "", content, True
    match = _MARKS.match(content)
    marks, rest = (match[0], content[match.end() :]) if match else ("", content)
    is_recognised = bool(marks) and (ends_word(marks[-1]) or not _may_be_mark(rest[0]))
    return (marks, rest, True) if is_recognised else ("", content, False)


def move_marks_after(wrapped: str, delimiter: str) -> str:
    """Return a part with delimiters that are recognised before a letter or a digit: punctuation follows them.

    If that would change the meaning of the punctuation, the delimiters are left out.

    >>> move_marks_after("**Note:**", "**"), move_marks_after("*tea*", "*"), move_marks_after("*`a`*", "*")
    ('**Note**:', '*tea*', '`a`')
    """
    content = wrapped.removeprefix(delimiter).removesuffix(delimiter)
    if not _may_be_mark(content[-1]):
        return wrapped
    start = len(content)
    for marks in _MARKS.finditer(content):  # the last ones are those at the end
        start = marks.start() if marks.end() == len(content) else start
    if "](" in content:
        start = max(start, content.rfind(")") + 1)  # it may end a link
    kept, moved = content[:start], content[start:]
    if not moved or not (ends_word(moved[0]) or not _may_be_mark(kept[-1])):
        return content
    return f"{delimiter}{kept}{delimiter}{moved}"
