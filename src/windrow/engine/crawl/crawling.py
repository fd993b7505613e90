"""Crawl: hosts walked side by side, each fed from the ledger's addresses, what they find put there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from windrow.clock import now
from windrow.contract import NOT_MODIFIED, Crawl
from windrow.contract.discoveries import BEHIND
from windrow.engine.captures.shared_answers import SharedAnswers
from windrow.engine.crawl.asking import RedirectChains
from windrow.engine.fetchers.message import AttemptEnded, BatchBroken, BatchEnded, Event, WalkOrigin
from windrow.engine.listed.connection_pool import LONGEST
from windrow.engine.requests.answers import context_of
from windrow.engine.requests.following import AnswerFollower, place_of
from windrow.engine.requests.origin_rules import LAST_ATTEMPTS, SERVICE, failures_in_row, service_of
from windrow.engine.run import Close, HarvestRun, release
from windrow.errors import Stopped
from windrow.formats.warc import stamp
from windrow.ledger import LedgerWriter
from windrow.ledger.addresses import EVERY
from windrow.ledger.rows import CapturedRow
from windrow.ledger.sessions import OTHER_RULES, RuleCount
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import Attempt, FetchJob, FoundUrl, HeldAnswer, HttpRequest, KnownCapture, Source
from windrow.reasons import Reason

FEED = 128
"""Addresses given to a host's walker at a time at most, and half of it what it has left when it gets more."""

OUT = 32_768
"""Addresses that all walkers together have in hand, or a little more: many hosts get fewer each."""

LEAST = 8
"""Addresses given to a host's walker however many hosts there are."""

SEEDS = 5
"""Seeds that gave nothing and are told of."""

RULES = 50
"""Rules of a source whose left-out addresses are counted each by itself."""

PATIENCE = 60.0
"""Seconds that a run waits at most for a service that declined, before it leaves the rest to the next run."""

ENDLESS = "{}, where new addresses bring nothing new"
REDIRECT = 300

_UNKNOWN = KnownCapture()


@dataclass(slots=True)
class _Host:
    """An origin while it is walked; `handed_out` has pause, failures and kind of the addresses that are out."""

    seq: int
    source: Source
    origin: str
    handed_out: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    walk: int = 0  # the number of its walk, 0 while nobody walks it
    given_up: bool = False  # for this run
    endless: bool = False  # for long none of its new addresses brought anything new
    exhausted: bool = False  # nothing more of it is due
    deaths: int = 0
    suspect: int = 0  # an address over whose bytes a process has died once


@dataclass(slots=True)
class _Tally:
    """What became of a source's visits."""

    task: int
    given: int = 0
    visits: int = 0
    shared: int = 0  # answers that another collection got in this run
    found: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    origins: set[str] = field(default_factory=set)  # those that it begins at
    ended: str = ""  # why nothing follows, where that is told
    seeds: set[int] = field(default_factory=set)  # the pages that it begins at, and those that they lead to
    pages: int = 0  # answers that gave a page, or said that it is the same
    empty_seeds: list[str] = field(default_factory=list)  # why seeds gave nothing
    left: dict[tuple[Reason, str], tuple[int, str]] = field(default_factory=dict)  # by rule: how many, and the first
    broken: str = ""
    failed: bool = False
    why: Reason | None = None


class Crawling:
    """The dispatcher of a crawl: addresses out to the crew, visits in, every one on the ledger."""

    def __init__(self, run: HarvestRun, crawl: Crawl, sources: Sequence[Source] | None = None) -> None:
        """Crawl the active sources of a run's harvest, or those given."""
        self._run = run
        self._crawl = crawl
        asked = [source for source in run.harvest.sources if source.site.scheme] if sources is None else sources
        self._sources = {source.name: source for source in asked if source.active}
        self._tallies = {name: _Tally(run.open_task(1, name)) for name in self._sources}
        self._hosts: dict[int, _Host] = {}
        self._walks: dict[int, _Host] = {}
        self._share = FEED  # addresses that a host gets at a time
        self._origins: dict[tuple[str, str], int] = {}  # by origin and, where each source has its own, by source
        for host in run.ledger.addresses.hosts_crawled(run.collection.name):
            self._origins[self._key(host.source, host.origin)] = host.seq
            if host.source in self._sources:
                self._hosts[host.seq] = _Host(host.seq, self._sources[host.source], host.origin)
        self._shared = SharedAnswers(run)
        self._redirects = RedirectChains()
        self._rests = run.ledger.addresses.rests(int(now().timestamp()))
        self._part()
        self._hungry = set(self._hosts)  # hosts to look at: they may be short of addresses
        self._following = AnswerFollower(run, self._begun()) if crawl.by_request else None
        self._began = int(now().timestamp())
        self._out = 0  # addresses in hand, of all hosts
        self._given = 0
        self._halted = False

    def run(self) -> None:
        """Go on until no address is due, or the person stops it."""
        run = self._run
        self._start()
        run.progress.begin("crawling", None)
        while True:
            if not run.stopping():
                self._feed()
            elif not self._halted:
                self._halted = True
                run.crew.halt()
            busy = not run.stopping() and self._follow()
            if not self._out and not busy and (run.stopping() or not self._await_services()):
                break
            events = run.crew.events(0.0 if busy else 0.05)
            if events:
                with run.ledger.writing() as writer:
                    for event in events:
                        self._note(writer, event)
            run.tick()

    def __enter__(self) -> Self:
        """Hold the sources' tasks, and end them at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the sources' tasks, as failed with an error; a run that is stopped at once leaves them open."""
        self._shared.close(self._sources.values())
        parts: list[Close] = [self._run.progress.end]
        if not isinstance(error, KeyboardInterrupt | Stopped):
            parts.insert(0, lambda: self._close(error))
        release(parts, error)

    def _await_services(self) -> bool:
        """Tell whether a service that declined is to be asked again soon; its hosts are looked at when it is time."""
        at, soonest = int(now().timestamp()), None
        for host in self._hosts.values():
            if not host.given_up and service_of(host.source) is not None:
                due = self._run.ledger.addresses.next_due(host.seq)
                if due is not None and due <= at:
                    host.exhausted = False
                    self._hungry.add(host.seq)
                soonest = due if soonest is None or (due is not None and due < soonest) else soonest
        room = self._run.limit is None or self._given < self._run.limit
        return room and soonest is not None and soonest - at <= PATIENCE

    def given_up(self) -> set[str]:
        """Return the sources one of whose origins is left alone for this run."""
        return {host.source.name for host in self._hosts.values() if host.given_up}

    def _begun(self) -> list[Source]:
        """Return the sources that are asked by requests: a service is asked by steps alone."""
        return [source for source in self._sources.values() if SERVICE not in source.options]

    def _follow(self) -> bool:
        """Follow answers that are on the ledger; tell whether there were any."""
        if self._following is None:
            return False
        outcomes = self._following.step(self._put)
        for outcome in outcomes:
            tally = self._tallies[outcome.source]
            tally.found += outcome.found
            tally.ended = outcome.end or tally.ended
            if outcome.reason:
                tally.reasons[outcome.reason] += 1
        return bool(outcomes)

    def _start(self) -> None:
        """Put the sources' first addresses on record; hosts that were taken down stay alone."""
        run = self._run
        for seq in run.ledger.takedowns.hosts() & set(self._hosts):
            self._hosts[seq].given_up = True
        with run.ledger.writing() as writer:
            for source in self._sources.values():
                seeds = self._seeds(source)
                self._tallies[source.name].origins.update(seed.origin for seed in seeds)
                self._tallies[source.name].seeds.update(seed.digest for seed in seeds if seed.kind == self._crawl.page)
                self._put(writer, source, 0, seeds)
                if self._following is not None and SERVICE not in source.options:
                    self._following.move(writer, source, seeds)

    def _seeds(self, source: Source) -> Sequence[FoundUrl]:
        if self._following is None:
            return self._crawl.seeds(source, self._run.harvest.options)
        return () if SERVICE in source.options else self._following.begin(source)

    def _close(self, error: BaseException | None) -> None:
        """Put the end of every source's task on record."""
        for name, tally in self._tallies.items():
            if error is None:
                self._blame_seeds(name, tally)
                self._count_endless(name, tally)
                self._leave_out(name, tally)
            told = ", ".join(f"{reason} {count}" for reason, count in tally.reasons.most_common(5))
            comment = f"{name}: {tally.visits} asked, {tally.found} found" + (f" ({told})" if told else "")
            comment += f"; {tally.shared} were asked for another collection in this run" if tally.shared else ""
            comment += f"; {tally.ended}" if tally.ended else ""
            comment += f"; {tally.broken}" if tally.broken else ""
            most = self._sources[name].most
            comment += f"; no more were asked, for one run asks {most} at most" if 0 < most <= tally.given else ""
            comment += f"; {error}" if error else ""
            failed, why = tally.failed or error is not None, tally.why if tally.failed else None
            self._run.close_task(tally.task, comment, getattr(error, "reason", None) or why, failed=failed)

    def _blame_seeds(self, name: str, tally: _Tally) -> None:
        """Let a source fail whose seeds gave nothing, in this run or, where it asked nobody, when they were asked."""
        if not tally.visits and not tally.given:
            tally.empty_seeds = self._earlier(name, tally)
        if tally.empty_seeds and not tally.pages:
            tally.failed = True
            tally.broken = "; ".join(filter(None, [*tally.empty_seeds[:SEEDS], tally.broken]))

    def _earlier(self, name: str, tally: _Tally) -> list[str]:
        """Return why the seeds of a source gave nothing when they were asked last; nothing where one gave a page."""
        run, found = self._run, []
        why_no_page = self._crawl.why_no_page
        for digest in sorted(tally.seeds)[: SEEDS + 1] if why_no_page else ():
            known = run.ledger.addresses.get(run.collection.name, digest)
            last = run.ledger.attempts.of_address(known.host, digest)[-1:] if known else []
            if known is None or not last:
                return []
            one = last[0]
            attempt = Attempt(digest, known.url, one.kind, one.allowed, one.started, one.seconds, one.status)
            attempt = attempt._replace(reason=one.reason, message=one.message or "", location=one.location or "")
            told = why_no_page(self._sources[name], attempt) if why_no_page else ""
            if not told:
                return []
            found.append(told)
        if found and any(
            one.source == name and one.pages for one in run.ledger.addresses.by_source(int(now().timestamp()))
        ):
            return []
        return found

    def _count_endless(self, name: str, tally: _Tally) -> None:
        """Count the addresses that were not asked because new ones of their host bring nothing new."""
        for host in self._hosts.values():
            if host.endless and host.source.name == name:
                number, example = self._run.ledger.addresses.never_asked(host.seq)
                if number:
                    tally.left[Reason.TRAP, ENDLESS.format(host.origin)] = (number, example)

    def _leave_out(self, name: str, tally: _Tally) -> None:
        """Put on record what rules left out of a source, as a task of each rule."""
        run = self._run
        rules = sorted(tally.left.items(), key=lambda one: -one[1][0])
        with run.ledger.writing() as writer:
            for (reason, rule), (count, url) in rules:
                task = writer.sessions.open_task(run.session, run.collection.name, name, 1)
                told = RuleCount(name, reason, rule, count, url).spelt()
                writer.sessions.close_task(task, reason, told, failed=False)

    def _feed(self) -> None:
        """Give every walker that runs short more addresses."""
        hungry, self._hungry = self._hungry, set()
        for seq in sorted(hungry):
            host = self._hosts[seq]
            if not host.given_up and not host.exhausted and self._is_short(host):
                self._serve(host)

    def _part(self) -> None:
        """Part what may be out between the hosts that there are."""
        self._share = max(LEAST, min(FEED, OUT // max(1, len(self._hosts))))

    def _is_short(self, host: _Host) -> bool:
        return len(host.handed_out) <= self._share // 2

    def _serve(self, host: _Host) -> None:
        """Give one walker more addresses, if there are any."""
        run, share = self._run, self._share
        tally, most = self._tallies[host.source.name], host.source.most
        room = share if run.limit is None else min(share, run.limit - self._given)
        room = min(room, most - tally.given) if most else room
        # What is asked by requests may be due again every second: a run asks what was due when it began.
        at = self._began if self._following and not service_of(host.source) else int(now().timestamp())
        below = BEHIND if host.endless else EVERY
        rows = run.ledger.addresses.due(host.seq, at, room + len(host.handed_out), below) if room > 0 else []
        fresh = [row for row in rows if row.digest not in host.handed_out][:room]
        host.exhausted = len(fresh) < room
        if not fresh or (not host.walk and not self._begin(host)):
            return
        asked = self._requests(host, fresh)
        held = {} if service_of(host.source) else self._shared.of(host.source, host.origin, fresh, asked)
        for row in fresh:
            told = asked.get(row.digest)
            pause = context_of(told).get("every") or 0 if told else row.pause
            host.handed_out[row.digest] = (pause, row.failures, row.kind)
        jobs = [_job(row, asked.get(row.digest), held.get(row.digest)) for row in fresh]
        run.crew.submit(host.walk, jobs)
        self._out += len(fresh)
        self._given += len(fresh)
        tally.given += len(fresh)

    def _requests(self, host: _Host, rows: Sequence[DueAddress]) -> dict[int, HttpRequest]:
        """Return what is asked at addresses where that is no plain GET; kept documents that it sends are looked up."""
        if self._following is None and service_of(host.source) is None:
            return {}
        run = self._run
        asked = run.ledger.addresses.requests(host.seq, [row.digest for row in rows])
        wanted = {part.visit for one in asked.values() for part in one.attachments}
        if not wanted:
            return asked
        places = {one.seq: place_of(run, one.attempt) for one in run.ledger.attempts.visits_named([*wanted])}
        return {
            digest: one._replace(
                attachments=tuple(part._replace(place=places.get(part.visit)) for part in one.attachments)
            )
            for digest, one in asked.items()
        }

    def _begin(self, host: _Host) -> bool:
        """Have a host walked, or leave it where it asked to be left alone for longer than a run waits."""
        run = self._run
        wait = max(0.0, self._rests.get(host.origin, 0) - now().timestamp())
        if wait > LONGEST:
            host.given_up = True
            told = f"{host.origin} asked to be left alone for {wait:.0f} seconds more"
            self._broken(host, Reason.RATE_LIMITED, told)
            return False
        host.walk = run.next_batch()
        self._walks[host.walk] = host
        shared, options = self._shared, run.harvest.options
        wait = max(wait, shared.wait(host.source, host.origin))
        rules, last = shared.rules(host.source, host.origin), shared.last(host.origin)
        run.crew.start_walk(WalkOrigin(host.walk, host.source, host.origin, self._crawl, options, wait, rules, last))
        return True

    def _broken(self, host: _Host, reason: Reason, told: str) -> None:
        """Note that a host is left; its source has failed where it begins there."""
        tally = self._tallies[host.source.name]
        tally.broken, tally.why = told, reason
        tally.failed = tally.failed or host.origin in tally.origins

    def _note(self, writer: LedgerWriter, event: Event) -> None:
        """Put an event on record."""
        if isinstance(event, AttemptEnded):
            self._record_attempt(writer, self._walks[event.batch], event)
        elif isinstance(event, BatchEnded) and event.batch in self._walks:  # else that of a listing left behind
            self._end_walk(writer, self._walks.pop(event.batch), event)

    def _record_attempt(self, writer: LedgerWriter, host: _Host, event: AttemptEnded) -> None:
        event = self._redirects.within(event)
        run, attempt, tally = self._run, event.attempt, self._tallies[host.source.name]
        again, failed = None, _failed(attempt)
        if attempt.kind == self._crawl.beside:  # it may have become a page meanwhile, to be asked once more
            host.exhausted = False
        if attempt.target in host.handed_out:
            pause, failures, _ = host.handed_out.pop(attempt.target)
            self._out -= 1
            if self._is_short(host):
                self._hungry.add(host.seq)
            failures = failures + 1 if failed else 0
            tries = (self._tries(writer, host.source, attempt) if failed else 0) or failures
            due, rest = self._crawl.again(host.source, attempt, pause, tries)
            again = (self._after_this_run(due) if event.held else due, rest, failures)
        seq = writer.attempts.record_attempt(run.session, host.seq, attempt, again=again, beside=self._crawl.beside)
        if event.held and attempt.kept:
            row = CapturedRow(seq, event.held, "", "", "", attempt.kept.place.warc, attempt.kept.place.offset)
            writer.captures.take(seq, run.collection.name, host.source.name, row, 0)
            tally.shared += 1
        else:
            self._shared.note(host.origin, attempt)
        if attempt.wait:
            until = self._rests[host.origin] = math.ceil(attempt.started.timestamp() + attempt.seconds + attempt.wait)
            writer.addresses.rest(host.origin, until)
        tally.visits += attempt.status is not None and not event.held
        if attempt.reason:
            tally.reasons[attempt.reason] += 1
        tally.found += len(event.found)
        if self._following is not None:
            self._following.note_answers(host.source.name)
        self._weigh_seed(host.source, tally, event)
        for one in event.left:
            rule = (one.reason, one.rule) if len(tally.left) < RULES else (one.reason, OTHER_RULES)
            count, first = tally.left.get(rule, (0, one.url))
            tally.left[rule] = (count + 1, first)
        host.endless = host.endless or event.endless
        if event.found:
            self._put(writer, host.source, attempt.target, event.found)
        run.progress.step(1, failed)

    def _after_this_run(self, due: int | None) -> int | None:
        """Put off when an answer is due again that is older than this harvest: it is taken once, not until it ends."""
        return None if due is None else max(due, self._began + 1)

    def _tries(self, writer: LedgerWriter, source: Source, attempt: Attempt) -> int:
        """Count how often in a row a request failed for a reason that the service declares as final; 0 for another."""
        service = service_of(source)
        if service is None or attempt.reason not in service.final:
            return 0
        writer.flush()
        earlier = self._run.ledger.requests.attempts(self._run.collection.name, attempt.target, LAST_ATTEMPTS)
        return failures_in_row(service, [attempt.reason, *(one.reason for one in earlier)])

    def _weigh_seed(self, source: Source, tally: _Tally, event: AttemptEnded) -> None:
        """Note whether a visit gave a page, and of a seed, why it gave none."""
        attempt, why_no_page = event.attempt, self._crawl.why_no_page
        if attempt.kind != self._crawl.page or attempt.status is None:
            return
        tally.pages += attempt.status == NOT_MODIFIED or (attempt.status < REDIRECT and not attempt.reason)
        if why_no_page is None or attempt.target not in tally.seeds:
            return
        if told := why_no_page(source, attempt):
            tally.empty_seeds.append(told)
        elif attempt.location:
            tally.seeds.update(one.digest for one in event.found)

    def _put(self, writer: LedgerWriter, source: Source, via: int, found: Sequence[FoundUrl]) -> None:
        """Put addresses on record, each below its host."""
        by_host: dict[int, list[FoundUrl]] = {}
        for one in found:
            key = self._key(source.name, one.origin)
            seq = self._origins.get(key)
            if seq is None:
                seq = self._host(writer, source, one.origin)
                self._origins[key] = seq
                self._hosts[seq] = _Host(seq, source, one.origin)
                self._part()
            by_host.setdefault(seq, []).append(one)
        for seq, some in by_host.items():
            writer.addresses.add(seq, via, some, page=self._crawl.page, beside=self._crawl.beside)
            if any(one.hinted for one in some):
                writer.addresses.hint(seq, some, self._crawl.rest)
            if seq in self._hosts:
                self._hosts[seq].exhausted = False
                self._hungry.add(seq)

    def _key(self, source: str, origin: str) -> tuple[str, str]:
        """Return what an origin is known by: to a crawl by itself, to what asks by requests for each source."""
        return origin, source if self._crawl.by_request else ""

    def _host(self, writer: LedgerWriter, source: Source, origin: str) -> int:
        """Put an origin on record; one that was only known from elsewhere is the source's from now on."""
        run = self._run
        seq = run.ledger.addresses.host(origin, run.collection.name, self._key(source.name, origin)[1])
        if seq is None:
            return writer.addresses.add_host(run.session, run.collection.name, source.name, origin)
        writer.addresses.give_host(seq, source.name)
        return seq

    def _end_walk(self, writer: LedgerWriter, host: _Host, event: BatchEnded) -> None:
        """Leave a host, or walk it once more where a process died under it."""
        why = event.broken
        assert why is not None
        if event.culprit in host.handed_out:
            self._blame(writer, host, why, event.culprit or 0)
        self._out -= len(host.handed_out)
        host.handed_out.clear()  # some may have been on their way to it
        self._hungry.add(host.seq)
        host.walk = 0
        host.deaths += not event.spared
        again = why.reason is Reason.INTERRUPTED or (why.reason is Reason.TIME_LIMIT and event.culprit)
        host.given_up, host.exhausted = not (again and host.deaths < host.source.attempts), False
        if host.given_up and why.reason is not Reason.STOPPED:
            self._broken(host, why.reason, why.told(host.source.name))
        writer.flush()

    def _blame(self, writer: LedgerWriter, host: _Host, why: BatchBroken, culprit: int) -> None:
        """Put on record that bytes of an address ended a process: at once where the engine ended it, else twice."""
        reason = Reason.TIME_LIMIT
        if why.reason is not Reason.TIME_LIMIT:
            if host.suspect != culprit:
                host.suspect = culprit
                return
            reason = Reason.WORKER_DIED
        attempt = Attempt(culprit, "", host.handed_out[culprit][2], True, now(), 0.0, reason=reason)
        self._record_attempt(writer, host, AttemptEnded(0, attempt))


def _failed(attempt: Attempt) -> bool:
    return attempt.reason is not None or attempt.status is None or attempt.status >= 400


def _job(row: DueAddress, request: HttpRequest | None, held: HeldAnswer | None) -> FetchJob:
    last = KnownCapture(row.last, stamp(row.at), row.url) if row.last and row.at else _UNKNOWN
    return FetchJob(row.digest, row.url, row.kind, last, (row.etag, row.modified), row.place, request, held)
