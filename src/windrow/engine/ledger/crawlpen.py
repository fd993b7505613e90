"""The pen that writes facts about crawls: hosts, addresses, visits."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.engine.ledger.moment import spell
from windrow.engine.ledger.runpen import RunPen, place_of
from windrow.model import Found, Visit


class CrawlPen(RunPen):
    """Append facts about crawls."""

    def host_made(self, session: int, collection: str, source: str, origin: str) -> int:
        """Put an origin on record that a source's crawl may ask."""
        return self._add("host", session, collection, source, origin)

    def addresses(self, host: int, via: int, found: Iterable[Found]) -> None:
        """Put addresses on record; those that are known stay as they are."""
        self._rows["address"] += [(one.digest, host, one.url, via, one.place, one.kind) for one in found]

    def hinted(self, found: Iterable[Found], rest: int) -> None:
        """Make addresses due that are said to have changed since their last visit, `rest` seconds after it at least."""
        self._rows["hinted"] += [
            {"digest": one.digest, "rest": rest, "hint": spell(one.hinted)} for one in found if one.hinted
        ]

    def rested(self, host: int, until: int) -> None:
        """Note until when a host asked to be left alone, in seconds since 1970."""
        self._rows["rest"].append((host, until))

    def visited(self, session: int, host: int, visit: Visit, again: tuple[int | None, int, int] | None) -> int:
        """Put a visit on record; `again` is when its address is due, its pause and its failures in a row."""
        kept = visit.kept
        told = (spell(visit.started), round(visit.seconds, 6), visit.status, visit.reason, visit.message)
        asked = (host, visit.digest, visit.kind, int(visit.allowed))
        url = "" if visit.digest else visit.url
        said = (*visit.validators, visit.location, url, kept.mime if kept else "")
        seq = self._add("visit", session, *asked, *told, *place_of(kept), *said)
        if again is not None:
            contentful = seq if kept and visit.status == 200 else None
            self._rows["visited"].append((*again, contentful, visit.digest))
        return seq

    def due_again(self, hosts: Iterable[int]) -> int:
        """Make the addresses of hosts due, after those that were never asked; return how many."""
        self.flush()
        text = "UPDATE address SET due = 1 WHERE host = ? AND due > 1"
        return sum(self._connection.execute(text, (host,)).rowcount for host in hosts)

    def due_at(self, digests: Iterable[int], due: int | None) -> None:
        """Have addresses asked at a time (seconds since 1970; 1: next), or never again."""
        self.flush()
        self._connection.executemany("UPDATE address SET due = ? WHERE digest = ?", [(due, one) for one in digests])
