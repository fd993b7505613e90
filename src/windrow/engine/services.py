"""What steps ask of services: put on the ledger as requests of their collection, and fetched as all requests are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windrow.contract import Ask, Waits
from windrow.engine.answers import Kept, ask_of
from windrow.engine.crawling import Crawling
from windrow.engine.following import kept_answer
from windrow.engine.origin_rules import ASKED_AS_CRAWL, SERVICE
from windrow.engine.run import Run
from windrow.errors import StepError
from windrow.model import Found, Recorded, Source


class Asking:
    """The services of one run."""

    def __init__(self, run: Run) -> None:
        """Ask those that the harvest names."""
        self._run = run
        self._services = {str(one.options[SERVICE]): one for one in run.harvest.services}

    def found(self, ask: Ask) -> tuple[Source, Found]:
        """Return the service that is asked, and the request; StepError for one that is not declared."""
        source = self._services.get(ask.service)
        if source is None:
            raise StepError(f"the step asks a service {ask.service!r}, which is not declared or has no address")
        methods = source.options["methods"]
        if ask.method not in methods:
            raise StepError(f"the step asks {ask.service} by {ask.method}; declared is {', '.join(methods)}")
        return source, ask_of(ask, source.site.address())

    def put(self, wanted: Iterable[tuple[Recorded, Source, Found]]) -> None:
        """Put requests on record; those that are known stay as they are."""
        run, name = self._run, self._run.collection.name
        with run.ledger.writing() as writer:
            for recorded, source, found in wanted:
                host = run.ledger.addresses.host(found.origin, name)
                if host is None:
                    host = writer.addresses.add_host(run.session, name, source.name, found.origin)
                    writer.flush()
                writer.addresses.add(host, recorded.visit.digest, [found])

    def answers(self, waits: Sequence[Waits]) -> dict[str, Kept] | None:
        """Return what answers a visit waits for, by name; None while one is not there."""
        ledger, name = self._run.ledger, self._run.collection.name
        last = [ledger.requests.last_answer(name, one.address) for one in waits]
        if not all(last):
            return None
        by_seq = {one.seq: one for one in ledger.attempts.visits_named(last)}
        return {one.name: kept_answer(self._run, by_seq[seq]) for one, seq in zip(waits, last, strict=True)}

    def fetch(self) -> bool:
        """Ask what is due; tell whether anything was asked."""
        run = self._run
        before = run.ledger.attempts.last_visit()
        if not run.harvest.services:
            return False
        with Crawling(run, ASKED_AS_CRAWL, run.harvest.services) as crawling:
            crawling.run()
        return run.ledger.attempts.last_visit() > before
