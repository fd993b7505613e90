"""The tracker's books joined with this workspace: ledger in, rows out, from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windrow.collections.drops import name as names
from windrow.collections.drops.database.declared import Declared, declare
from windrow.collections.drops.database.projection import grown, project
from windrow.collections.drops.database.seed import seeds
from windrow.collections.drops.database.tracker_tables import BOOKS, DATABASE, NATURAL, TRACKER
from windrow.collections.drops.settings import drops_of
from windrow.config import Workspace
from windrow.config.password import password
from windrow.engine.clock import now
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.facts import batches
from windrow.model import Source
from windrow.stores.projection import ProjectionTables


def declared(workspace: Workspace, sources: tuple[Source, ...]) -> Declared:
    """Return what this workspace declares of centres, sources and names."""
    drops = drops_of(workspace.sections)
    zip_name, xml_name = drops.zip_name or names.ZIP, drops.xml_name or names.XML
    return Declared(now(), drops.centres, sources, zip_name=zip_name, xml_name=xml_name)


class Tracker:
    """The 17 tables, kept equal to what the ledger tells."""

    def __init__(self, workspace: Workspace, sources: tuple[Source, ...]) -> None:
        """Open the tracker's database, making what is missing of it."""
        drops = drops_of(workspace.sections)
        self._declared = declared(workspace, sources)
        self.books = ProjectionTables(
            drops.tracker.url, TRACKER, BOOKS, adopt=NATURAL, database=DATABASE, password=password(drops.tracker)
        )
        self._at: int | None = None

    def _begin(self, ledger: Ledger) -> int:
        """Bring seeds, centres and sources up to date, once per run."""
        self.books.seed(seeds(self._declared.at))
        at = self.books.checkpoint()
        known = ledger.listings.sources()
        gone = tuple(sorted(known - {source.name for source in self._declared.sources}))
        closed = tuple(sorted(set(self.books.keys("centre")) - {name.lower() for name in self._declared.names}))
        self.books.apply(declare(replace(self._declared, gone=gone, closed=closed)), at)
        return at

    def catch_up(self, ledger: Ledger) -> None:
        """Project every fact after the checkpoint."""
        if self._at is None:
            self._at = self._begin(ledger)
        for facts in batches(ledger, self._at):
            self.books.apply(project(facts, self._declared), facts[-1].seq)
            self._at = facts[-1].seq

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Show how many bytes of each open fetch are here."""
        self.books.note(grown(sizes))

    def close(self) -> None:
        """Close the connections."""
        self.books.close()
