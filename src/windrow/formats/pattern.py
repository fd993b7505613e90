"""Patterns of paths as robots.txt writes them (RFC 9309, section 2.2.3): `*` is anything, `$` the end.

A pattern matches where the path and query begin with it. Matching takes no regular expression and
is linear: a hostile pattern costs no more than its length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ODD = re.compile(rb"%(?:[0-9A-Fa-f]{2})?|[^A-Za-z0-9/._~!&()+,;=:@?*$-]")
_EVEN = re.compile(r"[A-Za-z0-9/._~!&()+,;=:@?-]*+")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Pattern(NamedTuple):
    """A pattern in its canonical spelling, cut at its stars; `ends` where it holds to the end."""

    text: str
    pieces: tuple[str, ...]
    ends: bool

    @property
    def plain(self) -> bool:
        """Tell whether it is a mere beginning."""
        return len(self.pieces) == 1 and not self.ends

    def matches(self, target: str) -> bool:
        """Tell whether a path and query, in canonical spelling, begin with the pattern."""
        first, *others = self.pieces
        if not target.startswith(first):
            return False
        place = len(first)
        if not others:
            return not self.ends or place == len(target)
        for piece in others[:-1] if self.ends else others:
            found = target.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece)
        return not self.ends or (place + len(others[-1]) <= len(target) and target.endswith(others[-1]))


def pattern(text: str) -> Pattern:
    """Read a pattern.

    >>> pattern("/*.pdf$").matches("/a/b.pdf"), pattern("/*.pdf$").matches("/a/b.pdf?x")
    (True, False)
    """
    spelt = canonical(text)
    first, *others = spelt.removesuffix("$").split("*")
    return Pattern(spelt, (first, *filter(None, others[:-1]), *others[-1:]), spelt.endswith("$"))


def canonical(text: str, *, literal: bool = False) -> str:
    """Spell a pattern or, as a `literal`, a target so that equals look equal (RFC 9309, section 2.2.2).

    Characters that browsers escape in one place and not in another are escaped.

    >>> canonical("/caf\u00e9/%7e%2a*'$"), canonical("/a*$", literal=True)
    ('/caf%C3%A9/~%2A*%27$', '/a%2A%24')
    """
    if _EVEN.fullmatch(text):
        return text
    spelt = _ODD.sub(_escape, text.encode("utf-8", "surrogateescape")).decode("ascii")
    if literal:
        return spelt.replace("*", "%2A").replace("$", "%24")
    if "$" in spelt[:-1]:
        return spelt[:-1].replace("$", "%24") + spelt[-1]
    return spelt


def _escape(found: re.Match[bytes]) -> bytes:
    odd = found[0]
    if len(odd) == 3:
        octet = int(odd[1:], 16)
        return bytes((octet,)) if octet in _UNRESERVED else odd.upper()
    return b"%%%02X" % odd[0]
