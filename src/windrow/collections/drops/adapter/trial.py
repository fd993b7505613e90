"""Try the steps of drops on one file or address: yield its findings and records, and keep nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windrow.adapters.trial import DocumentFinding, DocumentReport, FetchedBytes, RecordPreview, TrialPart
from windrow.adapters.trial_reading import trial_pool
from windrow.collections.drops.adapter.harvest import make_step_options, read_resources, read_schema
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.elements import TABLES, ElementTable
from windrow.collections.drops.settings import ALLOWED, SHIPPED_SCHEMAS
from windrow.config import Workspace
from windrow.contract import Check, Collection, Judge, Load, Read, Rows, Step
from windrow.engine.fetchers.message import Job
from windrow.engine.sample import sample
from windrow.engine.steps.pool import Pool
from windrow.errors import ConfigError, UsageError
from windrow.model import (
    Finding,
    Item,
    KeptResponse,
    Level,
    Limits,
    ListingEntry,
    Member,
    Offer,
    Reading,
    Resource,
    Site,
    Source,
)
from windrow.reasons import Reason
from windrow.settings.kinds import SCHEMES, split_address


@dataclass(frozen=True, slots=True)
class TrialSetup:
    """The steps, files and settings with which `windrow try` reads a file of drops.

    `resources` are schemas and reference lists. `tables` is a dict from name to element table. An address below the
    address of one of `sources` is fetched with the settings of that source. `agent` is the user agent.
    """

    collection: Collection
    resources: Mapping[str, Resource]
    options: Mapping[str, str]
    limits: Limits
    tables: Mapping[str, ElementTable]
    sources: tuple[Source, ...] = ()
    agent: str = "windrow"


def prepare_trial(workspace: Workspace | None, address: str) -> TrialSetup:
    """Return the `TrialSetup` for an address, as the workspace configures it; without a workspace, with defaults."""
    tables = {table.name: table for table in TABLES}
    options = make_step_options(workspace, address.rpartition("/")[2])
    if workspace is None:
        schemas = {kind: read_schema(kind, path) for kind, path in SHIPPED_SCHEMAS.items()}
        return TrialSetup(COLLECTION, schemas, options, Limits(), tables)
    files, sources, agent = read_resources(workspace), workspace.sources, workspace.user_agent
    return TrialSetup(COLLECTION, files, options, workspace.limits, tables, sources, agent)


def try_address(workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
    """Fetch a file into a temporary folder, read it, and yield its size, findings, records and reports."""
    setup = prepare_trial(workspace, address)
    site, path, name = _locate_file(setup, address)
    with tempfile.TemporaryDirectory(prefix="windrow-try-") as folder:
        response, seconds = sample(Path(folder), site, path, site.address(path), setup.limits)
        offer = _make_offer(setup, path, name, response.size)
        key = offer.key if offer else name
        reason = offer.reason if offer else None
        yield FetchedBytes(site.address(path), key, response.size, response.digest, round(seconds, 3), reason)
        with trial_pool(workspace, setup.collection, Path(folder), setup.limits, setup.resources) as pool:
            yield from _TrialReader(setup, pool, response).read(key, is_document=offer is None)


def _locate_file(setup: TrialSetup, address: str) -> tuple[Site, str, str]:
    """Return (site, path below its base, file name) for a file's address; raise UsageError for any other address."""
    if "://" not in address and not address.lower().startswith("file:"):
        file = Path(address).expanduser().absolute()
        if not file.is_file():
            raise UsageError(f"{file} is not a file; an address begins with one of {', '.join(SCHEMES)}")
        return Site("file", base=str(file.parent)), file.name, file.name
    scheme, separator, location = address.partition("://")
    address = scheme.lower() + separator + location
    for source in setup.sources:
        base = source.site.address().rstrip("/") + "/"
        if address.startswith(base):
            path = address.removeprefix(base)
            return source.site, path, path.rpartition("/")[2]
    try:
        url = split_address(address, Path.cwd())
    except ConfigError as error:
        raise UsageError(str(error), hint="windrow try --help") from None
    folder, _, name = url.base.rpartition("/")
    if not name:
        raise UsageError(f"{address} is a folder; name a file in it")
    site = Site(url.scheme, url.host, url.port, url.username, base=f"{folder}/", agent=setup.agent, allowed=ALLOWED)
    return site, name, name


def _make_offer(setup: TrialSetup, path: str, name: str, size: int) -> Offer | None:
    """Return the offer for a file as if it were listed, or None if its name does not end in `.zip`."""
    folder = path.rpartition("/")[0].rpartition("/")[2]
    folders = setup.collection.listing.folders
    entry = ListingEntry(folder if folder in folders else folders[0], name, size)
    source = Source("try", setup.collection.name, Site("file"))
    offers = setup.collection.listing.plan(source, [entry], setup.options)
    return offers[0] if offers else None


class _TrialReader:
    def __init__(self, setup: TrialSetup, pool: Pool, response: KeptResponse) -> None:
        self._setup = setup
        self._pool = pool
        self._response = response

    def read(self, key: str, *, is_document: bool) -> Iterator[TrialPart]:
        """Yield the results for the zip `key` and its documents, or for the document `key` if `is_document`."""
        collection, size, digest = self._setup.collection, self._response.size, self._response.digest
        if is_document:
            member = Member(key, size, digest, "")
            yield from self._read_document(
                member, Item(1, collection.name, collection.members.kind, key, digest=digest)
            )
            return
        zip_kind = collection.listing.kind
        zip_item = Item(1, collection.name, zip_kind, key, digest=digest)
        members: list[Member] = []
        for step in self._steps_of(Read):
            reading = self._run_step(step, zip_item)
            if isinstance(reading, Reading):
                yield from _report_findings(key, step, reading)
                members += reading.members
                if reading.reason:
                    yield DocumentReport(key, zip_kind, size, digest, step.phase, reading.reason)
        for number, member in enumerate(sorted(members, key=lambda entry: entry.rank), 2):
            document_key = f"{key}/{member.name}"
            item = Item(number, collection.name, collection.members.kind, document_key, digest=member.digest)
            yield from self._read_document(member, replace(item, member=member.name))

    def _read_document(self, member: Member, item: Item) -> Iterator[TrialPart]:
        """Apply the steps to one document until a step refuses it; yield findings, previews of records and a report."""
        phase, reason = "xml_name", member.reason
        records: list[RecordPreview] = []
        for step in [] if reason else self._steps_of(Check, Load, Judge):
            result = self._run_step(step, item)
            phase = step.phase
            if isinstance(result, Rows):
                records = list(self._preview_records(member.name, result))
                continue
            yield from _report_findings(member.name, step, result)
            has_fatal = any(finding.level is Level.FATAL for finding in result.findings)
            reason = result.reason or (Reason.INTEGRITY_FATAL if has_fatal else None)
            if reason:
                break
        yield from records
        yield DocumentReport(member.name, member.kind, member.size, member.digest, phase, reason, len(records))

    def _steps_of(self, *kinds: type[Step]) -> list[Step]:
        return [step for step in self._setup.collection.steps if type(step) in kinds]

    def _run_step(self, step: Step, item: Item) -> Any:
        number = self._setup.collection.steps.index(step)
        job = Job(number, item, self._response.place, dict(self._setup.options))
        return self._pool.run_alone(job).result

    def _preview_records(self, document: str, rows: Rows) -> Iterator[RecordPreview]:
        """Yield a preview of every record, made from the row of the record's own element."""
        first_rows = {
            row[0]: (table, row[4:])
            for table, rows_of_table in rows.tables.items()
            for row in rows_of_table
            if row[0] == row[2]
        }
        for entity in rows.entities:
            table, values = first_rows.get(entity.local, ("", ()))
            names = [column.name for column in self._setup.tables[table].columns] if table else []
            fields = {name: value for name, value in zip(names, values, strict=False) if value is not None}
            yield RecordPreview(document, entity.kind, entity.identifier, table, fields)


def _report_findings(document_name: str, step: Step, reading: Reading) -> Iterator[DocumentFinding]:
    findings: tuple[Finding, ...] = reading.findings
    if reading.reason and not findings:
        findings = (Finding(reading.reason.class_name, reading.reason.meaning),)
    for finding in findings:
        yield DocumentFinding(
            document_name, step.phase, finding.level, finding.kind, finding.message, finding.line, finding.column
        )
