"""Parses the pages of the manual for the tests."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.house.tree import ROOT, tracked

_FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$")
_LINK = re.compile(r"(?<!\!)\[[^\]\n]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """Return all Markdown files of the project."""
    return [path for path in tracked() if path.suffix == ".md"]


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, those in code left out."""
    text = _FENCE.sub("", page.read_text())
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", text))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return what a link to a heading of the page may be called, as code hosts make it."""
    heads = re.findall(r"(?m)^#+ +(.+?) *$", _FENCE.sub("", page.read_text()))
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads)


class Snippet(NamedTuple):
    """Commands that a page gives, and the lines that it shows of what they print."""

    text: str
    shown: list[str]


def snippets(page: Path) -> list[Snippet]:
    """Return the page's snippets that are marked `sh run`, each with what a block `text shown` after it has."""
    parts: list[Snippet] = []
    for fence in _FENCE.finditer(page.read_text()):
        if fence["info"].split() == ["sh", "run"]:
            parts.append(Snippet(fence["text"], []))
        elif fence["info"].split() == ["text", "shown"]:
            parts[-1].shown.extend(line for line in fence["text"].splitlines() if line.strip())
    return parts


_VARIES = re.compile(
    r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?(?: UTC)?"  # days and times of day
    r"|\b\d+(?:\.\d+)? (?:ms|s|min|h|d|days)\b(?: \d+ (?:s|min|h)\b)?"  # durations
    r"|\b\d[\d,]*(?:\.\d+)? (?:B|kB|MB|GB|bytes)\b|\bbyte \d[\d,]*|\bnumber \d+"  # sizes and numbers on the ledger
    r"|(?<![\w:/.])/[\w./~-]+|\b[0-9a-f]{12,64}\b|windrow-\d{6}-\d-\d{5}\.warc(?:\.gz)?"  # paths and digests
)


def steady(line: str) -> str:
    """Return a line of output without what differs from run to run: times, sizes, paths, and the room between words.

    >>> steady("session 1 took 6.5 s: done,   2 kB in /tmp/x")
    'session 1 took *: done, * in *'
    """
    return " ".join(_VARIES.sub("*", line).split())


def is_shown(line: str, printed: list[str]) -> bool:
    """Return whether a line that a page shows is among those printed; `...` in it stands for anything."""
    pattern = re.compile(".*".join(re.escape(steady(part)) for part in line.split("...")))
    return any(pattern.fullmatch(steady(shown)) for shown in printed)


def shell(page: Path) -> list[str]:
    """Return all commands of windrow that a page shows."""
    fences = [fence for fence in _FENCE.finditer(page.read_text()) if fence["info"].split()[:1] == ["sh"]]
    lines = [line.strip() for fence in fences for line in fence["text"].splitlines()]
    return [line for line in lines if re.match(r"(\S*/)?windrow ", line)]


def name(page: Path) -> str:
    """Name a page for the list of tests."""
    return str(page.relative_to(ROOT))
