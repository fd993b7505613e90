"""Checksum files that stand beside what they vouch for: `FILE.md5`, `FILE.sha256`."""

from __future__ import annotations

import re

LENGTHS = {"md5": 32, "sha1": 40, "sha256": 64}


def read_checksum(text: str, path: str) -> str:
    """Return `algorithm:hex` from a checksum file's text, or nothing where it holds none.

    Both usual forms are read: `HEX  NAME` (md5sum) and `MD5 (NAME) = HEX` (BSD).

    >>> read_checksum("900150983cd24fb0d6963f7d28e17f72  a.zip", "add/a.zip.md5")
    'md5:900150983cd24fb0d6963f7d28e17f72'
    """
    algorithm = path.rpartition(".")[2].lower()
    length = LENGTHS.get(algorithm, 0)
    found = re.search(rf"(?<![0-9A-Fa-f])[0-9A-Fa-f]{{{length}}}(?![0-9A-Fa-f])", text) if length else None
    return f"{algorithm}:{found[0].lower()}" if found else ""
