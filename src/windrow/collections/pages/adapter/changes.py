"""Changes of pages: versions that began or ended, what changed in each, and comparisons of two versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from windrow.adapters.adapter import CHANGED, GONE, NEW, Comparison, SourceChange, Window
from windrow.collections.pages.adapter.lookup import summaries, summary_if_there, when
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.database.page_versions import (
    NO_NUMBERS,
    NearDuplicate,
    PageVersion,
    Timeline,
    Versions,
    count_ended_attempts,
    read_timelines,
)
from windrow.collections.pages.database.sound import read_checkpoint
from windrow.collections.pages.difference import SIZE, Difference, State, difference
from windrow.collections.pages.discover import address
from windrow.config import Workspace
from windrow.errors import UsageError, WindrowError
from windrow.formats.text import show
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.query.tree import span
from windrow.reasons import Reason
from windrow.stores.sqlite import SqliteReader

_COMPARED = 100
"""Most versions, counted from the latest, that are compared with the one before."""
_ALIKE = 5
"""Most addresses with the same text that are named."""


class Edition(NamedTuple):
    """A version of a page; `changed` describes in a line the changes since the previous version.

    `end` is the time when it was found gone or changed, null if it is still present. `duplicate_of`
    is the address it is marked as a duplicate of, `copies` how many other addresses have the same text now.
    `indexed` tells whether its text can be searched for, `words` is the number of different words; `reason` is why its
    text was left out, or empty.
    """

    generation: str
    first_seen: datetime
    last_seen: datetime
    end: datetime | None
    title: str
    kind: str
    language: str
    size: int | None
    redirect: str
    canonical: str
    duplicate_of: str
    copies: int
    crawls: int
    links: int
    indexed: bool
    words: int
    changed: str = ""
    reason: str = ""


class Others(NamedTuple):
    """Addresses with the same text now, those with nearly the same, and the representative of all."""

    alike: tuple[str, ...] = ()
    near: tuple[NearDuplicate, ...] = ()
    stands: str = ""


def editions(workspace: Workspace, url: str) -> tuple[list[Edition], Others]:
    """Return the versions of an address, and the addresses with the same or nearly the same text as the latest one."""
    related = Others()
    with summary_if_there(workspace) as summary:
        if summary is None:
            return [], related
        reader = Versions(summary)
        versions = reader.of(url)
        latest_version = versions[-1] if versions else None
        if latest_version is not None and latest_version.pile_id is not None and latest_version.end is None:
            near_duplicates, representative = reader.near(latest_version.id, _ALIKE)
            related = Others(
                tuple(reader.alike(latest_version.pile_id, url, _ALIKE)), tuple(near_duplicates), representative
            )
        changes, reasons = _describe_changes(reader, versions), reader.reasons(url)
    return [
        _make_edition(state, changes.get(state.id, ""), reasons.get(state.generation, "")) for state in versions
    ], related


def _describe_changes(reader: Versions, versions: Sequence[PageVersion]) -> dict[int, str]:
    latest_versions = versions[-_COMPARED:]
    states = [contents(reader, version) for version in latest_versions]
    descriptions = dict[int, str]()
    for (earlier, earlier_state), (version, state) in pairwise(zip(latest_versions, states, strict=True)):
        found_other = difference(earlier_state, state)
        descriptions[version.id] = str(found_other)
        if earlier.end is not None and earlier.end < version.first_seen:
            descriptions[version.id] = "there again" + (
                "" if found_other.nothing else f", with another content: {found_other}"
            )
    return descriptions


def contents(reader: Versions, version: PageVersion) -> State:
    """Return the contents of a version for a comparison."""
    text, rest = (
        reader.texts([version.pile_id]).get(version.pile_id, ("", "")) if version.pile_id is not None else ("", "")
    )
    texts = {
        "title": version.title, "headline": version.headline, "description": version.description,
        "language": version.language, "kind": version.kind,
        "redirect": version.redirect, "canonical": version.canonical,
        SIZE: None if version.pile_id is not None or version.size is None else f"{version.size:,} bytes",
    }  # fmt: skip
    return State(tuple((name, value or "") for name, value in texts.items()), text, rest)


def _make_edition(version: PageVersion, changed: str, reason: str) -> Edition:
    return Edition(
        str(UUID(bytes=version.uuid)),
        datetime.fromtimestamp(version.first_seen, UTC),
        datetime.fromtimestamp(version.last_seen, UTC),
        when(version.end),
        version.title or version.headline or "",
        version.kind or "",
        version.language or "",
        version.size,
        version.redirect or "",
        version.canonical or "",
        version.original or "",
        version.copies,
        version.crawls,
        version.links,
        version.indexed,
        version.words,
        changed,
        reason if version.pile_id is None else "",
    )


COLLECTION = "pages"
MOVED = "moved"


class VersionChange(NamedTuple):
    """A change at an address: its versions `before` and `after`; None if the page did not exist."""

    at: int
    kind: str
    before: PageVersion | None
    after: PageVersion | None


def changes(workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
    """Yield the pages that were added, changed in text or description, or removed, in any order."""
    sources = {host.origin: host.source for host in ledger.addresses.hosts(COLLECTION)}
    with summary_if_there(workspace) as summary:
        if summary is None:
            return
        reader = Versions(summary)
        start = int(window.since.timestamp()) if window.since else None if window.facts else 0
        for timeline in read_timelines(summary, since=start, sessions=window.facts or NO_NUMBERS):
            for change in page_changes(timeline):
                version = change.after or change.before
                assert version is not None
                yield SourceChange(
                    datetime.fromtimestamp(change.at, UTC),
                    sources.get(parts(timeline.url).origin, ""),
                    COLLECTION,
                    change.kind,
                    timeline.url,
                    version.title or version.headline or "",
                    _describe_change(reader, change),
                )


def page_changes(line: Timeline) -> Iterator[VersionChange]:
    """Yield the changes at an address within the window.

    A redirect is not a page: only changes between page and redirect are yielded. A page is gone when its version ends
    and no other begins at that time; its further absence is not a change.
    """
    previous: PageVersion | None = None
    for number, version in enumerate(line.versions):
        replaced = previous is not None and previous.end == version.first_seen
        if version.first_seen in line.visited:
            if replaced:
                yield VersionChange(version.first_seen, CHANGED, previous, version)
            elif version.redirect is None:
                yield VersionChange(version.first_seen, NEW, previous, version)
        following = line.versions[number + 1] if number + 1 < len(line.versions) else None
        ended = version.end is not None and (following is None or following.first_seen != version.end)
        if ended and version.end is not None and version.end in line.visited and version.redirect is None:
            yield VersionChange(version.end, GONE, version, None)
        previous = version


def _describe_change(reader: Versions, change: VersionChange) -> str:
    if change.kind == CHANGED and change.before is not None and change.after is not None:
        return str(difference(contents(reader, change.before), contents(reader, change.after)))
    if change.kind == NEW and change.before is not None and change.before.end is not None:
        return f"there again; it was gone on {datetime.fromtimestamp(change.before.end, UTC):%Y-%m-%d}"
    return ""


def outcomes(workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]) -> Counter[str]:
    """Count the outcomes of the attempts between two facts; files that were read count as ingested."""
    unread_name, ingested = (code.name.lower() for code in (ExitCode.FILE_OF_UNKNOWN_TYPE, ExitCode.FILE_INGESTED))
    with summary_if_there(workspace) as summary:
        if not counted[unread_name] or summary is None or not _is_read(summary, ledger, facts):
            return counted
        read = max(0, counted[unread_name] - count_ended_attempts(summary, facts, ExitCode.FILE_OF_UNKNOWN_TYPE))
    counts = counted.copy()
    counts.update({unread_name: -read, ingested: read})
    return +counts


def _is_read(summary: SqliteReader, ledger: Ledger, facts: tuple[int, int]) -> bool:
    return read_checkpoint(summary) >= min(facts[1], ledger.attempts.last_number())


def content(workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
    """Count the pages of each source that sessions between two facts added, changed or removed."""
    with summary_if_there(workspace) as summary:
        return {} if summary is None else _count_changes(ledger, read_timelines(summary, sessions=facts))


def content_of_attempts(
    workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
) -> Mapping[str, Counter[str]] | None:
    """Count the pages of each source that were added, changed, removed or moved, from the attempts between two facts.

    Return None if some of these attempts have not been read yet.
    """
    with summary_if_there(workspace) as summary:
        if summary is None or not _is_read(summary, ledger, facts):
            return None
        return _count_changes(ledger, read_timelines(summary, attempts=facts))


def _count_changes(ledger: Ledger, lines: Iterable[Timeline]) -> Mapping[str, Counter[str]]:
    sources = {host.origin: host.source for host in ledger.addresses.hosts(COLLECTION)}
    counts: dict[str, Counter[str]] = {name: Counter() for name in sources.values()}
    for line in lines:
        source = sources.get(parts(line.url).origin)
        if source is not None:
            counts[source].update(change.kind for change in page_changes(line))
            # a page may send its readers on by itself: it moved, though its answer is one of a page
            counts[source][MOVED] += sum(
                version.redirect is not None and version.kind is not None and version.first_seen in line.visited
                for version in line.versions
            )
    return counts


def compare(workspace: Workspace, what: str, since: str = "", until: str = "", *, context: int = 2) -> Comparison:
    """Compare a page as it was at the end of `since` with what it was at the end of `until`.

    Both are days, months, years or times, as in the search language. Without `until` it is the present version, without
    `since` the previous one. If the page was gone at such a time, its text is empty. Raises UsageError if one is not a
    time, WindrowError if the page does not have two versions.
    """
    url = address(what)
    if not url:
        raise UsageError(f"{what!r} is not an address of the web", hint="windrow diff https://...")
    with summaries(workspace) as summary:
        reader = Versions(summary)
        versions = reader.of(url)
        if not versions:
            raise WindrowError(f"no version of {url} is known", hint=f"windrow why {url}", reason=Reason.NOT_FOUND)
        new, new_gone = _version_at(versions, until, "--new")
        if since:
            old, old_gone = _version_at(versions, since, "--old")
        else:
            old, old_gone = (new if new_gone else versions[max(0, versions.index(new) - 1)]), None
        if (old, old_gone) == (new, new_gone) and not (since and until):
            raise WindrowError(f"{url} has had one version only", hint=f"windrow why {url}", reason=Reason.NOT_FOUND)
        changed = difference(
            State() if old_gone else contents(reader, old),
            State() if new_gone else contents(reader, new),
            context=context,
        )
    description = _describe_difference(old, old_gone, new, new_gone, changed)
    return Comparison(
        url, *_uuid_and_time(old), *_uuid_and_time(new), description, changed.changes, changed.added, changed.removed,
        changed.elsewhere, changed.lines, old_gone, new_gone,
    )  # fmt: skip


def _version_at(versions: list[PageVersion], text: str, option: str) -> tuple[PageVersion, datetime | None]:
    """Return the last version at the end of the period `text`, and the time since when it was gone, or None."""
    candidates = versions
    if text:
        period = span(text)
        if period is None:
            raise UsageError(
                f"{option}: {text!r} is not a day, month, year or time", hint="2026-11-21, 2026-11 or 2026"
            )
        candidates = [version for version in versions if version.first_seen < period.end]
        if not candidates:
            raise WindrowError(f"the page was not known yet at {text}", hint="windrow why URL", reason=Reason.NOT_FOUND)
    version = candidates[-1]
    is_gone = version.end is not None and not (text and period and version.end >= period.end)
    return version, when(version.end) if is_gone else None


def _describe_difference(
    old: PageVersion, old_gone: datetime | None, new: PageVersion, new_gone: datetime | None, changed: Difference
) -> str:
    """Describe the changes in a line; a page that was gone between the two versions "is there again"."""
    if old_gone and new_gone:
        return f"gone at both times, since {show(old_gone)} and since {show(new_gone)}"
    if new_gone:
        return f"gone since {show(new_gone)}; {changed}"
    if old_gone or (old is not new and old.end is not None and old.end < new.first_seen):
        return_message = f"there again; it was gone on {show(when(old.end))}"
        return return_message if changed.nothing else f"{return_message}; {changed}"
    return str(changed)


def _uuid_and_time(version: PageVersion) -> tuple[str, datetime]:
    return str(UUID(bytes=version.uuid)), datetime.fromtimestamp(version.first_seen, UTC)
