"""Compare two versions of a page: their short texts one by one, their text line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from windrow.formats.text import cut_around_difference
from windrow.model import DiffLine, TextChange

MAX_COMPARED_LINES = 4_000
"""Most lines of a changed part that are compared one by one; in a longer part, all lines count as changed."""
CONTEXT_LINES = 2
"""Unchanged lines that are shown before and after a changed line."""
REDIRECT = "redirect"
"""Key of the target of a redirect."""
SIZE = "size"
"""Key of the size, which is compared only if neither version has a text."""


class VersionContents(NamedTuple):
    """The contents of one version: its short texts, as (name, text), its main content and its other text.

    Names are `title`, `description`, `redirect` and so on. `text` and `rest` contain a line for each paragraph.
    """

    texts: tuple[tuple[str, str], ...] = ()
    text: str = ""
    rest: str = ""


def _find_redirect(contents: VersionContents) -> str:
    """Return the target of a version that is only a redirect; empty if it is not."""
    short_texts = dict(contents.texts)
    return "" if short_texts.get("kind") or _has_text(contents) else short_texts.get(REDIRECT, "")


def _has_text(contents: VersionContents) -> bool:
    return bool(contents.text or contents.rest)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two versions: changed short texts, the main text line by line, and numbers of lines.

    `added` and `removed` count lines of the main text; `elsewhere` counts added and removed lines of the other text.
    """

    changes: tuple[TextChange, ...]
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    elsewhere: int

    @property
    def is_empty(self) -> bool:
        """Tell whether the versions do not differ."""
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
        phrases += [f"{self.elsewhere} lines changed outside the main text"] if self.elsewhere else []
        return "; ".join(phrases) or "no difference"


def compare_versions(before: VersionContents, after: VersionContents, *, context: int = CONTEXT_LINES) -> Difference:
    r"""Compare two versions of a page; if only one of them is a redirect, their texts are not compared.

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
    main_lines = list(_diff_lines(before.text.splitlines(), after.text.splitlines()))
    changed_elsewhere = [
        line for line in _diff_lines(before.rest.splitlines(), after.rest.splitlines()) if line.sign != " "
    ]
    signs = [line.sign for line in main_lines]
    lines = tuple(_fold_unchanged(main_lines, context)) if set(signs) - {" "} else ()
    return Difference(tuple(changes), lines, signs.count("+"), signs.count("-"), len(changed_elsewhere))


def _diff_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Yield every line of both texts, in order, with its sign: `-` removed, `+` added, or a space for unchanged."""
    head = _count_equal_lines(old, new)  # unchanged lines at the beginning
    tail = _count_equal_lines(old[head:][::-1], new[head:][::-1])  # and at the end
    yield from (DiffLine(" ", text) for text in new[:head])
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(removed), len(added)) > MAX_COMPARED_LINES:
        yield from (DiffLine("-", text) for text in removed)
        yield from (DiffLine("+", text) for text in added)
    else:
        for operation, old_start, old_end, new_start, new_end in SequenceMatcher(None, removed, added).get_opcodes():
            if operation == "equal":
                yield from (DiffLine(" ", text) for text in added[new_start:new_end])
            else:
                yield from (DiffLine("-", text) for text in removed[old_start:old_end])
                yield from (DiffLine("+", text) for text in added[new_start:new_end])
    yield from (DiffLine(" ", text) for text in new[len(new) - tail :])


def _count_equal_lines(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the lines that are equal at the beginning of both texts."""
    for number, (left_line, right_line) in enumerate(zip(left, right, strict=False)):
        if left_line != right_line:
            return number
    return min(len(left), len(right))


def _fold_unchanged(lines: Sequence[DiffLine], context: int) -> Iterator[DiffLine]:
    """Replace unchanged lines that are more than `context` lines from a change by a line with their number."""
    is_shown = [False] * len(lines)
    last_change = -context - 1
    for number, line in enumerate(lines):
        last_change = number if line.sign != " " else last_change
        is_shown[number] = number - last_change <= context
    next_change = len(lines) + context
    for number in range(len(lines) - 1, -1, -1):
        next_change = number if lines[number].sign != " " else next_change
        is_shown[number] = is_shown[number] or next_change - number <= context
    hidden_count = 0
    for number, line in enumerate(lines):
        if not is_shown[number]:
            hidden_count += 1
            continue
        if hidden_count:
            yield _describe_hidden(hidden_count)
        hidden_count = 0
        yield line
    if hidden_count:
        yield _describe_hidden(hidden_count)


def _describe_hidden(count: int) -> DiffLine:
    return DiffLine("@", f"{count:,} line{'s' * (count != 1)}")


def _describe_change(change: TextChange) -> str:
    """Describe the change of a short text in a few words."""
    if change.field == REDIRECT and not change.before:
        return f"now redirects to {change.after}"
    if change.field == REDIRECT and not change.after:
        return f"no longer redirects to {change.before}"
    before, after = cut_around_difference(" ".join(change.before.split()), " ".join(change.after.split()))
    return f"{change.field} {repr(before) if before else 'none'} -> {repr(after) if after else 'none'}"
