"""The history of a page or site as lines of text and as JSON messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from windrow.adapters.adapter import Explanation, Message
from windrow.adapters.takedown import takedown_line, unfinished_line
from windrow.caps import WHY_ENTRIES
from windrow.collections.pages.adapter.changes import Edition
from windrow.collections.pages.adapter.story import (
    PageState,
    SiteOrigin,
    SiteState,
    Tombstone,
    find_page,
    is_foreign,
    site_at,
    site_of,
)
from windrow.collections.pages.collection import COLLECTION
from windrow.config import Workspace
from windrow.formats.text import are, counted, show, spell_duration
from windrow.ledger import Ledger
from windrow.reasons import SUBSTITUTE_REASONS, Reason

_PDF = "application/pdf"
_INSTALL_HINT = "to read PDF, install the extra: pip install 'windrow[pdf]', then windrow replay"
_STATES = {
    "open": "present at the last request",
    "gone": "gone, or changed into something that is not kept",
    "waiting": "known, but not requested yet",
    "had": "fetched, but no version of it is kept",
    "cancelled": "not requested until windrow retry",
    "failing": "the last request failed, and no version of it is kept",
    "refused": "not requested",
    "forgotten": "taken down, and not requested again",
    "unknown": "may be requested, but no page or list of its source links to it (those of other sources do not count)",
}

_NAMED_AS_REASON = frozenset(("refused", "forgotten", "cancelled"))
"""States whose reason is not shown, because it has nearly the same name."""
_OPEN_BUT_FAILING = (
    "present at the last successful request, but later ones failed; a 410 or two 404s in a row mean that it is gone"
)


def explain(workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
    """Explain the page with the address `name`, or the site or host with this name; return None if there is none."""
    if not workspace.of(COLLECTION.name) and not ledger.addresses.hosts(COLLECTION.name):
        return None
    if name.endswith("/robots.txt") and (site := site_at(workspace, ledger, name)):
        return explain_site(site)
    if page_state := find_page(workspace, ledger, name):
        return explain_page(page_state)
    source = workspace.source(name)
    if source is not None:
        return explain_site(site_of(workspace, ledger, source)) if source.collection == COLLECTION.name else None
    site = site_at(workspace, ledger, name)
    return explain_site(site) if site else None


def explain_page(page_state: PageState) -> Explanation:
    """Convert the state of a page to JSON messages and lines of text."""
    fields = page_state._asdict()
    versions, events = fields.pop("versions"), fields.pop("events")
    messages = [Message("page", fields), *(Message("version", version) for version in versions)]
    messages += [Message("page_attempt", event, omit_empty=True) for event in events]
    return Explanation(page_state, tuple(messages), tuple(_describe_page(page_state)))


def explain_site(site: SiteState) -> Explanation:
    """Convert the state of a site to JSON messages and lines of text."""
    fields = site._asdict()
    origins = fields.pop("origins")
    messages = (Message("site", fields), *(Message("origin", origin) for origin in origins))
    return Explanation(site, messages, tuple(_describe_site(site)))


def _describe_discovery(page: PageState) -> Iterator[str]:
    if page.via:
        yield f"  found at {', found at '.join(page.via)}"
    elif page.events and all(is_foreign(event.warc) for event in page.events):
        yield "  it is known from WARC files from other tools"
    elif page.events or page.due is not None:
        yield "  it is a seed, or listed in a feed or sitemap"


def _describe_page(page: PageState) -> Iterator[str]:
    yield f"{page.url}" + (f" (page of {page.source})" if page.source else "")
    reason = f", {Reason(page.reason).meaning}" if page.reason and page.state not in _NAMED_AS_REASON else ""
    meaning = _OPEN_BUT_FAILING if page.state == "open" and page.failures else _STATES[page.state]
    yield f"  state: {page.state}; {meaning}{reason}"
    if page.rule:
        yield f"  not requested: {page.rule}"
    yield from _describe_discovery(page)
    if page.due is not None:
        interval = f", expected to change every {_format_duration(page.every)}" if page.every else ""
        failed = f", failed {counted(page.failures, 'time')} in a row" if page.failures else ""
        is_due_at_once = page.due.timestamp() <= 1
        due_time = "in the next run" if is_due_at_once else f"next {show(page.due)}"
        yield f"  due {due_time}{interval}{failed}"
    latest_edition = page.versions[-1] if page.versions else None
    if latest_edition:
        yield from _describe_index(latest_edition, page.alike)
    for near_duplicate in page.near:
        if near_duplicate.url in page.alike:
            continue
        yield f"  nearly the same text ({near_duplicate.similarity:.0%}) is at {near_duplicate.url}"
    if page.represented_by:
        yield f"  searches show {page.represented_by}, which represents this page and its other duplicates"
    yield from _describe_unfinished(page.tombstones)
    if lines := sorted(_yield_events(page), key=lambda line: (int(line[0].timestamp()), line[1])):
        yield ""
    yield from (f"{show(time)}  {text}" for time, _, text in lines)


def _yield_events(page: PageState) -> Iterator[tuple[datetime, int, str]]:
    """Yield (time, order within a second, line) for each attempt, version and takedown."""
    yield from ((event.at, 0, f"{event.event:<8} {event.message}") for event in page.events)
    for number, edition in enumerate(page.versions, 1):
        following = page.versions[number] if number < len(page.versions) else None
        yield edition.first_seen, 1, f"version  {number}: {_describe_edition(edition)}"
        if edition.changed:
            yield edition.first_seen, 2, f"changed  {edition.changed}"
        if edition.end is not None and (following is None or following.first_seen != edition.end):
            yield edition.end, 3, f"gone     version {number} ended; last seen {show(edition.last_seen)}"
    for tombstone in page.tombstones:
        yield tombstone.at, 4, f"forgotten {takedown_line(tombstone.target, tombstone.by, tombstone.reason)}"
        if tombstone.lifted:
            yield tombstone.lifted, 5, "lifted   it may be requested again"


def _describe_unfinished(tombstones: tuple[Tombstone, ...]) -> Iterator[str]:
    yield from (f"  {unfinished_line(tombstone.target)}" for tombstone in tombstones if tombstone.done is None)


def _format_duration(seconds: int) -> str:
    days = seconds / 86_400
    return f"{days:.1f} days".replace(".0 ", " ") if days >= 2 else spell_duration(seconds)


def _describe_index(edition: Edition, same_text: tuple[str, ...]) -> Iterator[str]:
    if edition.words or edition.indexed:
        yield (
            f"  its text can be searched for: {edition.words:,} different words"
            if edition.indexed
            else "  its text is not indexed yet"
        )
        if edition.reason:
            is_other_page = edition.reason in SUBSTITUTE_REASONS
            effect = "it is not the page that was requested" if is_other_page else "only a part of it was read"
            yield f"  {effect}: {Reason(edition.reason).meaning}"
        if edition.suspected:
            copies = counted(edition.copies, "other address")
            verb = "has" if edition.copies == 1 else "have"
            why = "which contains no word of this address, or replaced different texts"
            yield f"  it may be a soft 404: {copies} {verb} the same text, {why}"
        if edition.suspected or edition.reason == Reason.SOFT_404:
            yield "  searches leave it out; the filter is:soft-404 finds it"
    elif edition.reason:
        hint = f"; {_INSTALL_HINT}" if (edition.reason, edition.kind) == (Reason.UNSUPPORTED, _PDF) else ""
        yield f"  its text cannot be searched for: {Reason(edition.reason).meaning}{hint}"
    if edition.duplicate_of:
        yield f"  it is marked as a duplicate of {edition.duplicate_of}"
    if same_text:
        remainder = f", and {edition.copies - len(same_text):,} more" if edition.copies > len(same_text) else ""
        yield f"  the same text is at {', '.join(same_text)}{remainder}"
    if edition.canonical:
        yield f"  the page names {edition.canonical} as its canonical address"


def _describe_edition(edition: Edition) -> str:
    label = (
        f"redirects to {edition.redirect}"
        if edition.redirect
        else repr(edition.title)
        if edition.title
        else edition.kind or "no title"
    )
    crawls, links = counted(edition.crawls, "crawl"), counted(edition.links, "link")
    return f"{label}, seen by {crawls} until {show(edition.last_seen)}, {links}"


def _describe_site(site: SiteState) -> Iterator[str]:
    yield f"{site.name}" + (f" (a site with the seeds {', '.join(site.seeds)})" if site.seeds else "")
    counts = site.versions
    duplicates = f", of which {are(counts.duplicates)} marked as duplicates" if counts.duplicates else ""
    summary = f"{counted(counts.versions, 'version')} of {counted(counts.addresses, 'page')}"
    yield f"  {summary}; {are(counts.open)} present{duplicates}"
    for origin in site.origins[: WHY_ENTRIES.number]:
        yield from _describe_origin(origin)
    if (more := len(site.origins) - WHY_ENTRIES.number) > 0:
        yield f"and {counted(more, 'more origin')}: windrow why ORIGIN for one, --json for all"


def _describe_origin(origin: SiteOrigin) -> Iterator[str]:
    yield f"{origin.origin} (of the source {origin.source})"
    for tombstone in origin.tombstones:
        lifted = f", lifted {show(tombstone.lifted)}" if tombstone.lifted else ""
        yield f"  {show(tombstone.at)} {takedown_line(tombstone.target, tombstone.by, tombstone.reason)}{lifted}"
    yield from _describe_unfinished(origin.tombstones)
    numbers = f"{origin.pages:,} returned a body to windrow, {origin.failing:,} failed at the last request"
    yield f"  {counted(origin.addresses, 'address')}: {numbers}, {are(origin.due)} due"
    if origin.next_due is not None:
        yield f"  the next one is due {show(origin.next_due)}"
    if origin.robots:
        delay = f"; it sets a delay of {origin.delay:g} s between requests" if origin.delay is not None else ""
        yield f"  robots.txt: {origin.robots}{delay}"
    for outcome in origin.outcomes:
        is_failure = outcome.meaning or outcome.outcome >= "400"
        latest_address = f"; the latest: {outcome.latest}" if is_failure and outcome.latest else ""
        yield (
            f"  {outcome.attempts:>8,}  {outcome.outcome}"
            + (f": {outcome.meaning}" if outcome.meaning else "")
            + latest_address
        )
