"""The collection `drops` joined with this workspace: its options, its files, its databases, its tracker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from windrow.clock import now
from windrow.collections.drops import name as names
from windrow.collections.drops.adapter.current_states import find_shown
from windrow.collections.drops.collection import COLLECTION, FOLDERS, SCHEMAS, plan
from windrow.collections.drops.database.declared import CENTRES, Declared, declare, seeds
from windrow.collections.drops.database.projection import find_touched, project_facts, project_progress, project_states
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.table_store import Submission, TableStore
from windrow.collections.drops.database.tracker_tables import DATABASE, NATURAL_KEYS, PROJECTION, TRACKER
from windrow.collections.drops.elements import SUMMARY, TABLES
from windrow.collections.drops.name import XmlName, read_xml_name
from windrow.collections.drops.reference import read_lists
from windrow.collections.drops.settings import Drops
from windrow.collections.drops.steps import compile_schema, sort_key, zip_name
from windrow.config import Workspace
from windrow.config.workspace import read_password
from windrow.contract import Rows, Undecided
from windrow.digest import combine_digests, digest
from windrow.engine.run import Harvest
from windrow.errors import ConfigError, StepError, UsageError
from windrow.ledger import Ledger
from windrow.ledger.facts import batches
from windrow.model import Finding, Item, ListingEntry, Resource, Site, Source
from windrow.stores.sqlite import close_on_failure

_IMPORT = re.compile(rb"""schemaLocation\s*=\s*["']([^"'<>]{1,255})["']""")
_LARGEST = 256 * 2**20


def resources(workspace: Workspace) -> Mapping[str, Resource]:
    """Read the schemas and lists of the drops, by name: `specimen`, `experiment`, `projects`, ...

    A schema's siblings are the files in its folder that it imports, and those import, by the name
    in `schemaLocation`; its digest covers them. Raises ConfigError for a file that cannot be read.
    """
    drops = workspace.section(Drops)
    files = {name: schema(name, path) for name, path in drops.schemas.items()}
    for name, path in drops.lists.items():
        content = _content(path)
        files[name] = Resource(name, path, digest(content), content)
    return files


def schema(name: str, path: Path) -> Resource:
    """Read a schema and the files that it imports."""
    content = _content(path)
    by_name: dict[str, Resource] = {}
    open_ = [content]
    while open_:
        for place in _IMPORT.findall(open_.pop()):
            sibling = path.parent / place.decode("utf-8", "replace").strip().removeprefix("./")
            if sibling.parent == path.parent and sibling.name not in {path.name, *by_name} and sibling.is_file():
                inner = _content(sibling)
                by_name[sibling.name] = Resource(sibling.name, sibling, digest(inner), inner)
                open_.append(inner)
    siblings = tuple(by_name[each] for each in sorted(by_name))
    schema_digest = combine_digests([digest(content), *(f"{file.name} {file.digest}" for file in siblings)])
    return Resource(name, path, schema_digest, content, siblings)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="windrow config") from error
    if len(content) > _LARGEST:
        raise ConfigError(f"{path} is larger than 256 MiB", hint="windrow config")
    return content


def read_declared(workspace: Workspace, sources: tuple[Source, ...]) -> Declared:
    """Return the workspace's centres, sources and patterns of names."""
    drops = workspace.section(Drops)
    zip_name, xml_name = drops.zip_name or names.ZIP, drops.xml_name or names.XML
    return Declared(now(), drops.centres, sources, zip_name=zip_name, xml_name=xml_name)


class Tracker:
    """The 17 tables, projected from the ledger."""

    def __init__(self, workspace: Workspace, sources: tuple[Source, ...]) -> None:
        """Open the tracker's database and create missing tables."""
        drops = workspace.section(Drops)
        self._declared = read_declared(workspace, sources)
        self.projection = ProjectionTables(
            drops.tracker.url,
            TRACKER,
            PROJECTION,
            adopt=NATURAL_KEYS,
            database=DATABASE,
            password=read_password(drops.tracker),
        )
        self._at: int | None = None

    def _begin(self, ledger: Ledger) -> int:
        """Bring seeds, centres and sources up to date, once per run."""
        self.projection.seed(seeds(self._declared.at))
        checkpoint = self.projection.checkpoint()
        source_names = ledger.mirrors.sources()
        removed_sources = tuple(sorted(source_names - {source.name for source in self._declared.sources}))
        closed = tuple(sorted(set(self.projection.keys("centre")) - {name.lower() for name in self._declared.names}))
        self.projection.apply(declare(replace(self._declared, gone=removed_sources, closed=closed)), checkpoint)
        return checkpoint

    def catch_up(self, ledger: Ledger) -> None:
        """Project every fact after the checkpoint."""
        if self._at is None:
            self._at = self._begin(ledger)
        for facts in batches(ledger, self._at):
            # A state may be newer than the checkpoint, never older.
            places = project_states(*find_shown(ledger, find_touched(facts)))
            self.projection.apply([*project_facts(facts, self._declared), *places], facts[-1].seq)
            self._at = facts[-1].seq

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Write the bytes received so far by each attempt under way."""
        self.projection.note(project_progress(sizes))

    def close(self) -> None:
        """Close the connections."""
        self.projection.close()


class DropsStore:
    """The store of loaded records that the engine writes to."""

    def __init__(self, tables: TableStore, centres: tuple[str, ...], pattern: str) -> None:
        """Write to `tables`; names are read as this workspace declares them."""
        self.tables = tables
        self._centres = centres
        self._pattern = pattern

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write the rows of documents, not yet as current ones."""
        self.tables.stage_all([(self._submission(item, at), rows) for item, rows in documents])

    def _submission(self, item: Item, at: datetime) -> Submission:
        parsed = read_xml_name(item.member, self._centres, self._pattern)
        centre, kind = (parsed.centre, parsed.kind) if isinstance(parsed, XmlName) else ("", "")
        action = item.key.partition("/")[0]
        key = sort_key(item.rank)
        return Submission(item.id, item.member, zip_name(item.key), action, centre, item.digest, str(kind), at, key)

    def judge(self, documents: Sequence[Undecided], at: datetime) -> list[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order; return the findings of publishing each."""
        return [published.findings if published else () for published in self.tables.judge(documents, at)]

    def summarise(self, at: datetime) -> int:
        """Bring context and overview up to date."""
        return sum(self.tables.summarise(at))

    def close(self) -> None:
        """Close the connections."""
        self.tables.close()


def harvest(workspace: Workspace) -> Harvest:
    """Build the harvest of the drops from the workspace's configuration."""
    drops = workspace.section(Drops)
    sources = tuple(source for source in workspace.sources if source.collection == COLLECTION.name)
    declarations = read_declared(workspace, sources)
    _check_centres(declarations)
    _check_lengths(declarations)
    files = resources(workspace)
    _check_files(files)
    options = {
        "centres": ",".join(declarations.names),
        "zip_name": drops.zip_name,
        "xml_name": drops.xml_name,
        "today": declarations.at.date().isoformat(),
    }
    tables = TableStore(drops.store.url, TABLES, SUMMARY, password=read_password(drops.store))
    with close_on_failure(tables.close):
        tables.prepare()
        tracker = Tracker(workspace, sources)
    return Harvest(
        COLLECTION,
        sources,
        files,
        options,
        store=DropsStore(tables, declarations.names, declarations.xml_name),
        projection=tracker,
        listers=drops.listers,
        downloaders=drops.downloaders,
        attempts=drops.attempts,
        listing_deadline=drops.listing_deadline,
        download_deadline=drops.download_deadline,
    )


def _check_centres(declarations: Declared) -> None:
    """Raise ConfigError for a source whose centre is not declared: the tracker has no row for it."""
    centre_names = {name.lower() for name in declarations.names}
    for source in declarations.sources:
        if source.owner.lower() not in centre_names:
            raise ConfigError(
                f"source {source.name}: centre = {source.owner!r} is not declared",
                hint="add a [[drops.centre]] to windrow.toml, or name one of: " + ", ".join(sorted(declarations.names)),
            )


def _check_lengths(declarations: Declared) -> None:
    """Raise ConfigError for a value longer than the tracker's column, before anything is written."""
    for put in declare(declarations):
        columns = TRACKER.tables[put.table].columns
        for name, value in {**put.once, **put.values}.items():
            max_length = getattr(columns[name].type, "length", None)
            if isinstance(value, str) and max_length is not None and len(value) > max_length:
                subject = "source" if put.table == "file_source" else put.table
                raise ConfigError(
                    f"{subject} {put.key}: {name} has {len(value)} characters; the limit is {max_length}",
                    hint="shorten it; windrow config shows where it is set",
                )


def _check_files(files: Mapping[str, Resource]) -> None:
    """Raise ConfigError for a schema or list that cannot be used: every document would fail because of it."""
    try:
        read_lists(files)
        for kind in SCHEMAS:
            if kind in files:
                compile_schema(files[kind])
    except StepError as error:
        raise ConfigError(str(error), hint="correct the file; windrow config shows its path") from error


def require_ready(workspace: Workspace) -> None:
    """Raise ConfigError if the centre of a source is not declared."""
    _check_centres(
        read_declared(workspace, tuple(source for source in workspace.sources if source.collection == COLLECTION.name))
    )


def check_source(workspace: Workspace, source: Source) -> None:
    """Raise UsageError if the source's centre is not declared: a run would stop at it."""
    centres = list(read_declared(workspace, ()).names)
    if source.owner.lower() not in {centre.lower() for centre in centres}:
        message = f"centre {source.owner!r} is not declared" if source.owner else "a source of drops needs a centre"
        raise UsageError(
            f"{message}; declared centres: {', '.join(centres)}",
            hint="--centre NAME, or a [[drops.centre]] in windrow.toml",
        )


def update_projection(workspace: Workspace, ledger: Ledger) -> None:
    """Bring the tracker up to date at once."""
    tracker = Tracker(workspace, tuple(source for source in workspace.sources if source.collection == COLLECTION.name))
    try:
        tracker.catch_up(ledger)
    finally:
        tracker.close()


def options(workspace: Workspace | None, name: str = "") -> dict[str, str]:
    """Return a workspace's options.

    Without a workspace, the centres are the standard's and the one with which the file name `name` begins.
    """
    today = now().date().isoformat()
    if workspace is None:
        centres = ",".join(dict.fromkeys([*CENTRES, name.partition(".")[0].replace(",", "")]))
        return {"centres": centres, "zip_name": "", "xml_name": "", "today": today}
    drops = workspace.section(Drops)
    centres = ",".join(Declared(now(), drops.centres).names)
    return {"centres": centres, "zip_name": drops.zip_name, "xml_name": drops.xml_name, "today": today}


def predict(workspace: Workspace, path: str) -> str:
    """Return the end of a message that tells what a run would do with a file of this name; empty if that is unknown."""
    folder, _, name = path.rpartition("/")
    folder = folder.rpartition("/")[2]
    in_action_folder = folder in FOLDERS
    entry = ListingEntry(folder if in_action_folder else FOLDERS[0], name or path)
    offers = plan(Source("", "drops", Site("")), [entry], options(workspace))
    if offers and offers[0].reason:
        return f"; a file of this name would be refused: {offers[0].reason.meaning}"
    if offers:
        return "; its name is good, but no source has offered it so far"
    if in_action_folder or "." in name:
        return "; sources of drops leave files of this name out, by rule and without a row"
    return ""
