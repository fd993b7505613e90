"""Changes to pages: versions that began or ended, what changed between them, and comparisons of two versions."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil
from typing import NamedTuple
from uuid import UUID

from windrow.adapters.adapter import CHANGED, GONE, NEW, Comparison, SourceChange, Window
from windrow.clock import from_unix_time
from windrow.collections.pages.adapter.lookup import open_existing_summary, open_summary
from windrow.collections.pages.adapter.page_sources import COLLECTION, PageSources
from windrow.collections.pages.adapter.spelling import spell_address
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.database.integrity import read_checkpoint
from windrow.collections.pages.database.page_versions import (
    NO_NUMBERS,
    NearDuplicate,
    PageVersion,
    Period,
    Timeline,
    VersionReader,
    count_ended_attempts,
    count_unread_documents,
    read_timelines,
)
from windrow.collections.pages.database.page_versions import (
    first_of_newest as find_first_of_newest,
)
from windrow.collections.pages.difference import SIZE, Difference, VersionContents, compare_versions
from windrow.config import Workspace
from windrow.errors import UsageError, WindrowError
from windrow.formats.text import show
from windrow.formats.url import describe_bad_address
from windrow.ledger import Ledger
from windrow.model import DiffLine
from windrow.query.tree import read_time_span
from windrow.reasons import OWN_FAULTS, Reason
from windrow.stores.sqlite import SqliteReader

_MAX_COMPARED_VERSIONS = 100
"""The maximum number of versions of an address that are compared. Older versions are not compared."""
_MAX_LISTED_COPIES = 5
"""The maximum number of addresses that are listed for the same text, and for nearly the same text."""


class Edition(NamedTuple):
    """A version of a page. `changed` describes in one line the changes since the previous version.

    `end` is the time when the page was found to be gone or changed, or None if the version is still present. `kind` is
    the media type, `size` is in bytes, and `redirect` is the target of a redirect. `duplicate_of` is the address of the
    original if the version is marked as a duplicate. `copies` is the number of other addresses that have the same text
    now. `indexed` tells whether the text can be searched for; `words` is the number of different words in the text.
    `reason` is why the version has no text or only a part of it, or why it is not the page that was requested;
    otherwise it is empty. `suspected` tells whether the version is present and suspected of being a soft 404.
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
    suspected: bool = False


class RelatedPages(NamedTuple):
    """The pages that now have the same text as a page, or nearly the same text.

    `representative` is the address of the page that searches show for all of them. It is empty if the page itself is
    the representative, or if there is none.
    """

    same_text: tuple[str, ...] = ()
    near_duplicates: tuple[NearDuplicate, ...] = ()
    representative: str = ""


def read_editions(workspace: Workspace, url: str) -> tuple[list[Edition], RelatedPages, dict[int, str]]:
    """Return the versions of an address, oldest first, its related pages, and why answers are no documents, by attempt.

    The related pages are empty unless the address has a text now.
    """
    related = RelatedPages()
    suspected_id = 0
    with open_existing_summary(workspace) as summary:
        if summary is None:
            return [], related, {}
        reader = VersionReader(summary)
        versions = reader.read_versions(url)
        latest_version = versions[-1] if versions else None
        if latest_version is not None and latest_version.pile_id is not None and latest_version.end is None:
            copies = reader.list_copies(latest_version.pile_id, url, _MAX_LISTED_COPIES)
            near_duplicates, representative = reader.find_near_duplicates(latest_version.id, _MAX_LISTED_COPIES)
            related = RelatedPages(tuple(copies), tuple(near_duplicates), representative)
            if reader.is_suspected(latest_version):
                suspected_id = latest_version.id
        changes = _describe_changes(reader, versions)
        reasons, reasons_of_attempts = reader.read_reasons(url)
    editions = [
        _make_edition(version, changes.get(version.id, ""), reasons.get(version.generation, ""))._replace(
            suspected=version.id == suspected_id
        )
        for version in versions
    ]
    return editions, related, reasons_of_attempts


def _describe_changes(reader: VersionReader, versions: Sequence[PageVersion]) -> dict[int, str]:
    """Return a dict from the id of a version to a description of how it differs from the version before it.

    Only the last `_MAX_COMPARED_VERSIONS` versions are compared. The first of them has no description.
    """
    latest_versions = versions[-_MAX_COMPARED_VERSIONS:]
    all_contents = [_read_contents(reader, version) for version in latest_versions]
    descriptions = dict[int, str]()
    for (previous, old_contents), (version, contents) in pairwise(zip(latest_versions, all_contents, strict=True)):
        difference = compare_versions(old_contents, contents)
        descriptions[version.id] = str(difference)
        if previous.end is not None and previous.end < version.first_seen:
            descriptions[version.id] = "present again" + (
                "" if difference.is_empty else f", with other content: {difference}"
            )
    return descriptions


def _read_contents(reader: VersionReader, version: PageVersion) -> VersionContents:
    text, other_text = "", ""
    if version.pile_id is not None:
        text, other_text = reader.read_texts([version.pile_id]).get(version.pile_id, ("", ""))
    short_texts = {
        "title": version.title, "headline": version.headline, "description": version.description,
        "language": version.language, "kind": version.kind,
        "redirect": version.redirect, "canonical": version.canonical,
        SIZE: None if version.pile_id is not None or version.size is None else f"{version.size:,} bytes",
    }  # fmt: skip
    return VersionContents(
        tuple((name, short_text or "") for name, short_text in short_texts.items()), text, other_text
    )


def _make_edition(version: PageVersion, changed: str, reason: str) -> Edition:
    return Edition(
        generation=str(UUID(bytes=version.uuid)), first_seen=datetime.fromtimestamp(version.first_seen, UTC),
        last_seen=datetime.fromtimestamp(version.last_seen, UTC), end=from_unix_time(version.end),
        title=version.title or version.headline or "", kind=version.kind or "", language=version.language or "",
        size=version.size, redirect=version.redirect or "", canonical=version.canonical or "",
        duplicate_of=version.original or "", copies=version.copy_count, crawls=version.crawl_count,
        links=version.link_count, indexed=version.is_indexed, words=version.word_count, changed=changed, reason=reason,
    )  # fmt: skip


MOVED = "moved"


class VersionChange(NamedTuple):
    """A change at an address at the time `changed_at` (UNIX seconds), which an `attempt` found.

    `kind` is NEW, CHANGED or GONE. `before` and `after` are the versions before and after the change. `before` is None
    for the first version; `after` is None for a page that is gone.
    """

    attempt: int
    changed_at: int
    kind: str
    before: PageVersion | None
    after: PageVersion | None


def changes(workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
    """Yield the new, changed and gone pages in a window, in any order."""
    sources = PageSources(workspace, ledger)
    with open_existing_summary(workspace) as summary:
        if summary is None:
            return
        reader = VersionReader(summary)
        period, sessions = _limits_of(window)
        for timeline in read_timelines(summary, period=period, sessions=sessions, shown_by=window.shown_by):
            source = sources.of_page(timeline.url)
            for change in find_page_changes(timeline) if window.source in {"", source} else ():
                version = change.after or change.before
                assert version is not None
                description, lines = _describe_change(reader, change)
                yield SourceChange(
                    datetime.fromtimestamp(change.changed_at, UTC),
                    source,
                    COLLECTION,
                    change.kind,
                    timeline.url,
                    version.title or version.headline or "",
                    description,
                    lines=lines if window.lines else (),
                    fact=change.attempt,
                )


def first_of_newest(workspace: Workspace, window: Window, most: int) -> int:
    """Return the first of the last `most` attempts that may show changes in a window, or 0 if there are fewer."""
    with open_existing_summary(workspace) as summary:
        return find_first_of_newest(summary, *_limits_of(window), window.shown_by, most) if summary else 0


def _limits_of(window: Window) -> tuple[Period, tuple[int, int]]:
    """Return in which period and by which sessions changes are selected."""
    since = int(window.since.timestamp()) if window.since else None
    if since is None and not window.facts:
        since = 0  # a window without limits contains all attempts
    until = ceil(window.until.timestamp()) if window.until else None  # changes have whole seconds
    return (since, until), window.facts or NO_NUMBERS


def find_page_changes(timeline: Timeline) -> Iterator[VersionChange]:
    """Yield the changes that the selected attempts at an address found (`timeline.visits`).

    A redirect that begins or ends is only yielded if it replaces another version or another version replaces it. A page
    with a refresh to another page is a page, and not a redirect. A page is gone when its version ends and no other
    version begins at that time.
    """
    previous: PageVersion | None = None
    for number, version in enumerate(timeline.versions):
        is_replacement = previous is not None and previous.end == version.first_seen
        is_page = version.redirect is None or version.kind is not None
        if attempt := timeline.visits.get((version.first_seen, version.generation)):
            if is_replacement:
                yield VersionChange(attempt, version.first_seen, CHANGED, previous, version)
            elif is_page:
                yield VersionChange(attempt, version.first_seen, NEW, previous, version)
        following = timeline.versions[number + 1] if number + 1 < len(timeline.versions) else None
        is_gone = version.end is not None and (following is None or following.first_seen != version.end)
        if is_gone and version.end is not None and is_page and (attempt := timeline.visits.get((version.end, None))):
            yield VersionChange(attempt, version.end, GONE, version, None)
        previous = version


def _describe_change(reader: VersionReader, change: VersionChange) -> tuple[str, tuple[DiffLine, ...]]:
    """Return a description of a change in one line, which may be empty, and the changed lines of the main text."""
    if change.kind == CHANGED and change.before is not None and change.after is not None:
        contents = (_read_contents(reader, version) for version in (change.before, change.after))
        difference = compare_versions(*contents, context=0)
        return str(difference), difference.lines
    if change.kind == NEW and change.before is not None and change.before.end is not None:
        gone_since = datetime.fromtimestamp(change.before.end, UTC)
        return f"present again; it had been gone since {gone_since:%Y-%m-%d}", ()
    return "", ()


def outcomes(workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]) -> Counter[str]:
    """Return the number of attempts with each exit code, corrected after their files were read.

    `counted` has the numbers before the correction. A file of an unknown type from which a text was read counts as
    ingested. `facts` are the numbers of the first and the last attempt. Returns `counted` unchanged if the Summary
    Database does not contain all these attempts.
    """
    unknown_type, ingested = (code.name.lower() for code in (ExitCode.FILE_OF_UNKNOWN_TYPE, ExitCode.FILE_INGESTED))
    with open_existing_summary(workspace) as summary:
        if not counted[unknown_type] or summary is None or not _has_read_all(summary, ledger, facts):
            return counted
        unread_count = count_ended_attempts(summary, facts, ExitCode.FILE_OF_UNKNOWN_TYPE)
        read_count = max(0, counted[unknown_type] - unread_count)
    corrected = counted.copy()
    corrected.update({unknown_type: -read_count, ingested: read_count})
    return +corrected


def _has_read_all(summary: SqliteReader, ledger: Ledger, facts: tuple[int, int]) -> bool:
    return read_checkpoint(summary) >= min(facts[1], ledger.attempts.last_number())


def content(workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
    """Return a dict from each source to the numbers of its new, changed, gone and moved pages that sessions wrote.

    `facts` are the numbers of the first and the last session. The result is empty if there is no Summary Database.
    """
    with open_existing_summary(workspace) as summary:
        if summary is None:
            return {}
        return _count_changes(PageSources(workspace, ledger), read_timelines(summary, sessions=facts))


def content_of_attempts(
    workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
) -> Mapping[str, Counter[str]] | None:
    """Return a dict from each source to the numbers of its new, changed, gone and moved pages that attempts found.

    `facts` are the numbers of the first and the last attempt. Returns None if some of the attempts have not been read
    yet, or if there is no Summary Database.
    """
    with open_existing_summary(workspace) as summary:
        if summary is None or not _has_read_all(summary, ledger, facts):
            return None
        return _count_changes(PageSources(workspace, ledger), read_timelines(summary, attempts=facts))


def count_skipped(workspace: Workspace, facts: tuple[int, int] | None) -> Mapping[str, int]:
    """Return the number of present documents for each reason.

    A reason tells why a document has no text or only a part of it, or why it is not the one that was requested. Reasons
    in OWN_FAULTS are left out: other counts have them. The result is empty if `facts` is not None, because a session
    reports these documents as left out.
    """
    if facts is not None:
        return {}
    with open_existing_summary(workspace) as summary:
        counts = count_unread_documents(summary) if summary is not None else {}
    return {reason: number for reason, number in counts.items() if reason not in OWN_FAULTS}


def _count_changes(sources: PageSources, timelines: Iterable[Timeline]) -> Mapping[str, Counter[str]]:
    """Return a dict from each source to the number of its changes of each kind.

    A version that is a page with a refresh to another page counts as NEW or CHANGED, and also as MOVED, when it begins.
    Pages whose origin has no source are left out.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in sources.names()}
    for timeline in timelines:
        if source := sources.of_page(timeline.url):
            counts[source].update(change.kind for change in find_page_changes(timeline))
            counts[source][MOVED] += sum(
                version.redirect is not None
                and version.kind is not None
                and (version.first_seen, version.generation) in timeline.visits
                for version in timeline.versions
            )
    return counts


def compare(workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Comparison | None:
    """Compare the version of a page at the end of `since` with its version at the end of `until`.

    `name` is the address; `since` and `until` are days, months, years or times, as in the search language. If `until`
    is empty, the latest version is used. If `since` is empty, the version before the other one is used or, if the page
    was gone at the end of `until`, its last version. A page that was gone counts as empty. Returns None for an unknown
    page. Raises UsageError for an invalid address, and WindrowError if there are no pages yet, if the page was not
    known yet at one of the times, or if the two versions are the same, unless both times were given.
    """
    url = spell_address(workspace, name)
    if not url:
        raise UsageError(describe_bad_address(name), hint="windrow diff https://...")
    with open_summary(workspace) as summary:
        reader = VersionReader(summary)
        versions = reader.read_versions(url)
        if not versions:
            return None
        new, new_gone = _version_at(url, versions, until)
        if since:
            old, old_gone = _version_at(url, versions, since)
        else:
            previous = versions[max(0, versions.index(new) - 1)]
            old, old_gone = (new if new_gone else previous), None
        if (old, old_gone) == (new, new_gone) and not (since and until):
            period = f"up to {until}" if until else "so far"
            problem = f"has not changed since {since}" if since else f"has only one version {period}"
            raise WindrowError(f"{url} {problem}", hint=f"windrow why {shlex.quote(url)}", reason=Reason.NOT_FOUND)
        difference = compare_versions(
            VersionContents() if old_gone else _read_contents(reader, old),
            VersionContents() if new_gone else _read_contents(reader, new),
            context=context,
        )
    description = _describe_difference(old, old_gone, new, new_gone, difference)
    return Comparison(
        url, *_uuid_and_time(old), *_uuid_and_time(new), description, difference.changes, difference.added,
        difference.removed, difference.elsewhere, difference.lines, old_gone, new_gone,
    )  # fmt: skip


def _version_at(url: str, versions: list[PageVersion], text: str) -> tuple[PageVersion, datetime | None]:
    """Return the last version that began before the end of a period, and its end if it had ended by then, else None.

    `text` is the period, or empty for the latest version. Raises WindrowError if no version began before the end of the
    period.
    """
    candidates = versions
    if text:
        period = read_time_span(text)
        candidates = [version for version in versions if period is None or version.first_seen < period.end]
        if not candidates:
            message = f"{url} was not known yet at the end of {text}"
            raise WindrowError(message, hint=f"windrow why {shlex.quote(url)}", reason=Reason.NOT_FOUND)
    version = candidates[-1]
    is_gone = version.end is not None and not (text and period and version.end >= period.end)
    return version, from_unix_time(version.end) if is_gone else None


def _describe_difference(
    old: PageVersion, old_gone: datetime | None, new: PageVersion, new_gone: datetime | None, difference: Difference
) -> str:
    """Describe a difference in one line; `old_gone` and `new_gone` are the times that `_version_at` returned."""
    if old_gone and new_gone:
        return f"gone at both times, since {show(old_gone)} and since {show(new_gone)}"
    if new_gone:
        return f"gone since {show(new_gone)}; {difference}"
    if old_gone or (old is not new and old.end is not None and old.end < new.first_seen):
        message = f"present again; it had been gone since {show(from_unix_time(old.end))}"
        return message if difference.is_empty else f"{message}; {difference}"
    return str(difference)


def _uuid_and_time(version: PageVersion) -> tuple[str, datetime]:
    return str(UUID(bytes=version.uuid)), datetime.fromtimestamp(version.first_seen, UTC)
