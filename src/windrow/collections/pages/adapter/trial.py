"""Fetch one page, or read one from a file, as the collection does, without storing anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from windrow.adapters.adapter import refuse_without_contact
from windrow.adapters.trial import DocumentFinding, DocumentReport, FetchedBytes, RecordPreview, TrialPart
from windrow.clock import from_unix_time
from windrow.collections.pages.adapter.harvest import find_agent, require_agent
from windrow.collections.pages.code import Destination, Locality
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
from windrow.engine.sample import sample_address
from windrow.errors import UsageError
from windrow.fetch.politeness.guard import is_loopback, read_allowed
from windrow.formats.http import CUT_BODY, decode_body
from windrow.formats.url import describe_bad_address, normalise, parts
from windrow.model import Level, Limits, Site, Source
from windrow.reasons import Reason

FILE_BASE = "http://localhost/"
"""The address that is assumed for the folder of a local file, to resolve the file's relative links."""

PHASE = "summarise"


class _Answer(NamedTuple):
    """The bytes of a page or file. `address` is shown to the user; `url` is the final address, after redirects.

    `fields` are the header fields (empty for a file); `seconds` is the duration of the request (0 for a file).
    """

    address: str
    url: str
    raw: bytes
    fields: Mapping[str, str]
    seconds: float
    is_redirected: bool = False


def try_address(workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
    """Fetch a page, or read a file, and yield its size and digest, findings, records and a report, in this order."""
    limits = workspace.section(Pages).limits if workspace else LIMITS
    is_file = address.lower().startswith("file:") or "://" not in address
    answer = _read_file(address, limits) if is_file else _fetch(workspace, address, limits)
    yield FetchedBytes(answer.address, answer.url, len(answer.raw), digest(answer.raw), round(answer.seconds, 3))
    if answer.is_redirected:
        yield DocumentFinding(answer.address, PHASE, Level.NOTE, "Redirected", f"to {answer.url}")
    body, is_cut = decode_body(answer.raw, answer.fields, most=limits.member_size, ratio=limits.ratio)
    if is_cut:
        yield DocumentFinding(answer.address, PHASE, Level.WARN, Reason.TRUNCATED.class_name, CUT_BODY)
    source = _find_source(workspace, answer.url)
    ignored = find_ignored(source) if source else NOTHING_IGNORED
    page = read(body, answer.url, answer.fields, find_scope(source), limits, ignored=ignored)
    excess_of_caps = find_excess(page, limits.links)
    records = list(_list_records(answer.url, replace(page, links=page.links[: limits.links])))
    for directive in sorted(page.robots):
        yield DocumentFinding(answer.address, PHASE, Level.NOTE, "Robots", f"the page has the directive {directive}")
    for finding in page.findings:
        yield DocumentFinding(
            answer.address, PHASE, finding.level, finding.kind.title().replace("_", ""), finding.message
        )
    missing = "" if any(page.pile.fields()) else explain_missing_text(page, leads_on=page.refresh is not None)
    if missing and all(finding.kind != missing for finding in page.findings):
        yield DocumentFinding(answer.address, PHASE, Level.WARN, Reason(missing).class_name, Reason(missing).meaning)
    for excess in excess_of_caps:
        message = f"{excess.cap.rule}: {excess.number:,} left out"
        yield DocumentFinding(answer.address, PHASE, Level.WARN, Reason.CAPPED.class_name, message)
    if page.canonical:
        yield DocumentFinding(answer.address, PHASE, Level.NOTE, "Canonical", page.canonical)
    yield from records
    kind = page.mime.essence if page.mime else "unknown"
    directives = read_directives(page, answer.fields, find_agent(workspace) if workspace else "")
    reason = directives.refusal(find_answer_time(answer.fields, datetime.now(UTC)))
    yield DocumentReport(answer.address, kind, len(body), digest(body), PHASE, reason, len(records))


def _read_file(address: str, limits: Limits) -> _Answer:
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
    return _Answer(str(path), normalise(path.name, FILE_BASE).url or FILE_BASE, raw, {}, 0.0)


def _fetch(workspace: Workspace | None, address: str, limits: Limits) -> _Answer:
    url = normalise(address).url
    if not url:
        raise UsageError(describe_bad_address(address), hint="windrow try --help")

    def make_source(request_url: str) -> Source:
        agent = _choose_agent(workspace, parts(request_url).host)
        return Source("try", "pages", replace(_find_site(workspace, request_url), agent=agent))

    answer = sample_address(make_source, url, limits)
    return _Answer(url, answer.url, answer.body, answer.fields, answer.seconds, is_redirected=answer.url != url)


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
