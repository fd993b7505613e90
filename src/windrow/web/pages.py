"""What each page of the web view says: values, made from what the Python API returns, for HTML and JSON alike."""

from __future__ import annotations

import mimetypes
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import datetime
from io import BytesIO
from itertools import groupby, islice
from operator import attrgetter
from typing import BinaryIO, NamedTuple

from windrow.adapters.adapter import ALL_FACTS, CHANGED, GONE, NEW, Comparison, SourceChange
from windrow.adapters.search_answer import SearchAnswer
from windrow.app import Windrow
from windrow.app.captures import SessionEntry
from windrow.app.changes import identify, newest_changes
from windrow.app.session_details import SessionDetails, SourceRun
from windrow.app.session_progress import SessionProgress, running_session
from windrow.app.status import SourceState, WorkspaceState
from windrow.app.story import StoryAnswer
from windrow.app.summary import ReasonCount, SessionSummary
from windrow.caps import SHOWN_CAPTURE_BYTES, WEB_CHANGES, WEB_FEED_CHANGES, WEB_RESULTS
from windrow.content.charset import decode
from windrow.contract.registry import names
from windrow.errors import StepError, UsageError, WindrowError
from windrow.formats.http import CUT_BODY, decode_body
from windrow.formats.text import counted
from windrow.ledger.sessions import RuleCount
from windrow.model import Limits
from windrow.query.tree import is_time_prefix
from windrow.reasons import Reason
from windrow.web.query import Cursor, PageQuery
from windrow.web.steady import keep_steady

KINDS = (NEW, CHANGED, GONE)
DIFFERENCE_FORMS = ("lines", "sides")
_PAGE_LINES = 50  # on a page of changes, sessions or results
_LINES_SHOWN = 12  # changes on the first page, which links to all


class Attention(NamedTuple):
    """Something that needs a person: what it is about, what happened, and a command that helps.

    The subject is a source, a file, a collection or the workspace.
    `since` is the last good run of a source, or since when documents wait. `reasons` are names in the manual's list.
    """

    subject: str
    message: str
    since: datetime | None
    command: str
    reasons: tuple[str, ...] = ()


class TodayPage(NamedTuple):
    """The first page: what needs a person, what changed since a time by kind, the sources with their last runs.

    If `more`, there are further changes than `counts` has, which are the newest (`caps.WEB_CHANGES`).
    `progress` is that of the session that runs now, or None. `at` is the minute in which the page was made. `reasons`
    count what failed or was left out, `left_out` what rules and caps left out, and `undeclared` are sources that are
    not declared any more, all as `windrow status` has them.
    """

    at: datetime
    workspace: str
    holder: str
    last: SessionSummary | None
    since: datetime | None
    attention: tuple[Attention, ...]
    counts: Mapping[str, int]
    more: bool
    changes: tuple[SourceChange, ...]
    sources: tuple[SourceState, ...]
    runs: Mapping[str, tuple[SourceRun, ...]]
    progress: SessionProgress | None
    reasons: tuple[ReasonCount, ...]
    left_out: tuple[RuleCount, ...]
    undeclared: tuple[str, ...]


class ChangesPage(NamedTuple):
    """A page of changes, the newest first; `next` is the cursor of the next page.

    `total` is the number of changes on this and the following pages, or None if they were not all read
    (`caps.WEB_CHANGES`). `unreadable` says why the changes of a collection are left out. `looked_through` is the number
    of changes that were read, and `matching` of those that have the words. If there are older ones, `read_to` is the
    time of the last that was read.
    """

    since: datetime | None
    until: datetime | None
    total: int | None
    changes: tuple[SourceChange, ...]
    next: str
    unreadable: tuple[str, ...] = ()
    looked_through: int = 0
    matching: int = 0
    read_to: datetime | None = None


class SessionsPage(NamedTuple):
    """A page of sessions, the newest first; `next` is the number that the next page stays below, or None."""

    sessions: tuple[SessionEntry, ...]
    next: int | None


class SearchPage(NamedTuple):
    """The results of a search and their counts by facet; None without a query.

    If there is nothing to search yet, a note of the answer says how to begin, and it has no facets.
    """

    query: str
    asked: str  # with the day of `as_of`, if one was chosen
    collection: str
    as_of: str
    explain: bool
    answer: SearchAnswer | None


class CaptureFacts(NamedTuple):
    """A capture without its bytes. `decoded` is the size without content codings, None if they cannot be undone.

    If `cut`, only a part of the body can be decoded. `request` is the head of the request that was sent, or empty.
    """

    attempt: int
    at: datetime
    source: str
    url: str
    status: int | None
    size: int
    decoded: int | None
    digest: str
    warc: str
    offset: int
    length: int
    fields: Mapping[str, str]
    request: str
    cut: bool


class CaptureBytes(NamedTuple):
    """The bytes of a capture, without content codings if they can be undone, and a name for a file with them.

    If `cut`, only a part of the body can be decoded. `content_type` is what the answer said of itself.
    """

    content: bytes
    name: str
    size: int
    cut: bool = False
    content_type: str = ""


def read_status(workspace: Windrow) -> WorkspaceState:
    """Return the state of the sources, which is counted at most once a minute: it is asked for most often."""
    return keep_steady(workspace, "status", workspace.status)


class _NewestChanges(NamedTuple):
    counts: Mapping[str, int]  # by kind
    more: bool  # than these
    first: tuple[SourceChange, ...]


def _count_newest(workspace: Windrow, since: datetime | None) -> _NewestChanges:
    with workspace.open_ledger() as ledger:
        newest = newest_changes(workspace.config, ledger, since, unreadable={})  # the status says what cannot be read
        changes = [*islice(newest, WEB_CHANGES.number)]
        more = next(newest, None) is not None
    counts = {kind: sum(change.kind == kind for change in changes) for kind in KINDS}
    return _NewestChanges(counts, more, tuple(changes[:_LINES_SHOWN]))


def today(workspace: Windrow, query: PageQuery) -> TodayPage:
    """Return the first page; `since` chooses from when on changes are listed, by default one day ago."""
    state, since = read_status(workspace), query.time("since", "24h")
    with workspace.open_ledger() as ledger:
        progress = running_session(ledger) if state.holder else None
    if state.holder and progress is None:  # it ended since the state was read
        state = workspace.status()
    changes = keep_steady(workspace, f"newest {query.text('since')}", lambda: _count_newest(workspace, since))
    return TodayPage(
        query.now.replace(second=0, microsecond=0), state.workspace, state.holder, state.last, since,
        tuple(_find_attention(state)), *changes, state.sources,
        keep_steady(workspace, "runs", workspace.runs), progress,
        state.reasons, state.left_out, state.undeclared,
    )  # fmt: skip


def changes(workspace: Windrow, query: PageQuery) -> ChangesPage:
    """Return a page of the changes in a time, by default the last seven days, that pass all filters.

    The page begins after the line that the cursor names, so that it does not shift when new changes come. Of the
    changes from there on, only the first `caps.WEB_CHANGES` are read; if the words are in fewer than a page shows, the
    next page goes on behind them.
    """
    return keep_steady(workspace, f"changes {query}", lambda: _list_changes(workspace, query, WEB_CHANGES.number))


def feed(workspace: Windrow, query: PageQuery) -> ChangesPage:
    """Return a page of `changes` for a feed reader, which may ask for no other: it is full if more changes match.

    Of the changes, only the first `caps.WEB_FEED_CHANGES` are read.
    """
    most = WEB_FEED_CHANGES.number
    return keep_steady(workspace, f"feed {query}", lambda: _list_changes(workspace, query, most, is_counted=False))


def _list_changes(workspace: Windrow, query: PageQuery, most: int, *, is_counted: bool = True) -> ChangesPage:
    """Look through at most `most` changes or, unless `is_counted`, only until the page is full."""
    since, until = query.time("since", "7d"), query.time("until", "", is_end=True)
    collection, words = query.choice("collection", names()), query.text("q").casefold().split()
    unreadable: dict[str, str] = {}
    source, kind, cursor = query.text("source"), query.choice("kind", KINDS), query.cursor()
    matching: list[SourceChange] = []
    looked_through, end = 0, None
    with workspace.open_ledger() as ledger:
        newest = newest_changes(
            workspace.config, ledger, since, source=source, kind=kind, only=collection,
            upto=cursor.fact if cursor else ALL_FACTS[1], until=until, unreadable=unreadable,
        )  # fmt: skip
        after = _skip_shown(newest, cursor) if cursor else newest
        for change in islice(after, most):
            looked_through, end = looked_through + 1, change
            if all(word in f"{change.key} {change.title} {change.difference}".casefold() for word in words):
                matching.append(change)
                if len(matching) > _PAGE_LINES and not is_counted:
                    break
        is_all = next(after, None) is None
    page = matching[:_PAGE_LINES]
    last = page[-1] if len(matching) > len(page) else None if is_all else end
    return ChangesPage(
        since, until, len(matching) if is_all else None, tuple(page),
        str(Cursor(last.fact, _shorten(last))) if last else "",
        tuple(f"{name}: {why}" for name, why in unreadable.items()), looked_through, len(matching),
        None if is_all or end is None else end.at,
    )  # fmt: skip


def _skip_shown(newest: Iterable[SourceChange], cursor: Cursor) -> Iterator[SourceChange]:
    """Yield the changes after the one that a cursor names; if that was removed, all that its fact shows are yielded."""
    for fact, group in groupby(newest, key=attrgetter("fact")):
        if fact == cursor.fact:
            changes_of_fact = [*group]
            digests = [_shorten(change) for change in changes_of_fact]
            shown = digests.index(cursor.digest) + 1 if cursor.digest in digests else 0
            yield from changes_of_fact[shown:]
        else:
            yield from group


def _shorten(change: SourceChange) -> str:
    """Return the end of a change's digest, which tells it apart from the few others of its fact."""
    return identify(change)[-16:]


def read_identity(workspace: Windrow) -> int:
    """Return the identity of the workspace's ledger, by which a feed differs from that of another of the same name."""
    with workspace.open_ledger() as ledger:
        return ledger.sessions.identity()


def difference(workspace: Windrow, query: PageQuery) -> Comparison:
    """Return how two versions of the page or record `name` differ, by default the last two.

    On the page, the lines are one below the other or, in the form `sides`, side by side.
    """
    query.choice("form", DIFFERENCE_FORMS)
    return workspace.diff(_needed(query, "name"), query.text("old"), query.text("new"), context=3)


def why(workspace: Windrow, query: PageQuery) -> StoryAnswer:
    """Return the story of `name`: an address, a file, a record, a source or a session."""
    return workspace.why(_needed(query, "name"))


def _needed(query: PageQuery, name: str) -> str:
    if text := query.text(name):
        return text
    raise UsageError(f"{name} is empty: give an address, a file, a record or a source")


def sessions(workspace: Windrow, query: PageQuery) -> SessionsPage:
    """Return a page of sessions, those before the session `before` if that is given."""
    found = workspace.sessions(before=query.number("before", 0, 10**9) or None, limit=_PAGE_LINES + 1)
    page = tuple(found[:_PAGE_LINES])
    return SessionsPage(page, page[-1].session if len(found) > len(page) else None)


def session(workspace: Windrow, number: int) -> SessionDetails:
    """Return what one session did; raise WindrowError if there is none with this number."""
    return keep_steady(workspace, f"session {number}", lambda: workspace.session(number), lasts=lasts)


def lasts(value: object) -> bool:
    """Return whether a page's value is the same until the next fact: not if a store that it needs was not there."""
    return not (isinstance(value, SessionDetails) and value.summary.problems)


def search(workspace: Windrow, query: PageQuery) -> SearchPage:
    """Return a page of results of the query `q`, in all collections or one, as they are now or were on a day."""
    text, collection, as_of = query.text("q"), query.text("collection"), query.text("as_of")
    if as_of and not is_time_prefix(as_of) and (time := query.time("as_of", "")):  # such as yesterday, or 7d
        as_of = f"{time:%Y-%m-%d}" if as_of in {"today", "yesterday"} else f"{time:%Y-%m-%dT%H:%M:%S}"
    explain = query.choice("explain", ("1",)) == "1"
    asked = f"{text} as-of:{as_of}" if as_of and text else text
    if not text:
        return SearchPage(text, asked, collection, as_of, explain, None)
    offset = query.number("offset", 0, WEB_RESULTS.number)
    try:
        answer = workspace.search(
            asked, collection=collection or (), offset=offset, limit=10, explain=explain, facets=True
        )
    except WindrowError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        answer = SearchAnswer(asked, offset, (), (f"{error}; to begin: {error.hint}",), further=False, relaxed=False)
    return SearchPage(text, asked, collection, as_of, explain, answer)


def capture(workspace: Windrow, attempt: int) -> CaptureFacts:
    """Return what is known of the capture that an attempt kept."""
    kept = workspace.capture(attempt)
    with kept.body:
        size: int | None = kept.size
        is_cut = False
        if _is_coded(kept.fields):
            try:
                content, is_cut = _decode(kept.body.read(), kept.fields)
                size = len(content)
            except StepError:
                size = None
        return CaptureFacts(*kept[:6], size, *kept[6:11], kept.request, cut=is_cut)


def capture_bytes(workspace: Windrow, attempt: int, most: int | None) -> CaptureBytes:
    """Return the bytes of a capture, at most the first `most`."""
    kept = workspace.capture(attempt)
    with kept.body:
        content_type = kept.fields.get("content-type", "")
        name = f"capture-{attempt}{_suffix(content_type)}"
        if not _is_coded(kept.fields):
            content = kept.body.read(-1 if most is None else most)
            return CaptureBytes(content, name, kept.size, content_type=content_type)
        content, is_cut = kept.body.read(), False
        try:
            content, is_cut = _decode(content, kept.fields)
        except StepError:  # it is given as it came
            name = f"capture-{attempt}.coded"
        return CaptureBytes(content[:most], name, len(content), is_cut, content_type)


class Download(NamedTuple):
    """A capture to store: a name for its file, its size in bytes, and a generator of its bytes in pieces."""

    name: str
    size: int
    pieces: Generator[bytes]


def open_download(workspace: Windrow, attempt: int) -> Download:
    """Open a capture; only one with a content coding, which is undone, is in memory as a whole."""
    kept = workspace.capture(attempt)
    if not _is_coded(kept.fields):
        name = f"capture-{attempt}{_suffix(kept.fields.get('content-type', ''))}"
        return Download(name, kept.size, _read_pieces(kept.body))
    kept.body.close()
    found = capture_bytes(workspace, attempt, None)
    return Download(found.name, found.size, _read_pieces(BytesIO(found.content)))


def _read_pieces(body: BinaryIO) -> Generator[bytes]:
    with body:
        while piece := body.read(1 << 18):
            yield piece


def shown_text(workspace: Windrow, attempt: int) -> str:
    """Return the start of a capture as text, with a last line that says if it is not all."""
    found = capture_bytes(workspace, attempt, SHOWN_CAPTURE_BYTES.number)
    text = decode(found.content, found.content_type).text
    if found.size > len(found.content):
        text += (
            f"\n\n[windrow: the first {len(found.content):,} of {counted(found.size, 'byte')}; the download has all]\n"
        )
    if found.cut:
        text += f"\n\n[windrow: {CUT_BODY}]\n"
    return text


def _is_coded(fields: Mapping[str, str]) -> bool:
    return bool(fields.get("content-encoding") or fields.get("transfer-encoding"))


def _decode(body: bytes, fields: Mapping[str, str]) -> tuple[bytes, bool]:
    limits = Limits()
    return decode_body(body, fields, most=limits.member_size, ratio=limits.ratio)


def _suffix(content_type: str) -> str:
    """Return a file name's suffix for a media type; `.txt` for pages, which a browser would open as pages.

    >>> _suffix("application/pdf"), _suffix("text/html; charset=utf-8"), _suffix("?")
    ('.pdf', '.txt', '.bin')
    """
    kind = content_type.partition(";")[0].strip().lower()
    active = ("html", "xml", "svg", "script")
    return ".txt" if any(word in kind for word in active) else mimetypes.guess_extension(kind) or ".bin"


def _find_attention(state: WorkspaceState) -> list[Attention]:
    """Return what needs a person, sources first."""
    entries = [
        Attention(
            source.source, _describe_source(source), source.last_good, f"windrow why {source.source}",
            tuple(each.reason for each in source.reasons),
        )
        for source in state.sources
        if source.error or source.failed
    ]  # fmt: skip
    problems = (*state.problems, *state.errors, *(state.last.other_errors if state.last else ()))
    entries += [Attention("workspace", problem, None, "windrow status") for problem in problems]
    entries += [Attention("workspace", f"not counted: {why}", None, "windrow check") for why in state.not_counted]
    for count in state.unread:
        phase = "" if count.phase == "read" else f" by {count.phase}"
        text = f"{counted(count.documents, 'document')} not read{phase}: {count.reason.meaning}"
        command = f"windrow retry --reason {count.reason}"
        entries.append(Attention(count.collection, text, None, command, (count.reason,)))
    entries += [Attention(wait.collection, wait.describe(), wait.since, wait.command) for wait in state.waits]
    entries += [Attention(file.key, file.message, None, f"windrow why {file.key}") for file in state.differing]
    for resting in state.resting:
        text = f"failed in {counted(resting.sessions, 'session')} in a row: {resting.reason.meaning}"
        entries.append(Attention(resting.key, text, None, f"windrow retry {resting.key}", (resting.reason,)))
    for reason in state.not_read:
        text = f"{counted(reason.items, 'document')} not read: {reason.meaning}"
        entries.append(Attention("workspace", text, None, "windrow status", (reason.reason,)))
    return entries


def _describe_source(source: SourceState) -> str:
    failed = f"{counted(source.failed, 'item')} failed" if source.failed else ""
    several = len(source.reasons) > 1
    meanings = "; ".join(f"{each.meaning}{f' ({each.items:,})' if several else ''}" for each in source.reasons)
    if sum(each.items for each in source.reasons) > source.failed:  # a zip counts for each reason of its documents
        meanings += "; some failed for several reasons"
    return "; ".join(filter(None, (source.error, ": ".join(filter(None, (failed, meanings))))))
