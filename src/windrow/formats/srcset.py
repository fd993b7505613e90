"""Read the addresses of the pictures that an element offers in several sizes (`srcset`)."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"\s*+,?\s*+([^\s,]\S*+)(?:(?<=,)|[^,(]*+(?>(?:\([^)]*+(?:\)|\Z)[^,(]*+)*))")
"""Matches an address and, unless the address ends with a comma, its descriptors; no character is read twice."""


def parse_srcset(srcset: str) -> list[str]:
    """Return the addresses in a `srcset` (HTML standard, section 4.8.4.2.2); they may contain commas.

    >>> parse_srcset("a.png 1x, b,c.png 200w,d.png")
    ['a.png', 'b,c.png', 'd.png']
    >>> parse_srcset("a.png (1, 2, b.png 3x")  # parentheses without an end extend to that of the text
    ['a.png']
    """
    addresses: list[str] = []
    position = 0
    while match := _ENTRY.match(srcset, position):
        addresses.append(match[1].rstrip(","))
        position = match.end()
    return list(filter(None, addresses))
