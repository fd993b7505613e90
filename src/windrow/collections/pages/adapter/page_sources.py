"""Which source a page belongs to: several sources may crawl one origin, each by its own rules."""

from __future__ import annotations

from windrow.config import Workspace
from windrow.digest import hash64
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.query.tree import SourceOrigins

COLLECTION = "pages"


class PageSources:
    """Finds the source of a page or an origin among the sources that have addresses of the origin in the ledger."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self._ledger = ledger
        self._declared = {source.name for source in workspace.of(COLLECTION)}
        self._by_origin: dict[str, list[str]] = {}
        for host in ledger.addresses.hosts(COLLECTION):
            self._by_origin.setdefault(host.origin, []).append(host.source)

    def names(self) -> set[str]:
        """Return the names of all sources that have addresses in the ledger, even if they are no longer declared."""
        return {name for sources in self._by_origin.values() for name in sources}

    def of_origin(self, origin: str) -> str:
        """Return the source of an origin, or "" if the origin has no source or several.

        Sources that are no longer declared are ignored if the origin has a declared source.
        """
        sources = self._by_origin.get(origin, [])
        only_sources = [name for name in sources if name in self._declared] or sources
        return only_sources[0] if len(only_sources) == 1 else ""

    def origins_of(self, source: str) -> SourceOrigins:
        """Return the origins of a source, and apart from them those that it shares with other sources."""
        own: list[str] = []
        shared: list[str] = []
        for origin, sources in self._by_origin.items():
            if source in sources:
                (shared if len(sources) > 1 else own).append(origin)
        return SourceOrigins(source, tuple(own), tuple(shared))

    def of_page(self, url: str) -> str:
        """Return the source of a page, or "" if its origin has no source.

        If the origin has several sources, the result is the one that fetched the page last, or any of them if the
        ledger does not contain the page's address. Sources that are no longer declared are ignored if a declared one
        has the address: after a source was renamed, a page that is gone was last fetched under the former name.
        """
        sources = self._by_origin.get(parts(url).origin, [])
        if len(sources) > 1:
            sources = [row.source for row in self._ledger.addresses.of_sources(COLLECTION, hash64(url))] or sources
        return next((name for name in sources if name in self._declared), sources[0] if sources else "")
