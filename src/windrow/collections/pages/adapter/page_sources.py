"""Which source a page belongs to: several sources may crawl one origin, each by its own rules."""

from __future__ import annotations

from windrow.config import Workspace
from windrow.digest import hash64
from windrow.formats.url import parts
from windrow.ledger import Ledger

COLLECTION = "pages"


class PageSources:
    """The sources that have requested each origin."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self._ledger = ledger
        self._declared = {source.name for source in workspace.of(COLLECTION)}
        self._by_origin: dict[str, list[str]] = {}
        for host in ledger.addresses.hosts(COLLECTION):
            self._by_origin.setdefault(host.origin, []).append(host.source)

    def names(self) -> set[str]:
        """Return the names of all sources, including those that are not declared any more."""
        return {name for sources in self._by_origin.values() for name in sources}

    def of_origin(self, origin: str) -> str:
        """Return the only declared source of an origin, or the only one; "" if there is none or there are several."""
        sources = self._by_origin.get(origin, [])
        only_sources = [name for name in sources if name in self._declared] or sources
        return only_sources[0] if len(only_sources) == 1 else ""

    def of_page(self, url: str) -> str:
        """Return the source of a page, or "" if it is not known; of several sources, the one that fetched it last."""
        sources = self._by_origin.get(parts(url).origin, [])
        address = self._ledger.addresses.get(COLLECTION, hash64(url)) if len(sources) > 1 else None
        return address.source if address else sources[0] if sources else ""
