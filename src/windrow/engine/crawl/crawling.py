"""The crawl of a run: send due addresses of the ledger to the fetchers, and store attempts and new addresses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import TracebackType
from typing import Self

from windrow.clock import now, spell
from windrow.contract import Crawl
from windrow.contract.discoveries import BEHIND
from windrow.engine.captures.shared_answers import SharedAnswers
from windrow.engine.crawl.archiving_client import RedirectChains
from windrow.engine.crawl.link_rules import RuleHashes
from windrow.engine.crawl.part_exchange import PartExchange
from windrow.engine.crawl.request_time import RequestTime
from windrow.engine.crawl.source_tally import SourceTally, close_tallies, has_failed
from windrow.engine.fetchers.message import AttemptEnded, BatchBroken, BatchEnded, CrawlOrigin, Event
from windrow.engine.listed.connection_pool import MAX_WALK_PAUSE
from windrow.engine.listed.rest import describe_pause
from windrow.engine.requests.answers import interval_of
from windrow.engine.requests.following import AnswerFollower
from windrow.engine.requests.origin_rules import LAST_ATTEMPTS, SERVICE, failures_in_row, service_of
from windrow.engine.requests.redirects import is_former_target
from windrow.engine.run import Close, HarvestRun, close_all
from windrow.errors import StepError, Stopped
from windrow.ledger import LedgerWriter
from windrow.ledger.addresses import ABOVE_EVERY_ORDER
from windrow.ledger.rows import CapturedRow
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import ArchivePlace, Attempt, FetchJob, FoundUrl, HeldAnswer, HttpRequest, KnownCapture, Source
from windrow.reasons import Reason

MAX_PER_HOST = 128
"""The maximum number of addresses of a host that a fetcher has at a time."""

MAX_IN_HAND = 32_768
"""The approximate maximum number of addresses that fetchers have in all. With many hosts, each host gets fewer."""

MIN_PER_HOST = 8
"""The lowest number to which MAX_PER_HOST is reduced, however many hosts there are."""

MAX_SERVICE_WAIT = 60.0
"""The longest time that a run waits for a request to a service to become due, in seconds.

Requests that are due later are left to the next run.
"""


@dataclass(slots=True)
class _Host:
    """A host in this run.

    `handed_out` maps the digests of addresses that fetchers have to (interval in seconds, failures in a row, kind).
    """

    number: int  # on the ledger
    source: Source
    origin: str
    handed_out: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    walk: int = 0  # the number of its walk, 0 while no fetcher walks it
    is_given_up: bool = False  # for this run
    is_endless: bool = False  # its new pages have only repeated earlier texts for a long time
    is_exhausted: bool = False  # no further address of it is due
    broken_walks: int = 0  # how many walks ended, except those that another host's response ended
    suspect: int = 0  # the address whose response a fetcher was reading when it died


class CrawlDispatcher:
    """Sends addresses to the fetchers, host by host, and records the attempts."""

    def __init__(self, run: HarvestRun, crawl: Crawl, sources: Sequence[Source] | None = None) -> None:
        """Open a task for each active source in `sources` (None: the sources of the harvest that have an address)."""
        self._run = run
        self._crawl = crawl
        harvested = [source for source in run.harvest.sources if source.site.scheme] if sources is None else sources
        self._sources = {source.name: source for source in harvested if source.active}
        self._tallies = {name: SourceTally(source, run.open_task(1, name)) for name, source in self._sources.items()}
        self._hosts: dict[int, _Host] = {}  # by number
        self._walks: dict[int, _Host] = {}  # by the number of the walk
        self._share = MAX_PER_HOST  # the maximum number of addresses of one host that a fetcher has at a time
        self._host_numbers: dict[tuple[str, str], int] = {}  # by source and origin
        crawled = run.ledger.addresses.hosts_crawled(run.collection.name)
        hosts = [host for host in crawled if host.source in self._sources]
        for host in hosts:
            self._host_numbers[host.source, host.origin] = host.seq
            self._hosts[host.seq] = _Host(host.seq, self._sources[host.source], host.origin)
        self._rule_hashes = RuleHashes(run, self._sources, hosts)
        self._taken_down = run.ledger.takedowns.addresses() or None
        self._shared_answers = SharedAnswers(run)
        self._redirects = RedirectChains()
        self._paused_until = run.ledger.addresses.rests(int(now().timestamp()))
        self._set_share()
        self._short_hosts = set(self._hosts)  # numbers of hosts that may need more addresses
        followed = [source for source in self._sources.values() if SERVICE not in source.options]
        self._follower = AnswerFollower(run, followed) if crawl.by_request else None
        is_divided = not crawl.by_request and any(source.part.total > 1 for source in self._sources.values())
        self._part_exchange = PartExchange(run, crawl, self._sources) if is_divided else None
        self._began = int(now().timestamp())
        self._in_hand = 0  # addresses that fetchers have now, of all hosts
        self._handed_out = 0  # addresses sent to fetchers so far
        self._halted = False
        self._request_time = RequestTime(run)

    def run(self) -> None:
        """Crawl until no address is due, the run's limit or deadline is reached, or the run is stopped."""
        run = self._run
        self._store_seeds()
        run.progress.begin("crawling")
        while True:
            is_ending = run.stopping() or self._request_time.check()
            if not is_ending:
                self._hand_out_more()
                if self._follower is not None:
                    self._follower.submit_next()
            elif not self._halted:
                self._halted = True
                run.fetchers.halt()
            has_work = self._in_hand or (self._follower and self._follower.in_progress)
            if not has_work and (is_ending or not self._await_services()):
                break
            self._record_progress()
            run.tick()

    def _record_progress(self) -> None:
        """Wait for events of the fetchers or results of the discovery, and store them in one transaction."""
        run, follower = self._run, self._follower
        timeout = 0.0 if follower and follower.has_results else 0.05
        events = run.fetchers.events(timeout, run.pool.pipes if follower and follower.in_progress else ())
        if follower is not None:
            follower.collect()
        if not events and not (follower and follower.has_results):
            return
        with run.ledger.writing() as writer:
            for event in events:
                self._record_event(writer, event)
            for outcome in follower.write_results(writer, self._add_urls) if follower else ():
                self._tallies[outcome.source].count_outcome(outcome)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the sources' tasks: as failed after an error, and not at all if the run was stopped at once."""
        self._shared_answers.leave_for_later(self._sources.values())
        closers: list[Close] = [self._run.progress.end]
        if not isinstance(error, KeyboardInterrupt | Stopped):
            closers.insert(0, lambda: self._close_tasks(error))
        close_all(closers, error)

    def _await_services(self) -> bool:
        """Return whether a request to a service is due within MAX_SERVICE_WAIT, and the run's limit is not reached.

        Services with requests that are due now are marked, so that these are sent next.
        """
        current_time, soonest = int(now().timestamp()), None
        for host in self._hosts.values():
            if not host.is_given_up and service_of(host.source) is not None:
                due_at = self._run.ledger.addresses.next_due(host.number)
                if due_at is not None and due_at <= current_time:
                    host.is_exhausted = False
                    self._short_hosts.add(host.number)
                soonest = due_at if soonest is None or (due_at is not None and due_at < soonest) else soonest
        is_below_limit = self._run.limit is None or self._handed_out < self._run.limit
        return is_below_limit and soonest is not None and soonest - current_time <= MAX_SERVICE_WAIT

    def sources_given_up(self) -> set[str]:
        """Return the names of the sources with an origin that was given up for this run."""
        return {host.source.name for host in self._hosts.values() if host.is_given_up}

    def _store_seeds(self) -> None:
        """Store the seeds of all sources, and count those that were taken down. Give up hosts that were taken down."""
        run = self._run
        for number in run.ledger.takedowns.hosts() & set(self._hosts):
            self._hosts[number].is_given_up = True
        taken_down = self._taken_down
        with run.ledger.writing() as writer:
            if self._part_exchange is not None:
                self._part_exchange.release_hosts(writer)
                for source_name, page in self._part_exchange.handed_pages(self._tallies):
                    self._add_urls(writer, self._sources[source_name], 0, [page])
            for source in self._sources.values():
                tally = self._tallies[source.name]
                if self._follower is None:
                    hosts = [host.number for host in self._hosts.values() if host.source.name == source.name]
                    self._rule_hashes.record_settings(writer, source.name, hosts)
                try:
                    seeds = self._seeds(source)
                except StepError as error:
                    tally.fail(str(error), error.reason)
                    continue
                tally.seed_origins.update(seed.origin for seed in seeds)
                for seed in seeds:
                    (tally.seeds if seed.kind == self._crawl.page else tally.sitemaps).add(seed.digest)
                forgotten = {seed.digest: seed.url for seed in seeds if taken_down and taken_down.contains(seed.url)}
                tally.forgotten_seeds = forgotten
                if forgotten:
                    example = next(iter(forgotten.values()))
                    tally.left_out.add(Reason.FORGOTTEN, "a seed that was taken down", len(forgotten), example)
                self._add_urls(writer, source, 0, seeds)
                if self._follower is not None and SERVICE not in source.options:
                    self._follower.update_source_address(writer, source, seeds)

    def _seeds(self, source: Source) -> Sequence[FoundUrl]:
        if self._follower is None:
            return self._crawl.seeds(source, self._run.harvest.options)
        return () if SERVICE in source.options else self._follower.first_requests(source)

    def _close_tasks(self, error: BaseException | None) -> None:
        if self._part_exchange is not None and error is None:
            self._part_exchange.hand_over(self._tallies)
        self._request_time.count_late(self._tallies, self._began)
        endless = [(host.source.name, host.origin, host.number) for host in self._hosts.values() if host.is_endless]
        close_tallies(self._run, self._crawl, self._tallies, endless, error)

    def _hand_out_more(self) -> None:
        short_hosts, self._short_hosts = self._short_hosts, set()
        for number in sorted(short_hosts):
            host = self._hosts[number]
            if not host.is_given_up and not host.is_exhausted and self._is_short(host):
                self._hand_out(host)

    def _set_share(self) -> None:
        self._share = max(MIN_PER_HOST, min(MAX_PER_HOST, MAX_IN_HAND // max(1, len(self._hosts))))

    def _is_short(self, host: _Host) -> bool:
        return len(host.handed_out) <= self._share // 2

    def _hand_out(self, host: _Host) -> None:
        """Send due addresses of a host to its walk, and start the walk if necessary."""
        run, share = self._run, self._share
        tally, source_limit = self._tallies[host.source.name], host.source.most
        count = share if run.limit is None else min(share, run.limit - self._handed_out)
        count = min(count, source_limit - tally.handed_out) if source_limit else count
        # Some requests are due again every second: a run makes only those that were due when it began.
        due_before = self._began if self._follower and not service_of(host.source) else int(now().timestamp())
        priority_limit = BEHIND if host.is_endless else ABOVE_EVERY_ORDER
        limit = count + len(host.handed_out)
        _, rules_since = self._rule_hashes.of_host(host.number)
        due = run.ledger.addresses.due(host.number, due_before, limit, priority_limit, rules_since) if count > 0 else []
        if self._follower is None and any(self._is_again(address) for address in due):
            # Otherwise a crawl that takes longer than the interval of its pages would not end.
            tally.has_pages_again, due = True, [address for address in due if not self._is_again(address)]
        addresses = [address for address in due if address.digest not in host.handed_out][:count]
        host.is_exhausted = len(addresses) < count
        requests, held = self._requests_at(host, addresses) if addresses else {}, dict[int, HeldAnswer]()
        addresses = self._leave_former_targets(host, addresses, requests) if requests else addresses
        if not addresses or (not host.walk and not self._start_walk(host)):
            return
        if not service_of(host.source):
            held = self._shared_answers.answers_for(host.source, host.origin, addresses, requests)
        for address in addresses:
            request = requests.get(address.digest)
            interval = address.interval
            if request:
                interval = interval_of(request, address.interval, address.failures)
            host.handed_out[address.digest] = (interval, address.failures, address.kind)
        jobs = [
            _make_job(address, requests.get(address.digest), held.get(address.digest), run.lost_files)
            for address in addresses
        ]
        run.fetchers.submit(host.walk, jobs)
        self._in_hand += len(addresses)
        self._handed_out += len(addresses)
        tally.handed_out += len(addresses)

    def _is_again(self, address: DueAddress) -> bool:
        """Return whether an address is due again in this run, but for failed ones whose interval is an hour or more."""
        return address.due > self._began and (not address.failures or address.interval < 3600)

    def _leave_former_targets(
        self, host: _Host, addresses: list[DueAddress], requests: Mapping[int, HttpRequest]
    ) -> list[DueAddress]:
        """Return `addresses` without targets of redirects that are due by themselves; make these never due."""
        former = [
            address for address in addresses
            if address.digest in requests and is_former_target(address, requests[address.digest])
        ]  # fmt: skip
        if not former:
            return addresses
        with self._run.ledger.writing() as writer:
            digests = [address.digest for address in former]
            writer.addresses.abandon(self._run.collection.name, host.source.name, digests)
        self._short_hosts.add(host.number)
        return [address for address in addresses if address not in former]

    def _requests_at(self, host: _Host, addresses: Sequence[DueAddress]) -> dict[int, HttpRequest]:
        """Return a dict from an address's digest to its stored request, with the places of the documents it sends."""
        if self._follower is None and service_of(host.source) is None:
            return {}
        run = self._run
        requests = run.ledger.addresses.requests(host.number, [address.digest for address in addresses])
        attempt_numbers = {part.attempt for request in requests.values() for part in request.attachments}
        if not attempt_numbers:
            return requests
        documents = run.ledger.attempts.by_numbers([*attempt_numbers])
        places = {document.seq: run.place_of(document.attempt) for document in documents}
        return {
            digest: request._replace(
                attachments=tuple(part._replace(place=places.get(part.attempt)) for part in request.attachments)
            )
            for digest, request in requests.items()
        }

    def _start_walk(self, host: _Host) -> bool:
        """Start the walk of a host and return True. If its pause is too long, give the host up and return False."""
        run = self._run
        wait = max(0.0, self._paused_until.get(host.origin, 0) - now().timestamp())
        if wait > MAX_WALK_PAUSE:
            host.is_given_up = True
            self._record_give_up(host, Reason.RATE_LIMITED, describe_pause(host.origin, wait))
            return False
        host.walk = run.next_batch()
        self._walks[host.walk] = host
        shared, options = self._shared_answers, run.harvest.options
        wait = max(wait, shared.remaining_pause(host.source, host.origin))
        robots, last_request = shared.robots_answer(host.source, host.origin), shared.last_request(host.origin)
        walk = CrawlOrigin(host.walk, host.source, host.origin, self._crawl, options, wait, robots, last_request)
        link_rules, _ = self._rule_hashes.of_host(host.number)
        walk = walk._replace(settings=self._rule_hashes.of_settings(host.source.name), link_rules=link_rules)
        run.fetchers.start_walk(walk)
        return True

    def _record_give_up(self, host: _Host, reason: Reason, message: str) -> None:
        self._tallies[host.source.name].note_give_up(host.origin, reason, message)

    def _record_event(self, writer: LedgerWriter, event: Event) -> None:
        if isinstance(event, AttemptEnded):
            self._record_attempt(writer, self._walks[event.batch], event)
        elif isinstance(event, BatchEnded) and event.batch in self._walks:  # otherwise of a late listing
            self._end_walk(writer, self._walks.pop(event.batch), event)

    def _record_attempt(self, writer: LedgerWriter, host: _Host, event: AttemptEnded) -> None:
        """Store and count an attempt, with the next due time of its address and the addresses that it found."""
        event = self._redirects.limit_chain(event) if self._follower is None else event
        run, attempt, beside = self._run, event.attempt, self._crawl.beside
        schedule, is_failed = None, has_failed(attempt)
        if attempt.kind == beside:  # it may have become a page meanwhile, and be due again
            host.is_exhausted = False
        if attempt.target in host.handed_out:
            old_interval, failures, _ = host.handed_out.pop(attempt.target)
            self._in_hand -= 1
            if self._is_short(host):
                self._short_hosts.add(host.number)
            failures = failures + 1 if is_failed else 0
            counted = (self._final_failures(writer, host.source, attempt) if is_failed else 0) or failures
            due_at, interval = self._crawl.next_due(host.source, attempt, old_interval, counted)
            # A shared response must not be used twice in this run.
            due_at = max(due_at, self._began + 1) if event.held and due_at is not None else due_at
            schedule = (due_at, interval, failures)
        number = writer.attempts.record_attempt(run.session, host.number, attempt, schedule=schedule, beside=beside)
        if self._rule_hashes.record_rules(writer, host.source.name, host.number, event.link_rules, number):
            host.is_exhausted = False
            self._short_hosts.add(host.number)
        if event.held and attempt.kept:
            place = attempt.kept.place
            captured = CapturedRow(
                number, event.held, collection="", source="", found_in="", warc=place.warc, offset=place.offset
            )
            writer.captures.record_taken(number, run.collection.name, host.source.name, captured, index=0)
        else:
            self._shared_answers.note_request(host.origin, attempt)
        if attempt.wait:
            ended = attempt.started.timestamp() + attempt.seconds
            self._paused_until[host.origin] = math.ceil(ended + attempt.wait)
            writer.addresses.record_pause(host.origin, self._paused_until[host.origin])
        self._tallies[host.source.name].count_attempt(self._crawl, event)
        if self._follower is not None:
            self._follower.note_answers(host.source.name)
        host.is_endless = host.is_endless or event.endless
        if event.found:
            self._add_urls(writer, host.source, attempt.target, event.found)
        run.progress.step(1, is_failed)

    def _final_failures(self, writer: LedgerWriter, source: Source, attempt: Attempt) -> int:
        """Return how many attempts in a row, from this one back, failed for reasons that a service declares final.

        The result is 0 if the source is not a service, or if the reason of this attempt is not final.
        """
        service = service_of(source)
        if service is None or attempt.reason not in service.final:
            return 0
        writer.flush()
        earlier_attempts = self._run.ledger.requests.attempts(self._run.collection.name, attempt.target, LAST_ATTEMPTS)
        return failures_in_row(service, [attempt.reason, *(earlier.reason for earlier in earlier_attempts)])

    def _add_urls(self, writer: LedgerWriter, source: Source, via: int, urls: Sequence[FoundUrl]) -> None:
        """Store addresses of a source, except those taken down, with their new hosts, and apply their hints.

        Pages of hosts that another part of the crawl requests are stored as known, and are never due.
        """
        by_host: dict[int, list[FoundUrl]] = {}
        for url in urls:
            if self._taken_down is not None and self._taken_down.has_found(url):
                continue
            key = source.name, url.origin
            host_number = self._host_numbers.get(key)
            if host_number is None:
                host_number = self._add_host(writer, source, url.origin)
                self._host_numbers[key] = host_number
                self._hosts[host_number] = _Host(host_number, source, url.origin)
                self._set_share()
            by_host.setdefault(host_number, []).append(url)
        for host_number, host_urls in by_host.items():
            if self._part_exchange is not None:
                host_urls = self._part_exchange.keep_own(writer, host_number, host_urls)  # noqa: PLW2901 fewer
            writer.addresses.add(host_number, via, host_urls, page=self._crawl.page, beside=self._crawl.beside)
            if any(map(attrgetter("hinted"), host_urls)):
                writer.addresses.apply_hints(host_number, host_urls, self._crawl.rest)
            self._hosts[host_number].is_exhausted = False
            self._short_hosts.add(host_number)

    def _add_host(self, writer: LedgerWriter, source: Source, origin: str) -> int:
        """Return the number of a source's host with this origin. If there is none, add it.

        In a crawl by links, a host of any source that is known only from captures of others is assigned to this source.
        In a divided crawl, a host of another part looks the same, so it is not.
        """
        run, addresses = self._run, self._run.ledger.addresses
        is_own = self._crawl.by_request or not source.part.has_origin(origin)
        find_host = addresses.host if is_own else addresses.own_or_captured_host
        host_number = find_host(origin, run.collection.name, source.name)
        if host_number is None:
            return writer.addresses.add_host(run.session, run.collection.name, source.name, origin)
        writer.addresses.assign_host(host_number, source.name)
        return host_number

    def _end_walk(self, writer: LedgerWriter, host: _Host, event: BatchEnded) -> None:
        """Record the end of a walk, and give the host up unless another walk of it may succeed."""
        broken = event.broken
        assert broken is not None
        if event.culprit in host.handed_out:
            self._record_harm(writer, host, broken, event.culprit or 0)
        self._in_hand -= len(host.handed_out)
        host.handed_out.clear()  # some may not have reached the process
        self._short_hosts.add(host.number)
        host.walk = 0
        host.broken_walks += not event.spared
        may_walk_again = broken.reason is Reason.INTERRUPTED or (broken.reason is Reason.TIME_LIMIT and event.culprit)
        host.is_given_up, host.is_exhausted = not (may_walk_again and host.broken_walks < host.source.attempts), False
        if host.is_given_up and broken.reason is not Reason.STOPPED:
            self._record_give_up(host, broken.reason, broken.describe(host.source.name))
        writer.flush()

    def _record_harm(self, writer: LedgerWriter, host: _Host, broken: BatchBroken, culprit: int) -> None:
        """Record a failed attempt at `culprit` if reading its response took too long or twice ended a fetcher."""
        reason = Reason.TIME_LIMIT
        if broken.reason is not Reason.TIME_LIMIT:
            if host.suspect != culprit:
                host.suspect = culprit
                return
            reason = Reason.WORKER_DIED
        _, _, kind = host.handed_out[culprit]
        attempt = Attempt(culprit, "", kind, allowed=True, started=now(), seconds=0.0, reason=reason)
        self._record_attempt(writer, host, AttemptEnded(0, attempt))


def _make_job(
    due: DueAddress, request: HttpRequest | None, held: HeldAnswer | None, lost_files: frozenset[str]
) -> FetchJob:
    """Return the job to request an address.

    The bytes of its last response are received and kept anew if they were in a lost file, or if the last attempt
    failed while its links had to be read from them, as it does if they are damaged.
    """
    job = FetchJob(due.digest, due.url, due.kind, order=due.place, request=request, held=held)
    is_damaged = due.warc in lost_files or (due.unread_links and due.failures > 0)
    if not due.last or due.at is None or is_damaged:
        return job
    return job._replace(
        last=KnownCapture(due.last, spell(due.at), due.url),
        validators=(due.etag, due.modified),
        body=ArchivePlace(due.warc, due.offset, due.length),
        unread_links=due.unread_links,
    )
