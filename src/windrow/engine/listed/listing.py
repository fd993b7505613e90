"""Plan: list every source, side by side, and put on record what is offered."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from datetime import datetime

from windrow.digest import digest
from windrow.engine.fetchers.message import BatchBroken, BatchEnded, ListedEntries, TransferBatch
from windrow.engine.listed.connection_pool import host, paces
from windrow.engine.listed.queue import take_from
from windrow.engine.listed.rest import OriginPauses, told_left_alone, wait_before, worth_waiting
from windrow.engine.run import HarvestRun
from windrow.formats.text import show
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.listings import OfferRow
from windrow.model import Finding, Level, ListingEntry, Offer, Source
from windrow.reasons import Reason


@dataclass(slots=True)
class _Listed:
    """One source while it is listed."""

    source: Source
    task: int
    entries: list[ListingEntry] = field(default_factory=list)
    attempts: int = 0
    due: float = 0.0


@dataclass(slots=True)
class _Listings:
    """The listings of a run: those that are still to be asked for, and the sources that could not be listed."""

    run: HarvestRun
    waiting: list[_Listed]
    pauses: OriginPauses
    down: set[str] = field(default_factory=set)

    def ready(self, now: float) -> list[_Listed]:
        """Return those that may be asked for now; a source whose server wants to be left alone for long is down."""
        found = []
        for one in [one for one in self.waiting if one.due <= now and not self.run.stopping()]:
            left = self.pauses.left(one.source.site)
            if not left:
                found.append(one)
            elif worth_waiting(left):
                one.due = now + left
            else:
                self.waiting.remove(one)
                self.down.add(one.source.name)
                _left_alone(self.run, one, left)
        return found

    def ended(self, one: _Listed, broken: BatchBroken | None) -> None:
        """Take a listing that has ended: on record, to be tried again, or given up."""
        if broken is None:
            _record(self.run, one)
            return
        with self.run.ledger.writing() as writer:
            self.pauses.note(writer, one.source.site, broken.wait)
        if _again(self.run, one, broken):
            self.waiting.append(one)
        else:
            self.down.add(one.source.name)


def list_all(run: HarvestRun) -> set[str]:
    """List every active source; return those that could not be. Nothing is fetched before this ends.

    It ends after `Harvest.list_within`: a source that is still being listed then is left behind, and the
    others are fetched from.
    """
    phase = run.collection.phase(run.collection.listing.list_phase)
    waiting = [_Listed(source, run.open_task(phase, source.name)) for source in run.harvest.sources if source.active]
    listings = _Listings(run, waiting, OriginPauses(run.ledger))
    run.progress.begin("listing", len(waiting))
    going: dict[int, _Listed] = {}
    slow = paces(run.harvest.sources)
    within = run.harvest.list_within or math.inf
    end = time.monotonic() + within
    while waiting or going:
        now = time.monotonic()
        if now > end:
            late = [*waiting, *going.values()]
            _leave(run, late, within)
            listings.down |= {one.source.name for one in late}
            break
        for one in listings.ready(now)[: run.harvest.listers - len(going)]:
            waiting.remove(one)
            one.entries.clear()
            number = run.next_batch()
            going[number] = one
            site, folders = one.source.site, run.collection.listing.folders
            run.crew.submit_batch(TransferBatch(number, site, folders=folders, pace=slow[host(site)]))
        if not going:
            time.sleep(0.05)
        for event in run.crew.events(0.1):
            if isinstance(event, ListedEntries):
                going[event.batch].entries.extend(event.entries)
            elif isinstance(event, BatchEnded):
                listings.ended(going.pop(event.batch), event.broken)
        run.tick()
        if run.stopping() and not going:
            break
    run.progress.end()
    return listings.down


def _left_alone(run: HarvestRun, one: _Listed, seconds: float) -> None:
    """Put it on record that a source is not asked, since its server wanted a pause that lasts."""
    told = f"{one.source.name}: {told_left_alone(one.source.site, seconds)}"
    run.close_task(one.task, told, Reason.RATE_LIMITED, failed=True)
    run.progress.step(1, 1)


def _leave(run: HarvestRun, late: list[_Listed], within: float) -> None:
    """Put it on record that the listing of these sources has failed: nobody waits for them any longer."""
    for one in late:
        told = f"{one.source.name}: left behind: its listing had not ended after {within:g} seconds"
        told += f" ({run.collection.name}.list_within)"
        run.close_task(one.task, told, Reason.TIMEOUT, failed=True)
        run.progress.step(1, 1)


def _again(run: HarvestRun, one: _Listed, broken: BatchBroken) -> bool:
    """Tell whether to try a source again, after a wait; if not, its task has failed."""
    one.attempts += 1
    if broken.retry and worth_waiting(broken.wait) and one.attempts < one.source.attempts and not run.stopping():
        one.due = time.monotonic() + wait_before(one.attempts, broken.wait)
        return True
    run.close_task(one.task, f"{one.source.name}: {broken.told(one.source.name)}", broken.reason, failed=True)
    run.progress.step(1, 1)
    return False


def _record(run: HarvestRun, one: _Listed) -> None:
    """Put on record what a source offers now, and what it does not any more."""
    offers = run.collection.listing.plan(one.source, one.entries, run.harvest.options)
    known = {row.key: row for row in run.ledger.listings.of_source(one.source.name)}
    keyed = {offer.key: offer for offer in offers if not offer.unkeyed}
    items = run.ledger.items.by_key(run.collection.name, run.collection.listing.kind, sorted(keyed))
    refused_before = run.ledger.items.refused(list(items.values()))
    fresh = refused = gone = 0
    with run.ledger.writing() as writer:
        for offer in offers:
            if offer.unkeyed:
                name = digest(offer.path.encode("utf-8", "surrogateescape"))
                path = offer.path.encode("utf-8", "backslashreplace").decode()
                writer.listings.refuse(run.session, one.source.name, path, name, offer.reason or Reason.BAD_NAME)
                refused += 1
        for key, offer in keyed.items():
            refused += offer.reason is not None
            if key in items:
                is_refused = items[key] in refused_before
                _compare(run, writer, one.source.name, items[key], offer, known=known.get(key), is_refused=is_refused)
            else:
                # Nothing is known of it that could be compared: of a first listing that is all.
                items[key] = _make(run, writer, offer)
                writer.listings.add(run.session, one.source.name, items[key], offer, _begins(offer))
                fresh += offer.reason is None
        for key, before in known.items():
            if key not in keyed and before.present:
                writer.listings.add(run.session, one.source.name, before.item, Offer(key, before.path), "gone")
                gone += 1
    comment = f"{one.source.name}: {len(keyed)} offered, {fresh} new, {refused} refused, {gone} gone"
    run.close_task(one.task, comment)
    run.progress.step()


def _begins(offer: Offer) -> str:
    """Return the event of a source that begins to offer something."""
    return "refused" if offer.reason else "listed"


def _make(run: HarvestRun, writer: LedgerWriter, offer: Offer) -> int:
    collection = run.collection
    return writer.items.add(
        run.session, collection.name, collection.listing.kind, offer.key,
        step=collection.listing.fetch_phase, rank=offer.rank, owner=offer.owner, size=offer.size, reason=offer.reason,
    )  # fmt: skip


def _compare(
    run: HarvestRun, writer: LedgerWriter, source: str, item: int, offer: Offer, *, known: OfferRow | None,
    is_refused: bool,
) -> None:  # fmt: skip
    """Note what is new or different in what a source says of an item, whose name `is_refused` so far."""
    collection = run.collection
    if offer.reason is None and is_refused:
        # It is good now: the collection takes more owners.
        writer.items.retry(run.session, item, collection.listing.fetch_phase)
    if known is None or not known.present:
        writer.listings.add(run.session, source, item, offer, _begins(offer))
        _compare_hosts(run, writer, source, item, offer)
        return
    if known[2:] == (offer.path, True, offer.size, offer.modified, offer.sidecar):
        return
    writer.listings.add(run.session, source, item, offer, "changed")
    if (known.size, known.modified) != (offer.size, offer.modified) and run.ledger.attempts.latest_captures([item]):
        now, before = _size_and_time(offer.size, offer.modified), _size_and_time(known.size, known.modified)
        message = f"{source} now offers {now}, before {before}"
        finding = Finding("ContentChanged", f"{message}; windrow retry {offer.key}", Level.WARN)
        writer.items.find(run.session, item, collection.fetch_phase, [finding])


def _size_and_time(size: int | None, modified: datetime | None) -> str:
    told = "a file of unknown size" if size is None else f"{size:,} bytes"
    return f"{told} of {show(modified)}" if modified else told


def _compare_hosts(run: HarvestRun, writer: LedgerWriter, source: str, item: int, offer: Offer) -> None:
    """Tell where a source that comes later offers another size under the name of bytes that are held already.

    Where sizes are equal, the ends of the files are compared after the transfers (`comparing`).
    """
    if offer.size is None or not run.ledger.attempts.latest_captures([item]):
        return
    others = [offerer for offerer in run.ledger.listings.offerers(item) if offerer.source != source and offerer.present]
    differing = [one for one in others if one.size not in {None, offer.size}]
    if differing:
        sizes = ", ".join(f"{one.source} {one.size:,}" for one in differing)
        told = f"{source} now offers {offer.size:,} bytes under this name, beside {sizes}"
        message = f"{told}; {take_from(offer.key, source)}"
        finding = Finding("ContentDiffers", message, Level.WARN)
        writer.items.find(run.session, item, run.collection.fetch_phase, [finding])
