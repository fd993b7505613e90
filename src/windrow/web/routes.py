"""The pages of the web view: where each is, what makes its value, and the parameters that it reads."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from windrow.app import Windrow
from windrow.caps import WEB_RESULTS
from windrow.web import homes, manual, pages
from windrow.web.query import PageQuery


class Parameter(NamedTuple):
    """A parameter of a page's query. If it has `choices`, it is one of these; if `most` is given, a number up to it."""

    name: str
    meaning: str
    choices: tuple[str, ...] = ()
    most: int | None = None
    needed: bool = False


class Fresh(Enum):
    """How long an answer stays as it is while no fact is added to the ledger."""

    BODY = "not known: a page is made, and compared with the one that the client has"
    MINUTE = "to the end of the minute, since it depends on the time"
    FACTS = "until the next fact"


class PageRoute(NamedTuple):
    """A page: its path, its template, the function that makes its value, and the parameters that this reads."""

    path: str
    template: str
    make: Callable[[Windrow, PageQuery], Any]
    parameters: tuple[Parameter, ...] = ()
    fresh: Fresh = Fresh.BODY


class NumberedRoute(NamedTuple):
    """A page about something that has a number, which is the last part of its path."""

    path: str
    template: str
    make: Callable[[Windrow, int], Any]


_SINCE = Parameter("since", "from when on: a date, a time in UTC, a duration such as 24h, today or yesterday")
_COLLECTION = Parameter("collection", "a collection; all without it")
_NAME = Parameter("name", "an address, a file, a record, a source or a session", needed=True)

CHANGES_PARAMETERS = (
    _SINCE,
    Parameter("until", "before when; a date includes that day"),
    Parameter("kind", "the kind of change; all without it", pages.KINDS),
    _COLLECTION,
    Parameter("source", "a source; all without it"),
    Parameter("q", "words that the name, title or difference has"),
    Parameter("cursor", "`next` of the page before"),
)
"""The parameters of the list of changes and of its feeds."""

PAGES = (
    PageRoute("/", "today.html", pages.today, (_SINCE,), Fresh.MINUTE),
    PageRoute("/changes", "changes.html", pages.changes, CHANGES_PARAMETERS, Fresh.MINUTE),
    PageRoute(
        "/diff", "diff.html", pages.difference,
        (
            _NAME,
            Parameter("old", "a day or time of the earlier version; without it, the version before the later one"),
            Parameter("new", "a day or time of the later version; without it, the latest"),
            Parameter("form", "how the page shows them: in lines, or side by side", pages.DIFFERENCE_FORMS),
        ),
        Fresh.FACTS,
    ),
    PageRoute("/why", "why.html", pages.why, (_NAME,), Fresh.MINUTE),
    PageRoute(
        "/sessions", "sessions.html", pages.sessions,
        (Parameter("before", "`next` of the page before: sessions with smaller numbers", most=10**9),), Fresh.FACTS,
    ),
    PageRoute(
        "/collections", "home.html", homes.home,
        (
            Parameter("collection", "a collection; the first that has a source without it"),
            Parameter("view", "a view of its home; the first without it"),
            Parameter("name", "what the view is about, such as a record"),
            Parameter("group", "limits the view to a group, such as `branch:Legislative`"),
            Parameter("day", "a date from which on the view begins"),
            Parameter("q", "words that the entries have"),
            Parameter("start", "`start` of the next page, from the page before"),
        ),
    ),
    PageRoute(
        "/search", "search.html", pages.search,
        (
            Parameter("q", "words, phrases and filters, in the language of searches"),
            _COLLECTION,
            Parameter("as_of", "a day: search what there was then"),
            Parameter("explain", "1: each result says why it stands where it stands", ("1",)),
            Parameter("offset", "how many results to leave out", most=WEB_RESULTS.number),
        ),
        Fresh.MINUTE,
    ),
    PageRoute("/help", "help.html", manual.list_manual, (Parameter("q", "words that a page of the manual has"),)),
)  # fmt: skip

NUMBERED = (
    NumberedRoute("/sessions", "session.html", pages.session),
    NumberedRoute("/captures", "capture.html", pages.capture),
)
