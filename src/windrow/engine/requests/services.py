"""The requests of steps to services, which are stored and made like the other requests of their collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from windrow.contract import Ask, Collection, PendingAsk
from windrow.engine.crawl.crawling import CrawlDispatcher
from windrow.engine.requests.answers import KeptAnswer, request_of, service_request
from windrow.engine.requests.following import kept_answer
from windrow.engine.requests.origin_rules import (
    LAST_ATTEMPTS,
    REQUEST_CRAWL,
    SERVICE,
    failures_in_row,
    is_answer,
    service_of,
)
from windrow.engine.run import HarvestRun
from windrow.errors import ConfigError, StepError
from windrow.model import Allowed, FoundUrl, RecordedAttempt, Site, Source
from windrow.settings.configuration import credentials_of
from windrow.settings.kinds import split_address


def service_sources(collection: Collection, settings: Mapping[str, Any], root: Path, agent: str) -> tuple[Source, ...]:
    """Return the services of a collection that have an address in the configuration, each as a source.

    `settings` maps dotted names of settings to values. `root` is the folder of the workspace, and `agent` is the user
    agent. Raises ConfigError if an address or a secret is not valid.
    """
    sources = []
    for service in collection.configuration.services:
        url = settings.get(service.setting)
        if not url:
            continue
        address = split_address(str(url), root)
        if address.scheme not in {"http", "https"}:
            raise ConfigError(f"{service.setting} is {url!r}, not an http or https address", hint="windrow config")
        service_options = {
            name: settings[setting] if isinstance(setting := getattr(service, name), str) else setting
            for name in ("connections", "seconds", "largest", "busy")
        }
        # Connections to a private IP address are allowed, since the setting names the host.
        site = Site(**address._asdict(), agent=agent, allowed=Allowed(hosts=(address.host,)))
        secret = settings.get(service.secret) if service.secret else None
        try:
            placement = (service.secret_header, service.secret_query, service.secret_prefix)
            credentials = credentials_of(secret, *placement) if secret else ()
        except ConfigError as error:
            raise ConfigError(f"{service.secret}: {error}", hint="windrow config") from None
        options = {SERVICE: replace(service, **service_options)}
        sources.append(Source(service.name, collection.name, site, options=options, credentials=credentials))
    return tuple(sources)


def is_archived(source: Source) -> bool:
    """Return whether the responses of a source are archived, so that a replay can read them."""
    service = service_of(source)
    return service is None or service.archived


class ServiceRequest(NamedTuple):
    """A step's request to a service: the source that represents the service, and the request as an address."""

    source: Source
    address: FoundUrl


class ServiceRequests:
    """Makes the requests of a run's steps to services, and finds their answers."""

    def __init__(self, run: HarvestRun) -> None:
        self._run = run
        self._sources = {service.name: service for service in run.harvest.services}
        self.has_asked = False  # whether any request was made in this run
        self.given_up: set[str] = set()  # names of services that are not requested again in this run
        self.without_address: set[str] = set()  # names of services that steps need and that have no address
        self._lost: list[int] = []  # requests whose answers were deleted before the step read them
        # All declared services, since one without an address still defines what counts as an answer.
        self._services = {service.name: service for service in run.collection.configuration.services}

    def request_for(self, ask: Ask, recorded: RecordedAttempt) -> ServiceRequest | None:
        """Return a step's request to a service, or None if the configuration has no address for the service.

        Raises StepError if the service or the method is not declared, or if the request is not valid.
        """
        service = self._services.get(ask.service)
        if service is None:
            raise StepError(f"the step asks a service {ask.service!r}, which its collection does not declare")
        if ask.method not in service.methods:
            declared = ", ".join(service.methods)
            raise StepError(f"the step asks {ask.service} by {ask.method}, but its collection declares only {declared}")
        if (source := self._sources.get(ask.service)) is None:
            return None
        response = recorded.attempt.kept
        digest = response.digest if response else ""
        return ServiceRequest(
            source, service_request(ask, source.site.address(), recorded.seq, digest, recorded.attempt.started)
        )

    def store_requests(self, wanted: Iterable[tuple[RecordedAttempt, Source, FoundUrl]]) -> None:
        """Store requests of steps on the ledger, and which attempts wait for them. Known requests are not changed."""
        run, name = self._run, self._run.collection.name
        with run.ledger.writing() as writer:
            for recorded, source, url in wanted:
                host = run.ledger.addresses.host(url.origin, name, source.name)
                if host is None:
                    host = writer.addresses.add_host(run.session, name, source.name, url.origin)
                    writer.flush()
                writer.addresses.add(host, recorded.attempt.target, [url])
                writer.requests.ask(recorded.seq, host, url.digest)

    def answers(self, waits: Sequence[PendingAsk]) -> dict[str, KeptAnswer] | None:
        """Return a dict from the name of each request in `waits` to its answer, or None if an answer is missing.

        If a service in `waits` had no address and has one now, the step must run again to ask it. In this case, the
        answers that exist are returned.
        """
        unsent = {wait.name for wait in waits if not wait.address}  # names of services
        latest_answers = {wait.name: self._find_answer(wait.address) for wait in waits if wait.address}
        answers = {name: answer for name, answer in latest_answers.items() if answer is not None}
        self.without_address |= unsent - self._sources.keys()
        is_complete = not unsent and len(answers) == len(latest_answers)
        return answers if is_complete or unsent & self._sources.keys() else None

    def _find_answer(self, address: int) -> KeptAnswer | None:
        """Return the latest answer to the request with this number, or None if it has not been answered.

        A request that failed for good is not made again. A request whose answer was deleted before a step read it is
        noted, to be made again.
        """
        ledger, name = self._run.ledger, self._run.collection.name
        attempts = ledger.requests.attempts(name, address, LAST_ATTEMPTS)
        for attempt in attempts:
            service = self._services.get(attempt.source)
            if service is None or (attempt.reason is None and not attempt.kept):
                if attempt is attempts[0] and attempt.digest:
                    self._lost.append(address)
                continue
            tries = failures_in_row(service, [recent.reason for recent in attempts]) if attempt is attempts[0] else 1
            if not is_answer(service, attempt.status, attempt.reason, tries):
                continue
            recorded = ledger.attempts.by_numbers([attempt.attempt])[0]
            if recorded.attempt.kept is not None:
                return kept_answer(self._run, recorded)._replace(reason=attempt.reason)
            with ledger.writing() as writer:
                writer.addresses.set_due(name, [address], None, attempt.source)  # not requested again
            answer = recorded.attempt
            request = request_of(answer.url, ledger.requests.of_attempt(attempt.attempt))
            return KeptAnswer(request, answer.url, answer.status or 0, answer.started, None, reason=answer.reason)
        return None

    def fetch(self) -> bool:
        """Make the requests to services that are due. Return whether at least one was made."""
        run = self._run
        if self._lost:
            with run.ledger.writing() as writer:
                writer.addresses.set_due(run.collection.name, self._lost, 1)
            self._lost.clear()
        last_before = run.ledger.attempts.last_number()
        services = [service for service in run.harvest.services if service.name not in self.given_up]
        if not services:
            return False
        with CrawlDispatcher(run, REQUEST_CRAWL, services) as dispatcher:
            dispatcher.run()
            self.given_up |= dispatcher.sources_given_up()
        has_made_request = run.ledger.attempts.last_number() > last_before
        self.has_asked |= has_made_request
        return has_made_request

    def drop_unarchived(self, waiting: Iterable[Sequence[PendingAsk]]) -> None:
        """Delete the bytes of unarchived answers, except those that the asks of waiting documents (`waiting`) need."""
        run = self._run
        if not (answers := run.ledger.requests.unarchived(run.collection.name)):
            return
        needed = {wait.address for waits in waiting for wait in waits}
        unneeded = [answer for answer in answers if answer.address not in needed]
        run.fetchers.close()  # a fetcher may still write to such a file
        with run.ledger.writing() as writer:
            writer.requests.drop_bytes(unneeded)
        files = sorted({answer.warc for answer in unneeded})
        for name in {*files} - run.ledger.requests.files_needed(files):
            (run.settings.archive / name).unlink(missing_ok=True)
