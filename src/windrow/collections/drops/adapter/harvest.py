"""Prepare the harvest of drops in a workspace: open its store and tracker, and read its schemas and reference lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from windrow.caps import SCHEMA_BYTES
from windrow.clock import now, parse
from windrow.collections.drops import name as names
from windrow.collections.drops.adapter.current_states import read_shown_states
from windrow.collections.drops.collection import COLLECTION, FOLDERS, SCHEMA_NAMES, plan
from windrow.collections.drops.database.declared import (
    CENTRES,
    Declarations,
    make_declared_rows,
    make_former_source,
    make_seeds,
    tracker_time,
)
from windrow.collections.drops.database.projection import find_touched, project_facts, project_progress, project_states
from windrow.collections.drops.database.projection_tables import ProjectionTables
from windrow.collections.drops.database.table_store import REPLAY_MARK, Submission, TableStore
from windrow.collections.drops.database.tracker_tables import DATABASE, NATURAL_KEYS, PROJECTION, TRACKER
from windrow.collections.drops.elements import SUMMARY_COUNTS, TABLES
from windrow.collections.drops.name import XmlName, read_xml_name
from windrow.collections.drops.reference import read_lists
from windrow.collections.drops.settings import Drops
from windrow.collections.drops.steps import compile_schema, sort_key, zip_name_in_key
from windrow.config import Workspace
from windrow.config.workspace import read_password
from windrow.contract import Judge, Load, Rows, Undecided
from windrow.digest import combine_digests, digest
from windrow.engine.older_ledger import is_foreign
from windrow.engine.run import Harvest
from windrow.errors import ConfigError, StepError, StoreError, StoreUnreachable, UsageError
from windrow.ledger import Ledger
from windrow.ledger.facts import batches, last_number
from windrow.model import Finding, Item, ListingEntry, Resource, Site, Source
from windrow.stores.databases import is_missing_file
from windrow.stores.sqlite import close_on_failure
from windrow.stores.store_mark import StoreMark

_IMPORT_PATTERN = re.compile(rb"""schemaLocation\s*=\s*["']([^"'<>]{1,255})["']""")
_MAX_FILE_BYTES = SCHEMA_BYTES.number


def read_resources(workspace: Workspace) -> Mapping[str, Resource]:
    """Return a dict from name, such as `specimen`, to schema or list; raise ConfigError if one cannot be read."""
    drops = workspace.section(Drops)
    files = {name: read_schema(name, path) for name, path in drops.schemas.items()}
    for name, path in drops.lists.items():
        content = _read_file(path)
        files[name] = Resource(name, path, digest(content), content)
    return files


def read_schema(name: str, path: Path) -> Resource:
    """Read a schema and, as its `siblings`, the schemas in the same folder that it imports, directly or indirectly.

    Raises ConfigError if one of them cannot be read.
    """
    content = _read_file(path)
    siblings_by_name: dict[str, Resource] = {}
    unsearched_contents = [content]
    while unsearched_contents:
        for import_location in _IMPORT_PATTERN.findall(unsearched_contents.pop()):
            sibling = path.parent / import_location.decode("utf-8", "replace").strip().removeprefix("./")
            is_new = sibling.name not in {path.name, *siblings_by_name}
            if is_new and sibling.parent == path.parent and sibling.is_file():
                imported = _read_file(sibling)
                siblings_by_name[sibling.name] = Resource(sibling.name, sibling, digest(imported), imported)
                unsearched_contents.append(imported)
    siblings = tuple(siblings_by_name[sibling_name] for sibling_name in sorted(siblings_by_name))
    schema_digest = combine_digests([digest(content), *(f"{file.name} {file.digest}" for file in siblings)])
    return Resource(name, path, schema_digest, content, siblings)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="windrow config") from error
    if len(content) > _MAX_FILE_BYTES:
        raise ConfigError(f"{path} has more than {_MAX_FILE_BYTES:,} bytes", hint="windrow config")
    return content


def read_declarations(workspace: Workspace, sources: tuple[Source, ...]) -> Declarations:
    """Return the centres and name patterns that the workspace declares, together with these sources."""
    settings = workspace.section(Drops)
    zip_name, xml_name = settings.zip_name or names.ZIP_PATTERN, settings.xml_name or names.XML_PATTERN
    return Declarations(now(), settings.centres, sources, zip_name=zip_name, xml_name=xml_name)


REBUILD_HINT = "drop the tracker's tables or delete all their rows (or move its SQLite file away), then: windrow run"


class Tracker:
    """The tracker, a database of 17 tables that are projected from the ledger."""

    def __init__(self, workspace: Workspace, sources: tuple[Source, ...]) -> None:
        address = workspace.section(Drops).tracker
        self._declarations = read_declarations(workspace, sources)
        self.projection = ProjectionTables(
            address.url,
            TRACKER,
            PROJECTION,
            natural_keys=NATURAL_KEYS,
            database=DATABASE,
            password=read_password(address),
        )
        self._checkpoint: int | None = None

    def _begin(self, ledger: Ledger) -> int:
        """Write the seed rows, centres and sources; return the checkpoint.

        Raises StoreError if the tracker belongs to another ledger, or is an older copy that was restored, or a copy
        without its checkpoint, which on a server is in another schema or database.
        """
        checkpoint, last_fact = self.projection.checkpoint(), last_number(ledger)
        owner, identity = self.projection.owner(), ledger.sessions.identity()
        if checkpoint > last_fact or is_foreign(owner, ledger):
            raise StoreError(
                f"the tracker is of another ledger: it has facts up to {checkpoint}, and the ledger up to {last_fact}",
                hint="set drops.tracker to this workspace's own database, then: windrow run",
            )
        if self.projection.lacks_last_row("crawling_session"):
            raise StoreError(
                "the tracker is an older copy: it lacks the last session that was written to it", hint=REBUILD_HINT
            )
        is_first = not checkpoint and bool(identity)
        if is_first and self.projection.has_value("crawling_session", "start_time", _first_start(ledger)):
            raise StoreError(
                "the tracker has rows of this workspace, but no checkpoint, as after its database was renamed or copied"
                " to another server: all rows would be written a second time",
                hint=REBUILD_HINT,
            )
        self.projection.seed(make_seeds(self._declarations.created_at))
        if not owner:
            self.projection.set_owner(identity)
        self._declarations = self._add_removed(self._declarations, ledger)
        self.projection.apply(make_declared_rows(self._declarations), checkpoint)
        return checkpoint

    def mark(self) -> StoreMark:
        """Return of which ledger the tracker is, and the number of the last fact that was projected."""
        return StoreMark(self.projection.owner(), self.projection.checkpoint())

    def _add_removed(self, declarations: Declarations, ledger: Ledger) -> Declarations:
        """Add the sources and centres that are declared no more, but are in the tracker or on the ledger.

        Without those on the ledger, a tracker that is filled anew would lack their downloads.
        """
        sources = {source.name for source in declarations.sources}
        centres = {name.lower() for name in declarations.names}
        written_sources = set(self.projection.keys("file_source"))
        places = [place for place in ledger.mirrors.places(COLLECTION.name) if place.source not in sources]
        owners = ledger.mirrors.owners(COLLECTION.name)
        return replace(
            declarations,
            removed_sources=tuple(sorted(written_sources - sources)),
            removed_centres=tuple(sorted(set(self.projection.keys("centre")) - centres)),
            former_sources=tuple(make_former_source(*place) for place in places if place.source not in written_sources),
            former_centres=tuple(sorted(owner for owner in owners if owner.lower() not in centres)),
        )

    def catch_up(self, ledger: Ledger) -> None:
        """Project every fact after the checkpoint; the first call also writes the seed rows, centres and sources."""
        if self._checkpoint is None:
            self._checkpoint = self._begin(ledger)
        for facts in batches(ledger, self._checkpoint):
            # States are read from the present ledger, so they may be newer than the checkpoint, but not older.
            state_values = project_states(*read_shown_states(ledger, find_touched(facts)))
            self.projection.apply([*project_facts(facts, self._declarations), *state_values], facts[-1].seq)
            self._checkpoint = facts[-1].seq

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Write how many bytes each unfinished attempt has received; `sizes` is a dict from attempt to bytes."""
        self.projection.note(project_progress(sizes))

    def close(self) -> None:
        """Close the connections."""
        self.projection.close()


def _first_start(ledger: Ledger) -> datetime:
    """Return the start of the ledger's first session as the tracker has it."""
    return tracker_time(parse(ledger.sessions.first().partition(" ")[0]))


class DropsStore:
    """The store of loaded records, to which the engine writes."""

    def __init__(self, tables: TableStore, declarations: Declarations) -> None:
        self.tables = tables
        self._declarations = declarations

    def stage(self, documents: Sequence[tuple[Item, Rows]], staged_at: datetime) -> None:
        """Write the rows of documents to the store, where they are not current until the documents are judged."""
        self.tables.stage_all([(self._make_submission(item, staged_at), rows) for item, rows in documents])

    def _make_submission(self, item: Item, staged_at: datetime) -> Submission:
        centres, zip_name = self._declarations.names, zip_name_in_key(item.key)
        name_parts = read_xml_name(item.member, centres, self._declarations.xml_name)
        kind = name_parts.kind if isinstance(name_parts, XmlName) else ""
        zip_parts = names.read_zip_name(zip_name, centres, self._declarations.zip_name)
        centre = zip_parts.centre if isinstance(zip_parts, names.ZipName) else ""
        action = item.key.partition("/")[0]
        key = sort_key(item.rank)
        return Submission(
            item.id, item.member, zip_name, action, centre, item.digest, str(kind), staged_at, sort_key=key
        )

    def judge(self, documents: Sequence[Undecided], now: datetime) -> list[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order; return the findings about each of them.

        A document that is withheld has no findings.
        """
        return [published.findings if published else () for published in self.tables.judge(documents, now)]

    def owner(self) -> int:
        """Return the identity of the ledger whose documents the store has, or 0 if it is not recorded."""
        return self.tables.owner()

    def set_owner(self, ledger: int) -> None:
        """Record the identity of the ledger whose documents the store has."""
        self.tables.set_owner(ledger)

    def summarise(self, now: datetime) -> int:
        """Bring `context` and `overview` up to date; return the number of submissions and keys that were counted."""
        return sum(self.tables.summarise(now))

    def close(self) -> None:
        """Close the connections."""
        self.tables.close()


def harvest(workspace: Workspace) -> Harvest:
    """Build the harvest of drops and open its store and tracker; raise ConfigError if a setting or file is unusable.

    Raise StoreUnreachable if the store lacks its tables, or the documents that were last written to it.
    """
    return open_harvest(workspace, is_replay=False)


def open_harvest(workspace: Workspace, *, is_replay: bool) -> Harvest:
    """Build the harvest as `harvest` does; in a replay, the store may lack tables and documents."""
    drops = workspace.section(Drops)
    sources = _sources_of_drops(workspace)
    declarations = read_declarations(workspace, sources)
    _check_centres(declarations)
    _check_lengths(declarations)
    files = read_resources(workspace)
    _check_files(files)
    options = {
        "centres": ",".join(declarations.names),
        "zip_name": drops.zip_name,
        "xml_name": drops.xml_name,
        "today": declarations.created_at.date().isoformat(),
    }
    tables = open_store(workspace)
    with close_on_failure(tables.close):
        if not is_replay and workspace.ledger.exists():
            with closing(Ledger(workspace.ledger)) as ledger:
                _refuse_unusable_store(workspace, ledger, tables)
        tables.prepare()
        tracker = Tracker(workspace, sources)
    return Harvest(
        COLLECTION,
        sources,
        files,
        options,
        store=DropsStore(tables, declarations),
        projection=tracker,
        listers=drops.listers,
        downloaders=drops.downloaders,
        attempts=drops.attempts,
        listing_deadline=drops.listing_deadline,
        download_deadline=drops.download_deadline,
    )


def open_store(workspace: Workspace) -> TableStore:
    """Return the store of loaded records; its first method call opens the database."""
    address = workspace.section(Drops).store
    return TableStore(address.url, TABLES, SUMMARY_COUNTS, password=read_password(address))


def _refuse_unusable_store(workspace: Workspace, ledger: Ledger, tables: TableStore) -> None:
    """Raise StoreUnreachable if the store is lost, older than the ledger, or made by a replay that was cut off."""
    if is_missing_file(workspace.section(Drops).store.url) or not tables.has_tables():
        _refuse_lost_store(ledger)
    else:
        refuse_unfinished_store(tables)
        _refuse_older_store(ledger, tables)


def _refuse_lost_store(ledger: Ledger) -> None:
    if ledger.items.read_items(COLLECTION.name):
        raise StoreUnreachable(
            "the store drops.store has no tables, although documents were read for it; nothing was fetched;"
            " windrow replay rebuilds it from the archive",
            hint="windrow replay",
        )


def refuse_unfinished_store(tables: TableStore) -> None:
    """Raise StoreUnreachable if a replay of the store was cut off before its end."""
    if tables.mark(REPLAY_MARK) is not None:
        raise StoreUnreachable(
            "a replay of drops was cut off after it had made the store drops.store, so the ledger lacks what it read;"
            " nothing was fetched",
            hint="windrow replay drops (for a store on a server, first name an empty database in drops.store)",
        )


def _refuse_older_store(ledger: Ledger, tables: TableStore) -> None:
    """Raise StoreUnreachable if the store lacks what was last written to it: it is an older copy that was restored.

    A run writes documents to the store before it records them on the ledger, so the store is never behind otherwise.
    """
    for step in COLLECTION.steps:
        if not isinstance(step, Load | Judge):
            continue
        last = ledger.members.last_loaded(step.phase, COLLECTION.name)
        if last is not None and not tables.has_document(last.member, is_current=isinstance(step, Judge)):
            raise StoreUnreachable(
                f"the store drops.store is an older copy: it lacks {last.key}, the last document that was written to"
                " it; nothing was fetched; windrow replay rebuilds it from the archive",
                hint="windrow replay",
            )


def _sources_of_drops(workspace: Workspace) -> tuple[Source, ...]:
    return tuple(source for source in workspace.sources if source.collection == COLLECTION.name)


def _check_centres(declarations: Declarations) -> None:
    centre_names = {name.lower() for name in declarations.names}
    for source in declarations.sources:
        if source.owner.lower() not in centre_names:
            problem = f"its centre {source.owner!r} is not declared" if source.owner else "it has no `centre`"
            raise ConfigError(
                f"source {source.name}: {problem}",
                hint="add a [[drops.centre]] to windrow.toml, or name one of: " + ", ".join(sorted(declarations.names)),
            )


def _check_lengths(declarations: Declarations) -> None:
    for row in make_declared_rows(declarations):
        columns = TRACKER.tables[row.table].columns
        for column, cell in {**row.initial_values, **row.values}.items():
            max_length = getattr(columns[column].type, "length", None)
            if isinstance(cell, str) and max_length is not None and len(cell) > max_length:
                subject = "source" if row.table == "file_source" else row.table
                raise ConfigError(
                    f"{subject} {row.key}: {column} has {len(cell)} characters; the limit is {max_length}",
                    hint="shorten it; windrow config shows where it is set",
                )


def _check_files(files: Mapping[str, Resource]) -> None:
    """Raise ConfigError if a schema or list is not valid, because documents that need it would fail."""
    try:
        read_lists(files)
        for kind in SCHEMA_NAMES:
            if kind in files:
                compile_schema(files[kind])
    except StepError as error:
        raise ConfigError(str(error), hint="correct the file; windrow config shows its path") from error


def require_ready(workspace: Workspace) -> None:
    """Raise ConfigError if the centre of a source is not declared."""
    _check_centres(read_declarations(workspace, _sources_of_drops(workspace)))


def check_source(workspace: Workspace, source: Source) -> None:
    """Raise UsageError if the centre of a new source is not declared, because no run begins with such a source."""
    centres = list(read_declarations(workspace, ()).names)
    if source.owner.lower() not in {centre.lower() for centre in centres}:
        message = f"centre {source.owner!r} is not declared" if source.owner else "a source of drops needs a centre"
        raise UsageError(
            f"{message}; declared centres: {', '.join(centres)}",
            hint="name a declared centre with --centre, or add a [[drops.centre]] to windrow.toml",
        )


def marks(workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
    """Return how to read how far the store and the tracker go, and of which ledger they are, if their files exist.

    The store is read in any case: a run refuses one that is lost.
    """

    def read_store() -> StoreMark:
        with closing(open_store(workspace)) as tables:
            is_there = not is_missing_file(drops.store.url) and tables.has_tables()
            mark = StoreMark(tables.owner(), tables.last_item()) if is_there else StoreMark()
            try:
                _refuse_unusable_store(workspace, ledger, tables)
            except StoreUnreachable as error:
                return mark._replace(problem=str(error))
            return mark

    def read_tracker() -> StoreMark:
        with closing(Tracker(workspace, ())) as tracker:
            return tracker.mark()

    drops = workspace.section(Drops)
    return {"drops.store": read_store} | ({} if is_missing_file(drops.tracker.url) else {"drops.tracker": read_tracker})


def update_projection(workspace: Workspace, ledger: Ledger) -> None:
    """Open the tracker and project every fact after its checkpoint."""
    tracker = Tracker(workspace, _sources_of_drops(workspace))
    try:
        tracker.catch_up(ledger)
    finally:
        tracker.close()


def make_step_options(workspace: Workspace | None, name: str = "") -> dict[str, str]:
    """Return the options of the steps, from a workspace's settings.

    If `workspace` is None, the centres are those of the standard and the one with which the file name `name` begins.
    """
    today = now().date().isoformat()
    if workspace is None:
        centres = ",".join(dict.fromkeys([*CENTRES, name.partition(".")[0].replace(",", "")]))
        return {"centres": centres, "zip_name": "", "xml_name": "", "today": today}
    drops = workspace.section(Drops)
    centres = ",".join(Declarations(now(), drops.centres).names)
    return {"centres": centres, "zip_name": drops.zip_name, "xml_name": drops.xml_name, "today": today}


def predict(workspace: Workspace, name: str) -> str:
    """Return the end of a message that says how runs treat a file at the path `name`.

    The text is empty if `name` does not look like the path of a file.
    """
    folder, _, file_name = name.rpartition("/")
    folder = folder.rpartition("/")[2]
    is_in_action_folder = folder in FOLDERS
    entry = ListingEntry(folder if is_in_action_folder else FOLDERS[0], file_name or name)
    offers = plan(Source("", "drops", Site("")), [entry], make_step_options(workspace))
    if offers and offers[0].reason:
        return f"; a file of this name would be refused: {offers[0].reason.meaning}"
    if offers:
        return "; its name is valid, but no source has listed it so far"
    if is_in_action_folder or "." in file_name:
        return "; runs ignore files of this name at sources of drops and do not record them"
    return ""
