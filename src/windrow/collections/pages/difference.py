"""Compare two versions of a page: its short texts one by one, its text line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from windrow.model import DiffLine, TextChange

MAX_COMPARED = 4_000
"""Most lines of a changed part that are compared one by one; of a longer one, all lines count as changed."""
CONTEXT = 2
"""Unchanged lines shown before and after those that changed."""
REDIRECT = "redirect"
SIZE = "size"
"""Key of the size, which is compared only if neither version has a text."""


class State(NamedTuple):
    """One version: its short texts by name (title, description, address of a redirect ...), its text and the rest.

    `text` is the main content, a line for each paragraph; `rest` all other text of the page.
    """

    texts: tuple[tuple[str, str], ...] = ()
    text: str = ""
    rest: str = ""


def _find_redirect(state: State) -> str:
    """Return the target of a version that is only a redirect; empty for any other version."""
    texts = dict(state.texts)
    return "" if texts.get("kind") or _has_text(state) else texts.get(REDIRECT, "")


def _has_text(state: State) -> bool:
    return bool(state.text or state.rest)


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed; `added` and `removed` count lines of the main text, `elsewhere` all changed lines of the rest."""

    changes: tuple[TextChange, ...]
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    elsewhere: int

    @property
    def nothing(self) -> bool:
        """Tell whether the versions do not differ."""
        return not (self.changes or self.added or self.removed or self.elsewhere)

    def __str__(self) -> str:
        r"""Describe the difference in one line.

        >>> str(difference(State((("title", "A"),), "one"), State((("title", "B"),), "one\ntwo")))
        "title 'A' -> 'B'; text: 1 line added"
        """
        phrases = [_describe_change(change) for change in self.changes]
        counts = [
            f"{n} line{'s' * (n != 1)} {verb}" for n, verb in ((self.added, "added"), (self.removed, "removed")) if n
        ]
        phrases += ["text: " + ", ".join(counts)] if counts else []
        phrases += [f"{self.elsewhere} lines changed outside the main text"] if self.elsewhere else []
        return "; ".join(phrases) or "no difference"


def difference(before: State, after: State, *, context: int = CONTEXT) -> Difference:
    r"""Compare two versions of a page; if only one of them is a redirect, texts are not compared.

    >>> [tuple(line) for line in difference(State(text="a\nb\nc"), State(text="a\nB\nc"), context=0).lines]
    [('@', '1 line'), ('-', 'b'), ('+', 'B'), ('@', '1 line')]
    """
    redirected_before, redirects_now = _find_redirect(before), _find_redirect(after)
    if bool(redirected_before) != bool(redirects_now) and (before.texts and after.texts):
        return Difference((TextChange(REDIRECT, redirected_before, redirects_now),), (), 0, 0, 0)
    old_texts, new_texts = dict(before.texts), dict(after.texts)
    changes = [
        TextChange(key, old_texts.get(key, ""), new_texts.get(key, ""))
        for key in dict.fromkeys((*old_texts, *new_texts))
        if old_texts.get(key, "") != new_texts.get(key, "")
        and not (key == SIZE and (_has_text(before) or _has_text(after)))
    ]
    compared = list(_diff_lines(before.text.splitlines(), after.text.splitlines()))
    changed_elsewhere = [
        line for line in _diff_lines(before.rest.splitlines(), after.rest.splitlines()) if line.sign != " "
    ]
    signs = [line.sign for line in compared]
    lines = tuple(_fold_unchanged(compared, context)) if set(signs) - {" "} else ()
    return Difference(tuple(changes), lines, signs.count("+"), signs.count("-"), len(changed_elsewhere))


def _diff_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Yield every line of both texts, in order, with its sign."""
    head = _count_equal_lines(old, new)
    tail = _count_equal_lines(old[head:][::-1], new[head:][::-1])
    yield from (DiffLine(" ", text) for text in new[:head])
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(removed), len(added)) > MAX_COMPARED:
        yield from (DiffLine("-", text) for text in removed)
        yield from (DiffLine("+", text) for text in added)
    else:
        for operation, i, j, k, m in SequenceMatcher(None, removed, added).get_opcodes():
            if operation == "equal":
                yield from (DiffLine(" ", text) for text in added[k:m])
            else:
                yield from (DiffLine("-", text) for text in removed[i:j])
                yield from (DiffLine("+", text) for text in added[k:m])
    yield from (DiffLine(" ", text) for text in new[len(new) - tail :])


def _count_equal_lines(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the lines that are equal at the beginning of both texts."""
    for number, (left_line, right_line) in enumerate(zip(left, right, strict=False)):
        if left_line != right_line:
            return number
    return min(len(left), len(right))


def _fold_unchanged(lines: Sequence[DiffLine], context: int) -> Iterator[DiffLine]:
    """Replace unchanged lines far from a change by a line with their number."""
    is_shown = [False] * len(lines)
    last = -context - 1
    for number, line in enumerate(lines):
        last = number if line.sign != " " else last
        is_shown[number] = number - last <= context
    last = len(lines) + context
    for number in range(len(lines) - 1, -1, -1):
        last = number if lines[number].sign != " " else last
        is_shown[number] = is_shown[number] or last - number <= context
    hidden = 0
    for number, line in enumerate(lines):
        if not is_shown[number]:
            hidden += 1
            continue
        if hidden:
            yield _count_hidden(hidden)
        hidden = 0
        yield line
    if hidden:
        yield _count_hidden(hidden)


def _count_hidden(count: int) -> DiffLine:
    return DiffLine("@", f"{count:,} line{'s' * (count != 1)}")


def _describe_change(change: TextChange) -> str:
    if change.field == REDIRECT and not change.before:
        return f"now redirects to {change.after}"
    if change.field == REDIRECT and not change.after:
        return f"no longer redirects to {change.before}"
    return f"{change.field} {_quote(change.before)} -> {_quote(change.after)}"


def _quote(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= most else f"{line[: most - 1]}…") if text else "none"
