"""The history and the present state of a page or site, as values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

from windrow.archive.import_file import IMPORTED_FOLDER
from windrow.clock import from_unix_time, now
from windrow.collections.pages.adapter.changes import Edition, read_editions
from windrow.collections.pages.adapter.harvest import find_robots_in_force, judge_address
from windrow.collections.pages.adapter.lookup import open_existing_summary
from windrow.collections.pages.adapter.spelling import spell_address
from windrow.collections.pages.code import ASSET, CrawlType
from windrow.collections.pages.database.page_versions import NearDuplicate, OriginCounts, VersionReader
from windrow.config import Workspace
from windrow.digest import hash64, shorten_digest
from windrow.fetch.politeness.robots_state import RobotsState
from windrow.formats.text import counted
from windrow.ledger import ELSEWHERE, Ledger
from windrow.ledger.typed.addresses import AddressRow, HostState
from windrow.ledger.typed.attempts import AttemptRow
from windrow.model import Source
from windrow.reasons import Reason, reason_of_status

_HTTP_ERROR = 400
"""The lowest HTTP status of an error."""
COLLECTION = "pages"
_MAX_CHAIN = 20
"""The maximum number of addresses in `PageState.via`."""


class PageAttempt(NamedTuple):
    """One attempt at a page. `message` describes its outcome and its place in the archive. Sizes are in bytes."""

    at: datetime
    number: int
    session: int
    event: str
    message: str
    status: int | None = None
    reason: str = ""
    seconds: float | None = None
    size: int | None = None
    digest: str = ""
    warc: str = ""
    offset: int | None = None
    length: int | None = None
    location: str = ""


class Tombstone(NamedTuple):
    """The takedown of `target`, which is a page or its whole origin: ordered at the time `at` by the process `by`.

    `done` is the time when everything had been removed, or None if something is left to remove. `lifted` is the time
    from which the target may be requested again, or None if it may not.
    """

    at: datetime
    target: str
    by: str
    reason: str
    done: datetime | None
    lifted: datetime | None


class PageState(NamedTuple):
    """A page and its state.

    `state` is open (present at the last successful request), gone, waiting (not requested yet), had (fetched, but
    without a version: for example an image, a list of addresses, or not summarised yet), failing, cancelled, refused,
    forgotten (taken down) or unknown. `rule` describes the rule that refuses the address now, or is empty. `via` are
    the addresses that led to the page, at most 20: first the one at which the page was found, then back to the seed.
    `alike` are the addresses with the same text now, `near` are the addresses with nearly the same text, and
    `represented_by` is their representative. `due` is the time of the next request, `every` is the number of seconds
    after which the page is expected to change.
    """

    url: str
    source: str
    state: str
    reason: str
    rule: str
    via: tuple[str, ...]
    due: datetime | None
    every: int | None
    failures: int
    alike: tuple[str, ...]
    near: tuple[NearDuplicate, ...]
    represented_by: str
    tombstones: tuple[Tombstone, ...]
    versions: tuple[Edition, ...]
    events: tuple[PageAttempt, ...]


def find_page(workspace: Workspace, ledger: Ledger, text: str) -> PageState | None:
    """Return the state of a page, or None if `text` is not a web address, or is neither known nor on a site."""
    if not (url := spell_address(workspace, text)):
        return None
    address_rows = [row for row in ledger.addresses.of_sources(COLLECTION, hash64(url)) if row.url == url]
    judgement = judge_address(workspace, ledger, url, {row.source: row.kind for row in address_rows})
    last_row = address_rows[0] if address_rows else None
    address_row = next((row for row in address_rows if row.source == judgement.source), last_row)
    versions, related, reasons = read_editions(workspace, url)
    if address_row is None and not versions and not judgement.source:
        return None
    attempts: list[PageAttempt] = []
    if address_rows:
        numbers = ledger.sessions.numbers()  # the numbers of sessions as shown to users
        of_all_sources = (ledger.attempts.of_address(row.host, row.digest) for row in address_rows)
        attempts = [
            _make_attempt(attempt, reasons.get(attempt.seq, ""))._replace(
                session=numbers.get(attempt.session, attempt.session)
            )
            for attempt in merge(*of_all_sources, key=attrgetter("seq"))
        ]
    tombstones = _read_tombstones(ledger, hash64(url), address_row.host) if address_row else ()
    state, reason = _find_state(address_row, attempts, versions, judgement.reason)
    if any(tombstone.lifted is None for tombstone in tombstones):
        state, reason = "forgotten", Reason.FORGOTTEN
    elif address_row is not None and address_row.due is None and address_row.interval != ELSEWHERE:
        state, reason = "cancelled", Reason.CANCELLED
    return PageState(
        url=url, source=address_row.source if address_row else judgement.source, state=state, reason=reason,
        rule=judgement.rule if judgement.reason else "", via=tuple(_yield_chain(ledger, address_row)),
        due=from_unix_time(address_row.due) if address_row and address_row.due else None,
        every=address_row.interval if address_row and address_row.interval > 0 else None,
        failures=address_row.failures if address_row else 0,
        alike=related.same_text, near=related.near_duplicates, represented_by=related.representative,
        tombstones=tombstones, versions=tuple(versions), events=tuple(attempts),
    )  # fmt: skip


def _read_tombstones(ledger: Ledger, url_hash: int, host_number: int) -> tuple[Tombstone, ...]:
    return tuple(
        Tombstone(takedown.at, takedown.target, takedown.holder, takedown.reason, takedown.done, takedown.lifted)
        for takedown in ledger.takedowns.of(url_hash, host_number)
    )


def _yield_chain(ledger: Ledger, address_row: AddressRow | None) -> Iterable[str]:
    """Yield the address at which an address was found, and so on back to the seed, at most `_MAX_CHAIN` addresses."""
    seen_ids: set[int] = set()
    while (
        address_row is not None and address_row.via and address_row.via not in seen_ids and len(seen_ids) < _MAX_CHAIN
    ):
        if address_row.via_url is not None:
            yield address_row.via_url
        seen_ids.add(address_row.via)
        address_row = ledger.addresses.get(COLLECTION, address_row.via)


def is_foreign(warc: str | None) -> bool:
    """Return whether the WARC file with this name in the archive was made by another tool."""
    return (warc or "").startswith(f"{IMPORTED_FOLDER}/")


def _make_attempt(attempt: AttemptRow, reason: str) -> PageAttempt:
    """Convert an attempt from the ledger. Its `session` is the number of the fact that opened the session.

    `reason` is why its answer is no document, or empty.
    """
    events = {int(CrawlType.ROBOTSTXT_FETCH): "robots", int(CrawlType.METADATA_CRAWL): "list", ASSET: "asset"}
    event = events.get(attempt.kind, "attempt")
    if attempt.reason and attempt.status is None and not attempt.seconds:
        message, event = f"not requested: {attempt.message or attempt.reason.meaning}", "refused"
    elif attempt.reason:
        message = f"failed after {attempt.seconds:.2f} s: {attempt.message or attempt.reason.meaning}"
    else:
        # The WARC file of another tool does not contain the duration.
        duration = ", requested by another tool" if is_foreign(attempt.warc) else f" after {attempt.seconds:.2f} s"
        message = f"{attempt.status}{duration}{f'; {attempt.message}' if attempt.message else ''}"
    message += f", to {attempt.location}" if attempt.location else ""
    if attempt.warc:
        message += (
            "; the same bytes as before"
            if attempt.revisit
            else f"; {attempt.size or 0:,} bytes {shorten_digest(attempt.digest)}"
        )
        message += f", kept at {attempt.warc} from byte {attempt.offset:,} on, {attempt.length:,} bytes long"
    message += f"; not the page: {Reason(reason).meaning}" if reason and not attempt.reason else ""
    return PageAttempt(
        attempt.started, attempt.seq, attempt.session, event=event, message=message, status=attempt.status,
        reason=attempt.reason or "", seconds=attempt.seconds, size=attempt.size, digest=attempt.digest,
        warc=attempt.warc, offset=attempt.offset, length=attempt.length, location=attempt.location,
    )  # fmt: skip


def _find_state(
    address_row: AddressRow | None, attempts: Sequence[PageAttempt], versions: Sequence[Edition], reason: Reason | None
) -> tuple[str, str]:
    """Return the state of a page and its reason; `reason` is why the rules refuse the address now, or None."""
    last_attempt = attempts[-1] if attempts else None
    if reason is not None and not versions:
        return "refused", reason
    if versions:
        return ("open" if versions[-1].end is None else "gone"), (last_attempt.reason if last_attempt else "")
    if address_row is None:
        return "unknown", ""
    if last_attempt is None:
        return "waiting", ""
    if not last_attempt.reason and (last_attempt.status or 0) < _HTTP_ERROR:
        return "had", ""
    return "failing", last_attempt.reason or reason_of_status(last_attempt.status or 0)


_HOST = re.compile(r"(?:(?:[a-z0-9_-]{1,63}\.)+[a-z0-9_-]{1,63}|\[[0-9a-f:.]+\]|localhost)(?::[0-9]{1,5})?")


class OutcomeTally(NamedTuple):
    """The number of attempts with one outcome. `outcome` is an HTTP status, or a reason with the meaning `meaning`.

    `latest` is the last address with this outcome, or empty if only requests for robots.txt had it.
    """

    outcome: str
    attempts: int
    meaning: str
    latest: str


class SiteOrigin(NamedTuple):
    """An origin, with counts of its addresses.

    `pages` is the number of addresses that returned a body. `failing` is the number of addresses whose last request
    failed, and `due` is the number of addresses that are due. `robots` describes the origin's present robots.txt, or is
    empty. `delay` is the delay in seconds that the robots.txt sets, or None.
    """

    origin: str
    source: str
    addresses: int
    pages: int
    failing: int
    due: int
    next_due: datetime | None
    last_request: datetime | None
    robots: str
    delay: float | None
    outcomes: tuple[OutcomeTally, ...]
    tombstones: tuple[Tombstone, ...]


class SiteState(NamedTuple):
    """A source's site, or a host: its seeds, its origins, and its counts of versions in the Summary Database."""

    name: str
    seeds: tuple[str, ...]
    origins: tuple[SiteOrigin, ...]
    versions: OriginCounts


def site_of(workspace: Workspace, ledger: Ledger, source: Source) -> SiteState:
    """Return the state of a source's site."""
    rows = ledger.addresses.host_states(source.name, "", int(now().timestamp()))
    return _make_site(workspace, ledger, rows, source.name, tuple(source.options["seeds"]))


def list_origins(workspace: Workspace, ledger: Ledger, source: Source, most: int) -> tuple[list[SiteOrigin], int]:
    """Return the first origins of a source's site, and how many it has; unlike `site_of`, count no versions."""
    rows = ledger.addresses.host_states(source.name, "", int(now().timestamp()))
    hosts = [row for row in rows if row.collection == "pages"]
    return [_make_origin(workspace, ledger, source, host) for host in hosts[:most]], len(hosts)


def site_at(workspace: Workspace, ledger: Ledger, text: str) -> SiteState | None:
    """Return the state of all origins with a host name, whatever their source; None if the host name is not known.

    `text` is the host name, perhaps with a scheme or port, or the address of a robots.txt.
    """
    name = text.lower().removesuffix("/robots.txt").removeprefix("http://").removeprefix("https://").rstrip("/.")
    if not _HOST.fullmatch(name):
        return None
    rows = [row for row in ledger.addresses.host_states("", name, int(now().timestamp())) if row.collection == "pages"]
    return _make_site(workspace, ledger, rows, name) if rows else None


def _make_site(
    workspace: Workspace, ledger: Ledger, hosts: Sequence[HostState], name: str, seeds: tuple[str, ...] = ()
) -> SiteState:
    sources = {source.name: source for source in workspace.sources}
    origins = tuple(
        _make_origin(workspace, ledger, sources.get(host.source), host) for host in hosts if host.collection == "pages"
    )
    with open_existing_summary(workspace) as summary:
        origin_texts = [origin.origin for origin in origins]
        counts = OriginCounts(0, 0, 0, 0) if summary is None else VersionReader(summary).count_generations(origin_texts)
    return SiteState(name, seeds, origins, counts)


def _make_origin(workspace: Workspace, ledger: Ledger, source: Source | None, host: HostState) -> SiteOrigin:
    robots_state = find_robots_in_force(workspace, ledger, host.origin) if source else None
    outcomes = [
        OutcomeTally(row.reason or str(row.status), row.number, row.reason.meaning if row.reason else "", row.latest)
        for row in ledger.attempts.outcomes(host.seq)
    ]
    delay = robots_state.robots.delay if robots_state else None
    tombstones = _read_tombstones(ledger, 0, host.seq)
    is_taken_down = any(tombstone.lifted is None for tombstone in tombstones)
    message = _describe_robots(robots_state) if robots_state and host.asked and not is_taken_down else ""
    return SiteOrigin(
        host.origin, host.source, host.addresses, host.pages, host.failing, host.due, from_unix_time(host.next_due),
        host.asked, message, delay, tuple(outcomes), tombstones,
    )  # fmt: skip


def _describe_robots(state: RobotsState) -> str:
    robots = state.robots
    if robots.refusal:
        return "could not be fetched or read, so nothing may be requested"
    if state.read == 0:  # what is in force before the first answer
        return "not requested yet"
    if not robots.rules:
        return "allows everything"
    denial_count = sum(not rule.allow for rule in robots.rules)
    verb = "forbids" if denial_count == 1 else "forbid"
    return f"{denial_count:,} of {counted(len(robots.rules), 'rule')} for {robots.agent or 'us'} {verb} addresses"
