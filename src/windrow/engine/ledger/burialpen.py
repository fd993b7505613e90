"""The pen that writes facts about what is taken down."""

from __future__ import annotations

from windrow.engine.ledger.crawlpen import CrawlPen


class BurialPen(CrawlPen):
    """Append facts about what is taken down."""

    def tombstone_set(self, session: int, collection: str, target: tuple[str, int, int], said: tuple[str, str]) -> int:
        """Say that a target (its name, its address, its host) is taken down, by whom and why."""
        return self._add("tombstone", session, collection, *target, *said)

    def tombstone_ended(
        self, session: int, tombstone: int, event: str, counts: tuple[int, int, int] = (0, 0, 0)
    ) -> int:
        """Say that it is `done`, with counts of captures, their bytes, and records, or that it is `lifted`."""
        return self._add("tombstone_end", session, tombstone, event, *counts)
