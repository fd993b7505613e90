"""Compare two versions of a page: their short texts one by one, and their main text line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from windrow.formats.line_difference import compare_lines
from windrow.formats.text import cut_around_difference
from windrow.model import DiffLine, TextChange

REDIRECT = "redirect"
"""The name of the short text that is the target of a redirect."""
SIZE = "size"
"""The name of the short text that is the size in bytes. It is compared only if neither version has a text."""


class VersionContents(NamedTuple):
    """The contents of one version. `texts` are its short texts as (name, text), `text` is its main content.

    Names are `title`, `description`, `redirect` and so on. `text` and `other_text` have a line for each paragraph.
    """

    texts: tuple[tuple[str, str], ...] = ()
    text: str = ""
    other_text: str = ""


def _find_redirect(contents: VersionContents) -> str:
    """Return the target if a version is only a redirect, without content, otherwise ""."""
    short_texts = dict(contents.texts)
    return "" if short_texts.get("kind") or _has_text(contents) else short_texts.get(REDIRECT, "")


def _has_text(contents: VersionContents) -> bool:
    return bool(contents.text or contents.other_text)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two versions.

    `changes` are the changed short texts; `lines` are the changed lines of the main text, and some lines around them.
    `added` and `removed` count lines of the main text; `elsewhere` counts added and removed lines of the other text.
    """

    changes: tuple[TextChange, ...]
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    elsewhere: int

    @property
    def is_empty(self) -> bool:
        """Whether no difference was found. Sizes count only if neither version has a text."""
        return not (self.changes or self.added or self.removed or self.elsewhere)

    def __str__(self) -> str:
        r"""Describe the difference in one line.

        >>> before, after = VersionContents((("title", "A"),), "one"), VersionContents((("title", "B"),), "one\ntwo")
        >>> str(compare_versions(before, after))
        "title 'A' -> 'B'; text: 1 line added"
        """
        phrases = [_describe_change(change) for change in self.changes]
        counts = [
            f"{count} line{'s' * (count != 1)} {verb}"
            for count, verb in ((self.added, "added"), (self.removed, "removed"))
            if count
        ]
        phrases += ["text: " + ", ".join(counts)] if counts else []
        noun = "line" if self.elsewhere == 1 else "lines"
        phrases += [f"{self.elsewhere} {noun} changed outside the main text"] if self.elsewhere else []
        return "; ".join(phrases) or "no difference"


def compare_versions(before: VersionContents, after: VersionContents, *, context: int = 2) -> Difference:
    r"""Compare two versions of a page; if only one of them is a redirect without content, compare only the redirect.

    A version without short texts represents a page that is gone, and is always compared in full. `context` is the
    number of unchanged lines that are shown around each change.

    >>> before, after = VersionContents(text="a\nb\nc"), VersionContents(text="a\nB\nc")
    >>> [tuple(line) for line in compare_versions(before, after, context=0).lines]
    [('@', '1 line'), ('-', 'b'), ('+', 'B'), ('@', '1 line')]
    """
    old_target, new_target = _find_redirect(before), _find_redirect(after)
    if bool(old_target) != bool(new_target) and (before.texts and after.texts):
        return Difference((TextChange(REDIRECT, old_target, new_target),), (), 0, 0, 0)
    old_texts, new_texts = dict(before.texts), dict(after.texts)
    changes = [
        TextChange(key, old_texts.get(key, ""), new_texts.get(key, ""))
        for key in dict.fromkeys((*old_texts, *new_texts))
        if old_texts.get(key, "") != new_texts.get(key, "")
        and not (key == SIZE and (_has_text(before) or _has_text(after)))
    ]
    main = compare_lines(before.text.splitlines(), after.text.splitlines(), context=context)
    other = compare_lines(before.other_text.splitlines(), after.other_text.splitlines(), context=0)
    return Difference(tuple(changes), main.lines, main.added, main.removed, other.added + other.removed)


def _describe_change(change: TextChange) -> str:
    if change.field == REDIRECT and not change.before:
        return f"now redirects to {change.after}"
    if change.field == REDIRECT and not change.after:
        return f"no longer redirects to {change.before}"
    before, after = cut_around_difference(" ".join(change.before.split()), " ".join(change.after.split()))
    return f"{change.field} {repr(before) if before else 'none'} -> {repr(after) if after else 'none'}"
