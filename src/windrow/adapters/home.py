"""What a collection shows of itself at its home in the web view: values, which the web view alone turns into HTML.

A home has views, such as an agenda and a month. A view is asked for by a `HomeView` and answered by a `Home`, whose
parts are of nine kinds: facts, table, listing, agenda, matrix, series, text, picture, timeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import MAXYEAR, MINYEAR, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from windrow.errors import UsageError, WindrowError
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.config import Workspace
    from windrow.ledger import Ledger


_MAX_DIGITS = 15  # of a number by which a list goes on


class HomeView(NamedTuple):
    """What is asked of a home: the name of a view (empty: the first), what it is about, and what it is limited to.

    `group` is one of the values in `Home.groups`, `day` is a date or empty, `words` are words that entries must have,
    and `start` is where a long list goes on, as the page before said it.
    """

    view: str = ""
    name: str = ""
    group: str = ""
    day: str = ""
    words: str = ""
    start: str = ""


class HomeLink(NamedTuple):
    """A text that may lead somewhere: to the story of what `story` names, or to another view of this home.

    It may also lead to how the version of `difference` at the time `new` (empty: the latest) differs from the one
    before it, or to what the attempt `capture` kept.
    """

    text: str
    story: str = ""
    view: HomeView | None = None
    difference: str = ""
    new: str = ""
    capture: int = 0


Cell: TypeAlias = HomeLink | datetime | int | None
"""A value of a table or fact; a time is in UTC."""


class Fact(NamedTuple):
    """A name and its value."""

    name: str
    value: Cell


class Facts(NamedTuple):
    """Names and values about one thing."""

    title: str
    facts: tuple[Fact, ...]
    type: str = "facts"


class HomeTable(NamedTuple):
    """Rows of values below the names of their columns. `type` tells this kind of part from the others, in each part."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    type: str = "table"


class HomeEntry(NamedTuple):
    """A thing in a listing: its name, notes such as its source, a text about it, and its fields."""

    title: HomeLink
    notes: tuple[Cell | Fact, ...] = ()
    text: str = ""
    facts: tuple[Fact, ...] = ()


class HomeList(NamedTuple):
    """Things one below the other, such as articles to read."""

    title: str
    entries: tuple[HomeEntry, ...]
    type: str = "listing"


class AgendaEntry(NamedTuple):
    """Something on a day: its time of day as people write it (empty: the whole day), and where it takes place.

    `status` is empty if all is as planned; `note` says who invites, for example.
    """

    day: date
    time: str
    title: HomeLink
    place: str = ""
    note: str = ""
    status: str = ""


class Agenda(NamedTuple):
    """What takes place, in order of time; if `month` is not None, drawn as the calendar of the month that has this day.

    Of the days in `more`, only the first entries are there.
    """

    title: str
    entries: tuple[AgendaEntry, ...]
    month: date | None = None
    more: tuple[date, ...] = ()
    type: str = "agenda"


class MatrixCount(NamedTuple):
    """A number in a field of a matrix: what is counted, its colour as rrggbb, and the view that lists these things."""

    label: str
    number: int
    colour: str
    view: HomeView | None = None


class MatrixRow(NamedTuple):
    """A row of a matrix: its name, and the numbers in the field of each column."""

    name: HomeLink
    fields: tuple[tuple[MatrixCount, ...], ...]


class Matrix(NamedTuple):
    """Numbers of things by row and column. `legend` has each label once, with its colour and meaning in `number` 0."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    legend: tuple[MatrixCount, ...] = ()
    type: str = "matrix"


class Point(NamedTuple):
    """A number of a series, with its name, such as a day."""

    name: str
    number: float


class Series(NamedTuple):
    """Numbers in an order, such as one for each month, drawn as bars."""

    title: str
    points: tuple[Point, ...]
    type: str = "series"


class HomeText(NamedTuple):
    """A long text without markup; an empty line begins a paragraph. `marks` are words that are marked in it."""

    title: str
    text: str
    type: str = "text"


class Picture(NamedTuple):
    """A picture: what it shows, for those who do not see it, and where its bytes are.

    They are what `picture` of the adapter returns for `name` or, if `capture` is not 0, what that attempt kept.
    """

    title: str
    description: str
    name: str = ""
    capture: int = 0
    type: str = "picture"


class HomeMoment(NamedTuple):
    """Something that happened: when, what kind, a text, and details."""

    at: datetime
    kind: str
    text: HomeLink
    note: str = ""


class HomeTimeline(NamedTuple):
    """What happened, in order of time."""

    title: str
    moments: tuple[HomeMoment, ...]
    type: str = "timeline"


Part: TypeAlias = Facts | HomeTable | HomeList | Agenda | Matrix | Series | HomeText | Picture | HomeTimeline


class Group(NamedTuple):
    """A kind of groups, such as branches, and the groups: each a value for `HomeView.group` and a name."""

    name: str
    groups: tuple[tuple[str, str], ...]


class HomeFeed(NamedTuple):
    """An address at which programs can subscribe to what is shown: the name of the format, the path and the query."""

    name: str
    path: str


class Home(NamedTuple):
    """A view of a home: its title and parts, and what else may be asked for.

    `views` are the other views, `groups` the groups to which this one can be limited, `further` its next page. If
    `by_day` is not empty, it can be limited to a day, and this says how, such as `from`; if `by_words`, to words.
    `note` says what is missing and which command helps.
    """

    title: str
    parts: tuple[Part, ...] = ()
    views: tuple[HomeLink, ...] = ()
    groups: tuple[Group, ...] = ()
    feeds: tuple[HomeFeed, ...] = ()
    further: HomeLink | None = None
    by_day: str = ""
    by_words: bool = False
    note: str = ""


class HasHome(Protocol):
    """Has a home: shows its records in views of its own."""

    def home(self, workspace: Workspace, ledger: Ledger, view: HomeView) -> Home:
        """Return a view of the home; raise UsageError for a view, group, day or start that it does not have.

        Raise WindrowError (NOT_FOUND) if `view.name` is not known.
        """

    def knows(self, workspace: Workspace, ledger: Ledger, name: str) -> bool:
        """Return whether `home` shows something for `HomeView(name=name)`, without making it."""


class PictureBytes(NamedTuple):
    """A picture's bytes and media type."""

    media: str
    content: bytes


class HasPictures(Protocol):
    """Has pictures of its records."""

    def picture(self, workspace: Workspace, name: str) -> PictureBytes:
        """Return the picture with this name, of `Picture.name`; raise WindrowError (NOT_FOUND) if there is none."""


class RequestAnswer(NamedTuple):
    """An answer to a request: its status, its media type, its bytes, and further fields by name."""

    status: int
    media: str
    content: bytes
    fields: Any = ()


class AnswersRequests(Protocol):
    """Answers requests at addresses that its standard names, such as `/api/events/all`."""

    REQUESTS_AT: str
    """The beginning of the paths that it answers, such as `/api/events`."""

    def answer_request(self, workspace: Workspace, path: str, query: bytes, base: str) -> RequestAnswer:
        """Return the answer to a GET of a path and a query, both percent-encoded. Any of both is answered.

        `base` is what stands before the path in addresses, such as `https://town.example`.
        """


def unknown_name(collection: str, name: str) -> WindrowError:
    """Return the error for a name that a home does not know."""
    return WindrowError(f"{collection} has nothing named {name!r}", hint=f"windrow why {name}", reason=Reason.NOT_FOUND)


def refuse_unknown(what: str, asked: str, known: Sequence[str]) -> None:
    """Raise UsageError if a view or group is asked for that a home does not have."""
    if asked and asked not in known:
        raise UsageError(f"{what}: {asked!r} is not one of {', '.join(known)}")


def refuse_unread(view: HomeView, *read: str) -> None:
    """Raise UsageError if a view is limited by a member of it that a page does not read; `read` names the others."""
    for name, text in view._asdict().items():
        if text and name not in read:
            parameter = "q" if name == "words" else name
            raise UsageError(f"{parameter}: {text[:100]!r} chooses nothing on this page")


def read_start(view: HomeView) -> int:
    """Return where a list goes on as a number, 0 for its beginning; raise UsageError if it is not one."""
    text = view.start or "0"
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_DIGITS:
        raise UsageError(f"start: {text!r} is not one that a page before gave")
    return int(text)


def read_day(view: HomeView, today: date) -> date:
    """Return the day that a view is limited to, or `today`; raise UsageError if it is not a date.

    So is a day of the first or last year that Python has: the months before and after it are reckoned with, too.
    """
    try:
        day = date.fromisoformat(view.day) if view.day else today
    except ValueError:
        raise UsageError(f"day: {view.day!r} is not a date such as 2026-11-27") from None
    if day.year in {MINYEAR, MAXYEAR}:
        raise UsageError(f"day: {view.day!r} is not in the years {MINYEAR + 1} to {MAXYEAR - 1}")
    return day
