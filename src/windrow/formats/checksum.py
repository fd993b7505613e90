"""Checksum files beside the files that they are for: `FILE.md5`, `FILE.sha1`, `FILE.sha256`."""

from __future__ import annotations

import codecs
import re

LENGTHS = {"md5": 32, "sha1": 40, "sha256": 64}


def read_checksum(content: bytes, path: str) -> str:
    """Return `algorithm:hex` from a checksum file's bytes, or an empty string if it holds no single checksum.

    Both usual forms are read: `HEX  NAME` (md5sum) and `MD5 (NAME) = HEX` (BSD). Of several different checksums the
    one on a line that names the file counts; without such a line none does.

    >>> read_checksum(b"900150983cd24fb0d6963f7d28e17f72  a.zip", "add/a.zip.md5")
    'md5:900150983cd24fb0d6963f7d28e17f72'
    """
    whole, _, algorithm = path.rpartition(".")
    algorithm, name = algorithm.lower(), whole.rpartition("/")[2]
    length = LENGTHS.get(algorithm)
    if length is None:
        return ""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as PowerShell writes by default
    text = content.decode("utf-16" if wide else "utf-8", "replace")
    pattern = re.compile(rf"(?<![0-9A-Fa-f])[0-9A-Fa-f]{{{length}}}(?![0-9A-Fa-f])")
    lines = [(line, match[0].lower()) for line in text.splitlines() if (match := pattern.search(line))]
    named = [digest for line, digest in lines if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", line)]
    chosen = set(named) if named else {digest for _, digest in lines}
    return f"{algorithm}:{chosen.pop()}" if len(chosen) == 1 else ""
