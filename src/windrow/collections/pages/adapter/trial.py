"""Fetch one page, or read one from a file, as the collection does, without storing anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from windrow.adapters.adapter import refuse_without_contact
from windrow.adapters.trial import DocumentFinding, DocumentReport, FetchedBytes, RecordPreview, TrialPart
from windrow.adapters.trial_reading import read_apart
from windrow.clock import from_unix_time
from windrow.collections.pages.adapter.harvest import find_agent, require_agent
from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.discover import make_site_policy
from windrow.collections.pages.reading import PageDocument as Page
from windrow.collections.pages.reading import read
from windrow.collections.pages.reading.ignored import NOTHING_IGNORED, find_ignored
from windrow.collections.pages.settings import LIMITS, Pages
from windrow.collections.pages.steps import (
    explain_missing_text,
    find_answer_time,
    find_excess,
    find_scope,
    read_directives,
)
from windrow.config import Workspace
from windrow.digest import digest
from windrow.engine.sample import SampledAnswer, sample_address
from windrow.errors import UsageError
from windrow.fetch.politeness.guard import is_loopback, read_allowed
from windrow.formats.http import CUT_BODY, decode_body
from windrow.formats.url import describe_bad_address, normalise, parts
from windrow.model import Level, Limits, Site, Source
from windrow.reasons import Reason

FILE_BASE = "http://localhost/"
"""The address that is assumed for the folder of a local file, to resolve the file's relative links."""

PHASE = "summarise"


class PageTrial(NamedTuple):
    """A page or file to read. `address` is shown to the user; that of the answer is the final one, after redirects.

    `source` is the one to which the page belongs, if any does, and `agent` the user agent of its robots directives.
    """

    address: str
    answer: SampledAnswer
    source: Source | None = None
    agent: str = ""

    def run(self, limits: Limits) -> list[TrialPart]:
        """Read the page."""
        return [*self._read(limits)]

    def _read(self, limits: Limits) -> Iterator[TrialPart]:
        address, answer, raw = self.address, self.answer, self.answer.body
        yield FetchedBytes(address, answer.url, len(raw), digest(raw), round(answer.seconds, 3))
        if answer.seconds and answer.url != address:
            yield DocumentFinding(address, PHASE, Level.NOTE, "Redirected", f"to {answer.url}")
        body, is_cut = decode_body(raw, answer.fields, most=limits.member_size, ratio=limits.ratio)
        if is_cut:
            yield DocumentFinding(address, PHASE, Level.WARN, Reason.TRUNCATED.class_name, CUT_BODY)
        ignored = find_ignored(self.source) if self.source else NOTHING_IGNORED
        page = read(body, answer.url, answer.fields, find_scope(self.source), limits, ignored=ignored)
        excess_of_caps = find_excess(page, limits.links)
        records = list(_list_records(answer.url, replace(page, links=page.links[: limits.links])))
        for directive in sorted(page.robots):
            yield DocumentFinding(address, PHASE, Level.NOTE, "Robots", f"the page has the directive {directive}")
        for finding in page.findings:
            kind = finding.kind.title().replace("_", "")
            yield DocumentFinding(address, PHASE, finding.level, kind, finding.message)
        missing = "" if any(page.pile.fields()) else explain_missing_text(page, leads_on=page.refresh is not None)
        if missing and all(finding.kind != missing for finding in page.findings):
            reason = Reason(missing)
            yield DocumentFinding(address, PHASE, Level.WARN, reason.class_name, reason.meaning)
        for excess in excess_of_caps:
            message = f"{excess.cap.rule}: {excess.number:,} left out"
            yield DocumentFinding(address, PHASE, Level.WARN, Reason.CAPPED.class_name, message)
        if page.canonical:
            yield DocumentFinding(address, PHASE, Level.NOTE, "Canonical", page.canonical)
        yield from records
        kind = page.mime.essence if page.mime else "unknown"
        directives = read_directives(page, answer.fields, self.agent)
        refusal = directives.refusal(find_answer_time(answer.fields, datetime.now(UTC)))
        yield DocumentReport(address, kind, len(body), digest(body), PHASE, refusal, len(records))


def try_address(workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
    """Fetch a page, or read a file, and yield its size and digest, findings, records and a report, in this order."""
    limits = workspace.section(Pages).limits if workspace else LIMITS
    is_file = address.lower().startswith("file:") or "://" not in address
    job = _read_file(address, limits) if is_file else _fetch(workspace, address, limits)
    source, agent = _find_source(workspace, job.answer.url), find_agent(workspace) if workspace else ""
    yield from read_apart(workspace, COLLECTION, job._replace(source=source, agent=agent), limits)


def _read_file(address: str, limits: Limits) -> PageTrial:
    is_url = address.lower().startswith("file://")
    path = Path(
        unquote(urlsplit(address).path) if is_url else re.sub("^file:", "", address, flags=re.IGNORECASE)
    ).expanduser()
    if not path.is_file():
        raise UsageError(f"{path} is not a file; an address begins with http:// or https://")
    with path.open("rb") as file:
        raw = file.read(limits.transfer_size + 1)
    if len(raw) > limits.transfer_size:
        raise UsageError(f"the file {path} is larger than pages.limits.transfer_size ({limits.transfer_size:,} bytes)")
    url = normalise(quote(path.name), FILE_BASE).url or FILE_BASE
    return PageTrial(str(path), SampledAnswer(url, raw, 200, {}, 0.0))


def _fetch(workspace: Workspace | None, address: str, limits: Limits) -> PageTrial:
    url = normalise(address).url
    if not url:
        raise UsageError(describe_bad_address(address), hint="windrow try --help")

    def make_source(request_url: str) -> Source:
        agent = _choose_agent(workspace, parts(request_url).host)
        return Source("try", "pages", replace(_find_site(workspace, request_url), agent=agent))

    return PageTrial(url, sample_address(make_source, url, limits))


def _find_site(workspace: Workspace | None, url: str) -> Site:
    """Return the site for a request: that of the address's source, or else one that allows `pages.private_hosts`."""
    address_parts = parts(url)
    private_hosts = workspace.section(Pages).private_hosts if workspace else ()
    source = _find_source(workspace, url)
    site = source.site if source else Site(address_parts.scheme, allowed=read_allowed(private_hosts))
    return replace(
        site, scheme=address_parts.scheme, host=address_parts.host.strip("[]"), port=address_parts.port, base="/"
    )


def _find_source(workspace: Workspace | None, url: str) -> Source | None:
    sources = workspace.of("pages") if workspace else ()
    return next((source for source in sources if make_site_policy(source).scope.owns(parts(url))), None)


def _choose_agent(workspace: Workspace | None, host_name: str) -> str:
    """Return the user agent; raise ConfigError if none is configured, unless `host_name` names this machine."""
    if workspace is None:
        refuse_without_contact(None, host_name)
        return "windrow"
    return find_agent(workspace) or workspace.user_agent if is_loopback(host_name) else require_agent(workspace)


def _list_records(url: str, page: Page) -> Iterator[RecordPreview]:
    pile = page.pile
    if pile:
        texts = zip(
            ("text", "secondary_text", "big_headlines", "small_headlines", "code_text", "quote_text"),
            pile.fields(),
            strict=True,
        )
        yield _make_record(url, "text_pile", pile.digest().hex()[:16], dict(texts))
    description = page.description
    fields = {name: getattr(description, name) for name in description.__dataclass_fields__}
    fields |= {name: from_unix_time(fields[name]) for name in ("created", "updated")}
    yield _make_record(url, "document_description", description.title or url, fields)
    for link in page.links:
        link_fields = {name: value for name, value in link._asdict().items() if name not in {"url", "location"}}
        link_fields["locality"] = Locality(link.locality).name.lower()
        if link.destination is not None:
            link_fields["destination"] = Destination(link.destination).name.lower()
        yield _make_record(url, "link_summary", link.url, link_fields)


def _make_record(url: str, table: str, identifier: str, fields: Mapping[str, Any]) -> RecordPreview:
    return RecordPreview(url, table, identifier, table, {name: value for name, value in fields.items() if value})
