"""Redirects: request what an answer redirects to, and no longer request what nothing redirects to any more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from windrow.contract import Collection, FollowResult, Request
from windrow.engine.requests.answers import (
    FollowedAnswer,
    KeptAnswer,
    allowed_origins,
    context_of,
    found_url,
    request_of,
    source_address,
    without_secrets,
)
from windrow.errors import StepError
from windrow.formats.url import is_front_page, normalise
from windrow.ledger import Ledger, LedgerWriter
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import Finding, FoundUrl, HttpRequest, Level, RecordedAttempt, Source
from windrow.reasons import Reason

HOPS = 5
"""The maximum number of redirects that are followed for one request."""

_SLUG_MARK = re.compile(r"[-_]|\d{4}")
"""Matches what the name of a document in its address has, unlike `amp`, `print` or `index.html` after the name."""


class Redirects:
    """The redirects that the answers of each source had in this run."""

    def __init__(self, ledger: Ledger, collection: Collection) -> None:
        self._ledger = ledger
        self._collection = collection
        # the digest of the address to which each address redirected in this run, by source
        self._targets: dict[str, dict[int, int]] = {}

    def follow(self, source: Source, recorded: RecordedAttempt, answer: KeptAnswer, hops: int) -> FollowedAnswer:
        """Return the request to which `answer` redirects, or a skip with REDIRECTED (see `follow_redirect`).

        It is a skip, too, if redirects of this run lead from the target back to the address of the answer.
        """
        followed = follow_redirect(self._collection, source, answer, hops)
        targets, start = self._targets.setdefault(source.name, {}), recorded.attempt.target
        for target in followed.found:
            targets[start] = digest = target.digest
            for _ in range(HOPS):
                digest = targets.get(digest, 0)
                if digest == start:
                    return _refuse("Redirected", f"it redirects to {target.url}, which leads back to it", Level.ERROR)
        return followed

    def former_targets(self, source: Source, recorded: RecordedAttempt, answer: KeptAnswer) -> list[FoundUrl]:
        """Return where the last answer before `answer` of the same address redirected to, through further redirects."""
        former: list[FoundUrl] = []
        digest = recorded.attempt.target
        while len(former) < HOPS:
            name = self._collection.name
            earlier = self._ledger.requests.answer_before(name, source.name, digest, recorded.seq)
            if earlier is None or not earlier.location:
                break
            answer = answer._replace(status=earlier.status, location=earlier.location)
            targets = follow_redirect(self._collection, source, answer, 0).found
            if not targets or targets[0] in former:
                break
            former += targets
            digest, answer = targets[0].digest, answer._replace(url=targets[0].url)
        return former

    def abandon(self, writer: LedgerWriter, source: str, former: Sequence[FoundUrl], found: Iterable[FoundUrl]) -> None:
        """Make the `former` targets of an address, which now leads to `found`, never due.

        They may be due because they failed, or because their answers were not used. A target to which another address
        redirected in this run is not changed.
        """
        if former and former[0].digest not in {url.digest for url in found}:
            targets = {*self._targets.get(source, {}).values()}
            digests = [url.digest for url in former if url.digest not in targets]
            writer.addresses.abandon(self._collection.name, source, digests)


class SentRedirects:
    """The permanent redirects that the sources of a collection sent in each session; one session's are in memory."""

    def __init__(self, ledger: Ledger, collection: str) -> None:
        self._ledger = ledger
        self._collection = collection
        self._session = 0
        self._former: dict[tuple[str, str], list[str]] = {}  # the addresses that redirected, by source and target

    def request_of(self, recorded: RecordedAttempt) -> Request:
        """Return the request of an attempt, with the addresses that in its session permanently moved to its address."""
        request = request_of(recorded.attempt.url, self._ledger.requests.of_attempt(recorded.seq))
        if recorded.session != self._session:
            self._session = recorded.session
            self._former = {}
            for redirect in self._ledger.requests.permanent_redirects(self._collection, recorded.session):
                target = normalise(redirect.location, redirect.url).url
                self._former.setdefault((redirect.source, target), []).append(redirect.url)
        former_urls: dict[str, None] = {}
        nearest = [recorded.attempt.url]
        for _ in range(HOPS):
            former = (url for target in nearest for url in self._former.get((recorded.source, target), ()))
            nearest = [url for url in former if url not in former_urls]
            former_urls |= dict.fromkeys(nearest)
        return request._replace(redirected_from=tuple(former_urls))


def is_former_target(address: DueAddress, request: HttpRequest) -> bool:
    """Return whether an address is only the target of redirects, and due again by itself although it did not fail.

    Earlier versions repeated such a request by itself, also when nothing redirected to it any more.
    """
    return address.due > 1 and not address.failures and bool(context_of(request).get("hops"))


def follow_redirect(collection: Collection, source: Source, answer: KeptAnswer, hops: int) -> FollowedAnswer:
    """Return the request that a redirect leads to, or a skip with REDIRECTED.

    The target is requested once in each run in which a redirect leads to it, whenever it was requested before.
    `hops` is the number of redirects before this one. The result is a skip if the target is not valid, is the same
    request again, or is not at an allowed origin, or if `hops` is HOPS or more. It is also a skip if the target is a
    front page, unless the redirecting address is a front page or the source's own address, or the section of a document
    (a request with `again`): many servers redirect there if they do not have the document any more.
    """
    request = answer.request
    if answer.status not in {307, 308}:
        request = request._replace(method="GET", body=b"")
    try:
        target = found_url(without_secrets(request._replace(url=answer.location), source), answer.url, hops=hops + 1)
    except StepError as error:
        return _refuse("BadRedirect", str(error), Level.ERROR)
    is_same = target.url == answer.url and request.method == answer.request.method
    if is_same or target.origin not in allowed_origins(collection, source) or hops >= HOPS:
        why = "which was requested" if is_same else "which is not at an origin of the source"
        if hops >= HOPS:
            why = f"but {hops} redirects were followed already, and more are not allowed"
        return _refuse("Redirected", f"it redirects to {target.url}, {why}", Level.ERROR)
    if is_front_page(target.url) and not is_front_page(answer.url) and answer.url != source_address(source):
        return _refuse(
            "Redirected", f"it redirects to the front page {target.url}, which is not the document", Level.WARN
        )
    if request.again and _is_section(target.url, answer.url):
        return _refuse("Redirected", f"it redirects to its section {target.url}, which is not the document", Level.WARN)
    return FollowedAnswer(FollowResult(), (target,), when_named=(target,), is_redirect=True)


def _is_section(url: str, document_url: str) -> bool:
    """Return whether the path of `url` is a beginning of that of a document, without the segment that names it.

    >>> _is_section("https://a.example/news/", "https://a.example/news/the-quay")
    True
    >>> _is_section("https://a.example/news/the-quay", "https://a.example/news/the-quay/amp/")
    False
    """
    split_url, path = urlsplit(url), urlsplit(document_url).path.strip("/")
    section = split_url.path.strip("/")
    return not split_url.query and path.startswith(f"{section}/") and bool(_SLUG_MARK.search(path[len(section) :]))


def _refuse(kind: str, message: str, level: Level) -> FollowedAnswer:
    return FollowedAnswer(FollowResult(skip=Reason.REDIRECTED, findings=(Finding(kind, message, level),)))
