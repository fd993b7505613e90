"""Read one file or address with the collection's own steps and yield what is in it; nothing is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windrow.adapters.adapter import DocumentFinding, DocumentReport, FetchedBytes, RecordPreview, TrialPart
from windrow.collections.drops.adapter.harvest import options, resources, schema
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.elements import TABLES, ElementTable
from windrow.collections.drops.settings import ALLOWED, SHIPPED
from windrow.config import Workspace
from windrow.contract import Check, Collection, Judge, Load, Read, Rows, Step
from windrow.engine.fetchers.message import Job
from windrow.engine.sample import sample
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.worker import WorkerConfig
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
    """The set-up of a trial: the steps, their files and limits, and the tables they fill."""

    collection: Collection
    resources: Mapping[str, Resource]
    options: Mapping[str, str]
    limits: Limits
    tables: Mapping[str, ElementTable]
    sources: tuple[Source, ...] = ()
    agent: str = "windrow"


def prepare_trial(workspace: Workspace | None, address: str) -> TrialSetup:
    """Set up the collection's steps as the workspace configures them, or with the defaults if there is no workspace."""
    tables = {table.name: table for table in TABLES}
    step_options = options(workspace, address.rpartition("/")[2])
    if workspace is None:
        return TrialSetup(
            COLLECTION, {kind: schema(kind, path) for kind, path in SHIPPED.items()}, step_options, Limits(), tables
        )
    files = resources(workspace)
    return TrialSetup(
        COLLECTION, files, step_options, workspace.limits, tables, workspace.sources, workspace.user_agent
    )


def try_address(workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
    """Fetch the file at `address` into a temporary folder, and yield the findings and records that its steps return."""
    setup = prepare_trial(workspace, address)
    site, path, name = _locate(setup, address)
    with tempfile.TemporaryDirectory(prefix="windrow-try-") as folder:
        response, seconds = sample(Path(folder), site, path, site.address(path), setup.limits)
        offer = _offer(setup, path, name, response.size)
        key = offer.key if offer else name
        reason = offer.reason if offer else None
        yield FetchedBytes(site.address(path), key, response.size, response.digest, round(seconds, 3), reason)
        pool = Pool(WorkerConfig(setup.collection, Path(folder), setup.limits, setup.resources), 1)
        try:
            yield from _Reader(setup, pool, response).read(key, whole=offer is None)
        finally:
            pool.close()


def _locate(setup: TrialSetup, address: str) -> tuple[Site, str, str]:
    """Return the address's site, the path below the site's base, and the file's name."""
    if "://" not in address and not address.startswith("file:"):
        file = Path(address).expanduser().absolute()
        if not file.is_file():
            raise UsageError(f"the file {file} does not exist; an address begins with one of {', '.join(SCHEMES)}")
        return Site("file", base=str(file.parent)), file.name, file.name
    for source in setup.sources:
        base = source.site.address().rstrip("/") + "/"
        if address.startswith(base):
            path = address.removeprefix(base)
            return source.site, path, path.rpartition("/")[2]
    try:
        parsed = split_address(address, Path.cwd())
    except ConfigError as error:
        raise UsageError(str(error), hint="windrow try --help") from None
    folder, _, name = parsed.base.rpartition("/")
    if not name:
        raise UsageError(f"{address} is a folder; name a file in it")
    site = Site(
        parsed.scheme, parsed.host, parsed.port, parsed.username, base=f"{folder}/", agent=setup.agent, allowed=ALLOWED
    )
    return site, name, name


def _offer(setup: TrialSetup, path: str, name: str, size: int) -> Offer | None:
    """Return the offer for a file name, as in a listing; None if it is not a zip's, but a document's."""
    folder = path.rpartition("/")[0].rpartition("/")[2]
    folders = setup.collection.listing.folders
    entry = ListingEntry(folder if folder in folders else folders[0], name, size)
    source = Source("try", setup.collection.name, Site("file"))
    offers = setup.collection.listing.plan(source, [entry], setup.options)
    return offers[0] if offers else None


class _Reader:
    """Applies all steps to one capture and its documents."""

    def __init__(self, setup: TrialSetup, pool: Pool, response: KeptResponse) -> None:
        self._setup = setup
        self._pool = pool
        self._kept = response

    def read(self, key: str, *, whole: bool) -> Iterator[TrialPart]:
        """Read an archive and the documents in it, or a `whole` document by itself."""
        plan = self._setup.collection
        if whole:
            member = Member(key, self._kept.size, self._kept.digest, "")
            yield from self._document(member, Item(1, plan.name, plan.members.kind, key, digest=self._kept.digest))
            return
        item = Item(1, plan.name, plan.listing.kind, key, digest=self._kept.digest)
        members: list[Member] = []
        for step in self._steps(Read):
            reading = self._take(step, item)
            if isinstance(reading, Reading):
                yield from _notes(key, step, reading)
                members += reading.members
                if reading.reason:
                    yield DocumentReport(
                        key, plan.listing.kind, self._kept.size, self._kept.digest, step.phase, reading.reason
                    )
        for number, member in enumerate(sorted(members, key=lambda entry: entry.rank), 2):
            document = Item(number, plan.name, plan.members.kind, f"{key}/{member.name}", digest=member.digest)
            yield from self._document(member, replace(document, member=member.name))

    def _document(self, member: Member, item: Item) -> Iterator[TrialPart]:
        """Apply the steps to one document, until one refuses it."""
        phase, reason = "xml_name", member.reason
        records: list[RecordPreview] = []
        for step in [] if reason else self._steps(Check, Load, Judge):
            result = self._take(step, item)
            phase = step.phase
            if isinstance(result, Rows):
                records = list(self._records(member.name, result))
                continue
            yield from _notes(member.name, step, result)
            has_fatal = any(finding.level is Level.FATAL for finding in result.findings)
            reason = result.reason or (Reason.INTEGRITY_FATAL if has_fatal else None)
            if reason:
                break
        yield from records
        yield DocumentReport(member.name, member.kind, member.size, member.digest, phase, reason, len(records))

    def _steps(self, *kinds: type[Step]) -> list[Step]:
        return [step for step in self._setup.collection.steps if type(step) in kinds]

    def _take(self, step: Step, item: Item) -> Any:
        number = self._setup.collection.steps.index(step)
        job = Job(number, item, self._kept.place, dict(self._setup.options))
        return self._pool.run_alone(job).result

    def _records(self, document: str, rows: Rows) -> Iterator[RecordPreview]:
        """Yield every record with its first row: the one whose id is that of the record."""
        begun = {
            line[0]: (table, line[4:]) for table, lines in rows.tables.items() for line in lines if line[0] == line[2]
        }
        for entity in rows.entities:
            table, values = begun.get(entity.local, ("", ()))
            names = [column.name for column in self._setup.tables[table].columns] if table else []
            fields = {name: value for name, value in zip(names, values, strict=False) if value is not None}
            yield RecordPreview(document, entity.kind, entity.identifier, table, fields)


def _notes(name: str, step: Step, reading: Reading) -> Iterator[DocumentFinding]:
    findings: tuple[Finding, ...] = reading.findings
    if reading.reason and not findings:
        findings = (Finding(reading.reason.class_name, reading.reason.meaning),)
    for finding in findings:
        yield DocumentFinding(
            name, step.phase, finding.level, finding.kind, finding.message, finding.line, finding.column
        )
