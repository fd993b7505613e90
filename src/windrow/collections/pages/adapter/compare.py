"""Two versions of a page beside each other: which two are meant, and what changed between them."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from windrow.adapter import Compared
from windrow.collections.pages.adapter.editions import contents
from windrow.collections.pages.adapter.lookup import when
from windrow.collections.pages.adapter.open_summary import summaries
from windrow.collections.pages.database.page_versions import PageVersion, Versions
from windrow.collections.pages.difference import Difference, State, difference
from windrow.collections.pages.discover import address
from windrow.config import Workspace
from windrow.display import show
from windrow.errors import UsageError, WindrowError
from windrow.query.date import span
from windrow.reasons import Reason


def compare(workspace: Workspace, what: str, since: str = "", until: str = "", *, context: int = 2) -> Compared:
    """Compare a page as it was at the end of `since` with what it was at the end of `until`.

    Both are days, months, years or times, as the search language has them; without `until` now is meant, without
    `since` the version before that. A page that was gone at such a time has no text then. Raises UsageError for
    what is no time, WindrowError where the page has no two versions.
    """
    url = address(what)
    if not url:
        raise UsageError(f"{what!r} is no address of the web", hint="windrow diff https://...")
    with summaries(workspace) as engine:
        reader = Versions(engine)
        found = reader.of(url)
        if not found:
            raise WindrowError(f"no version of {url} is known", hint=f"windrow why {url}", reason=Reason.NOT_FOUND)
        new, new_gone = _at(found, until, "--to")
        if since:
            old, old_gone = _at(found, since, "--from")
        else:
            old, old_gone = (new if new_gone else found[max(0, found.index(new) - 1)]), None
        if (old, old_gone) == (new, new_gone) and not (since and until):
            raise WindrowError(f"{url} has had one version only", hint=f"windrow why {url}", reason=Reason.NOT_FOUND)
        made = difference(
            State() if old_gone else contents(reader, old),
            State() if new_gone else contents(reader, new),
            context=context,
        )
    summary = _summary(old, old_gone, new, new_gone, made)
    return Compared(
        url, *_named(old), *_named(new), summary, made.changes, made.added, made.removed, made.elsewhere, made.lines,
        old_gone, new_gone,
    )  # fmt: skip


def _at(found: list[PageVersion], text: str, option: str) -> tuple[PageVersion, datetime | None]:
    """Return the version that was there at the end of a time, or the last one before and since when it was gone."""
    before = found
    if text:
        meant = span(text)
        if meant is None:
            raise UsageError(f"{option}: {text!r} is no day, month, year or time", hint="2026-11-21, 2026-11 or 2026")
        before = [one for one in found if one.first < meant.end]
        if not before:
            raise WindrowError(f"it was not known at {text} yet", hint="windrow why URL", reason=Reason.NOT_FOUND)
    one = before[-1]
    gone = one.end is not None and not (text and meant and one.end >= meant.end)
    return one, when(one.end) if gone else None


def _summary(
    old: PageVersion, old_gone: datetime | None, new: PageVersion, new_gone: datetime | None, made: Difference
) -> str:
    """Say in a line what changed; a page that was gone between the two versions is said to be there again."""
    if old_gone and new_gone:
        return f"gone at both times, since {show(old_gone)} and since {show(new_gone)}"
    if new_gone:
        return f"gone since {show(new_gone)}; {made}"
    if old_gone or (old is not new and old.end is not None and old.end < new.first):
        again = f"there again; it was gone on {show(when(old.end))}"
        return again if made.nothing else f"{again}; {made}"
    return str(made)


def _named(one: PageVersion) -> tuple[str, datetime]:
    return str(UUID(bytes=one.uuid)), datetime.fromtimestamp(one.first, UTC)
