"""Get one page, or a file that holds one, read it as the collection does, and keep nothing."""

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
from windrow.collections.pages.steps import answered, asks
from windrow.config import Workspace
from windrow.digest import digest
from windrow.engine.sample import sample_address
from windrow.errors import UsageError
from windrow.fetch.politeness.guard import loopback, read_allowed
from windrow.formats.http import plain
from windrow.formats.url import normalise, parts
from windrow.model import Level, Limits, Site, Source

HERE = "http://localhost/"
"""Where a file of this machine seems to lie, so that its relative links can be told."""

PHASE = "summarise"


class _Bytes(NamedTuple):
    address: str  # for people
    url: str
    raw: bytes
    fields: Mapping[str, str]
    seconds: float
    redirected: bool = False


def try_address(workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
    """Get a page and yield what is found: its bytes, its pile, its description, and its links."""
    limits = workspace.section(Pages).limits if workspace else LIMITS
    found = _fetched(workspace, address, limits) if "://" in address else _file(address, limits)
    yield FetchedBytes(found.address, found.url, len(found.raw), digest(found.raw), round(found.seconds, 3))
    if found.redirected:
        yield DocumentFinding(found.address, PHASE, Level.NOTE, "Redirected", f"to {found.url}")
    body = plain(found.raw, found.fields, most=limits.member, ratio=limits.ratio)
    page = read(body, found.url, found.fields)
    records = list(_records(found.url, page))
    for directive in sorted(page.robots):
        yield DocumentFinding(found.address, PHASE, Level.NOTE, "Robots", f"the page says {directive}")
    for one in page.findings:
        yield DocumentFinding(found.address, PHASE, one.level, one.kind.title().replace("_", ""), one.message)
    if page.canonical:
        yield DocumentFinding(found.address, PHASE, Level.NOTE, "Canonical", page.canonical)
    yield from records
    kind = page.mime.essence if page.mime else "unknown"
    asked = asks(page, found.fields, agent_known(workspace) if workspace else "")
    reason = asked.refusal(answered(found.fields, datetime.now(UTC)))
    yield DocumentReport(found.address, kind, len(body), digest(body), PHASE, reason, len(records))


def _file(address: str, limits: Limits) -> _Bytes:
    path = Path(address.removeprefix("file:")).expanduser()
    if not path.is_file():
        raise UsageError(f"there is no file {path}; an address begins with http:// or https://")
    with path.open("rb") as file:
        raw = file.read(limits.transfer + 1)
    if len(raw) > limits.transfer:
        raise UsageError(f"{path} is larger than pages.limits.transfer, {limits.transfer:,} bytes")
    return _Bytes(str(path), normalise(path.name, HERE).url or HERE, raw, {}, 0.0)


def _fetched(workspace: Workspace | None, address: str, limits: Limits) -> _Bytes:
    """Ask for one address, which a person named, and follow its redirects."""
    url = normalise(address).url
    if not url:
        raise UsageError(f"{address[:200]!r} is not an address of the web", hint="windrow try --help")

    def access(hop: str) -> Source:
        agent = _agent(workspace, parts(hop).host)
        return Source("try", "pages", replace(_site_at(workspace, hop), agent=agent, timeout=limits.seconds))

    answer = sample_address(access, url, limits)
    return _Bytes(url, answer.url, answer.body, answer.fields, answer.seconds, redirected=answer.url != url)


def _site_at(workspace: Workspace | None, url: str) -> Site:
    """Return where an address lies, as a run talks to it: as the source says that has its host, or else as [pages]."""
    where = parts(url)
    sources = workspace.of("pages") if workspace else ()
    private = workspace.section(Pages).private if workspace else ()
    site = next((source.site for source in sources if site_of(source).scope.owns(where)), None)
    site = site or Site(where.scheme, allowed=read_allowed(private))
    return replace(site, scheme=where.scheme, host=where.host.strip("[]"), port=where.port, base="/")


def _agent(workspace: Workspace | None, host: str) -> str:
    """Return the user agent of a crawl; other machines than this are asked by nobody without one, as in a run."""
    if workspace is None:
        refuse_without_contact(None, host)
        return "windrow"
    return agent_known(workspace) or workspace.agent if loopback(host) else agent_of(workspace)


def _records(url: str, page: Page) -> Iterator[RecordPreview]:
    """Yield what would be loaded, by the tables of the Summary Database."""
    pile = page.pile
    if pile:
        texts = zip(
            ("text", "secondary_text", "big_headlines", "small_headlines", "code_text", "quote_text"),
            pile.fields(),
            strict=True,
        )
        yield _record(url, "text_pile", pile.digest().hex()[:16], dict(texts))
    said = page.description
    told = {name: getattr(said, name) for name in said.__dataclass_fields__}
    told |= {name: when(told[name]) for name in ("created", "updated")}
    yield _record(url, "document_description", said.title or url, told)
    for link in page.links:
        shown = {name: value for name, value in link._asdict().items() if name not in {"url", "location"}}
        shown["locality"] = Locality(link.locality).name.lower()
        if link.destination is not None:
            shown["destination"] = Destination(link.destination).name.lower()
        yield _record(url, "link_summary", link.url, shown)


def _record(url: str, table: str, identifier: str, fields: Mapping[str, Any]) -> RecordPreview:
    return RecordPreview(url, table, identifier, table, {name: value for name, value in fields.items() if value})
