"""Gather the files in changes/ into CHANGELOG.md under a new version, and remove them.

python3 tools/changelog.py 1.2.0
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADS = {"new": "New", "better": "Better", "fixed": "Fixed", "removed": "Removed"}


def gather(version: str, day: str, changes: dict[str, str]) -> str:
    """Return the section of a release; `changes` has the text of each file in changes/ by its name.

    >>> print(gather("1.0", "2026-01-31", {"b.fixed.md": "No crash.", "a.new.md": "A door."}))
    ## 1.0 (2026-01-31)
    <BLANKLINE>
    ### New
    <BLANKLINE>
    - A door.
    <BLANKLINE>
    ### Fixed
    <BLANKLINE>
    - No crash.
    <BLANKLINE>
    """
    lines = [f"## {version} ({day})", ""]
    for kind, head in HEADS.items():
        texts = [" ".join(changes[name].split()) for name in sorted(changes) if name.endswith(f".{kind}.md")]
        if texts:
            lines += [f"### {head}", "", *(f"- {text}" for text in texts), ""]
    return "\n".join(lines)


def main(version: str) -> None:
    """Move the texts in changes/ into a new section at the top of the changelog."""
    files = [path for path in (ROOT / "changes").glob("*.md") if path.name != "README.md"]
    section = gather(version, f"{datetime.now(UTC):%Y-%m-%d}", {path.name: path.read_text() for path in files})
    log = ROOT / "CHANGELOG.md"
    head, separator, sections = log.read_text().partition("\n## ")
    log.write_text(f"{head.rstrip()}\n\n{section}{separator}{sections}")
    for path in files:
        path.unlink()


if __name__ == "__main__":
    main(sys.argv[1])
