"""The homes of collections: their values, and the functions by which templates turn the parts of a home into HTML."""

from __future__ import annotations

import re
from calendar import Calendar
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from windrow.adapters.adapter import harvested_collections
from windrow.adapters.home import (
    AgendaEntry,
    AnswersRequests,
    Cell,
    HasHome,
    HasPictures,
    Home,
    HomeLink,
    HomeView,
    MatrixCount,
    PictureBytes,
    Point,
)
from windrow.app import Windrow
from windrow.app.records import open_home
from windrow.app.story import StoryAnswer
from windrow.contract.registry import capable
from windrow.errors import UsageError, WindrowError
from windrow.reasons import Reason
from windrow.web.pages import capture_bytes
from windrow.web.query import PageQuery
from windrow.web.steady import keep_steady

_PARAMETERS = ("view", "name", "group", "day", "q", "start")  # of a HomeView, in its order
_EMPTY_LINES = re.compile(r"\n\s*\n")
_PICTURE_TYPES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
"""The media types of pictures that are shown, by their first bytes: these have no scripts."""


class HomePage(NamedTuple):
    """The home of a collection, and the names of all collections that have one; `home` is None if none has."""

    collection: str
    collections: tuple[str, ...]
    home: Home | None


def home(workspace: Windrow, query: PageQuery) -> HomePage:
    """Return a view of the home of `collection`, by default the first that has a source."""
    view = HomeView(*(query.text(name) for name in _PARAMETERS))
    with workspace.open_ledger() as ledger:  # once for both, as to open it is much of the time of a row
        collections = tuple(capable(HasHome, harvested_collections(workspace.config, ledger), skip_broken=True))
        collection = query.text("collection") or next(iter(collections), "")
        if not collection or view != HomeView():
            shown = open_home(workspace.config, ledger, collection, view) if collection else None
            return HomePage(collection, collections, shown)
    shown = keep_steady(workspace, f"home {collection}", lambda: workspace.home(collection))  # it is asked for most
    return HomePage(collection, collections, shown)


def find_homes(workspace: Windrow, answer: StoryAnswer) -> list[tuple[str, HomeView]]:
    """Return where the thing that a story is about can be looked at: pairs (collection, view), mostly one or none."""
    story, config = answer.story, workspace.config
    names = [answer.asked]
    if story:  # a file of a partner: ACTION/ZIP/XML is ZIP/XML in the tracker
        names += [story.key, story.key.partition("/")[2]]
    views = []
    with workspace.open_ledger() as ledger:
        collections = {story.collection} if story and story.collection else harvested_collections(config, ledger)
        for collection, adapter in capable(HasHome, collections, skip_broken=True).items():
            for name in filter(None, dict.fromkeys(names)):
                with suppress(WindrowError):
                    if adapter.knows(config, ledger, name):
                        views.append((collection, HomeView(name=name)))
                        break
    return views


def picture(workspace: Windrow, query: PageQuery) -> PictureBytes:
    """Return the picture `name` of a collection, or the one that the attempt `capture` kept.

    Raise WindrowError if there is none.
    """
    if attempt := query.number("capture", 0, 10**15):
        content = capture_bytes(workspace, attempt, None).content
        return PictureBytes(picture_type(content), content)
    collection = query.text("collection")
    adapter = capable(HasPictures, harvested_collections(workspace.config), skip_broken=True).get(collection)
    if adapter is None:
        raise UsageError(f"{collection!r} has no pictures")
    return adapter.picture(workspace.config, query.text("name"))


def picture_type(content: bytes) -> str:
    """Return the media type of a picture that may be shown; raise WindrowError (NOT_FOUND) for any other bytes."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    for start, media in _PICTURE_TYPES.items():
        if content.startswith(start):
            return media
    raise WindrowError("it is not a picture that is shown here: PNG, JPEG, GIF or WebP", reason=Reason.NOT_FOUND)


def find_answering(workspace: Windrow, path: str) -> AnswersRequests | None:
    """Return the adapter that answers requests at a path, or None."""
    adapters = capable(AnswersRequests, harvested_collections(workspace.config), skip_broken=True)
    return next((each for each in adapters.values() if path.startswith(f"{each.REQUESTS_AT}/")), None)


def days_of(entries: Iterable[AgendaEntry]) -> list[tuple[date, list[AgendaEntry]]]:
    """Return the entries of an agenda by day, in their order."""
    return [(day, [*group]) for day, group in groupby(entries, key=lambda entry: entry.day)]


def weeks_of(month: date) -> list[list[date]]:
    """Return the days of the weeks of a month, from Monday on; days of other months complete the first and last week.

    >>> len(weeks_of(date(2026, 11, 1))), weeks_of(date(2026, 11, 1))[0][0]
    (6, datetime.date(2026, 10, 26))
    """
    return Calendar().monthdatescalendar(month.year, month.month)


def swatch(count: MatrixCount) -> Markup:
    """Return a small square in the colour of a number, which is nothing but six hexadecimal digits."""
    digits = "".join(letter for letter in count.colour if letter in "0123456789abcdefABCDEF")[:6].rjust(6, "0")
    return Markup(  # noqa: S704 hexadecimal digits
        '<svg class="swatch" aria-hidden="true" viewBox="0 0 10 10" width="10" height="10">'
        f'<rect width="10" height="10" rx="2" fill="#{digits}"></rect></svg>'
    )


_BAR = 12  # units between the bars of a series
_HEIGHT = 60


def series_bars(points: Sequence[Point]) -> Markup:
    """Return the numbers of a series as bars, each with its name and number as a text."""
    most = max([*(point.number for point in points), 0]) or 1
    bars = Markup("").join(
        Markup(
            '<g class="open"><title>{}: {}</title><rect x="{}" y="{}" width="{}" height="{}" rx="1"></rect></g>'
        ).format(
            point.name, f"{point.number:,g}", place * _BAR, round(_HEIGHT * (1 - point.number / most), 1), _BAR - 2,
            round(max(_HEIGHT * point.number / most, 1), 1),
        )
        for place, point in enumerate(points)
    )  # fmt: skip
    label = f"{len(points)} numbers from {points[0].name} to {points[-1].name}, at most {most:,g}" if points else ""
    return Markup(
        '<svg class="bars" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">{}</svg>'
    ).format(label, len(points) * _BAR, _HEIGHT, len(points) * _BAR, _HEIGHT, bars)


def is_time(cell: Cell) -> bool:
    """Return whether a cell is a time."""
    return isinstance(cell, datetime)


def is_link(cell: Cell) -> bool:
    """Return whether a cell is a text that may lead somewhere."""
    return isinstance(cell, HomeLink)


def parameters_of(view: HomeView) -> dict[str, str]:
    """Return a view as parameters of the page of homes."""
    return {"q" if name == "words" else name: value for name, value in view._asdict().items()}


def view_of(asked: Mapping[str, str]) -> HomeView:
    """Return the view that the parameters of a page ask for."""
    return HomeView(*(asked.get(name, "") for name in _PARAMETERS))


def paragraphs(text: str) -> list[str]:
    r"""Return the paragraphs of a text, which empty lines divide.

    >>> paragraphs("One.\nTwo.\n\n\nThree.")
    ['One.\nTwo.', 'Three.']
    """
    return [part.strip() for part in _EMPTY_LINES.split(text) if part.strip()]
