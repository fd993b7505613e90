"""The pages of the manual that is installed with windrow, as Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import windrow
from windrow.errors import WindrowError

_COMMENT = re.compile(r"^<!--.*?-->\n+", re.MULTILINE)
"""Matches HTML comments, which contain the code that generates parts of the manual. They are not shown."""


def manual_pages() -> dict[str, Path]:
    """Return a dict from page names (`howto/export`) to the manual's files; raise WindrowError if there is none."""
    package = Path(windrow.__file__).parent
    for folder in (package / "manual", package.parent.parent / "docs"):
        if (folder / "glossary.md").is_file():
            paths = sorted(folder.rglob("*.md"))
            return {str(path.relative_to(folder).with_suffix("")): path for path in paths if path.stem != "README"}
    raise WindrowError("this installation has no manual", hint="windrow --help")


def read_title(path: Path) -> str:
    """Return the title of a page, which is its first line."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()


def read_page(path: Path) -> str:
    """Return the text of a page, without comments."""
    return _COMMENT.sub("", path.read_text(encoding="utf-8"))
