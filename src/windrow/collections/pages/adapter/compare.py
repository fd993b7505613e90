"""Two versions of a page beside each other: which two are meant, and what changed between them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from windrow.collections.pages.adapter.editions import contents
from windrow.collections.pages.adapter.open_summary import summaries
from windrow.collections.pages.database.page_versions import PageVersion, Versions
from windrow.collections.pages.difference import DiffLine, TextChange, difference
from windrow.collections.pages.discover import address
from windrow.config import Workspace
from windrow.errors import UsageError, WindrowError
from windrow.query.date import span
from windrow.reasons import Reason


class Compared(NamedTuple):
    """What changed between two versions of a page, named by generation and the time they were first seen.

    `changes` are of short texts (title, description, ...), `lines` of the main text: each with a sign, `+`,
    `-`, a blank for one that stays, or `@` where some are left out. `added` and `removed` count its lines,
    `elsewhere` those that changed outside of it.
    """

    url: str
    old: str
    old_seen: datetime
    new: str
    new_seen: datetime
    summary: str
    changes: tuple[TextChange, ...]
    added: int
    removed: int
    elsewhere: int
    lines: tuple[DiffLine, ...]


def compare(workspace: Workspace, what: str, since: str = "", until: str = "", *, context: int = 2) -> Compared:
    """Compare a page as it was at the end of `since` with what it was at the end of `until`.

    Both are days, months, years or times, as the search language has them; without `until` the latest
    version is meant, without `since` the one before that. Raises UsageError for what is no time, WindrowError
    where the page has no two versions then.
    """
    url = address(what)
    if not url:
        raise UsageError(f"{what!r} is no address of the web", hint="windrow diff https://...")
    with summaries(workspace) as engine:
        reader = Versions(engine)
        found = reader.of(url)
        if not found:
            raise WindrowError(f"no version of {url} is known", hint=f"windrow why {url}", reason=Reason.NOT_FOUND)
        new = _at(found, until, "--to") if until else found[-1]
        old = _at(found, since, "--from") if since else found[max(0, found.index(new) - 1)]
        if old is new and not (since and until):
            raise WindrowError(f"{url} has had one version only", hint=f"windrow why {url}", reason=Reason.NOT_FOUND)
        made = difference(contents(reader, old), contents(reader, new), context=context)
    return Compared(
        url, *_named(old), *_named(new), str(made), made.changes, made.added, made.removed, made.elsewhere, made.lines
    )


def _at(found: list[PageVersion], text: str, option: str) -> PageVersion:
    """Return the version that was there at the end of a time."""
    meant = span(text)
    if meant is None:
        raise UsageError(f"{option}: {text!r} is no day, month, year or time", hint="2026-11-21, 2026-11 or 2026")
    before = [one for one in found if one.first < meant.end]
    if not before:
        raise WindrowError(f"it was not known at {text} yet", hint="windrow why URL", reason=Reason.NOT_FOUND)
    return before[-1]


def _named(one: PageVersion) -> tuple[str, datetime]:
    return str(UUID(bytes=one.uuid)), datetime.fromtimestamp(one.first, UTC)
