"""What changed between two versions of a page: its short texts one by one, its text line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from windrow.model import DiffLine, TextChange

MOST = 4_000
"""Lines of a changed stretch that are compared one by one; of a longer one all lines count as others."""
CONTEXT = 2
"""Lines that stay, shown before and behind those that changed."""
REDIRECT = "redirect"
SIZE = "size"
"""What is compared of versions that both have no text."""


class State(NamedTuple):
    """One version: its short texts by name (title, description, address of a redirect ...), its text and the rest.

    `text` is what is held to be the main content, a line for each paragraph; `rest` all other text of the page.
    """

    said: tuple[tuple[str, str], ...] = ()
    text: str = ""
    rest: str = ""


def _only_redirects(one: State) -> str:
    """Return where a version leads that is no page itself; empty for any other."""
    said = dict(one.said)
    return "" if said.get("kind") or _has_text(one) else said.get(REDIRECT, "")


def _has_text(one: State) -> bool:
    """Tell whether a version has a text."""
    return bool(one.text or one.rest)


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed; `added` and `removed` count lines of the main text, `elsewhere` those of the rest, both ways."""

    changes: tuple[TextChange, ...]
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    elsewhere: int

    @property
    def nothing(self) -> bool:
        """Tell whether the two are the same in all that is compared."""
        return not (self.changes or self.added or self.removed or self.elsewhere)

    def __str__(self) -> str:
        r"""Say it in one line.

        >>> str(difference(State((("title", "A"),), "one"), State((("title", "B"),), "one\ntwo")))
        "title 'A' -> 'B'; text: 1 line added"
        """
        told = [_said(change) for change in self.changes]
        counts = [
            f"{n} line{'s' * (n != 1)} {what}" for n, what in ((self.added, "added"), (self.removed, "removed")) if n
        ]
        told += ["text: " + ", ".join(counts)] if counts else []
        told += [f"{self.elsewhere} lines changed outside the main text"] if self.elsewhere else []
        return "; ".join(told) or "nothing that is compared"


def difference(before: State, after: State, *, context: int = CONTEXT) -> Difference:
    r"""Compare two versions of a page; where one of them only leads elsewhere, that is all the difference.

    >>> [tuple(line) for line in difference(State(text="a\nb\nc"), State(text="a\nB\nc"), context=0).lines]
    [('@', '1 line'), ('-', 'b'), ('+', 'B'), ('@', '1 line')]
    """
    led, leads = _only_redirects(before), _only_redirects(after)
    if bool(led) != bool(leads) and (before.said and after.said):
        return Difference((TextChange(REDIRECT, led, leads),), (), 0, 0, 0)
    said, now = dict(before.said), dict(after.said)
    changes = [
        TextChange(key, said.get(key, ""), now.get(key, ""))
        for key in dict.fromkeys((*said, *now))
        if said.get(key, "") != now.get(key, "") and not (key == SIZE and (_has_text(before) or _has_text(after)))
    ]
    whole = list(_compared(before.text.splitlines(), after.text.splitlines()))
    rest = [line for line in _compared(before.rest.splitlines(), after.rest.splitlines()) if line.sign != " "]
    signs = [line.sign for line in whole]
    lines = tuple(_folded(whole, context)) if set(signs) - {" "} else ()
    return Difference(tuple(changes), lines, signs.count("+"), signs.count("-"), len(rest))


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Yield every line of both, in order."""
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    yield from (DiffLine(" ", text) for text in new[:head])
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(gone), len(come)) > MOST:
        yield from (DiffLine("-", text) for text in gone)
        yield from (DiffLine("+", text) for text in come)
    else:
        for what, i, j, k, m in SequenceMatcher(None, gone, come).get_opcodes():
            if what == "equal":
                yield from (DiffLine(" ", text) for text in come[k:m])
            else:
                yield from (DiffLine("-", text) for text in gone[i:j])
                yield from (DiffLine("+", text) for text in come[k:m])
    yield from (DiffLine(" ", text) for text in new[len(new) - tail :])


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines that both begin with."""
    for number, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return number
    return min(len(one), len(other))


def _folded(lines: Sequence[DiffLine], context: int) -> Iterator[DiffLine]:
    """Leave out what stays and is far from what changed, saying how many lines that are."""
    near = [False] * len(lines)
    last = -context - 1
    for number, line in enumerate(lines):
        last = number if line.sign != " " else last
        near[number] = number - last <= context
    last = len(lines) + context
    for number in range(len(lines) - 1, -1, -1):
        last = number if lines[number].sign != " " else last
        near[number] = near[number] or last - number <= context
    hidden = 0
    for number, line in enumerate(lines):
        if not near[number]:
            hidden += 1
            continue
        if hidden:
            yield _left_out(hidden)
        hidden = 0
        yield line
    if hidden:
        yield _left_out(hidden)


def _left_out(count: int) -> DiffLine:
    return DiffLine("@", f"{count:,} line{'s' * (count != 1)}")


def _said(one: TextChange) -> str:
    """Say in some words what one short text was and is."""
    if one.what == REDIRECT and not one.before:
        return f"now redirects to {one.after}"
    if one.what == REDIRECT and not one.after:
        return f"no longer redirects to {one.before}"
    return f"{one.what} {_short(one.before)} -> {_short(one.after)}"


def _short(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= most else f"{line[: most - 1]}…") if text else "none"
