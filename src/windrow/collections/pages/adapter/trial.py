"""Fetch one page, or read one from a file, as the collection does, without storing anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from windrow.adapters.adapter import (
    DocumentFinding,
    DocumentReport,
    FetchedBytes,
    RecordPreview,
    TrialPart,
    refuse_without_contact,
)
from windrow.collections.pages.adapter.harvest import agent_known, agent_of
from windrow.collections.pages.adapter.lookup import when
from windrow.collections.pages.code import Destination, Locality
from windrow.collections.pages.discover import site as site_of
from windrow.collections.pages.reading import PageDocument as Page
from windrow.collections.pages.reading import read
from windrow.collections.pages.settings import LIMITS, Pages
from windrow.collections.pages.steps import find_answer_time, read_directives
from windrow.config import Workspace
from windrow.digest import digest
from windrow.engine.sample import sample_address
from windrow.errors import UsageError
from windrow.fetch.politeness.guard import is_loopback, read_allowed
from windrow.formats.http import decode_body
from windrow.formats.url import normalise, parts
from windrow.model import Level, Limits, Site, Source

HERE = "http://localhost/"
"""Assumed address of a local file, to resolve its relative links."""

PHASE = "summarise"


class _Bytes(NamedTuple):
    address: str  # for people
    url: str
    raw: bytes
    fields: Mapping[str, str]
    seconds: float
    redirected: bool = False


def try_address(workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
    """Fetch a page and yield records for its bytes, its text pile, its description and its links."""
    limits = workspace.section(Pages).limits if workspace else LIMITS
    answer = _fetched(workspace, address, limits) if "://" in address else _file(address, limits)
    yield FetchedBytes(answer.address, answer.url, len(answer.raw), digest(answer.raw), round(answer.seconds, 3))
    if answer.redirected:
        yield DocumentFinding(answer.address, PHASE, Level.NOTE, "Redirected", f"to {answer.url}")
    body = decode_body(answer.raw, answer.fields, most=limits.member_size, ratio=limits.ratio)
    page = read(body, answer.url, answer.fields)
    records = list(_records(answer.url, page))
    for directive in sorted(page.robots):
        yield DocumentFinding(answer.address, PHASE, Level.NOTE, "Robots", f"the page says {directive}")
    for finding in page.findings:
        yield DocumentFinding(
            answer.address, PHASE, finding.level, finding.kind.title().replace("_", ""), finding.message
        )
    if page.canonical:
        yield DocumentFinding(answer.address, PHASE, Level.NOTE, "Canonical", page.canonical)
    yield from records
    kind = page.mime.essence if page.mime else "unknown"
    asked = read_directives(page, answer.fields, agent_known(workspace) if workspace else "")
    reason = asked.refusal(find_answer_time(answer.fields, datetime.now(UTC)))
    yield DocumentReport(answer.address, kind, len(body), digest(body), PHASE, reason, len(records))


def _file(address: str, limits: Limits) -> _Bytes:
    path = Path(address.removeprefix("file:")).expanduser()
    if not path.is_file():
        raise UsageError(f"the file {path} does not exist; an address begins with http:// or https://")
    with path.open("rb") as file:
        raw = file.read(limits.transfer_size + 1)
    if len(raw) > limits.transfer_size:
        raise UsageError(f"{path} is larger than pages.limits.transfer_size ({limits.transfer_size:,} bytes)")
    return _Bytes(str(path), normalise(path.name, HERE).url or HERE, raw, {}, 0.0)


def _fetched(workspace: Workspace | None, address: str, limits: Limits) -> _Bytes:
    """Request an address that a person named, and follow its redirects."""
    url = normalise(address).url
    if not url:
        raise UsageError(f"{address[:200]!r} is not an address of the web", hint="windrow try --help")

    def access(hop: str) -> Source:
        agent = _agent(workspace, parts(hop).host)
        return Source("try", "pages", replace(_site_at(workspace, hop), agent=agent, timeout=limits.cpu_time))

    answer = sample_address(access, url, limits)
    return _Bytes(url, answer.url, answer.body, answer.fields, answer.seconds, redirected=answer.url != url)


def _site_at(workspace: Workspace | None, url: str) -> Site:
    """Return the site of an address, with the settings of the source that has its host, or else those of [pages]."""
    address_parts = parts(url)
    sources = workspace.of("pages") if workspace else ()
    private = workspace.section(Pages).private_hosts if workspace else ()
    site = next((source.site for source in sources if site_of(source).scope.owns(address_parts)), None)
    site = site or Site(address_parts.scheme, allowed=read_allowed(private))
    return replace(
        site, scheme=address_parts.scheme, host=address_parts.host.strip("[]"), port=address_parts.port, base="/"
    )


def _agent(workspace: Workspace | None, host: str) -> str:
    """Return the user agent; without a configured one, as in a run, only addresses of this machine are allowed."""
    if workspace is None:
        refuse_without_contact(None, host)
        return "windrow"
    return agent_known(workspace) or workspace.user_agent if is_loopback(host) else agent_of(workspace)


def _records(url: str, page: Page) -> Iterator[RecordPreview]:
    """Yield the records that would be loaded, named by their tables of the Summary Database."""
    pile = page.pile
    if pile:
        texts = zip(
            ("text", "secondary_text", "big_headlines", "small_headlines", "code_text", "quote_text"),
            pile.fields(),
            strict=True,
        )
        yield _record(url, "text_pile", pile.digest().hex()[:16], dict(texts))
    description = page.description
    fields = {name: getattr(description, name) for name in description.__dataclass_fields__}
    fields |= {name: when(fields[name]) for name in ("created", "updated")}
    yield _record(url, "document_description", description.title or url, fields)
    for link in page.links:
        link_fields = {name: value for name, value in link._asdict().items() if name not in {"url", "location"}}
        link_fields["locality"] = Locality(link.locality).name.lower()
        if link.destination is not None:
            link_fields["destination"] = Destination(link.destination).name.lower()
        yield _record(url, "link_summary", link.url, link_fields)


def _record(url: str, table: str, identifier: str, fields: Mapping[str, Any]) -> RecordPreview:
    return RecordPreview(url, table, identifier, table, {name: value for name, value in fields.items() if value})
