"""Roll calls: the Senate's list of a session, whose dates have no year, and the House's files, one for each vote."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of
from windrow.collections.events.readers.decoded import text_of
from windrow.collections.events.readers.xml_path import local, parsed, told
from windrow.collections.events.readers.xml_path import read as read_xml

_BEGUN = re.compile(r"0?[12]-jan", re.IGNORECASE)
_ROLL = re.compile(r"roll(\d{3,4})\.xml")
_PAGE = "https://www.senate.gov/legislative/LIS/roll_call_votes/vote{0}{1}/vote_{0}_{1}_{2}.htm"
_ABSENT = "Error sanitizing file"


def read_senate(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the votes of a session's list, with the year that their dates leave out.

    A session begins on 3 January: what is dated before that day was in the year after it.
    """
    root = parsed(given)
    year = int(found) if (found := told(root, "congress_year") or "").isdigit() else given.visited.year
    congress, session = told(root, "congress") or "", told(root, "session") or ""
    for one in root.iterfind(local(given.rules.items)):
        dated = told(one, "vote_date") or ""
        words = {
            "date": f"{dated}-{year + 1 if _BEGUN.fullmatch(dated) else year}",
            "congress": congress,
            "session": session,
            "page": _PAGE.format(congress, session, told(one, "vote_number") or ""),
        }
        text = etree.tostring(one, encoding="unicode", with_tail=False)
        yield event_of(given, lambda path, one=one, words=words: words.get(path) or told(one, path), text)  # type: ignore[misc]


def read_house(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the vote of a file; a vote that was not held yet is an answer of 200 that tells of an error."""
    if not is_absent(given):
        yield from read_xml(given)


def next_vote(given: ParserInput) -> str:
    """Return the address of the vote after this one; empty where this one was not held yet."""
    found = _ROLL.search(given.url)
    if found is None or is_absent(given):
        return ""
    return given.url[: found.start()] + f"roll{int(found[1]) + 1:03}.xml" + given.url[found.end() :]


def is_absent(given: ParserInput) -> bool:
    """Tell whether an answer says that there is no such vote."""
    return len(given.content) < 1000 and _ABSENT in text_of(given.content, given.media)
