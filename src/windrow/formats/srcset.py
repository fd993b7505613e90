"""Read the addresses of the pictures that an element offers in several sizes (`srcset`)."""

from __future__ import annotations

import re

from windrow.caps import ASSETS_OF_DOCUMENT

_ENTRY = re.compile(r"\s*+,?\s*+([^\s,]\S*+)([^,(]*+(?:\([^)]{0,100}+\)[^,(]*+)*+)")


def parse_srcset(srcset: str) -> list[str]:
    """Return the addresses in a `srcset` (HTML standard, section 4.8.4.2.2); they may contain commas.

    >>> parse_srcset("a.png 1x, b,c.png 200w,d.png")
    ['a.png', 'b,c.png', 'd.png']
    """
    addresses: list[str] = []
    position = 0
    most = ASSETS_OF_DOCUMENT.number
    while len(addresses) < most and (match := _ENTRY.match(srcset, position)) and match.end() > position:
        address = match[1]
        if address.endswith(","):
            addresses.append(address.rstrip(","))
            position = match.end(1)
        else:
            addresses.append(address)
            position = match.end()
    return list(filter(None, addresses))
