"""Guards against endless rows of generated pages: some look at one address only, the last at what it brings."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from windrow.collections.pages.parameter import names
from windrow.formats.url import Parts

_PATH = re.compile(r"/(?:(\d{4})/(?:0?[1-9]|1[0-2])|(\d{4})-(?:0?[1-9]|1[0-2])(?:-\d{1,2})?)(?=/|\Z)", re.ASCII)
_QUERY = re.compile(
    r"(?:^|&)[^=&]*=(\d{4})-(?:0?[1-9]|1[0-2])(?:-\d{1,2})?(?!\d)"
    r"|(?:^|&)(?:[a-z]*[_-])?(?:year|yr|jahr|annee|ano)=(\d{4})(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_SAMPLED = 30  # of so many new pages one is looked at, until one brings nothing: a look takes a tenth of a millisecond
_SAME = 120  # pages in a row that bring nothing new, before an origin is found endless
_LARGE = 1 << 18  # bytes of a page that is not looked at: nobody generates such without content
_SHORT = 500  # bytes of a text whose numbers do not make it another one: a calendar's, a counter's
_KEPT = 10_000  # texts remembered
_ERA = range(1500, 3000)  # other numbers of four digits are no years


class TrapRules(NamedTuple):
    """How far addresses may go. `years` holds for dates that an address names, counted from this year."""

    depth: int = 16  # segments of a path
    repeats: int = 3  # times that a segment may occur in a path
    segment: int = 255  # characters of a segment
    parameters: int = 8
    first: int = 1900  # year
    ahead: int = 1  # years


GUARD = TrapRules()


def trapped(address: Parts, year: int, guard: TrapRules = GUARD) -> str:
    """Return why an address looks like a trap, or an empty text. `year` is the present one.

    >>> from windrow.formats.url import parts
    >>> trapped(parts("https://example.org/events/2099/07/"), 2026)
    'a date in 2099'
    >>> trapped(parts("https://example.org/a/b/a/b/a/b/a/b"), 2026)
    "the segment 'a' 4 times"
    >>> trapped(parts("https://example.org/2024/07/a"), 2026)
    ''
    """
    return _path(address.path, guard) or _query(address.query, guard) or _date(address, year, guard)


def _path(path: str, guard: TrapRules) -> str:
    """Look at the segments of a path."""
    segments = [one for one in path.split("/") if one]
    if len(path) <= guard.segment and len(set(segments)) == len(segments) <= guard.depth:
        return ""
    if len(segments) > guard.depth:
        return f"{len(segments)} segments"
    if len(max(segments, key=len, default="")) > guard.segment:
        return f"a segment of more than {guard.segment} characters"
    segment, count = Counter(segments).most_common(1)[0] if len(segments) > guard.repeats else ("", 0)
    return f"the segment {segment[:40]!r} {count} times" if count > guard.repeats else ""


def _query(query: str | None, guard: TrapRules) -> str:
    """Look at the parameters of a query."""
    if not query:
        return ""
    given = names(query)
    if len(given) > guard.parameters:
        return f"{len(given)} parameters"
    name, count = Counter(given).most_common(1)[0] if len(given) > guard.repeats else ("", 0)
    return f"the parameter {name[:40]!r} {count} times" if count > guard.repeats else ""


def _date(address: Parts, year: int, guard: TrapRules) -> str:
    """Look at the dates that an address names."""
    told = _PATH.findall(address.path) + (_QUERY.findall(address.query) if address.query else [])
    for one, other in told:
        named = int(one or other)
        if named in _ERA and not guard.first <= named <= year + guard.ahead:
            return f"a date in {named}"
    return ""


def _without_tags(body: bytes) -> bytes:
    """Return what is outside of tags; one ends at its `>`, else where the next begins.

    >>> _without_tags(b"a<b>c > d<e<f>g<h")
    b'ac > dg'
    """
    first, *others = body.split(b"<")
    return b"".join((first, *[one.partition(b">")[2] for one in others]))


class NoveltyCount:
    """What the new addresses of an origin bring: a text that another one had before says nothing new.

    >>> row = NoveltyCount()
    >>> [row.endless(b"<p>No events in %d. <a href=%d>" % (at, at + 1)) for at in range(1964, 2164)].index(True)
    178
    >>> row.known
    True
    """

    __slots__ = ("_new", "_same", "_texts")

    @property
    def known(self) -> bool:
        """Tell whether the last page brought nothing new, as far as it was looked at."""
        return self._same > 0

    def __init__(self) -> None:
        """Begin with no page."""
        self._new = 0
        self._same = 0
        self._texts: set[int] = set()

    def endless(self, body: bytes) -> bool:
        """Take the body of a new address; tell whether for long none brought anything new."""
        self._new += 1
        if self._new % _SAMPLED and not self._same:
            return False
        text = b"" if len(body) > _LARGE else _without_tags(body).translate(None, b" \t\n\f\r")
        if len(text) < _SHORT:
            text = text.translate(None, b"0123456789")
        told = hash(text) if len(body) <= _LARGE else hash(body)
        self._same = self._same + 1 if told in self._texts else 0
        if len(self._texts) < _KEPT:
            self._texts.add(told)
        return self._same >= _SAME
