"""The pen that writes facts about WARC files of other makers."""

from __future__ import annotations

from windrow.engine.ledger.burialpen import BurialPen
from windrow.model import Found, Kept


class IntakePen(BurialPen):
    """Append facts about WARC files of other makers."""

    def intake(self, item: int, source: str, warc: str, size: int) -> None:
        """Put a file on record, none of its records yet."""
        self._rows["intake"].append((item, source, warc, size))

    def intake_at(self, item: int, offset: int) -> None:
        """Note that all its records before a place are on record."""
        self._rows["intake_at"].append((offset, item))

    def intake_named(self, item: int, name: str) -> None:
        """Note what it is called elsewhere."""
        self._rows["intake_named"].append((item, name[:1024]))

    def payload(self, spelled: str, kept: Kept) -> None:
        """Note where bytes lie that revisits may refer to; the first place counts."""
        self._rows["payload"].append((spelled, kept.digest, kept.size, *kept.place))

    def intake_waits(self, item: int, offset: int, spelled: str) -> None:
        """Let a revisit wait for its bytes."""
        self._rows["intake_waits"].append((item, offset, spelled))

    def intake_waited(self, item: int, offset: int) -> None:
        """End that."""
        self._rows["intake_waited"].append((item, offset))

    def known(self, host: int, found: Found) -> None:
        """Put an address on record that is not due."""
        self._rows["known"].append((found.digest, host, found.url, found.place))

    def host_taken(self, host: int, source: str) -> None:
        """Let a source crawl an origin that was only known from elsewhere."""
        self._rows["host_taken"].append((source, host))
