"""Crawl: walk hosts in parallel, hand out the due addresses of the ledger, and store those that are found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import TracebackType
from typing import Self

from windrow.clock import now, spell
from windrow.contract import NOT_MODIFIED, Crawl
from windrow.contract.discoveries import BEHIND
from windrow.engine.captures.shared_answers import SharedAnswers
from windrow.engine.crawl.asking import RedirectChains
from windrow.engine.fetchers.message import AttemptEnded, BatchBroken, BatchEnded, CrawlOrigin, Event
from windrow.engine.listed.connection_pool import LONGEST
from windrow.engine.requests.answers import context_of
from windrow.engine.requests.following import AnswerFollower
from windrow.engine.requests.origin_rules import LAST_ATTEMPTS, SERVICE, failures_in_row, service_of
from windrow.engine.run import Close, HarvestRun, release
from windrow.errors import Stopped
from windrow.ledger import LedgerWriter
from windrow.ledger.addresses import ABOVE_EVERY_ORDER
from windrow.ledger.rows import CapturedRow
from windrow.ledger.sessions import OTHER_RULES, RuleCount
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import Attempt, FetchJob, FoundUrl, HeldAnswer, HttpRequest, KnownCapture, Source
from windrow.reasons import Reason

MAX_PER_HOST = 128
"""Addresses handed out per host at most; it gets more once half of its share is done."""

MAX_IN_HAND = 32_768
"""Addresses handed out to all hosts together, about: with many hosts each gets fewer."""

MIN_PER_HOST = 8
"""Addresses handed out per host at least, however many hosts there are."""

SEEDS_NAMED = 5
"""Failed seeds named in the comment of a source."""

MAX_RULES = 50
"""Rules of a source whose left-out addresses are counted separately."""

PATIENCE = 60.0
"""Seconds that a run waits at most for a busy service; after that the rest is for the next run."""

ENDLESS = "{}, where new addresses bring nothing new"
REDIRECT = 300

_UNKNOWN = KnownCapture()


@dataclass(slots=True)
class _Host:
    """An origin in this run; `handed_out` has pause, failures and kind of each address that was handed out."""

    seq: int
    source: Source
    origin: str
    handed_out: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    walk: int = 0  # the number of its walk, 0 while it has none
    given_up: bool = False  # for this run
    endless: bool = False  # its new addresses have long brought nothing new
    exhausted: bool = False  # no further address of it is due
    deaths: int = 0
    suspect: int = 0  # an address while reading whose response a process died once


@dataclass(slots=True)
class _Tally:
    """The counts of one source in this run."""

    task: int
    handed_out: int = 0
    attempts: int = 0
    shared: int = 0  # responses that another collection got in this run
    found: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    origins: set[str] = field(default_factory=set)  # the origins of its seeds
    ended: str = ""  # why its discovery ended, if that says so
    seeds: set[int] = field(default_factory=set)  # its seed pages, and the targets of their redirects
    pages: int = 0  # responses with a page, or 304 for an unchanged one
    empty_seeds: list[str] = field(default_factory=list)  # why seeds returned no page
    left: dict[tuple[Reason, str], tuple[int, str]] = field(default_factory=dict)  # by rule: the count, and the first
    broken: str = ""
    failed: bool = False
    why: Reason | None = None


class CrawlDispatcher:
    """Hands out addresses to the fetchers, and stores every attempt in the ledger."""

    def __init__(self, run: HarvestRun, crawl: Crawl, sources: Sequence[Source] | None = None) -> None:
        """Crawl the active sources of a run's harvest, or those given."""
        self._run = run
        self._crawl = crawl
        harvested = [source for source in run.harvest.sources if source.site.scheme] if sources is None else sources
        self._sources = {source.name: source for source in harvested if source.active}
        self._tallies = {name: _Tally(run.open_task(1, name)) for name in self._sources}
        self._hosts: dict[int, _Host] = {}
        self._walks: dict[int, _Host] = {}
        self._share = MAX_PER_HOST  # addresses that may be handed out per host
        self._origins: dict[tuple[str, str], int] = {}  # by origin and, if each source has hosts of its own, by source
        for host in run.ledger.addresses.hosts_crawled(run.collection.name):
            self._origins[self._origin_key(host.source, host.origin)] = host.seq
            if host.source in self._sources:
                self._hosts[host.seq] = _Host(host.seq, self._sources[host.source], host.origin)
        self._shared = SharedAnswers(run)
        self._redirects = RedirectChains()
        self._pauses = run.ledger.addresses.rests(int(now().timestamp()))
        self._share_out()
        self._short_hosts = set(self._hosts)  # hosts that may need more addresses
        self._following = AnswerFollower(run, self._sources_by_request()) if crawl.by_request else None
        self._began = int(now().timestamp())
        self._in_hand = 0  # addresses handed out and not done, of all hosts
        self._handed_out = 0
        self._halted = False

    def run(self) -> None:
        """Crawl until no address is due, or a person stops the run."""
        run = self._run
        self._store_seeds()
        run.progress.begin("crawling", None)
        while True:
            if not run.stopping():
                self._hand_out_more()
            elif not self._halted:
                self._halted = True
                run.crew.halt()
            busy = not run.stopping() and self._follow_answers()
            if not self._in_hand and not busy and (run.stopping() or not self._await_services()):
                break
            events = run.crew.events(0.0 if busy else 0.05)
            if events:
                with run.ledger.writing() as writer:
                    for event in events:
                        self._record_event(writer, event)
            run.tick()

    def __enter__(self) -> Self:
        """Return the dispatcher; the end of the block closes the sources' tasks."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the sources' tasks, as failed after an error; a run stopped at once leaves them open."""
        self._shared.close(self._sources.values())
        parts: list[Close] = [self._run.progress.end]
        if not isinstance(error, KeyboardInterrupt | Stopped):
            parts.insert(0, lambda: self._close_tasks(error))
        release(parts, error)

    def _await_services(self) -> bool:
        """Return whether a request to a busy service is due within PATIENCE; hosts with due requests are used again."""
        at, soonest = int(now().timestamp()), None
        for host in self._hosts.values():
            if not host.given_up and service_of(host.source) is not None:
                due_at = self._run.ledger.addresses.next_due(host.seq)
                if due_at is not None and due_at <= at:
                    host.exhausted = False
                    self._short_hosts.add(host.seq)
                soonest = due_at if soonest is None or (due_at is not None and due_at < soonest) else soonest
        room = self._run.limit is None or self._handed_out < self._run.limit
        return room and soonest is not None and soonest - at <= PATIENCE

    def given_up(self) -> set[str]:
        """Return the names of the sources with an origin that is given up for this run."""
        return {host.source.name for host in self._hosts.values() if host.given_up}

    def _sources_by_request(self) -> list[Source]:
        """Return the sources without services, which only steps ask."""
        return [source for source in self._sources.values() if SERVICE not in source.options]

    def _follow_answers(self) -> bool:
        """Follow stored answers; return whether there were any."""
        if self._following is None:
            return False
        outcomes = self._following.step(self._add_urls)
        for outcome in outcomes:
            tally = self._tallies[outcome.source]
            tally.found += outcome.found
            tally.ended = outcome.end or tally.ended
            if outcome.reason:
                tally.reasons[outcome.reason] += 1
        return bool(outcomes)

    def _store_seeds(self) -> None:
        """Store the seeds of the sources; hosts that were taken down are not walked."""
        run = self._run
        for number in run.ledger.takedowns.hosts() & set(self._hosts):
            self._hosts[number].given_up = True
        with run.ledger.writing() as writer:
            for source in self._sources.values():
                seeds = self._seeds(source)
                self._tallies[source.name].origins.update(seed.origin for seed in seeds)
                self._tallies[source.name].seeds.update(seed.digest for seed in seeds if seed.kind == self._crawl.page)
                self._add_urls(writer, source, 0, seeds)
                if self._following is not None and SERVICE not in source.options:
                    self._following.move(writer, source, seeds)

    def _seeds(self, source: Source) -> Sequence[FoundUrl]:
        if self._following is None:
            return self._crawl.seeds(source, self._run.harvest.options)
        return () if SERVICE in source.options else self._following.begin(source)

    def _close_tasks(self, error: BaseException | None) -> None:
        """Close the task of each source with its counts, after `error` as failed."""
        for name, tally in self._tallies.items():
            if error is None:
                self._check_seeds(name, tally)
                self._count_trapped(name, tally)
                self._record_left_out(name, tally)
            reasons = ", ".join(f"{reason} {count}" for reason, count in tally.reasons.most_common(5))
            comment = f"{name}: {tally.attempts} asked, {tally.found} found" + (f" ({reasons})" if reasons else "")
            comment += f"; {tally.shared} were asked for another collection in this run" if tally.shared else ""
            comment += f"; {tally.ended}" if tally.ended else ""
            comment += f"; {tally.broken}" if tally.broken else ""
            most = self._sources[name].most
            comment += f"; no more were asked, for one run asks {most} at most" if 0 < most <= tally.handed_out else ""
            comment += f"; {error}" if error else ""
            failed, reason = tally.failed or error is not None, tally.why if tally.failed else None
            self._run.close_task(tally.task, comment, getattr(error, "reason", None) or reason, failed=failed)

    def _check_seeds(self, name: str, tally: _Tally) -> None:
        """Mark a source failed if none of its seeds returned a page, now or, without requests, in the last run."""
        if not tally.attempts and not tally.handed_out:
            tally.empty_seeds = self._earlier_seed_faults(name, tally)
        if tally.empty_seeds and not tally.pages:
            tally.failed = True
            tally.broken = "; ".join(filter(None, [*tally.empty_seeds[:SEEDS_NAMED], tally.broken]))

    def _earlier_seed_faults(self, name: str, tally: _Tally) -> list[str]:
        """Return why each seed of a source had no page last time; empty if one had a page or was never requested."""
        run, reasons = self._run, []
        why_no_page = self._crawl.why_no_page
        for digest in sorted(tally.seeds)[: SEEDS_NAMED + 1] if why_no_page else ():
            address_row = run.ledger.addresses.get(run.collection.name, digest)
            last_attempts = run.ledger.attempts.of_address(address_row.host, digest)[-1:] if address_row else []
            if address_row is None or not last_attempts:
                return []
            row = last_attempts[0]
            attempt = Attempt(digest, address_row.url, row.kind, row.allowed, row.started, row.seconds, row.status)
            attempt = attempt._replace(reason=row.reason, message=row.message or "", location=row.location or "")
            reason = why_no_page(self._sources[name], attempt) if why_no_page else ""
            if not reason:
                return []
            reasons.append(reason)
        sources = run.ledger.addresses.by_source(int(now().timestamp())) if reasons else ()
        return [] if any(source.source == name and source.pages for source in sources) else reasons

    def _count_trapped(self, name: str, tally: _Tally) -> None:
        for host in self._hosts.values():
            if host.endless and host.source.name == name:
                number, example = self._run.ledger.addresses.never_asked(host.seq)
                if number:
                    tally.left[Reason.CRAWLER_TRAP, ENDLESS.format(host.origin)] = (number, example)

    def _record_left_out(self, name: str, tally: _Tally) -> None:
        """Store how many addresses each rule left out, as one task per rule."""
        run = self._run
        rules = sorted(tally.left.items(), key=lambda entry: -entry[1][0])
        with run.ledger.writing() as writer:
            for (reason, rule), (count, url) in rules:
                task = writer.sessions.open_task(run.session, run.collection.name, name, 1)
                message = RuleCount(name, reason, rule, count, url).spelt()
                writer.sessions.close_task(task, reason, message, failed=False)

    def _hand_out_more(self) -> None:
        """Hand out addresses to each host that has too few."""
        short, self._short_hosts = self._short_hosts, set()
        for number in sorted(short):
            host = self._hosts[number]
            if not host.given_up and not host.exhausted and self._is_short(host):
                self._hand_out(host)

    def _share_out(self) -> None:
        """Divide MAX_IN_HAND among the hosts."""
        self._share = max(MIN_PER_HOST, min(MAX_PER_HOST, MAX_IN_HAND // max(1, len(self._hosts))))

    def _is_short(self, host: _Host) -> bool:
        return len(host.handed_out) <= self._share // 2

    def _hand_out(self, host: _Host) -> None:
        """Hand out due addresses of a host; start its walk if it has none."""
        run, share = self._run, self._share
        tally, most = self._tallies[host.source.name], host.source.most
        count = share if run.limit is None else min(share, run.limit - self._handed_out)
        count = min(count, most - tally.handed_out) if most else count
        # Requests may be due again every second: a run makes those that were due when it began.
        at = self._began if self._following and not service_of(host.source) else int(now().timestamp())
        priority_limit = BEHIND if host.endless else ABOVE_EVERY_ORDER
        rows = run.ledger.addresses.due(host.seq, at, count + len(host.handed_out), priority_limit) if count > 0 else []
        fresh = [row for row in rows if row.digest not in host.handed_out][:count]
        host.exhausted = len(fresh) < count
        if not fresh or (not host.walk and not self._start_walk(host)):
            return
        requests = self._requests_at(host, fresh)
        held_answers = {} if service_of(host.source) else self._shared.of(host.source, host.origin, fresh, requests)
        for row in fresh:
            request = requests.get(row.digest)
            pause = context_of(request).get("every") or 0 if request else row.pause
            host.handed_out[row.digest] = (pause, row.failures, row.kind)
        jobs = [_make_job(row, requests.get(row.digest), held_answers.get(row.digest)) for row in fresh]
        run.crew.submit(host.walk, jobs)
        self._in_hand += len(fresh)
        self._handed_out += len(fresh)
        tally.handed_out += len(fresh)

    def _requests_at(self, host: _Host, rows: Sequence[DueAddress]) -> dict[int, HttpRequest]:
        """Return the requests of addresses that are not plain GETs, with the places of documents that they send."""
        if self._following is None and service_of(host.source) is None:
            return {}
        run = self._run
        requests = run.ledger.addresses.requests(host.seq, [row.digest for row in rows])
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
        """Start the walk of a host, or give it up if its pause is too long for a run; return whether it started."""
        run = self._run
        wait = max(0.0, self._pauses.get(host.origin, 0) - now().timestamp())
        if wait > LONGEST:
            host.given_up = True
            message = f"{host.origin} asked to be left alone for {wait:.0f} seconds more"
            self._record_give_up(host, Reason.RATE_LIMITED, message)
            return False
        host.walk = run.next_batch()
        self._walks[host.walk] = host
        shared, options = self._shared, run.harvest.options
        wait = max(wait, shared.wait(host.source, host.origin))
        rules, last = shared.rules(host.source, host.origin), shared.last(host.origin)
        run.crew.start_walk(CrawlOrigin(host.walk, host.source, host.origin, self._crawl, options, wait, rules, last))
        return True

    def _record_give_up(self, host: _Host, reason: Reason, message: str) -> None:
        """Record why a host was given up; its source has failed if one of its seeds is there."""
        tally = self._tallies[host.source.name]
        tally.broken, tally.why = message, reason
        tally.failed = tally.failed or host.origin in tally.origins

    def _record_event(self, writer: LedgerWriter, event: Event) -> None:
        if isinstance(event, AttemptEnded):
            self._record_attempt(writer, self._walks[event.batch], event)
        elif isinstance(event, BatchEnded) and event.batch in self._walks:  # else of a listing left behind
            self._end_walk(writer, self._walks.pop(event.batch), event)

    def _record_attempt(self, writer: LedgerWriter, host: _Host, event: AttemptEnded) -> None:
        event = self._redirects.limit_chain(event)
        run, attempt, tally = self._run, event.attempt, self._tallies[host.source.name]
        again, failed = None, _has_failed(attempt)
        if attempt.kind == self._crawl.beside:  # it may have become a page meanwhile, due again
            host.exhausted = False
        if attempt.target in host.handed_out:
            pause, failures, _ = host.handed_out.pop(attempt.target)
            self._in_hand -= 1
            if self._is_short(host):
                self._short_hosts.add(host.seq)
            failures = failures + 1 if failed else 0
            tries = (self._final_failures(writer, host.source, attempt) if failed else 0) or failures
            due_at, interval = self._crawl.next_due(host.source, attempt, pause, tries)
            again = (self._after_this_run(due_at) if event.held else due_at, interval, failures)
        fact = writer.attempts.record_attempt(run.session, host.seq, attempt, again=again, beside=self._crawl.beside)
        if event.held and attempt.kept:
            row = CapturedRow(fact, event.held, "", "", "", attempt.kept.place.warc, attempt.kept.place.offset)
            writer.captures.record_taken(fact, run.collection.name, host.source.name, row, 0)
            tally.shared += 1
        else:
            self._shared.note(host.origin, attempt)
        if attempt.wait:
            until = self._pauses[host.origin] = math.ceil(attempt.started.timestamp() + attempt.seconds + attempt.wait)
            writer.addresses.record_pause(host.origin, until)
        tally.attempts += attempt.status is not None and not event.held
        if attempt.reason:
            tally.reasons[attempt.reason] += 1
        tally.found += len(event.found)
        if self._following is not None:
            self._following.note_answers(host.source.name)
        self._check_seed(host.source, tally, event)
        for left_out in event.left:
            rule = (left_out.reason, left_out.rule) if len(tally.left) < MAX_RULES else (left_out.reason, OTHER_RULES)
            count, example = tally.left.get(rule, (0, left_out.url))
            tally.left[rule] = (count + 1, example)
        host.endless = host.endless or event.endless
        if event.found:
            self._add_urls(writer, host.source, attempt.target, event.found)
        run.progress.step(1, failed)

    def _after_this_run(self, due: int | None) -> int | None:
        """Return a due time after the start of this run: an older response must not be taken twice in it."""
        return None if due is None else max(due, self._began + 1)

    def _final_failures(self, writer: LedgerWriter, source: Source, attempt: Attempt) -> int:
        """Count failures in a row for reasons that the service declares final; 0 for another reason."""
        service = service_of(source)
        if service is None or attempt.reason not in service.final:
            return 0
        writer.flush()
        earlier = self._run.ledger.requests.attempts(self._run.collection.name, attempt.target, LAST_ATTEMPTS)
        return failures_in_row(service, [attempt.reason, *(row.reason for row in earlier)])

    def _check_seed(self, source: Source, tally: _Tally, event: AttemptEnded) -> None:
        """Count the pages of a source, and note why a seed returned none."""
        attempt, why_no_page = event.attempt, self._crawl.why_no_page
        if attempt.kind != self._crawl.page or attempt.status is None:
            return
        tally.pages += attempt.status == NOT_MODIFIED or (attempt.status < REDIRECT and not attempt.reason)
        if why_no_page is None or attempt.target not in tally.seeds:
            return
        if reason := why_no_page(source, attempt):
            tally.empty_seeds.append(reason)
        elif attempt.location:
            tally.seeds.update(url.digest for url in event.found)

    def _add_urls(self, writer: LedgerWriter, source: Source, via: int, urls: Sequence[FoundUrl]) -> None:
        """Store addresses, each with its host."""
        by_host: dict[int, list[FoundUrl]] = {}
        for url in urls:
            key = self._origin_key(source.name, url.origin)
            host_number = self._origins.get(key)
            if host_number is None:
                host_number = self._add_host(writer, source, url.origin)
                self._origins[key] = host_number
                self._hosts[host_number] = _Host(host_number, source, url.origin)
                self._share_out()
            by_host.setdefault(host_number, []).append(url)
        for host_number, added in by_host.items():
            writer.addresses.add(host_number, via, added, page=self._crawl.page, beside=self._crawl.beside)
            if any(map(attrgetter("hinted"), added)):
                writer.addresses.hint(host_number, added, self._crawl.rest)
            if host_number in self._hosts:
                self._hosts[host_number].exhausted = False
                self._short_hosts.add(host_number)

    def _origin_key(self, source: str, origin: str) -> tuple[str, str]:
        """Return the key of an origin; its source is part of it if the collection works by requests."""
        return origin, source if self._crawl.by_request else ""

    def _add_host(self, writer: LedgerWriter, source: Source, origin: str) -> int:
        """Return the number of an origin, stored if it is new; a known one is assigned to this source."""
        run = self._run
        host_number = run.ledger.addresses.host(origin, run.collection.name, self._origin_key(source.name, origin)[1])
        if host_number is None:
            return writer.addresses.add_host(run.session, run.collection.name, source.name, origin)
        writer.addresses.give_host(host_number, source.name)
        return host_number

    def _end_walk(self, writer: LedgerWriter, host: _Host, event: BatchEnded) -> None:
        """End the walk of a host, or allow another one if its process died."""
        broken = event.broken
        assert broken is not None
        if event.culprit in host.handed_out:
            self._record_harm(writer, host, broken, event.culprit or 0)
        self._in_hand -= len(host.handed_out)
        host.handed_out.clear()  # some may not have reached the process
        self._short_hosts.add(host.seq)
        host.walk = 0
        host.deaths += not event.spared
        again = broken.reason is Reason.INTERRUPTED or (broken.reason is Reason.TIME_LIMIT and event.culprit)
        host.given_up, host.exhausted = not (again and host.deaths < host.source.attempts), False
        if host.given_up and broken.reason is not Reason.STOPPED:
            self._record_give_up(host, broken.reason, broken.describe(host.source.name))
        writer.flush()

    def _record_harm(self, writer: LedgerWriter, host: _Host, broken: BatchBroken, culprit: int) -> None:
        """Record that a response ended its process: after a time limit at once, otherwise at the second time."""
        reason = Reason.TIME_LIMIT
        if broken.reason is not Reason.TIME_LIMIT:
            if host.suspect != culprit:
                host.suspect = culprit
                return
            reason = Reason.WORKER_DIED
        attempt = Attempt(culprit, "", host.handed_out[culprit][2], True, now(), 0.0, reason=reason)
        self._record_attempt(writer, host, AttemptEnded(0, attempt))


def _has_failed(attempt: Attempt) -> bool:
    return attempt.reason is not None or attempt.status is None or attempt.status >= 400


def _make_job(row: DueAddress, request: HttpRequest | None, held_answer: HeldAnswer | None) -> FetchJob:
    previous = KnownCapture(row.last, spell(row.at), row.url) if row.last and row.at else _UNKNOWN
    return FetchJob(row.digest, row.url, row.kind, previous, (row.etag, row.modified), row.place, request, held_answer)
