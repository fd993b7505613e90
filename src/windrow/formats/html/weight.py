"""The two forests that tell main content, as they lie in `weights.txt`.

`python tools/teach.py FOLDER` makes that file and writes its digest here; what it is worth on pages of sites that it
has not seen, `--check` tells, and docs/explanation/main-content.md.
"""

from __future__ import annotations

from pkgutil import get_data

from windrow.formats.html.forest import grown

DIGEST = "4397ef4bef0f15970b9694c022ec5dd065fe1015de692c6e1ace87fdc4fb05e4"
"""SHA-256 of `weights.txt`."""
BETWEEN = "\n\n----\n\n"
"""What stands between the first forest and the second."""


def written() -> bytes:
    """Return the file, which is part of the package as code is."""
    return get_data("windrow.formats.html", "weights.txt") or b""


FIRST, SECOND = map(grown, written().decode().split(BETWEEN))
