"""The whole story of a page: how it was found, what was asked and came, its versions, and what is due."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.collections.pages.adapter.editions import Edition, editions
from windrow.collections.pages.adapter.lookup import when
from windrow.collections.pages.adapter.rules import judge
from windrow.collections.pages.code import ASSET, CrawlType
from windrow.collections.pages.database.page_versions import Near
from windrow.collections.pages.discover import address
from windrow.config import Workspace
from windrow.digest import number, short
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.addresses import ELSEWHERE, AddressRow
from windrow.engine.ledger.attempts import AttemptRow
from windrow.reasons import Reason
from windrow.stores.archive.import_file import FOREIGN

BAD_REQUEST = 400
COLLECTION = "pages"
_CHAIN = 20
"""Addresses on the way from a seed that are told."""


class PageVisit(NamedTuple):
    """One question for a page and what came of it; `told` says it in a sentence. Sizes are bytes, times UTC."""

    at: datetime
    number: int
    session: int
    what: str
    told: str
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
    """A page or its whole origin, the `target`, was taken down: when, by whom and why.

    `done` is when all of it was gone, `lifted` when it was said that it may be asked for again.
    """

    at: datetime
    target: str
    by: str
    reason: str
    done: datetime | None
    lifted: datetime | None


class PageState(NamedTuple):
    """A page and how it stands.

    `state` is open (there when it was last had), gone, waiting, had (without a version: an image or the like, a
    list of addresses, or not summarised yet), failing, cancelled, refused, forgotten or unknown. `rule` is what
    refuses the address now, where something does. `via` leads from where it was found back to the seed.
    `alike` are addresses with the same text now, `near` those with nearly the same, and `represented_by` the one
    that stands for all of these. `due` is when it is asked next, `every` after how many seconds it is thought to
    change.
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
    near: tuple[Near, ...]
    represented_by: str
    tombstones: tuple[Tombstone, ...]
    versions: tuple[Edition, ...]
    events: tuple[PageVisit, ...]


def page(workspace: Workspace, ledger: Ledger, what: str) -> PageState | None:
    """Tell the story of an address of the web; None where `what` is none, or nothing here concerns it."""
    if not (url := address(what)):
        return None
    known = ledger.addresses.get(COLLECTION, number(url))
    known = known if known and known.url == url else None
    judged = judge(workspace, ledger, url, beside=known.source if known and known.kind == ASSET else "")
    versions, others = editions(workspace, url)
    if known is None and not versions and not judged.source:
        return None
    numbers = ledger.sessions.numbers()  # what people call sessions
    visits = (
        [
            _asked(one)._replace(session=numbers.get(one.session, one.session))
            for one in ledger.attempts.of_address(known.host, known.digest)
        ]
        if known
        else []
    )
    graves = tombstones(ledger, number(url), known.host) if known else ()
    state, reason = _state(known, visits, versions, judged.reason)
    if any(one.lifted is None for one in graves):
        state, reason = "forgotten", Reason.FORGOTTEN
    elif known is not None and known.due is None and known.pause != ELSEWHERE:
        state, reason = "cancelled", Reason.CANCELLED
    due, pause, failures = (known.due, known.pause, known.failures) if known else (None, None, 0)
    return PageState(
        url,
        known.source if known else judged.source,
        state,
        reason,
        judged.why if judged.reason else "",
        tuple(_chain(ledger, known)),
        when(due) if due else None,
        pause or None,
        failures,
        *others,
        graves,
        tuple(versions),
        tuple(visits),
    )


def tombstones(ledger: Ledger, digest: int, host: int) -> tuple[Tombstone, ...]:
    """Return what was said of taking down an address, or all of its origin."""
    return tuple(
        Tombstone(one.at, one.target, one.holder, one.reason, one.done, one.lifted)
        for one in ledger.takedowns.of(digest, host)
    )


def _chain(ledger: Ledger, known: AddressRow | None) -> Iterable[str]:
    """Yield the addresses on the way back to the seed."""
    seen: set[int] = set()
    while known is not None and known.via and known.via not in seen and len(seen) < _CHAIN:
        if known.via_url is not None:
            yield known.via_url
        seen.add(known.via)
        known = ledger.addresses.get(COLLECTION, known.via)


def is_foreign(warc: str | None) -> bool:
    """Tell whether a WARC file of the archive came from another maker."""
    return (warc or "").startswith(f"{FOREIGN}/")


def _asked(one: AttemptRow) -> PageVisit:
    names = {int(CrawlType.ROBOTSTXT_FETCH): "robots", int(CrawlType.METADATA_CRAWL): "list", ASSET: "asset"}
    name = names.get(one.kind, "visit")
    if one.reason and one.status is None and not one.seconds:
        said, name = f"not asked: {one.message or one.reason.meaning}", "refused"
    elif one.reason:
        said = f"no good answer after {one.seconds:.2f} s: {one.message or one.reason.meaning}"
    elif is_foreign(one.warc):
        said = f"{one.status}, asked by others"  # their files do not say how long it took
    else:
        said = f"{one.status} after {one.seconds:.2f} s"
    said += f", to {one.location}" if one.location else ""
    if one.warc:
        said += "; the same bytes as before" if one.revisit else f"; {one.size or 0:,} bytes {short(one.digest)}"
        said += f", kept at {one.warc} from byte {one.offset:,} on, {one.length:,} bytes long"
    kept = (one.size, one.digest, one.warc, one.offset, one.length)
    reason = one.reason or ""
    return PageVisit(
        one.started, one.seq, one.session, name, said, one.status, reason, one.seconds, *kept, one.location
    )


def _state(
    known: AddressRow | None, visits: Sequence[PageVisit], versions: Sequence[Edition], reason: Reason | None
) -> tuple[str, str]:
    """Say in a word how a page stands, and for which reason."""
    last = visits[-1] if visits else None
    if reason is not None and not versions:
        return "refused", reason
    if versions:
        return ("open" if versions[-1].end is None else "gone"), (last.reason if last else "")
    if known is None:
        return "unknown", ""
    if last is None:
        return "waiting", ""
    if not last.reason and (last.status or 0) < BAD_REQUEST:
        return "had", ""
    return "failing", last.reason or {404: Reason.NOT_FOUND, 410: Reason.GONE}.get(last.status or 0, "")
