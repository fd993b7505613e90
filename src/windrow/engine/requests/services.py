"""What steps ask of services: put on the ledger as requests of their collection, and fetched as all requests are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from windrow.contract import Ask, Collection, PendingAsk
from windrow.engine.crawl.crawling import Crawling
from windrow.engine.requests.answers import KeptAnswer, ask_of, request_of
from windrow.engine.requests.following import kept_answer
from windrow.engine.requests.origin_rules import (
    ASKED_AS_CRAWL,
    LAST_ATTEMPTS,
    SERVICE,
    failures_in_row,
    is_answer,
    service_of,
)
from windrow.engine.run import HarvestRun
from windrow.errors import ConfigError, StepError
from windrow.model import Allowed, FoundUrl, RecordedAttempt, Site, Source
from windrow.settings.configuration import credentials_of
from windrow.settings.kinds import place


def service_sources(collection: Collection, values: Mapping[str, Any], root: Path, agent: str) -> tuple[Source, ...]:
    """Return the services of a collection that have an address, each as a source that only steps ask.

    `values` are the settings by their dotted names.
    """
    found = []
    for service in collection.configuration.services:
        url = values.get(service.setting)
        if not url:
            continue
        where = place(str(url), root)
        if where.scheme not in {"http", "https"}:
            raise ConfigError(f"{service.setting}: wanted an address of the web", hint="windrow config")
        numbers = {
            name: values[told] if isinstance(told := getattr(service, name), str) else told
            for name in ("connections", "seconds", "largest", "busy")
        }
        site = Site(**where._asdict(), agent=agent, allowed=Allowed(hosts=(where.host,)))  # its setting names it
        secret = values.get(service.secret) if service.secret else None
        try:
            where_to = (service.secret_header, service.secret_query, service.secret_prefix)
            credentials = credentials_of(secret, *where_to) if secret else ()
        except ConfigError as error:
            raise ConfigError(f"{service.secret}: {error}", hint="windrow config") from None
        options = {SERVICE: replace(service, **numbers)}
        found.append(Source(service.name, collection.name, site, options=options, credentials=credentials))
    return tuple(found)


def is_archived(source: Source) -> bool:
    """Tell whether the answers of a service are archived, so that a replay has them."""
    service = service_of(source)
    return service is None or service.archived


class ServiceRequests:
    """The services of one run."""

    def __init__(self, run: HarvestRun) -> None:
        """Ask those that the harvest names."""
        self._run = run
        self._sources = {service.name: service for service in run.harvest.services}
        self.asked = False  # whether any was in this run
        self.given_up: set[str] = set()  # those that are asked no more in this run
        self._lost: list[int] = []  # answers that are waited for, and whose bytes were not archived
        # What counts as an answer holds for those too that have no address any more.
        self._services = {service.name: service for service in run.collection.configuration.services}

    def request_for(self, ask: Ask, asker: RecordedAttempt) -> tuple[Source, FoundUrl]:
        """Return the service that is asked for a visit, and the request; StepError for one that is not declared."""
        source = self._sources.get(ask.service)
        service = service_of(source) if source else None
        if source is None or service is None:
            raise StepError(f"the step asks a service {ask.service!r}, which is not declared or has no address")
        if ask.method not in service.methods:
            raise StepError(f"the step asks {ask.service} by {ask.method}; declared is {', '.join(service.methods)}")
        kept = asker.attempt.kept
        return source, ask_of(ask, source.site.address(), asker.seq, kept.digest if kept else "")

    def put(self, wanted: Iterable[tuple[RecordedAttempt, Source, FoundUrl]]) -> None:
        """Put requests on record; those that are known stay as they are."""
        run, name = self._run, self._run.collection.name
        with run.ledger.writing() as writer:
            for recorded, source, found in wanted:
                host = run.ledger.addresses.host(found.origin, name, source.name)
                if host is None:
                    host = writer.addresses.add_host(run.session, name, source.name, found.origin)
                    writer.flush()
                writer.addresses.add(host, recorded.attempt.target, [found])
                writer.requests.ask(recorded.seq, host, found.digest)

    def answers(self, waits: Sequence[PendingAsk]) -> dict[str, KeptAnswer] | None:
        """Return what answers a visit waits for, by name; None while one is not there."""
        found = {wait.name: self._answer(wait.address) for wait in waits}
        return None if None in found.values() else {name: kept for name, kept in found.items() if kept}

    def _answer(self, address: int) -> KeptAnswer | None:
        """Return the last attempt at a request that is its answer."""
        ledger, name = self._run.ledger, self._run.collection.name
        attempts = ledger.requests.attempts(name, address, LAST_ATTEMPTS)
        for one in attempts:
            service = self._services.get(one.source)
            if service is None or (one.reason is None and not one.kept):
                if one is attempts[0] and one.digest:
                    self._lost.append(address)
                continue
            tries = failures_in_row(service, [one.reason for one in attempts]) if one is attempts[0] else 1
            if not is_answer(service, one.status, one.reason, tries):
                continue
            recorded = ledger.attempts.visits_named([one.visit])[0]
            if recorded.attempt.kept is not None:
                return kept_answer(self._run, recorded)._replace(reason=one.reason)
            with ledger.writing() as writer:
                writer.addresses.due_at(name, [address], None)  # it is not asked again
            attempt = recorded.attempt
            request = request_of(attempt.url, ledger.requests.asked(one.visit))
            return KeptAnswer(request, attempt.url, attempt.status or 0, attempt.started, None, reason=attempt.reason)
        return None

    def fetch(self) -> bool:
        """Ask what is due; tell whether anything was asked."""
        run = self._run
        if self._lost:
            with run.ledger.writing() as writer:
                writer.addresses.due_at(run.collection.name, self._lost, 1)
            self._lost.clear()
        before = run.ledger.attempts.last_visit()
        services = [service for service in run.harvest.services if service.name not in self.given_up]
        if not services:
            return False
        with Crawling(run, ASKED_AS_CRAWL, services) as crawling:
            crawling.run()
            self.given_up |= crawling.given_up()
        helped = run.ledger.attempts.last_visit() > before
        self.asked |= helped
        return helped

    def drop_unarchived(self, waiting: Iterable[Sequence[PendingAsk]]) -> None:
        """Remove the bytes of answers that are not archived, but for those that are waited for.

        The ledger forgets first where they lie: what a killed run left of them is removed when the next one begins.
        """
        run = self._run
        if not (answers := run.ledger.requests.unarchived(run.collection.name)):
            return
        needed = {one.address for some in waiting for one in some}
        done = [answer for answer in answers if answer.address not in needed]
        run.crew.close()  # a fetcher may write to such a file still
        with run.ledger.writing() as writer:
            writer.requests.drop_bytes(done)
        files = sorted({one.warc for one in done})
        for name in {*files} - run.ledger.requests.files_needed(files):
            (run.archive / name).unlink(missing_ok=True)
