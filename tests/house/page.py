"""The pages of the manual, taken apart for the tests."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

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


def runnable(page: Path) -> str:
    """Return the page's snippets that are marked `sh run`, as one script."""
    found = [fence["text"] for fence in _FENCE.finditer(page.read_text()) if fence["info"].split() == ["sh", "run"]]
    return "".join(found)


def shell(page: Path) -> list[str]:
    """Return all commands of windrow that a page shows."""
    fences = [fence for fence in _FENCE.finditer(page.read_text()) if fence["info"].split()[:1] == ["sh"]]
    lines = [line.strip() for fence in fences for line in fence["text"].splitlines()]
    return [line for line in lines if re.match(r"(\S*/)?windrow ", line)]


def name(page: Path) -> str:
    """Name a page for the list of tests."""
    return str(page.relative_to(ROOT))
