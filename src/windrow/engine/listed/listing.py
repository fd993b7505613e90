"""List the folders of all active sources in parallel, and record the files that the sources offer."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from windrow.digest import digest
from windrow.engine.crawl.left_out import LeftOutCounter
from windrow.engine.fetchers.message import BatchBroken, BatchEnded, FolderMissing, ListedEntries, TransferBatch
from windrow.engine.listed.connection_pool import host_name, paces_by_host
from windrow.engine.listed.rest import OriginPauses, describe_pause, wait_after, worth_waiting
from windrow.engine.requests.list_yield import describe_loss
from windrow.engine.run import HarvestRun
from windrow.formats.text import counted, replace_lone_surrogates, show
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.listed_files import KnownFile
from windrow.ledger.typed.mirrors import Mirror
from windrow.model import Finding, Level, ListingEntry, Offer, Source, join_path
from windrow.reasons import Reason


@dataclass(slots=True)
class _SourceListing:
    source: Source
    task: int
    entries: list[ListingEntry] = field(default_factory=list)
    missing_folders: list[str] = field(default_factory=list)
    attempts: int = 0
    due: float = 0.0  # when its server may be requested, by time.monotonic

    @property
    def unreadable_folders(self) -> list[str]:
        """The folders whose listings have lines that cannot be read; NOT_WANTED marks lines that can be read."""
        return sorted({entry.folder for entry in self.entries if entry.reason not in {None, Reason.NOT_WANTED}})


@dataclass(slots=True)
class _Listings:
    """The listings of a run that have not begun (`waiting`), and the names of sources that were not listed (`down`)."""

    run: HarvestRun
    waiting: list[_SourceListing]
    pauses: OriginPauses
    down: set[str] = field(default_factory=set)

    def take_due(self, now: float) -> list[_SourceListing]:
        """Return the listings that are due at `now` (time.monotonic).

        A source that asked for a long pause is marked as down.
        """
        due_listings = []
        for listing in [waiting for waiting in self.waiting if waiting.due <= now and not self.run.stopping()]:
            wait = self.pauses.remaining(listing.source.site)
            if not wait:
                due_listings.append(listing)
            elif worth_waiting(wait):
                listing.due = now + wait
            else:
                self.waiting.remove(listing)
                self.down.add(listing.source.name)
                _record_pause(self.run, listing, wait)
        return due_listings

    def record_end(self, listing: _SourceListing, broken: BatchBroken | None) -> None:
        """Record a listing's offers or, if it broke off (see `broken`), queue it again or mark its source as down."""
        if broken is None:
            _record_offers(self.run, listing)
            return
        with self.run.ledger.writing() as writer:
            self.pauses.record_pause(writer, listing.source.site, broken.wait)
        if _should_retry(self.run, listing, broken):
            self.waiting.append(listing)
        else:
            self.down.add(listing.source.name)


def list_all(run: HarvestRun) -> set[str]:
    """List the active sources. Return the names of those that failed, asked for a long pause, or took too long."""
    phase = run.collection.phase(run.collection.listing.list_phase)
    waiting = [
        _SourceListing(source, run.open_task(phase, source.name)) for source in run.harvest.sources if source.active
    ]
    listings = _Listings(run, waiting, OriginPauses(run.ledger))
    run.progress.begin("listing", len(waiting))
    running: dict[int, _SourceListing] = {}
    host_paces = paces_by_host(run.harvest.sources)
    deadline = run.harvest.listing_deadline or math.inf
    end_time = time.monotonic() + deadline
    while waiting or running:
        now = time.monotonic()
        if now > end_time:
            late_listings = [*waiting, *running.values()]
            _record_late(run, late_listings, deadline)
            listings.down |= {listing.source.name for listing in late_listings}
            break
        for listing in listings.take_due(now)[: run.harvest.listers - len(running)]:
            waiting.remove(listing)
            listing.entries.clear()
            listing.missing_folders.clear()
            number = run.next_batch()
            running[number] = listing
            site, folders = listing.source.site, run.collection.listing.folders
            run.fetchers.submit_batch(TransferBatch(number, site, folders=folders, pace=host_paces[host_name(site)]))
        if not running:
            time.sleep(0.05)
        for event in run.fetchers.events(0.1):
            if isinstance(event, ListedEntries):
                running[event.batch].entries.extend(event.entries)
            elif isinstance(event, FolderMissing):
                running[event.batch].missing_folders.append(event.folder)
            elif isinstance(event, BatchEnded):
                listings.record_end(running.pop(event.batch), event.broken)
        run.tick()
        if run.stopping() and not running:
            break
    run.progress.end()
    return listings.down


def _record_pause(run: HarvestRun, listing: _SourceListing, seconds: float) -> None:
    message = f"{listing.source.name}: {describe_pause(listing.source.site.origin, seconds)}"
    run.close_task(listing.task, message, Reason.RATE_LIMITED, failed=True)
    run.progress.step(failed=1)


def _record_late(run: HarvestRun, late_listings: list[_SourceListing], deadline: float) -> None:
    for listing in late_listings:
        message = f"{listing.source.name}: left to the next run: its listing had not ended after {deadline:g} seconds"
        message += f" (the setting {run.collection.name}.listing_deadline)"
        run.close_task(listing.task, message, Reason.TIMEOUT, failed=True)
        run.progress.step(failed=1)


def _should_retry(run: HarvestRun, listing: _SourceListing, broken: BatchBroken) -> bool:
    """Return whether to list a source again, and set the time for that. If not, close its task as failed."""
    listing.attempts += 1
    may_retry = broken.retry and worth_waiting(broken.wait) and not run.stopping()
    if may_retry and listing.attempts < listing.source.attempts:
        listing.due = time.monotonic() + wait_after(listing.attempts, broken.wait)
        return True
    run.close_task(
        listing.task, f"{listing.source.name}: {broken.describe(listing.source.name)}", broken.reason, failed=True
    )
    run.progress.step(failed=1)
    return False


def _record_offers(run: HarvestRun, listing: _SourceListing) -> None:
    """Record the files that a source offers now, and the files that it does not offer any more.

    Files are not recorded as gone if there is a doubt about their folder. If there are such files, the listing has
    failed.
    """
    offers = run.collection.listing.plan(listing.source, listing.entries, run.harvest.options)
    known_mirrors = {mirror.key: mirror for mirror in run.ledger.mirrors.of_source(listing.source.name)}
    keyed = {offer.key: _complete(offer, known_mirrors.get(offer.key)) for offer in offers if not offer.unkeyed}
    # A refused entry at the path of a known file shows that the file is there, unless the entry is a folder or a link.
    refused_paths = {offer.path for offer in offers if offer.unkeyed and offer.reason is not Reason.NOT_A_FILE}
    files = run.ledger.listed_files.known(run.collection.name, sorted(keyed))
    new = refused = 0
    left_out = _count_left_out(listing.entries, offers, run.collection.listing.folders)
    with run.ledger.writing() as writer:
        phase = run.collection.phase(run.collection.listing.list_phase)
        left_out.record(writer, run.session, run.collection.name, listing.source.name, phase)
        for offer in offers:
            if offer.unkeyed:
                name = digest(offer.path.encode("utf-8", "surrogateescape"))
                path = replace_lone_surrogates(offer.path, "backslashreplace")
                writer.mirrors.refuse(run.session, listing.source.name, path, name, offer.reason or Reason.BAD_NAME)
                refused += 1
        for key, offer in keyed.items():
            refused += offer.reason is not None
            if key in files:
                _update_mirror(run, writer, listing.source.name, files[key], offer, known_mirrors.get(key))
            else:
                # A new file, as all files of a first listing are.
                writer.mirrors.add(
                    run.session, listing.source.name, _add_file(run, writer, offer), offer, _first_event(offer)
                )
                new += offer.reason is None
        _retry_renewed(run, writer, keyed, files, known_mirrors)
        _note_changed_checksums(run, writer, listing.source.name, keyed, files, known_mirrors)
        absent_mirrors = {
            key: mirror
            for key, mirror in known_mirrors.items()
            if mirror.present and key not in keyed and mirror.path not in refused_paths
        }
        gone, kept = _record_gone(
            run, writer, listing, absent_mirrors, _list_doubts(run, listing, known_mirrors, keyed)
        )
    comment = f"{listing.source.name}: {len(keyed)} offered, {new} new, {refused} refused, {gone} gone"
    for doubt, count in kept.items():
        comment += f"; {doubt.cause} {counted(count, 'file')} {doubt.rest}were not recorded as gone{doubt.advice}"
    reason = next((doubt.reason for doubt in kept), None)
    run.close_task(listing.task, comment, reason, failed=reason is not None)
    run.progress.step(1, reason is not None)


def _count_left_out(entries: Sequence[ListingEntry], offers: Sequence[Offer], folders: Sequence[str]) -> LeftOutCounter:
    counter = LeftOutCounter()
    used_paths = {path.lstrip("/") for offer in offers for path in (offer.path, offer.sidecar)}
    for entry in entries:
        path = join_path(entry.folder, entry.name).lstrip("/")
        if path not in used_paths:
            ending = PurePosixPath(entry.name).suffix[:20]
            rule = f"files whose names end in {ending!r}" if ending else "files whose names have no ending"
            rule = rule if entry.is_file else "folders, links and devices"
            if entry.folder.strip("/") not in folders:
                rule += f" beside the folders {', '.join(folders)}"
            counter.add(Reason.NOT_WANTED, rule, 1, replace_lone_surrogates(path, "backslashreplace"))
    return counter


class _Doubt(NamedTuple):
    """Why files of a folder that are missing from a listing may still be there."""

    folder: str
    reason: Reason
    cause: str
    rest: str = "missing from it "
    advice: str = ""


def _list_doubts(
    run: HarvestRun, listing: _SourceListing, known_mirrors: Mapping[str, Mirror], offers: Mapping[str, Offer]
) -> list[_Doubt]:
    """Return the doubts about the folders of a listing; those that later listings may share come first.

    A folder may be missing, its listing may have unreadable lines, the manifest may be empty, or far fewer files than
    before may be listed. The last is a doubt once: the next listing is believed.
    """
    advice = ": if the folder was removed on purpose, create it again and leave it empty"
    doubts = [
        _Doubt(name, Reason.NOT_FOUND, f"the folder {name!r} is missing, and its", "", advice)
        for name in listing.missing_folders
    ]
    for name in listing.unreadable_folders:
        cause = f"the listing of the folder {name!r} has lines that cannot be read, and so"
        doubts.append(_Doubt(name, Reason.PROTOCOL_ERROR, cause))
    if listing.source.site.manifest and not listing.entries:
        advice = ': if all were removed on purpose, set `state = "removed"` for the source'
        doubts.append(_Doubt("", Reason.PROTOCOL_ERROR, "the manifest is empty, and", advice=advice))
    folders = run.collection.listing.folders
    counts = Counter(_folder_of(folders, offer.path) for offer in offers.values())
    earlier = Counter(_folder_of(folders, mirror.path) for mirror in known_mirrors.values() if mirror.present)
    falls = {
        name: fall
        for name, count in earlier.items()
        if name is not None and (fall := describe_loss(counts[name], count))
    }
    if falls and not _has_reported_loss(run, listing):
        advice = ": if they are still missing, the next run does that"
        for name, fall in falls.items():
            cause = f"the listing of the folder {name!r} may be incomplete ({fall}), and so"
            doubts.append(_Doubt(name, Reason.NO_LONGER_LISTED, cause, advice=advice))
    return doubts


def _has_reported_loss(run: HarvestRun, listing: _SourceListing) -> bool:
    """Return whether the last complete listing of a source failed because it had far fewer files than before."""
    phase = run.collection.phase(run.collection.listing.list_phase)
    reasons = (
        task.reason
        for task in run.ledger.sessions.tasks_of_source(listing.source.name)
        if task.phase == phase and task.ended and task.reason in {None, Reason.NO_LONGER_LISTED}
    )
    return next(reasons, None) == Reason.NO_LONGER_LISTED


def _record_gone(
    run: HarvestRun,
    writer: LedgerWriter,
    listing: _SourceListing,
    absent_mirrors: Mapping[str, Mirror],
    doubts: Sequence[_Doubt],
) -> tuple[int, dict[_Doubt, int]]:
    """Record that files are gone from a source, unless there is a doubt about their folder.

    Returns the number of files recorded as gone, and the number of the others by doubt, in the order of `doubts`.
    """
    gone, kept = 0, Counter[_Doubt]()
    for key, mirror in absent_mirrors.items():
        if doubt := next((doubt for doubt in doubts if _folder_of([doubt.folder], mirror.path) is not None), None):
            kept[doubt] += 1
        else:
            # With its version, so that another one is noticed if the file comes back.
            offer = Offer(key, mirror.path, mirror.size, mirror.modified, sidecar=mirror.sidecar)
            writer.mirrors.add(run.session, listing.source.name, mirror.file, offer, "gone")
            gone += 1
    return gone, {doubt: kept[doubt] for doubt in doubts if doubt in kept}


def _retry_renewed(
    run: HarvestRun,
    writer: LedgerWriter,
    offers: Mapping[str, Offer],
    files: Mapping[str, KnownFile],
    known_mirrors: Mapping[str, Mirror],
) -> None:
    """Order a retry of each file that could not be fetched if it or its checksum file was changed after the failure.

    A changed size may come without a time, or with an earlier one. `known_mirrors` have what the source offered before.
    A file that was fetched, perhaps while it was still written, is fetched again if its bytes had no usable member.
    """
    step = run.collection.listing.fetch_phase
    failed_files = {files[key].file: offers[key] for key in offers.keys() & files if files[key].failed_step == step}
    failures = run.ledger.attempts.failed_sessions(sorted(failed_files)) if failed_files else {}
    for file, failure in failures.items():
        offer = failed_files[file]
        is_later = any(changed and changed > failure.last for changed in (offer.modified, offer.sidecar_modified))
        if is_later or _has_changed(known_mirrors.get(offer.key), offer):
            writer.items.retry(run.session, file, step, f"{offer.path} or its checksum file was changed")
    for key in offers.keys() & files:
        known_file = files[key]
        if known_file.failed_step in {None, "", step} or not _has_changed(known_mirrors.get(key), offers[key]):
            continue
        if not run.ledger.members.brought(known_file.attempt):
            message = f"{offers[key].path} was changed, and had no usable member"
            writer.items.retry(run.session, known_file.file, step, message)


def _note_changed_checksums(  # noqa: PLR0917
    run: HarvestRun,
    writer: LedgerWriter,
    source: str,
    offers: Mapping[str, Offer],
    files: Mapping[str, KnownFile],
    known_mirrors: Mapping[str, Mirror],
) -> None:
    """Record that a file changed if only its checksum file did, so that `comparing` looks at it again."""
    candidates = {
        files[key].file: (offer, offer.sidecar_modified)
        for key, offer in offers.items()
        if offer.sidecar_modified and key in files and files[key].failed_step is None
        and key in known_mirrors and known_mirrors[key].present and not _has_changed(known_mirrors[key], offer)
    }  # fmt: skip
    for file, looked_at in run.ledger.mirrors.last_looks(source, sorted(candidates)) if candidates else ():
        offer, changed_at = candidates[file]
        # A change at a time to come would be later than every look. A look then is that of a clock that was ahead.
        if changed_at <= run.clock() and not changed_at <= looked_at <= run.clock():
            writer.mirrors.add(run.session, source, file, offer, "changed")


def _folder_of(folders: Iterable[str], path: str) -> str | None:
    return next((name for name in folders if not name or path.startswith(f"{name}/")), None)


def _first_event(offer: Offer) -> str:
    return "refused" if offer.reason else "listed"


def _add_file(run: HarvestRun, writer: LedgerWriter, offer: Offer) -> int:
    collection = run.collection
    return writer.listed_files.add(
        run.session, collection.name, collection.listing.kind, offer.key,
        step=collection.listing.fetch_phase, rank=offer.rank, owner=offer.owner, size=offer.size, reason=offer.reason,
    )  # fmt: skip


def _update_mirror(  # noqa: PLR0917
    run: HarvestRun, writer: LedgerWriter, source: str, known_file: KnownFile, offer: Offer, known: Mirror | None
) -> None:
    """Record a source's offer of a known file if it is new or has changed.

    `known` is what the source offered last, perhaps before the file was gone for some time, or None.
    """
    collection, file = run.collection, known_file.file
    if offer.reason is None and known_file.failed_step == "":
        # The name is accepted now, because the collection accepts more owners.
        writer.items.retry(run.session, file, collection.listing.fetch_phase)
    if known is None or not known.present:
        writer.mirrors.add(run.session, source, file, offer, _first_event(offer))
    elif _has_changed(known, offer):
        writer.mirrors.add(run.session, source, file, offer, "changed")
    if known is None or not _differs(known, offer):
        return
    if known_file.failed_step is None and run.ledger.attempts.latest_captures([file]):
        message = f"{source} now offers {_describe_version(offer.size, offer.modified)}"
        message += f"; before, it offered {_describe_version(known.size, known.modified)}"
        finding = Finding("ContentChanged", f"{message}; to fetch it: windrow retry {offer.key}", Level.WARN)
        writer.items.add_findings(run.session, file, collection.fetch_phase, [finding])


def _differs(known: Mirror, offer: Offer) -> bool:
    """Return whether the sizes or the times of two offers differ, of those that both state."""
    pairs = ((known.size, offer.size), (known.modified, offer.modified))
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _complete(offer: Offer, known: Mirror | None) -> Offer:
    """Return an offer with the size or the time that the source stated before, if this is all that it left out.

    Neither is taken over if both are left out: only a file of which nothing is stated is compared from time to time.
    """
    if known is None or not known.present or _differs(known, offer) or (offer.size is None and offer.modified is None):
        return offer
    size = known.size if offer.size is None else offer.size
    return offer._replace(size=size, modified=offer.modified or known.modified)


def _has_changed(known: Mirror | None, offer: Offer) -> bool:
    """Return whether a file that a source offers differs from what it offered before; `known` is None for a new one."""
    version = (offer.path, offer.size, offer.modified, offer.sidecar)
    return known is not None and (known.path, known.size, known.modified, known.sidecar) != version


def _describe_version(size: int | None, modified: datetime | None) -> str:
    size_text = "a file of unknown size" if size is None else f"{size:,} bytes"
    return f"{size_text} of {show(modified)}" if modified else size_text
