"""Rules for requests to origins of sources with a `Requests` discovery, and to services: robots.txt, pause, retry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from windrow.contract import ASK, REQUEST, ROBOTS, Collection, Crawl, Listing
from windrow.fetch.politeness import pace, robots_state
from windrow.formats.url import normalise_typed
from windrow.model import Attempt, FetchJob, FoundUrl, LeftOut, Source
from windrow.reasons import TOO_LARGE_REASONS, Reason
from windrow.settings.configuration import Service

DEFAULT_DELAY = 1.0
"""The minimum time between two requests, in seconds, if neither the source nor its robots.txt sets it."""

SERVICE = "service"
"""The name of the option that makes a source a service for steps. Its value is the `Service` with its settings."""

MAX_UNANSWERED = 8
"""The number of requests in a row without an answer after which a service is given up for the run."""

LAST_ATTEMPTS = 50
"""The maximum number of attempts at a request that are searched for its answer, from the latest one back."""

_MINUTE, _DAY = 60, 86_400
_REFUSAL_SECONDS = 90  # the pause before a refused request is repeated: longer than a run waits for a service
_REFUSED = frozenset({401, 403, 407})  # statuses
_UNANSWERED = _REFUSED | {408, 425, 429}  # statuses below 500 that do not answer a request to a service
_PERMANENT = frozenset({400, 401, 403, 404, 405, 406, 410, 414, 422, 451})
"""Statuses that a repeated request would probably get again. Such a failure does not make the request due sooner."""


class OriginRules:
    """Implements `windrow.contract.CrawlRules` for an origin whose responses are followed, or for a service."""

    def __init__(self, source: Source, origin: str) -> None:
        """Start with robots.txt due, unless the source is a service, whose robots.txt is not requested."""
        self._origin = origin
        self._agent = source.site.agent
        self._service = service_of(source)
        self._is_service = self._service is not None
        delay = self._service.delay if self._service else source.options.get("delay", source.pace or DEFAULT_DELAY)
        self._delay = float(delay)
        self._pace = pace.Pace()
        self._robots_state = robots_state.NEW_STATE
        self._left_out: list[LeftOut] = []
        self._unanswered = 0  # the number of requests in a row that the service did not answer

    def robots(self, at: float) -> str:
        """Return the address of robots.txt if it is due at the UNIX time `at`, otherwise ""."""
        is_due = not self._is_service and at >= self._robots_state.due
        return f"{self._origin}/robots.txt" if is_due else ""

    def take_robots(self, at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Apply the response for robots.txt at the UNIX time `at`; return []. `status` is None without a response."""
        self._robots_state = robots_state.update_state(
            self._robots_state, status=status, content=body, agent=self._agent, now=at
        )
        self._left_out = robots_state.find_long_delay(self._robots_state.robots, f"{self._origin}/robots.txt")
        return []

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return the target of a redirect of robots.txt, or "" if the redirect must not be followed."""
        return robots_state.redirect_target(status, location, base, hops)

    def robots_wait(self, at: float) -> float:
        """Return the seconds until robots.txt is requested again if nothing else may be requested yet, otherwise 0."""
        if self._is_service or not self._robots_state.robots.refusal:
            return 0.0
        return max(self._robots_state.due - at, 0.001)

    def refusal(self, url: str, kind: int = REQUEST) -> Reason | None:  # noqa: ARG002 the shape of CrawlRules
        """Return why an address may not be requested now, or None if it may be requested."""
        if self._pace.given_up or self._unanswered >= MAX_UNANSWERED:
            return Reason.SITE_GIVEN_UP
        if self._is_service:
            return None
        return self._robots_state.robots.decide("/" + url.split("/", 3)[3]).reason

    def should_retry(self, reason: Reason | None, tries: int) -> bool:
        """Return whether to repeat a request at once, after `tries` attempts. `reason` is why the last one failed."""
        return pace.should_retry_at_once(reason, tries)

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return the seconds to pause after a response that took `seconds`, or None to give up the origin.

        `status` is None if the request failed. `wait` is the pause that the response asked for, in seconds.
        """
        if self._service is not None:
            return self._service_pause(self._service, status, wait)
        delay = pace.minimum_delay(self._robots_state.robots.delay, self._delay)
        self._pace = self._pace.after_answer(pace.AnswerTiming(status, seconds, wait), delay)
        return None if self._pace.given_up else self._pace.wait(delay)

    def _service_pause(self, service: Service, status: int | None, wait: float | None) -> float | None:
        """Return the seconds to pause after a service's response, or None to give up the service for the run.

        Unlike for other origins, a slow answer does not lengthen the pause. A request that failed counts as unanswered
        even if its reason is `final`, since the service may hang.
        """
        if is_answer(service, status):
            self._unanswered = 0
            return self._delay
        self._unanswered += 1
        if self._unanswered >= MAX_UNANSWERED:
            return None
        return max(self._delay, wait or (0.0 if status is None else float(service.busy)))

    def record_body(self, job: FetchJob, body: bytes) -> bool:
        """Return False: the discovery decides where a source ends."""
        del job, body
        return False

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the address and an empty list, since the discovery decides what to request."""
        del fields, body
        return url, []

    def follow(self, base: str, reference: str, kind: int = 0) -> FoundUrl | None:
        """Return None, since links are not followed."""
        del base, reference, kind
        return None

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return an empty list, since only pages need other addresses."""
        del job, fields, body
        return []

    def left_out(self) -> list[LeftOut]:
        """Return a Crawl-delay that is not kept, once, and nothing else, since links are not followed."""
        left_out, self._left_out = self._left_out, []
        return left_out

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return an empty list, so that no links are read. The discovery decides what to request."""
        del job, fields, body
        return []


def service_of(source: Source) -> Service | None:
    """Return the Service of a source that represents a service, or None for any other source."""
    service: Service | None = source.options.get(SERVICE)
    return service


def is_answer(service: Service, status: int | None, reason: Reason | None = None, tries: int = 1) -> bool:
    """Return whether a service's response is an answer, to be given to the step that asked.

    `reason` is why the attempt failed, or None. `tries` is the number of final failures in a row.

    >>> grobid = Service("grobid", "papers.grobid", final=(500, Reason.TIMEOUT))
    >>> [is_answer(grobid, status) for status in (200, 204, 400, 401, 500, 503)]
    [True, True, True, False, True, False]
    >>> [is_answer(grobid, None, Reason.TIMEOUT, tries) for tries in (1, 2, 3)]
    [False, False, True]
    >>> is_answer(grobid, 200, Reason.BOMB_RATIO), is_answer(grobid, 200, Reason.CORRUPT)
    (True, False)
    """
    if reason is not None:
        return reason in TOO_LARGE_REASONS or (reason in service.final and tries >= service.tries)
    if status is None:
        return False
    return status in service.final or (status < 500 and status not in _UNANSWERED and not 300 <= status < 400)


def failures_in_row(service: Service, reasons: Sequence[Reason | None]) -> int:
    """Count how many attempts at a request in a row, from the latest one back, failed for a final reason.

    `reasons` has the reasons of the attempts, the latest first, and None for an attempt that did not fail. An attempt
    with SITE_GIVEN_UP is skipped, since the request was not made.
    """
    count = 0
    for reason in reasons:
        if reason not in service.final and reason is not Reason.SITE_GIVEN_UP:
            break
        count += reason in service.final
    return count


def rules(source: Source, origin: str, options: Mapping[str, Any]) -> OriginRules:  # noqa: ARG001 see Crawl.rules
    """Return the rules of one origin of a source."""
    return OriginRules(source, origin)


def retry_at(source: Source, attempt: Attempt, every: int, failures: int) -> tuple[int | None, int]:
    """Return the UNIX time at which a request is due again (None: never), and `every` unchanged.

    It is due `every` seconds after the attempt (0: not again). After a failure that may pass, it is due sooner, even if
    `every` is 0. If robots.txt denies it and `every` is 0, it is due after a day. A request to a service is due again
    only until it is answered. `failures` is the number of failures in a row.
    """
    started = int(attempt.started.timestamp())
    if (service := service_of(source)) is not None:
        if is_answer(service, attempt.status, attempt.reason, failures):
            return None, every
        if attempt.status in _REFUSED:
            return started + _REFUSAL_SECONDS, every
        wait = min(float(service.busy) * 2 ** min(max(failures - 1, 0), 20), _DAY)
        return math.ceil(attempt.started.timestamp() + attempt.seconds + wait), every
    if attempt.reason is Reason.ROBOTS_DENIED:
        return started + (every or _DAY), every
    if failures and attempt.status not in _PERMANENT:
        wait = min(_MINUTE * 2 ** min(max(failures - 1, 0), 20), _DAY)
        return started + (min(wait, every) if every else wait), every
    return (started + every if every else None), every


def outcome(status: int | None, reason: Reason | None, media: str) -> str:  # noqa: ARG001 the shape of Crawl.outcome
    """Return the outcome of a request as text: why it failed, `status N` for a status from 300, or `answered`."""
    return str(reason) if reason else f"status {status}" if status and status >= 300 else "answered"


def no_seeds(source: Source, options: Mapping[str, Any]) -> list[FoundUrl]:  # noqa: ARG001 the shape of Crawl.seeds
    """Return an empty list, since the discovery makes the first requests."""
    return []


def why_no_answer(source: Source, attempt: Attempt) -> str:
    """Return why a request did not get a response that the discovery can judge, or "" if it did.

    The text ends with the command after which the request is repeated.
    """
    if attempt.reason is None and (attempt.status is None or attempt.status < 500):
        return ""
    cause = attempt.message or (attempt.reason.meaning if attempt.reason else f"the server answers {attempt.status}")
    message = cause if attempt.url in cause else f"{attempt.url}: {cause}"
    command = f"forget {source.name} --lift" if attempt.reason is Reason.FORGOTTEN else f"retry --source {source.name}"
    return f"{message}; to repeat the request: windrow {command}"


REQUEST_CRAWL = Crawl(
    no_seeds, rules, retry_at, outcome, normalise_typed, page=REQUEST, robots=ROBOTS, large={ASK: 1 << 30},
    why_no_page=why_no_answer, by_request=True,
)  # fmt: skip
"""How addresses are requested for a `Requests` discovery and for services, by the same fetchers as pages."""


def crawl_of(collection: Collection) -> Crawl | None:
    """Return how a collection's addresses are requested: its own crawl or REQUEST_CRAWL.

    Return None if the collection lists files.
    """
    return None if isinstance(collection.discovery, Listing) else collection.crawl or REQUEST_CRAWL
