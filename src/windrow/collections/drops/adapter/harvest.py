"""The collection `drops` joined with this workspace's configuration, databases and lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from windrow.collections.drops.adapter.resources import resources
from windrow.collections.drops.adapter.tracker_books import Tracker, declared
from windrow.collections.drops.collection import COLLECTION, SCHEMAS
from windrow.collections.drops.database.declared import Declared, declare
from windrow.collections.drops.database.table_store import Submission, TableStore
from windrow.collections.drops.database.tracker_tables import TRACKER
from windrow.collections.drops.element import SUMMARY, TABLES
from windrow.collections.drops.member import sort_key, zip_name
from windrow.collections.drops.name import XmlName, read_xml_name
from windrow.collections.drops.reference import lists
from windrow.collections.drops.settings import drops_of
from windrow.collections.drops.steps import compiled
from windrow.config import Workspace
from windrow.config.password import password
from windrow.contract import Rows, Undecided
from windrow.engine.ledger import Ledger
from windrow.engine.run import Harvest
from windrow.errors import ConfigError, StepError, UsageError
from windrow.model import Finding, Item, Resource, Source
from windrow.stores.sqlite_file import close_on_failure


class DropsStore:
    """The loaded records, as the engine sees them."""

    def __init__(self, tables: TableStore, centres: tuple[str, ...], pattern: str) -> None:
        """Write to `tables`; names are read as this workspace declares them."""
        self.tables = tables
        self._centres = centres
        self._pattern = pattern

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write documents' rows, not current yet."""
        self.tables.stage_all([(self._submission(item, at), rows) for item, rows in documents])

    def _submission(self, item: Item, at: datetime) -> Submission:
        found = read_xml_name(item.member, self._centres, self._pattern)
        centre, kind = (found.centre, found.kind) if isinstance(found, XmlName) else ("", "")
        action = item.key.partition("/")[0]
        key = sort_key(item.rank)
        return Submission(item.id, item.member, zip_name(item.key), action, centre, item.digest, str(kind), at, key)

    def judge(self, documents: Sequence[Undecided], at: datetime) -> list[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order; return what publishing each found."""
        return [one.findings if one else () for one in self.tables.judge(documents, at)]

    def summarise(self, at: datetime) -> int:
        """Bring context and overview up to date."""
        return sum(self.tables.summarise(at))

    def close(self) -> None:
        """Close the connections."""
        self.tables.close()


def harvest(workspace: Workspace) -> Harvest:
    """Make the harvest of the drops that this workspace's configuration describes."""
    drops = drops_of(workspace.sections)
    sources = tuple(source for source in workspace.sources if source.collection == COLLECTION.name)
    said = declared(workspace, sources)
    _check_centres(said)
    _check_room(said)
    files = resources(workspace)
    _check_files(files)
    options = {
        "centres": ",".join(said.names),
        "zip_name": drops.zip_name,
        "xml_name": drops.xml_name,
        "today": said.at.date().isoformat(),
    }
    tables = TableStore(drops.store.url, TABLES, SUMMARY, password=password(drops.store))
    with close_on_failure(tables.close):
        tables.prepare()
        tracker = Tracker(workspace, sources)
    return Harvest(
        COLLECTION,
        sources,
        files,
        options,
        store=DropsStore(tables, said.names, said.xml_name),
        books=tracker,
        listers=drops.listers,
        downloaders=drops.downloaders,
        attempts=drops.attempts,
        list_within=drops.list_within,
        fetch_within=drops.fetch_within,
    )


def _check_centres(said: Declared) -> None:
    """Refuse a source whose centre nobody knows: the tracker could not hold it."""
    known = {name.lower() for name in said.names}
    for source in said.sources:
        if source.owner.lower() not in known:
            raise ConfigError(
                f"source {source.name}: centre = {source.owner!r} is not declared",
                hint="add a [[drops.centre]] to windrow.toml, or name one of: " + ", ".join(sorted(said.names)),
            )


def _check_room(said: Declared) -> None:
    """Refuse what is longer than the tracker's columns, before anything is written."""
    for put in declare(said):
        columns = TRACKER.tables[put.table].columns
        for name, value in {**put.once, **put.values}.items():
            most = getattr(columns[name].type, "length", None)
            if isinstance(value, str) and most is not None and len(value) > most:
                what = "source" if put.table == "file_source" else put.table
                raise ConfigError(
                    f"{what} {put.key}: {name} has {len(value)} characters; the tracker has room for {most}",
                    hint="shorten it: windrow config shows where it was said",
                )


def _check_files(files: Mapping[str, Resource]) -> None:
    """Refuse a schema or list that cannot be used: every document would fail by it, and none for its own fault."""
    try:
        lists(files)
        for kind in SCHEMAS:
            if kind in files:
                compiled(files[kind])
    except StepError as error:
        raise ConfigError(str(error), hint="mend the file; windrow config shows which one is named") from error


def ready(workspace: Workspace) -> None:
    """Refuse sources whose centres nobody declared."""
    _check_centres(declared(workspace, tuple(one for one in workspace.sources if one.collection == COLLECTION.name)))


def vet(workspace: Workspace, source: Source) -> None:
    """Refuse a source of a centre that nobody declared: a run would stop at it."""
    centres = list(declared(workspace, ()).names)
    if source.owner.lower() not in {one.lower() for one in centres}:
        said = f"no centre {source.owner!r} is declared" if source.owner else "the source of drops needs its centre"
        raise UsageError(
            f"{said}; there are {', '.join(centres)}", hint="--centre NAME, or a [[drops.centre]] in windrow.toml"
        )


def project(workspace: Workspace, ledger: Ledger) -> None:
    """Bring the tracker up to date at once."""
    books = Tracker(workspace, tuple(source for source in workspace.sources if source.collection == COLLECTION.name))
    try:
        books.catch_up(ledger)
    finally:
        books.close()
